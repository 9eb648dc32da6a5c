"""Transport: GAN ensembles against the usual Keras loop, and exact solvers from 500 to 10,000 points a side."""

import time
from itertools import pairwise

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from fairlab.benchmarks import Measurement, benchmark, in_fresh_process, measure, speed_up

SMALL = (128, 128)
BIG = (512,) * 4
PENALTY = 1e-4
PAPER_STEPS = 20_000
ENSEMBLES = (1, 10, 100)
GB = 1e9


def lipton_like(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two groups of `n` points with the shape of FlipTest's hiring data (section 5.3), scaled together."""
    rng = np.random.default_rng(0)
    groups = [
        np.column_stack([rng.poisson(experience, n) - rng.normal(20, 0.2, n), 35 * rng.beta(2, hair, n)])
        for experience, hair in ((31, 7), (25, 2))
    ]
    both = np.concatenate(groups)
    source, target = ((group - both.mean(axis=0)) / both.std(axis=0) for group in groups)
    return source, target


def eight_features(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two groups of `n` points with as many features as the Strategic Subject List has predictors."""
    source, target = np.random.default_rng(0).normal(size=(2, n, 8))
    return source, target + np.linspace(0, 1, 8)


@benchmark
def gan_small(*, quick: bool) -> list[Measurement]:
    """Lipton's networks: ensembles of 1, 10 and 100 against a per-step Keras loop, and the ten maps of table 1."""
    groups = lipton_like(500 if quick else 10_000)
    n_steps = dict.fromkeys(ENSEMBLES, 5) if quick else {1: 1_000, 10: 1_000, 100: 100}
    rows, step = ensemble_rows("gan_small", SMALL, groups, n_steps, n_keras_steps=1 if quick else 5)
    one_thread = compiled_step(SMALL, groups, n_maps=10, n_steps=5 if quick else 500, n_threads=1)
    blocks = "one step of one map in an ensemble of ten"
    n_whole, share = (5, 1) if quick else (PAPER_STEPS // 4, 4)  # a part is enough: all steps take the same time
    whole = measure(lambda: fit(SMALL, groups, 10, n_whole), repeats=1) * share
    return [
        *rows,
        speed_up("gan_small_10_per_map_vs_1", baseline=step[1], ours=step[10] / 10, note=f"{blocks}, on all cores"),
        speed_up(
            "gan_small_10_one_thread_per_map_vs_1", baseline=step[1], ours=one_thread / 10, note=f"{blocks}, one thread"
        ),
        share_of_gemm("gan_small_100_share_of_gemm", SMALL, groups[0].shape[1], step[100] / 100),
        Measurement(
            "gan_small_10_seconds", whole, "s", note=f"ten Lipton maps of table 1: {share} times {n_whole} steps"
        ),
    ]


@benchmark
def gan_big(*, quick: bool) -> list[Measurement]:
    """Networks of the Strategic Subject List: ensembles of 1, 10 and 100 against a per-step Keras loop."""
    n_steps = dict.fromkeys(ENSEMBLES, 1) if quick else {1: 200, 10: 20, 100: 4}
    groups = eight_features(500 if quick else 10_000)
    layers = (16,) * len(BIG) if quick else BIG
    rows, step = ensemble_rows("gan_big", layers, groups, n_steps, n_keras_steps=1 if quick else 3)
    note = "one step of one map in an ensemble of ten, on all cores"
    return [*rows, speed_up("gan_big_10_per_map_vs_1", baseline=step[1], ours=step[10] / 10, note=note)]


def ensemble_rows(name, hidden_layers, groups, n_steps, *, n_keras_steps) -> tuple[list[Measurement], dict[int, float]]:
    """Return the rows of all sizes of ensemble, and the seconds of a step of each size.

    Parameters
    ----------
    n_steps : dict of int to int
        Number of generator steps to time, by the size of the ensemble.
    """
    keras_step = measure(keras_stepper(*groups, hidden_layers), repeats=n_keras_steps)
    step = {size: compiled_step(hidden_layers, groups, n_maps=size, n_steps=n) for size, n in n_steps.items()}
    rows = [
        Measurement(f"{name}_per_step_seconds_per_map", keras_step * PAPER_STEPS, "s", note=extrapolated(n_keras_steps))
    ]
    for size, seconds in step.items():
        note = f"one generator step of one map, in an ensemble of {size}"
        per_map = seconds / size * PAPER_STEPS
        rows += [
            speed_up(f"{name}_{size}_vs_per_step", baseline=keras_step, ours=seconds / size, note=note),
            Measurement(f"{name}_{size}_seconds_per_map", per_map, "s", note=extrapolated(n_steps[size])),
        ]
    return rows, step


def share_of_gemm(name: str, hidden_layers, n_features: int, seconds: float, batch: int = 64) -> Measurement:
    """Return what share of the speed of this machine's matrix products, one a core, a generator step reaches."""
    width = hidden_layers[0]
    a, b = np.random.default_rng(0).normal(size=(2, 20, max(batch, width), width)).astype(np.float32)
    with threadpool_limits(1):
        product = measure(lambda: a[:, :batch] @ b[:, :width], repeats=20) / len(a)
    rate = 2 * batch * width**2 / product * joblib.cpu_count()
    note = f"against NumPy's products of {batch} x {width} by {width} x {width}, one a core"
    share = step_operations(hidden_layers, n_features, batch) / seconds / rate
    return Measurement(name, share, "of their speed", note=note)


def step_operations(hidden_layers, n_features: int, batch: int = 64, critic_steps: int = 5) -> int:
    """Return the floating point operations of the matrix products of one generator step."""

    def products(n_out, first=True):
        sizes = [n_in * n_out for n_in, n_out in pairwise((n_features, *hidden_layers, n_out))]
        return sum(sizes if first else sizes[1:])

    generator, critic = products(n_features), products(1)
    # Forward, gradients by weights, and by the inputs of all layers but the first.
    per_critic_update = 2 * critic + products(1, first=False)
    own_step = 2 * critic + 2 * generator + products(n_features, first=False)
    return 2 * batch * (critic_steps * (generator + 2 * per_critic_update) + own_step)


def extrapolated(n_steps: int) -> str:
    """Say what a time rests on."""
    return f"extrapolated from {n_steps} of {PAPER_STEPS} steps, without compilation"


def compiled_step(hidden_layers, groups, *, n_maps: int, n_steps: int, n_threads: int | None = None) -> float:
    """Return the seconds of one generator step of an ensemble, compilation left out."""
    fit(hidden_layers, groups, n_maps, 1, n_threads)
    return measure(lambda: fit(hidden_layers, groups, n_maps, n_steps, n_threads)) / n_steps


def fit(hidden_layers, groups, n_maps, n_steps, n_threads=None):
    """Train one map alone, or an ensemble."""
    from fairlab.transport import GANTransport, fit_gans

    options = {"hidden_layers": hidden_layers, "penalty": PENALTY, "n_steps": n_steps}
    return fit_gans([GANTransport(random_state=k, **options) for k in range(n_maps)], *groups, n_threads=n_threads)


def keras_stepper(source, target, hidden_layers):
    """Return a function that takes one generator step the way Keras tutorials do, warmed up.

    Five critic steps, each of ``predict`` on a source batch, ``train_on_batch`` on a target batch and on the
    generated one, and clipping through ``get_weights``; then ``train_on_batch`` of the combined model.
    """
    import keras

    def network(n_out):
        layers = [keras.layers.Dense(width, activation="relu") for width in hidden_layers]
        return keras.Sequential([keras.Input((source.shape[1],)), *layers, keras.layers.Dense(n_out)])

    def mean_times(sign, output):
        return keras.ops.mean(sign * output)

    def squared_l1_move(x, image):
        return keras.ops.mean(keras.ops.square(keras.ops.sum(keras.ops.abs(x - image), axis=1)))

    def optimizer():
        return keras.optimizers.RMSprop(5e-5)

    source, target = source.astype(np.float32), target.astype(np.float32)
    rng = np.random.default_rng(0)
    batch_size, clip = 64, 0.01
    ones = np.ones((batch_size, 1))
    generator, critic = network(source.shape[1]), network(1)
    critic.compile(optimizer(), loss=mean_times)
    # Keras fixes what a model trains at its first batch, so the critic has to see one before it is frozen.
    critic.train_on_batch(target[:batch_size], ones)
    critic.trainable = False
    inputs = keras.Input((source.shape[1],))
    image = generator(inputs)
    combined = keras.Model(inputs, [critic(image), image])
    combined.compile(optimizer(), loss=[mean_times, squared_l1_move], loss_weights=[1, PENALTY])

    def step():
        for _ in range(5):
            fake = generator.predict(source[rng.integers(len(source), size=batch_size)], verbose=0)
            critic.train_on_batch(target[rng.integers(len(target), size=batch_size)], ones)
            critic.train_on_batch(fake, -ones)
            for layer in critic.layers:
                layer.set_weights([np.clip(weights, -clip, clip) for weights in layer.get_weights()])
        batch = source[rng.integers(len(source), size=batch_size)]
        combined.train_on_batch(batch, [ones, batch])

    step()
    return step


DEFAULT_SOLVER = "network_simplex"
# The Hungarian algorithm takes minutes on the next size, and the linear program refuses it.
SIZES = {
    DEFAULT_SOLVER: (500, 1_000, 2_000, 5_000, 10_000),
    "hungarian": (500, 1_000, 2_000),
    "lp": (125, 250, 500),
}


@benchmark
def exact(*, quick: bool) -> list[Measurement]:
    """Exact solvers: seconds, peak memory, and the power of the number of points that the seconds grow with."""
    rows = []
    for solver, sizes in SIZES.items():
        name = "exact" if solver == DEFAULT_SOLVER else f"exact_{solver}"
        sizes = (50, 100) if quick else sizes
        measured = {n: in_fresh_process(exact_seconds, n, solver) for n in sizes}
        for n, (seconds, peak) in measured.items():
            note = f"{n} x {n} points by {solver}, in a process of its own"
            rows += [
                Measurement(f"{name}_{n}_seconds", seconds, "s", note=note),
                Measurement(f"{name}_{n}_peak_gb", peak / GB, "GB", note=note),
            ]
        power = np.polyfit(np.log(sizes), np.log([seconds for seconds, _ in measured.values()]), 1)[0]
        rows.append(Measurement(f"{name}_growth", power, "power of n", note=f"fitted to n = {sizes[0]} to {sizes[-1]}"))
    return rows + peers(100 if quick else 2_000)


def peers(n: int) -> list[Measurement]:
    """Return how the default solver compares with POT's and SciPy's own, asked for the same plan of `n` x `n` points.

    Ours checks the input, proves the plan optimal and keeps who goes to whom.
    """
    import ot
    from scipy.optimize import linear_sum_assignment

    from fairlab.transport import squared_l1

    costs, weight = squared_l1(*lipton_like(n)), np.full(n, 1 / n)
    ours = exact_seconds(n, DEFAULT_SOLVER)
    solvers = {
        "pot": ("ot.emd", lambda: ot.emd(weight, weight, costs, numItermax=2**62)),
        "scipy": ("scipy.optimize.linear_sum_assignment", lambda: linear_sum_assignment(costs)),
    }
    return [
        speed_up(f"exact_{n}_vs_{name}", baseline=measure(solve), ours=ours, note=f"{function}, {n} x {n} points")
        for name, (function, solve) in solvers.items()
    ]


def exact_seconds(n: int, solver: str) -> float:
    """Return the seconds that an exact transport of `n` x `n` points takes."""
    from fairlab.transport import ExactTransport, squared_l1

    source, target = lipton_like(n)
    start = time.perf_counter()
    ExactTransport(solver=solver, cost=squared_l1).fit(source, target)
    return time.perf_counter() - start
