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
from fairlab.monitoring.bodies import JSON, READERS, read_json, read_rows
from fairlab.monitoring.effects import over_time
from fairlab.monitoring.logs import LOG, iso, log_as_json, place
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
)
from fairlab.monitoring.scheduler import work
from fairlab.monitoring.store import Store
from fairlab.monitoring.webhooks import is_internal

MOST_BYTES = 16 * 2**20  # of a body
MOST_POINTS, USUAL_POINTS = 2_000, 300  # of all effects over time: that may be wanted, and that are shown
PAGE = 500  # investigations
LATEST = 32_503_680_000_000  # milliseconds: the year 3000
# A time of ISO 8601 as people and browsers write it, or nothing, as a form sends what is not filled in.
TIME = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?)?$"
SAFE = ("GET", "HEAD")
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
# Rows of decisions or labels: JSON, or another of the formats.
ROWS = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in READERS} | {
    JSON: {
        "schema": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [EVENT],
                "properties": {EVENT: {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}},
            },
        }
    }
}
# What `/metrics` counts; it holds nothing about people.
SECONDS = Histogram("monitor_request_seconds", "Time of requests", ["method", "route", "status"])
N_ROWS = Counter("monitor_rows", "Rows of decisions and labels", ["kind", "outcome"])
LOOKS = Gauge("monitor_looks", "Looks in the database", ["state"])


def problem(status: int, detail: str, errors=(), headers=None) -> Response:
    """Return a problem document."""
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    content |= {"errors": list(errors)} if errors else {}
    # As ASCII, which has room for half a pair of surrogates, too.
    made = Response(json.dumps(content), status, headers, media_type="application/problem+json")
    for scheme in ("Bearer", "Basic") if status == 401 else ():  # two headers: browsers read one challenge of each
        made.headers.append("www-authenticate", f'{scheme} realm="fairlab monitor"')
    return made


async def observe(request: Request, call_next, *, most_bytes: int) -> Response:
    """Log and count a request, add headers, and turn what nobody expected into a problem document.

    Neither bodies nor paths are logged: the route's pattern is.
    """
    started = time.perf_counter()
    try:
        answer = await call_next(request)
    except Exception as caught:
        LOG.error("error", extra={"fields": place(caught)})
        answer = problem(500, "an error of the monitor; its log says where")
    if answer.status_code == 413:
        answer = problem(413, f"expected a body of at most {most_bytes:,} bytes")
    answer.headers.update(HEADERS)
    seconds, route = time.perf_counter() - started, getattr(request.scope.get("route"), "path", "none")
    method = request.method if request.method in (*SAFE, "POST", "DELETE") else "other"
    SECONDS.labels(method, route, answer.status_code).observe(seconds)
    fields = {"method": method, "route": route, "status": answer.status_code, "ms": round(seconds * 1000, 1)}
    LOG.info("request", extra={"fields": fields | {"token": getattr(request.state, "token", None)}})
    return answer


def allowed(*roles: str) -> list:
    """Return the dependency of an endpoint that a request has a token of one of these roles, or of an administrator."""

    def check(
        request: Request,
        store: TheStore,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
        basic: Annotated[HTTPBasicCredentials | None, Depends(HTTPBasic(auto_error=False))],
    ) -> None:
        if basic and request.method in SAFE:  # else other sites could have the browser write
            found = store.token(basic.password)
        else:
            found = store.token(bearer.credentials.strip()) if bearer else None
        if found is None:
            raise RefusedError(401, "expected a token that is known and not revoked: Authorization: Bearer TOKEN")
        request.state.token, role = found
        if role not in (*roles, "admin"):
            raise RefusedError(403, f"expected a token with the role {' or '.join((*roles, 'admin'))}, found {role}")

    return [Depends(check)]


async def read_body(request: Request) -> bytes:
    """Return the body, as long as it is not compressed."""
    if (coding := request.headers.get("content-encoding", "identity")) != "identity":
        raise RefusedError(415, f"expected a body without compression, found {coding}")
    return await request.body()


def _store(request: Request) -> Store:
    return request.app.state.store


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1), 0), LATEST)


TheStore = Annotated[Store, Depends(_store)]
Body = Annotated[bytes, Depends(read_body)]
Number = Annotated[int, Path(ge=1, lt=2**31)]
Time = Annotated[  # in milliseconds since 1970, or None
    str,
    Query(pattern=TIME, description="of ISO 8601; UTC where it names no zone"),
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


def _body(content: dict) -> dict:
    """Return what OpenAPI is to say of a body that the service reads itself."""
    return {"requestBody": {"required": True, "content": content}}


def _content_type(request: Request, *known: str) -> str:
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in known:
        raise RefusedError(415, f"expected Content-Type {' or '.join(known)}, found {found or 'none'}")
    return found


def create_app(store: Store, *, most_bytes: int = MOST_BYTES, internal: Container[str] = ()) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    store : Store
        With its tables.
    most_bytes : int
        Of a body.
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
    parts = [(".".join(map(str, one["loc"])), one["msg"]) for one in found.errors()]
    return problem(422, "the request does not fit", [error(None, *part) for part in parts[:MOST_ERRORS]])


def _unavailable(_, found: Exception) -> Response:
    LOG.error("database", extra={"fields": place(found)})
    return problem(503, "the database cannot do this now; nothing was kept", headers={"retry-after": "2"})


@router.get("/healthz")
async def health() -> dict[str, str]:
    """Say that the server runs."""
    return {"status": "ok"}


@router.get("/readyz")
def ready(store: TheStore) -> dict[str, str]:
    """Say whether the database is there and has the tables that this server needs."""
    with store.read() as connection:
        found = migrations.current(connection)
    if found != migrations.newest():
        raise RefusedError(503, f"expected tables of version {migrations.newest()}, found {found}")
    return {"status": "ok", "tables": found}


@router.get("/metrics", dependencies=allowed("reader"), response_class=PlainTextResponse)
def measured(store: TheStore) -> Response:
    """Return the metrics for Prometheus."""
    for state, n_looks in store.look_states():
        LOOKS.labels(state).set(n_looks)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@router.post(
    "/investigations",
    status_code=201,
    dependencies=allowed(),
    openapi_extra=_body({JSON: {"schema": {"$ref": "#/components/schemas/Registration"}}}),
)
def register(store: TheStore, request: Request, body: Body) -> dict[str, int]:
    """Register an investigation."""
    registration = Registration.model_validate(read_json(_content_type(request, JSON), body))
    check_registration(registration)
    host = httpx.URL(registration.webhook.url).host if registration.webhook else None
    if host and host not in request.app.state.internal and is_internal(host):
        reason = "expected a public address, or a host that the monitor was started with as --internal-host"
        raise RefusedError(422, "the request does not fit", [error(None, "webhook.url", reason)])
    return {"id": store.register(registration)}


@router.get("/investigations", dependencies=allowed("reader"))
def list_investigations(store: TheStore) -> dict[str, list]:
    """List all investigations."""
    return {"investigations": list(map(_about, store.overview()))}


@router.get("/investigations/{number}", dependencies=allowed("reader", "writer"))
def show_investigation(store: TheStore, number: Number) -> dict:
    """Return what is registered and how many rows and looks there are."""
    return _about(*store.overview(number))


def _about(found: sa.Row) -> dict:
    shown = found.registration.model_dump(mode="json", exclude={"webhook": {"secret"}})
    if webhook := found.registration.webhook:  # the rest of the address may hold a key
        url = httpx.URL(webhook.url)
        shown["webhook"] = {"url": f"{url.scheme}://{url.host}"}
    counted = {
        "decisions": found.decided,
        "labels": found.complete if found.registration.true_label else 0,
        "looks": found.n_looks,
        "created": iso(found.created),
    }
    return {"id": found.id} | shown | counted


@router.delete("/investigations/{number}", status_code=204, dependencies=allowed())
def delete_investigation(store: TheStore, number: Number) -> None:
    """Delete an investigation with its rows, looks and reports."""
    store.delete_investigation(number)


class Deletion(BaseModel):
    """Whose rows are deleted: in a body, as a path cannot hold every key, and is logged by others."""

    model_config = STRICT
    person: Text


@router.post(
    "/investigations/{number}/deletions",
    dependencies=allowed(),
    openapi_extra=_body({JSON: {"schema": Deletion.model_json_schema()}}),
)
def delete_person(store: TheStore, number: Number, request: Request, body: Body) -> dict[str, int]:
    """Delete the rows of a person; running counts and the reports of past looks stay."""
    wanted = Deletion.model_validate(read_json(_content_type(request, JSON), body))
    return {"deleted": store.delete_person(number, wanted.person)}


@router.post("/investigations/{number}/decisions", dependencies=allowed("writer"), openapi_extra=_body(ROWS))
@router.post("/investigations/{number}/labels", dependencies=allowed("writer"), openapi_extra=_body(ROWS))
def add_rows(store: TheStore, number: Number, request: Request, body: Body, key: Key = None) -> dict[str, int]:
    """Store decisions, or true labels of decisions; the answer comes when they are on disk."""
    kind = request.url.path.rpartition("/")[2]
    rows = read_rows(_content_type(request, *READERS), body)
    counted = store.add(kind, number, rows, key, hashlib.sha256(body).digest())
    for outcome in ("new", "repeated"):
        N_ROWS.labels(kind, outcome).inc(counted[outcome])
    return counted


@router.post("/investigations/{number}/looks", status_code=202, dependencies=allowed())
def look_now(store: TheStore, number: Number) -> dict[str, int]:
    """Look now, if there are enough rows; it spends a part of the level."""
    return {"number": store.plan_look(number, is_wanted=True)}


@router.get("/investigations/{number}/looks", dependencies=allowed("reader"))
def list_looks(store: TheStore, number: Number) -> dict[str, list]:
    """List the looks of an investigation, with the numbers of findings that are new, gone, stronger or weaker."""
    return {"looks": list(map(_of_look, store.look_list(number)))}


@router.get("/investigations/{number}/looks/{look}", dependencies=allowed("reader"), response_model=dict)
def show_look(store: TheStore, number: Number, look: Number, request: Request):
    """Return the report of a look, as JSON or, by the header Accept, as text."""
    found = find_look(store, number, look)
    return (
        PlainTextResponse(pages.render("look.txt", **found))
        if "text/plain" in request.headers.get("accept", "")
        else found
    )


@router.get("/investigations/{number}/effects", dependencies=allowed("reader"))
def effects(
    store: TheStore,
    number: Number,
    start: Time = None,
    end: Time = None,
    bucket: Annotated[int | None, Query(ge=1, le=10**9, description="seconds")] = None,
) -> dict:
    """Return the effect among everyone over time, one point for each bucket that has new rows."""
    return effects_of(store, number, start, end, bucket)


@router.get("/static/monitor.css", include_in_schema=False)
def style() -> Response:
    """Return the style of the pages."""
    return Response(pages.STYLE, media_type="text/css")


page = partial(router.get, include_in_schema=False, response_class=HTMLResponse, dependencies=allowed("reader"))


@page("/")
def show_index(store: TheStore, after: Annotated[int, Query(ge=0, lt=2**31)] = 0) -> str:
    """Return a page of investigations, from a number on."""
    found = store.overview(after=after, limit=PAGE + 1)
    investigations = [(_about(one), iso(one.finished), one.summary) for one in found[:PAGE]]
    following = found[PAGE - 1].id if len(found) > PAGE else None
    return pages.render("index.html", investigations=investigations, following=following, after=after)


@page("/pages/investigations/{number}")
def show_page(store: TheStore, number: Number, start: Time = None, end: Time = None) -> str:
    """Return the page of an investigation."""
    about, looks = _about(*store.overview(number)), list(map(_of_look, store.look_list(number)))
    last = store.report(number)
    return pages.investigation(about, looks, last and _with_report(last), effects_of(store, number, start, end))


@page("/pages/investigations/{number}/looks/{look}")
def show_report(store: TheStore, number: Number, look: Number) -> str:
    """Return the page of a look."""
    name = store.investigation(number).registration.name
    return pages.render("look.html", id=number, name=name, look=find_look(store, number, look))


def _of_look(row: sa.Row) -> dict:
    """Return number, state and times of a look, and how many findings are new, gone, stronger or weaker."""
    changes = {kind: (row.summary or {}).get(kind, 0) for kind in ("new", "gone", "stronger", "weaker")}
    times = {"started": iso(row.started), "finished": iso(row.finished)}
    return {"number": row.number, "state": row.state, "level": row.level} | times | {"changes": changes}


def _with_report(row: sa.Row) -> dict:
    return _of_look(row) | {"changes": dict.fromkeys(("new", "gone", "stronger", "weaker"), ())} | (row.report or {})


def find_look(store: Store, number: int, look: int) -> dict:
    """Return a look with its report; a RefusedError if there is no such look."""
    found = store.report(number, look)
    if found is None:
        store.investigation(number)
        raise RefusedError(404, f"investigation {number} has no look {look}")
    return _with_report(found)


def effects_of(store: Store, number: int, start: int | None, end: int | None, bucket: int | None = None) -> dict:
    """Return the effects between two times, by default all, in buckets of some seconds, or of which many fit a page.

    The latter begin at multiples of their width, a power of two, so that those that are over stay as they are.
    """
    found = store.investigation(number)
    first, last = found.created if start is None else start, found.time + 1 if end is None else end
    n_bands = max(found.registration.n_bands, 1)
    finest = max(last - first, 1) / min(USUAL_POINTS // n_bands, 100)
    width = bucket * 1000 if bucket else 2 ** math.ceil(math.log2(max(finest, 1)))
    if bucket and (last - first) // width > MOST_POINTS // n_bands:
        raise RefusedError(422, f"bucket: expected at most {MOST_POINTS // n_bands} of them between start and end")
    moments = store.batch_counts(number, first, last, width, first if bucket else 0)
    effects = over_time(found.registration, moments)
    return {"start": iso(first), "end": iso(last), "bucket": width / 1000, "effects": effects}


def serve(url: str, host: str, port: int, most_bytes: int = MOST_BYTES, internal: Sequence[str] = ()) -> None:
    """Serve until a signal stops it; requests under way are answered first. Webhooks may go to some internal hosts."""
    import uvicorn

    log_as_json()
    store = Store(url)
    # A pool replaces a process that is killed, as for want of memory.
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
