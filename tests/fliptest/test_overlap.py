import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import flipset, flipset_overlap

X = pd.DataFrame({"a": [1.0, -1.0, 2.0, -2.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))
X_IMAGE = pd.DataFrame({"a": [-1.0, 1.0, 3.0, 4.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))


def hire(X):
    return (np.asarray(X)[:, 0] > 0).astype(int)


def test_overlap_by_hand():
    first = flipset(hire, X, X_IMAGE)  # F+ p, F- q and s
    second = flipset(hire, X, X_IMAGE.assign(a=[2.0, 1.0, -1.0, -1.0]))  # F+ r, F- q
    overlap = flipset_overlap(first, second)
    assert vars(overlap.positive) == {"both": 0, "only_first": 1, "only_second": 1}
    assert vars(overlap.negative) == {"both": 1, "only_first": 1, "only_second": 0}
    assert overlap.to_frame().loc["negative", "jaccard"] == 0.5
    assert flipset_overlap(first, first).positive.jaccard == 1


def test_overlap_of_empty_flipsets_is_not_a_number():
    nobody = flipset(hire, X, X)
    assert np.isnan(flipset_overlap(nobody, nobody).positive.jaccard)


def test_overlap_refuses_other_people_and_other_classifiers():
    result = flipset(hire, X, X_IMAGE)
    with pytest.raises(ValueError, match="different rows"):
        flipset_overlap(result, flipset(hire, X[:2], X_IMAGE[:2]))
    with pytest.raises(ValueError, match="different classifiers: 4 predictions differ"):
        flipset_overlap(result, flipset(lambda table: 1 - hire(table), X, X_IMAGE))


def test_refuses_what_is_no_flipset():
    with pytest.raises(ValueError, match="second: expected a Flipset, found int"):
        flipset_overlap(flipset(hire, X, X_IMAGE), 2)
