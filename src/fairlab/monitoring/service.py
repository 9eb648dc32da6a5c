"""The monitor over HTTP: who may do what, limits, problem documents (RFC 9457), metrics and endpoints."""

import hashlib
import json
import math
import time
from collections.abc import Container, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from multiprocessing import get_context
from typing import Annotated

import httpx
import sqlalchemy as sa
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest
from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from fairlab.monitoring import migrations, pages
from fairlab.monitoring.bodies import read_json, read_rows
from fairlab.monitoring.effects import over_time
from fairlab.monitoring.logs import iso, log, log_as_json, place
from fairlab.monitoring.looks import check_registration
from fairlab.monitoring.registration import (
    EVENT,
    LONGEST_TEXT,
    MOST_ERRORS,
    STORABLE,
    STRICT,
    RefusedError,
    Registration,
    Text,
    error,
    refuse,
)
from fairlab.monitoring.scheduler import work
from fairlab.monitoring.store import Store
from fairlab.monitoring.webhooks import is_internal

MOST_BYTES = 16 * 2**20  # of a body
MOST_EFFECTS = 30  # of groups on outputs over time
MOST_POINTS, USUAL_POINTS = 2_000, 300  # of all effects over time: the limit for requests, and the default
PAGE_SIZE = 500  # investigations
LATEST_TIME = 32_503_680_000_000  # milliseconds: the year 3000
# A time of ISO 8601 as people and browsers write it, or nothing, which forms send for an empty field.
TIME = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?)?$"
SAFE = ("GET", "HEAD")
JSON = "application/json"
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "row": {"type": ["integer", "null"]},
                    "column": {"type": "string"},
                    "reason": {"type": "string"},
                },
            },
        },
    },
}
# Rows of decisions or labels.
ROWS_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": [EVENT],
        "properties": {EVENT: {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}},
    },
}
KINDS = ("new", "gone", "stronger", "weaker")  # of changes
# What `/metrics` counts; it holds nothing about people.
SECONDS = Histogram("monitor_request_seconds", "Time of requests", ["method", "route", "status"])
N_ROWS = Counter("monitor_rows", "Rows of decisions and labels", ["kind", "outcome"])
LOOKS = Gauge("monitor_looks", "Looks in the database", ["state"])


def problem(status: int, detail: str, errors=(), headers=None) -> Response:
    """Return a problem document."""
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    content |= {"errors": errors} if errors else {}
    # As ASCII, which can represent unpaired surrogates, too.
    made = Response(json.dumps(content), status, headers, media_type="application/problem+json")
    for scheme in ("Bearer", "Basic") if status == 401 else ():  # two headers: browsers read one challenge per header
        made.headers.append("www-authenticate", f'{scheme} realm="fairlab monitor"')
    return made


async def observe(request: Request, call_next, *, most_bytes: int) -> Response:
    """Log and count a request, add headers, and turn an unexpected error into a problem document.

    Bodies and paths are not logged; the route's pattern is.
    """
    started = time.perf_counter()
    try:
        answer = await call_next(request)
    except Exception as caught:
        log("error", level="error", **place(caught))
        answer = problem(500, "an error in the monitor; see its log")
    if answer.status_code == 413:
        answer = problem(413, f"expected a body of at most {most_bytes:,} bytes")
    answer.headers.update(HEADERS)
    seconds, route = time.perf_counter() - started, getattr(request.scope.get("route"), "path", "none")
    method = request.method if request.method in (*SAFE, "POST", "DELETE") else "other"
    SECONDS.labels(method, route, answer.status_code).observe(seconds)
    log(
        "request",
        method=method,
        route=route,
        status=answer.status_code,
        ms=round(seconds * 1000, 1),
        token=getattr(request.state, "token", None),
    )
    return answer


def allowed(*roles: str) -> list:
    """Return the dependency of an endpoint that requires a token of one of these roles, or of an administrator."""

    def check(
        request: Request,
        store: TheStore,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
        basic: Annotated[HTTPBasicCredentials | None, Depends(HTTPBasic(auto_error=False))],
    ) -> None:
        is_browser = basic and request.method in SAFE  # otherwise other sites could make it write
        found = store.token(basic.password if is_browser else bearer.credentials.strip() if bearer else "")
        refuse(found is None, 401, "expected a token that is known and not revoked: Authorization: Bearer TOKEN")
        request.state.token, role = found
        refuse(
            role not in (*roles, "admin"),
            403,
            f"expected a token with the role {' or '.join((*roles, 'admin'))}, found {role}",
        )

    return [Depends(check)]


def described(schema: dict) -> dict:
    """Return the OpenAPI description of a body that the service reads itself."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


async def read_body(request: Request) -> bytes:
    """Return a body of JSON, which the service reads itself."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity")
    refuse(
        (kind, coding) != (JSON, "identity"),
        415,
        f"expected Content-Type {JSON} without compression, found {kind or 'no type'}, {coding}",
    )
    return await request.body()


def _store(request: Request) -> Store:
    return request.app.state.store


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return min(max(since // timedelta(milliseconds=1), 0), LATEST_TIME)


TheStore = Annotated[Store, Depends(_store)]
Body = Annotated[bytes, Depends(read_body)]
Number = Annotated[int, Path(ge=1, lt=2**31)]
After = Annotated[int, Query(ge=0, lt=2**31)]
Time = Annotated[  # in milliseconds since 1970, or None
    str,
    Query(pattern=TIME, description="ISO 8601; UTC unless it names a time zone"),
    AfterValidator(_milliseconds),
]
Key = Annotated[str | None, Header(min_length=1, max_length=LONGEST_TEXT, pattern=STORABLE, alias="Idempotency-Key")]
router = APIRouter(
    responses={
        "default": {
            "description": "problem document",
            "content": {"application/problem+json": {"schema": PROBLEM}},
        }
    }
)


def create_app(store: Store, *, most_bytes: int = MOST_BYTES, internal: Container[str] = ()) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    store : Store
        With its tables.
    most_bytes : int
        Maximum size of a body.
    internal : container of str
        Hosts of webhooks that may have an internal address.
    """
    app = FastAPI(
        title="fairlab monitor",
        version="1",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=router.routes,
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=partial(observe, most_bytes=most_bytes)),
            Middleware(RequestBodyLimitMiddleware, max_body_size=most_bytes),
        ],
        exception_handlers={
            RefusedError: lambda _, found: problem(found.status, str(found), found.errors),
            RequestValidationError: _misfit,
            ValidationError: _misfit,
            HTTPException: lambda _, found: problem(found.status_code, found.detail, headers=found.headers),
            sa.exc.DBAPIError: _unavailable,
            sa.exc.TimeoutError: _unavailable,
        },
    )
    app.state.store, app.state.internal = store, internal
    schemas = models_json_schema([(Registration, "validation")], ref_template="#/components/schemas/{model}")[1]
    app.openapi()["components"]["schemas"] = schemas["$defs"]  # the service reads registrations itself
    return app


def _misfit(_, found: RequestValidationError | ValidationError) -> Response:
    errors = [error(None, ".".join(map(str, one["loc"])), one["msg"]) for one in found.errors()]
    return problem(422, "the request does not fit", errors[:MOST_ERRORS])


def _unavailable(_, found: Exception) -> Response:
    log("database", level="error", **place(found))
    return problem(503, "the database is busy or unavailable; nothing was stored", headers={"retry-after": "2"})


@router.get("/healthz")
async def health() -> dict[str, str]:
    """Report that the server is running."""
    return {"status": "ok"}


@router.get("/readyz")
def ready(store: TheStore) -> dict[str, str]:
    """Report whether the database is available and has the tables that this server needs."""
    with store.read() as connection:
        found = migrations.current(connection)
    refuse(found != migrations.known()[0], 503, f"expected tables of version {migrations.known()[0]}, found {found}")
    return {"status": "ok", "tables": found}


@router.get("/metrics", dependencies=allowed("reader"), response_class=PlainTextResponse)
def measured(store: TheStore) -> Response:
    """Return the metrics for Prometheus."""
    for state, n_looks in store.look_states().items():
        LOOKS.labels(state).set(n_looks)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@router.post(
    "/investigations",
    status_code=201,
    dependencies=allowed(),
    openapi_extra=described({"$ref": "#/components/schemas/Registration"}),
)
def register(store: TheStore, request: Request, body: Body) -> dict[str, int]:
    """Register an investigation."""
    registration = Registration.model_validate(read_json(body))
    check_registration(registration)
    n_effects = len(list(over_time(registration, ())))
    refuse(n_effects > MOST_EFFECTS, 422, f"expected at most {MOST_EFFECTS} groups times outputs, found {n_effects}")
    if registration.webhook:
        reason = _unfit(registration.webhook.url, request.app.state.internal)
        refuse(reason, 422, "the request does not fit", [error(None, "webhook.url", reason)])
    return {"id": store.register(registration)}


def _unfit(url: str, internal: Container[str]) -> str:
    """Return the reason why no notice can be sent to an address, or an empty string."""
    try:
        host, port = httpx.URL(url).host, httpx.URL(url).port
        is_refused = is_internal(host) and host not in internal
    except (httpx.InvalidURL, UnicodeError) as found:
        return f"expected an address: {found}"
    if port is not None and not 0 < port < 2**16:
        return f"expected a port from 1 to 65535, found {port}"
    return "expected a public address, or a host that the monitor was started with as --internal-host" * is_refused


@router.get("/investigations", dependencies=allowed("reader"))
def list_investigations(store: TheStore, after: After = 0) -> dict:
    """List investigations, a page of those after a number; `following` is the number of the page after it."""
    found, following = _page(store, after)
    return {"investigations": list(map(_about, found)), "following": following}


def _page(store: Store, after: int) -> tuple[list[sa.Row], int | None]:
    """Return a page of investigations after a number, and the number after which the next page begins, if any."""
    found = store.overview(after=after, limit=PAGE_SIZE + 1)
    return found[:PAGE_SIZE], found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else None


@router.get("/investigations/{number}", dependencies=allowed("reader", "writer"))
def show_investigation(store: TheStore, number: Number) -> dict:
    """Return what is registered and how many rows and looks there are."""
    return _about(*store.overview(number))


def _about(found: sa.Row) -> dict:
    """Return the registration without secrets, and the numbers of rows and looks."""
    webhook = found.registration.webhook and httpx.URL(found.registration.webhook.url)
    return {
        "id": found.id,
        **found.registration.model_dump(mode="json", exclude={"webhook"}),
        "webhook": webhook and {"url": f"{webhook.scheme}://{webhook.host}"},  # the rest may hold a key
        "decisions": found.decided,
        "labels": found.complete if found.registration.true_label else 0,
        "looks": found.n_looks,
        "created": iso(found.created),
    }


@router.delete("/investigations/{number}", status_code=204, dependencies=allowed())
def delete_investigation(store: TheStore, number: Number) -> None:
    """Delete an investigation with its rows, looks and reports."""
    store.delete_investigation(number)


class Deletion(BaseModel):
    """The person whose rows are deleted; in the body, as paths cannot hold every key and are logged elsewhere."""

    model_config = STRICT
    person: Text


@router.post(
    "/investigations/{number}/deletions",
    dependencies=allowed(),
    openapi_extra=described(Deletion.model_json_schema()),
)
def delete_person(store: TheStore, number: Number, body: Body) -> dict[str, int]:
    """Delete the rows of a person; running counts and the reports of past looks stay."""
    return {"deleted": store.delete_person(number, Deletion.model_validate(read_json(body)).person)}


@router.post("/investigations/{number}/decisions", dependencies=allowed("writer"), openapi_extra=described(ROWS_SCHEMA))
@router.post("/investigations/{number}/labels", dependencies=allowed("writer"), openapi_extra=described(ROWS_SCHEMA))
def add_rows(store: TheStore, number: Number, request: Request, body: Body, key: Key = None) -> dict[str, int]:
    """Store decisions, or true labels of decisions; the answer comes when they are on disk."""
    kind = request.url.path.rpartition("/")[2]
    counted = store.add(kind, number, read_rows(body), key, hashlib.sha256(body).digest())
    for outcome in ("new", "repeated"):
        N_ROWS.labels(kind, outcome).inc(counted[outcome])
    return counted


@router.post("/investigations/{number}/looks", status_code=202, dependencies=allowed())
def look_now(store: TheStore, number: Number) -> dict[str, int]:
    """Take a look now, if there are enough rows; this spends a part of the level."""
    return {"number": store.plan_look(number, is_wanted=True)}


@router.get("/investigations/{number}/looks", dependencies=allowed("reader"))
def list_looks(store: TheStore, number: Number) -> dict[str, list]:
    """List the looks of an investigation, with the numbers of findings that are new, gone, stronger or weaker."""
    return {"looks": [_of_look(one, dict.fromkeys(KINDS, 0) | (one.summary or {})) for one in store.look_list(number)]}


@router.get("/investigations/{number}/looks/{look}", dependencies=allowed("reader"), response_model=dict)
def show_look(store: TheStore, number: Number, look: Number, request: Request):
    """Return the report of a look, as JSON or, by the header Accept, as text."""
    found = _with_report(store.report(number, look))
    is_text = "text/plain" in request.headers.get("accept", "")
    return PlainTextResponse(pages.render("look.txt", **found)) if is_text else found


@router.get("/investigations/{number}/effects", dependencies=allowed("reader"))
def effects(
    store: TheStore,
    number: Number,
    start: Time = None,
    end: Time = None,
    bucket: Annotated[int | None, Query(ge=1, le=10**9, description="seconds")] = None,
) -> dict:
    """Return the effect among everyone over time, one point for each bucket that has new rows.

    By default it covers all rows, in buckets of a width that suits a page. These begin at multiples of their width, a
    power of two, so that past ones do not change; buckets of a given width begin at the start.
    """
    found = store.investigation(number)
    first, last = found.created if start is None else start, found.time + 1 if end is None else end
    refuse(None not in (start, end) and last < first, 422, "end: expected a time after start")
    n_effects = max(len(list(over_time(found.registration, ()))), 1)
    finest = max(last - first, 1) / min(USUAL_POINTS // n_effects, 100)
    width = bucket * 1000 if bucket else 2 ** math.ceil(math.log2(max(finest, 1)))
    refuse(
        bucket and (last - first) // width > MOST_POINTS // n_effects,
        422,
        f"bucket: expected at most {MOST_POINTS // n_effects} of them between start and end",
    )
    moments = store.batch_counts(number, first, last, width, first if bucket else 0)
    return {
        "start": iso(first),
        "end": iso(last),
        "bucket": width / 1000,
        "effects": list(over_time(found.registration, moments)),
    }


@router.get("/static/monitor.css", include_in_schema=False)
def style() -> Response:
    """Return the style of the pages."""
    return Response(pages.STYLE, media_type="text/css")


page = partial(router.get, include_in_schema=False, response_class=HTMLResponse, dependencies=allowed("reader"))


@page("/")
def show_index(store: TheStore, after: After = 0) -> str:
    """Return a page of investigations, from a number on."""
    found, following = _page(store, after)
    return pages.render("index.html", investigations=found, following=following, after=after)


@page("/pages/investigations/{number}")
def show_page(store: TheStore, number: Number, start: Time = None, end: Time = None) -> str:
    """Return the page of an investigation."""
    about, looks, last = show_investigation(store, number), list_looks(store, number)["looks"], store.report(number)
    return pages.investigation(about, looks, last and _with_report(last), effects(store, number, start, end))


@page("/pages/investigations/{number}/looks/{look}")
def show_report(store: TheStore, number: Number, look: Number) -> str:
    """Return the page of a look."""
    name, found = store.investigation(number).registration.name, _with_report(store.report(number, look))
    return pages.render("look.html", id=number, name=name, look=found)


def _of_look(row: sa.Row, changes: dict) -> dict:
    """Return number, state and times of a look, and what is new, gone, stronger or weaker."""
    return {
        "number": row.number,
        "state": row.state,
        "level": row.level,
        "started": iso(row.started),
        "finished": iso(row.finished),
        "changes": {kind: changes[kind] for kind in KINDS},
    }


def _with_report(row: sa.Row) -> dict:
    return _of_look(row, dict.fromkeys(KINDS, ())) | (row.report or {})


def serve(url: str, host: str, port: int, most_bytes: int = MOST_BYTES, internal: Sequence[str] = ()) -> None:
    """Serve until a signal stops it; requests under way are answered first. Webhooks may go to some internal hosts."""
    import uvicorn

    log_as_json()
    store = Store(url)
    # A pool replaces a process that is killed, for instance for lack of memory.
    with store.claim_file(), closing(migrations.migrated(store)), get_context("spawn").Pool(1, work, [url, internal]):
        uvicorn.run(
            create_app(store, most_bytes=most_bytes, internal=internal),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=20,
        )
