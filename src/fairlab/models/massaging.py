"""Training labels changed until groups have equal shares of positives: Kamiran and Calders 2009 (Themis' C and D)."""

import numpy as np
import pandas as pd

from fairlab.checks import check_count


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
        If lengths differ, labels are others, a group is empty, or more labels are to change than there are.

    Examples
    --------
    >>> from fairlab.models import massage
    >>> massage(
    ...     np.array([1, 1, 0, 0]),
    ...     np.array([False, False, True, True]),
    ...     np.array([0.9, 0.6, 0.4, 0.1]),
    ...     n_promoted=1,
    ...     n_demoted=1,
    ... ).tolist()
    [1, 0, 1, 0]
    """
    y, disadvantaged, scores = np.asarray(y).copy(), np.asarray(disadvantaged, dtype=bool), np.asarray(scores)
    if y.ndim != 1 or not y.shape == disadvantaged.shape == scores.shape:
        found = f"{y.shape}, {disadvantaged.shape} and {scores.shape}"
        raise ValueError(f"y, disadvantaged and scores: expected one length, found shapes {found}")
    if not np.isin(y, (0, 1)).all():
        raise ValueError(f"y: expected labels 0 and 1, found {y[~np.isin(y, (0, 1))][0]!r}")
    if disadvantaged.all() or not disadvantaged.any():
        raise ValueError("disadvantaged: expected two groups, found one")
    if scores.dtype.kind not in "fiub" or not np.isfinite(scores).all():
        raise ValueError(f"scores: expected finite numbers, found {scores.dtype} with what is none")
    if (n_promoted is None) != (n_demoted is None):
        raise ValueError(f"n_promoted and n_demoted: expected both or none, found {n_promoted} and {n_demoted}")
    if n_promoted is not None:
        n_promoted = check_count(n_promoted, "n_promoted", least=0)
        n_demoted = check_count(n_demoted, "n_demoted", least=0)
    else:
        n_promoted = n_demoted = changes_for_equal_shares(y, disadvantaged)
    promoted, demoted = np.flatnonzero((y == 0) & disadvantaged), np.flatnonzero((y == 1) & ~disadvantaged)
    if n_promoted > len(promoted) or n_demoted > len(demoted):
        most = f"at most {len(promoted)} and {len(demoted)}"
        raise ValueError(f"n_promoted and n_demoted: expected {most}, found {n_promoted} and {n_demoted}")
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
    """Return a weight for each row that makes label and group independent (Calders et al. 2009, reweighing).

    Examples
    --------
    >>> from fairlab.models import balancing_weights
    >>> balancing_weights(np.array([1, 1, 1, 0]), np.array(["m", "m", "f", "f"])).round(2).tolist()
    [0.75, 0.75, 1.5, 0.5]
    """
    y, group = np.asarray(y), np.asarray(sensitive_features)
    if y.ndim != 1 or y.shape != group.shape or y.size == 0:
        raise ValueError(f"y and sensitive_features: expected one length, found shapes {y.shape} and {group.shape}")
    y, group = pd.Series(y), pd.Series(group)
    for name, values in (("y", y), ("sensitive_features", group)):
        if values.isna().any():
            raise ValueError(f"{name}: {int(values.isna().sum())} values are missing, expected none")
    share = [values.map(values.value_counts(normalize=True)) for values in (y, group)]
    joint = y.groupby([y, group]).transform("size") / len(y)
    return (share[0] * share[1] / joint).to_numpy()
