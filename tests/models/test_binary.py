import numpy as np
import pandas as pd
import pytest

from fairlab.models.binary import BinaryClassifier, two_classes


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


class Above(BinaryClassifier):
    """Positive where the first feature is above its mean."""

    def fit(self, X, y):
        _, self.classes_ = two_classes(y, len(X))
        self.mean_ = X[:, 0].mean()
        return self

    def decision_function(self, X):
        return X[:, 0] - self.mean_


def test_the_sign_of_the_decision_function_chooses_the_class():
    X = np.array([[1.0], [2], [3]])
    model = Above().fit(X, ["out", "in", "in"])
    assert model.predict(X).tolist() == ["in", "in", "out"]
    assert model.score(X, ["in", "in", "out"]) == 1
    assert not model.__sklearn_tags__().classifier_tags.multi_class
