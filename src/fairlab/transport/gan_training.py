"""The training loop of FlipTest's Wasserstein GAN (section 3.1, equation 1), compiled, for one map.

Layers have the batch last: of shape (width, batch_size). A network is a vector of the kernel and bias of each layer in
turn, with kernels of shape (n_out, n_in); a second row holds its mean squared gradients. Operations other than matrix
products take one pass each: bias and ReLU over the layer, all of RMSprop over the weights of a layer. The docstring of
each compiled function has a NumPy version, with which tests compare it.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
import scipy.linalg.cython_blas  # noqa: F401  whose products the compiled code takes: loaded before threads are limited

from fairlab import networks
from fairlab.checks import MissingExtraError, required
from fairlab.transport.maps import STEPS_AT_ONCE

try:
    # Sums keep their order ("reassoc" would let it hang on the processor, for nothing: as quick within 2%).
    compiled = required("numba").njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "arcp"})
except MissingExtraError:  # `train_map` says so

    def compiled(function):
        """Leave a function as it is."""
        return function


LOSSES = ["critic", "adversarial", "cost"]
# Up to this many multiplications, OpenBLAS does not copy the matrices first, which makes it faster by a third.
UNPACKED = 1_000_000
FEW = 4  # most parts into which a product is split for speed

# Constants of RMSprop, as in Keras.
RHO = 0.9
EPSILON, DECAY, REST = np.float32(1e-7), np.float32(RHO), np.float32(1 - RHO)
# Smaller mean squares are negligible beside epsilon; they would become denormal numbers, which are slow.
FAINT = np.float32(1e-30)
ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)


def train_map(
    source,
    target,
    *,
    random_state: int,
    penalty: float,
    hidden_layers,
    n_steps: int,
    batch_size: int,
    critic_steps: int,
    learning_rate: float,
    clip: float,
    log_every: int,
):
    """Train one map, which depends on nothing but its data and options.

    Parameters
    ----------
    source, target : array of float32 of shape (n, n_features)
    random_state, penalty, hidden_layers, n_steps, batch_size, critic_steps, learning_rate, clip, log_every
        As for `fairlab.transport.GANTransport`.

    Returns
    -------
    generator : list of ndarray
        See `fairlab.networks`.
    history : DataFrame
        Mean losses by the step of each record; after a record that is not finite, training ends, and the rest are NaN.
    """
    required("numba")
    source, target = map(np.ascontiguousarray, (source, target))  # the loop is compiled once, not for each layout
    widths = (source.shape[1], *hidden_layers, source.shape[1])
    streams = [np.random.default_rng([random_state, stream]) for stream in range(4)]
    of_generator, of_critic, of_source, of_target = streams
    generator = _vector(networks.initial_network(of_generator, widths))
    critic = _vector(networks.initial_network(of_critic, (*widths[:-1], 1)))
    options = np.array(widths), np.float32(penalty), np.float32(learning_rate), np.float32(clip)
    ends = [*range(log_every, n_steps, log_every), n_steps]
    losses = np.full((len(ends), len(LOSSES)), np.nan)
    for record, (start, end) in enumerate(pairwise([0, *ends])):
        total = np.zeros(len(LOSSES))
        for step in range(start, end, STEPS_AT_ONCE):
            # Draws of one generator do not depend on the sizes of the pieces in which they are made.
            size = min(STEPS_AT_ONCE, end - step), critic_steps, batch_size
            to_critic = of_target.integers(len(target), size=size)
            to_generator = of_source.integers(len(source), size=(size[0], size[1] + 1, size[2]))
            total += _steps(source, target, to_generator, to_critic, generator, critic, *options)
        losses[record] = total / (end - start)
        if not np.isfinite(losses[record]).all():
            break
    return _parts(generator[0], widths), pd.DataFrame(losses, index=pd.Index(ends, name="step"), columns=LOSSES)


def _vector(network) -> np.ndarray:
    """Return a network as a vector, with a second row of mean squared gradients of 0."""
    weights = np.concatenate([part.T.ravel() for part in network])
    return np.stack([weights, np.zeros_like(weights)])


def _parts(weights, widths) -> list[np.ndarray]:
    """Return the kernels and biases of a vector."""
    shapes = [shape for n_in, n_out in pairwise(widths) for shape in ((n_out, n_in), (n_out,))]
    parts = np.split(weights, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
    return [np.ascontiguousarray(part.reshape(shape).T) for part, shape in zip(parts, shapes, strict=True)]


@compiled
def _steps(source, target, source_rows, target_rows, generator, critic, widths, penalty, rate, clip):
    """Take generator steps, one for each entry of the rows to draw; return the sums of their losses.

    In NumPy, with `up` and `down` for `_backward` of the networks' mean outputs::

        for step in range(len(source_rows)):
            for k in range(critic_steps):
                real, fake = target[target_rows[step, k]], G(source[source_rows[step, k]])
                on_real, D = D(real).mean(), down(D, real)
                on_fake, D = D(fake).mean(), clip(up(D, fake))
            batch = source[source_rows[step, -1]]
            image = G(batch)
            adversarial, cost = D(image).mean(), (np.abs(image - batch).sum(axis=1) ** 2).mean()
            G = down(G, batch)  # of adversarial + penalty * cost
            losses += [on_real - on_fake, adversarial, cost]

    The second loss sees the critic after the step on the first: two updates, as in the authors' program.
    """
    size, n_layers = source_rows.shape[2], len(widths) - 1
    batch = np.empty((source.shape[1], size), np.float32)
    made = np.empty((n_layers, widths.max(), size), np.float32)
    judged = np.empty_like(made)
    gradient = np.empty((widths[1:] * widths[:-1]).max() + widths.max(), np.float32)
    to_one, even = widths.copy(), ONE / np.float32(size)
    to_one[-1] = 1
    unbounded = np.float32(np.inf)
    on_real, on_fake, losses = ZERO, ZERO, np.zeros(3)
    for step in range(len(source_rows)):
        for k in range(target_rows.shape[1]):
            _gather(target, target_rows[step, k], batch)
            on_real = _forward(critic[0], to_one, batch, judged).mean()
            _backward(critic, to_one, batch, judged, np.full((1, size), even), gradient, rate, unbounded)
            _gather(source, source_rows[step, k], batch)
            fake = _forward(generator[0], widths, batch, made)
            on_fake = _forward(critic[0], to_one, fake, judged).mean()
            _backward(critic, to_one, fake, judged, np.full((1, size), -even), gradient, rate, clip)
        _gather(source, source_rows[step, -1], batch)
        image = _forward(generator[0], widths, batch, made)
        adversarial = _forward(critic[0], to_one, image, judged).mean()
        slopes = _backward(critic, to_one, image, judged, np.full((1, size), even), gradient, ZERO, clip)
        cost = _add_cost(batch, image, penalty, slopes)
        _backward(generator, widths, batch, made, slopes, gradient, rate, unbounded)
        losses += np.array([on_real - on_fake, adversarial, cost])
    return losses


@compiled
def _gather(X, rows, batch):
    """Draw a batch.

    In NumPy::

        batch[:] = X[rows].T
    """
    for i in range(len(rows)):
        for f in range(len(batch)):
            batch[f, i] = X[rows[i], f]


@compiled
def _kernel(vector, end, n_in, n_out):
    """Return the start of the layer that ends at `end`, its kernel and its bias."""
    bias = end - n_out
    start = bias - n_in * n_out
    return start, vector[start:bias].reshape((n_out, n_in)), vector[bias:end]


@compiled
def _part(n, multiplications):
    """Return the size of pieces of `n` with few enough multiplications each."""
    n_parts = -(-multiplications // UNPACKED)
    return -(-n // n_parts) if n_parts <= FEW else n


@compiled
def _forward(weights, widths, batch, outputs):
    """Fill in the outputs of all layers, and return those of the last.

    In NumPy::

        for layer, (kernel, bias) in enumerate(network):
            entering = kernel @ entering + bias[:, None]
            if layer < last:
                entering = np.maximum(entering, 0)
            outputs[layer, : len(entering)] = entering
    """
    entering, end, last = batch, 0, len(widths) - 2
    for layer in range(last + 1):
        n_in, n_out = widths[layer], widths[layer + 1]
        end += (n_in + 1) * n_out
        _, kernel, bias = _kernel(weights, end, n_in, n_out)
        leaving = outputs[layer, :n_out]
        part = _part(n_out, kernel.size * batch.shape[1])
        for j in range(0, n_out, part):
            np.dot(kernel[j : j + part], entering, leaving[j : j + part])
        least = ZERO if layer < last else -np.float32(np.inf)
        for j in range(n_out):
            for i in range(batch.shape[1]):
                value = leaving[j, i] + bias[j]
                leaving[j, i] = least if value < least else value
        entering = leaving
    return entering


@compiled
def _backward(network, widths, batch, outputs, slopes, gradient, rate, clip):
    """Take a step down the loss with these slopes by the last outputs; at rate 0, return the slopes by the batch.

    In NumPy::

        for layer in reversed(range(n_layers)):
            entering = outputs[layer - 1] if layer > 0 else batch
            below = kernel.T @ slopes
            if layer > 0:
                below *= entering > 0
            step_down(kernel, slopes @ entering.T)  # unless the rate is 0
            step_down(bias, slopes.sum(axis=1))
            slopes = below
    """
    end = network.shape[1]
    for layer in range(len(widths) - 2, -1, -1):
        n_in, n_out = widths[layer], widths[layer + 1]
        start, kernel, _ = _kernel(network[0], end, n_in, n_out)
        entering = outputs[layer - 1, :n_in] if layer > 0 else batch
        below = slopes
        if layer > 0 or rate == ZERO:
            below = _below(kernel, slopes)
        if layer > 0:
            for j in range(n_in):
                for i in range(batch.shape[1]):
                    below[j, i] = below[j, i] if entering[j, i] > ZERO else ZERO
        if rate > ZERO:  # the slopes of the layer below no longer need these weights
            own = gradient[: end - start]
            np.dot(slopes, entering.T, own[: kernel.size].reshape((n_out, n_in)))
            for j in range(n_out):
                total = ZERO
                for i in range(batch.shape[1]):
                    total += slopes[j, i]
                own[kernel.size + j] = total
            _rmsprop(network[0, start:end], network[1, start:end], own, rate, clip)
        slopes, end = below, start
    return slopes


@compiled
def _below(kernel, slopes):
    """Return the slopes by the inputs of a layer, from those by the outputs of its kernel."""
    n = slopes.shape[1]
    part = _part(n, kernel.size * n)
    if part == n:
        return np.dot(kernel.T, slopes)
    below = np.empty((kernel.shape[1], n), np.float32)
    for i in range(0, n, part):
        below[:, i : i + part] = np.dot(kernel.T, slopes[:, i : i + part].copy())
    return below


@compiled
def _rmsprop(weights, squares, gradient, rate, clip):
    """Take a step downhill, and clip the weights.

    In NumPy::

        squares[:] = DECAY * squares + REST * gradient**2
        weights[:] = np.clip(weights - rate * gradient / (np.sqrt(squares) + EPSILON), -clip, clip)

    Epsilon is outside the root, as in Keras 2; Keras 3 has it under the root. This matters for a clipped critic, whose
    gradients are small beside sqrt(1e-7): with epsilon under the root the maps of a GAN end far from optimal.
    """
    for i in range(len(weights)):
        square = DECAY * squares[i] + REST * gradient[i] * gradient[i]
        squares[i] = ZERO if square < FAINT else square
        weight = weights[i] - rate * gradient[i] / (np.sqrt(squares[i]) + EPSILON)
        weight = clip if weight > clip else weight
        weights[i] = -clip if weight < -clip else weight


@compiled
def _add_cost(batch, image, penalty, slopes):
    """Return the mean squared L1 move, and add its slopes by the image, times the penalty.

    In NumPy::

        move = np.abs(image - batch).sum(axis=0)
        slopes += penalty * 2 * move / n * np.sign(image - batch)
        return (move**2).mean()
    """
    n_features, n = batch.shape
    total = ZERO
    for i in range(n):
        move = ZERO
        for f in range(n_features):
            move += abs(image[f, i] - batch[f, i])
        total += move * move
        for f in range(n_features):
            slopes[f, i] += penalty * TWO * move / np.float32(n) * np.sign(image[f, i] - batch[f, i])
    return total / np.float32(n)
