import numpy as np
import pandas as pd
import pytest
from fidelity import compare
from fit_copula import (
    MOST_QUANTILES,
    MOST_VALUES,
    SMALLEST_COUNT,
    find_groups,
    fit_copula,
    fit_marginal,
    mid_ranks,
    rank_spread,
)
from fit_surrogates import count_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from fairlab.data import Dataset, Provenance
from fairlab.data.surrogates.copula import Counts
from fairlab.data.surrogates.label_rates import ImageGroup


@pytest.fixture(scope="module")
def table():
    """Two groups that differ in everything, and one too small to publish."""
    rng = np.random.default_rng(0)
    n = 6000
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    skill = rng.normal(size=n) + (sex == "m")
    years = rng.poisson(8, n)
    grade = pd.cut(skill + rng.normal(size=n), [-9, -0.5, 0.5, 1.5, 9], labels=["d", "c", "b", "a"]).astype(str)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "score": skill.round(2),
            "years": years,
            "grade": grade,
            "points": pd.Series(grade).map({"d": 1, "c": 2, "b": 3, "a": 4}),
            "hired": np.where(skill + years / 4 + rng.normal(size=n) > 3, "yes", "no"),
        }
    )
    frame.loc[:2, "grade"], frame.loc[:2, "points"] = "rare", 9
    frame.loc[3:5, "sex"] = "u"
    return frame.astype({"grade": "category"})


@pytest.fixture(scope="module")
def copula(table):
    return fit_copula(table, sensitive=["sex"], score=(table["hired"] == "yes").astype(float))


@pytest.fixture(scope="module")
def sample(copula):
    return copula.sample(20000, random_state=0)


def test_marginals_by_group(table, sample):
    for column in ("score", "years"):
        real, drawn = (t.groupby("sex")[column].agg(["mean", "std"]).loc[["f", "m"]] for t in (table, sample))
        np.testing.assert_allclose(drawn, real, rtol=0.05, atol=0.04)
    real, drawn = (pd.crosstab(t["sex"], t["hired"], normalize="index").loc[["f", "m"], "yes"] for t in (table, sample))
    np.testing.assert_allclose(drawn, real, atol=0.02)


def test_a_determined_column_follows(copula, sample):
    assert copula.derived["points"].parent == "grade"
    assert (sample["points"] == sample["grade"].map({"d": 1, "c": 2, "b": 3, "a": 4})).all()


def test_rare_values_are_not_published(table, copula, sample):
    assert "u" not in set(sample["sex"])
    assert "rare" not in str(copula)
    for stratum in copula.strata:
        counts = [c for m in stratum.marginals.values() if isinstance(m, Counts) for c in m.counts]
        assert min(counts) >= SMALLEST_COUNT
        assert min(count for *_, count in stratum.groups) >= SMALLEST_COUNT
    assert table["score"].nunique() > MOST_VALUES
    extremes = {table["score"].min(), table["score"].max()}
    assert extremes.isdisjoint(q for s in copula.strata for q in s.marginals["score"].quantiles)


@settings(deadline=None, max_examples=15)
@given(rho=st.floats(-0.9, 0.9), levels=st.integers(2, 6), seed=st.integers(0, 1000))
def test_spearman_of_the_sample_is_the_fitted_one(rho, levels, seed):
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 3000)
    frame = pd.DataFrame({"g": "one", "a": z[:, 0].round(3), "b": np.floor(z[:, 1] * levels / 2).astype(int)})
    drawn = fit_copula(frame, sensitive=["g"], score=frame["a"]).sample(20000, random_state=seed)
    # four standard errors of the difference
    assert spearmanr(drawn["a"], drawn["b"]).statistic == pytest.approx(
        spearmanr(frame["a"], frame["b"]).statistic, abs=0.03
    )


FEW = Counts(values=("d", "c", "a"), counts=(50, 30, 20))


def test_mid_ranks_and_their_spread_are_those_of_the_records():
    records = np.repeat([0, 1, 2], FEW.counts)
    expected = (rankdata(records) - 0.5) / 100 - 0.5
    ranks = mid_ranks(FEW)
    np.testing.assert_allclose(ranks[records], expected)
    assert rank_spread(FEW, ranks) == pytest.approx(expected.std())


def test_tails_of_many_values_have_the_observed_means():
    rng = np.random.default_rng(0)
    column = pd.Series(rng.exponential(size=3000).round(3))
    marginal = fit_marginal(column, column, many=True)
    assert len(marginal.quantiles) == MOST_QUANTILES + 2
    assert marginal.decimals == 3
    ordered = np.sort(column)
    drawn = marginal.ppf((np.arange(300_000) + 0.5) / 300_000)
    assert drawn[:1000].mean() == pytest.approx(ordered[:10].mean(), abs=1e-3)
    assert drawn[-1000:].mean() == pytest.approx(ordered[-10:].mean(), abs=1e-3)
    assert drawn.mean() == pytest.approx(column.mean(), abs=0.01)


def test_small_groups_are_merged():
    counts = {("f", "a"): 300, ("m", "a"): 199, ("f", "b"): 10, ("m", "b"): 9, ("m", "c"): 200}
    people = pd.DataFrame([group for group, n in counts.items() for _ in range(n)], columns=["sex", "race"])
    shuffled = people.sample(frac=1, random_state=0).astype("category")
    assert find_groups(shuffled, ["sex", "race"]) == [
        [(("f", "a"), 300)],
        [(("m", "c"), 200)],
        [(("f", "b"), 10), (("m", "a"), 199)],
    ]


@given(rows=st.lists(st.tuples(*[st.sampled_from("pqr")] * 3), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_all_records_come_back_in_another_order(rows, seed):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    cells = count_cells(table)
    drawn = cells.sample(len(table), random_state=seed)
    assert sorted(drawn.itertuples(index=False, name=None)) == sorted(rows)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), images=st.integers(1, 30), seed=st.integers(0, 99))
def test_each_label_is_given_to_so_many_images_and_all_images_have_as_many(data, images, seed):
    counts = data.draw(st.lists(st.integers(1, images), min_size=1, max_size=8))
    group = ImageGroup(values={}, images=images, counts={f"l{k}": count for k, count in enumerate(counts)})
    has = group.draw(np.random.default_rng(seed))
    assert has.sum(axis=0).tolist() == counts
    assert np.ptp(has.sum(axis=1)) <= 1


def test_labels_come_together_by_chance():
    # Two labels of four images each, two labels in all: 8 places in 8 images, one each, so never together.
    apart = ImageGroup(values={}, images=8, counts={"a": 4, "b": 4})
    assert not apart.draw(np.random.default_rng(0)).all(axis=1).any()
    # One image has both if a third label fills up the others: all are as likely to be it.
    group, rng = ImageGroup(values={}, images=3, counts={"a": 2, "b": 2, "c": 2}), np.random.default_rng(1)
    where = [group.draw(rng)[:, :2].all(axis=1).argmax() for _ in range(600)]
    np.testing.assert_allclose(np.bincount(where, minlength=3) / 600, 1 / 3, atol=0.08)


PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "x": [1.0, 2, 3, 4, 5, 6, 7, 8],
        "job": ["a", "a", "b", "b", "a", "b", "b", "b"],
        "y": ["no", "no", "no", "yes", "no", "yes", "yes", "yes"],
    }
)


def people(table, **changes):
    parts = {
        "features": table[["sex", "x", "job"]].astype({"sex": "category", "job": "category"}),
        "target": table["y"],
        "sensitive_features": table[["sex"]],
        "positive_label": "yes",
        "privileged_group": {"sex": "m"},
        "encoding": {},
        "provenance": Provenance("toy", "real", "0" * 64, len(table)),
    }
    return Dataset(**parts | changes)


def test_differences_by_hand():
    # One woman of job b becomes a man of job a who is hired, and everybody's x grows by 2.
    other = PEOPLE.copy()
    other.loc[2] = ["m", 3, "a", "yes"]
    other["x"] += 2
    fidelity = compare(people(PEOPLE), people(other))
    expected = {"sex": 0.125, "x": 0.25, "job": 0.125, "y": 0.125}
    assert fidelity.marginals["distance"].to_dict() == pytest.approx(expected)
    expected = {"rows_real": 4, "rows_surrogate": 3, "real": 0.25, "surrogate": 1 / 3}
    assert fidelity.groups.loc[("sex", "f")].to_dict() == pytest.approx(expected)
    assert fidelity.to_frame().loc[0, ["difference", "largest", "where"]].tolist() == ["marginal", 0.25, "x"]


def test_associations_are_spearmans_with_categories_in_the_order_of_their_mean_label():
    reversed_x = PEOPLE.assign(x=9 - PEOPLE["x"])
    associations = compare(people(PEOPLE), people(reversed_x)).associations
    # Job a is hired in none of three cases, b in four of five: b counts as the higher one. So does m.
    numbers = PEOPLE.assign(
        **{c: PEOPLE[c].map({"a": 1, "b": 2, "f": 1, "m": 2, "no": 1, "yes": 2}) for c in ("sex", "job", "y")}
    )
    expected = numbers.corr(method="spearman")
    for (first, second), row in associations.iterrows():
        sign = -1 if "x" in (first, second) else 1
        assert row["real"] == pytest.approx(expected.loc[first, second])
        assert row["surrogate"] == pytest.approx(sign * expected.loc[first, second])
        assert row["difference"] == pytest.approx(row["surrogate"] - row["real"])
