import pickle

import numpy as np
import pytest
from plain_data import is_plain
from sklearn.exceptions import NotFittedError

from fairlab.models import BalancedMLP, EqualizedOddsMixture, ProjectedMLP, SenSR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
SENSITIVE = (X[:, [1]] + RNG.normal(size=(80, 1)) > 0).astype(int)
SMALL = {"n_hidden": 4, "n_steps": 3, "batch_size": 8, "from_logits": False}
LEARNERS = [
    (BalancedMLP(**SMALL, random_state=2), {}),
    (ProjectedMLP(**SMALL), {"sensitive_features": SENSITIVE}),
    (SenSR(**SMALL, full_steps=2, learning_rate=0.1), {"sensitive_features": SENSITIVE}),
    (EqualizedOddsMixture(max_iter=3, class_weight=None, from_logits=False), {"sensitive_features": SENSITIVE}),
]


@pytest.mark.parametrize(("learner", "groups"), LEARNERS, ids=lambda value: type(value).__name__)
def test_what_is_rebuilt_from_arrays_is_the_same(learner, groups):
    with pytest.raises(NotFittedError):
        type(learner)().to_arrays()
    learner.fit(X, Y, **groups)
    arrays = learner.to_arrays()
    assert is_plain(arrays)
    rebuilt = type(learner).from_arrays(pickle.loads(pickle.dumps(arrays)))
    assert rebuilt.get_params() == learner.get_params()
    assert vars(rebuilt).keys() == vars(learner).keys()
    for dtype in ("float32", "float64"):
        points = X.astype(dtype)
        np.testing.assert_array_equal(rebuilt.log_odds(points), learner.log_odds(points))
        np.testing.assert_array_equal(rebuilt.predict_proba(points), learner.predict_proba(points))
        np.testing.assert_array_equal(rebuilt.loss(points, Y), learner.loss(points, Y))
        np.testing.assert_array_equal(rebuilt.loss_gradient(points, Y), learner.loss_gradient(points, Y))
    np.testing.assert_array_equal(rebuilt.predict(X), learner.predict(X))
    for name in ("network_", "directions_", "penalty_", "n_skipped_", "projection_", "classes_"):
        if hasattr(learner, name):
            np.testing.assert_equal(getattr(rebuilt, name), getattr(learner, name))
    if hasattr(learner, "metric_"):
        np.testing.assert_array_equal(rebuilt.metric_.projection, learner.metric_.projection)


def test_what_was_not_fitted_has_no_properties():
    for unfitted, name in ((ProjectedMLP(), "metric_"), (EqualizedOddsMixture(), "mixture_")):
        with pytest.raises(NotFittedError):
            getattr(unfitted, name)
