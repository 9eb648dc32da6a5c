"""The service: who may do what, all four formats of rows, problem documents, small cells, notices, logs."""

import hashlib
import hmac
import json
import logging

import httpx
import pandas as pd
import pyarrow as pa
import pytest
from monitoring.streams import REGISTRATION, Monitor, arrow, decisions, parquet
from monitoring.test_refusals import ENDPOINTS

from fairlab.monitoring.logs import JsonLines
from fairlab.monitoring.webhooks import MOST_ATTEMPTS, SIGNATURE, deliver


def post(monitor, body, kind, number=1):
    return monitor.as_.writer.post(f"/investigations/{number}/decisions", content=body, headers={"content-type": kind})


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_each_role_may_do_what_it_is_for(monitor, endpoint):
    monitor.register()
    for role in (*ENDPOINTS[endpoint], "admin"):
        assert getattr(monitor.as_, role).request(*endpoint).status_code not in (401, 403, 500)


def test_every_endpoint_is_in_the_table_of_roles(monitor):
    public = {"/healthz", "/readyz", "/openapi.json", "/static/monitor.css"}
    values = {"number": 1, "person": "someone", "look": 1}
    found = {(m, r.path.format(**values)) for r in monitor.app.routes if r.path not in public for m in r.methods}
    assert found - {("HEAD", path) for _, path in found} == set(ENDPOINTS)


def test_a_browser_reads_by_basic_authentication_and_never_writes_by_it(monitor):
    browser = monitor.client(None)
    assert browser.get("/", auth=("anybody", monitor.tokens["reader"])).status_code == 200
    answer = browser.post("/investigations", json=REGISTRATION, auth=("anybody", monitor.tokens["admin"]))
    assert answer.status_code == 401


def test_all_formats_of_rows_store_the_same(monitor):
    rows = decisions(200)
    table = pa.Table.from_pandas(pd.DataFrame(rows).astype({"sex": "category"}), preserve_index=False)
    bodies = {
        "application/json": json.dumps(rows).encode(),
        "application/x-ndjson": "\n".join(map(json.dumps, rows)).encode(),
        "application/vnd.apache.parquet": parquet(table),
        "application/vnd.apache.arrow.stream": arrow(table),
    }
    stored = []
    for kind, body in bodies.items():
        number = monitor.register()
        assert post(monitor, body, kind, number).json() == {"received": 200, "new": 200, "repeated": 0}
        with monitor.store.read() as connection:
            stored.append(monitor.store.rows(connection, number, 200)[2].to_dict("records"))
    assert stored == stored[:1] * 4 and [row["age"] for row in stored[0]] == [row["age"] for row in rows]


def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not(tmp_path):
    monitor = Monitor(f"sqlite:///{tmp_path}/monitor.db", most_bytes=1000)
    number = monitor.register()
    body = json.dumps(decisions(50)).encode()
    for content in (body, (body[k : k + 100] for k in range(0, len(body), 100))):
        assert post(monitor, content, "application/json", number).status_code == 413


TEXT, STORABLE = "Input should be a valid string", "String should match pattern '^[^\\x00]*$'"
REFUSED = [
    ("offer", "yes", "Input should be a valid boolean"),
    ("offer", None, "Input should be a valid boolean"),
    ("age", "40", "Input should be a valid number"),
    ("age", True, "Input should be a valid number"),
    ("age", 10**400, "Input should be a valid number"),
    ("age", {}, "Input should be a valid number"),
    ("sex", "x", "Input should be 'f' or 'm'"),
    ("town", 3, TEXT),
    ("town", "a\0b", STORABLE),
    ("town", "\ud800", f"{TEXT}, unable to parse raw data as a unicode string"),
    ("town", "x" * 201, "String should have at most 200 characters"),
    ("event_id", "", "String should have at least 1 character"),
    ("event_id", None, TEXT),
    ("person", 7, TEXT),
    ("colour", "red", "Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("column", "value", "reason"), REFUSED)
def test_a_row_that_does_not_fit_is_named_with_its_column_and_the_reason(monitor, column, value, reason):
    number, rows = monitor.register(), decisions(5)
    rows[3][column] = value
    answer = monitor.send(number, rows)
    (found,) = answer.json()["errors"]
    assert (answer.status_code, found) == (422, {"row": 3, "column": column, "reason": reason})


def test_contexts_below_the_smallest_cell_are_shown_nowhere(monitor):
    number = monitor.register(smallest_cell=600, min_leaf_size=30)
    monitor.send(number, decisions(3000, effect=0.5))
    found = monitor.look(number)
    (section,) = found["sections"]
    assert section["withheld"] > 0 and [one["context"] for one in section["contexts"]] == ["everyone"]
    path = f"/investigations/{number}/looks/1"
    shown = [monitor.as_.reader.get(path, headers={"accept": kind}).text for kind in ("text/plain", "*/*")]
    pages = (f"/pages{path}", f"/pages/investigations/{number}")
    shown += [monitor.as_.reader.get(page).text for page in pages]
    assert all("everyone" in text for text in shown[:3]) and not any("town: a" in text for text in shown)
    assert all(test["table"] is None for one in section["contexts"] for test in one["tests"])
    small = monitor.register(smallest_cell=40)
    monitor.send(small, decisions(60))
    (effect,) = monitor.as_.reader.get(f"/investigations/{small}/effects").json()["effects"]
    assert [point["n"] for point in effect["points"]] == [None] and effect["points"][0]["estimate"] is None


def test_effects_over_time_hold_the_rates_of_all_rows_so_far(monitor):
    number, rows = monitor.register(), decisions(900)
    for k in range(0, 900, 300):
        monitor.send(number, rows[k : k + 300])
    (effect,) = monitor.as_.reader.get(f"/investigations/{number}/effects?bucket=3600").json()["effects"]
    (point,) = effect["points"]
    frame = pd.DataFrame(rows)
    rates = frame.groupby("sex")["offer"].mean()
    assert point["n"] == frame["sex"].value_counts().loc[["f", "m"]].tolist()
    assert (
        point["estimate"] == pytest.approx(rates["f"] - rates["m"]) and point["low"] < point["estimate"] < point["high"]
    )
    too_many = monitor.as_.reader.get(f"/investigations/{number}/effects?start=2000-01-01T00:00:00&bucket=1")
    assert too_many.status_code == 422


@pytest.mark.parametrize("state", ["running", "failed"])
def test_pages_show_looks_that_have_no_report(monitor, state):
    number = monitor.register()
    monitor.send(
        number, [row | {"offer": row["sex"] == "f" if state == "running" else True} for row in decisions(1500)]
    )
    if state == "running":
        monitor.store.plan_look(number)
    else:
        assert "one value" in monitor.look(number)["reason"]
    for path in ("/", f"/pages/investigations/{number}", f"/pages/investigations/{number}/looks/1"):
        answer = monitor.as_.reader.get(path)
        assert answer.status_code == 200 and (path == "/" or state in answer.text.lower())
    path = f"/investigations/{number}/looks/1"
    assert monitor.as_.reader.get(path, headers={"accept": "text/plain"}).text == f"Look 1: {state}\n"
    assert monitor.as_.admin.post(f"/investigations/{number}/looks").status_code == 409


@pytest.mark.parametrize("name", ["start", "end"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00", "1969-01-01T00:00:00Z"])
def test_times_may_be_any(monitor, name, moment):
    number = monitor.register()
    monitor.send(number, decisions(20))
    for path in ("/investigations/{}/effects", "/pages/investigations/{}"):
        assert monitor.as_.reader.get(f"{path.format(number)}?{name}={moment}").status_code == 200


def test_texts_are_escaped_on_every_page(monitor):
    evil = "<script>alert(1)</script>'\"; DROP TABLE looks; --"
    columns = REGISTRATION["columns"] | {evil: {"type": "category"}}
    number = monitor.register(name=evil, columns=columns)
    monitor.send(number, [row | {evil: row["town"] + evil} for row in decisions(1500)])
    monitor.look(number)
    for path in ("/", f"/pages/investigations/{number}", f"/pages/investigations/{number}/looks/1"):
        answer = monitor.as_.reader.get(path)
        assert answer.status_code == 200 and "<script" not in answer.text and "&lt;script" in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def delivered(monitor, receive, pauses, caplog):
    """Return what became of each attempt to deliver the notices of a monitor, with pauses between them."""
    now = [monitor.store._clock()]
    monitor.store._clock = lambda: now[0]
    with caplog.at_level(logging.INFO, "fairlab.monitoring"):
        for seconds in pauses:
            deliver(monitor.store, httpx.MockTransport(receive))
            now[0] += seconds
    return [record.fields["outcome"] for record in caplog.records if record.getMessage() == "notice"]


def test_a_new_finding_is_posted_signed_until_it_is_taken(monitor, caplog):
    secret, calls, replies = "a secret of 16 characters", [], [500, 302, None, 204]
    number = monitor.register(webhook={"url": "https://example.org/hook", "secret": secret})
    assert secret not in monitor.as_.reader.get(f"/investigations/{number}").text

    def receive(request):
        calls.append(request)
        if (reply := replies[len(calls) - 1]) is None:
            raise httpx.ConnectError("nobody there")
        return httpx.Response(reply, headers={"location": "https://elsewhere.example"})

    rows = decisions(2000)
    monitor.send(number, rows)
    new = monitor.look(number)["changes"]["new"]
    outcomes = delivered(monitor, receive, [15 * 2**attempts for attempts in range(1, 6)], caplog)
    assert outcomes == ["failed", "failed", "failed", "delivered"]
    assert {str(call.url) for call in calls} == {"https://example.org/hook"}
    body = json.loads(calls[-1].content)
    assert body["new"] == json.loads(json.dumps(new)) and (body["investigation"], body["number"]) == (number, 1)
    assert not any(row["event_id"] in calls[-1].content.decode() for row in rows)
    seconds, signed = (part.partition("=")[2] for part in calls[-1].headers[SIGNATURE].split(","))
    expected = hmac.new(secret.encode(), f"{seconds}.".encode() + calls[-1].content, hashlib.sha256).hexdigest()
    assert signed == expected


def test_a_notice_that_nobody_takes_is_given_up_and_known_findings_make_none(monitor, caplog):
    number = monitor.register(webhook={"url": "http://localhost:1/", "secret": "x" * 16})
    for part in range(2):
        monitor.send(number, decisions(3000, seed=part, effect=0.6))
        monitor.look(number)
    outcomes = delivered(monitor, lambda _: httpx.Response(410), [10**6] * (MOST_ATTEMPTS + 2), caplog)
    first, second = monitor.store.look_list(number)
    assert outcomes == ["failed"] * (MOST_ATTEMPTS - 1) + ["given up"]
    assert (first.notice_due, first.notice_answer, first.notice_attempts) == (None, "410", MOST_ATTEMPTS)
    assert second.notice_attempts == 0


def test_logs_have_routes_and_no_content_of_rows(monitor, caplog):
    number = monitor.register()
    with caplog.at_level(logging.INFO, "fairlab.monitoring"):
        monitor.send(number, [row | {"town": "Atlantis", "person": "Ada"} for row in decisions(3)])
        monitor.as_.admin.delete(f"/investigations/{number}/people/Ada")
        monitor.send(number, [{"event_id": "Atlantis"}])
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "fairlab.monitoring"]
    assert [line["status"] for line in lines] == [200, 200, 422]
    assert lines[1]["route"] == "/investigations/{number}/people/{person}" and lines[1]["token"] == 1
    assert not any(word in json.dumps(lines) for word in ("Atlantis", "Ada"))


def test_an_error_of_the_monitor_is_a_problem_document_without_its_message(monitor, monkeypatch, caplog):
    def fail():
        raise LookupError("Atlantis")

    monkeypatch.setattr(monitor.store, "numbers", fail)
    answer = monitor.as_.reader.get("/investigations")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    lines = [JsonLines().format(record) for record in caplog.records if record.name == "fairlab.monitoring"]
    assert "Atlantis" not in answer.text + "".join(lines) and '"LookupError"' in lines[0]
