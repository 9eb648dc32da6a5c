import numpy as np
import pandas as pd
import pytest

from fairlab.models.labels import two_classes


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 0], [0, 1]),
        ([-1.0, 1.0, -1.0], [-1, 1]),
        (np.array([False, True, False]), [False, True]),
        (pd.Series(["no", "yes", "no"]), ["no", "yes"]),
        (pd.Categorical([3, 7, 3]), [3, 7]),
    ],
)
def test_labels_of_any_type_become_0_and_1(y, classes):
    codes, found = two_classes(y, 3)
    assert codes.tolist() == [0, 1, 0]
    assert found.tolist() == classes


def test_one_class_where_it_will_do():
    codes, classes = two_classes(["yes", "yes"], 2, one_will_do=True)
    assert (codes.tolist(), classes.tolist()) == ([0, 0], ["yes"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([1, 1, 1], "y: every label is 1, expected both classes"),
        ([0, 1], "y has 2 rows, X has 3"),
        (list("abc"), "y: expected two classes, found 3: a, b, c"),
        ([0, 1, np.nan], "Input y contains NaN"),
        ([0.1, 0.2, 0.3], "Unknown label type: continuous"),
        (np.eye(3), "should be a 1d array"),
    ],
)
def test_other_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        two_classes(y, 3)
