"""The monitor over HTTP: who may do what, limits, problem documents (RFC 9457), metrics and endpoints."""

import base64
import binascii
import hashlib
import json
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from fairlab.monitoring import migrations, pages
from fairlab.monitoring.bodies import READERS, BodyError, read_json
from fairlab.monitoring.effects import over_time
from fairlab.monitoring.logs import LOG, iso, log_as_json, place
from fairlab.monitoring.looks import CHANGES, as_text
from fairlab.monitoring.registration import EVENT, LONGEST_TEXT, PERSON, Registration, RowsError, check_texts, error
from fairlab.monitoring.scheduler import Scheduler, Worker
from fairlab.monitoring.store import DONE, KeyReusedError, NotFoundError, PostponedError, Store
from fairlab.monitoring.webhooks import Deliveries

MOST_BYTES = 16 * 2**20  # of a body
MOST_POINTS = 2_000  # of an effect over time
SECONDS_TO_RETRY = 2
LATEST = 32_503_680_000_000  # milliseconds: the year 3000
SAFE = ("GET", "HEAD")
CHALLENGES = ('Bearer realm="fairlab monitor"', 'Basic realm="fairlab monitor"')
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
Number = Annotated[int, Path(ge=1, lt=2**31)]
Key = Annotated[str | None, Header(min_length=1, max_length=LONGEST_TEXT, alias="Idempotency-Key")]


class ProblemError(Exception):
    """A request that is refused, and how."""

    def __init__(self, status: int, detail: str, errors=(), **headers):
        super().__init__(detail)
        self.status, self.detail, self.errors, self.headers = status, detail, list(errors), headers


class RowError(BaseModel):
    """What is wrong in a row, or in a field of a registration."""

    row: int | None
    column: str
    reason: str


class Problem(BaseModel):
    """A problem document."""

    title: str
    status: int
    detail: str
    errors: list[RowError] | None = None


def answer(content, status: int = 200, kind: str = "application/json", **headers) -> Response:
    """Return plain data as JSON."""
    body = json.dumps(content, allow_nan=False)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, status, headers, media_type=kind)


def problem(status: int, detail: str, errors=(), **headers) -> Response:
    """Return a problem document."""
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    content |= {"errors": list(errors)} if errors else {}
    return answer(content, status, "application/problem+json", **headers)


class Metrics:
    """What `/metrics` counts; it holds nothing about people."""

    def __init__(self):
        self.registry = CollectorRegistry()
        make = partial(Counter, registry=self.registry)
        self.requests = make("monitor_requests", "Requests", ["method", "route", "status"])
        self.rows = make("monitor_rows", "Rows of decisions and labels", ["kind", "outcome"])
        self.looks = make("monitor_looks", "Looks that ended", ["state"])
        self.deliveries = make("monitor_deliveries", "Notices to webhooks", ["outcome"])
        self.seconds = Histogram("monitor_request_seconds", "Time of requests", ["route"], registry=self.registry)


class Observed:
    """Logs and counts each request, adds headers, and turns what nobody expected into a problem document.

    Neither bodies nor paths are logged, as a path may name a person: the route's pattern is.
    """

    def __init__(self, app, metrics: Metrics):
        self._app, self._metrics = app, metrics

    async def __call__(self, scope, receive, send):
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        started, status = time.perf_counter(), 0

        async def sending(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(one for one in added if one[0] not in given)]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as caught:
            LOG.error("error", extra={"fields": place(caught)})
            if not status:
                await problem(500, "an error of the monitor; its log says where")(scope, receive, sending)
        route = getattr(scope.get("route"), "path", "none")
        seconds = time.perf_counter() - started
        method = scope["method"] if scope["method"] in (*SAFE, "POST", "DELETE") else "other"
        self._metrics.requests.labels(method, route, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        token = scope.get("state", {}).get("token")
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1), "token": token}
        LOG.info("request", extra={"fields": fields})


def _token_of(request: Request) -> str:
    """Return the token of a request, which a browser sends as the password of the Basic scheme, for reading only."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic" and request.method in SAFE:  # else other sites could have the browser write
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _allowed(*roles: str) -> Callable:
    """Return a check that a request has a token of one of these roles, or of an administrator."""

    def check(request: Request) -> None:
        store: Store = request.app.state.store
        found = store.token(_token_of(request))
        if found is None:
            raise ProblemError(401, "expected a token: Authorization: Bearer TOKEN")
        number, role = found
        request.state.token = number
        if role not in (*roles, "admin"):
            raise ProblemError(403, f"expected a token with the role {' or '.join((*roles, 'admin'))}, found {role}")

    return check


def allowed(*roles: str) -> list:
    """Return the dependencies of an endpoint for these roles."""
    return [Depends(_allowed(*roles))]


async def read_body(request: Request) -> bytes:
    """Return the body, as long as it is not compressed and not too long."""
    most = request.app.state.most_bytes
    if (coding := request.headers.get("content-encoding", "identity")) != "identity":
        raise ProblemError(
            415, f"expected a body without compression, found {_ascii(coding)}", accept_encoding="identity"
        )
    length = request.headers.get("content-length", "")
    parts, size = [], int(length) if length.isdecimal() and len(length) < 20 else 0
    if size <= most:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                break
            parts.append(part)
    if size > most:
        raise ProblemError(413, f"expected a body of at most {most:,} bytes")
    return b"".join(parts)


Body = Annotated[bytes, Depends(read_body)]


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()[:LONGEST_TEXT]


def _content_type(request: Request, *known: str) -> str:
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in known:
        raise ProblemError(415, f"expected Content-Type {' or '.join(known)}, found {_ascii(found) or 'none'}")
    return found


def create_app(store: Store, *, most_bytes: int = MOST_BYTES, looks: bool = True) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    store : Store
        With its tables.
    most_bytes : int
        Of a body.
    looks : bool
        Whether looks are taken, and notices sent, in the background.
    """
    metrics = Metrics()
    scheduler = Scheduler(store, lambda state: metrics.looks.labels(state).inc())
    jobs = [scheduler, Deliveries(store, lambda outcome: metrics.deliveries.labels(outcome).inc())]

    @asynccontextmanager
    async def lifespan(_):
        workers = [Worker(job) for job in jobs if looks]
        for worker in workers:
            worker.start()
        yield
        for worker in workers:
            await run_in_threadpool(worker.stop)

    app = FastAPI(title="fairlab monitor", version="1", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False
    app.state.store, app.state.metrics, app.state.most_bytes = store, metrics, most_bytes
    app.add_middleware(Observed, metrics=metrics)
    _handle_errors(app)
    _add_operations(app, store, metrics)
    _add_investigations(app, store)
    _add_rows(app, store, metrics)
    _add_reports(app, store)
    _add_pages(app, store)
    app.openapi = partial(_openapi, app)
    return app


def _handle_errors(app: FastAPI) -> None:
    def refused(request, caught):
        response = problem(caught.status, caught.detail, caught.errors, **caught.headers)
        for challenge in CHALLENGES if caught.status == 401 else ():
            response.headers.append("www-authenticate", challenge)  # two headers: browsers read one challenge of each
        return response

    def unavailable(request, caught):
        LOG.error("database", extra={"fields": place(caught)})
        return problem(503, "the database cannot do this now; nothing was kept", retry_after=str(SECONDS_TO_RETRY))

    def invalid(request, caught):
        parts = [(".".join(map(str, one["loc"])), one["msg"]) for one in caught.errors()]
        return problem(422, "the request does not fit", [error(None, *part) for part in parts])

    handlers = {
        ProblemError: refused,
        HTTPException: lambda _, e: problem(e.status_code, str(e.detail), **(e.headers or {})),
        RequestValidationError: invalid,
        BodyError: lambda _, e: problem(400, _ascii(str(e))),
        RowsError: lambda _, e: problem(422, str(e), e.errors),
        KeyReusedError: lambda _, e: problem(422, str(e)),
        PostponedError: lambda _, e: problem(409, str(e)),
        NotFoundError: lambda _, e: problem(404, str(e.args[0])),
        sa.exc.DBAPIError: unavailable,
        sa.exc.TimeoutError: unavailable,
    }
    for kind, handle in handlers.items():
        app.add_exception_handler(kind, handle)


def _add_operations(app: FastAPI, store: Store, metrics: Metrics) -> None:
    @app.get("/healthz")
    async def health() -> dict[str, str]:
        """Say that the server runs."""
        return {"status": "ok"}

    @app.get("/readyz", responses={503: {"model": Problem}})
    def ready() -> dict[str, str]:
        """Say whether the database is there and has the tables that this server needs."""
        with store.read() as connection:
            found = migrations.current(connection)
        if found != migrations.newest():
            raise ProblemError(503, f"expected tables of version {migrations.newest()}, found {found}")
        return {"status": "ok", "tables": found}

    @app.get("/metrics", dependencies=allowed("reader"), response_class=PlainTextResponse)
    def measured() -> Response:
        """Return the metrics for Prometheus."""
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_investigations(app: FastAPI, store: Store) -> None:
    @app.post("/investigations", status_code=201, dependencies=allowed(), openapi_extra=_body("Registration"))
    async def register(request: Request, body: Body) -> Response:
        """Register an investigation."""
        _content_type(request, "application/json")
        try:
            registration = Registration.model_validate(read_json(body))
        except ValidationError as found:
            errors = [error(None, ".".join(map(str, one["loc"])), one["msg"]) for one in found.errors()]
            raise ProblemError(422, "the registration does not fit", errors) from None
        return answer({"id": await run_in_threadpool(store.register, registration)}, 201)

    @app.get("/investigations", dependencies=allowed("reader"))
    def list_investigations() -> Response:
        """List all investigations."""
        return answer({"investigations": [_about(store, number) for number in store.numbers()]})

    @app.get("/investigations/{number}", dependencies=allowed("reader", "writer"))
    def show_investigation(number: Number) -> Response:
        """Return what is registered and how many rows and looks there are."""
        return answer(_about(store, number))

    @app.delete("/investigations/{number}", status_code=204, dependencies=allowed())
    def delete_investigation(number: Number) -> Response:
        """Delete an investigation with its rows, looks and reports."""
        store.delete_investigation(number)
        return Response(status_code=204)

    @app.delete("/investigations/{number}/people/{person}", dependencies=allowed())
    def delete_person(number: Number, person: str) -> Response:
        """Delete the rows of a person; running counts and the reports of past looks stay."""
        check_texts(PERSON, [person])
        return answer({"deleted": store.delete_person(number, person)})


def _about(store: Store, number: int) -> dict:
    found = store.investigation(number)
    with store.read() as connection:
        row = store.row(connection, number)
    shown = found.registration.model_dump(mode="json", exclude={"webhook": {"secret"}})
    n_looks = len(store.look_list(number))
    counted = {"decisions": row.decided, "labels": row.labelled, "looks": n_looks, "created": iso(row.created)}
    return {"id": number} | shown | counted


def _add_rows(app: FastAPI, store: Store, metrics: Metrics) -> None:
    async def add(kind, number, request, key, body, columns_of, store_rows) -> Response:
        reader = READERS[_content_type(request, *READERS)]
        if key is not None:
            check_texts("Idempotency-Key", [key])

        def work():
            columns = columns_of(store.investigation(number).registration)
            return store_rows(number, reader(body, *columns), key, hashlib.sha256(body).digest())

        try:
            result = await run_in_threadpool(work)
        except RowsError:
            metrics.rows.labels(kind, "refused batch").inc()
            raise
        for outcome in ("new", "repeated"):
            metrics.rows.labels(kind, outcome).inc(result[outcome])
        return answer(result)

    @app.post("/investigations/{number}/decisions", dependencies=allowed("writer"), openapi_extra=_body("Decisions"))
    async def add_decisions(number: Number, request: Request, body: Body, key: Key = None) -> Response:
        """Store decisions; the answer comes when they are on disk."""

        def columns(registration):
            return [EVENT, *registration.stored], [PERSON, *filter(None, [registration.true_label])]

        return await add("decisions", number, request, key, body, columns, store.add_decisions)

    @app.post("/investigations/{number}/labels", dependencies=allowed("writer"), openapi_extra=_body("Labels"))
    async def add_labels(number: Number, request: Request, body: Body, key: Key = None) -> Response:
        """Store true labels of decisions."""

        def columns(registration):
            if registration.true_label is None:
                raise ProblemError(409, "the investigation has no true label")
            return [EVENT, registration.true_label], []

        return await add("labels", number, request, key, body, columns, store.add_labels)


def _add_reports(app: FastAPI, store: Store) -> None:
    @app.post("/investigations/{number}/looks", status_code=202, dependencies=allowed())
    def look_now(number: Number) -> Response:
        """Look now, if there are enough rows; it spends a part of the level."""
        return answer({"number": store.plan_look(number, is_wanted=True)}, 202)

    @app.get("/investigations/{number}/looks", dependencies=allowed("reader"))
    def list_looks(number: Number) -> Response:
        """List the looks of an investigation."""
        return answer({"looks": [look_summary(one) for one in store.look_list(number)]})

    @app.get("/investigations/{number}/looks/{look}", dependencies=allowed("reader"))
    def show_look(number: Number, look: Number, request: Request) -> Response:
        """Return the report of a look, as JSON or, by the header Accept, as text."""
        found = find_look(store, number, look)
        kind = wanted(request, "application/json", "text/plain", "text/html")
        if kind == "text/html":
            return HTMLResponse(pages.look(_about(store, number), found))
        if kind == "text/plain":
            text = as_text(found) if found["state"] == DONE else f"Look {look}: {found['state']}\n"
            return PlainTextResponse(text)
        return answer(found)

    @app.get("/investigations/{number}/effects", dependencies=allowed("reader"))
    def effects(
        number: Number,
        start: datetime | None = None,
        end: datetime | None = None,
        bucket: Annotated[int | None, Query(ge=1, le=10**9, description="seconds")] = None,
    ) -> Response:
        """Return the effect among everyone over time, one point for each bucket that has new rows."""
        return answer(effects_of(store, number, start, end, bucket))


def _add_pages(app: FastAPI, store: Store) -> None:
    page = partial(app.get, include_in_schema=False, response_class=HTMLResponse, dependencies=allowed("reader"))

    def last_of(number) -> dict | None:
        done = [one for one in store.look_list(number) if one.state == DONE]
        return look_summary(done[-1]) | done[-1].report if done else None

    @app.get("/static/monitor.css", include_in_schema=False)
    def style() -> Response:
        return Response(pages.style(), media_type="text/css")

    @page("/")
    def show_index() -> str:
        return pages.index([(_about(store, number), last_of(number)) for number in store.numbers()])

    @page("/pages/investigations/{number}")
    def show_page(number: Number, start: datetime | None = None, end: datetime | None = None) -> str:
        about, looks = _about(store, number), [look_summary(one) for one in store.look_list(number)]
        return pages.investigation(about, looks, last_of(number), effects_of(store, number, start, end))

    @page("/pages/investigations/{number}/looks/{look}")
    def show_report(number: Number, look: Number) -> str:
        return pages.look(_about(store, number), find_look(store, number, look))


def look_summary(row: sa.Row) -> dict:
    """Return what is known of a look without its contexts."""
    report = row.report or {}
    times = {"started": iso(row.started), "finished": iso(row.finished)}
    changes = {kind: len(report.get("changes", {}).get(kind, ())) for kind in CHANGES}
    return {"number": row.number, "state": row.state, "level": row.level, "changes": changes} | times


def find_look(store: Store, number: int, look: int) -> dict:
    """Return the report of a look with its state and times; a NotFoundError if there is no such look."""
    for row in store.look_list(number):
        if row.number == look:
            return look_summary(row) | (row.report or {})
    raise NotFoundError(f"investigation {number} has no look {look}")


def effects_of(store: Store, number: int, start=None, end=None, bucket=None) -> dict:
    """Return the effects between two times, by default all, in buckets of some seconds, by default a hundredth."""
    registration = store.investigation(number).registration
    with store.read() as connection:
        row = store.row(connection, number)
    first, last = (_milliseconds(start, row.created), _milliseconds(end, row.time + 1))
    width = bucket * 1000 if bucket else max((last - first) // 100 + 1, 1)
    if (last - first) // width > MOST_POINTS:
        raise ProblemError(422, f"bucket: expected at most {MOST_POINTS} of them between start and end")
    found = over_time(registration, store.batch_counts(number, first, last, width))
    for one in found:
        for point in one["points"]:
            point["time"] = iso(point["time"])
    return {"start": iso(first), "end": iso(last), "bucket": width / 1000, "effects": found}


def _milliseconds(moment: datetime | None, otherwise: int) -> int:
    if moment is None:
        return otherwise
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1), 0), LATEST)


def wanted(request: Request, *offered: str) -> str:
    """Return the first of the types offered that the header Accept names, in its order; else the first offered."""
    named = [part.partition(";")[0].strip() for part in request.headers.get("accept", "").split(",")]
    return next((kind for kind in named if kind in offered), offered[0])


def _body(schema: str) -> dict:
    """Return what OpenAPI is to say of a body that the service reads itself."""
    kinds = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    if schema != "Registration":
        kinds |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in list(READERS)[1:]}
    return {"requestBody": {"required": True, "content": kinds}}


def _openapi(app: FastAPI) -> dict:
    """Return the OpenAPI document, with bodies, problems and tokens."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (Registration, Problem):
            made = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(made.pop("$defs", {}))
            schemas[model.__name__] = made
        text = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
        row = {"type": "object", "required": [EVENT], "properties": {EVENT: text}}
        schemas["Labels"] = {"type": "array", "items": row}
        schemas["Decisions"] = {"type": "array", "items": row | {"properties": {EVENT: text, PERSON: text}}}
        schemes = {name: {"type": "http", "scheme": name} for name in ("bearer", "basic")}
        document["components"]["securitySchemes"] = schemes
        failed = {"description": "problem document"}
        failed["content"] = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for path, operations in document["paths"].items():
            for operation in operations.values():
                operation["responses"]["default"] = failed
                operation["responses"].pop("422", None)
                if path not in ("/healthz", "/readyz"):
                    operation["security"] = [{"bearer": []}, {"basic": []}]
        app.openapi_schema = document
    return app.openapi_schema


def serve(url: str, host: str, port: int, most_bytes: int = MOST_BYTES) -> None:
    """Serve until a signal stops it; requests under way are answered first."""
    import uvicorn

    log_as_json()
    store = Store(url)
    lock = store.claim_file()
    try:
        migrations.migrated(store)
        app = create_app(store, most_bytes=most_bytes)
        uvicorn.run(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=20,
        )
    finally:
        store.close()
        if lock:
            lock.release()
