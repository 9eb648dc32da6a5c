import numpy as np
import pytest

from fairlab.transport import squared_l1
from fairlab.transport.cost import cost_matrix


def test_squared_l1_by_hand():
    cost = squared_l1(np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([[1.0, 2.0], [0.0, 0.0], [1.0, -1.0]]))
    np.testing.assert_array_equal(cost, [[9, 0, 4], [9, 4, 0]])


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (lambda X, Y: np.zeros((len(Y), len(X))), r"shape \(3, 2\), expected \(2, 3\)"),
        (lambda X, Y: 0.0, "shape"),
        (lambda X, Y: np.full((len(X), len(Y)), -0.5), "returned -0.5"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "NaN or infinite"),
        (lambda X, Y: np.array([[0, 1, 2], [0, 1, np.inf]]), "NaN or infinite"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(cost, np.zeros((2, 1)), np.zeros((3, 1)))


def test_a_cost_is_a_function():
    with pytest.raises(ValueError, match="cost: expected a function of both samples, found 'l1'"):
        cost_matrix("l1", np.zeros((2, 1)), np.zeros((3, 1)))


def test_shapes_of_samples():
    with pytest.raises(ValueError, match=r"X_target: expected shape \(n_rows, n_features\), found \(3,\)"):
        squared_l1(np.zeros((2, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="X_source has 1 columns, X_target has 2"):
        squared_l1(np.zeros((2, 1)), np.zeros((2, 2)))
