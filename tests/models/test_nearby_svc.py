import numpy as np
import pytest
from sklearn.svm import SVC

from fairlab.models.nearby_svc import NearbySVC


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    X = rng.integers(12, size=(400, 5)).astype(float)
    return (
        X,
        (X[:, 0] + X[:, 1] + rng.normal(size=400) > 11).astype(int),
        rng.integers(100, size=(3000, 5)).astype(float),
    )


def test_decisions_are_those_of_scikit_learn(codes):
    X, y, far = codes
    model, plain = NearbySVC().fit(X, y), SVC(gamma="auto").fit(X, y)
    for inputs in (X, far):
        assert model.decision_function(inputs) == pytest.approx(plain.decision_function(inputs), abs=1e-6)
        assert (model.predict(inputs) == plain.predict(inputs)).all()


def test_nothing_nearby_leaves_the_intercept(codes):
    X, y, far = codes
    model = NearbySVC(gamma=2.0).fit(X, y)
    distant = far + 1000
    assert (model.decision_function(distant) == model.svc_.intercept_[0]).all()


def test_one_class_is_an_error(codes):
    with pytest.raises(ValueError, match=r"y: every label is 1\.0, expected both classes"):
        NearbySVC().fit(codes[0], np.ones(400))
