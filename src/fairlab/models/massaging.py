"""Training labels changed until groups have equal shares of positives: Kamiran and Calders 2009 (Themis' C and D)."""

import numpy as np
import pandas as pd


def massage(y, disadvantaged, scores, *, n_promoted: int | None = None, n_demoted: int | None = None) -> np.ndarray:
    """Return labels of which those nearest to the decision boundary are changed.

    The negative members of the disadvantaged group with the highest scores become positive, the positive others with
    the lowest scores negative.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels 0 and 1.
    disadvantaged : array-like of bool, of shape (n_rows,)
    scores : array-like of shape (n_rows,)
        A ranker's, higher for more likely positives.
    n_promoted, n_demoted : int, optional
        By default as many of each as make the shares of positives as equal as whole numbers can.

    Raises
    ------
    ValueError
        If lengths differ, a group is empty, or more labels are to change than there are.
    """
    y, disadvantaged, scores = np.asarray(y).copy(), np.asarray(disadvantaged, dtype=bool), np.asarray(scores)
    if not y.shape == disadvantaged.shape == scores.shape:
        raise ValueError(f"expected one length, found {len(y)}, {len(disadvantaged)} and {len(scores)}")
    if disadvantaged.all() or not disadvantaged.any():
        raise ValueError("expected two groups, found one")
    if n_promoted is None or n_demoted is None:
        n_promoted = n_demoted = changes_for_equal_shares(y, disadvantaged)
    promoted, demoted = np.flatnonzero((y == 0) & disadvantaged), np.flatnonzero((y == 1) & ~disadvantaged)
    if n_promoted > len(promoted) or n_demoted > len(demoted):
        raise ValueError(f"cannot promote {n_promoted} of {len(promoted)} and demote {n_demoted} of {len(demoted)}")
    y[promoted[np.argsort(-scores[promoted], kind="stable")[:n_promoted]]] = 1
    y[demoted[np.argsort(scores[demoted], kind="stable")[:n_demoted]]] = 0
    return y


def changes_for_equal_shares(y, disadvantaged) -> int:
    """Return how many labels to change in each group for equal shares of positives; 0 if they need no change."""
    y, disadvantaged = np.asarray(y), np.asarray(disadvantaged, dtype=bool)
    n_disadvantaged, n_others = disadvantaged.sum(), (~disadvantaged).sum()
    difference = y[~disadvantaged].mean() - y[disadvantaged].mean()
    return max(0, round(float(difference * n_disadvantaged * n_others / len(y))))


def balancing_weights(y, sensitive_features) -> np.ndarray:
    """Return a weight for each row that makes label and group independent (Calders et al. 2009, reweighing)."""
    y, group = pd.Series(np.asarray(y)), pd.Series(np.asarray(sensitive_features))
    if len(y) != len(group):
        raise ValueError(f"y has {len(y)} rows, sensitive_features {len(group)}")
    share = [values.map(values.value_counts(normalize=True)) for values in (y, group)]
    joint = y.groupby([y, group]).transform("size") / len(y)
    return (share[0] * share[1] / joint).to_numpy()
