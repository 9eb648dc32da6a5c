"""Looks: equal to the library, each row tested once, done anew with the same data and level."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from monitoring.streams import REGISTRATION, decisions, numbers
from monitoring.test_store import ERRORS

from fairlab.cases import CaseError
from fairlab.fairtest import Column, Correlation, DataSource, Investigation, Ratio, Sample, look_level
from fairlab.fairtest.report import _shown_counts
from fairlab.monitoring import looks
from fairlab.monitoring.registration import RefusedError, Registration, for_training, keyed
from fairlab.monitoring.scheduler import take_look, take_looks
from fairlab.monitoring.store import investigations


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
    by_feature = report.to_frame().groupby("sensitive_features", sort=False)
    for shown, (_, section) in zip(found["sections"], by_feature, strict=True):
        assert shown["tested"] == section["context"].nunique()
        tests = [(one["context"], test) for one in shown["contexts"] for test in one["tests"]]
        expected = section[section["rank"].notna() & (section["size"] >= 10)].sort_values("rank", kind="stable")
        for (context, test), own in zip(tests, expected.to_dict("records"), strict=True):
            assert (context, test["part"], test["size"]) == (own["context"], own["part"], own["size"])
            values = [np.inf if test[name] is None else test[name] for name in ("low", "high", "p_value")]
            assert values == pytest.approx([own["low"], own["high"], own["p_value"]], rel=1e-9)
            assert test["estimate"] is None or own["low"] <= test["estimate"] <= own["high"]
    text = monitor.as_.reader.get(f"/investigations/{number}/looks/1", headers={"accept": "text/plain"}).text
    assert "everyone" in text and monitor.as_.reader.get(f"/pages/investigations/{number}/looks/1").status_code == 200
    effects = monitor.as_.reader.get(f"/investigations/{number}/effects").json()["effects"]
    assert len(effects) == {"discovery": 3}.get(kind, 1)
    if kind == "testing":
        tested = table[~split(monitor, number, rows)].groupby("sex")["offer"]
        women, men = tested.mean().map("{:.1%}".format)
        refused, offered = (tested.agg(count)["f"] for count in (lambda of: (~of).sum(), "sum"))
        assert f"    f: {refused:,} False, {offered:,} True ({women} True)\n" in text
        assert f"True less often among f ({women}) than among m ({men})" in text and ", estimate 0." in text
    if kind == "discovery":  # of its labels the one that tells most is named
        assert "among everyone" in text and "people; note: DIFF from " in text
        page = monitor.as_.reader.get(f"/pages/investigations/{number}/looks/1").text
        assert '<tr class="significant">\n<td>everyone; note</td>' in page and "<tr>\n<td>everyone; colour</td>" in page
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


def test_several_decisions_of_a_person_are_said(monitor):
    number, rows = monitor.register(), decisions(2000)
    monitor.send(number, [row | {"person": f"p{k}"} for k, row in enumerate(rows[:1000])])
    assert not monitor.look(number)["warnings"]
    monitor.send(number, [row | {"person": f"p{k // 10}"} for k, row in enumerate(rows[1000:])])
    tested = ~split(monitor, number, rows[1000:])
    n_persons = len(np.unique(np.arange(1000)[tested] // 10))
    [said] = monitor.look(number)["warnings"]
    assert said.startswith(f"{tested.sum()} of the rows tested are about {n_persons} persons, and count as independent")


@pytest.mark.parametrize(
    ("delay", "is_said"),
    [
        (lambda label, rng: 100 * np.ones(len(label)), False),
        (lambda label, rng: rng.integers(1, 400, len(label)), False),
        (lambda label, rng: np.where(label, 50, 300), True),  # loans that fail do so soon, others are paid at last
        (lambda label, rng: np.where(label, 50, 300) * rng.random(len(label)), True),
    ],
)
def test_labels_of_one_kind_that_come_later_are_said(monitor, delay, is_said):
    rng, rows = np.random.default_rng(0), decisions(2_000)
    columns = REGISTRATION["columns"] | {"truth": {"type": "boolean"}}
    number = monitor.register(columns=columns, **KINDS["error profiling"])
    label = rng.random(len(rows)) < 0.3
    monitor.send(number, rows)
    order = np.argsort(np.arange(len(rows)) + delay(label, rng), kind="stable")
    labels = [{"event_id": rows[place]["event_id"], "truth": bool(label[place])} for place in order]
    for start in range(0, len(labels), 50):  # of one batch the order does not count
        monitor.send(number, sorted(labels[start : start + 50], key=lambda row: row["truth"]), kind="labels")
    warnings = monitor.look(number)["warnings"]
    assert any("Some true labels come later than others." in said for said in warnings) == is_said


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


@pytest.mark.parametrize("n_labels", [60, 500])
def test_decisions_whose_true_label_is_not_known_yet_neither_count_nor_hold_up_looks(monitor, n_labels):
    number, rows = monitor.register(**ERRORS, look_every={"rows": 60}, min_leaf_size=100), decisions(2000)
    monitor.send(number, rows)
    labels = [{"event_id": row["event_id"], "truth": row["age"] > 40} for row in rows[:n_labels]]
    monitor.send(number, labels, kind="labels")
    take_looks(monitor.store)
    looks = monitor.store.look_list(number)
    if n_labels == 60:
        assert not looks
        with pytest.raises(RefusedError, match=r"training set: expected at least 100 rows, found [0-9]{2}$"):
            monitor.store.plan_look(number, is_wanted=True)
    else:
        assert [(one.state, one.until % 60, one.until <= 500) for one in looks] == [("done", 0, True)]


def test_of_several_requests_for_a_look_at_a_time_one_is_granted(monitor):
    number = monitor.register()
    monitor.send(number, decisions(2000))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: monitor.as_.admin.post(f"/investigations/{number}/looks"), range(4)))
    assert sorted(one.status_code for one in answers) == [202, 409, 409, 409]
    assert [one.number for one in monitor.store.look_list(number)] == [1]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(1, 400), max_size=8), every=st.sampled_from([10, 100, 250]))
def test_where_looks_by_rows_end_is_not_for_the_sender_to_choose(monitor, sizes, every):
    rows, ends = decisions(sum(sizes), seed=3), []
    for parts in ([len(rows)], sizes):  # at once, and in batches
        number, start = monitor.register(look_every={"rows": every}), 0
        with monitor.store.write() as connection:  # the same split
            of = investigations.c.id == number
            connection.execute(sa.update(investigations).where(of).values(key=b"k" * 32))
        for size in parts:
            monitor.send(number, rows[start : start + size])
            start += size
            while monitor.store.due_looks():
                with suppress(RefusedError):
                    look = monitor.store.plan_look(number)
                    monitor.store.change_look(monitor.store.report(number, look), state="done", report={"sections": []})
        ends.append([(one.after, one.until) for one in monitor.store.look_list(number)])
        assert monitor.store.due_looks() == []
    assert ends[0] == ends[1]
    assert all(until % every == 0 for _, until in ends[0])
    if every == 250 and len(rows) >= 250:  # enough of both kinds
        assert [until for _, until in ends[0]] == list(range(250, len(rows) + 1, 250))


@pytest.mark.parametrize("fault", ["a group alone", "the program", "a number", "too little memory"])
def test_a_look_that_made_no_test_spends_nothing_and_its_rows_are_tested_by_the_next(monitor, monkeypatch, fault):
    number, other = monitor.register(), monitor.register()
    first, second = decisions(1000), decisions(1000, seed=1)
    with monkeypatch.context() as patch:
        if fault == "a group alone":
            first = [row | {"sex": "f"} for row in first]
        else:
            errors = {"the program": TypeError("Atlantis"), "a number": CaseError("expected it, found Atlantis")}
            error = errors.get(fault, MemoryError())
            patch.setattr(looks, "look", lambda *_: (_ for _ in ()).throw(error))
        monitor.send(number, first)
        take_looks(monitor.store)
    monitor.send(other, decisions(1000))
    monitor.send(number, second)
    take_looks(monitor.store)
    failed, done = (monitor.as_.reader.get(f"/investigations/{number}/looks/{k}").json() for k in (1, 2))
    assert (failed["state"], failed["level"], done["state"]) == ("failed", 0, "done")
    assert failed["reason"].endswith("its level was not spent") and "Atlantis" not in failed["reason"]
    assert failed["reason"].startswith("expected it;") or fault != "a number"
    assert done["level"] == look_level(1, 1 - 0.95)
    train = split(monitor, number, first + second)
    assert (done["n_train"], done["n_test"]) == (train.sum(), (~train).sum())
    assert [one.state for one in monitor.store.look_list(other)] == ["done"]


def test_what_one_investigation_does_wrong_is_its_own(monitor, monkeypatch, caplog):
    numbers = [monitor.register() for _ in range(3)]
    for number in numbers:
        monitor.send(number, decisions(1000))
    plan = monitor.store.plan_look

    def planned(number):
        if number == numbers[0]:
            raise ValueError("alpha: expected a number between 0 and 1")
        return plan(number)

    monkeypatch.setattr(monitor.store, "plan_look", planned)
    take_looks(monitor.store)
    assert [len(monitor.store.look_list(number)) for number in numbers] == [0, 1, 1]
    assert [one.fields["error"] for one in caplog.records if one.levelname == "ERROR"] == ["ValueError"]


@pytest.mark.parametrize("size", [3e14, 5e-324, 1e-200])
def test_numbers_of_any_size_that_is_taken_are_counted_and_looked_at(monitor, size):
    columns = REGISTRATION["columns"] | {"score": {"type": "number"}, "rate": {"type": "number", "low": 0, "high": 1}}
    numbers = [monitor.register(columns=columns, output=output) for output in ("score", "rate")]
    rows = [
        row | {"score": size * (k % 7 - 3), "rate": min(size, 1) * (k % 2)} for k, row in enumerate(decisions(1000))
    ]
    for number in numbers:
        assert monitor.send(number, rows).status_code == 200
    take_looks(monitor.store)
    for number in numbers:
        (look,) = monitor.store.look_list(number)
        assert look.state == "done" or look.level == 0
        assert monitor.as_.reader.get(f"/pages/investigations/{number}").status_code == 200


def test_a_look_that_died_is_done_anew_and_what_died_cannot_store_its_report(monitor):
    number = monitor.register()
    monitor.send(number, decisions(2000))
    look = monitor.store.plan_look(number)
    died = monitor.store.change_look(monitor.store.report(number, look), attempts=1)
    monitor.send(number, decisions(500, seed=1))  # comes too late for this look
    take_look(monitor.store, number, look)
    row = monitor.store.report(number)
    assert (row.attempts, row.state, row.report["n_train"] + row.report["n_test"]) == (2, "done", 1000)
    assert not monitor.store.change_look(died, state="done", report={})


def test_an_investigation_may_be_deleted_while_it_is_looked_at(monitor, monkeypatch):
    number, look = monitor.register(), looks.look
    monitor.send(number, decisions(2000))

    def deleting(*of):
        monitor.store.delete_investigation(number)
        return look(*of)

    monkeypatch.setattr(looks, "look", deleting)
    take_looks(monitor.store)
    assert numbers(monitor.store) == [] and monitor.store.running_looks() == []


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
    own = report.to_frame().query("part == ''")["p_value"]
    assert (own.min() > level) == bool(expected)


@pytest.mark.parametrize(("explanatory", "is_found"), [(None, True), ("hour", False)])
def test_rates_and_groups_that_change_by_the_hour_differ_over_a_period_unless_the_hour_is_held_fixed(
    explanatory, is_found
):
    columns = {name: REGISTRATION["columns"][name] for name in ("sex", "offer")} | {"hour": {"type": "category"}}
    changes = {"columns": columns, "context": [], "explanatory": explanatory}
    rng, day = np.random.default_rng(0), 0.5 + 0.3 * np.sin(np.linspace(0, 20 * np.pi, 4000, endpoint=False))
    table = pd.DataFrame({"sex": np.where(rng.random(4000) < day, "f", "m"), "offer": rng.random(4000) < day})
    table["hour"] = (np.arange(4000) % 400 // 20).astype(str)
    registration = Registration.model_validate(REGISTRATION | changes)
    report = looks.look(registration, looks.as_table(registration, table), rng.random(4000) < 0.5, 0.03, 0)
    assert bool(report.to_frame().query("part == ''")["significant"].any()) is is_found


@given(st.lists(st.integers(0, 25), min_size=4, max_size=10), st.integers(1, 12))
def test_no_small_cell_is_shown_nor_follows_from_what_is_shown(cells, smallest):
    cells = np.array(cells[: len(cells) // 2 * 2]).reshape(2, -1)  # outputs, groups
    output, group = (np.repeat(axis, cells.ravel()) for axis in np.indices(cells.shape).reshape(2, -1))
    codes = {"group": group, "output": output}
    names = {"group": tuple(f"g{k}" for k in range(cells.shape[1])), "output": ("no", "yes")}
    sample = Sample(*(Column(name, codes[name], names[name]) for name in codes))
    found = _shown_counts(sample.counts(), smallest)
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
