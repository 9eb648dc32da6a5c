"""Seeds of the global phase: members of clusters in turn (Algorithm 1, lines 1 and 4)."""

import numpy as np
from sklearn.cluster import KMeans

from fairlab.checks import check_features

PUBLISHED_SEED = 2019
N_RESTARTS = 10


def cluster_labels(X, *, n_clusters: int = 4, random_state: int = PUBLISHED_SEED) -> np.ndarray:
    """Return the k-means cluster of every row, on the raw columns.

    The defaults give the clusters that the authors stored: exactly for census and credit, for all but a thousandth of
    the rows of bank.

    Raises
    ------
    ValueError
        If there are fewer rows than clusters.
    """
    values, _ = check_features(X)
    if n_clusters > len(values):
        raise ValueError(f"n_clusters: expected at most the {len(values)} rows of X, found {n_clusters}")
    return KMeans(n_clusters, n_init=N_RESTARTS, random_state=random_state).fit_predict(values)


def round_robin(labels: np.ndarray, n: int) -> np.ndarray:
    """Return the first `n` rows when the clusters are gone through in turn, each in the order of its rows.

    A cluster that is used up is left out. There are fewer than `n` if there are fewer rows.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    rank = np.arange(len(labels)) - starts  # place of each row in its own cluster
    return order[np.lexsort((labels[order], rank))][:n]
