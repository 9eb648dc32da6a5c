"""Transport: the compiled GAN against the usual Keras loop, and the exact plan of 10,000 x 10,000 points."""

import time

import numpy as np

from fairlab.benchmarks import Row, benchmark, in_fresh_process, measure, speed_up

HIDDEN_LAYERS = (128, 128)
PENALTY = 1e-4
PAPER_STEPS = 20_000
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


@benchmark
def gan_small(*, quick: bool) -> list[Row]:
    """Lipton's network: a compiled step against a per-step Keras one, and ten maps against one."""
    from fairlab.transport.gan import BLOCK

    n_steps, n_keras_steps = (40, 1) if quick else (1_000, 5)
    source, target = lipton_like(500 if quick else 10_000)
    keras_step = measure(keras_stepper(source, target), repeats=n_keras_steps)
    step_of_1 = compiled_seconds(source, target, n_maps=1, n_steps=n_steps) / n_steps
    step_of_10 = compiled_seconds(source, target, n_maps=10, n_steps=n_steps) / n_steps
    on_one_thread = compiled_seconds(source, target, n_maps=10, n_steps=n_steps, n_threads=1) / n_steps
    blocks = f"one step of one map; ten are trained in batches of {BLOCK}"
    extrapolated = f"extrapolated from {n_steps} of {PAPER_STEPS} steps, without compilation"
    return [
        speed_up("gan_small_1_vs_per_step", baseline=keras_step, ours=step_of_1, note="one generator step"),
        speed_up("gan_small_10_per_map_vs_1", baseline=step_of_1, ours=step_of_10 / 10, note=f"{blocks}, on all cores"),
        speed_up(
            "gan_small_10_one_thread_per_map_vs_1",
            baseline=step_of_1,
            ours=on_one_thread / 10,
            note=f"{blocks}, one after the other",
        ),
        Row("gan_small_1_seconds", step_of_1 * PAPER_STEPS, "s", note=extrapolated),
        Row("gan_small_10_seconds", step_of_10 * PAPER_STEPS, "s", note=extrapolated),
    ]


def compiled_seconds(source, target, *, n_maps: int, n_steps: int, n_threads: int | None = None) -> float:
    """Return the seconds that one map or an ensemble takes for `n_steps`, compilation left out."""
    from fairlab.transport import GANEnsemble, GANTransport

    def fit(n_steps):
        options = {"hidden_layers": HIDDEN_LAYERS, "penalty": PENALTY, "n_steps": n_steps}
        alone = n_maps == 1
        model = GANTransport(**options) if alone else GANEnsemble(range(n_maps), n_threads=n_threads, **options)
        model.fit(source, target)

    fit(1)
    return measure(lambda: fit(n_steps))


def keras_stepper(source, target):
    """Return a function that takes one generator step the way Keras tutorials do, warmed up.

    Five critic steps, each of ``predict`` on a source batch, ``train_on_batch`` on a target batch and on the
    generated one, and clipping through ``get_weights``; then ``train_on_batch`` of the combined model.
    """
    import keras

    def network(n_out):
        layers = [keras.layers.Dense(width, activation="relu") for width in HIDDEN_LAYERS]
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


@benchmark
def exact_10000(*, quick: bool) -> list[Row]:
    """Exact transport of 10,000 x 10,000 points by the network simplex: seconds and peak memory."""
    n = 500 if quick else 10_000
    seconds, peak = in_fresh_process(exact_seconds, n)
    note = f"{n} x {n} points, the default solver, in a process of its own"
    return [
        Row("exact_10000_peak_gb", peak / GB, "GB", note=note),
        Row("exact_10000_seconds", seconds, "s", note=note),
    ]


def exact_seconds(n: int) -> float:
    """Return the seconds that an exact transport of `n` x `n` points takes."""
    from fairlab.transport import ExactTransport

    source, target = lipton_like(n)
    start = time.perf_counter()
    ExactTransport().fit(source, target)
    return time.perf_counter() - start
