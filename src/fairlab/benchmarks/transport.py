"""Transport: GAN ensembles against the usual Keras loop, one step at a time."""

import numpy as np

from fairlab.benchmarks import Measurement, benchmark, measure, speed_up

SMALL_LAYERS = (128, 128)
LARGE_LAYERS = (512,) * 4
PENALTY = 1e-4
ENSEMBLES = (1, 10, 100)


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
    """Lipton's networks: ensembles of 1, 10 and 100 against a per-step Keras loop and against matrix products."""
    groups = lipton_like(500 if quick else 10_000)
    n_steps = dict.fromkeys(ENSEMBLES, 5) if quick else {1: 1_000, 10: 1_000, 100: 100}
    return ensemble_rows("gan_small", SMALL_LAYERS, groups, n_steps, n_keras_steps=1 if quick else 5)


@benchmark
def gan_big(*, quick: bool) -> list[Measurement]:
    """Networks of the Strategic Subject List: ensembles of 1, 10 and 100 against a per-step Keras loop."""
    n_steps = dict.fromkeys(ENSEMBLES, 1) if quick else {1: 200, 10: 20, 100: 4}
    groups = eight_features(500 if quick else 10_000)
    layers = (16,) * len(LARGE_LAYERS) if quick else LARGE_LAYERS
    return ensemble_rows("gan_big", layers, groups, n_steps, n_keras_steps=1 if quick else 3)


def ensemble_rows(name, hidden_layers, groups, n_steps, *, n_keras_steps) -> list[Measurement]:
    """Return the rows of all sizes of ensemble.

    Parameters
    ----------
    n_steps : dict of int to int
        Number of generator steps to time, by the size of the ensemble.
    """
    keras_step = measure(keras_stepper(*groups, hidden_layers), repeats=n_keras_steps)
    step = {size: seconds_per_step(hidden_layers, groups, size, n) for size, n in n_steps.items()}
    note = "one generator step of one map on all cores, compilation left out"
    rows = [
        speed_up(f"{name}_{size}_vs_per_step", baseline=keras_step, ours=seconds / size, note=f"{note}, {size} at once")
        for size, seconds in step.items()
    ]
    among_ten = speed_up(f"{name}_10_per_map_vs_1", baseline=step[1], ours=step[10] / 10, note=f"{note}, ten at once")
    return [*rows, among_ten]


def seconds_per_step(hidden_layers, groups, n_maps: int, n_steps: int) -> float:
    """Return the seconds of one generator step of an ensemble, compilation left out."""
    from fairlab.papers.fliptest.training import fit_gans
    from fairlab.transport import GANTransport

    def fit(n_steps):
        options = {"hidden_layers": hidden_layers, "penalty": PENALTY, "n_steps": n_steps}
        fit_gans([GANTransport(random_state=k, **options) for k in range(n_maps)], *groups)

    fit(1)
    return measure(lambda: fit(n_steps)) / n_steps


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
    # Keras fixes a model's trainable weights at its first batch, so the critic has to see one before it is frozen.
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
