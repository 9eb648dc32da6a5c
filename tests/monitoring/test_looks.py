"""Looks: equal to the library, each row tested once, done anew with the same data and level."""

import pandas as pd
import pytest
from monitoring.streams import decisions

from fairlab.fairtest import DataSource, Investigation
from fairlab.monitoring import look_level
from fairlab.monitoring.registration import for_training, keyed
from fairlab.monitoring.scheduler import take_look
from fairlab.monitoring.store import PostponedError


def split(monitor, number, rows):
    found = monitor.store.investigation(number)
    events = keyed(found.key, b"event ", [row["event_id"] for row in rows])
    return for_training(events, found.registration.train_size)


def test_a_stream_looked_at_once_gives_the_report_of_the_library(monitor):
    rows, number = decisions(3000), monitor.register()
    assert monitor.send(number, rows[:1000]).json() == {"received": 1000, "new": 1000, "repeated": 0}
    monitor.send(number, rows[1000:])
    found = monitor.look(number)

    table = pd.DataFrame(rows).drop(columns="event_id")
    source = DataSource(table, train=split(monitor, number, rows), numbers="age")
    investigation = Investigation("sex", "offer", min_leaf_size=50).fit(source)
    (section,) = investigation.test(significance=look_level(1, 0.05)).sections
    assert (found["n_train"], found["n_test"]) == (source.n_train, 3000 - source.n_train)
    assert found["sections"][0]["tested"] == len(section.subgroups)
    for shown, expected in zip(found["sections"][0]["contexts"], section.reported, strict=True):
        test = expected.association()
        assert (shown["context"], shown["size"]) == (str(expected.node), expected.size)
        values = [shown["tests"][0][name] for name in ("low", "high", "p_value")]
        assert values == pytest.approx([test.low, test.high, test.p_value], rel=1e-9)
    assert "town: a" in [one["context"] for one in found["changes"]["new"]]


def test_each_row_is_tested_once_and_then_released_for_training(monitor):
    rows, number = decisions(3000), monitor.register()
    train = split(monitor, number, rows)
    for look, end in enumerate((1000, 2000, 3000), start=1):
        monitor.send(number, rows[end - 1000 : end])
        found = monitor.look(number)
        fresh = ~train[end - 1000 : end]
        assert (found["number"], found["n_test"], found["n_train"]) == (look, fresh.sum(), end - fresh.sum())
        assert found["level"] == look_level(look, 1 - 0.95)


def test_a_look_is_postponed_until_it_is_due_and_has_enough_rows_and_spends_nothing(monitor):
    number = monitor.register()
    monitor.send(number, decisions(60))
    with pytest.raises(PostponedError, match="not due"):
        monitor.store.plan_look(number)
    answer = monitor.as_.admin.post(f"/investigations/{number}/looks")
    assert (answer.status_code, answer.json()["detail"][:12]) == (409, "training set")
    monitor.send(number, decisions(1000, seed=1))
    assert monitor.store.plan_look(number) == 1
    with pytest.raises(PostponedError, match="not finished"):
        monitor.store.plan_look(number, is_wanted=True)


def test_a_look_that_died_is_done_anew_and_what_died_cannot_store_its_report(monitor):
    number = monitor.register()
    monitor.send(number, decisions(2000))
    look = monitor.store.plan_look(number)
    died = monitor.store.begin_look(number, look)
    monitor.send(number, decisions(500, seed=1))  # comes too late for this look
    take_look(monitor.store, number, look)
    (row,) = monitor.store.look_list(number)
    assert (row.attempts, row.state, row.report["n_train"] + row.report["n_test"]) == (2, "done", 2000)
    assert not monitor.store.finish_look(died, "done", {})
