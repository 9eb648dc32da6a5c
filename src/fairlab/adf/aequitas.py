"""Aequitas (Udeshi, Arora, Chattopadhyay 2018): random draws, then walks whose odds are learned along the way.

As `"published"`, the version behind the tables, the check returns a *value* of the protected attribute (the one that
flips the class, or the input's own), walks may move the protected attributes, and both the acceptance of a move and
what is learned from it depend on whether that value is 0, which has to do with discrimination only by accident; where
the values start at 1, every move is accepted. `"sound"` moves the other attributes only, learns from discrimination and
keeps every move.
"""

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fairlab.adf.discrimination import (
    Partners,
    SearchMethod,
    SearchResult,
    Trace,
    check_choice,
    clock,
    collect,
    repeated,
    sensitive_columns,
)
from fairlab.adf.generation import ACCEPT_WORSE, VARIANTS, truncated_neighbours
from fairlab.cases.model import wrap_model
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_seed

STRATEGIES = ("random", "semi_directed", "fully_directed")
LEARNING_RATE = 0.001
STEPS_DRAWN = 1000  # at once


class Aequitas(SearchMethod):
    """SearchMethod by walks from discriminatory random draws; the odds of all moves are shared by all walks.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
    schema : Schema
    sensitive_features : str or sequence of str
    strategy : {"fully_directed", "semi_directed", "random"}
        Whether the odds of both attribute and direction are learned, of the direction only, or nothing.
    n_local : int
        Steps of every walk.
    in_flight : int
        Walks of a run that advance together and see the same odds; 1 is the original, one walk after the other. Where
        few draws are discriminatory, more find less: the first walks learn from nothing.
    n_walks : int
        Walks from every discriminatory draw.
    variant : {"sound", "published"}
    decision_threshold : float or None
        For models that give scores: the class is whether the score is at least this.
    random_state : int, Generator or None

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema, or a parameter is out of range.

    Examples
    --------
    >>> from fairlab.adf import Aequitas
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> Aequitas(model, schema, "sex", n_local=20).generate(n_samples=20).n_discriminatory
    2
    """

    def __init__(
        self,
        model,
        schema: Schema,
        sensitive_features,
        *,
        strategy: str = "fully_directed",
        n_local: int = 1000,
        in_flight: int = 32,
        n_walks: int = 1,
        variant: str = "sound",
        decision_threshold: float | None = None,
        random_state=0,
    ):
        self.model, self.schema, self.sensitive_features, self.strategy = model, schema, sensitive_features, strategy
        self.n_local, self.in_flight, self.n_walks = n_local, in_flight, n_walks
        self.variant, self.decision_threshold, self.random_state = variant, decision_threshold, random_state
        self._validate()

    def _validate(self) -> None:
        self.classify = wrap_model(self.model).deciding(self.decision_threshold)
        sensitive_columns(self.schema, self.sensitive_features)
        self._partners = Partners(self.classify, self.sensitive_features, schema=self.schema)
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("variant", self.variant, VARIANTS)
        self._has_negatives = (self.schema.low < 0).any()
        for name, least in (("n_local", 0), ("in_flight", 1), ("n_walks", 1)):
            check_count(getattr(self, name), name, least=least)
        check_seed(self.random_state)

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
        [result] = self._draw_and_search([self.random_state], n_samples, time_limit, max_found)
        return result

    def generate_runs(self, random_states, *, n_samples: int = 1000) -> list[SearchResult]:
        """Return what `generate` finds with each random state; all runs advance together, and share nothing.

        Parameters
        ----------
        random_states : sequence of int
        n_samples : int
        """
        return self._draw_and_search(random_states, n_samples)

    def local_search(self, starts, *, time_limit: float | None = None, max_found: int | None = None) -> SearchResult:
        """Walk from those of the given inputs that are discriminatory.

        Parameters
        ----------
        starts : array of int of shape (n, n_attributes)
        time_limit, max_found
            As for `generate`.
        """
        started, rng = time.perf_counter(), np.random.default_rng(self.random_state)
        [result] = self._search([self.schema.check(starts, "starts")], [rng], started, time_limit, max_found)
        return result

    def local_search_runs(self, starts, random_states) -> list[SearchResult]:
        """Return what `local_search` finds from the starts of each run; see `generate_runs`.

        Parameters
        ----------
        starts : sequence of arrays of int of shape (n, n_attributes)
        random_states : sequence of int
        """
        started, rngs = time.perf_counter(), [np.random.default_rng(state) for state in random_states]
        return self._search([self.schema.check(its, "starts") for its in starts], rngs, started)

    def local_evaluations(self, starts) -> Trace:
        """Return every input that `local_search` evaluates, repeats included."""
        return Trace.join(list(self.steps(starts)), len(self.schema.bounds))

    def steps(self, starts) -> Iterator[Trace]:
        """Yield the given inputs, then what each step of a walk evaluates, the candidates of the walks first."""
        return self.steps_of_runs([starts], [self.random_state])

    def steps_of_runs(self, starts, random_states) -> Iterator[Trace]:
        """Yield the starts of all runs, then what each step evaluates, in the order of the runs.

        Seeds are counted over all runs; parameters as for `local_search_runs`.
        """
        starts = [self.schema.check(its, "starts") for its in starts]
        rngs = [np.random.default_rng(state) for state in random_states]
        return self._steps(starts, np.zeros(sum(map(len, starts)), dtype=bool), rngs)

    def _draw_and_search(self, random_states, n_samples, *limits) -> list[SearchResult]:
        started, n_samples = time.perf_counter(), check_count(n_samples, "n_samples")
        rngs = [np.random.default_rng(state) for state in random_states]
        draws = [self.schema.sample(n_samples, random_state=rng) for rng in rngs]
        return self._search(draws, rngs, started, *limits)

    def _search(self, draws, rngs, started, time_limit=None, max_found=None) -> list[SearchResult]:
        """Return one result for each run."""
        stop, ends = clock(time_limit), np.cumsum([0, *map(len, draws)])
        successful = np.zeros(ends[-1], dtype=bool)
        steps = self._steps(draws, successful, rngs)
        trace = collect(steps, self.schema, self.sensitive_features, stop=stop, max_found=max_found)
        return [
            SearchResult.count(
                trace.of_seeds(low, high),
                schema=self.schema,
                sensitive_features=self.sensitive_features,
                iterations=np.zeros(high - low, dtype=int),
                successful=successful[low:high],
                seconds=(time.perf_counter() - started) / len(draws),
            )
            for low, high in pairwise(ends.tolist())
        ]

    def _steps(self, draws, successful, rngs) -> Iterator[Trace]:
        """Yield the draws of all runs, then what their walks evaluate; note in `successful` which draws start one."""
        ends = np.cumsum([0, *map(len, draws)])
        draws = np.concatenate(draws)
        first, _ = self._evaluate(draws, np.arange(len(draws)))
        yield first
        waiting = []
        for low, high in pairwise(ends):
            hits = low + np.flatnonzero(first.partner[low:high] >= 0)
            hits = hits[~repeated(draws[hits], self.schema.positions(self.sensitive_features))]
            successful[hits] = True
            waiting.append(np.tile(hits, self.n_walks))
        all_attributes = self.variant != "sound"
        odds = Odds.even(
            self.schema, self.sensitive_features, self.strategy, all_attributes=all_attributes, n_runs=len(rngs)
        )
        for start in range(0, max(map(len, waiting)), self.in_flight):
            block = [hits[start : start + self.in_flight] for hits in waiting]
            run = np.repeat(np.arange(len(block)), [len(hits) for hits in block])
            yield from self._walk(draws, np.concatenate(block), run, odds, rngs)

    def _walk(self, draws, seed, run, odds, rngs) -> Iterator[Trace]:
        X, n_walks = draws[seed], np.bincount(run, minlength=len(rngs))
        _, value_is_0 = self._evaluate(X, seed)
        for number in range(self.n_local):
            if number % STEPS_DRAWN == 0:
                n = min(STEPS_DRAWN, self.n_local - number)
                chances = np.concatenate([rng.random((n, m, 3)) for rng, m in zip(rngs, n_walks, strict=True)], axis=1)
            chance = chances[number % STEPS_DRAWN].T
            column, step = odds.draw(X, run, chance)
            moved = X.copy()
            moved[np.arange(len(X)), column] += step
            moved = np.minimum(np.maximum(moved, odds.low), odds.high)  # quicker than `clip` for a few rows
            if self.variant == "sound":
                trace, _ = self._evaluate(moved, seed)
                odds.learn(column, step, trace.partner >= 0, run)
                yield trace
                X = moved
                continue
            tried, owner = moved, seed
            if self._has_negatives:
                neighbours, row = truncated_neighbours(moved)
                tried, owner = np.concatenate([moved, neighbours]), np.concatenate([seed, seed[row]])
            trace, is_0 = self._evaluate(tried, owner)
            is_0 = is_0[: len(X)]
            odds.learn(column, step, self._pays(trace.partner[: len(X)], is_0), run)
            yield trace
            accepted = (is_0 <= value_is_0) | (chance[2] < ACCEPT_WORSE)
            X = np.where(accepted[:, None], moved, X)
            value_is_0 = np.where(accepted, is_0, value_is_0)

    def _pays(self, partner: np.ndarray, is_0: np.ndarray) -> np.ndarray:
        """Return which moves count as a success, as published."""
        return ~is_0

    def _evaluate(self, X, seed) -> tuple[Trace, np.ndarray]:
        """Return the inputs with their partners, and whether the protected value that the check returns is 0."""
        partner = self._partners(X)
        value = np.where((partner >= 0)[:, None], self._partners.values[partner], X[:, self._partners.columns])
        return Trace(X, partner, seed), (value == 0).all(axis=1)


class Odds:
    """Learned odds of moves: which attribute, and which direction, for every run.

    Attributes
    ----------
    attribute : ndarray of shape (n_runs, n_attributes)
        Probability of moving along each attribute.
    down : ndarray of shape (n_runs, n_attributes)
        Probability of moving it by -1 rather than +1.
    """

    def __init__(self, schema: Schema, attribute: np.ndarray, strategy: str):
        self.low, self.high = schema.low, schema.high
        self.attribute = attribute
        self.down = np.full(attribute.shape, 0.5)
        self.strategy = strategy

    @classmethod
    def even(
        cls, schema: Schema, sensitive_features, strategy: str, *, all_attributes: bool, n_runs: int = 1
    ) -> "Odds":
        """Return odds that favour no attribute; protected ones are left out unless `all_attributes`."""
        weights = np.ones((n_runs, len(schema.bounds)))
        if not all_attributes:
            weights[:, schema.positions(sensitive_features)] = 0
        return cls(schema, weights / weights.sum(axis=1, keepdims=True), strategy)

    def draw(self, X: np.ndarray, run: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for every input the attribute to move, and -1 or +1; a fair coin at a bound.

        Parameters
        ----------
        X : ndarray of int of shape (n, n_attributes)
        run : ndarray of int of shape (n,)
            To which run each belongs.
        chance : ndarray of shape (2 or more, n)
            Uniform draws.
        """
        summed = self.attribute.cumsum(axis=1)
        column = ((summed / summed[:, -1:])[run] <= chance[0][:, None]).sum(axis=1)
        value = X[np.arange(len(X)), column]
        at_bound = (value <= self.low[column]) | (value >= self.high[column])
        down = np.where(at_bound, 0.5, self.down[run, column])
        return column, np.where(chance[1] < down, -1, 1)

    def learn(self, column: np.ndarray, step: np.ndarray, paid: np.ndarray, run: np.ndarray) -> None:
        """Shift the odds of each run by whether the moves just made paid, all moves at once."""
        shape, place = self.attribute.shape, run * self.attribute.shape[1] + column
        if self.strategy != "random":
            towards_down = np.where((step == -1) == paid, LEARNING_RATE, -LEARNING_RATE)
            change = np.bincount(place, towards_down, self.down.size).reshape(shape)
            self.down = np.minimum(np.maximum(self.down + change, 0), 1)
        if self.strategy == "fully_directed":
            change = np.bincount(place, np.where(paid, LEARNING_RATE, -LEARNING_RATE), self.down.size).reshape(shape)
            shifted = np.maximum(self.attribute + change, 0)
            total = shifted.sum(axis=1, keepdims=True)
            np.divide(shifted, total, out=self.attribute, where=total > 0)
