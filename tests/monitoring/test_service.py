"""The service: who may do what, bodies, problem documents, small cells, notices, logs."""

import hashlib
import hmac
import io
import json
import logging
import math
import re
import socket
import threading
import time
import tracemalloc
from contextlib import contextmanager
from functools import partial

import httpx
import pandas as pd
import psutil
import pytest
import sqlalchemy as sa
from monitoring.streams import REGISTRATION, Monitor, decisions, numbers
from monitoring.test_refusals import ENDPOINTS

from fairlab.fairtest import group_sequences
from fairlab.monitoring import effects
from fairlab.monitoring.bodies import LONGEST_ROW, read_rows
from fairlab.monitoring.logs import JsonLines, log_as_json
from fairlab.monitoring.registration import RefusedError
from fairlab.monitoring.scheduler import _again as worked
from fairlab.monitoring.scheduler import take_looks
from fairlab.monitoring.store import NOTICE_LOCK, WORK_LOCK
from fairlab.monitoring.webhooks import MOST_ATTEMPTS, SIGNATURE, deliver, is_internal


def post(monitor, body, number=1, kind="application/json"):
    return monitor.as_.writer.post(f"/investigations/{number}/decisions", content=body, headers={"content-type": kind})


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_each_role_may_do_what_it_is_for(monitor, endpoint):
    monitor.register()
    for role in (*ENDPOINTS[endpoint], "admin"):
        assert getattr(monitor.as_, role).request(*endpoint).status_code not in (401, 403, 500)


def test_every_endpoint_is_in_the_table_of_roles(monitor):
    public = {"/healthz", "/readyz", "/openapi.json", "/static/monitor.css"}
    values = {"number": 1, "look": 1}
    found = {(m, r.path.format(**values)) for r in monitor.app.routes if r.path not in public for m in r.methods}
    assert found - {("HEAD", path) for _, path in found} == set(ENDPOINTS)


def test_a_browser_reads_by_basic_authentication_and_never_writes_by_it(monitor):
    browser = monitor.client(None)
    assert browser.get("/", auth=("anybody", monitor.tokens["reader"])).status_code == 200
    answer = browser.post("/investigations", json=REGISTRATION, auth=("anybody", monitor.tokens["admin"]))
    assert answer.status_code == 401


def test_a_body_of_another_type_is_refused_with_the_type_that_is_taken(monitor):
    answer = post(monitor, json.dumps(decisions(2)), monitor.register(), "application/x-ndjson")
    expected = "expected Content-Type application/json without compression, found application/x-ndjson, identity"
    assert (answer.status_code, answer.json()["detail"]) == (415, expected)


def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not(tmp_path):
    monitor = Monitor(f"sqlite:///{tmp_path}/monitor.db", most_bytes=1000)
    number = monitor.register()
    body = json.dumps(decisions(50)).encode()
    for content in (body, (body[k : k + 100] for k in range(0, len(body), 100))):
        assert post(monitor, content, number).status_code == 413


def test_a_registration_that_is_too_long_is_refused_with_its_own_limit(monitor):
    body = json.dumps(REGISTRATION | {"name": "x" * 2**20})
    answer = monitor.as_.admin.post("/investigations", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "expected at most 1,048,576 bytes, found more")


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
    for start in ("", "start=2026-01-01T00:00:00"):  # in buckets of a power of two, too
        found = monitor.as_.reader.get(f"/investigations/{number}/effects?{start}").json()
        assert found["effects"][0]["points"][-1] == point and math.log2(found["bucket"] * 1000) % 1 == 0
    before = monitor.as_.reader.get(
        f"/investigations/{number}/effects?start=2020-01-01T00:00:00&end=2010-01-01T00:00:00"
    )
    assert (before.status_code, before.json()["detail"]) == (422, "end: expected a time after start")
    too_many = monitor.as_.reader.get(f"/investigations/{number}/effects?start=2000-01-01T00:00:00&bucket=1")
    assert too_many.status_code == 422


def test_effects_over_time_go_on_where_the_clock_was_set_back(tmp_path):
    now = [1_800_000_000.0]
    monitor, rows = Monitor(f"sqlite:///{tmp_path}/m.db", clock=lambda: now[0]), decisions(500)
    number = monitor.register()
    for part, seconds in enumerate((0, 60, -120, 1, 200)):  # the second batch is dated after the third
        now[0] += seconds
        monitor.send(number, rows[100 * part : 100 * part + 100])
    (effect,) = monitor.as_.reader.get(f"/investigations/{number}/effects").json()["effects"]
    times, n = zip(*((point["time"], sum(point["n"])) for point in effect["points"]), strict=True)
    assert n == (400, 500) and list(times) == sorted(times)
    assert monitor.as_.reader.get(f"/pages/investigations/{number}").status_code == 200


def test_an_effect_is_in_the_unit_of_its_output_whatever_that_is_called(monitor):
    columns = {"sex": REGISTRATION["columns"]["sex"], "error of age": {"type": "number", "low": 0.0, "high": 50.0}}
    number = monitor.register(columns=columns | {"age": {"type": "number"}}, output="error of age")
    rows = [{name: row[name] for name in ("event_id", "sex", "age")} for row in decisions(200)]
    monitor.send(number, [row | {"error of age": 20.0 if row["sex"] == "f" else 30.0} for row in rows])
    (effect,) = monitor.as_.reader.get(f"/investigations/{number}/effects").json()["effects"]
    assert effect["points"][-1]["estimate"] == pytest.approx(-10)


def test_an_effect_that_is_small_does_not_read_as_none(monitor):
    small = {"columns": REGISTRATION["columns"] | {"offer": {"type": "number", "low": 0.0, "high": 0.001}}}
    number = monitor.register(**small)
    monitor.send(number, [row | {"offer": 0.0004 * (row["sex"] == "f")} for row in decisions(1000)])
    page = monitor.as_.reader.get(f"/pages/investigations/{number}").text
    assert re.search(r"now \+0\.0004 \(\+0\.000[1-9] to \+0\.000[1-9]\)", page)


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
    said = ": ".join(filter(None, (f"Look 1: {state}", monitor.as_.reader.get(path).json().get("reason"))))
    assert monitor.as_.reader.get(path, headers={"accept": "text/plain"}).text == f"{said}\n"
    assert monitor.as_.admin.post(f"/investigations/{number}/looks").status_code == (409 if state == "running" else 202)


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
            deliver(monitor.store, transport=httpx.MockTransport(receive))
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
    number = monitor.register(webhook={"url": "https://example.org/", "secret": "x" * 16})
    for part in range(2):
        monitor.send(number, decisions(3000, seed=part, effect=0.6))
        monitor.look(number)
    outcomes = delivered(monitor, lambda _: httpx.Response(410), [10**6] * (MOST_ATTEMPTS + 2), caplog)
    first, second = monitor.store.look_list(number)
    assert outcomes == ["failed"] * (MOST_ATTEMPTS - 1) + ["given up"]
    assert (first.notice_due, first.notice_answer, first.notice_attempts) == (None, "410", MOST_ATTEMPTS)
    assert second.notice_attempts == 0


@contextmanager
def receiver(answer):
    """Listen on this machine, and answer each connection by a function of its socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=answered, args=(connection,), daemon=True).start()

        def answered(connection):
            try:
                with connection:
                    connection.recv(65_536)
                    answer(connection)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)


def drip(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"x: y\r\n")
        time.sleep(0.02)


def flood(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b"x" * 1_000_000)


@pytest.fixture
def noticing(tmp_path):
    """Return a monitor with a new finding for each of some receivers on this machine, which it allows."""

    def make(*urls):
        monitor = Monitor(f"sqlite:///{tmp_path}/monitor.db", internal=["127.0.0.1"])
        for url in urls:
            number = monitor.register(webhook={"url": url, "secret": "x" * 16})
            monitor.send(number, decisions(2000, effect=0.6))
            monitor.look(number)
        return monitor

    return make


def answers(monitor):
    return [monitor.store.look_list(number)[0].notice_answer for number in numbers(monitor.store)]


@pytest.mark.parametrize(("how", "n", "seconds", "expected"), [(drip, 3, 0.5, "TimeoutError"), (flood, 1, 60, "200")])
def test_a_receiver_that_drips_or_floods_costs_one_deadline_and_no_memory(
    noticing, monkeypatch, how, n, seconds, expected
):
    monkeypatch.setattr("fairlab.monitoring.webhooks.SECONDS_TO_ANSWER", seconds)
    with receiver(how) as url:
        monitor = noticing(*[url] * n)
        before = psutil.Process().memory_info().rss
        deliver(monitor.store, ["127.0.0.1"])
        assert answers(monitor) == [expected] * n
        assert psutil.Process().memory_info().rss - before < 100e6


def test_looks_do_not_wait_for_receivers(noticing):
    may_end = threading.Event()
    with receiver(lambda connection: may_end.wait(60)) as waiting:
        monitor = noticing(waiting)
        number = monitor.register()
        monitor.send(number, decisions(1000))
        ends = {"look": threading.Event(), "notice": threading.Event()}
        jobs = {"look": take_looks, "notice": lambda store: deliver(store, ["127.0.0.1"])}

        def do(name):
            if not ends[name].is_set():
                jobs[name](monitor.store)
                ends[name].set()

        for name, lock in (("notice", NOTICE_LOCK), ("look", WORK_LOCK)):
            threading.Thread(target=worked, args=(monitor.store, lock, partial(do, name), 0.01), daemon=True).start()
        assert ends["look"].wait(60) and not ends["notice"].is_set()
        assert monitor.store.look_list(number)[0].state == "done"
        may_end.set()
        assert ends["notice"].wait(60)


def test_an_internal_address_gets_a_notice_only_if_it_is_allowed(noticing, monkeypatch):
    taken = []
    with receiver(lambda connection: taken.append(connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n"))) as url:
        monitor = noticing(url.replace("127.0.0.1", "receiver.example"))  # a name that leads into the machine
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(url.rsplit(":")[-1][:-1])))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        now = [monitor.store._clock()]
        monitor.store._clock = lambda: now[0]
        deliver(monitor.store)
        assert answers(monitor) == ["refused: an internal address"] and not taken
        now[0] += 1000
        deliver(monitor.store, ["receiver.example"])
        assert answers(monitor) == ["204"] and len(taken) == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [("8.8.8.8", False), ("2001:4860:4860::8888", False), ("127.0.0.1", True), ("10.0.0.1", True), ("::1", True)]
    + [
        (one, True)
        for one in ("0.0.0.0", "169.254.169.254", "100.64.0.1", "fe80::1%eth0", "::ffff:10.0.0.1", "224.0.0.1")
    ],
)
def test_which_addresses_are_internal(address, expected):
    assert is_internal(address) is expected


@pytest.mark.parametrize(
    "host", ["a:port", "a:99999", "a:0", "[::1", "[v1.x]", "256.256.256.256", "a..b", "a" * 64 + ".org", "xn--zz"]
)
def test_an_address_that_no_notice_can_be_sent_to_is_refused(monitor, host):
    webhook = {"url": f"https://{host}/", "secret": "x" * 16}
    answer = monitor.as_.admin.post("/investigations", json=REGISTRATION | {"webhook": webhook})
    (found,) = answer.json()["errors"]
    assert (answer.status_code, found["column"]) == (422, "webhook.url")
    assert found["reason"].startswith("expected a")


def test_metrics_count_looks_in_all_states(monitor):
    def states():
        return re.findall(r'^monitor_looks{state="(.*)"} (.*)$', monitor.as_.reader.get("/metrics").text, re.MULTILINE)

    assert dict(states()) == {"running": "0.0", "done": "0.0", "failed": "0.0"}
    number = monitor.register()
    monitor.send(number, decisions(1000))
    monitor.store.plan_look(number)
    assert dict(states()) == {"running": "1.0", "done": "0.0", "failed": "0.0"}
    take_looks(monitor.store)
    assert dict(states()) == {"running": "0.0", "done": "1.0", "failed": "0.0"}


@pytest.fixture
def json_lines():
    """Return what this process has logged as the monitor does, which ends with the test."""
    root, of_httpx = logging.getLogger(), logging.getLogger("httpx")
    before = root.handlers[:], root.level, of_httpx.level
    log_as_json()
    (handler,), written = root.handlers, io.StringIO()
    handler.setStream(written)
    yield written.getvalue
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    of_httpx.setLevel(before[2])


def test_addresses_of_webhooks_are_shown_and_logged_without_what_may_be_a_key(noticing, json_lines):
    with receiver(lambda connection: connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")) as url:
        monitor = noticing(url.replace("//", "//user:KEY1@") + "services/KEY2?token=KEY3")
        deliver(monitor.store, ["127.0.0.1"])
    assert answers(monitor) == ["204"]
    shown = [getattr(monitor.as_, role).get("/investigations/1").text for role in monitor.tokens]
    shown += [monitor.as_.admin.get(path).text for path in ("/investigations", "/", "/pages/investigations/1")]
    assert '"webhook":{"url":"http://127.0.0.1"}' in shown[0]
    logged = json_lines()
    assert '"notice"' in logged and "KEY" not in "".join(shown) + logged


def test_logs_have_routes_and_no_content_of_rows(monitor, caplog):
    number = monitor.register()
    with caplog.at_level(logging.INFO, "fairlab.monitoring"):
        monitor.send(number, [row | {"town": "Atlantis", "person": "Ada"} for row in decisions(3)])
        monitor.as_.admin.post(f"/investigations/{number}/deletions", json={"person": "Ada"})
        monitor.send(number, [{"event_id": "Atlantis"}])
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "fairlab.monitoring"]
    assert [line["status"] for line in lines] == [200, 200, 422]
    assert lines[1]["route"] == "/investigations/{number}/deletions" and lines[1]["token"] == 1
    assert not any(word in json.dumps(lines) for word in ("Atlantis", "Ada"))


def test_an_error_of_the_monitor_is_a_problem_document_without_its_message(monitor, monkeypatch, caplog):
    def fail(**_):
        raise LookupError("Atlantis")

    monkeypatch.setattr(monitor.store, "overview", fail)
    answer = monitor.as_.reader.get("/investigations")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    lines = [JsonLines().format(record) for record in caplog.records if record.name == "fairlab.monitoring"]
    assert "Atlantis" not in answer.text + "".join(lines) and '"LookupError"' in lines[0]


def test_a_page_reads_the_report_that_it_shows_and_the_same_number_of_queries_for_many(monitor):
    read, queries = [], []
    engine = monitor.store.engine
    sa.event.listen(engine, "before_cursor_execute", lambda *of: queries.append(of[2]))
    monitor.store.engine.dialect._json_deserializer = lambda text: read.append(text) or json.loads(text)

    def cost(path):
        read.clear()
        queries.clear()
        assert monitor.as_.reader.get(path).status_code == 200
        return len(queries), sum('"sections"' in text for text in read)

    number = monitor.register()
    monitor.send(number, decisions(1000))
    monitor.look(number)
    before = {path: cost(path) for path in PATHS}
    for k in range(2, 6):
        monitor.send(number, decisions(1000, seed=k))
        monitor.look(number)
        monitor.register()
    assert {path: cost(path) for path in PATHS} == before
    assert [n_reports for _, n_reports in before.values()] == [0, 0, 0, 1, 1, 1]
    looks = monitor.as_.reader.get(f"/investigations/{number}/looks").json()["looks"]
    assert [len(looks), looks[-1]["changes"].keys()] == [5, {"new", "gone", "stronger", "weaker"}]


PATHS = ["/", "/investigations", "/investigations/1/looks", "/pages/investigations/1"]
PATHS += ["/pages/investigations/1/looks/1", "/investigations/1/looks/1"]


def test_investigations_are_listed_in_pages(monitor, monkeypatch):
    monkeypatch.setattr("fairlab.monitoring.service.PAGE_SIZE", 2)
    for k in range(5):
        monitor.register(name=f"name{k}")
    path, seen = "/", []
    while path:
        text = monitor.as_.reader.get(path).text
        seen.append([k for k in range(5) if f"name{k}" in text])
        path = (re.findall(r'href="(/\?after=\d+)"', text) or [None])[0]
    assert seen == [[0, 1], [2, 3], [4]]
    after, seen = 0, []
    while after is not None:
        found = monitor.as_.reader.get(f"/investigations?after={after}").json()
        seen.append([one["name"] for one in found["investigations"]])
        after = found["following"]
    assert seen == [["name0", "name1"], ["name2", "name3"], ["name4"]]


def test_bands_are_those_of_the_library_and_computed_once(monitor, monkeypatch):
    computed = []

    def counting(hits, totals, **level):
        computed.extend(range(len(hits)))
        return group_sequences(hits, totals, **level)

    monkeypatch.setattr(effects, "group_sequences", counting)
    number, rows = monitor.register(), decisions(1000)
    for k in range(10):
        monitor.send(number, rows[100 * k : 100 * k + 100])
    path = f"/investigations/{number}/effects"
    first = monitor.as_.reader.get(path).json()
    n_computed = len(computed)
    assert monitor.as_.reader.get(path).json() == first and len(computed) == n_computed > 0
    last, women = first["effects"][0]["points"][-1], pd.DataFrame(rows)["sex"] == "f"
    counts = pd.DataFrame(rows)["offer"].groupby(~women).agg(["sum", "size"])
    low, high = group_sequences([counts["sum"]], [counts["size"]])
    assert (last["low"], last["high"]) == pytest.approx((low[0, 0], high[0, 0]))


OBJECTS = b"{}," * (16 * 2**20 // 3 - 2)
HEAVY = {
    "objects": b"[" + OBJECTS + b"{}]",
    "lists": b"[" + OBJECTS.replace(b"{}", b"[]") + b"{}]",
    "texts": b"[" + b'"ab",' * 3_000_000 + b"1]",
    "numbers": b"[" + b"1.5," * 4_000_000 + b"1]",
    "objects in a row": b'[{"event_id":[' + OBJECTS + b"{}]}]",
    "lists in a row": b'[{"event_id":' + b"[[" + b"[]," * 4_000_000 + b"1]]}]",
    "a row of names": b"[{" + b",".join(b'"%06d":0' % k for k in range(1_000_000)) + b"}]",
    "a text of escapes": b'[{"event_id":"' + b"\\n" * 8_000_000 + b'"}]',
    "a registration": b"[" + OBJECTS + b"{}]",
}


@pytest.mark.parametrize("name", HEAVY)
def test_a_body_is_read_no_further_than_it_fits(monitor, name):
    number, body = monitor.register(), HEAVY[name]
    as_registration = ("/investigations", monitor.as_.admin)
    path, who = (
        as_registration if name == "a registration" else (f"/investigations/{number}/decisions", monitor.as_.writer)
    )
    tracemalloc.start()
    answer = who.post(path, content=body, headers={"content-type": "application/json"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status_code in (400, 413, 422), answer.text
    assert peak < 80e6 + 2 * len(body)  # copies of the body, and what was read of it


@pytest.mark.parametrize("text", ['{"[', '}],"', "\\", "é\n\u2028 𝄞", '\\"'])
def test_long_bodies_are_read_as_short_ones(text):
    rows = [{"event_id": f"{text}{k}", "a": k / 7, "b": None, "c": True, "": -1e-7} for k in range(8000)]
    lines = [json.dumps(row, ensure_ascii=k % 2 == 0, indent=k % 3 or None) for k, row in enumerate(rows)]
    body = (" \n[\t" + " ,\r\n".join(lines) + "] \n").encode()
    assert len(body) > 2 * LONGEST_ROW
    assert list(read_rows(body)) == rows
    for broken in (body.rstrip()[:-1], body + b"1", body.replace(b'"a":', b'"a"', 1), body.replace(b'"b"', b',"b"', 1)):
        with pytest.raises(RefusedError):
            list(read_rows(broken))
