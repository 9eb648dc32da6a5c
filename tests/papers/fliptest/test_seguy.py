"""The map of Seguy et al. (2018), against a deterministic solver."""

import numpy as np
import ot
import pytest

from fairlab.papers.fliptest import seguy
from fairlab.transport import DivergenceError, squared_l1

tf = pytest.importorskip("tensorflow")
pytest.importorskip("numba")


SMALL = {"hidden_layers": (8,), "n_dual_steps": 50, "n_map_steps": 50, "batch_size": 16}


RNG = np.random.default_rng(0)
SHIFTED = RNG.normal(size=(60, 2)), RNG.normal(size=(50, 2)) + 1


def ascended(costs, epsilon, n_steps):
    """Return the plan after some steps of the ascent."""
    potential = seguy.compiled(seguy.dual_ascent)(
        tf.constant(costs / epsilon, tf.float32), tf.constant(0, tf.int64), tf.constant(n_steps), batch_size=32
    )
    return seguy.regularized_plan(costs, potential.numpy() * epsilon, epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ascent_reaches_the_optimum_of_a_deterministic_solver(epsilon):
    costs = squared_l1(*SHIFTED)
    plan, far = (ascended(costs, epsilon, n_steps) for n_steps in (20_000, 100))
    # POT's penalty is half its strength times the sum of squared weights, ours epsilon times the mean squared density.
    weights = (np.full(n, 1 / n) for n in costs.shape)
    reference = ot.smooth.smooth_ot_semi_dual(*weights, costs, 2 * epsilon * costs.size, reg_type="l2")
    assert np.abs(plan.sum(axis=0) - 1 / 50).sum() < 0.02
    assert np.abs(plan - reference).sum() < min(0.05, np.abs(far - reference).sum() / 3)


def test_shift_of_a_normal_distribution_is_recovered():
    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    model = seguy.SeguyTransport(n_dual_steps=10_000, n_map_steps=2_000).fit(source, target)
    unseen = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(model.transform(unseen), unseen + 3, atol=0.25)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"regularization": 0}, ValueError, "regularization"),
        ({"n_dual_steps": 0}, ValueError, "n_dual_steps"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"hidden_layers": (8, 0)}, ValueError, "hidden_layers"),
        ({"learning_rate": 1e30, "random_state": 7}, DivergenceError, "random_state 7"),
    ],
)
def test_options_out_of_range_and_divergence_are_errors(options, error, message):
    with pytest.raises(error, match=message):
        seguy.SeguyTransport(**SMALL | options).fit(*SHIFTED)
