import numpy as np
import pandas as pd
import pytest

from fairlab.adf import Schema


def test_values_of_one_and_of_two_protected_attributes(schema):
    assert schema.values("group").tolist() == [[1], [2], [3]]
    assert schema.values(["sex", "group"]).tolist() == [[0, 1], [0, 2], [0, 3], [1, 1], [1, 2], [1, 3]]


def test_clip_keeps_the_domain_and_truncates_towards_zero(schema):
    assert schema.clip(np.array([[10, 0, -7.9, 0.9, -0.5]])).tolist() == [[9, 1, -5, 0, 0]]


def test_outside_counts_rows_by_attribute(schema):
    X = np.array([[0, 1, 0, 0, 0], [10, 3, 0, 0, 9], [11, 3, 5, 1, 4]])
    assert schema.outside(X).to_dict() == {"a": 2, "group": 0, "b": 0, "sex": 0, "c": 1}


def test_samples_fill_the_domain_up_to_both_bounds(schema):
    X = schema.sample(2000, random_state=0)
    assert X.min(axis=0).tolist() == schema.low.tolist()
    assert X.max(axis=0).tolist() == schema.high.tolist()
    assert (schema.sample(9, random_state=1) == schema.sample(9, random_state=1)).all()


@pytest.mark.parametrize(
    ("protected", "message"),
    [
        ("age", "'age' is not in the schema; it has a, group, b, sex, c"),
        ([], "expected attributes of the schema, each once"),
        (["a", "a"], "each once"),
        (["a", "group", "b", "sex", "c"], "no attribute is left"),
    ],
)
def test_bad_protected_attributes(schema, protected, message):
    with pytest.raises(ValueError, match=message):
        schema.positions(protected)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "has no attributes"),
        ({"a": (3, 1)}, "'a' has bounds 3 and 1; the lower one is larger"),
        ({"a": (0, 1.5)}, "expected integers"),
    ],
)
def test_bad_bounds(bounds, message):
    with pytest.raises(ValueError, match=message):
        Schema(bounds)


def test_bad_tables(schema):
    with pytest.raises(ValueError, match="the schema has a, group, b, sex, c"):
        schema.check(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="column 'b' holds fractions"):
        schema.check(np.array([[1, 1, 0.5, 0, 0]]))
    table = pd.DataFrame(np.ones((1, 5)), columns=["a", "b", "group", "sex", "c"])
    with pytest.raises(ValueError, match="has the columns a, b, group"):
        schema.check(table)
    assert schema.check(table[schema.names]).tolist() == [[1, 1, 1, 1, 1]]
