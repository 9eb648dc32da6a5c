"""ADF's local phase: walk from discriminatory inputs along attributes that matter little (Algorithms 3 and 4).

Two readings. `as_published` accepts moves as SciPy's basinhopping does at temperature 1, which no listing mentions: a
discriminatory input always, another one with probability 1/e if it would replace a discriminatory one. The partner's
values stay those of the global phase, and negative values bring in neighbours (see `truncated_neighbours`).
`as_described` is Algorithm 3: every move is kept, and the partner is looked up anew wherever there is one.
"""

from collections.abc import Iterator

import numpy as np

from fairlab.adf.discrimination import Partners
from fairlab.adf.result import Trace
from fairlab.cases.schema import Schema
from fairlab.networks import Network

ACCEPT_WORSE = np.exp(-1)  # basinhopping at temperature 1, where the objective rises from 0 to 1


def run_local_phase(
    network: Network,
    starts: np.ndarray,
    partner: np.ndarray,
    seed: np.ndarray,
    *,
    schema: Schema,
    sensitive,
    n_steps: int,
    reading: str,
    rng: np.random.Generator,
    refresh: int = 1,
) -> Iterator[Trace]:
    """Walk from all starts together; yield the starts, then what each step evaluated, the candidates first.

    Parameters
    ----------
    starts : ndarray of int of shape (n, n_attributes)
        Discriminatory inputs.
    partner : ndarray of int of shape (n, n_sensitive)
        Protected values that give each another class.
    seed : ndarray of int of shape (n,)
        What to call each in the traces.
    refresh : int
        Steps for which the odds of the attributes are kept.
    """
    partners = Partners(network.predict, sensitive, schema=schema)
    columns, low, high = partners.columns, schema.low, schema.high
    X, anchor = starts, partner

    def evaluate(inputs, owner):
        return Trace(inputs, partners(inputs), owner)

    first = evaluate(X, seed)
    yield first
    found = first.partner >= 0  # not so of a start whose partner lies outside of the schema
    for number in range(n_steps if len(X) else 0):
        if number % refresh == 0:
            other = X.copy()
            other[:, columns] = anchor
            weights = attribute_weights(*saliency(network, X, other, reading), columns)
        chosen = (weights.cumsum(axis=1) > rng.random((len(X), 1))).argmax(axis=1)
        moved = X.copy()
        moved[np.arange(len(X)), chosen] += rng.choice([-1, 1], len(X))
        moved = np.clip(moved, low, high)
        step = evaluate(moved, seed)
        hit = step.partner >= 0
        if reading == "as_published":
            neighbours, owner = truncated_neighbours(moved)
            yield Trace.join([step, evaluate(neighbours, seed[owner])], X.shape[1]) if len(owner) else step
            accepted = hit | ~found | (rng.random(len(X)) < ACCEPT_WORSE)
        else:
            yield step
            anchor = np.where(hit[:, None], partners.values[step.partner], anchor)
            accepted = np.ones(len(X), dtype=bool)
        X = np.where(accepted[:, None], moved, X)
        found = np.where(accepted, hit, found)


def saliency(network: Network, X: np.ndarray, other: np.ndarray, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the absolute gradients of both sides of each pair, up to a factor that they share.

    As described, the gradient of the loss is that of the margin times the other class's probability, which is carried
    as a logarithm so that it does not vanish.
    """
    if reading == "as_published":
        return np.abs(network.loss_gradient(X)).astype(float), np.abs(network.loss_gradient(other)).astype(float)
    sides = [network.margin_gradient(side) for side in (X, other)]
    logs = np.stack([-np.logaddexp(0, margin.astype(float)) for margin, _ in sides])
    factors = np.exp(logs - logs.max(axis=0))
    first, second = (factor[:, None] * np.abs(g).astype(float) for factor, (_, g) in zip(factors, sides, strict=True))
    return first, second


def attribute_weights(first: np.ndarray, second: np.ndarray, sensitive: np.ndarray) -> np.ndarray:
    """Return the probability of moving along each attribute, in inverse proportion to both gradients (Algorithm 4).

    Attributes of zero gradient share everything between them; protected ones have none.
    """
    total = first + second
    total[:, sensitive] = np.inf
    zero = total == 0
    with np.errstate(divide="ignore"):
        weights = np.where(zero.any(axis=1, keepdims=True), zero, 1 / total)
    return weights / weights.sum(axis=1, keepdims=True)


def truncated_neighbours(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs that a finite difference of 1e-8 turns into others, since -3 + 1e-8 is truncated to -2.

    The inner minimiser of basinhopping evaluates them; its line search on top of that is not followed here.

    Returns
    -------
    inputs : ndarray of int of shape (n_negative, n_attributes)
    owner : ndarray of int of shape (n_negative,)
        Row of `X` that each comes from.
    """
    owner, column = np.nonzero(X < 0)
    neighbours = X[owner]
    neighbours[np.arange(len(owner)), column] += 1
    return neighbours, owner
