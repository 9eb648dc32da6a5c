"""Aequitas (Udeshi, Arora, Chattopadhyay 2018): random draws, then walks whose odds are learned along the way.

Two readings. `as_published` is the version behind the tables of ADF: its walks may move the protected attributes, and a
move is accepted by whether the *value* of the protected attribute that flips the class is 0, which has to do with
discrimination only by accident; where the values start at 1, every move is accepted. `as_described` moves the other
attributes only and keeps every move.
"""

import time
from collections.abc import Iterator

import numpy as np

from fairlab.adf.decisions import as_classes
from fairlab.adf.discrimination import Partners, sensitive_columns
from fairlab.adf.generation import clock, collect
from fairlab.adf.global_phase import READINGS
from fairlab.adf.local_phase import ACCEPT_WORSE, truncated_neighbours
from fairlab.adf.result import SearchResult, Trace, repeated
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_seed

STRATEGIES = ("random", "semi_directed", "fully_directed")
LEARNING_RATE = 0.001


class Aequitas:
    """Search by walks from discriminatory random draws; the odds of all moves are shared by all walks.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
    schema : Schema
    sensitive : str or sequence of str
    strategy : {"fully_directed", "semi_directed", "random"}
        Whether the odds of both attribute and direction are learned, of the direction only, or nothing.
    n_local : int
        Steps of every walk.
    in_flight : int
        Walks that advance together and see the same odds; 1 is the original, one walk after the other. On census and
        age and on credit and gender, 1, 8 and 32 differ no more than runs with other seeds do.
    n_walks : int
        Walks from every discriminatory draw.
    reading : {"as_described", "as_published"}
    threshold : float or None
        For models that give scores: the class is whether the score is at least this.
    random_state : int, Generator or None

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema, or a parameter is out of range.
    """

    def __init__(
        self,
        model,
        schema: Schema,
        sensitive,
        *,
        strategy: str = "fully_directed",
        n_local: int = 1000,
        in_flight: int = 32,
        n_walks: int = 1,
        reading: str = "as_described",
        threshold: float | None = None,
        random_state=0,
    ):
        self.classify = as_classes(model, threshold=threshold)
        sensitive_columns(schema, sensitive)
        self._partners = Partners(self.classify, sensitive, schema=schema)
        for name, value, known in (("strategy", strategy, STRATEGIES), ("reading", reading, READINGS)):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, found {value!r}")
        self.schema, self.sensitive, self.strategy, self.reading = schema, sensitive, strategy, reading
        self.n_local = check_count(n_local, "n_local", least=0)
        self.in_flight = check_count(in_flight, "in_flight")
        self.n_walks = check_count(n_walks, "n_walks")
        self.random_state = check_seed(random_state)

    def generate(
        self, *, n_samples: int = 1000, time_limit: float | None = None, max_found: int | None = None
    ) -> SearchResult:
        """Draw `n_samples` uniform inputs and walk from those that are discriminatory.

        Parameters
        ----------
        n_samples : int
        time_limit : float or None
            Seconds.
        max_found : int or None
            Stop after the step that reaches so many distinct discriminatory inputs.
        """
        started, rng = time.perf_counter(), np.random.default_rng(self.random_state)
        n_samples = check_count(n_samples, "n_samples")
        return self._search(self.schema.sample(n_samples, random_state=rng), rng, started, time_limit, max_found)

    def local_search(self, starts, *, time_limit: float | None = None, max_found: int | None = None) -> SearchResult:
        """Walk from those of the given inputs that are discriminatory.

        Parameters
        ----------
        starts : array of int of shape (n, n_attributes)
        time_limit, max_found
            As for `generate`.
        """
        started, rng = time.perf_counter(), np.random.default_rng(self.random_state)
        return self._search(self.schema.check(starts, "starts"), rng, started, time_limit, max_found)

    def local_evaluations(self, starts) -> Trace:
        """Return every input that `local_search` evaluates, repeats included."""
        return Trace.join(list(self.steps(starts)), len(self.schema.bounds))

    def steps(self, starts) -> Iterator[Trace]:
        """Yield the given inputs, then what each step of a walk evaluates, the candidates of the walks first."""
        starts = self.schema.check(starts, "starts")
        return self._steps(starts, np.zeros(len(starts), dtype=bool), np.random.default_rng(self.random_state))

    def _search(self, draws, rng, started, time_limit, max_found) -> SearchResult:
        stop = clock(time_limit)
        successful = np.zeros(len(draws), dtype=bool)
        steps = self._steps(draws, successful, rng)
        trace = collect(steps, self.schema, self.sensitive, stop=stop, max_found=max_found)
        return SearchResult.count(
            trace,
            schema=self.schema,
            sensitive=self.sensitive,
            iterations=np.zeros(len(draws), dtype=int),
            successful=successful,
            seconds=time.perf_counter() - started,
        )

    def _steps(self, draws, successful, rng) -> Iterator[Trace]:
        """Yield the draws, then what the walks evaluate; note in `successful` which draws start one."""
        first, _ = self._evaluate(draws, np.arange(len(draws)))
        yield first
        hits = np.flatnonzero(first.partner >= 0)
        hits = hits[~repeated(draws[hits], self.schema.positions(self.sensitive))]
        successful[hits] = True
        hits = np.tile(hits, self.n_walks)
        odds = Odds.even(self.schema, self.sensitive, self.strategy, all_attributes=self.reading == "as_published")
        for start in range(0, len(hits), self.in_flight):
            block = hits[start : start + self.in_flight]
            yield from self._walk(draws[block], block, odds, rng)

    def _walk(self, X, seed, odds, rng) -> Iterator[Trace]:
        _, objective = self._evaluate(X, seed)
        for _ in range(self.n_local):
            column, step = odds.draw(X, rng)
            moved = X.copy()
            moved[np.arange(len(X)), column] += step
            moved = np.clip(moved, odds.low, odds.high)
            trace, value = self._evaluate(moved, seed)
            odds.learn(column, step, trace.partner >= 0)
            if self.reading == "as_described":
                yield trace
                X = moved
                continue
            neighbours, owner = truncated_neighbours(moved)
            yield Trace.join([trace, self._evaluate(neighbours, seed[owner])[0]], X.shape[1]) if len(owner) else trace
            accepted = (value <= objective) | (rng.random(len(X)) < ACCEPT_WORSE)
            X = np.where(accepted[:, None], moved, X)
            objective = np.where(accepted, value, objective)

    def _evaluate(self, X, seed) -> tuple[Trace, np.ndarray]:
        """Return the inputs with their partners, and the objective as it was coded: whether a protected value is 0."""
        partner = self._partners(X)
        value = np.where((partner >= 0)[:, None], self._partners.values[partner], X[:, self._partners.columns])
        return Trace(X, partner, seed), (value == 0).all(axis=1)


class Odds:
    """Learned odds of moves: which attribute, and which direction.

    Attributes
    ----------
    attribute : ndarray of shape (n_attributes,)
        Probability of moving along each attribute.
    down : ndarray of shape (n_attributes,)
        Probability of moving it by -1 rather than +1.
    """

    def __init__(self, schema: Schema, attribute: np.ndarray, strategy: str):
        self.low, self.high = schema.low, schema.high
        self.attribute = attribute
        self.down = np.full(len(attribute), 0.5)
        self.strategy = strategy

    @classmethod
    def even(cls, schema: Schema, sensitive, strategy: str, *, all_attributes: bool) -> "Odds":
        """Return odds that favour no attribute; protected ones are left out unless `all_attributes`."""
        weights = np.ones(len(schema.bounds))
        if not all_attributes:
            weights[schema.positions(sensitive)] = 0
        return cls(schema, weights / weights.sum(), strategy)

    def draw(self, X: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        """Return for every input the attribute to move, and -1 or +1; a fair coin at a bound."""
        summed = self.attribute.cumsum()
        column = (summed / summed[-1]).searchsorted(rng.random(len(X)), side="right")
        value = X[np.arange(len(X)), column]
        at_bound = (value <= self.low[column]) | (value >= self.high[column])
        down = np.where(at_bound, 0.5, self.down[column])
        return column, np.where(rng.random(len(X)) < down, -1, 1)

    def learn(self, column: np.ndarray, step: np.ndarray, found: np.ndarray) -> None:
        """Shift the odds by what the moves just made led to, all moves at once."""
        n = len(self.attribute)
        if self.strategy != "random":
            towards_down = np.where((step == -1) == found, 1, -1)
            self.down = np.clip(self.down + LEARNING_RATE * np.bincount(column, towards_down, n), 0, 1)
        if self.strategy == "fully_directed":
            shifted = self.attribute + LEARNING_RATE * np.bincount(column, np.where(found, 1, -1), n)
            shifted = np.maximum(shifted, 0)
            if shifted.any():
                self.attribute = shifted / shifted.sum()
