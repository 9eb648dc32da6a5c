"""Looks: equal to the library, each row tested once, done anew with the same data and level."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from monitoring.streams import REGISTRATION, decisions

from fairlab.fairtest import Column, Correlation, DataSource, Investigation, Ratio, Sample, look_level
from fairlab.fairtest.report import _shown_counts
from fairlab.monitoring import looks
from fairlab.monitoring.registration import RefusedError, Registration, for_training, keyed
from fairlab.monitoring.scheduler import take_look, take_looks


def split(monitor, number, rows):
    found = monitor.store.investigation(number)
    events = keyed(found.key, b"event ", [row["event_id"] for row in rows])
    return for_training(events, found.registration.train_size)


KINDS = {
    "testing": {},
    "discovery": {"kind": "discovery", "output": ["offer", "note", "colour"]},
    "error profiling": {"kind": "error profiling", "true_label": "truth"},
    "errors of numbers": {"kind": "error profiling", "output": "score", "true_label": "true_score"},
    "explanatory": {"explanatory": "town", "spending": "adaptive"},
    "ratio": {"metric": "Ratio", "context": ["town"]},
    "correlation of booleans": {"metric": "Correlation", "context": ["town"]},
    "numbers": {"output": "score", "sensitive_features": ["sex", "age"], "context": ["town"]},
}
TYPES = REGISTRATION["columns"] | {
    "note": {"type": "boolean"},
    "colour": {"type": "category", "categories": ["red", "blue"]},
    "truth": {"type": "boolean"},
    "score": {"type": "number", "low": 0, "high": 10},
    "true_score": {"type": "number", "low": 0, "high": 10},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_investigation_gives_the_report_of_the_library_and_effects_over_time(monitor, kind):
    changes, rng = KINDS[kind], np.random.default_rng(5)
    roles = [changes.get("true_label"), *np.ravel(changes.get("output", "offer"))]
    columns = {name: TYPES[name] for name in [*REGISTRATION["columns"], *filter(None, roles)]}
    number, rows = monitor.register(columns=columns, **changes), decisions(2000)
    for row in rows:
        own = {"note": bool(rng.random() < 0.2 + 0.4 * (row["sex"] == "f")), "truth": row["town"] == "b"}
        own |= {"colour": str(rng.choice(["red", "blue"])), "score": float(rng.uniform(0, 8)) + 2 * (row["sex"] == "m")}
        row.update({name: own.get(name, 5) for name in set(columns) - set(row)})
    assert monitor.send(number, rows[:700]).status_code == monitor.send(number, rows[700:]).status_code == 200
    found = monitor.look(number)
    assert found["state"] == "done", found

    registered, key = monitor.store.investigation(number).registration, monitor.store.investigation(number).key
    table = pd.DataFrame(rows)[list(columns)]
    numbers = [name for name in columns if columns[name]["type"] == "number"]
    source = DataSource(table, train=split(monitor, number, rows), numbers=numbers)
    investigation = Investigation(
        registered.sensitive_features,
        registered.output,
        ground_truth=registered.true_label,
        explanatory=registered.explanatory,
        context=registered.context,
        metric={"ratio": Ratio(), "correlation of booleans": Correlation()}.get(kind),
        min_leaf_size=50,
        random_state=int.from_bytes(keyed(key, b"look ", ["1"])[0][:4], "big"),
    )
    report = investigation.fit(source).test(significance=look_level(1, 0.05))
    assert (found["n_train"], found["n_test"]) == (source.n_train, 2000 - source.n_train)
    for shown, section in zip(found["sections"], report.sections, strict=True):
        assert shown["tested"] == len(section.subgroups)
        tests = [(one["context"], test) for one in shown["contexts"] for test in one["tests"]]
        expected = [(str(one.node), a) for one in section.reported for a in one.associations if a.size >= 10]
        for (context, test), (node, own) in zip(tests, expected, strict=True):
            assert (context, test["part"], test["size"]) == (node, own.part, own.size)
            values = [np.inf if test[name] is None else test[name] for name in ("low", "high", "p_value")]
            assert values == pytest.approx([own.low, own.high, own.p_value], rel=1e-9)
            assert test["estimate"] is None or own.low <= test["estimate"] <= own.high
    text = monitor.as_.reader.get(f"/investigations/{number}/looks/1", headers={"accept": "text/plain"}).text
    assert "everyone" in text and monitor.as_.reader.get(f"/pages/investigations/{number}/looks/1").status_code == 200
    effects = monitor.as_.reader.get(f"/investigations/{number}/effects").json()["effects"]
    assert len(effects) == {"discovery": 3}.get(kind, 1)
    if kind == "testing":
        women, men = table[~split(monitor, number, rows)].groupby("sex")["offer"].mean().map("{:.1%}".format)
        assert f"True less often among f ({women}) than among m ({men})" in text and ", estimate 0." in text
    if kind == "numbers":
        means = pd.DataFrame(rows).groupby("sex")["score"].mean()
        assert effects[0]["points"][-1]["estimate"] == pytest.approx(means["f"] - means["m"])


def test_contexts_are_new_gone_stronger_or_weaker(monitor):
    number, seen = monitor.register(min_leaf_size=200), []
    for part, (effect, town) in enumerate(((0.3, "a"), (0.6, "a"), (0, "a"), (0.6, "b"))):
        monitor.send(number, decisions(4000, seed=part, effect=effect, town=town))
        changes = monitor.look(number)["changes"]
        seen.append({kind: {one["context"] for one in found} for kind, found in changes.items()})
    assert "town: a" in seen[0]["new"] and "town: a" in seen[1]["stronger"]
    assert "town: a" in seen[2]["gone"] and not any(seen[2][kind] for kind in ("new", "stronger"))
    assert {"everyone"} <= seen[3]["new"]


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
    with pytest.raises(RefusedError, match="not due"):
        monitor.store.plan_look(number)
    answer = monitor.as_.admin.post(f"/investigations/{number}/looks")
    assert (answer.status_code, answer.json()["detail"][:12]) == (409, "training set")
    monitor.send(number, decisions(1000, seed=1))
    assert monitor.store.plan_look(number) == 1
    with pytest.raises(RefusedError, match="not finished"):
        monitor.store.plan_look(number, is_wanted=True)


def test_of_two_requests_for_a_look_at_a_time_one_is_tried_again(monitor, monkeypatch):
    number, before = monitor.register(), []
    monitor.send(number, decisions(2000))
    monitor.store.plan_look(number)
    path = f"/investigations/{number}/looks"
    with monkeypatch.context() as patch:
        patch.setattr(monitor.store, "look_list", lambda number: before)
        assert monitor.as_.admin.post(path).status_code == 503
    assert monitor.as_.admin.post(path).status_code == 409
    assert [one.number for one in monitor.store.look_list(number)] == [1]


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


def test_an_investigation_may_be_deleted_while_it_is_looked_at(monitor, monkeypatch):
    number, look = monitor.register(), looks.look
    monitor.send(number, decisions(2000))

    def deleting(*of):
        monitor.store.delete_investigation(number)
        return look(*of)

    monkeypatch.setattr(looks, "look", deleting)
    take_looks(monitor.store)
    assert monitor.store.numbers() == [] and monitor.store.running_look() is None


@pytest.mark.parametrize(
    ("changes", "level", "expected"),
    [
        ({"explanatory": "town"}, 1e-5, 1),
        ({"explanatory": "town"}, 0.01, 0),
        ({}, 1e-5, 0),
        ({"explanatory": "town", "metric": "Correlation"}, 1e-5, 0),
    ],
)
def test_a_look_whose_permutations_are_too_few_for_its_level_says_so(changes, level, expected):
    registration = Registration.model_validate(REGISTRATION | {"context": []} | changes)
    table = pd.DataFrame(decisions(4000, effect=0.6)).drop(columns="event_id")
    report = looks.look(registration, table.astype({"town": "category"}), np.arange(4000) < 2000, level, 0)
    assert sum("Nothing could be found at the level 1e-05" in text for text in report.warnings) == expected
    own = [one.associations[0].p_value for section in report.sections for one in section.subgroups]
    assert (min(own) > level) == bool(expected)


@settings(deadline=None)
@given(st.lists(st.integers(0, 25), min_size=4, max_size=10), st.integers(1, 12))
def test_no_small_cell_is_shown_nor_follows_from_what_is_shown(cells, smallest):
    cells = np.array(cells[: len(cells) // 2 * 2]).reshape(2, -1)  # outputs, groups
    output, group = (np.repeat(axis, cells.ravel()) for axis in np.indices(cells.shape).reshape(2, -1))
    codes = {"group": group, "output": output}
    names = {"group": tuple(f"g{k}" for k in range(cells.shape[1])), "output": ("no", "yes")}
    sample = Sample(*(Column(name, codes[name], names[name]) for name in codes))
    found = _shown_counts(sample, smallest)
    met = sample.counts().drop(index="Total", columns="Total")
    sound = met.loc[:, (met >= smallest).all()]
    if found is None:
        assert sound.shape[1] < 3
        return
    shown = np.array(found["counts"])
    assert (shown >= smallest).all() and len(found["groups"]) >= 2
    assert not 0 < cells.sum() - shown.sum() < smallest
    assert found["shares"] == pytest.approx(shown[-1] / shown.sum(axis=0))
    assert found["hidden"] == met.shape[1] - len(found["groups"])
    assert met[found["groups"]].to_numpy().tolist() == found["counts"]
