"""AEQUITAS (Udeshi, Arora, Chattopadhyay 2018): random draws, then walks whose odds are learned along the way.

As `"published"`, the version behind the tables, the check returns a *value* of the sensitive feature (the one that
flips the class, or the input's own), and walks may move the sensitive features. Acceptance of a move and learning from
it depend on whether that value is 0, which is unrelated to discrimination; if values start at 1, every move is
accepted. `"sound"` moves the other attributes only, learns from discrimination and keeps every move.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairlab.adf.discrimination import Partners, SearchResult, Trace, collect, repeated
from fairlab.adf.generation import ACCEPT_WORSE, truncated_neighbours
from fairlab.adf.gradients import model_over
from fairlab.adf.method import MOST_WALKS, SHARE_OF_A_STEP, Sample, SearchMethod
from fairlab.cases.schema import Schema
from fairlab.checks import FRACTION, check_count, checked, one_of
from fairlab.networks import FeedForward

STRATEGIES = ("random", "semi_directed", "fully_directed")
LEARNING_RATE = 0.001
IN_FLIGHT = 32
LEAST_STEPS, N_DRAWS = 20, 20  # of a walk on a case; number of its further draws of inputs
STEPS_AT_ONCE = 100  # of walks, whose random numbers and inputs are processed together


@checked(
    strategy=one_of(*STRATEGIES),
    learning_rate=FRACTION,
    in_flight=check_count,
    n_walks=check_count,
)
class Aequitas(SearchMethod):
    """Search by walks from discriminatory random draws; the odds of all moves are shared by all walks.

    `run` searches a case, for which decisions are enough; `generate` and `local_search` a model over a schema.

    **On a case**, the budget is divided evenly over the sensitive features that the model gets. First comes a sample of
    inputs whose features are drawn one by one from the table, or all combinations where they are few; then walks from
    the discriminatory inputs of the sample and, with the rest of the budget, from those of uniform draws. The estimate
    is the number of discriminatory inputs per 1,000 queries of the walks, or of the sample if that holds all
    combinations; it has no interval and no test.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
        On a `fairlab.networks.FeedForward`, walks are one compiled loop if numba is installed, which is ten times as
        fast. A case has its own.
    schema : Schema
        A case has its own.
    sensitive_features : str or sequence of str
        A case has its own, each of which is searched by itself.
    strategy : {"fully_directed", "semi_directed", "random"}
        Whether the odds of attribute and direction are learned, those of the direction only, or none.
    n_local : int
        Steps of every walk. On a case a maximum: fewer if the budget is too small for all walks.
    learning_rate : float
        By how much one move changes the odds of its attribute and of its direction, between 0 and 1.
    in_flight : int or None
        Walks of a run that advance together with the same odds; 1 is the original, one walk after the other. If few
        draws are discriminatory, larger values find less, as the first walks have learned nothing yet. None is 32; on a
        case, the number whose step takes a tenth of the remaining budget, 128 at most.
    n_walks : int or None
        Walks from every discriminatory draw. None is 1; on a case, more if fewer walks than `in_flight` would start.
    variant : {"sound", "published"}
    decision_threshold : float or None
        For models that give scores: the class is whether the score is at least this. A case has its own.
    random_state : int, Generator or None
        For `run`, an int.

    Notes
    -----
    Parameters are checked by `run`, `generate`, `local_search` and `steps`: a `ValueError` names one that is out of
    range, or a sensitive feature that is not in the schema; a `TypeError` names a missing argument, or a schema or
    model of the wrong type.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.adf import Aequitas
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> [finding.n_found for finding in Aequitas().run(case).findings]
    [9]
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> Aequitas(model, schema, "sex", n_local=20).generate(n_samples=20).n_discriminatory
    2
    """

    title = "AEQUITAS"
    description = (
        "AEQUITAS (directed random testing) walks from discriminatory inputs as in its paper, but draws their features "
        "one by one from the table first; what it finds is counted as in the paper, and is no test."
    )

    def __init__(
        self,
        model: Any = None,
        schema: Schema | None = None,
        sensitive_features: str | Sequence[str] | None = None,
        *,
        strategy: str = "fully_directed",
        n_local: int = 1000,
        learning_rate: float = LEARNING_RATE,
        in_flight: int | None = None,
        n_walks: int | None = None,
        variant: str = "sound",
        decision_threshold: float | None = None,
        random_state: int | np.random.Generator | None = 0,
    ):
        self.model, self.schema, self.sensitive_features, self.strategy = model, schema, sensitive_features, strategy
        self.n_local, self.learning_rate, self.in_flight, self.n_walks = n_local, learning_rate, in_flight, n_walks
        self.variant, self.decision_threshold, self.random_state = variant, decision_threshold, random_state

    def _search_case(self, sample: Sample, starts: np.ndarray) -> None:
        """Walk from the discriminatory inputs of the sample, then from those of more draws."""
        left, n_starts = sample.case.queries.left, max(len(starts), 1)
        in_flight = self.in_flight or int(np.clip(SHARE_OF_A_STEP * left // sample.n_values, 1, MOST_WALKS))
        n_walks = self.n_walks or max(in_flight // n_starts, 1)
        n_local = min(self.n_local, max(left // (sample.n_values * n_walks * n_starts), LEAST_STEPS))
        rng, walks = sample.rng("aequitas"), {"n_local": n_local, "in_flight": in_flight, "n_walks": n_walks}
        search = self._on_case(sample, sample.model.decisions.positive, random_state=rng, **walks)
        if len(starts):
            search.local_search(starts)
        for _ in range(N_DRAWS):  # the rest of the budget is for more draws
            search.generate(n_samples=max(left // (N_DRAWS * sample.n_values), 1))

    @checked(n_samples=check_count)
    def generate(self, *, n_samples: int = 1000, max_found: int | None = None) -> SearchResult:
        """Draw `n_samples` uniform inputs and walk from those that are discriminatory.

        Parameters
        ----------
        n_samples : int
        max_found : int or None
            Stop after the step that reaches this number of distinct discriminatory inputs.
        """
        schema, rng = self._check(), np.random.default_rng(self.random_state)
        [result] = self.search_runs([schema.sample(n_samples, random_state=rng)], [rng], max_found=max_found)
        return result

    def local_search(self, starts: ArrayLike, *, max_found: int | None = None) -> SearchResult:
        """Walk from those of the given inputs that are discriminatory.

        Parameters
        ----------
        starts : array of int of shape (n, n_attributes)
        max_found : int or None
            As for `generate`.
        """
        [result] = self.search_runs([starts], [self.random_state], max_found=max_found)
        return result

    def steps(self, starts: ArrayLike) -> Iterator[Trace]:
        """Yield the given inputs, then the inputs that each step evaluates, the candidates of the walks first."""
        return self.steps_of_runs([starts], [self.random_state])

    def search_runs(
        self,
        starts: Sequence[ArrayLike],
        random_states: Sequence[int | np.random.Generator],
        *,
        max_found: int | None = None,
    ) -> list[SearchResult]:
        """Return the result of `local_search` from the starts of each run; runs advance together and share nothing.

        Parameters
        ----------
        starts : sequence of arrays of int of shape (n, n_attributes)
        random_states : sequence of int or Generator
        max_found : int or None
            As for `generate`, over all runs.
        """
        started = time.perf_counter()
        starts, rngs = self._begin(starts, random_states)
        ends = np.cumsum([0, *map(len, starts)])
        successful = np.zeros(ends[-1], dtype=bool)
        steps = self._steps(starts, successful, rngs, in_blocks=max_found is None)
        trace = collect(steps, self._partners.columns, max_found)
        return [
            SearchResult.count(
                trace.of_seeds(low, high),
                schema=self.schema,
                sensitive_features=self.sensitive_features,
                iterations=np.zeros(high - low, dtype=int),
                successful=successful[low:high],
                seconds=(time.perf_counter() - started) / len(starts),
            )
            for low, high in pairwise(ends.tolist())
        ]

    def steps_of_runs(
        self, starts: Sequence[ArrayLike], random_states: Sequence[int | np.random.Generator]
    ) -> Iterator[Trace]:
        """Yield the starts of all runs, then the inputs that each step evaluates, in the order of the runs.

        Seeds are counted over all runs.

        Parameters
        ----------
        starts, random_states
            As for `search_runs`.
        """
        starts, rngs = self._begin(starts, random_states)
        return self._steps(starts, np.zeros(sum(map(len, starts)), dtype=bool), rngs)

    def _begin(self, starts, random_states) -> tuple[list[np.ndarray], list[np.random.Generator]]:
        """Return the starts as integers, and generators; raise an error if a parameter is out of range."""
        schema = self._check()
        classify = model_over(self.model, schema).deciding(self.decision_threshold)
        self._partners = Partners(classify, self.sensitive_features, schema=schema)
        rngs = [np.random.default_rng(state) for state in random_states]
        return [schema.check(its, "starts") for its in starts], rngs

    def _steps(self, draws, successful, rngs, *, in_blocks: bool = False) -> Iterator[Trace]:
        """Yield the draws of all runs, then the inputs of their walks; mark in `successful` the draws that start one.

        Inputs of walks are yielded by step or, with `in_blocks`, many steps at once.
        """
        ends = np.cumsum([0, *map(len, draws)])
        draws = np.concatenate(draws)
        partner, returns_0 = self._evaluate(draws)
        yield Trace(draws, partner, np.arange(len(draws)))
        waiting = []
        for low, high in pairwise(ends):
            hits = low + np.flatnonzero(partner[low:high] >= 0)
            hits = hits[~repeated(draws[hits], self._partners.columns)]
            successful[hits] = True
            waiting.append(np.tile(hits, self.n_walks or 1))
        left_out = self._partners.columns if self.variant == "sound" else []
        odds = Odds(self.schema, self.strategy, left_out, n_runs=len(rngs), learning_rate=self.learning_rate)
        is_compiled = type(self.model) is FeedForward and self.decision_threshold is None and _is_compiled()
        walk = self._compiled_walk if is_compiled else self._walk
        at_once = STEPS_AT_ONCE if is_compiled or in_blocks else 1  # else queries may go unused
        in_flight = self.in_flight or IN_FLIGHT
        for start in range(0, max(map(len, waiting)), in_flight):
            block = [hits[start : start + in_flight] for hits in waiting]
            n_walks = [len(hits) for hits in block]
            seed, run = np.concatenate(block), np.repeat(np.arange(len(block)), n_walks)
            X, is_0 = draws[seed], returns_0[seed]
            for number in range(0, self.n_local, at_once):
                n = min(at_once, self.n_local - number)
                chances = [rng.random((n, m, 3)) for rng, m in zip(rngs, n_walks, strict=True)]
                moved, partner = walk(X, is_0, run, odds, np.concatenate(chances, axis=1))
                trace, sizes = self._with_neighbours(Trace(moved, partner, np.tile(seed, n)), n)
                yield from [trace] if in_blocks else trace.split(sizes)

    def _walk(self, X, is_0, run, odds, chances) -> tuple[np.ndarray, np.ndarray]:
        """Take a step of all walks for each row of chances; return the inputs of all steps, and their partners.

        X and is_0 are moved on.
        """
        inputs, partners = [], []
        for chance in chances.transpose(0, 2, 1):
            column, step = odds.draw(X, run, chance)
            moved = X.copy()
            moved[np.arange(len(X)), column] += step
            moved = np.minimum(np.maximum(moved, odds.low), odds.high)  # quicker than `clip` for a few rows
            partner, returns_0 = self._evaluate(moved)
            odds.learn(column, step, partner >= 0 if self._learns_from_partners else ~returns_0, run)
            accepted = (self.variant == "sound") | (returns_0 <= is_0) | (chance[2] < ACCEPT_WORSE)
            X[accepted], is_0[accepted] = moved[accepted], returns_0[accepted]
            inputs.append(moved)
            partners.append(partner)
        return np.concatenate(inputs), np.concatenate(partners)

    def _compiled_walk(self, X, is_0, run, odds, chances) -> tuple[np.ndarray, np.ndarray]:
        """Do what `_walk` does."""
        from fairlab.adf.compiled import walk

        weights, rates = self.model._weights, (odds.rate * odds.moves_attributes, odds.rate * odds.moves_directions)
        widths = np.array([X.shape[1], *map(len, weights[1::2])])
        rules = self.variant == "sound", self._learns_from_partners, ACCEPT_WORSE
        sensitive = np.array(self._partners.columns), self._partners.values
        its = X, is_0, run, chances, odds.attribute, odds.down, rates, (odds.low, odds.high), sensitive, rules
        moved, partner, is_finite = walk(np.concatenate([part.ravel() for part in weights]), widths, *its)
        moved = moved.reshape(-1, X.shape[1])
        if not is_finite:
            self._partners(moved)  # raises the error
        return moved, partner.ravel()

    def _with_neighbours(self, trace: Trace, n_steps: int) -> tuple[Trace, list[int]]:
        """Return the steps, as published with the inputs that truncation adds, and the size of each step."""
        step = np.repeat(np.arange(n_steps), len(trace.seed) // n_steps)
        if self.variant == "published" and (trace.inputs < 0).any():
            neighbours, owner = truncated_neighbours(trace.inputs)
            besides = Trace(neighbours, self._partners(neighbours), trace.seed[owner])
            both, step = Trace.join([trace, besides], neighbours.shape[1]), np.concatenate([step, step[owner]])
            order = np.argsort(step, kind="stable")
            trace = Trace(both.inputs[order], both.partner[order], both.seed[order])
        return trace, np.bincount(step, minlength=n_steps).tolist()

    @property
    def _learns_from_partners(self) -> bool:
        """Whether odds are learned from discrimination, not from the value that the check returns."""
        return self.variant == "sound"

    def _evaluate(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the partners of inputs, and whether the sensitive value that the check returns is 0."""
        partner = self._partners(X)
        value = np.where((partner >= 0)[:, None], self._partners.values[partner], X[:, self._partners.columns])
        return partner, (value == 0).all(axis=1)


def _is_compiled() -> bool:
    from fairlab.models.loops import IS_COMPILED  # numba takes half a second

    return IS_COMPILED


class Odds:
    """Learned odds of moves, by attribute and direction, for every run; uniform at the start.

    Parameters
    ----------
    schema : Schema
    strategy : {"fully_directed", "semi_directed", "random"}
    left_out : sequence of int
        Columns that are never moved.
    n_runs : int
    learning_rate : float

    Attributes
    ----------
    attribute : ndarray of shape (n_runs, n_attributes)
        Probability of moving along each attribute.
    down : ndarray of shape (n_runs, n_attributes)
        Probability of moving it by -1 rather than +1.
    """

    def __init__(self, schema: Schema, strategy: str, left_out=(), *, n_runs: int = 1, learning_rate=LEARNING_RATE):
        weights = np.ones((n_runs, len(schema.names)))
        weights[:, list(left_out)] = 0
        self.low, self.high, self.rate = schema.low, schema.high, learning_rate
        self.moves_attributes, self.moves_directions = strategy == "fully_directed", strategy != "random"
        self.attribute, self.down = weights / weights.sum(axis=1, keepdims=True), np.full(weights.shape, 0.5)

    def draw(self, X: np.ndarray, run: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for every input the attribute to move, and -1 or +1; a fair coin at a bound.

        Parameters
        ----------
        X : ndarray of int of shape (n, n_attributes)
        run : ndarray of int of shape (n,)
            Run of each input or move.
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
        """Shift the odds of each run by the success of the latest moves, all moves at once.

        Parameters
        ----------
        column, step : ndarray of int of shape (n,)
            Attribute of each move, and -1 or +1.
        paid : ndarray of bool of shape (n,)
        run : ndarray of int of shape (n,)
            Run of each input or move.
        """
        shape, place = self.attribute.shape, run * self.attribute.shape[1] + column
        if self.moves_directions:
            towards_down = np.where((step == -1) == paid, self.rate, -self.rate)
            change = np.bincount(place, towards_down, self.down.size).reshape(shape)
            self.down = np.minimum(np.maximum(self.down + change, 0), 1)
        if self.moves_attributes:
            change = np.bincount(place, np.where(paid, self.rate, -self.rate), self.down.size).reshape(shape)
            shifted = np.maximum(self.attribute + change, 0)
            total = shifted.sum(axis=1, keepdims=True)
            np.divide(shifted, total, out=self.attribute, where=total > 0)
