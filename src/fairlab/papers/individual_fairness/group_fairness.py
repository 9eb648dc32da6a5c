"""What the tables report beside the tests: balanced accuracy and average odds differences (Appendix F.5)."""

import numpy as np
from fairlearn.metrics import MetricFrame, false_positive_rate, true_positive_rate
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
    groups = np.asarray(sensitive_features)
    if not np.array_equal(np.unique(groups), (0, 1)):
        raise ValueError(f"sensitive_features: expected groups 0 and 1, found {np.unique(groups)[:5].tolist()}")
    for group in (0, 1):
        if len(np.unique(np.asarray(y_true)[groups == group])) < 2:
            raise ValueError(f"y_true: group {group} has one class only, so that one of its rates does not exist")
    rates = {"true": true_positive_rate, "false": false_positive_rate}
    by_group = MetricFrame(metrics=rates, y_true=y_true, y_pred=y_pred, sensitive_features=groups).by_group
    return float((by_group.loc[0] - by_group.loc[1]).mean())
