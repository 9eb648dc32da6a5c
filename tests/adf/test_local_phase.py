import numpy as np
import pytest

from fairlab.adf.local_phase import attribute_weights, run_local_phase, truncated_neighbours
from fairlab.cases import Schema

AGES = Schema.from_bounds({"a": (0, 9), "age": (1, 4)})
GENDER = np.array([2])


def test_weights_are_in_inverse_proportion_to_both_gradients():
    first, second = np.array([[1.0, 2, 5, 0], [0, 0, 0, 0]]), np.array([[1.0, 0, 5, 4], [0, 0, 0, 0]])
    weights = attribute_weights(first, second, GENDER)
    np.testing.assert_allclose(weights, [[0.4, 0.4, 0, 0.2], [1 / 3, 1 / 3, 0, 1 / 3]])


def test_an_attribute_without_gradient_takes_everything():
    np.testing.assert_allclose(
        attribute_weights(np.array([[1.0, 0, 0, 0]]), np.zeros((1, 4)), GENDER), [[0, 0.5, 0, 0.5]]
    )


def test_only_negative_values_have_neighbours_by_truncation():
    X = np.array([[3, 0, 1], [-2, 5, -1]])
    neighbours, owner = truncated_neighbours(X)
    assert neighbours.tolist() == [[-1, 5, -1], [-2, 5, 0]]
    assert owner.tolist() == [1, 1]


class OnlyAtFive:
    """Discriminates where the first attribute is 5, and knows no other direction."""

    def predict(self, X):
        return ((X[:, 0] == 5) & (X[:, 1] == 1)).astype(int)

    def loss_gradient(self, X):
        return np.tile([0.0, 1.0], (len(X), 1))

    def margin_gradient(self, X):
        return np.ones(len(X)), self.loss_gradient(X)


@pytest.mark.parametrize(("reading", "stayed"), [("as_published", 1 - np.exp(-1)), ("as_described", 0)])
def test_leaving_for_what_is_not_discriminatory(reading, stayed):
    n = 4000
    start = np.tile([5, 1], (n, 1))
    steps = run_local_phase(
        OnlyAtFive(),
        start,
        np.full((n, 1), 2),
        np.arange(n),
        schema=AGES,
        sensitive="age",
        n_steps=2,
        reading=reading,
        rng=np.random.default_rng(0),
    )
    starts, first, second = steps
    assert (starts.partner >= 0).all()
    assert (np.abs(first.inputs[:, 0] - 5) == 1).all()
    # Whoever was turned back tries a neighbour of 5 again; whoever left is an even number away.
    assert (np.abs(second.inputs[:, 0] - 5) == 1).mean() == pytest.approx(stayed, abs=0.03)


def test_a_start_that_is_not_discriminatory_is_left_freely():
    n = 500
    steps = run_local_phase(
        OnlyAtFive(),
        np.tile([2, 1], (n, 1)),
        np.full((n, 1), 2),
        np.arange(n),
        schema=AGES,
        sensitive="age",
        n_steps=2,
        reading="as_published",
        rng=np.random.default_rng(0),
    )
    *_, second = steps
    assert (np.abs(second.inputs[:, 0] - 2) != 1).all(), "every first move was accepted"


def test_odds_that_are_kept_ask_for_fewer_gradients():
    class Counting(OnlyAtFive):
        asked = 0

        def margin_gradient(self, X):
            Counting.asked += 1
            return np.zeros(len(X)), np.ones(X.shape)

    for refresh, times in ((1, 10), (4, 3), (99, 1)):
        Counting.asked = 0
        steps = run_local_phase(
            Counting(),
            np.array([[5, 1]]),
            np.array([[2]]),
            np.array([0]),
            schema=AGES,
            sensitive="age",
            n_steps=10,
            reading="as_described",
            rng=np.random.default_rng(0),
            refresh=refresh,
        )
        assert len(list(steps)) == 11
        assert Counting.asked == 2 * times, "both sides of the pair"
