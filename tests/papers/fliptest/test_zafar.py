import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from fairlab.papers.fliptest.zafar import EqualRatesLogistic


def draw(n, seed=0):
    """Draw two features that depend on the group, and labels that depend on the first one."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], n)
    X = np.column_stack([rng.normal(5 - 2 * group, 2), rng.normal(10 + 8 * group, 5)])
    y = (rng.uniform(size=2 * n) < 1 / (1 + np.exp(4 - X[:, 0]))).astype(int)
    return X, y, group


X, Y, GROUP = draw(500)


def loss(model, X, y):
    return np.logaddexp(0, -(2 * y - 1) * model.decision_function(X)).mean()


def covariance(model, X, group):
    return np.cov(group, model.decision_function(X), bias=True)[0, 1]


@pytest.mark.parametrize("bound", [0.0, 0.01, 0.1, 0.3])
def test_the_bound_holds_and_binds(bound):
    model = EqualRatesLogistic(bound).fit(X, Y, sensitive_features=GROUP)
    assert np.isclose(abs(covariance(model, X, GROUP)), bound, atol=1e-9)
    assert np.isclose(model.covariance_, covariance(model, X, GROUP), atol=1e-9)


@pytest.mark.parametrize("bound", [10.0, np.inf])
def test_a_loose_bound_is_plain_logistic_regression(bound):
    model = EqualRatesLogistic(bound).fit(X, Y, sensitive_features=GROUP)
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, Y)
    assert np.allclose(model.coef_, plain.coef_[0], rtol=1e-4)
    assert np.isclose(model.intercept_, plain.intercept_[0], rtol=1e-4)
    assert (model.predict(X) == plain.predict(X)).all()


@pytest.mark.parametrize("bound", [0.0, 0.1])
def test_against_a_general_solver(bound):
    signs, centred = 2 * Y - 1, GROUP - GROUP.mean()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def objective(w):
        return np.logaddexp(0, -signs * (Z @ w[:2] + w[2])).mean()

    def slack(w):
        c = (centred * (Z @ w[:2] + w[2])).mean()
        return np.array([bound - c, bound + c])

    options = {"ftol": 1e-14, "maxiter": 1000}
    general = minimize(objective, np.zeros(3), constraints={"type": "ineq", "fun": slack}, options=options)
    model = EqualRatesLogistic(bound).fit(X, Y, sensitive_features=GROUP)
    assert np.isclose(loss(model, X, Y), general.fun, atol=1e-9)
    assert np.allclose(model.coef_ * X.std(axis=0), general.x[:2], atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.5]))
def test_optimality_conditions(seed, bound):
    X, y, group = draw(100, seed)
    model = EqualRatesLogistic(bound).fit(X, y, sensitive_features=group)
    design = np.column_stack([X, np.ones(len(X))])
    gradient = design.T @ (1 / (1 + np.exp(-model.decision_function(X))) - y) / len(y)
    normal = (group - group.mean()) @ design / len(y)
    multiplier = -gradient @ normal / (normal @ normal)
    # The gradient is a multiple of the constraint's normal, pointing outwards, and nothing where the bound is loose.
    assert np.allclose(gradient + multiplier * normal, 0, atol=1e-5)
    assert abs(model.covariance_) <= bound + 1e-9
    if bound and abs(model.covariance_) < bound - 1e-6:
        assert np.isclose(multiplier, 0, atol=1e-5)
    elif bound:
        assert multiplier * model.covariance_ >= -1e-6


def test_the_loss_falls_as_the_bound_loosens():
    losses = [loss(EqualRatesLogistic(c).fit(X, Y, sensitive_features=GROUP), X, Y) for c in (0, 0.1, 0.2, 0.4, 5)]
    assert (np.diff(losses) < 0).all()


def test_units_of_the_features_do_not_matter():
    model = EqualRatesLogistic(0.1).fit(X, Y, sensitive_features=GROUP)
    rescaled = EqualRatesLogistic(0.1).fit(X * [1000, 0.01] + [5e4, -3], Y, sensitive_features=GROUP)
    assert np.allclose(rescaled.coef_ * [1000, 0.01], model.coef_, rtol=1e-5)


def test_swapping_the_groups_swaps_the_covariance():
    first = EqualRatesLogistic(0.1).fit(X, Y, sensitive_features=GROUP)
    second = EqualRatesLogistic(0.1).fit(X, Y, sensitive_features=np.where(GROUP == 0, "women", "men"))
    assert second.groups_.tolist() == ["men", "women"]
    assert np.isclose(first.covariance_, -second.covariance_)
    assert np.allclose(first.coef_, second.coef_)


def test_one_feature_leaves_only_the_intercept():
    model = EqualRatesLogistic().fit(X[:, :1], Y, sensitive_features=GROUP)
    assert np.allclose(model.coef_, 0)
    assert np.isclose(model.intercept_, np.log(Y.mean() / (1 - Y.mean())))


def test_features_that_do_not_covary_with_the_group_are_free():
    base, labels, _ = draw(200)
    twice, labels, group = np.vstack([base, base]), np.tile(labels, 2), np.repeat([0, 1], 400)
    bound = EqualRatesLogistic(0.0).fit(twice, labels, sensitive_features=group)
    free = EqualRatesLogistic(np.inf).fit(twice, labels, sensitive_features=group)
    assert np.allclose(bound.coef_, free.coef_)


def test_collinear_indicators_do_no_harm():
    indicators = np.eye(3)[np.random.default_rng(0).integers(0, 3, len(X))]
    full, without_last = (np.column_stack([X, indicators[:, :k]]) for k in (3, 2))
    models = [EqualRatesLogistic(0.1).fit(table, Y, sensitive_features=GROUP) for table in (full, without_last)]
    assert np.allclose(*(m.decision_function(t) for m, t in zip(models, (full, without_last), strict=True)), atol=1e-5)


def test_no_optimum_is_an_error():
    separable = (X[:, 0] > 4).astype(int)
    with pytest.raises(RuntimeError, match="a hyperplane separates the classes"):
        EqualRatesLogistic(np.inf).fit(X, separable, sensitive_features=GROUP)


def lipton(n, seed):
    """Draw the hiring data of Lipton et al. in the order of FlipTest's authors."""
    rng = np.random.RandomState(seed)
    work = [rng.poisson(mean, n) - rng.normal(20, 0.2, n) for mean in (31, 25)]
    rng = np.random.RandomState(seed + 1)
    hair = [35 * rng.beta(2, b, n) for b in (7, 2)]
    hired = np.concatenate([rng.binomial(1, 1 / (1 + np.exp(25.5 - 2.5 * w))) for w in work])
    return np.column_stack([np.concatenate(work), np.concatenate(hair)]), hired, np.repeat(["man", "woman"], n)


def test_on_the_hiring_data_hair_stands_in_for_gender():
    X, hired, gender = lipton(10_000, seed=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = EqualRatesLogistic().fit(X, hired, sensitive_features=gender)
    # The authors' weights are 1.4028 and 1.1688 against a threshold of 0.8684.
    assert np.allclose([*model.coef_, -model.intercept_], [1.4028, 1.1688, 0.8684], rtol=0.1)
    rates = pd.Series(model.predict(X)).groupby(gender).mean()
    assert np.allclose(rates[["man", "woman"]], [0.27, 0.30], atol=0.01)
    free = EqualRatesLogistic(np.inf).fit(X, hired, sensitive_features=gender)
    assert abs(free.coef_[1]) < 0.02 * free.coef_[0]
