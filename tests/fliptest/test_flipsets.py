import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import stdtr, stdtrit
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from fairlab.fliptest import (
    Flipset,
    compare_flipsets,
    counterpart_test,
    flipset,
    flipset_intervals,
    transparency_report,
)
from fairlab.fliptest.transparency import differences_in_words
from fairlab.statistics import difference_bounds, exclusive_correlation, smallest_excess
from fairlab.transport import ColumnCosts
from fairlab.transport.cost import cost_matrix


def hire(X):
    return (np.asarray(X)[:, 0] > 0).astype(int)


X = pd.DataFrame({"a": [1.0, -1.0, 2.0, -2.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))
X_IMAGE = pd.DataFrame({"a": [-1.0, 1.0, 3.0, 4.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))


def test_hand_computed():
    result = flipset(hire, X, X_IMAGE)
    found = [result.prediction, result.image_prediction, result.positive, result.negative]
    assert np.array(found).tolist() == [[1, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 1]]
    assert (result.n_positive, result.n_negative, result.net) == (1, 2, -1)
    frame = result.to_frame()
    assert frame["flip"].to_dict() == {"p": "positive", "q": "negative", "r": "none", "s": "negative"}
    shuffled = flipset(lambda table: pd.Series(hire(table), table.index)[::-1], X, X_IMAGE[::-1])
    pd.testing.assert_frame_equal(shuffled.to_frame(), frame)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_proposition_2(seed, n):
    source, target = np.random.default_rng(seed).normal(size=(2, n, 2))
    target = target[linear_sum_assignment(cdist(source, target, "cityblock") ** 2)[1]]
    result, back = flipset(hire, source, target), flipset(hire, target, source)
    assert result.net == hire(source).sum() - hire(target).sum()
    np.testing.assert_array_equal([back.positive, back.negative], [result.negative, result.positive])


def flips_of_sizes(n_positive, n_negative, n):
    place = np.arange(n)
    prediction, image = place < n_positive, (place >= n_positive) & (place < n_positive + n_negative)
    return Flipset(prediction.astype(int), image.astype(int), pd.RangeIndex(n))


def test_sizes_have_the_quantiles_of_the_binomial_and_net_is_resampled_jointly():
    table = flipset_intervals(flips_of_sizes(120, 30, 1000), method="bootstrap", n_resamples=50_000, random_state=1)
    assert table["size"].tolist() == [120, 30, 90]
    expected = [binom.ppf([0.025, 0.975], 1000, size / 1000) for size in (120, 30)]
    np.testing.assert_allclose(table.loc["positive":"negative", ["low", "high"]].astype(float), expected, atol=1)
    # F+ and F- of the same people are negatively correlated, so their difference varies more than if independent.
    halves = flipset_intervals(flips_of_sizes(500, 500, 1000), method="bootstrap", n_resamples=50_000)
    assert halves.eval("high - low")["net"] / 2 == pytest.approx(1.96 * np.sqrt(1000), rel=0.03)


def test_empty_flipsets():
    exact, bootstrap = (flipset_intervals(flips_of_sizes(0, 0, 50), method=name) for name in ("exact", "bootstrap"))
    assert (bootstrap == 0).all(axis=None)
    high = pytest.approx(50 * (1 - 0.025 ** (1 / 50)))
    assert exact.loc["positive":"negative"].to_numpy().tolist() == [[0, 0, high]] * 2
    assert exact.loc["net", "low"] == -exact.loc["net", "high"] < exact.loc["net", "size"] == 0


def test_exact_intervals_by_hand():
    correlation = exclusive_correlation(12, 3, 100)
    net = difference_bounds((12, 3), (100, 100), confidence_level=0.95, correlation=correlation)
    shares = [(0.12, *proportion_confint(12, 100, method="beta")), (0.09, *net)]
    exact = flipset_intervals(flips_of_sizes(12, 3, 100)).loc[["positive", "net"]]
    np.testing.assert_allclose(exact.to_numpy(dtype=float), 100 * np.array(shares))


def test_agreement_is_with_the_first_map():
    people = pd.DataFrame({"a": [1.0, 1.0, -1.0, -1.0]}, index=list("pqrs"))
    images = {"swap": -people, "half": people.assign(a=[-1.0, 1.0, 1.0, -1.0]), "identity": people}
    flips = {name: flipset(hire, people, image) for name, image in images.items()}
    expected = {"Jaccard F+": [1, 0.5, 0], "Jaccard F−": [1, 0.5, 0], "F+": [2, 1, 0]}
    assert compare_flipsets(flips)[list(expected)].to_dict("list") == expected
    assert compare_flipsets({"identity": flips["identity"]})["Jaccard F+"].isna().all()


# transparency

FEW = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [5.0, 1.0, 0.0], "c": [0.0, 0.0, 7.0]})
FEW_IMAGE = pd.DataFrame({"a": [-1.0, -2.0, -3.0], "b": [0.0, 4.0, 9.0], "c": [1.0, 0.0, 7.0]})


FLIPS = flipset(hire, FEW, FEW_IMAGE)  # F+ is the first two rows, F- is empty


SIGNS = {"mean_sign": [1, 0, -0.5], "sign_rank": [1, 3, 2]}
SCALED = {"mean_difference": [0.3, 0.5, -5], "difference_rank": [3, 2, 1], **SIGNS}
FURTHER = FEW_IMAGE.assign(b=FEW["b"] + [5.0, 7.0, 0.0], c=FEW["c"] - 3)


@pytest.mark.parametrize(
    ("image", "options", "expected"),
    [
        # x - G(x) is (2, 5, -1) and (4, -3, 0)
        (FEW_IMAGE, {}, {"mean_difference": [3, 1, -0.5], "difference_rank": [1, 2, 3], **SIGNS}),
        # Ranks go by absolute value, and ties share the better one.
        (FURTHER, {}, {"mean_difference": [3, -6, 3], "difference_rank": [2, 1, 2], "sign_rank": [1, 1, 1]}),
        # The unit of differences leaves signs as they are.
        (FEW_IMAGE, {"scale": pd.Series({"c": 0.1, "b": 2.0, "a": 10.0, "other": 0.0})}, SCALED),
        (FEW_IMAGE, {"scale": [10, 2, 0.1]}, SCALED),
    ],
)
def test_a_report_by_hand(image, options, expected):
    report = transparency_report(FLIPS, FEW, image, **options).positive
    np.testing.assert_allclose(report[list(expected)].astype(float), pd.DataFrame(expected))


def test_a_report_goes_by_the_labels_of_people_in_another_order():
    people, images = (table.set_axis(list("xyz")) for table in (FEW, FEW_IMAGE))
    flips = flipset(hire, people, images)
    expected = transparency_report(FLIPS, FEW, FEW_IMAGE).to_frame()
    for shuffled in (people, people.iloc[[2, 0, 1]]):
        pd.testing.assert_frame_equal(transparency_report(flips, shuffled, images).to_frame(), expected)


def test_an_empty_flipset_gives_missing_rows():
    report = transparency_report(FLIPS, FEW, FEW_IMAGE)
    assert report.negative.index.tolist() == ["a", "b", "c"] and report.negative.isna().all(axis=None)
    assert report.to_frame()[["flipset", "size"]].to_numpy().tolist() == [["positive", 2]] * 3 + [["negative", 0]] * 3


def test_mixed_columns():
    people = pd.DataFrame({"a": [3, 4], "job": ["cook", None], "b": [np.nan, 1]}, index=FLIPS.index[:2])
    images = pd.DataFrame({"a": [1, 1], "job": ["clerk", None], "b": [2.0, 3]}, index=FLIPS.index[:2])
    flips = flipset(lambda table: (table["a"] > 2).astype(int), people, images)
    report = transparency_report(flips, people, images).positive[["mean_difference", "mean_sign"]]
    assert report.to_numpy().tolist() == [[2.5, 1.0], [0.5, 0.5], [-2.0, -1.0]]


def test_differences_in_words():
    people = pd.DataFrame({"age": [30, 40], "job": ["cook", "clerk"], "one": 1, "member": [True, False]})
    images = pd.DataFrame({"age": [33, 42], "job": ["cook", "cook"], "one": 1, "member": [True, False]}, index=[5, 6])
    of_age, of_job = "age is 2.5 less on average", "job differs for 50%"
    calls = (images, people), (images, people.assign(age=[0, 100])), (people, people)
    assert [differences_in_words(people, others, scale_of=scale_of) for others, scale_of in calls] == [
        f"2 people against their counterparts: {of_age}; {of_job}",
        f"2 people against their counterparts: {of_job}; {of_age}",
        "2 people do not differ from their counterparts",
    ]


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
    decisions = tables[0]["a"] > 0, tables[1]["a"] <= 0
    result, again, fewer = (counterpart_test(tables, decisions, n_people=n) for n in (5_000, 5_000, 60))
    assert (result.estimate > 0.6, result.low > 0.3, result.p_value() < 1e-3) == (True, True, True)
    of_both = result.odd[["counterpart_favourable", "second_favourable"]]
    assert of_both.ne(result.odd["favourable"], axis=0).all(axis=None)
    assert result.odd["cost"].is_monotonic_increasing
    pd.testing.assert_frame_equal(again.triples, result.triples)
    assert (len(result.triples), len(fewer.triples)) == (60, 40)


@pytest.mark.parametrize(
    ("rule", "seeds", "most"),
    [
        # Those who are near one threshold have counterparts on the same side of it.
        (lambda number: number > 0.5, [0] * 100, 5),  # 12 if triples are taken as independent
        (lambda number: np.sin(8 * number) > 0, range(60), 4),  # 8 if errors are those of parts alone
    ],
    ids=["one threshold", "many"],
)
def test_people_of_groups_that_are_alike_in_one_number_flip_together(rng, rule, seeds, most):
    found = 0
    for seed in seeds:
        tables = [pd.DataFrame({"a": rng.normal(size=300)}) for _ in range(2)]
        test = counterpart_test(tables, [rule(table["a"]) for table in tables], random_state=seed)
        found += test.p_value() <= 0.05
    assert found <= most


def test_shuffled_groups_are_matched_like_groups(rng):
    # 30 people of each group are shared out to six thirds of ten; the first one is matched with the next two.
    tables = groups(30)
    decisions = [(table["a"] > 0).to_numpy() for table in tables]
    test = counterpart_test(tables, decisions)
    order = [rng.permutation(30) for _ in range(2)]
    people = pd.concat([table.iloc[some] for table, some in zip(tables, order, strict=True)])
    decided = np.concatenate([decision[some] for decision, some in zip(decisions, order, strict=True)])
    first, *later = rng.permutation(60).reshape(2, 3, 10)[0]
    costs = cost_matrix(ColumnCosts(), people.iloc[first], people.iloc[np.concatenate(later)])
    matched = [linear_sum_assignment(half)[1] for half in np.hsplit(costs, 2)]
    second, third = (decided[some[match]] for some, match in zip(later, matched, strict=True))
    odd, apart = (second != decided[first]) & (third != decided[first]), second != third
    expected = odd.mean() - apart.mean() / 2, (second != decided[first]).mean()
    assert test.shuffled[0].tolist() == pytest.approx(expected)
    assert test.shuffled.shape == (24, 2)  # four shuffles into two halves, of which each third is matched
    error = test.shuffled[:, 0].std(ddof=1) / 2**0.5
    assert test.low <= test.estimate - stdtrit(16, 0.975) * error
    assert test.p_value(-1.0) >= 2 * stdtr(16, -(1 + test.estimate) / error)


def test_parts_are_matched_by_themselves():
    tables = groups(90)
    decisions = [(table["a"] > 0).to_numpy() for table in tables]
    test = counterpart_test(tables, decisions)
    error = test.parts[:, 0].std(ddof=1) / len(test.parts) ** 0.5
    assert test.parts.shape == (10, 2) and error > 0
    assert test.low <= test.estimate - stdtrit(9, 0.975) * error and test.interval(0.95) == (test.low, test.high)
    assert test.p_value(-1.0) == pytest.approx(2 * stdtr(9, -(1 + test.estimate) / error))
    odd, apart = len(test.odd), (test.triples["counterpart_favourable"] != test.triples["second_favourable"]).sum()
    by_shares = smallest_excess([odd, apart], len(test.triples), 0.05, 0.01, factor=0.5)
    by_parts = 0.01 + (stdtrit(9, 0.975) + stdtrit(9, 0.8)) * error
    assert test.smallest(0.05, 0.01) == pytest.approx(max(by_shares, by_parts))
    rng, last = np.random.default_rng(0), slice(27, 30)
    thirds = [rng.permutation(90).reshape(3, 30) for _ in range(2)]
    excess, flips = [], []
    for of, other in ((0, 1), (1, 0)):
        people, candidates = thirds[of][0], thirds[other][1:]
        costs = cost_matrix(ColumnCosts(), tables[of].iloc[people], tables[other].iloc[np.concatenate(candidates)])
        chosen = [linear_sum_assignment(half[last, last])[1] for half in np.hsplit(costs, 2)]
        matched = [third[last][places] for third, places in zip(candidates, chosen, strict=True)]
        own, (first, second) = decisions[of][people[last]], (decisions[other][places] for places in matched)
        excess += [*((first != own) & (second != own)) - 0.5 * (first != second)]
        flips += [*(first != own)]
    assert test.parts[-1].tolist() == pytest.approx([np.mean(excess), np.mean(flips)])


def test_nobody_is_in_two_triples():
    triples = counterpart_test(groups(100, 75), (np.zeros(100, bool), np.ones(75, bool))).triples
    people = triples[["person", "counterpart", "second_counterpart"]].to_numpy(dtype=str)
    assert len(np.unique(people)) == people.size == 150
    groups_of = ["".join(name[0] for name in triple) for triple in people]
    assert groups_of == np.where(triples["group"] == 0, "pqq", "qpp").tolist()


def test_estimate_of_everyone_and_nobody_by_hand():
    # Everyone of the second group is favoured; of the first group nobody, or everybody.
    all_odd, nobody = (counterpart_test(groups(60), (np.full(60, first), np.ones(60))) for first in (0, 1))
    error = all_odd.shuffled[:, 0].std(ddof=1) / 2**0.5  # that of the parts is 0
    assert (all_odd.estimate, all_odd.high) == (1, 1)
    assert all_odd.p_value() == pytest.approx(2 * stdtr(16, -1 / error)) and all_odd.p_value() < 1e-6
    assert (nobody.estimate, nobody.p_value(), nobody.low < 0 < nobody.high) == (0, 1, True)


def test_estimate_by_hand():
    tables = groups(60)
    mixed = counterpart_test(tables, [table["b"] > 0.3 for table in tables])
    own, first, second = (mixed.triples[f"{name}favourable"] for name in ("", "counterpart_", "second_"))
    split = (first != second).sum()
    assert mixed.estimate == pytest.approx((len(mixed.odd) - split / 2) / 40)
    assert mixed.estimate == pytest.approx(((own != first).mean() + (own != second).mean()) / 2 - split / 40)


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_the_p_value_is_the_level_at_which_the_interval_reaches_the_margin(margin):
    tables = groups(60)
    opposite = tables[0]["a"] > -0.5, tables[1]["a"] <= 0.5
    level = 1 - counterpart_test(tables, opposite).p_value(margin)
    assert 0.5 < level < 1
    assert counterpart_test(tables, opposite, confidence_level=level).low == pytest.approx(margin, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # images
        (lambda: flipset(hire, X, X_IMAGE[:3]), "X has 4 rows, X_image has 3"),
        (lambda: flipset(hire, X, X_IMAGE[["b", "a"]]), "order differs"),
        (lambda: flipset(hire, X, X_IMAGE.rename(columns={"b": "c"})), "only in X_image: c"),
        (lambda: flipset(hire, X, X_IMAGE.assign(b=np.nan)), "X_image: column 'b' holds nan in row 0"),
        (lambda: flipset(hire, X, X_IMAGE.assign(a=np.inf)), "X_image: column 'a' holds inf"),
        (lambda: flipset(hire, X, X_IMAGE[:0]), "X_image: is empty"),
        (
            lambda: flipset(hire, X, X_IMAGE.reset_index(drop=True)),
            "X_image: has the row label 0, which the table has not",
        ),
        # one model
        (
            lambda: compare_flipsets({"a": flipset(hire, X, X_IMAGE), "b": flipset(lambda X: [1] * 4, X, X_IMAGE)}),
            "expected one model, found 2 other predictions for 'b'",
        ),
        # scales
        (
            lambda: transparency_report(FLIPS, FEW, FEW_IMAGE, scale=pd.Series({"a": 1.0, "b": 1.0})),
            "scale: no value for c",
        ),
        (lambda: transparency_report(FLIPS, FEW, FEW_IMAGE, scale=[1.0, 2.0]), "scale has 2 values, X has 3 columns"),
        (
            lambda: transparency_report(FLIPS, FEW, FEW_IMAGE, scale=[1.0, 0.0, 1.0]),
            "expected positive values, found 0.0 for 'b'",
        ),
        (lambda: transparency_report(FLIPS, FEW, FEW_IMAGE, scale=[1.0, np.nan, 1.0]), "scale: column 'x1' holds nan"),
        # flipsets: other people, and predictions that are no labels
        (lambda: transparency_report(FLIPS, X, X_IMAGE), "flipset has 3 rows, X has 4"),
        (
            lambda: transparency_report(flipset(hire, X[:3], X_IMAGE[:3]), FEW, FEW_IMAGE),
            "flipset: has the row label 'p', which the table has not",
        ),
        *(
            (
                lambda prediction=prediction: Flipset(np.array([1, 0]), np.array(prediction), pd.RangeIndex(2)),
                f"image_prediction: expected {found}",
            )
            for prediction, found in (
                ([0.7, 0.2], "0 and 1, or booleans, found 0.7"),
                (["yes", "no"], "numbers, found <U3"),
                ([1], "one for each of 2 people"),
            )
        ),
        # one decision for each person
        (
            lambda: counterpart_test([each[[]] for each in groups(60)], (np.ones(60), np.ones(60))),
            "tables: expected columns to match people on",
        ),
        (
            lambda: counterpart_test(groups(60), (np.ones(60), np.ones(59))),
            r"decisions: expected shapes \(60,\) and \(60,\), found \(60,\) and \(59,\)",
        ),
        (
            lambda: counterpart_test(groups(60), (np.ones(60), np.full(60, 0.5))),
            "decisions: expected 0 and 1, or booleans, found 0.5",
        ),
        (
            lambda: counterpart_test(groups(60), (np.ones(60), pd.Series(np.ones(60)))),
            "decisions: has the row label 0, which the table has not",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
