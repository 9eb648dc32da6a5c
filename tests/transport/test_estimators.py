"""scikit-learn's own checks of every map."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("numba")

from fairlab.transport import ExactTransport, GANTransport


class ToItself:
    """The checks know features and labels only: the target is the source."""

    def fit(self, X, y=None):
        return super().fit(X, X)


class ExactToItself(ToItself, ExactTransport):
    pass


class GANToItself(ToItself, GANTransport):
    pass


TABLES = {"check_dtype_object": "what is no number is a ValueError that names the table, not a TypeError"}
ROWS = {"check_fit2d_1sample": "the error speaks of rows, not of samples"}
FITTED_ROWS = dict.fromkeys(
    ("check_methods_subset_invariance", "check_methods_sample_order_invariance", "check_fit_idempotent"),
    "the exact map is defined for the fitted rows, all of them, in their order",
)
GAN = {"hidden_layers": (2,), "n_steps": 1, "batch_size": 2, "critic_steps": 1}
MAPS = [
    (ExactToItself(random_state=0), TABLES | FITTED_ROWS),
    (GANToItself(**GAN), TABLES | ROWS),
]


def expected_failures(estimator):
    """Return the names of the checks that fail by intention, with the reason."""
    return next(failures for known, failures in MAPS if type(known) is type(estimator))


@parametrize_with_checks([estimator for estimator, _ in MAPS], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)
