"""Accuracy and group fairness of a trained model, as in tables 1, 3 and 4."""

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score


def average_odds_difference(y_true, y_pred, *, sensitive_features) -> float:
    """Return the mean of the differences in true and in false positive rates, group 0 minus group 1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_people,)
        Labels 0 and 1.
    sensitive_features : array-like of shape (n_people,)
        Groups 0 and 1.
    """
    groups, truth, predicted = (np.asarray(values) for values in (sensitive_features, y_true, y_pred))
    rates = [[predicted[(groups == group) & (truth == label)].mean() for group in (0, 1)] for label in (1, 0)]
    return float(np.mean([first - second for first, second in rates]))


def group_fairness(model, X: pd.DataFrame, y, groups: pd.DataFrame) -> dict[str, float]:
    """Return balanced accuracy and average odds differences of some people, as the tables name them.

    Parameters
    ----------
    model : classifier
    X : DataFrame of shape (n_people, n_features)
    y : array-like of shape (n_people,)
        Labels 0 and 1.
    groups : DataFrame of shape (n_people, 2)
        Columns sex and race, zeros and ones.

    Returns
    -------
    dict of str to float
        ``bal_acc``, ``aod_gender``, ``aod_race``.
    """
    predicted = model.predict(X.to_numpy())
    odds = {
        name: average_odds_difference(y, predicted, sensitive_features=groups[column])
        for name, column in (("aod_gender", "sex"), ("aod_race", "race"))
    }
    return {"bal_acc": balanced_accuracy_score(y, predicted)} | odds
