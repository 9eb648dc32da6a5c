import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Feature, SchemaError


def feature(values, **options):
    options = {"bins": 10, "wide": 100} | options
    return Feature.from_column("x", pd.Series(values), **options)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([True, False], (False, True)),
        ([2.5, 0.5], (0.5, 2.5)),
        ([3, 1], range(1, 4)),
        (pd.array([3, 1], dtype="Int64"), range(1, 4)),
        (pd.Categorical(["mid", "low"], categories=["low", "mid", "high"]), ("low", "mid")),
        ([0, 5000, 9999], (0, 5000, 9999)),
        (np.array(["b", 1, "a"], dtype=object), (1, "a", "b")),
    ],
)
def test_values_of_a_column(values, expected):
    assert feature(values).values == expected


def test_a_missing_value_is_the_last_one_and_no_text():
    column = pd.Series(["(missing)", None, "a"])
    known = feature(column)
    assert known.values[:2] == ("(missing)", "a")
    assert known.has_missing
    assert known.encode(column).tolist() == [0, 2, 1]
    assert pd.Series(known.decode(np.array([0, 2, 1]))).isna().tolist() == [False, True, False]
    assert feature([1.0, np.nan]).encode(pd.Series([np.nan, 1.0, 2.0])).tolist() == [1, 0, -1]
    assert feature(["a"]).encode(pd.Series([None, "a"], dtype=object)).tolist() == [-1, 0]
    nothing = feature([None, None])
    assert nothing.encode(pd.Series([None, 1.0], dtype=object)).tolist() == [0, -1]
    assert feature(pd.array([1, None, 3], dtype="Int64")).values[:2] == (1, 3)


def test_a_missing_value_may_stand_anywhere_in_a_list():
    known = Feature("x", [None, "a", "b"])
    assert known.encode(pd.Series(["b", None, "c", "a"])).tolist() == [2, 0, -1, 1]
    binned = Feature("x", [np.nan, 5, 40], [18])
    assert binned.encode(pd.Series([np.nan, 18, 19])).tolist() == [0, 1, 2]
    assert binned.encode(pd.Series(["18", None], dtype=object)).tolist() == [-1, 0]


def test_one_and_the_text_one_are_two_values():
    mixed = feature(np.array([1, "1", "a"], dtype=object))
    assert mixed.encode(pd.Series(["1", 1, "a"], dtype=object)).tolist() != [0, 0, 2]
    codes = mixed.encode(pd.Series([1, "1", "a"], dtype=object))
    assert mixed.decode(codes).tolist() == [1, "1", "a"]


def test_wide_numbers_are_binned_by_quantiles():
    column = pd.Series(np.arange(1000) * 7)
    binned = feature(column)
    assert len(binned.values) == 10
    assert binned.edges == tuple(99 * 7 + 700 * k for k in range(9))
    codes = binned.encode(column)
    assert np.bincount(codes).tolist() == [100] * 10
    assert set(binned.values) <= set(column), "values that stand for bins occur"
    assert (binned.encode(pd.Series(binned.values)) == np.arange(10)).all()
    assert binned.encode(pd.Series([-5, 10**6])).tolist() == [0, 9]
    assert not binned.is_interval
    assert feature(column, bins=None).values == range(0, 6994)[::1]


def test_a_mass_at_one_number_is_a_bin_of_its_own():
    gains = pd.Series([0] * 920 + list(range(1000, 1080)) + [99_999] + [None] * 5)
    binned = feature(gains, wide=50)
    assert binned.values[0] == 0
    assert binned.edges[0] == 0
    assert binned.has_missing
    assert binned.encode(gains)[[0, 920, -1]].tolist() == [0, 1, len(binned.values) - 1]


def test_edges_of_ones_own():
    column = pd.Series([1.0, 2.0, 3.0, 40.0])
    binned = feature(column, edges=[2, 10])
    assert binned.values == (1, 3, 40)
    assert binned.encode(column).tolist() == [0, 0, 1, 2]
    assert Feature.from_description("x", binned.describe()) == binned
    for edges, message in (
        ([10, 2], "expected increasing numbers as edges"),
        (["2"], "expected increasing numbers as edges"),
        ([100], "has no value above 100 and up to inf"),
    ):
        with pytest.raises(SchemaError, match=message):
            feature(column, edges=edges)
    with pytest.raises(SchemaError, match=r"edges: column 'x' has type (str|object), expected numbers"):
        feature(["a", "b"], edges=[1])
    with pytest.raises(SchemaError, match="expected one value in each of the 2 bins"):
        Feature("x", [1, 2], [5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1], [2]], "column 'x': expected texts, truth values and numbers, found a list"),
        ([1j, 2j], "type complex128, expected real numbers"),
        ([1.0, np.inf], "column 'x' holds infinite values"),
        (pd.to_datetime(["2020", "2021"]), "expected texts, truth values and numbers, found a Timestamp"),
        ([], "expected at least one value, found none"),
    ],
)
def test_columns_that_are_no_domain(values, message):
    with pytest.raises(SchemaError, match=message):
        feature(values)


def test_values_of_other_kinds_are_refused():
    with pytest.raises(SchemaError, match="expected texts, truth values and numbers, found a list"):
        Feature("x", [[1], [2]])
    with pytest.raises(SchemaError, match="a value is listed twice"):
        Feature("x", [None, np.nan])
