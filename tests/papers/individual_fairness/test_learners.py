import pickle
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from fairlearn.metrics import equalized_odds_difference
from plain_data import is_plain
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairlab.benchmarks.individual_fairness import dense_attack
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.networks import BETA_1, BETA_2, forward, initial_network
from fairlab.papers.individual_fairness import sensr
from fairlab.papers.individual_fairness.learners import (
    PUBLISHED_METRIC,
    BalancedMLP,
    EqualizedOddsMixture,
    ProjectedMLP,
    SenSR,
    balanced_batches,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.7).astype(np.int32)
SENSITIVE = (X[:, [1]] + 0.3 * RNG.normal(size=(600, 1)) > 0).astype(int)
SMALL = {"n_hidden": 8, "learning_rate": 0.01, "n_steps": 300, "batch_size": 40}
TINY = {"n_hidden": 4, "n_steps": 3, "batch_size": 8}


@pytest.mark.parametrize("kind", [BalancedMLP, ProjectedMLP, SenSR, EqualizedOddsMixture])
def test_what_was_learned_comes_apart_and_together(kind):
    options = {"max_iter": 3} if kind is EqualizedOddsMixture else TINY
    groups = {} if kind is BalancedMLP else {"sensitive_features": SENSITIVE}
    model = kind(**options).fit(X, Y, **groups)
    assert is_plain(model.fitted())
    again = kind().with_fitted(pickle.loads(pickle.dumps(model.fitted())))
    for points in (X, X.astype(float)):
        np.testing.assert_array_equal(again.log_odds(points), model.log_odds(points))
        np.testing.assert_array_equal(again.loss_gradient(points, Y), model.loss_gradient(points, Y))
        np.testing.assert_allclose(model.log_odds(tf.constant(points)), model.log_odds(points), atol=1e-4)


def test_a_network_learns_with_balance_and_by_its_seed():
    model, same, other = (BalancedMLP(**SMALL, random_state=k).fit(X, Y) for k in (0, 0, 1))
    assert min((model.predict(X) == Y)[label == Y].mean() for label in (0, 1)) > 0.93
    assert (model.network_[0] == same.network_[0]).all()
    assert (model.network_[0] != other.network_[0]).any()
    probability = tf.nn.softmax(forward(model.network_, X)).numpy()
    np.testing.assert_allclose(model.log_odds(X), np.log(probability[:, 1] / probability[:, 0]), atol=1e-3)


def test_batches_are_balanced():
    y = np.repeat([0, 1], [90, 10])
    batches = balanced_batches(np.random.default_rng(0), y, 200, 8)
    assert (y[batches].sum(axis=1) == 4).all()
    assert set(batches.ravel()) == set(range(100))


def test_project_is_the_plain_network_on_projected_features_and_blind_to_the_subspace():
    blind = ProjectedMLP(**SMALL).fit(X, Y, sensitive_features=SENSITIVE)
    projection = FairMetric.learned(X, SENSITIVE, **PUBLISHED_METRIC).projection
    plain = BalancedMLP(**SMALL).fit(X @ projection.astype(np.float32), Y)
    np.testing.assert_allclose(blind.predict_proba(X), plain.predict_proba(X @ projection), atol=1e-4)
    moved = X + 2 * sensitive_directions(X, SENSITIVE, **PUBLISHED_METRIC)
    np.testing.assert_allclose(blind.predict_proba(moved), blind.predict_proba(X), atol=1e-4)
    seeing = BalancedMLP(**SMALL).fit(X, Y)
    assert np.abs(seeing.predict_proba(moved) - seeing.predict_proba(X)).max() > 0.5


def test_reductions_bring_odds_nearer_and_are_a_soft_vote():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 1500)
    points = np.column_stack([rng.normal(size=1500) + group, rng.normal(size=1500)])
    y = (points.sum(axis=1) + rng.logistic(size=1500) > 1).astype(int)
    model = EqualizedOddsMixture(eps=0.02, max_iter=20).fit(points, y, sensitive_features=group)
    plain = LogisticRegression(class_weight="balanced").fit(points, y).predict(points)
    before, after = (equalized_odds_difference(y, p, sensitive_features=group) for p in (plain, model.predict(points)))
    assert after < before / 2
    assert len(model.weight_) > 1
    probability = expit(points @ model.coef_.T + model.intercept_) @ model.weight_
    np.testing.assert_allclose(model.predict_proba(points)[:, 1], probability)


def test_sensr_learns_to_withstand_moves_in_the_subspace():
    small = {"n_hidden": 16, "learning_rate": 0.01, "n_steps": 300, "batch_size": 100}
    robust = SenSR(**small, subspace_rate=0.5, full_steps=3).fit(X, Y, sensitive_features=SENSITIVE)
    plain = BalancedMLP(**small).fit(X, Y)
    moved = X + 0.5 * sensitive_directions(X, SENSITIVE, scaled=False, confidence_level=None)
    changes = [np.abs(m.predict_proba(moved) - m.predict_proba(X))[:, 1].mean() for m in (robust, plain)]
    assert changes[0] < changes[1] / 2
    assert (robust.predict(X) == Y).mean() > 0.65


DIRECTIONS = RNG.normal(size=(2, 4))
SETTINGS = SenSR(subspace_steps=5, full_steps=7, subspace_rate=0.1, learning_rate=1e-3)


# Moves of 1e-4 let hardly a unit change sides, those of 0.05 nearly all; the last attack overshoots and is refused.
@pytest.mark.parametrize(
    ("settings", "directions"),
    [
        (SETTINGS, DIRECTIONS),
        (replace(SETTINGS, full_rate=0.05), DIRECTIONS),
        (replace(SETTINGS, subspace_rate=10.0, full_steps=20, full_rate=0.01), 3 * DIRECTIONS[:1]),
        (replace(SETTINGS, subspace_steps=0, full_rate=5.0, penalty=10.0), np.vstack([DIRECTIONS, DIRECTIONS[0]])),
    ],
)
def test_compiled_attacks_train_the_network_of_the_dense_ones(settings, directions, monkeypatch):
    rng = np.random.default_rng(3)
    start = initial_network(rng, (4, 6, 2), bias=0.1)
    batches = balanced_batches(rng, Y, 40, 150)
    ours, penalty, skipped = sensr.train(X, Y, start, batches, directions, settings)
    monkeypatch.setattr(sensr, "compiled_attack", dense_attack)
    dense, dense_penalty, dense_skipped = sensr.train(X, Y, start, batches, directions, settings)
    assert skipped == dense_skipped
    assert penalty == pytest.approx(dense_penalty, rel=1e-2)
    for part, expected, before in zip(ours, dense, start, strict=True):
        assert np.linalg.norm(part - expected) < 0.02 * np.linalg.norm(expected - before)


def test_the_dense_attack_climbs_by_adam_on_the_tape():
    network = initial_network(RNG, (4, 6, 2), bias=0.1)
    x, y = X[:50], Y[:50]
    projection = FairMetric.from_directions(DIRECTIONS).projection.astype(np.float32)

    def objective(u, v):
        attacked = x + u @ DIRECTIONS.astype(np.float32) + v
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(network, attacked)))
        return loss - 2 * tf.reduce_mean(tf.reduce_sum((v @ projection) ** 2, axis=1)), attacked

    moves = [tf.Variable(tf.zeros((50, 2))), tf.Variable(tf.zeros((50, 4)))]
    for move, n_steps, rate in zip(moves, (5, 7), (0.1, 0.01), strict=True):
        climber = tf.keras.optimizers.Adam(rate, epsilon=sensr.EPSILON)
        for _ in range(n_steps):
            with tf.GradientTape() as tape:
                loss = -objective(*moves)[0]
            climber.apply_gradients([(tape.gradient(loss, move), move)])
    attacked, _, has_risen = dense_attack(DIRECTIONS, SETTINGS)(network, x, y, 0.01, 2.0)
    np.testing.assert_allclose(attacked, objective(*moves)[1], atol=1e-4)
    assert has_risen
    assert not dense_attack(DIRECTIONS, SETTINGS)(network, x, y, 5.0, 100.0)[2], "it overshoots"


@pytest.mark.parametrize(
    ("reached", "penalty"), [(0.004, 2 + 4 * 0.003), (0.0005, 2 - 2 * 0.0005), (0.0, 1e-5), (1.0, 10)]
)
def test_penalty_steers_to_the_target(reached, penalty):
    assert sensr.moved_penalty(2.0, reached, 0.001) == pytest.approx(penalty)


def test_no_gradients_take_adam_farther_than_is_said():
    rates = sensr.adam_rates(1.0, 50)
    for kind in range(20):
        mean = square = moved = 0.0
        gradients = np.abs(RNG.normal(size=50)) * np.geomspace(1, 10.0 ** (kind - 10), 50)
        for rate, gradient in zip(rates, gradients, strict=True):
            mean = BETA_1 * mean + (1 - BETA_1) * gradient
            square = BETA_2 * square + (1 - BETA_2) * gradient**2
            moved += rate * mean / np.sqrt(square)
        assert moved <= sensr.longest_move(50)
