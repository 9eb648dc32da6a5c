import numpy as np
import ot
import pytest

tf = pytest.importorskip("tensorflow")

from fairlab.networks import forward, initial_network, stacked  # noqa: E402
from fairlab.papers.fliptest.seguy import (  # noqa: E402
    SeguyTransport,
    compiled,
    draw_rows,
    dual_ascent,
    regression,
    regularized_plan,
    rmsprop,
)
from fairlab.transport import DivergenceError, ExactTransport, squared_l1  # noqa: E402

SMALL = {"hidden_layers": (8,), "n_dual_steps": 50, "n_map_steps": 50, "batch_size": 16}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 1


@pytest.fixture(scope="module")
def costs(groups):
    return squared_l1(*groups)


def ascend(costs, epsilon, n_steps=20_000, seed=0):
    potential = compiled(dual_ascent)(
        tf.constant(costs / epsilon, tf.float32), tf.constant(seed, tf.int64), tf.constant(n_steps), batch_size=32
    )
    return potential.numpy() * epsilon


def test_plan_by_hand():
    # Row 0: excess u - (0, 1) over 4 epsilon = 4 shares (3/4, 1/4) of the row; row 1 is too far from column 0.
    costs = np.array([[0.0, 2.0], [9.0, 1.0]])
    plan = regularized_plan(costs, np.zeros(2), epsilon=1.0)
    np.testing.assert_allclose(plan, [[0.375, 0.125], [0, 0.5]])


def test_plan_keeps_the_rows_weights_for_any_potential(costs):
    for potential in (np.zeros(50), np.random.default_rng(0).normal(size=50) * 10):
        plan = regularized_plan(costs, potential, epsilon=0.3)
        assert plan.min() >= 0
        np.testing.assert_allclose(plan.sum(axis=1), 1 / 60)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ascent_reaches_the_optimum_of_a_deterministic_solver(costs, epsilon):
    n_source, n_target = costs.shape
    plan = regularized_plan(costs, ascend(costs, epsilon), epsilon)
    weights = np.full(n_source, 1 / n_source), np.full(n_target, 1 / n_target)
    # POT's penalty is half its strength times the sum of squared weights, ours epsilon times the mean squared density.
    reference = ot.smooth.smooth_ot_semi_dual(*weights, costs, 2 * epsilon * n_source * n_target, reg_type="l2")
    assert np.abs(plan.sum(axis=0) - 1 / n_target).sum() < 0.02
    assert np.abs(plan - reference).sum() < 0.05
    far = regularized_plan(costs, ascend(costs, epsilon, n_steps=100), epsilon)
    assert np.abs(far - reference).sum() > 3 * np.abs(plan - reference).sum()


def test_steps_climb_the_dual_of_the_paper(costs):
    # POT has the paper's loss; its value at our potentials grows with the steps.
    def loss(n_steps, epsilon=0.5):
        target = ascend(costs, epsilon, n_steps)
        plan = regularized_plan(costs, target, epsilon)
        # Wherever the plan has weight, u + v - cost is 2 epsilon times its density.
        row_best = plan.argmax(axis=1)
        rows = np.arange(len(costs))
        source = 2 * epsilon * plan[rows, row_best] * costs.size - target[row_best] + costs[rows, row_best]
        indices = np.arange(len(costs)), np.arange(costs.shape[1])
        return ot.stochastic.loss_dual_quadratic(
            source, target, *indices, reg=epsilon, metric=lambda i, j: costs[np.ix_(i, j)]
        )

    losses = [loss(n_steps) for n_steps in (1, 30, 300, 3_000)]
    assert (np.diff(losses) > 0).all()


def test_tiny_regularization_approaches_the_exact_plan():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    exact = ExactTransport().fit(source, target).transform(source)
    settings = SMALL | {"n_dual_steps": 30_000, "batch_size": 32}
    models = [SeguyTransport(regularization=r, **settings).fit(source, target) for r in (0.1, 1e-2, 1e-4)]
    errors = [np.sqrt(np.square(model.projection_ - exact).mean()) for model in models]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1


def test_strong_regularization_sends_everyone_to_the_mean(groups):
    model = SeguyTransport(regularization=1e3, **SMALL).fit(*groups)
    np.testing.assert_allclose(model.projection_, np.tile(groups[1].mean(axis=0), (60, 1)), atol=0.01)
    assert model.marginal_error_ < 0.01


def test_regression_finds_a_smooth_map():
    X = np.random.default_rng(0).normal(size=(1, 400, 2))
    Y = np.stack([np.abs(X[..., 0]), X[..., 1] + 2], axis=-1)
    pairs = [tf.constant(values, tf.float32) for values in (X, Y)]
    start = [tf.constant(part) for part in stacked([initial_network(np.random.default_rng([0, 0]), (2, 32, 2))])]
    options = tf.constant([0], tf.int64), start, tf.constant(4_000), tf.constant(1e-3)
    fitted = forward(compiled(regression)(*pairs, *options, batch_size=64), pairs[0])
    assert np.sqrt(np.square(fitted - Y).mean()) < 0.05


def test_rows_are_drawn_from_the_members_own_sample():
    X = tf.reshape(tf.range(24.0), (2, 12, 1))
    seeds = tf.constant([3, 4], tf.int64)
    drawn = draw_rows(X, seeds, 5, 200).numpy()
    assert drawn.shape == (2, 200, 1)
    assert set(drawn[0].ravel()) == set(range(12))
    assert set(drawn[1].ravel()) == set(range(12, 24))
    np.testing.assert_array_equal(drawn[1:], draw_rows(X[1:], seeds[1:], 5, 200))
    assert (drawn != draw_rows(X, seeds, 6, 200).numpy()).any()


def test_shift_of_a_normal_distribution_is_recovered():
    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    model = SeguyTransport(n_dual_steps=10_000, n_map_steps=2_000).fit(source, target)
    unseen = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(model.transform(unseen), unseen + 3, atol=0.25)


def test_scale_of_the_features_does_not_change_the_projection(groups):
    first, second = (
        SeguyTransport(**SMALL).fit(scale * groups[0], scale * groups[1]).projection_ / scale for scale in (1, 1024)
    )
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_same_seed_same_map(groups):
    first, second = (SeguyTransport(random_state=5, **SMALL).fit(*groups).transform(groups[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = SeguyTransport(random_state=6, **SMALL).fit(*groups)
    assert not np.allclose(first, other.transform(groups[0]))
    assert not np.allclose(other.projection_, SeguyTransport(random_state=5, **SMALL).fit(*groups).projection_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": 0}, "regularization"),
        ({"regularization": np.nan}, "regularization"),
        ({"n_dual_steps": 0}, "n_dual_steps"),
        ({"n_map_steps": 0}, "n_map_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"hidden_layers": (8, 0)}, "hidden_layers"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 0.5}, "random_state"),
    ],
)
def test_options_out_of_range(groups, options, message):
    with pytest.raises(ValueError, match=message):
        SeguyTransport(**SMALL | options).fit(*groups)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([[0.0, 1.0]], [[0.0, 1.0]] * 3, "X_source: has 1 row"),
        ([[0.0, 1.0]] * 3, [[0.0, np.nan]] * 3, "X_target: column 'x1'"),
        ([[0.0, 1.0]] * 3, [[0.0]] * 3, "X_source has 2 columns, X_target has 1"),
        ([[0.0, 1.0]] * 3, [[0.0, 1.0]] * 3, "expected some pairs above 0"),
    ],
)
def test_bad_features(source, target, message):
    with pytest.raises(ValueError, match=message):
        SeguyTransport(**SMALL).fit(source, target)


def test_divergence_is_an_error(groups):
    with pytest.raises(DivergenceError, match="random_state 7"):
        SeguyTransport(random_state=7, **SMALL | {"learning_rate": 1e30}).fit(*groups)


def test_rmsprop_by_hand():
    [moved], [square] = rmsprop([tf.constant([1.0])], [tf.constant([0.0])], [tf.constant([2.0])], 0.1)
    assert float(square[0]) == pytest.approx(0.1 * 2**2)
    assert float(moved[0]) == pytest.approx(1 - 0.1 * 2 / np.sqrt(0.4))
