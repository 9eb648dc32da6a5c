import numpy as np
import pytest

from fairlab.adf.seeding import cluster_labels, round_robin


def test_clusters_are_gone_through_in_turn_each_in_row_order():
    labels = np.array([2, 0, 0, 1, 2, 0])
    assert round_robin(labels, 6).tolist() == [1, 3, 0, 2, 4, 5]
    assert round_robin(labels, 4).tolist() == [1, 3, 0, 2]
    assert round_robin(labels, 99).tolist() == [1, 3, 0, 2, 4, 5]


def test_clusters_tell_far_points_apart():
    X = np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 5, axis=0) + np.tile([[0, 1]], (20, 1))
    labels = cluster_labels(X)
    assert sorted(labels[::5]) == [0, 1, 2, 3]
    assert (labels == np.repeat(labels[::5], 5)).all()


def test_missing_values_are_named():
    with pytest.raises(ValueError, match="'x1' holds nan"):
        cluster_labels([[1, np.nan]])


def test_more_clusters_than_rows():
    with pytest.raises(ValueError, match="n_clusters: expected at most the 3 rows of X, found 4"):
        cluster_labels(np.eye(3))
