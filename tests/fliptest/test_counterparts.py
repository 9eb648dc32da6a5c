import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from fairlab.fliptest import counterpart_test


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
