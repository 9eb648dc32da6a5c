import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import proportion_confint

from fairlab.fliptest import (
    COSTS,
    Flipset,
    compare_flipsets,
    counterpart_test,
    differences_in_words,
    flipset,
    flipset_intervals,
    flipsets_by_cost,
    transparency_report,
)
from fairlab.statistics import difference_bounds, exclusive_correlation
from fairlab.transport import ExactTransport, squared_l1


def hire(X):
    return (np.asarray(X)[:, 0] > 0).astype(int)


X = pd.DataFrame({"a": [1.0, -1.0, 2.0, -2.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))
X_IMAGE = pd.DataFrame({"a": [-1.0, 1.0, 3.0, 4.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))


def test_hand_computed():
    result = flipset(hire, X, X_IMAGE)
    assert result.prediction.tolist() == [1, 0, 1, 0]
    assert result.image_prediction.tolist() == [0, 1, 1, 1]
    assert result.positive.tolist() == [True, False, False, False]
    assert result.negative.tolist() == [False, True, False, True]
    assert (result.n_positive, result.n_negative, result.net) == (1, 2, -1)
    frame, images = result.to_frame(), X_IMAGE
    assert flipset(lambda table: pd.Series(hire(table), table.index)[::-1], X, images[::-1]).to_frame().equals(frame)
    assert frame["flip"].tolist() == ["positive", "negative", "none", "negative"]
    assert frame.index.tolist() == list("pqrs")


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_proposition_2(seed, n):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(2, n, 2))
    _, image = linear_sum_assignment(cdist(source, target, "cityblock") ** 2)
    result = flipset(hire, source, target[image])
    assert result.net == hire(source).sum() - hire(target).sum()
    back = flipset(hire, target[image], source)
    assert (back.positive == result.negative).all()
    assert (back.negative == result.positive).all()


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (X_IMAGE[:3], "X has 4 rows, X_image has 3"),
        (X_IMAGE[["b", "a"]], "order differs"),
        (X_IMAGE.rename(columns={"b": "c"}), "only in X_image: c"),
        (X_IMAGE.assign(b=np.nan), "X_image: column 'b' holds nan in row 0"),
        (X_IMAGE.assign(a=np.inf), "X_image: column 'a' holds inf"),
        (X_IMAGE[:0], "X_image: is empty"),
        (X_IMAGE.reset_index(drop=True), "X_image: has the row label 0, which the table has not"),
    ],
)
def test_bad_images(image, message):
    with pytest.raises(ValueError, match=message):
        flipset(hire, X, image)


def test_units_of_other_columns_flip_nobody():
    """The model reads a score that is alike in both groups; incomes differ, and are written in large numbers."""
    rng = np.random.default_rng(0)
    groups = [
        pd.DataFrame({"score": rng.normal(size=300), "income": rng.lognormal(mean, 0.8, 300)}) for mean in (10, 10.5)
    ]

    def by_score(table):
        return (table["score"] > 0).astype(int)

    def n_flips(**options):
        image = ExactTransport(**options).fit(*groups).transform(groups[0])
        flips = flipset(by_score, groups[0], image)
        return flips.n_positive + flips.n_negative

    assert n_flips() < n_flips(cost=squared_l1) / 4


def flips_of_sizes(n_positive, n_negative, n):
    prediction = np.zeros(n, dtype=int)
    prediction[:n_positive] = 1
    image = np.zeros(n, dtype=int)
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_sizes_have_the_quantiles_of_the_binomial():
    table = flipset_intervals(flips_of_sizes(120, 30, 1000), method="bootstrap", n_resamples=100_000, random_state=1)
    assert table["size"].tolist() == [120, 30, 90]
    for sign, size in (("positive", 120), ("negative", 30)):
        expected = binom.ppf([0.025, 0.975], 1000, size / 1000)
        np.testing.assert_allclose(table.loc[sign, ["low", "high"]].astype(float), expected, atol=1)


def test_net_is_resampled_jointly():
    # F+ and F- of the same people are negatively correlated, so their difference varies more than if independent.
    table = flipset_intervals(flips_of_sizes(500, 500, 1000), method="bootstrap", n_resamples=50_000)
    half = (table.loc["net", "high"] - table.loc["net", "low"]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(1000), rel=0.03)


def test_empty_flipsets():
    assert (flipset_intervals(flips_of_sizes(0, 0, 50), method="bootstrap") == 0).all(axis=None)
    exact = flipset_intervals(flips_of_sizes(0, 0, 50))
    assert (exact["size"] == exact.loc["positive":"negative", "low"].max()).all()
    assert exact.loc["positive", "high"] == pytest.approx(50 * (1 - 0.025 ** (1 / 50)))
    assert exact.loc["net", "low"] == -exact.loc["net", "high"] < 0


def test_exact_intervals_by_hand():
    exact = flipset_intervals(flips_of_sizes(12, 3, 100))
    assert tuple(exact.loc["positive", ["low", "high"]]) == pytest.approx(
        100 * np.array(proportion_confint(12, 100, method="beta"))
    )
    correlation = exclusive_correlation(12, 3, 100)
    bounds = difference_bounds((12, 3), (100, 100), confidence_level=0.95, correlation=correlation)
    assert tuple(exact.loc["net"]) == pytest.approx((9, *100 * np.array(bounds)))


def test_agreement_is_with_the_first_map():
    people = pd.DataFrame({"a": [1.0, 1.0, -1.0, -1.0]}, index=list("pqrs"))
    images = {"swap": -people, "half": people.assign(a=[-1.0, 1.0, 1.0, -1.0]), "identity": people}
    flips = {name: flipset(lambda X: (X["a"] > 0).astype(int), people, image) for name, image in images.items()}
    table = compare_flipsets(flips)
    assert table["Jaccard F+"].tolist() == [1, 0.5, 0]
    assert table["Jaccard F−"].tolist() == [1, 0.5, 0]
    assert table["F+"].tolist() == [2, 1, 0]
    assert compare_flipsets({"identity": flips["identity"]})["Jaccard F+"].isna().all()
    with pytest.raises(ValueError, match="expected one model, found 2 other predictions for 'b'"):
        compare_flipsets({"a": flips["swap"], "b": flipset(lambda X: [1] * 4, people, people)})


def test_costs_by_hand():
    source, target = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    found = {name: float(cost(source, target)[0, 0]) for name, cost in COSTS.items()}
    assert found == {"squared L1": 49, "L1": 7, "squared Euclidean": 25, "Euclidean": 5}


def test_flipsets_by_cost_by_hand():
    # One feature: every convex cost keeps the order, so 0 -> 1 and 2 -> 3; the cut at 1.5 flips nobody, at 0.5 one.
    source, target = pd.DataFrame({"x": [0.0, 2.0]}), pd.DataFrame({"x": [3.0, 1.0]})
    costs = {name: COSTS[name] for name in ("squared L1", "squared Euclidean")}
    table = flipsets_by_cost(lambda X: (X["x"] > 0.5).astype(int), source, target, costs=costs)
    assert table["F+"].tolist() == [0, 0]
    assert table["F−"].tolist() == [1, 1]
    assert table["mean L1"].tolist() == [1, 1]
    assert table["Jaccard F−"].tolist() == [1, 1]
    assert table["Jaccard F+"].isna().all()


def test_a_cost_that_ignores_a_feature_changes_who_flips():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]) for _ in range(2))
    costs = {"paper": COSTS["squared L1"], "only a": lambda X, Y: (X[:, :1] - Y[:, 0]) ** 2}
    table = flipsets_by_cost(lambda X: (X["b"] > 0).astype(int), source, target, costs=costs)
    assert table.loc["only a", "F+"] > 2 * table.loc["paper", "F+"]
    assert table.loc["only a", "Jaccard F+"] < 0.5
    paper, other = table["F+"] - table["F−"]
    assert paper == other  # proposition 2


# transparency

FEW = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [5.0, 1.0, 0.0], "c": [0.0, 0.0, 7.0]})
FEW_IMAGE = pd.DataFrame({"a": [-1.0, -2.0, -3.0], "b": [0.0, 4.0, 9.0], "c": [1.0, 0.0, 7.0]})


def hired(table):
    return (np.asarray(table)[:, 0] > 0).astype(int)


FLIPS = flipset(hired, FEW, FEW_IMAGE)  # F+ is the first two rows, F- is empty


def test_a_report_by_hand():
    report = transparency_report(FLIPS, FEW, FEW_IMAGE)
    # x - G(x) is (2, 5, -1) and (4, -3, 0)
    assert report.positive["mean_difference"].tolist() == [3, 1, -0.5]
    assert report.positive["mean_sign"].tolist() == [1, 0, -0.5]
    assert report.positive["difference_rank"].tolist() == [1, 2, 3]
    assert report.positive["sign_rank"].tolist() == [1, 3, 2]


def test_ranks_go_by_absolute_value_and_ties_share_the_better():
    report = transparency_report(FLIPS, FEW, FEW_IMAGE.assign(b=FEW["b"] + [5.0, 7.0, 0.0], c=FEW["c"] - 3))
    assert report.positive["mean_difference"].tolist() == [3, -6, 3]
    assert report.positive["difference_rank"].tolist() == [2, 1, 2]
    assert report.positive["sign_rank"].tolist() == [1, 1, 1]


def test_an_empty_flipset_gives_missing_rows():
    report = transparency_report(FLIPS, FEW, FEW_IMAGE)
    assert report.n_negative == 0
    assert report.negative.isna().all().all()
    assert report.negative.index.tolist() == ["a", "b", "c"]
    frame = report.to_frame()
    assert frame["size"].tolist() == [2, 2, 2, 0, 0, 0]
    assert frame["flipset"].tolist() == ["positive"] * 3 + ["negative"] * 3


def test_scale_is_the_unit_of_differences_and_leaves_signs():
    plain = transparency_report(FLIPS, FEW, FEW_IMAGE)
    scaled = transparency_report(FLIPS, FEW, FEW_IMAGE, scale=pd.Series({"c": 0.1, "b": 2.0, "a": 10.0, "other": 0.0}))
    assert np.allclose(scaled.positive["mean_difference"], [0.3, 0.5, -5])
    assert scaled.positive["difference_rank"].tolist() == [3, 2, 1]
    assert scaled.positive["mean_sign"].equals(plain.positive["mean_sign"])
    assert transparency_report(FLIPS, FEW, FEW_IMAGE, scale=[10, 2, 0.1]).positive.equals(scaled.positive)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (pd.Series({"a": 1.0, "b": 1.0}), "scale: no value for c"),
        ([1.0, 2.0], "scale has 2 values, X has 3 columns"),
        ([1.0, 0.0, 1.0], "expected positive values, found 0.0 for 'b'"),
        ([1.0, np.nan, 1.0], "scale: column 'x1' holds nan"),
    ],
)
def test_bad_scales(scale, message):
    with pytest.raises(ValueError, match=message):
        transparency_report(FLIPS, FEW, FEW_IMAGE, scale=scale)


def test_mixed_columns():
    people = pd.DataFrame({"a": [3, 4], "job": ["cook", None], "b": [np.nan, 1]}, index=FLIPS.index[:2])
    images = pd.DataFrame({"a": [1, 1], "job": ["clerk", None], "b": [2.0, 3]}, index=FLIPS.index[:2])
    flips = flipset(lambda table: (table["a"] > 2).astype(int), people, images)
    report = transparency_report(flips, people, images).positive
    assert report["mean_difference"].tolist() == [2.5, 0.5, -2.0]
    assert report["mean_sign"].tolist() == [1.0, 0.5, -1.0]


def test_differences_in_words():
    people = pd.DataFrame({"age": [30, 40], "job": ["cook", "clerk"], "one": 1, "member": [True, False]})
    images = pd.DataFrame({"age": [33, 42], "job": ["cook", "cook"], "one": 1, "member": [True, False]}, index=[5, 6])
    words = differences_in_words(people, images)
    assert words == "2 people against their counterparts: age is 2.5 less on average; job differs for 50%"
    assert differences_in_words(people, images, n_columns=1).endswith("counterparts: age is 2.5 less on average")
    wide = people.assign(age=[0, 100])
    assert "counterparts: job differs" in differences_in_words(people, images, scale_of=wide)
    with pytest.raises(ValueError, match="scale_of: no column job"):
        differences_in_words(people, images, scale_of=people[["age"]])
    assert differences_in_words(people, people) == "2 people do not differ from their counterparts"


# counterparts


def groups(n, n_other=None, shift=0.0):
    """Two groups, alike in one column and shifted in another."""
    rng = np.random.default_rng(1)
    return tuple(
        pd.DataFrame(
            {"a": rng.normal(size=size), "b": rng.normal(size=size) + by}, index=[f"{name}{i}" for i in range(size)]
        )
        for name, size, by in (("p", n, 0.0), ("q", n_other or n, shift))
    )


def test_opposite_rules_flip_everybody():
    tables = groups(90)
    result = counterpart_test(tables, (tables[0]["a"] > 0, tables[1]["a"] <= 0))
    assert len(result.triples) == 60
    assert result.estimate > 0.6
    assert result.low > 0.4
    assert result.p_value < 1e-6
    odd = result.odd
    assert (odd["favourable"] != odd["counterpart_favourable"]).all()
    assert (odd["favourable"] != odd["second_favourable"]).all()
    assert odd["cost"].is_monotonic_increasing
    decisions = tables[0]["a"] > 0, tables[1]["a"] <= 0
    again, fewer = counterpart_test(tables, decisions), counterpart_test(tables, decisions, n_people=60)
    pd.testing.assert_frame_equal(again.triples, result.triples)
    assert len(fewer.triples) == 40


@pytest.mark.parametrize("shift", [0, 3])
def test_a_model_that_reads_what_is_alike_does_not_flip_beyond_chance(shift):
    tables = groups(300, shift=shift)
    result = counterpart_test(tables, [table["a"] > 0 for table in tables])
    assert result.estimate < 0.03
    assert result.p_value > 0.05


def test_nobody_is_in_two_triples():
    result = counterpart_test(groups(100, 75), (np.zeros(100, bool), np.ones(75, bool)))
    people = result.triples[["person", "counterpart", "second_counterpart"]].to_numpy().ravel()
    assert len(set(people)) == len(people) == 150
    first = result.triples["group"] == 0
    assert result.triples.loc[first, "person"].str.startswith("p").all()
    assert result.triples.loc[first, "counterpart"].str.startswith("q").all()
    assert result.triples.loc[~first, "second_counterpart"].str.startswith("p").all()


def test_estimate_and_p_value_by_hand():
    # Everyone of the second group is favoured; of the first group nobody.
    all_odd = counterpart_test(groups(60), (np.zeros(60), np.ones(60)))
    assert all_odd.estimate == 1
    assert all_odd.high == 1
    assert all_odd.p_value == pytest.approx(3.0**-40)
    nobody = counterpart_test(groups(60), (np.ones(60), np.ones(60)))
    assert (nobody.estimate, nobody.p_value) == (0, 1)
    assert nobody.low < 0 < nobody.high
    tables = groups(60)
    mixed = counterpart_test(tables, [table["b"] > 0.3 for table in tables])
    split = (mixed.triples["counterpart_favourable"] != mixed.triples["second_favourable"]).sum()
    odd = len(mixed.odd)
    assert mixed.estimate == pytest.approx((odd - split / 2) / 40)
    flipped = (mixed.triples["favourable"] != mixed.triples["counterpart_favourable"]).mean()
    second = (mixed.triples["favourable"] != mixed.triples["second_favourable"]).mean()
    assert mixed.estimate == pytest.approx((flipped + second) / 2 - split / 40)
    assert mixed.p_value == pytest.approx(binomtest(odd, odd + split, 1 / 3, alternative="greater").pvalue)


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (np.ones(59), r"expected shapes \(60,\) and \(60,\), found \(60,\) and \(59,\)"),
        (np.full(60, 0.5), "expected booleans, found 0.5"),
        (pd.Series(np.ones(60)), "has the row label 0, which the table has not"),
    ],
)
def test_one_decision_per_person(decisions, message):
    with pytest.raises(ValueError, match=f"decisions: {message}"):
        counterpart_test(groups(60), (np.ones(60), decisions))
