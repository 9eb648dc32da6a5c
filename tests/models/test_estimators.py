"""scikit-learn's own checks of every classifier that can be fitted."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairlab.models import (
    BalancedMLP,
    BoundedCovarianceLogistic,
    EqualizedOddsMixture,
    EqualRatesLogistic,
    LeastSquaresClassifier,
    MultiwayTree,
    NearbySVC,
    ProjectedMLP,
    SenSR,
)


@pytest.fixture(autouse=True, scope="module")
def eagerly():
    """Nothing is compiled: every check has sizes of its own, and trains for a few steps."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


class ByTurns:
    """The checks know features and labels only: rows belong to two groups by turns."""

    def fit(self, X, y):
        return super().fit(X, y, sensitive_features=np.arange(np.asarray(y).size) % 2)


class ProjectedByTurns(ByTurns, ProjectedMLP):
    def fit(self, X, y):
        return ProjectedMLP.fit(self, X, y, sensitive_features=np.arange(np.asarray(y).size)[:, None] % 2)


class SenSRByTurns(ByTurns, SenSR):
    def fit(self, X, y):
        return SenSR.fit(self, X, y, sensitive_features=np.arange(np.asarray(y).size)[:, None] % 2)


class MixtureByTurns(ByTurns, EqualizedOddsMixture):
    pass


class BoundedByTurns(ByTurns, BoundedCovarianceLogistic):
    pass


class RatesByLabel(EqualRatesLogistic):
    """The checks' classes can be separated, where no minimum exists unless group and label are one."""

    def fit(self, X, y):
        labels = np.asarray(y).ravel()
        return super().fit(X, y, sensitive_features=labels == labels[:1])


TABLES = {"check_dtype_object": "what is no number is a ValueError that names the table, not a TypeError"}
EXPECTED = TABLES | {"check_fit2d_1sample": "the error speaks of rows, not of samples"}
UNFAIR = {"check_classifiers_train": "group and label are one, so that fair decisions are no better than chance"}
SUBSPACE = {"check_fit2d_1feature": "a sensitive subspace of full rank leaves no difference to see"}
TINY = {"n_hidden": 8, "n_steps": 6, "batch_size": 16, "learning_rate": 0.2}
CLASSIFIERS = [
    (LeastSquaresClassifier(), EXPECTED),
    (MultiwayTree(), TABLES),
    (NearbySVC(), EXPECTED),
    (RatesByLabel(), EXPECTED | UNFAIR),
    (BoundedByTurns(0.1), EXPECTED),
    (BalancedMLP(**TINY), EXPECTED),
    (ProjectedByTurns(**TINY), EXPECTED),
    (SenSRByTurns(**TINY, subspace_steps=1, full_steps=1), EXPECTED | SUBSPACE),
    (MixtureByTurns(max_iter=1), EXPECTED),
]


def expected_failures(estimator):
    """Return the names of the checks that fail by intention, with the reason."""
    return next(failures for known, failures in CLASSIFIERS if type(known) is type(estimator))


@parametrize_with_checks([estimator for estimator, _ in CLASSIFIERS], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)
