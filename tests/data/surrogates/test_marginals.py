import numpy as np
import pandas as pd
import pytest
from fit_copula import (
    MOST_QUANTILES,
    SMALLEST_COUNT,
    find_groups,
    fit_marginal,
    fit_numbers,
    mid_ranks,
    rank_spread,
    record_ranks,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from fairlab.data import DataError
from fairlab.data.surrogates.copula import Counts, Quantiles

FEW = Counts(values=("d", "c", "a"), counts=(50, 30, 20))
MANY = Quantiles(quantiles=(-1.0, 0.0, 1.0, 2.0, 6.0), tail=0.25, decimals=1)


def test_counts_by_hand():
    assert FEW.edges.tolist() == [0.5, 0.8]
    assert FEW.ppf(np.array([0.0, 0.49, 0.5, 0.79, 0.8, 0.99])).tolist() == ["d", "d", "c", "c", "a", "a"]


def test_quantiles_by_hand():
    assert MANY.edges.tolist() == [0.25, 0.5, 0.75]
    assert MANY.ppf(np.array([0.0, 0.125, 0.25, 0.6, 1.0])).tolist() == [-1.0, -0.5, 0.0, 1.4, 6.0]
    whole = Quantiles(quantiles=(0.0, 10.0, 20.0), tail=0.5, decimals=0).ppf(np.array([0.26, 0.74]))
    assert whole.tolist() == [5, 15]
    assert whole.dtype == np.int64


def test_ranks_leave_out_categories_that_were_too_rare():
    ranks = record_ranks(pd.Series(["a", "d", "rare", "d", "c"]), FEW)
    np.testing.assert_array_equal(ranks, [4, 1.5, np.nan, 1.5, 3])
    for marginal in (Counts(values=(1, 2), counts=(5, 5)), MANY):
        assert record_ranks(pd.Series([2, 1, 2]), marginal).tolist() == [2.5, 1, 2.5]


def test_mid_ranks_and_their_spread_are_those_of_the_records():
    records = np.repeat([0, 1, 2], FEW.counts)
    expected = (rankdata(records) - 0.5) / 100 - 0.5
    ranks = mid_ranks(FEW)
    np.testing.assert_allclose(ranks[records], expected)
    assert rank_spread(FEW, ranks) == pytest.approx(expected.std())


def test_categories_are_in_the_order_of_the_score():
    column = pd.Series(["a"] * 10 + ["b"] * 20 + ["rare"] * 9 + ["c"] * 10)
    score = column.map({"a": 1.0, "b": 0.5, "rare": 0.0, "c": 0.5})
    assert fit_marginal(column, score, many=False) == Counts(values=("b", "c", "a"), counts=(20, 10, 10))


def test_numbers_by_hand():
    # 3 and 4 have too few records alone; so has 9, which joins what is below it.
    column = pd.Series([1] * 12 + [3] * 6 + [4] * 4 + [8] * 11 + [9] * 2)
    assert fit_numbers(column) == Counts(values=(1, 3, 8), counts=(12, 10, 13))


@settings(deadline=None, max_examples=40)
@given(values=st.lists(st.integers(-20, 20), min_size=2 * SMALLEST_COUNT, max_size=300))
def test_merged_numbers_keep_all_records(values):
    marginal = fit_numbers(pd.Series(values))
    assert sum(marginal.counts) == len(values)
    assert min(marginal.counts) >= SMALLEST_COUNT
    assert set(marginal.values) <= set(values)
    assert list(marginal.values) == sorted(marginal.values)


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


def test_too_few_records_are_errors():
    short = pd.Series(range(15), name="x")
    with pytest.raises(DataError, match="column 'x': 15 records in a stratum, needs 20"):
        fit_marginal(short, short, many=False)
    rare = pd.Series([*"abcdefghij"] * 2, name="x")
    with pytest.raises(DataError, match="column 'x': no category has 10 records in a stratum"):
        fit_marginal(rare, rare.map(ord), many=False)


def test_small_groups_are_merged():
    counts = {("f", "a"): 300, ("m", "a"): 199, ("f", "b"): 10, ("m", "b"): 9, ("m", "c"): 200}
    people = pd.DataFrame([group for group, n in counts.items() for _ in range(n)], columns=["sex", "race"])
    shuffled = people.sample(frac=1, random_state=0).astype("category")
    assert find_groups(shuffled, ["sex", "race"]) == [
        [(("f", "a"), 300)],
        [(("m", "c"), 200)],
        [(("f", "b"), 10), (("m", "a"), 199)],
    ]


def test_without_small_groups_there_is_no_common_stratum():
    assert find_groups(pd.DataFrame({"sex": ["f"] * 200}), ["sex"]) == [[(("f",), 200)]]
