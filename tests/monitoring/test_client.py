"""The client counts each row once whatever happens on the way, and the decorator never holds up a model."""

import json
import multiprocessing
import os
import queue
import threading
from pathlib import Path
from unittest import mock

import httpx
import numpy as np
import pandas as pd
import pytest
from monitoring.streams import REGISTRATION, decisions, numbers
from monitoring.test_store import n_stored

from fairlab import Case, audit
from fairlab.monitoring import Client, MonitorError, monitored, registration_of, registration_of_audit
from fairlab.monitoring.scheduler import take_looks


@pytest.fixture
def connect(monitor):
    """Return a maker of clients whose network loses what `lose` says: the request, or its answer."""

    def connect(lose=lambda request: None, role="admin", **settings):
        server = getattr(monitor.as_, role)

        def handle(request):
            lost = lose(request)
            if lost == "request":
                raise httpx.ConnectError("lost")
            answer = server.request(
                request.method, str(request.url.copy_with(scheme=None, host=None)), content=request.content,
                headers={name: value for name, value in request.headers.items() if name != "host"},
            )  # fmt: skip
            if lost == "answer":
                raise httpx.ReadError("lost")
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

        token = monitor.tokens[role]
        return Client("http://monitor", token, transport=httpx.MockTransport(handle), **settings)

    return connect


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def test_batches_whose_answers_are_lost_count_once(monitor, connect, no_pauses):
    lost = iter(["answer", "request", None, None, "answer", "answer"] + [None] * 9)
    client = connect(lambda request: next(lost) if request.method == "POST" else None, batch_size=400)
    frame = pd.DataFrame(decisions(1000))
    number = monitor.register()
    assert client.send(number, frame) == {"received": 1000, "new": 1000, "repeated": 0}
    assert client.send(number, frame.assign(unused=1)) == {"received": 1000, "new": 0, "repeated": 1000}
    assert client.investigation(number)["decisions"] == 1000


def test_what_must_not_be_done_twice_is_not_sent_again_when_its_answer_is_lost(monitor, connect, no_pauses):
    lost = iter(["request", "answer"])
    client = connect(lambda request: next(lost) if request.method == "POST" else None)
    with pytest.raises(MonitorError, match=r"no answer \(ReadError: lost\); the request may have been carried out"):
        client.register(REGISTRATION)
    assert numbers(monitor.store) == [1]


def test_what_never_answers_is_given_up_and_what_is_refused_is_not_tried_again(monitor, connect, no_pauses):
    tried = []
    client = connect(lambda request: tried.append(request) or "request", max_seconds=0.15)
    with pytest.raises(MonitorError, match=r"GET /investigations/1: no answer \(ConnectError: lost\)$"):
        client.investigation(1)
    assert len(tried) > 1
    number, rows = monitor.register(), decisions(500)
    rows[450]["town"] = "t" * 300
    client = connect(lambda request: tried.append(request), batch_size=400)
    tried.clear()
    with pytest.raises(
        MonitorError, match=r"422: rows do not match.*row 450, town: String should have at most 200 characters"
    ) as refused:
        client.send(number, pd.DataFrame(rows))
    assert (refused.value.status, refused.value.errors[0]["row"]) == (422, 450)
    assert len(tried) == 3  # what is registered, a batch, the refused one
    assert client.investigation(number)["decisions"] == 400


@pytest.mark.parametrize("url", ["127.0.0.1:8300", "ftp://monitor", "http://", "http://monitor:port", "http://[::1"])
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url):
    with pytest.raises(ValueError, match=r"^url: expected an address"):
        Client(url, "1.secret")


@pytest.mark.parametrize("token", ["", " ", "1.two words", "1.secret\nmore", "1.geheimnisträger"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token):
    with pytest.raises(ValueError, match=r"^token: expected one as fairlab monitor token create prints it, found some"):
        Client("http://monitor", token)


def test_columns_are_sent_as_the_types_that_are_registered(monitor, connect):
    number, client = monitor.register(), connect()
    frame = pd.DataFrame(decisions(3)).assign(town=[1, None, 2], age=["18", 19, 20.5], offer=[0, 1, 1])
    assert client.send(number, frame)["new"] == 3
    with pytest.raises(MonitorError, match="row 0, offer: Input should be a valid boolean"):
        client.send(number, frame.assign(offer="yes"))
    for age in ("old", None, float("inf"), "1e999"):
        with pytest.raises(MonitorError, match="row 1, age: Input should be a valid number"):
            client.send(number, frame.assign(age=["18", age, 20]))
    with pytest.raises(MonitorError, match="the investigation has no true label"):
        client.send_labels(number, frame)
    assert client.send(number, frame[:0]) == {"received": 0, "new": 0, "repeated": 0}
    with pytest.raises(MonitorError, match=r"row 0, sex: Field required"):
        client.send(number, frame.drop(columns="sex"))
    with pytest.raises(MonitorError, match=r"row 0, event_id: Field required"):
        client.send(number, pd.DataFrame(index=range(3)))


def test_from_a_table_to_a_report_and_the_effects(monitor, connect, monkeypatch):
    from fairlab.monitoring.scheduler import take_look

    frame = pd.DataFrame(decisions(3000)).assign(note=[f"n{k}" for k in range(3000)])
    client = connect()
    number = client.register(registration_of(frame, sensitive_features=["sex"], output="offer", min_leaf_size=50))
    assert set(client.investigation(number)["columns"]) == {"sex", "town", "age", "offer"}  # no column of names
    client.send(number, frame)
    monkeypatch.setattr("time.sleep", lambda seconds: take_look(monitor.store, number, 1))
    assert [one["context"] for one in client.look(number)["changes"]["new"]][-1] == "town: a"
    assert client.looks(number)["new"].tolist() == [2]
    assert "town: a" in client.report(number, 1, as_text=True)
    effects = client.effects(number, bucket=86_400)
    last = effects.iloc[-1]
    women = frame["sex"] == "f"
    assert last["low"] < frame["offer"][women].mean() - frame["offer"][~women].mean() < last["high"] < 0


def test_a_look_that_began_by_itself_is_waited_for(monitor, connect, no_pauses, tmp_path, monkeypatch, capsys):
    from fairlab.cli import main

    number, rows, begun = monitor.register(), pd.DataFrame(decisions(1000)), []

    def of_server(request):  # which looks when a look is due, just before one is asked for
        if request.url.path.endswith("/looks"):
            if request.method == "POST" and not begun:
                begun.append(monitor.store.plan_look(number))
            elif request.method == "GET" and begun:
                take_looks(monitor.store)

    monkeypatch.setattr("fairlab.monitoring.Client", lambda *_: connect(of_server))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    call = ["monitor", "send", str(tmp_path / "rows.csv"), "--investigation", str(number), "--look", "--token", "x"]
    assert main(call) == 0
    found = capsys.readouterr()
    assert "Look 1 of offers" in found.out and found.err == ""
    assert main(call) == 0
    found = capsys.readouterr()
    assert "Look 1 of offers" in found.out and found.err.startswith("No further look: 409: ")
    few = monitor.register()
    rows[:20].to_csv(tmp_path / "rows.csv", index=False)
    assert main([*call[:4], str(few), *call[5:]]) == 1
    assert "fairlab: no look yet: 409: training set: expected at least 50 rows, found " in capsys.readouterr().err


def test_true_labels_follow(monitor, connect):
    frame = pd.DataFrame(decisions(40))
    client, number = connect(), None
    fields = registration_of(frame.assign(truth=True), sensitive_features=["sex"], output="offer", true_label="truth")
    number = client.register(fields | {"kind": "error profiling"})
    assert client.send(number, frame)["new"] == 40
    labels = frame[["event_id"]].assign(truth=True)
    assert client.send_labels(number, labels)["new"] == 40
    assert client.investigation(number)["labels"] == 40


@pytest.mark.parametrize("wrong", ["yes", 2, 0.5, "", float("inf"), b"1", pd.Timestamp(0)])
@pytest.mark.parametrize("kind", ["decisions", "labels"])
def test_a_true_label_of_another_type_is_refused_and_named(monitor, connect, wrong, kind):
    frame = pd.DataFrame(decisions(4)).assign(truth=pd.Series([True, None, wrong, False], dtype=object))
    client = connect()
    fields = registration_of(frame.assign(truth=True), sensitive_features=["sex"], output="offer", true_label="truth")
    number = client.register(fields | {"kind": "error profiling"})
    send = client.send if kind == "decisions" else client.send_labels
    with pytest.raises(MonitorError, match=r"row [02], truth: Input should be a valid boolean"):
        send(number, frame if kind == "decisions" else frame[2:])
    assert client.investigation(number)["labels"] == client.investigation(number)["decisions"] == 0


def test_the_rows_of_a_person_of_any_name_are_deleted_and_nothing_else(monitor, connect):
    number, client = monitor.register(), connect()
    people = ["a/b", "/", ".", "..", "%2e%2e", "?", "#", "\n", "é 𝄞", "x" * 200]
    rows = [row | {"person": person} for row, person in zip(decisions(10), people, strict=True)]
    client.send(number, pd.DataFrame(rows))
    for k, person in enumerate(people):
        assert client.delete_person(number, person) == 1
        assert (n_stored(monitor), client.delete_person(number, person)) == (9 - k, 0)
    for path in (f"/investigations/{number}/people/..", f"/investigations/{number}/x/../", "/investigations/%2e%2e/1"):
        with pytest.raises(ValueError, match=r"expected one without \. and \.\."):
            client.request("DELETE", path)
    assert numbers(monitor.store) == [number]


def test_columns_that_identify_or_miss_numbers_are_not_registered():
    frame = pd.DataFrame(decisions(300)).assign(account=range(300), name=[f"n{k}" for k in range(300)], offer=1)
    frame.loc[3, "age"] = None
    fields = registration_of(frame, sensitive_features=["sex"], output="offer")
    assert {name: column["type"] for name, column in fields["columns"].items()} == {
        "sex": "category",
        "town": "category",
        "offer": "boolean",
    }


def audited(frame, **options):
    """Return the JSON of an audit of decisions."""
    case = Case.from_decisions(frame, "offer", sensitive_features="sex", features=["town", "age"], **options)
    return audit(case, methods=["rates"], confidence_level=0.9, progress=False).to_json()


@pytest.mark.parametrize("offer", [("no", "yes"), (False, True), (0, 1)])
def test_what_was_audited_is_registered_and_takes_the_same_rows(monitor, connect, tmp_path, monkeypatch, capsys, offer):
    from fairlab.cli import main

    monkeypatch.setattr("fairlab.monitoring.Client", lambda *_: connect())
    frame = pd.DataFrame(decisions(300))
    frame["offer"] = np.array(offer)[frame["offer"].astype(int)]
    report, client = tmp_path / "report.json", connect()
    report.write_text(audited(frame, pos_label=offer[1]))
    assert main(["monitor", "register", "--from-audit", str(report), "--token", "x"]) == 0
    number = int(capsys.readouterr().out)
    kept = client.investigation(number)
    assert set(kept["columns"]) == {"sex", "town", "age", "offer"}
    assert (kept["sensitive_features"], kept["output"], kept["metric"]) == (["sex"], "offer", "Difference")
    assert (kept["confidence_level"], kept["look_every"]) == (0.9, {"rows": 300})
    assert client.send(number, frame)["new"] == 300
    idle = ["--true-label", "offer", "--token", "x"]
    assert main(["monitor", "register", "--from-audit", str(report), *idle]) == 2


def test_a_table_is_read_as_an_audit_reads_it(tmp_path, monkeypatch, capsys):
    from fairlab.cli import main

    monkeypatch.chdir(tmp_path)
    opened = mock.MagicMock(**{"__exit__.return_value": None, "__enter__.return_value.register.return_value": 1})
    monkeypatch.setattr("fairlab.monitoring.Client", lambda *given, **more: opened)
    client = opened.__enter__.return_value
    regions, countries = ["01", "02"] * 30, ["NA", "ZA", "null"] * 20
    table = pd.DataFrame({"a, b": regions, "country": countries, "hours": range(60), "offer": ["yes", "no", "no"] * 20})
    table.to_csv("t.csv", index=False)
    call = ["t.csv", "--token", "x"]
    assert main(["monitor", "register", *call, "--sensitive-features", '"a, b"', "--output", "offer"]) == 0
    [registered] = client.register.call_args.args
    types = {name: column["type"] for name, column in registered["columns"].items()}
    assert types == dict.fromkeys(["a, b", "country", "offer"], "category") | {"hours": "number"}
    assert "country: NA, null is read as text" in capsys.readouterr().err
    client.investigation.return_value = registered
    assert main(["monitor", "send", *call, "--investigation", "1"]) == 0
    assert client.send.call_args.args[1][["a, b", "country"]].to_dict("list") == {"a, b": regions, "country": countries}
    Path("t.csv").write_text("sex,offer\nf,yes,1\n")
    assert main(["monitor", "register", *call, "--sensitive-features", "sex", "--output", "offer"]) == 1
    assert "found 3 in line 2" in capsys.readouterr().err


def test_the_audit_of_a_model_needs_a_name_of_its_decisions(monitor, connect):
    frame = pd.DataFrame(decisions(300))[["sex", "town", "age"]]
    case = Case(lambda rows: rows["age"] > 40, frame, sensitive_features="sex", pos_label=True)
    report = json.loads(audit(case, methods=["rates"], model_name="offers 2", progress=False).to_json())
    with pytest.raises(ValueError, match="output: expected the name that decisions will have"):
        registration_of_audit(report)
    fields = registration_of_audit(report, output="offer", look_every={"rows": 50})
    assert (fields["name"], fields["columns"]["offer"]) == ("offers 2", {"type": "boolean"})
    client = connect()
    assert client.send(client.register(fields), pd.DataFrame(decisions(300)))["new"] == 300


@pytest.mark.parametrize("weights", [None, np.linspace(1, 2, 300)])
def test_that_the_audit_was_weighted_is_said(weights, recwarn):
    registration_of_audit(json.loads(audited(pd.DataFrame(decisions(300)), pos_label=True, weights=weights)))
    assert [str(each.message) for each in recwarn if "a monitor counts" in str(each.message)] == [
        "The audit used weighted rates; a monitor counts each decision once."
    ] * (weights is not None)


@pytest.mark.parametrize("has_missing", [False, True])
def test_codes_of_groups_and_labels_are_categories_as_in_an_audit(monitor, connect, has_missing):
    frame = pd.DataFrame(decisions(300)).assign(race=np.arange(300) % 3 + 1)
    frame["offer"] = np.where(frame["offer"], 1, 2)
    if has_missing:
        frame["race"] = frame["race"].where(frame.index > 10)  # floats
    fields = registration_of(frame, sensitive_features=["race", "age"], output="offer")
    assert fields["columns"]["race"] == {"type": "category", "categories": ["1", "2", "3"]}
    assert fields["columns"]["offer"] == {"type": "category", "categories": ["1", "2"]}
    assert fields["columns"]["age"] == {"type": "number"}
    case = Case.from_decisions(frame, "offer", pos_label=1, sensitive_features="race", features=["town"])
    report = json.loads(audit(case, methods=["rates"], progress=False).to_json())
    with pytest.raises(ValueError, match="found offer = 1 among numbers, which a report does not list"):
        registration_of_audit(report)
    report["outcome"]["type"] = "boolean"
    assert registration_of_audit(report)["columns"]["race"] == fields["columns"]["race"]
    client = connect()
    number = client.register(fields | {"sensitive_features": ["race"]})
    assert client.send(number, frame)["new"] == 300
    frame.loc[299, "race"] = 4
    case = Case.from_decisions(frame, "offer", pos_label=1, sensitive_features="race", features=["town"])
    report = json.loads(audit(case, methods=["rates"], progress=False).to_json())
    with pytest.raises(ValueError, match="expected all groups of race, found 1 of fewer than 5 people"):
        registration_of_audit(report)


def test_labels_that_only_one_of_two_columns_has_are_registered_for_both(monitor, connect):
    frame = pd.DataFrame(decisions(300)).assign(offer=["a", "b"] * 150, truth=["a", "b", "c"] * 100)
    fields = registration_of(
        frame, sensitive_features=["sex"], output="offer", true_label="truth", kind="error profiling"
    )
    assert fields["columns"]["offer"] == fields["columns"]["truth"] == {"type": "category", "categories": [*"abc"]}
    client = connect()
    assert client.send(client.register(fields), frame)["new"] == 300


@pytest.mark.parametrize("other", [{}, {"event_id": "same"}])
def test_decisions_are_told_apart_by_the_column_that_is_named_or_not_at_all(
    monitor, connect, tmp_path, monkeypatch, capsys, other
):
    from fairlab.cli import main

    monkeypatch.setattr("fairlab.monitoring.Client", lambda *_: connect())
    number, file = monitor.register(), str(tmp_path / "decisions.csv")
    table = pd.DataFrame(decisions(50)).rename(columns={"event_id": "id"}).assign(**other)
    table.to_csv(file, index=False)
    call = ["monitor", "send", file, "--investigation", str(number), "--token", "x"]
    assert main([*call, "--event-id", "application"]) == 1
    assert "fairlab: --event-id: no column 'application'; there are id, sex" in capsys.readouterr().err
    assert main([*call, "--event-id", "id"]) == 0
    assert monitor.store.investigation(number).decided == 50


def test_whole_numbers_are_the_same_text_whether_or_not_others_are_missing(monitor, connect):
    frame = pd.DataFrame(decisions(4)).assign(event_id=range(4), person=[7, 8, 9, 9], town=[1, 2, 3, 3])
    number, client = monitor.register(), connect()
    assert client.send(number, frame)["new"] == 4
    floats = frame.astype({"event_id": float, "person": float, "town": float})
    assert client.send(number, floats) == {"received": 4, "new": 0, "repeated": 4}
    later = floats.assign(event_id=[4.0, 5, 6, 7], person=[7, 7, np.nan, np.nan], town=[1, np.nan, 2, 2])
    assert client.send(number, later)["new"] == 4
    assert client.delete_person(number, "7") == 3
    declared = {"type": "category", "categories": ["1.0", "2.0"]}
    number = client.register(client_fields(town=declared))
    assert client.send(number, floats.assign(town=[1.0, 2, 2, 2]))["new"] == 4


def test_two_columns_of_one_name_are_refused(monitor, connect):
    table = pd.DataFrame(decisions(5))
    with pytest.raises(ValueError, match="decisions: has two columns 'town'"):
        connect().send(monitor.register(), pd.concat([table, table[["town"]]], axis=1))


def client_fields(**columns):
    return REGISTRATION | {"columns": REGISTRATION["columns"] | columns}


def test_groups_that_a_report_does_not_name_are_not_registered_without_a_word():
    frame = pd.DataFrame(decisions(300))
    frame.loc[:1, "sex"] = "x"
    with pytest.raises(ValueError, match="report: expected all groups of sex, found 1 of fewer than five people"):
        registration_of_audit(json.loads(audited(frame, pos_label=True)))
    with pytest.raises(ValueError, match=r"report: expected what .* wrote as JSON"):
        registration_of_audit({"verdict": "undecided"})


@pytest.mark.parametrize("full", ["drop", "wait", "raise"])
def test_a_model_is_watched_and_a_full_queue_does_what_was_chosen(monitor, connect, full):
    may_answer = threading.Event()
    client = connect(lambda request: may_answer.wait(20) and None)
    number = monitor.register()

    @monitored(client, number, output="offer", full=full, queue_size=1)
    def predict(table):
        return table["age"] > 40

    tables = [pd.DataFrame(decisions(10, seed=k)).drop(columns="offer") for k in range(4)]
    if full == "wait":
        threading.Timer(0.2, may_answer.set).start()
    refused = 0
    for table in tables:
        try:
            pd.testing.assert_series_equal(predict(table), table["age"] > 40, check_names=False)
        except queue.Full:
            refused += 10
    may_answer.set()
    predict.sender.flush()
    counts = predict.sender
    assert counts.sent + counts.dropped + refused == 40
    assert client.investigation(number)["decisions"] == counts.sent
    assert {"drop": counts.dropped, "raise": refused, "wait": counts.sent - 39}[full] > 0
    assert "offer" not in tables[0].columns


class Kept:
    """In the place of a client: keeps what would be sent."""

    def __init__(self):
        self.rows = []

    def send(self, number, rows):
        self.rows.append(rows)


TABLE = pd.DataFrame({"sex": ["f", "m"] * 50, "age": range(100)}).sample(frac=1, random_state=0)
ANSWERS = {  # what a model returns for men and nobody else
    "an array": lambda rows: (rows["sex"] == "m").to_numpy(),
    "a list": lambda rows: (rows["sex"] == "m").tolist(),
    "a column": lambda rows: (rows["sex"] == "m").to_numpy().reshape(-1, 1),
    "a Series": lambda rows: rows["sex"] == "m",
    "a Series of another order": lambda rows: rows.sort_values("age")["sex"] == "m",
    "a Series with a new index": lambda rows: pd.Series((rows["sex"] == "m").to_numpy()),
    "a DataFrame": lambda rows: (rows["sex"] == "m").to_frame(),
    "categories": lambda rows: (rows["sex"] == "m").astype("category"),
}


def changes_in_place(rows):
    found = (rows["sex"] == "m").to_numpy()
    rows["sex"] = rows["sex"].map({"f": "m", "m": "f"})
    rows.loc[:, "age"] = 0
    rows["more"] = 1
    return found


@pytest.mark.parametrize("answer", [*ANSWERS.values(), changes_in_place], ids=[*ANSWERS, "and changes the table"])
def test_decisions_are_sent_with_the_people_that_they_are_about(answer):
    client, table = Kept(), TABLE.copy()
    predict = monitored(client, 1, output="offer")(answer)
    predict(table)
    assert predict.sender.flush(20) and not predict.sender.failed, predict.sender.last_error
    (rows,) = client.rows
    assert rows["offer"].astype(bool).tolist() == (TABLE["sex"] == "m").tolist()
    assert rows["age"].tolist() == TABLE["age"].tolist() and "more" not in rows


@pytest.mark.parametrize("answer", [True, "m" * 100, [1] * 99, pd.Series(1, index=range(200, 300)), None])
def test_answers_that_are_not_one_a_row_are_counted_as_failed(answer):
    predict = monitored(Kept(), 1, output="offer")(lambda rows: answer)
    assert predict(TABLE) is answer
    assert predict.sender.flush(20) and predict.sender.failed == 100 and predict.sender.sent == 0


def in_a_child(do):
    """Return what a function returns in a process that was forked, and whether it ended in time."""
    reading, writing = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: writing.send(do()))
    child.start()
    found = reading.recv() if reading.poll(60) else None
    child.kill()
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("full", ["drop", "wait", "raise"])
def test_a_program_that_forks_sends_from_each_process(full):
    client = Kept()
    predict = monitored(client, 1, output="offer", full=full, queue_size=100)(ANSWERS["an array"])
    begun, blocked = threading.Event(), threading.Event()
    client.send = lambda number, rows: begun.set() or blocked.wait(60)
    predict(TABLE)  # waits in the parent, whose thread the child has not
    assert begun.wait(60)
    client.send = lambda number, rows: client.rows.append(rows)

    def of_child():
        for _ in range(3):
            predict(TABLE)
            predict.sender.flush(30)
        counts = predict.sender
        return counts.sent, counts.waiting, counts.failed, sum(map(len, client.rows))

    with predict.sender._changed:  # as where another thread of the parent has just queued something
        assert in_a_child(of_child) == (300, 0, 0, 300)
    assert not predict.sender.flush(0.01) and predict.sender.waiting == 100
    blocked.set()
    assert predict.sender.flush(30) and predict.sender.sent == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_client_that_was_forked_has_a_connection_of_its_own():
    client = Client("http://127.0.0.1:9", "token", max_seconds=0.1)
    first = id(client._http)
    assert in_a_child(lambda: id(client._http) != first) and id(client._http) == first


def test_a_model_goes_on_where_the_monitor_refuses(monitor, connect):
    @monitored(connect(), monitor.register(), output="offer", event_ids=lambda table: ["e"] * len(table))
    def predict(table):
        return ["maybe"] * len(table)

    assert predict(pd.DataFrame(decisions(2))) == ["maybe"] * 2
    predict.sender.flush()
    assert (predict.sender.failed, predict.sender.sent) == (2, 0)
    assert "offer: Input should be a valid boolean" in str(predict.sender.last_error)
    assert len(predict([1, 2, 3])) == 3  # no table: counted, not raised
    assert predict.sender.failed == 5


def test_rows_of_a_call_that_were_stored_before_a_bad_one_are_counted_as_sent(monitor, connect):
    number, rows = monitor.register(), pd.DataFrame(decisions(1000)).drop(columns="offer")
    rows.loc[950, "town"] = "t" * 300
    watched = monitored(connect(batch_size=400), number, output="offer")(lambda table: np.ones(len(table), bool))
    watched(rows)
    assert watched.sender.flush(60)
    found = (watched.sender.sent, watched.sender.failed, watched.sender.last_error.n_sent)
    assert found == (800, 200, 800) and connect().investigation(number)["decisions"] == 800


@pytest.mark.parametrize(
    "changed", [lambda table: table.assign(town="t" * 300), lambda table: table.drop(columns="town")]
)
def test_a_bad_row_of_one_call_does_not_lose_the_rows_of_others(monitor, connect, changed):
    may_answer = threading.Event()

    @monitored(connect(lambda request: may_answer.wait(20) and None), monitor.register(), output="offer")
    def predict(table):
        return table["age"] > 40

    for k in range(6):
        table = pd.DataFrame(decisions(2, seed=k))
        predict(changed(table) if k == 4 else table)
    may_answer.set()
    predict.sender.flush()
    assert (predict.sender.sent, predict.sender.failed) == (10, 2)


def test_a_file_that_was_sent_counts_once_whatever_its_name_and_another_of_its_name_counts(
    monitor, connect, tmp_path, monkeypatch, capsys
):
    from fairlab.cli import main

    monkeypatch.setattr("fairlab.monitoring.Client", lambda *_: connect())
    number, file = monitor.register(), tmp_path / "decisions.csv"
    for month in range(2):
        pd.DataFrame(decisions(50, seed=month)).drop(columns="event_id").to_csv(file, index=False)
        for name in (file, tmp_path / "same.csv"):
            (tmp_path / "same.csv").write_bytes(file.read_bytes())
            assert main(["monitor", "send", str(name), "--investigation", str(number), "--token", "x"]) == 0
    assert monitor.store.investigation(number).decided == 100
    assert [line.split(",")[1] for line in capsys.readouterr().out.splitlines()] == [" 50 new", " 0 new"] * 2
