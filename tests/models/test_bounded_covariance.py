import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairlab.models.bounded_covariance import BoundedCovarianceLogistic
from fairlab.models.zafar import EqualRatesLogistic


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    X = pd.DataFrame({"merit": rng.normal(size=600), "proxy": group + rng.normal(size=600), "code": 1 + group})
    y = (X["merit"] + X["proxy"] - 1 + rng.logistic(size=600) > 0).astype(int)
    return X, y.to_numpy(), group


def test_covariances_stay_within_the_bound(people):
    X, y, group = people
    for bound in (0.0, 0.05):
        model = BoundedCovarianceLogistic(bound).fit(X, y, sensitive_features=group)
        for value, reached in model.covariance_.items():
            member = (group == value).astype(float)
            assert reached == pytest.approx(np.mean((member - member.mean()) * model.decision_function(X)), abs=1e-9)
            assert abs(reached) <= bound + 1e-7
    assert max(map(abs, model.covariance_.values())) == pytest.approx(0.05, abs=1e-6)


def test_without_a_bound_it_is_logistic_regression(people):
    X, y, group = people
    for intercept in (True, False):
        model = BoundedCovarianceLogistic(1e6, fit_intercept=intercept).fit(X, y, sensitive_features=group)
        plain = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-8).fit(X, y)
        assert model.coef_ == pytest.approx(plain.coef_[0], abs=2e-3)
    assert model.intercept_ == 0
    assert (model.predict(X) == (X.to_numpy() @ model.coef_ > 0)).all()


def test_two_groups_are_those_of_the_exact_solver(people):
    X, y, group = people
    X, group = X[["merit", "proxy"]], (group == 0).astype(int)
    general = BoundedCovarianceLogistic(0.0).fit(X, y, sensitive_features=group)
    exact = EqualRatesLogistic(0.0).fit(X, y, sensitive_features=group)
    assert general.coef_ == pytest.approx(exact.coef_, abs=1e-3)
    assert general.intercept_ == pytest.approx(exact.intercept_, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bound": -1}, "covariance_bound: expected a number of at least 0, found -1"),
        ({"y": np.ones(600)}, "y: every label is 1.0, expected both classes"),
        ({"group": [0, 1]}, "sensitive_features has 2 rows, X has 600"),
        ({"X": pd.DataFrame({"merit": np.zeros(600)})}, "X: column 'merit' holds zeros only"),
    ],
)
def test_bad_input(people, change, message):
    X, y, group = people
    given = {"X": X, "y": y, "group": group, "bound": 0.0} | change
    with pytest.raises(ValueError, match=message):
        BoundedCovarianceLogistic(given["bound"]).fit(given["X"], given["y"], sensitive_features=given["group"])
