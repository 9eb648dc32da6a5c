import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fairlab.data.variants.individual_simulation import draw
from fairlab.papers.individual_fairness.simulation import fitted_intercepts, weight_grid


def test_grid():
    grid = weight_grid()
    assert grid.shape == (441, 2)
    assert len(np.unique(grid.round(6), axis=0)) == 441
    assert (grid.min(), grid.max()) == pytest.approx((-4, 4))
    np.testing.assert_allclose(grid[:2], [[-4, -4], [-4, -3.6]])


def test_intercepts_minimise_the_loss():
    table = draw(200, seed=2)
    X, y = table[["x1", "x2"]].to_numpy(), table["label"].to_numpy()
    coef = np.array([[-4.0, 2.0], [0.0, 0.0], [1.2, 3.6]])
    for weights, intercept in zip(coef, fitted_intercepts(coef, X, y), strict=True):
        best = minimize_scalar(lambda b, w=weights: np.logaddexp(0, -(2 * y - 1) * (X @ w + b)).sum(), tol=1e-10)
        assert intercept == pytest.approx(best.x, abs=1e-5)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="every label is 1"):
        fitted_intercepts([[1.0]], [[1.0], [2.0]], [1, 1])
