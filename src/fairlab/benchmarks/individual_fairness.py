"""Individual fairness: SenSR's compiled attack against one that evaluates the network at every step."""

from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.special import expit

from fairlab.benchmarks import Measurement, benchmark, measure, speed_up

N_PEOPLE, N_FEATURES = 36_180, 39  # of Adult's training part


@benchmark
def sensr_stacked_vs_one_at_a_time(*, quick: bool) -> list[Measurement]:
    """Train SenSR as on Adult: attacks by compiled loops where the network is linear, and by asking it at each step."""
    from fairlab.models.loops import IS_COMPILED
    from fairlab.papers.individual_fairness import sensr

    if not IS_COMPILED:  # nothing to measure without numba
        return []
    n_networks, n_steps = (1, 20) if quick else (2, 150)
    work = sensr_like_adult(n_networks, n_steps)

    def train(attack):
        with patch.object(sensr, "compiled_attack", attack):
            return [sensr.train(*part) for part in work]

    train(sensr.compiled_attack)  # compiles
    ours, baseline = (measure(partial(train, a), repeats=1) for a in (sensr.compiled_attack, dense_attack))
    note = (
        f"{n_networks} networks of {N_FEATURES} features and 100 units, {n_steps} batches of 1,000, 10 + 50 steps of "
        "attack each; the baseline, in NumPy, calls the network at every step. Compiled before."
    )
    return [speed_up("sensr_stacked_vs_one_at_a_time", baseline=baseline, ours=ours, note=note)]


def sensr_like_adult(n_networks: int, n_steps: int) -> list[tuple]:
    """Return the arguments of SenSR's training for some networks: X, y, network, batches, directions, settings."""
    from fairlab.networks import initial_network
    from fairlab.papers.individual_fairness.learners import SenSR, balanced_batches

    rng, work = np.random.default_rng(0), []
    X = rng.normal(size=(N_PEOPLE, N_FEATURES)).astype(np.float32)
    y = (X[:, 0] + rng.logistic(size=N_PEOPLE) > 1).astype(int)
    for seed in range(n_networks):
        rng = np.random.default_rng(seed)
        network = initial_network(rng, (N_FEATURES, 100, 2), bias=0.1)
        batches = balanced_batches(rng, y, n_steps, 1000)
        work.append((X, y, network, batches, rng.normal(size=(2, N_FEATURES)), SenSR()))
    return work


def dense_attack(directions, settings):
    """Attack as `fairlab.papers.individual_fairness.sensr.compiled_attack`, evaluating the network at every step."""
    from fairlab.fair_metric import FairMetric
    from fairlab.papers.individual_fairness.sensr import EPSILON
    from fairlab.papers.training import adam

    directions = np.asarray(directions, np.float32)
    projection = FairMetric.from_directions(directions).projection.astype(np.float32)

    def ascend(gradient, shape, n_steps, rate):
        move, mean, square = np.zeros((3, *shape), np.float32)
        for step in range(1, n_steps + 1):
            adam(move, -gradient(move), mean, square, step, rate, epsilon=EPSILON)
        return move

    def attack(network, X, y, rate, penalty):
        hidden, hidden_bias, output, output_bias = network
        sign, weight = np.where(y == 1, 1, -1).astype(np.float32), output[:, 1] - output[:, 0]
        bias = output_bias[1] - output_bias[0]

        def margin(entering):
            return sign * (np.maximum(entering, 0) @ weight + bias)

        def mean_loss(entering):
            return np.logaddexp(0, -margin(entering)).mean()

        def slope(entering):
            return (-sign * expit(-margin(entering)) / len(X))[:, None] * np.where(entering > 0, weight, np.float32(0))

        entering, along = X @ hidden + hidden_bias, directions @ hidden
        options = (len(X), len(directions)), settings.subspace_steps, settings.subspace_rate
        inside = ascend(lambda u: slope(entering + u @ along) @ along.T, *options)
        if mean_loss(entering + inside @ along) < mean_loss(entering):
            inside[:] = 0
        start, pull = entering + inside @ along, np.float32(penalty * 2 / len(X))
        options = X.shape, settings.full_steps, rate
        away = ascend(lambda v: slope(start + v @ hidden) @ hidden.T - pull * (v @ projection), *options)
        distance = np.square(away @ projection).sum(axis=1).mean()
        has_risen = mean_loss(start + away @ hidden) - penalty * distance >= mean_loss(start)
        return X + inside @ directions + away, distance, has_risen

    return attack
