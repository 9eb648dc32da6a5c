"""Planted effects, contexts of many populations at once, and shoppers drawn anew."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.data.variants.staples_population import draw_counts
from fairlab.fairtest import Column, DataSource, Investigation, Sample
from fairlab.papers.fairtest import lattice, patients, studies
from fairlab.papers.fairtest.contexts import context_values
from fairlab.papers.fairtest.planted import (
    count_users,
    draw_pairs,
    may_hold,
    plant_counts,
    plant_effects,
    users_of_a_run,
)
from fairlab.papers.fairtest.shoppers import drawn_shoppers, parted
from fairlab.papers.fairtest.studies import STUDIES
from fairlab.statistics import bonferroni_level
from fairlab.suite.seeds import Trial


def population(counts):
    """Return users with so many in each (state, race), of whom every third is below 50,000 dollars."""
    people = [pair for pair, count in counts.items() for _ in range(count)]
    features = pd.DataFrame(people, columns=["state", "race"]).assign(income=">=50K")
    features.loc[::3, "income"] = "<50K"
    target = pd.Series("low", features.index, name="price")
    return replace(load("staples"), features=features, target=target, sensitive_features=features[["income", "race"]])


TOY = {("X", "a"): 90, ("X", "b"): 400, ("X", "c"): 900, ("Y", "a"): 90, ("Y", "b"): 299, ("Y", "c"): 5000}
ONE = pd.DataFrame({"state": ["X"], "race": ["b"]})


@pytest.mark.parametrize(("size", "pair"), [(100, ["X", "a", 90]), (500, ["X", "b", 400]), (1000, ["X", "c", 900])])
def test_pairs_by_hand(size, pair):
    # State Y is left out: its second largest race has 299 users. 20% less is still of the class.
    assert draw_pairs(population(TOY), size=size, n_pairs=1).to_numpy().tolist() == [pair]


@pytest.mark.parametrize(
    ("call", "counts", "options", "message"),
    [
        (draw_pairs, TOY, {"size": 2000, "n_pairs": 1}, "2,000 users, expected at least 1; take more users"),
        (draw_pairs, TOY, {"size": 300}, "size: expected one of 100, 500, 1000, 2000, 5000, 10000, found 300"),
        # Of two pairs of the same size one survives.
        (draw_pairs, TOY | {("Y", "b"): 300}, {"size": 100, "n_pairs": 2}, "have 1 pairs of a state and a race"),
        (plant_effects, TOY, {"pairs": pd.concat([ONE, ONE]), "delta": 5}, "pairs: X, b is listed twice"),
        (plant_effects, TOY, {"pairs": ONE.assign(state="Z"), "delta": 5}, "pairs: Z, b has no users"),
        *(
            (plant_effects, TOY, {"pairs": ONE, "delta": delta}, f"delta: .* points from 0 to 50, found {delta}")
            for delta in (-1, 51)
        ),
    ],
)
def test_pairs_that_are_not_there_and_effects_that_are_none(call, counts, options, message):
    with pytest.raises(ValueError, match=message):
        call(population(counts), **options)


def test_counts_are_those_of_listed_users_and_as_scattered():
    dataset = load("staples", n_users=3_000)
    pairs = dataset.features.groupby(["state", "race"], observed=True).size().nlargest(2).index.to_frame(index=False)
    users, rng = count_users(dataset), np.random.default_rng(0)
    drawn = np.stack([plant_counts(users, pairs, delta=20, rng=rng) for _ in range(300)])
    assert (drawn.sum(axis=-1) == users.to_numpy().reshape(drawn.shape[1:-1])).all()

    def low(seed):
        planted = dataset.features.assign(low=plant_effects(dataset, pairs, delta=20, seed=seed).target == "low")
        return planted.groupby(users.index.names, observed=False)["low"].sum()

    large = users.to_numpy() > 30  # the variance of 30 is itself uncertain by a fifth
    ours, listed = drawn[..., 1].reshape(300, -1)[:, large], np.stack([low(seed) for seed in range(150)])[:, large]
    np.testing.assert_allclose(ours.mean(axis=0), listed.mean(axis=0), rtol=0.2)
    assert ours.var(axis=0).mean() == pytest.approx(listed.var(axis=0).mean(), rel=0.2)


def counted(columns, names):
    """Return counts of people by some columns."""
    shape = [len(columns[name].categories) for name in names]
    cells = np.ravel_multi_index([columns[name].values for name in names], shape)
    return np.bincount(cells, minlength=np.prod(shape)).reshape(shape)


NAMES = {
    "income": ["state", "gender", "race", "income", "price"],
    "race": ["state", "gender", "income", "race", "price"],
}


def test_contexts_tests_and_report_are_those_of_the_library():
    # Black users of one state pay more if they are poor, and men of another whatever they earn.
    rng, n = np.random.default_rng(1), 30_000
    shops = pd.DataFrame(
        {
            "state": rng.choice(list("ABCDEFG"), n, p=[0.4, 0.2, 0.2, 0.1, 0.06, 0.03, 0.01]),
            "gender": rng.choice(["F", "M"], n),
            "race": rng.choice(["asian", "black", "white"], n, p=[0.1, 0.3, 0.6]),
            "income": rng.choice(["high", "low"], n),
        }
    )
    high = 0.1 + 0.1 * ((shops["state"] == "B") & (shops["race"] == "black") & (shops["income"] == "low"))
    high += 0.1 * ((shops["state"] == "D") & (shops["gender"] == "M") & (shops["race"] != "asian"))
    source = DataSource(shops.assign(price=np.where(rng.random(n) < high, "high", "low")), variant="published")
    investigation = Investigation(["income", "race"], "price", min_leaf_size=50).fit(source)
    columns = source.training_set(source.names)
    with source.lend_test_set() as lent:
        test = {name: counted(lent, names) for name, names in NAMES.items()}
    source.remaining_ = 1
    report = investigation.test()

    contexts = {
        name: lattice.find_contexts(counted(columns, names)[None], min_leaf_size=50)[0] for name, names in NAMES.items()
    }
    corrected = lattice.test_contexts([(test[name], contexts[name]) for name in NAMES], np.random.default_rng(0))
    options = {"confidence_level": bonferroni_level(0.95, sum(map(len, contexts.values())))}
    for (protected, names), p_values in zip(NAMES.items(), corrected, strict=True):

        def conditions(cell, names=names):
            return {f"{n}: {columns[n].categories[code]}" for n, code in zip(names, cell, strict=False) if code >= 0}

        tests = report.frame[report.frame["sensitive_features"] == protected]
        expected = [set(map(str, node.conditions)) for node in tests["node"]]
        assert [conditions(cell) for cell in contexts[protected]] == expected
        expected = tests["p_value"].tolist()
        assert list(p_values.values()) == pytest.approx(expected, rel=0.5, abs=0.05)  # those of few people are drawn
        same = dict(zip(p_values, expected, strict=True))
        options["rng"] = np.random.default_rng(0)
        reported = lattice.report_contexts(test[protected], contexts[protected], same, **options)
        shown = tests.dropna(subset="rank").sort_values("rank")
        expected = [set(map(str, node.conditions)) for node in shown["node"]]
        assert [conditions(cell) for cell in reported] == expected
        bounds = shown[["low", "high"]].to_numpy()
        np.testing.assert_allclose(list(reported.values()), bounds, rtol=0.2, atol=0.002)  # one of the lowest draws
    assert len(shown) > 1


def test_a_part_is_a_random_draw_without_replacement():
    counts, rng = np.array([[10, 0], [30, 61]]), np.random.default_rng(0)
    parts = np.stack([lattice.draw_part(counts, 33, rng) for _ in range(2_000)])
    assert (parts.sum(axis=(1, 2)) == 33).all()
    np.testing.assert_allclose(parts.mean(axis=0), counts * 33 / 101, atol=0.2)
    assert parts[:, 1, 0].var() == pytest.approx(33 * (30 / 101) * (71 / 101) * (68 / 100), rel=0.1)


def test_what_cannot_hold_a_user_of_a_pair_is_false():
    cells = {(-1, -1, -1): True, (1, -1, -1): True, (1, 0, 2): True, (2, 0, -1): False, (1, 1, 0): False}
    assert {cell: may_hold(cell, {(1, 2)}) for cell in cells} == cells


def test_ten_trials_are_a_run_with_users_of_its_own():
    first, last, next_run = (users_of_a_run(Trial("test", index), 5_000) for index in (0, 9, 10))
    assert (first.equals(last), first.equals(next_run)) == (True, False)


@pytest.mark.parametrize(("budget", "size"), [(1, 5_000), (3, 2_500)])
def test_parts_are_disjoint_shares_of_the_shoppers(budget, size):
    whole = draw_counts(10_000, seed=1)
    halves = parted(whole, budget, np.random.default_rng(0))
    train, test = halves["income"]
    assert train.sum() == test.sum() == size
    assert (train + test <= whole.to_numpy().reshape(train.shape)).all()  # the axes are in the order of the counts
    np.testing.assert_array_equal(halves["race"], [part.swapaxes(2, 3) for part in (train, test)])


def test_a_draw_says_what_table_2_and_the_figures_print():
    draw, third, again = (drawn_shoppers(Trial("test", 0, 0), budget=budget, n_users=60_000) for budget in (1, 3, 3))
    assert [each["values"]["figure-2"]["global.size"] for each in (draw, third)] == [30_000, 15_000]
    assert sum(draw["values"]["figure-11"][f"global.{price}.total"] for price in ("high", "low")) == 30_000
    assert again["counts"] == third["counts"]


# The studies of table 2, what the text says of them, and other splits of their data.


def test_a_row_of_table_2():
    applicants = load("berkeley")
    source, [investigation] = STUDIES["berkeley"](applicants)
    assert studies.table_2_row(applicants, [investigation], investigation.fit(source).test()) == {
        "users": 4425,
        "attributes": 2,
        "discovered": 1,
        "validated": 0,
        "reported": 1,
        "smallest_reported": 2213,
    }


def test_days_are_also_on_the_log_scale_and_have_mean_errors_by_age_and_care():
    features = pd.DataFrame(
        {"Age": [5, 75], patients.CARE: [0, 2], "predicted_days": [0.0, np.e - 1], "confidence": ["high", "low"]}
    )
    table = patients.patients_of(SimpleNamespace(features=features, target=pd.Series([1, 0])))
    columns = [patients.PREDICTION, patients.TRUTH, "urgent care"]
    assert table[columns].to_numpy().tolist() == [[0, np.log(2), "no"], [1, 0, "yes"]] and "predicted_days" not in table
    columns = {"Age": [20, 60, 70, 80], patients.CARE: [0, 2, 0, 1], "days": [1, 4, 3, 0], "true days": [2, 2, 6, 8]}
    errors = patients.mean_errors({name: Column(name, np.array(values, float)) for name, values in columns.items()})
    assert errors.T.to_dict("list") == {
        "everyone": [3.5, 5.5, 1.5],
        "urgent care": [5, 8, 2],
        "no urgent care": [2, 3, 1],
    }


def test_genres_that_everybody_or_nobody_gets_are_left_out_and_age_is_cut_at_35():
    features = pd.DataFrame({"Action": [1, 1, 0, 0], "Comedy": [1, 1, 1, 1], "Western": [0, 0, 0, 1]})
    assert studies.genres_of(SimpleNamespace(features=features), features) == ["Action", "Western"]
    assert studies.generation_of(pd.Series([20, 30, 40, 60])).tolist() == ["younger than 35"] * 2 + ["35 and older"] * 2


def test_a_table_has_shares_of_columns_in_its_body_and_of_everybody_in_its_totals():
    group, answer = np.divmod(np.repeat(np.arange(4), [30, 10, 20, 40]), 2)
    people = Sample(Column("gender", group, ("women", "men")), Column("admitted", answer, ("no", "yes")))
    ids = {"outputs": {"refused": "no", "admitted": "yes"}, "groups": {"w": "women", "m": "men"}}
    test = {"p_value": 0.03, "low": 0.1, "high": 0.2, "counts": people.counts()}
    values = context_values(test, "sub1", "nmi", **ids)
    expected = {
        "size": 100, "p": 0.03, "nmi": (0.1, 0.2), "refused.w": 30, "refused.w.pct": 75, "admitted.total": 50,
        "admitted.total.pct": 50, "total.m": 60, "total.m.pct": 60, "total.total": 100,
    }  # fmt: skip
    assert {id: values[f"sub1.{id}"] for id in expected} == expected
    assert "sub1.total.total.pct" not in values
