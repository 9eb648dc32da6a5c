"""Classifiers of two classes, whatever their labels: what every model here is."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """scikit-learn classifier of two classes; subclasses define `fit`, and `decision_function` or `predict`.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels, in order.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the features were a DataFrame.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X) -> np.ndarray:
        """Return the second class where the decision function is positive, else the first, shape (n_rows,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]


def two_classes(y, n_rows: int, *, one_will_do: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes 0 and 1 of labels, in the order of their values, and the values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of any type.
    n_rows : int
        Rows of the features.
    one_will_do : bool
        Whether all labels may be the same.

    Returns
    -------
    codes : array of int of shape (n_rows,)
    classes : array of shape (2,), or (1,)

    Raises
    ------
    ValueError
        If there are other labels than two, as many as rows, none of them missing.
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows, X has {n_rows}")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1 and not one_will_do:
        raise ValueError(f"y: every label is {classes[0]}, expected both classes")
    if len(classes) > 2:
        found = ", ".join(map(str, classes[:5])) + (", ..." if len(classes) > 5 else "")
        raise ValueError(
            f"Only binary classification is supported. y: expected two classes, found {len(classes)}: {found}"
        )
    return codes, classes
