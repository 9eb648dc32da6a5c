"""Requests that a real server must refuse: each gets its status and a problem document, and changes nothing."""

import base64
import contextlib
import gzip
import http.client
import json
import threading
import time
from types import SimpleNamespace

import pytest
import uvicorn
from monitoring.streams import REGISTRATION, Monitor, decisions, numbers

MOST_BYTES = 200_000
JSON = "application/json"
ROW = decisions(1, seed=99)[0]
COLUMNS = REGISTRATION["columns"]
SURROGATE = "\ud800"  # half of a pair
ERRORS = {"name": "errors", "kind": "error profiling", "true_label": "truth"}
# Method and path of each endpoint that needs a token, and who but an administrator may use it.
ENDPOINTS = {
    ("POST", "/investigations"): (),
    ("GET", "/investigations"): ("reader",),
    ("GET", "/investigations/1"): ("reader", "writer"),
    ("DELETE", "/investigations/1"): (),
    ("POST", "/investigations/1/deletions"): (),
    ("POST", "/investigations/1/decisions"): ("writer",),
    ("POST", "/investigations/1/labels"): ("writer",),
    ("POST", "/investigations/1/looks"): (),
    ("GET", "/investigations/1/looks"): ("reader",),
    ("GET", "/investigations/1/looks/1"): ("reader",),
    ("GET", "/investigations/1/effects"): ("reader",),
    ("GET", "/metrics"): ("reader",),
    ("GET", "/"): ("reader",),
    ("GET", "/pages/investigations/1"): ("reader",),
    ("GET", "/pages/investigations/1/looks/1"): ("reader",),
}


def basic(token):
    return "Basic " + base64.b64encode(f"user:{token}".encode()).decode()


# What is sent as Authorization, made from the tokens of a monitor.
CREDENTIALS = {
    "none": lambda tokens: None,
    "empty": lambda tokens: "Bearer ",
    "unknown": lambda tokens: "Bearer 9.unknown",
    "number alone": lambda tokens: f"Bearer {tokens['admin'].partition('.')[0]}",
    "secret of another": lambda tokens: (
        f"Bearer {tokens['admin'].partition('.')[0]}.{tokens['reader'].partition('.')[2]}"
    ),
    "cut": lambda tokens: f"Bearer {tokens['admin'][:-1]}",
    "revoked": lambda tokens: f"Bearer {tokens['revoked']}",
    "another scheme": lambda tokens: f"Digest {tokens['admin']}",
    "in the path of SQL": lambda tokens: "Bearer 1' OR '1'='1",
    "basic without a token": lambda tokens: basic("' OR 1=1 --"),
    "a text that PostgreSQL does not take": lambda tokens: basic("\0.secret"),
}


def rows(**changes):
    return json.dumps([ROW | changes])


def without(name):
    return json.dumps([{key: value for key, value in ROW.items() if key != name}])


# Bodies of decisions: status, body.
BODIES = {
    "no body": (400, b""),
    "half an object": (400, b'[{"event_id": "a"'),
    "JSON with a comma too many": (400, b"[1,]"),
    "another encoding": (400, rows().encode("utf-16")),
    "bytes that are no UTF-8": (400, b'[{"event_id": "\xff"}]'),
    "a byte order mark": (400, b"\xef\xbb\xbf[]"),
    "NaN": (400, rows(age=float("nan"))),
    "Infinity": (400, rows(age=float("inf"))),
    "a name twice": (400, b'[{"event_id": "a", "event_id": "b"}]'),
    "nested 50,000 deep": (400, b"[" * 50_000),
    "objects 20,000 deep": (400, b'{"a":' * 20_000),
    "a whole number of 10,000 digits": (400, rows().replace(f'"age": {ROW["age"]}', '"age": 1' + "0" * 10_000)),
    "a number beyond 64 bits": (422, rows().replace(f'"age": {ROW["age"]}', '"age": 1' + "0" * 400)),
    "a number that becomes infinite": (422, rows().replace(f'"age": {ROW["age"]}', '"age": 1e999')),
    "60,000 empty rows": (422, b"[" + b"{}," * 60_000 + b"{}]"),
    "lines of rows": (400, rows()[1:-1] + "\n" + rows()[1:-1]),
    "an object": (400, rows()[1:-1]),
    "a number": (400, b"1"),
    "null": (400, b"null"),
    "rows that are lists": (422, b"[[1, 2]]"),
    "rows that are texts": (422, b'["a"]'),
    "an empty row": (422, b"[{}]"),
    "no event": (422, without("event_id")),
    "no output": (422, without("offer")),
    "no sensitive feature": (422, without("sex")),
    "a column too many": (422, rows(income=3)),
    "a column with the name of an attribute": (422, rows(__class__="x")),
    "a column of SQL": (422, rows(**{"age; DROP TABLE decisions": 1})),
    "300 columns": (422, rows(**{f"c{k}": k for k in range(300)})),
    "a number as event": (422, rows(event_id=7)),
    "null as event": (422, rows(event_id=None)),
    "an empty event": (422, rows(event_id="")),
    "an event of 201 characters": (422, rows(event_id="e" * 201)),
    "a NUL in the event": (422, rows(event_id="a\0b")),
    "half a surrogate pair": (422, rows(event_id=SURROGATE)),
    "a list as event": (422, rows(event_id=["a"])),
    "a number as person": (422, rows(person=1)),
    "an empty person": (422, rows(person="")),
    "a text as number": (422, rows(age="40")),
    "a boolean as number": (422, rows(age=True)),
    "a number beyond all that is counted": (422, rows(age=1e308)),
    "null as number": (422, rows(age=None)),
    "a list as number": (422, rows(age=[40])),
    "an object as number": (422, rows(age={"$gt": 0})),
    "a number below its bound": (422, rows(age=-1)),
    "a number above its bound": (422, rows(age=1e6)),
    "0 as boolean": (422, rows(offer=0)),
    "a text as boolean": (422, rows(offer="true")),
    "null as output": (422, rows(offer=None)),
    "a category that is not declared": (422, rows(sex="x")),
    "a boolean as category": (422, rows(town=True)),
    "a number as category": (422, rows(town=3)),
    "a category of 300 characters": (422, rows(town="t" * 300)),
    "a NUL in a category": (422, rows(town="a\0")),
    "1,001 new categories": (
        422,
        json.dumps([ROW | {"event_id": t, "town": t} for t in map(str, range(1001))]),
    ),
    "one bad row among good ones": (422, json.dumps([*decisions(50, seed=5), ROW | {"age": "x"}])),
    "a body too long": (413, b"[" + b" " * MOST_BYTES + b"]"),
    "more names than columns may be": (400, rows(**{f"c{k}": k for k in range(1000)})),
}
# Registrations: what is changed.
REGISTRATIONS = {
    "no name": {"name": ""},
    "a number as name": {"name": 3},
    "a name of 201 characters": {"name": "n" * 201},
    "a NUL in the name": {"name": "a\0"},
    "an unknown field": {"admin": True},
    "an unknown kind": {"kind": "guessing"},
    "an unknown metric": {"metric": "__import__('os')"},
    "no columns": {"columns": {}},
    "101 columns": {"columns": COLUMNS | {f"c{k}": {"type": "number"} for k in range(101)}},
    "columns as a list": {"columns": ["sex", "offer"]},
    "a column of an unknown type": {"columns": COLUMNS | {"age": {"type": "date"}}},
    "a column with one category": {"columns": COLUMNS | {"sex": {"type": "category", "categories": ["f"]}}},
    "a category twice": {"columns": COLUMNS | {"sex": {"type": "category", "categories": ["f", "f"]}}},
    "bounds the wrong way round": {"columns": COLUMNS | {"age": {"type": "number", "low": 2, "high": 1}}},
    "bounds whose width is infinite": {"columns": COLUMNS | {"age": {"type": "number", "low": -1e308, "high": 1e308}}},
    "bounds that are hardly two": {"columns": COLUMNS | {"age": {"type": "number", "low": 0, "high": 5e-324}}},
    "a level of 1e-17": {"confidence_level": 1e-17},
    "a level that hardly differs from 1": {"confidence_level": 1 - 1e-16},
    "more groups than have bands": {
        "columns": COLUMNS | {"sex": {"type": "category", "categories": [f"g{k}" for k in range(31)]}}
    },
    "more groups times outputs than have bands": {
        "output": "answer",
        "columns": COLUMNS
        | {
            "answer": {"type": "category", "categories": list("abcd")},
            "sex": {"type": "category", "categories": [*"efghijkl"]},
        },
    },
    "a webhook into the machine": {"webhook": {"url": "http://localhost:80/", "secret": "s" * 20}},
    "a webhook into the network": {"webhook": {"url": "https://10.1.2.3/", "secret": "s" * 20}},
    "a webhook to a cloud's metadata": {"webhook": {"url": "http://169.254.169.254/latest", "secret": "s" * 20}},
    "a webhook to IPv6 on the machine": {"webhook": {"url": "http://[::ffff:127.0.0.1]/", "secret": "s" * 20}},
    "a webhook to a number": {"webhook": {"url": "http://2130706433/", "secret": "s" * 20}},
    "bounds of a category": {"columns": COLUMNS | {"town": {"type": "category", "low": 1}}},
    "a column called event_id": {"columns": COLUMNS | {"event_id": {"type": "number"}}},
    "a sensitive feature without a type": {"sensitive_features": ["race"]},
    "no sensitive feature": {"sensitive_features": []},
    "a sensitive feature twice": {"sensitive_features": ["sex", "sex"]},
    "the output as sensitive feature": {"sensitive_features": ["offer"]},
    "a text as sensitive features": {"sensitive_features": "sex"},
    "several outputs of a test": {"output": ["offer", "town"]},
    "one output of a discovery": {"kind": "discovery"},
    "error profiling without a true label": {"kind": "error profiling"},
    "a true label without error profiling": {"true_label": "town"},
    "a true label of another type": {"kind": "error profiling", "true_label": "age"},
    "an explanatory column without a type": {"explanatory": "job"},
    "a context without a type": {"context": ["job"]},
    "a level of 1": {"confidence_level": 1},
    "a level as text": {"confidence_level": "0.95"},
    "an unknown rule of spending": {"spending": "all at once"},
    "a share for training of 0": {"train_size": 0},
    "looks at every row": {"look_every": {"rows": 1}},
    "looks by rows and seconds": {"look_every": {"rows": 100, "seconds": 5}},
    "looks never": {"look_every": {}},
    "a difference of three groups": {
        "metric": "Difference",
        "columns": COLUMNS | {"sex": {"type": "category", "categories": ["f", "m", "x"]}},
    },
    "101 groups": {"columns": COLUMNS | {"sex": {"type": "category", "categories": [f"g{k}" for k in range(101)]}}},
    "numbers held fixed": {"explanatory": "age"},
    "a difference of numbers": {"metric": "Difference", "output": "age"},
    "a correlation with three groups": {
        "output": "age",
        "columns": COLUMNS | {"sex": {"type": "category", "categories": ["f", "m", "x"]}},
    },
    "looks every half a row": {"look_every": {"rows": 100.5}},
    "cells of 0 people": {"smallest_cell": 0},
    "retention of 0 days": {"retention_days": 0},
    "a depth of 1,000": {"max_depth": 1000},
    "a webhook into a file": {"webhook": {"url": "file:///etc/passwd", "secret": "s" * 20}},
    "a webhook of gopher": {"webhook": {"url": "gopher://localhost/", "secret": "s" * 20}},
    "a webhook without a host": {"webhook": {"url": "http:///x", "secret": "s" * 20}},
    "a webhook with a short secret": {"webhook": {"url": "http://localhost/", "secret": "short"}},
    "a webhook without a secret": {"webhook": {"url": "http://localhost/"}},
}
# Other requests of an administrator: status, method, path, headers, body.
OTHERS = {
    "a path that goes up": (404, "GET", "/investigations/../metrics", {}, None),
    "a path that goes up in disguise": (404, "GET", "/investigations/%2e%2e%2f%2e%2e%2fetc%2fpasswd", {}, None),
    "a path with a NUL": (404, "GET", "/investigations%00", {}, None),
    "a double slash": (404, "GET", "//investigations", {}, None),
    "a slash at the end": (404, "GET", "/investigations/", {}, None),
    "a file of the server": (404, "GET", "/static/../store.py", {}, None),
    "an encoded file of the server": (404, "GET", "/static/%2e%2e/%2e%2e/store.py", {}, None),
    "another host in the path": (404, "GET", "/http://localhost/investigations", {}, None),
    "an investigation that is not there": (404, "GET", "/investigations/77", {}, None),
    "investigation 0": (422, "GET", "/investigations/0", {}, None),
    "investigation -1": (422, "GET", "/investigations/-1", {}, None),
    "an investigation of 30 digits": (422, "GET", "/investigations/" + "9" * 30, {}, None),
    "an investigation of SQL": (422, "GET", "/investigations/1%20OR%201=1", {}, None),
    "a union of SQL": (422, "GET", "/investigations/1%3B%20DROP%20TABLE%20tokens", {}, None),
    "looks of an investigation that is not there": (404, "GET", "/investigations/77/looks", {}, None),
    "a look that is not there": (404, "GET", "/investigations/1/looks/99", {}, None),
    "a look that is no number": (422, "GET", "/investigations/1/looks/last", {}, None),
    "decisions for nobody": (404, "POST", "/investigations/77/decisions", {"Content-Type": JSON}, rows()),
    "labels without a true label": (409, "POST", "/investigations/1/labels", {"Content-Type": JSON}, b"[]"),
    "a look with too few rows": (409, "POST", "/investigations/2/looks", {}, None),
    "a person that is no text": (422, "POST", "/investigations/1/deletions", {"Content-Type": JSON}, b'{"person": 1}'),
    "a person with a NUL": (
        422,
        "POST",
        "/investigations/1/deletions",
        {"Content-Type": JSON},
        b'{"person": "a\\u0000"}',
    ),
    "nobody": (422, "POST", "/investigations/1/deletions", {"Content-Type": JSON}, b"{}"),
    "a person in a path": (404, "DELETE", "/investigations/1/people/someone", {}, None),
    "a person that is dots in a path": (404, "DELETE", "/investigations/1/people/..", {}, None),
    "a time that is none": (422, "GET", "/investigations/1/effects?start=yesterday", {}, None),
    "a time as a number": (422, "GET", "/investigations/1/effects?end=1700000000", {}, None),
    "a day that is none": (422, "GET", "/investigations/1/effects?start=2026-02-30", {}, None),
    "a day that is none on a page": (422, "GET", "/pages/investigations/1?start=2026-02-30", {}, None),
    "a bucket of 0": (422, "GET", "/investigations/1/effects?bucket=0", {}, None),
    "a bucket of SQL": (422, "GET", "/investigations/1/effects?bucket=1%3BDROP", {}, None),
    "a million buckets": (
        422,
        "GET",
        "/investigations/1/effects?bucket=1&start=2000-01-01T00:00:00&end=2030-01-01T00:00:00",
        {},
        None,
    ),
    "a method that is not offered": (405, "PUT", "/investigations/1", {}, None),
    "TRACE": (405, "TRACE", "/investigations", {}, None),
    "no type": (415, "POST", "/investigations/1/decisions", {}, rows()),
    "a form": (415, "POST", "/investigations/1/decisions", {"Content-Type": "multipart/form-data; boundary=x"}, rows()),
    "XML": (415, "POST", "/investigations/1/decisions", {"Content-Type": "text/xml"}, "<!DOCTYPE a [<!ENTITY b 'c'>]>"),
    "Arrow": (
        415,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": "application/vnd.apache.arrow.stream"},
        b"\xff\xff\xff\xff",
    ),
    "CSV": (415, "POST", "/investigations/1/decisions", {"Content-Type": "text/csv"}, "event_id,sex\n1,f\n"),
    "JSON lines": (415, "POST", "/investigations/1/decisions", {"Content-Type": "application/x-ndjson"}, rows()[1:-1]),
    "Parquet": (
        415,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": "application/vnd.apache.parquet"},
        b"PAR1" + b"\0" * 100 + b"PAR1",
    ),
    "pickle": (415, "POST", "/investigations/1/decisions", {"Content-Type": "application/x-pickle"}, b"\x80\x04."),
    "a registration as form": (
        415,
        "POST",
        "/investigations",
        {"Content-Type": "application/x-www-form-urlencoded"},
        "name=x",
    ),
    "gzip": (
        415,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Content-Encoding": "gzip"},
        gzip.compress(b"[" + b" " * 10_000_000 + b"]"),
    ),
    "two compressions": (
        415,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Content-Encoding": "gzip, br"},
        b"",
    ),
    "half a registration": (400, "POST", "/investigations", {"Content-Type": JSON}, b'{"name": '),
    "a registration with a name twice": (400, "POST", "/investigations", {"Content-Type": JSON}, b'{"a": 1, "a": 2}'),
    "a registration too long": (413, "POST", "/investigations", {"Content-Type": JSON}, b" " * (MOST_BYTES + 1)),
    "a length that is stated too long": (
        413,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Content-Length": "9" * 12},
        b"",
    ),
    "a key too long": (
        422,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Idempotency-Key": "k" * 201},
        rows(),
    ),
    "an empty key": (
        422,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Idempotency-Key": ""},
        rows(),
    ),
    "a key that was used for another body": (
        422,
        "POST",
        "/investigations/1/decisions",
        {"Content-Type": JSON, "Idempotency-Key": "first"},
        rows(event_id="another"),
    ),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with an investigation that had a look, and one of errors."""
    monitor = Monitor(f"sqlite:///{tmp_path_factory.mktemp('monitor')}/monitor.db", most_bytes=MOST_BYTES)
    bounded = COLUMNS | {"age": {"type": "number", "low": 0, "high": 150}}
    monitor.register(columns=bounded)
    monitor.register(**ERRORS, columns=bounded | {"truth": {"type": "boolean"}})
    monitor.send(1, decisions(800), key="first")
    monitor.look(1)
    monitor.tokens["revoked"] = monitor.store.create_token("admin")
    monitor.store.revoke_token(int(monitor.tokens["revoked"].partition(".")[0]))
    running = uvicorn.Server(uvicorn.Config(monitor.app, port=0, log_config=None))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield SimpleNamespace(monitor=monitor, tokens=monitor.tokens, port=port)
    running.should_exit = True
    thread.join(10)


def state(server):
    """Return what a refused request must leave as it is."""
    store = server.monitor.store
    counted = [(row.id, row.decided, row.complete, row.counts) for row in map(store.investigation, (1, 2))]
    return numbers(store), counted, [len(store.look_list(number)) for number in (1, 2)], len(store.token_list())


def refused(server, status, method, path, headers, body=None):
    """Send a request as it is, and hold its answer to what a refusal must be."""
    before = state(server)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest(method, path, skip_accept_encoding=True)
    if body is not None and "Content-Length" not in headers:
        body = body.encode() if isinstance(body, str) else body
        headers = headers | {"Content-Length": str(len(body))}
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    with contextlib.suppress(OSError):  # refused before all was sent
        connection.send(body or b"")
    answer = connection.getresponse()
    found = answer.read().decode()
    assert answer.status == status, found
    assert answer.headers["content-type"] == "application/problem+json"
    document = json.loads(found)
    assert (document["status"], set(document) - {"errors"}) == (status, {"title", "status", "detail"})
    assert "Traceback" not in found
    assert not any(token in found for token in server.tokens.values())
    assert state(server) == before
    connection.close()
    return answer


def bearer(server, role="admin"):
    return {"Authorization": f"Bearer {server.tokens[role]}"}


# Every endpoint without a token, and every bad token at one: the check is one for all.
WITHOUT = [(endpoint, next(iter(CREDENTIALS))) for endpoint in ENDPOINTS]
WITHOUT += [(next(iter(ENDPOINTS)), credential) for credential in [*CREDENTIALS][1:]]


@pytest.mark.parametrize(("endpoint", "credential"), WITHOUT, ids=str)
def test_without_a_token(server, endpoint, credential):
    value = CREDENTIALS[credential](server.tokens)
    answer = refused(server, 401, *endpoint, {} if value is None else {"Authorization": value})
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("endpoint", "role"),
    [(one, role) for one, may in ENDPOINTS.items() for role in ("reader", "writer") if role not in may],
    ids=str,
)
def test_the_wrong_role(server, endpoint, role):
    refused(server, 403, *endpoint, bearer(server, role))


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one[0] != "GET"], ids=" ".join)
def test_a_browser_that_another_site_makes_write(server, endpoint):
    refused(server, 401, *endpoint, {"Authorization": basic(server.tokens["admin"])})


@pytest.mark.parametrize("name", BODIES)
def test_bodies(server, name):
    status, body = BODIES[name]
    headers = bearer(server, "writer") | {"Content-Type": JSON}
    refused(server, status, "POST", "/investigations/1/decisions", headers, body)


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_registrations(server, name):
    body = json.dumps(REGISTRATION | REGISTRATIONS[name])
    refused(server, 422, "POST", "/investigations", bearer(server) | {"Content-Type": JSON}, body)


@pytest.mark.parametrize("name", OTHERS)
def test_other_requests(server, name):
    status, method, path, headers, body = OTHERS[name]
    refused(server, status, method, path, bearer(server) | headers, body)
