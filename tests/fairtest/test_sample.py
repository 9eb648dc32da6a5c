import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.sample import MISSING, encode


def test_text_becomes_codes_in_sorted_order_whatever_the_order_of_the_rows():
    column = encode(pd.Series(["pear", "Fig", "apple", "pear"], name="fruit"))
    assert column.categories == ("Fig", "apple", "pear")
    assert column.values.tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize("dtype", ["object", "string", "str", "category"])
def test_every_kind_of_text_has_the_same_codes(dtype):
    column = encode(pd.Series(["b", None, "a"], name="x").astype(dtype))
    assert column.categories == (MISSING, "a", "b")
    assert column.values.tolist() == [2, 0, 1]


def test_the_order_of_a_categorical_type_does_not_matter():
    ordered = pd.Series(pd.Categorical(["low", "high"], categories=["low", "high", "never"], ordered=True), name="x")
    assert encode(ordered).categories == ("high", "low")


def test_numbers_are_continuous_and_booleans_have_two_categories_even_if_one_occurs():
    assert not encode(pd.Series([1, 2], name="x")).is_categorical
    column = encode(pd.Series([True, True], name="x"))
    assert column.is_binary
    assert column.values.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], "column 'x': 1 values are missing or infinite"),
        ([1.0, np.inf], "column 'x': 1 values are missing or infinite"),
        (["10", "9", "100"], "column 'x' holds numbers as text, such as '10'"),
        (pd.to_datetime(["2020-01-01"]), "column 'x' has type datetime64"),
    ],
)
def test_what_cannot_be_coded_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        encode(pd.Series(values, name="x"))


def test_numbers_as_text_may_be_declared_categories():
    assert encode(pd.Series(["10", "9"], name="x").astype("category")).categories == ("10", "9")


def test_strata_part_the_people_and_name_those_that_are_empty():
    column = Column("s", np.array([0, 1, 1]), ("f", "m"))
    explanatory = Column("e", np.array([2, 0, 2]), ("a", "b", "c"))
    strata = Sample(column, Column("o", np.array([5.0, 6.0, 7.0])), explanatory).strata()
    assert {name: part.output.values.tolist() for name, part in strata.items()} == {"a": [6], "b": [], "c": [5, 7]}
