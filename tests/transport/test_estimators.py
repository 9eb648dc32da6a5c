"""scikit-learn's own checks of every map."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

tf = pytest.importorskip("tensorflow")

from fairlab.transport import ExactTransport, GANEnsemble, GANTransport, SeguyEnsemble, SeguyTransport  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def eagerly():
    """Nothing is compiled: every check has sizes of its own, and trains for a few steps."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


class ToItself:
    """The checks know features and labels only: the target is the source."""

    def fit(self, X, y=None):
        return super().fit(X, X)


class ExactToItself(ToItself, ExactTransport):
    pass


class GANToItself(ToItself, GANTransport):
    pass


class SeguyToItself(ToItself, SeguyTransport):
    pass


TABLES = {"check_dtype_object": "what is no number is a ValueError that names the table, not a TypeError"}
ROWS = {"check_fit2d_1sample": "the error speaks of rows, not of samples"}
FITTED_ROWS = dict.fromkeys(
    ("check_methods_subset_invariance", "check_methods_sample_order_invariance", "check_fit_idempotent"),
    "the exact map is defined for the fitted rows, all of them, in their order",
)
GAN = {"hidden_layers": (2,), "n_steps": 1, "batch_size": 2, "critic_steps": 1}
SEGUY = {"hidden_layers": (2,), "n_dual_steps": 2, "n_map_steps": 2, "batch_size": 4}
MAPS = [
    (ExactToItself(random_state=0), TABLES | FITTED_ROWS),
    (GANToItself(**GAN), TABLES | ROWS),
    (SeguyToItself(**SEGUY), TABLES | ROWS),
]


def expected_failures(estimator):
    """Return the names of the checks that fail by intention, with the reason."""
    return next(failures for known, failures in MAPS if type(known) is type(estimator))


@parametrize_with_checks([estimator for estimator, _ in MAPS], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ensemble", [GANEnsemble([3, 4], **GAN), SeguyEnsemble([3, 4], **SEGUY)])
def test_ensembles_can_be_cloned_and_set(ensemble):
    copy = clone(ensemble).set_params(batch_size=3)
    assert copy.get_params() == ensemble.get_params() | {"batch_size": 3}
    X = np.random.default_rng(0).normal(size=(6, 2))
    copy.fit(X, X + 1)
    assert copy.n_features_in_ == copy.maps_[0].n_features_in_ == 2
    assert all(one.batch_size == 3 for one in copy.maps_)
    with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting 2"):
        copy.transform(X[:, :1])
