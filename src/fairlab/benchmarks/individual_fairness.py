"""Individual fairness: the compiled attack against a loop over points, its growth, and the study on Adult."""

import time
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from scipy.special import expit

from fairlab.benchmarks import Measurement, benchmark, in_fresh_process, measure, speed_up

N_POINTS, N_FEATURES, N_HIDDEN = 9045, 39, 50  # the Adult test part and its networks
N_STEPS = 200
OPTIONS = {"regularizer": 50.0, "step_size": 0.01}
N_SPLITS, N_CORES = 10, 2
GB = 1e9


@benchmark
def attack_vs_one_at_a_time(*, quick: bool) -> list[Measurement]:
    """Attack the Adult test part: all points in one compiled loop against one point at a time in TensorFlow."""
    n_points, n_steps, n_sampled = (500, 20, 1) if quick else (N_POINTS, N_STEPS, 5)
    audit = adult_like(n_points)
    attack(audit, 1)  # loads what TensorFlow loads once
    ours = measure(lambda: attack(audit, n_steps))
    sampled = measure(lambda: attack_point_by_point(audit, n_sampled, n_steps), repeats=1)
    note = (
        f"{n_points} points, {n_steps} steps, compilation included; the baseline, an eager loop over points and steps, "
        f"was timed on {n_sampled} points"
    )
    return [
        speed_up("attack_vs_one_at_a_time", baseline=sampled / n_sampled * n_points, ours=ours, note=note),
        Measurement("attack_seconds", ours, "s", note=f"{n_points} points, {n_steps} steps"),
    ]


@benchmark
def attack_growth(*, quick: bool) -> list[Measurement]:
    """Seconds of the compiled attack by points and by steps, and the powers that they grow with."""
    rows = []
    all_points = (250, 500) if quick else (9_045, 18_090, 36_180, 72_360)
    all_steps = (10, 20) if quick else (200, 400, 800, 1_600)
    sweeps = {
        "points": [(n, all_steps[0]) for n in all_points],
        "steps": [(all_points[0], n) for n in all_steps],
    }
    for name, sizes in sweeps.items():
        seconds = [measure(lambda n=n, k=k: attack(adult_like(n), k), repeats=1 if quick else 3) for n, k in sizes]
        varied = [size[name == "steps"] for size in sizes]
        rows += [
            Measurement(f"attack_by_{name}_{n}_seconds", s, "s", note="compilation included")
            for n, s in zip(varied, seconds, strict=True)
        ]
        power = np.polyfit(np.log(varied), np.log(seconds), 1)[0]
        note = f"fitted to {varied[0]} to {varied[-1]} {name}; below 1 while compilation counts"
        rows.append(Measurement(f"attack_growth_in_{name}", power, f"power of {name}", note=note))
    return rows


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

    attacks = sensr.compiled_attack, dense_attack
    trained = [train(attack) for attack in attacks]  # compiles
    apart = max(
        np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
        for one, other in zip(*trained, strict=True)
        for ours, theirs in zip(one[0], other[0], strict=True)
    )
    ours, baseline = (measure(lambda a=a: train(a), repeats=1) for a in attacks)
    note = (
        f"{n_networks} networks of {N_FEATURES} features and 100 units, {n_steps} batches of 1,000, 10 + 50 steps of "
        f"attack each; the baseline, in NumPy, calls the network at every step. Compiled before. "
        f"Weights differ by {apart:.1e} of their size"
    )
    return [
        speed_up("sensr_stacked_vs_one_at_a_time", baseline=baseline, ours=ours, note=note),
        Measurement(
            "sensr_step_ms", ours / n_networks / n_steps * 1000, "ms", note="one batch of 1,000, attacked and learned"
        ),
    ]


@benchmark
def adult_table_3(*, quick: bool) -> list[Measurement]:
    """Seconds and peak memory of training the four methods on one split of Adult, and minutes of table 3 from them."""
    seconds, peak = in_fresh_process(training_seconds, 200 if quick else 1)
    minutes = seconds * N_SPLITS / N_CORES / 60
    note = "one split of the surrogate, which has the size of Adult, in a process of its own"
    return [
        Measurement("adult_split_seconds", seconds, "s", note=note),
        Measurement("adult_split_peak_gb", peak / GB, "GB", note=note),
        Measurement(
            "adult_table_3_minutes", minutes, "min", note=f"{N_SPLITS} splits on {N_CORES} cores, from one split"
        ),
    ]


def training_seconds(shorter: int) -> float:
    """Return the seconds of training on one split, with so many times fewer steps than the paper's, on one thread."""
    import tensorflow as tf

    from fairlab.data import load
    from fairlab.papers.individual_fairness.trials import train
    from fairlab.seeds import Trial

    tf.config.threading.set_intra_op_parallelism_threads(1)
    dataset = load("adult-individual", surrogate=True)
    steps = {"network_steps": 8_000, "sensr_steps": 20_000, "reductions_iterations": 50}
    start = time.perf_counter()
    train(
        Trial("benchmark", 0), study="adult", dataset=dataset, **{name: -(-n // shorter) for name, n in steps.items()}
    )
    return time.perf_counter() - start


def adult_like(n_points: int) -> SimpleNamespace:
    """Return points, labels, a network and a metric of the sizes of the study on Adult."""
    from fairlab.fair_metric import FairMetric
    from fairlab.networks import initial_network

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_points, N_FEATURES)).astype(np.float32)
    return SimpleNamespace(
        X=X,
        y=(X[:, 0] + rng.logistic(size=n_points) > 1).astype(int),
        network=initial_network(rng, (N_FEATURES, N_HIDDEN, 2)),
        metric=FairMetric.from_directions(rng.normal(size=(2, N_FEATURES))),
    )


def sensr_like_adult(n_networks: int, n_steps: int) -> list[tuple]:
    """Return what SenSR's training takes, for some networks: people, labels, network, batches, directions, settings."""
    from fairlab.networks import initial_network
    from fairlab.papers.individual_fairness.learners import SenSR, balanced_batches

    people, work = adult_like(4 * N_POINTS), []
    for seed in range(n_networks):
        rng = np.random.default_rng(seed)
        network = initial_network(rng, (N_FEATURES, 100, 2), bias=0.1)
        batches = balanced_batches(rng, people.y, n_steps, 1000)
        work.append((people.X, people.y, network, batches, rng.normal(size=(2, N_FEATURES)), SenSR()))
    return work


def dense_attack(directions, settings):
    """Attack as `fairlab.papers.individual_fairness.sensr.compiled_attack`, asking the network at every step."""
    from fairlab.fair_metric import FairMetric
    from fairlab.networks import adam
    from fairlab.papers.individual_fairness.sensr import EPSILON

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


def attack(audit: SimpleNamespace, n_steps: int):
    """Attack all points at once."""
    from fairlab.individual_fairness import gradient_flow_attack
    from fairlab.papers.individual_fairness.learners import BalancedMLP

    model = BalancedMLP().with_fitted({"network_": audit.network})
    return gradient_flow_attack(model, audit.metric, audit.X, audit.y, n_steps=n_steps, **OPTIONS)


def attack_point_by_point(audit: SimpleNamespace, n_points: int, n_steps: int) -> list[np.ndarray]:
    """Attack the first points as TensorFlow tutorials do: an eager tape for each step of each point."""
    import tensorflow as tf

    from fairlab.networks import forward

    network = [tf.constant(layer) for layer in audit.network]
    projection = tf.constant(audit.metric.projection, tf.float32)
    images = []
    for point, label in zip(audit.X[:n_points], audit.y[:n_points], strict=True):
        start = tf.constant(point[None])
        image, label = start, tf.constant([label])
        for _ in range(n_steps):
            with tf.GradientTape() as tape:
                tape.watch(image)
                probability = tf.nn.softmax(forward(network, image))
                loss = tf.keras.losses.sparse_categorical_crossentropy(label, probability)
                distance = tf.reduce_sum(tf.square((image - start) @ projection))
                objective = loss - OPTIONS["regularizer"] * distance
            image = image + OPTIONS["step_size"] * tape.gradient(objective, image)
        images.append(image.numpy()[0])
    return images
