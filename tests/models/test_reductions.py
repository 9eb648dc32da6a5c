import numpy as np
import pytest
from fairlearn.metrics import equalized_odds_difference
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairlab.models.reductions import EqualizedOddsMixture

RNG = np.random.default_rng(0)
SEX = RNG.integers(0, 2, 1500)
X = np.column_stack([RNG.normal(size=1500) + SEX, RNG.normal(size=1500)])
Y = (X[:, 0] + X[:, 1] + RNG.logistic(size=1500) > 1).astype(int)


@pytest.fixture(scope="module")
def model():
    return EqualizedOddsMixture(eps=0.02, max_iter=20).fit(X, Y, sensitive_features=SEX)


def test_odds_are_nearer_to_equal(model):
    plain = LogisticRegression(class_weight="balanced").fit(X, Y).predict(X)
    before, after = (equalized_odds_difference(Y, p, sensitive_features=SEX) for p in (plain, model.predict(X)))
    assert after < before / 2


def test_is_a_soft_vote_of_logistic_models(model):
    mixture = model.mixture_
    assert len(mixture.weight) > 1
    assert mixture.weight.sum() == pytest.approx(1)
    probability = expit(X @ mixture.coef.T + mixture.intercept) @ mixture.weight
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], probability)
    np.testing.assert_array_equal(model.predict(X), probability > 0.5)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="expected both classes"):
        EqualizedOddsMixture().fit(X, 0 * Y, sensitive_features=SEX)
