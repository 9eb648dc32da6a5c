"""What the tables report beside the tests: balanced accuracy and average odds differences (Appendix F.5)."""

import numpy as np
from sklearn.metrics import balanced_accuracy_score

__all__ = ["average_odds_difference", "balanced_accuracy_score"]


def average_odds_difference(y_true, y_pred, *, sensitive_features) -> float:
    """Return the mean of the differences in true and in false positive rates, group 0 minus group 1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels 0 and 1; positive is 1, favourable or not.
    sensitive_features : array-like of shape (n_rows,)
        Groups 0 and 1.

    Raises
    ------
    ValueError
        If the groups are not 0 and 1, or one of them lacks a class, so that a rate does not exist.
    """
    groups, truth, predicted = (np.asarray(values) for values in (sensitive_features, y_true, y_pred))
    if not np.array_equal(np.unique(groups), (0, 1)):
        raise ValueError(f"sensitive_features: expected groups 0 and 1, found {np.unique(groups)[:5].tolist()}")
    for group in (0, 1):
        if len(np.unique(truth[groups == group])) < 2:
            raise ValueError(f"y_true: group {group} has one class only, so that one of its rates does not exist")
    rates = [[predicted[(groups == group) & (truth == label)].mean() for group in (0, 1)] for label in (1, 0)]
    return float(np.mean([first - second for first, second in rates]))
