"""ADF: both phases in one object."""

import time
import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from fairlab.adf.discrimination import check_schema, sensitive_columns
from fairlab.adf.feed_forward import FeedForward
from fairlab.adf.finite_differences import FiniteDifferences
from fairlab.adf.global_phase import READINGS, GlobalPhase, run_global_phase
from fairlab.adf.local_phase import run_local_phase
from fairlab.adf.result import SearchResult, Trace
from fairlab.adf.seeding import PUBLISHED_SEED, cluster_labels, round_robin
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_number, check_seed
from fairlab.models.protocol import as_network, is_keras
from fairlab.networks import Network


class ADF:
    """Adversarial discrimination finder (section 3), many seeds at a time.

    Parameters
    ----------
    model : Keras model, Network or FeedForward; with a threshold, object with ``predict_proba``, or callable
        A network of two or more classes, whose gradients are followed; or a model that gives scores, whose gradients
        are differences between neighbours (`FiniteDifferences`, which is taken as it is, too).
    schema : Schema
    sensitive : str or sequence of str
        With several, every combination of their values is tried.
    n_clusters : int
        c_num of Table 2.
    max_iter : int
        Most steps of a seed in the global phase (Table 2).
    n_local : int
        Steps of the local phase from every discriminatory input.
    refresh : int
        Steps of the local phase for which the odds of the attributes are kept before gradients are asked for again; the
        paper's is 1. Where gradients are differences, which cost two rows for every attribute, more is cheaper.
    reading : {"as_described", "as_published"}
        See `fairlab.adf.global_phase` and `fairlab.adf.local_phase`.
    tried : Schema or None
        Values of the protected attributes that the global phase tries, if not those of `schema`: the authors' code took
        the census's bounds for the age of credit.
    threshold : float or None
        For models that give scores: the class is whether the score is at least this.
    random_state : int, Generator or None

    Raises
    ------
    TypeError, ValueError
        If the model has no gradients, another number of inputs than the schema has attributes, or a parameter is out of
        range.

    Examples
    --------
    >>> from fairlab.adf import ADF
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> score = lambda X: X[:, 0] + 2.0 * X[:, 1]
    >>> search = ADF(score, schema, "sex", threshold=5, n_local=20)
    >>> search.generate(schema.sample(20, random_state=0)).n_discriminatory
    2
    """

    def __init__(
        self,
        model,
        schema: Schema,
        sensitive,
        *,
        n_clusters: int = 4,
        max_iter: int = 10,
        n_local: int = 1000,
        refresh: int = 1,
        reading: str = "as_described",
        tried: Schema | None = None,
        threshold: float | None = None,
        random_state=0,
    ):
        sensitive_columns(schema, sensitive)
        self.network = with_gradients(model, schema, sensitive, threshold)
        if self.network.n_features != len(schema.bounds):
            raise ValueError(
                f"model: takes {self.network.n_features} columns, the schema has {len(schema.bounds)} attributes"
            )
        if tried is not None:
            check_schema(tried, "tried")
        if reading not in READINGS:
            raise ValueError(f"reading: expected one of {', '.join(READINGS)}, found {reading!r}")
        self.schema, self.sensitive, self.tried, self.reading = schema, sensitive, tried, reading
        self.n_clusters = check_count(n_clusters, "n_clusters")
        self.max_iter = check_count(max_iter, "max_iter", least=0)
        self.n_local = check_count(n_local, "n_local", least=0)
        self.refresh = check_count(refresh, "refresh")
        self.random_state = check_seed(random_state)

    def seeds(self, X, n: int) -> np.ndarray:
        """Return `n` rows of `X`, from its clusters in turn, as integers.

        Warns
        -----
        UserWarning
            If rows lie outside of the bounds, with their number by attribute.
        """
        n, values = check_count(n, "n_seeds"), self.schema.check(X)
        outside = self.schema.outside(values)
        if outside.any():
            counts = ", ".join(f"{name} {n_rows}" for name, n_rows in outside[outside > 0].items())
            warnings.warn(f"X: rows outside of the bounds of the schema: {counts}", stacklevel=2)
        return values[round_robin(cluster_labels(values, n_clusters=self.n_clusters, random_state=PUBLISHED_SEED), n)]

    def global_search(self, seeds, *, time_limit: float | None = None) -> GlobalPhase:
        """Try to make every seed discriminatory (Algorithm 1).

        Parameters
        ----------
        seeds : array of int of shape (n_seeds, n_attributes)
        time_limit : float or None
            Seconds.
        """
        return self._global_search(self.schema.check(seeds, "seeds"), clock(time_limit), self._rng())

    def local_search(self, pairs, *, time_limit: float | None = None, max_found: int | None = None) -> SearchResult:
        """Search around discriminatory inputs (Algorithm 3).

        Parameters
        ----------
        pairs : GlobalPhase, or array of int of shape (n, 2, n_attributes)
            Discriminatory inputs, each with its partner.
        time_limit : float or None
            Seconds.
        max_found : int or None
            Stop after the step that reaches so many distinct discriminatory inputs.
        """
        started = time.perf_counter()
        if not isinstance(pairs, GlobalPhase):
            pairs = self._as_starts(pairs)
        return self._local_search(pairs, clock(time_limit), self._rng(), max_found, started)

    def local_evaluations(self, pairs) -> Trace:
        """Return every input that the local search evaluates, repeats included; see `local_search`."""
        return Trace.join(list(self.steps(pairs)), len(self.schema.bounds))

    def steps(self, pairs, *, random_state=None) -> Iterator[Trace]:
        """Yield the starts of the local search, then what each step evaluates, the candidates of the walks first.

        Parameters
        ----------
        pairs
            See `local_search`.
        random_state : int, Generator or None
            None for that of the search, as everywhere else.
        """
        if not isinstance(pairs, GlobalPhase):
            pairs = self._as_starts(pairs)
        random_state = self.random_state if random_state is None else check_seed(random_state)
        return self._local_steps(pairs, np.random.default_rng(random_state))

    def generate(
        self, X, *, n_seeds: int = 1000, time_limit: float | None = None, max_found: int | None = None
    ) -> SearchResult:
        """Run both phases from `n_seeds` rows of a data set.

        Parameters
        ----------
        X : DataFrame or array of int of shape (n_rows, n_attributes)
            Rows outside of the schema's bounds may be seeds; their first move brings them inside.
        n_seeds, time_limit, max_found
            See `global_search` and `local_search`.

        Returns
        -------
        SearchResult
        """
        started = time.perf_counter()
        stop, rng = clock(time_limit), self._rng()
        return self._local_search(self._global_search(self.seeds(X, n_seeds), stop, rng), stop, rng, max_found, started)

    def _global_search(self, seeds, stop, rng) -> GlobalPhase:
        return run_global_phase(
            self.network,
            seeds,
            schema=self.schema,
            sensitive=self.sensitive,
            max_iter=self.max_iter,
            reading=self.reading,
            rng=rng,
            tried=self.tried,
            stop=stop,
        )

    def _local_search(self, phase: GlobalPhase, stop, rng, max_found, started) -> SearchResult:
        trace = collect(self._local_steps(phase, rng), self.schema, self.sensitive, stop=stop, max_found=max_found)
        return SearchResult.count(
            trace,
            schema=self.schema,
            sensitive=self.sensitive,
            iterations=phase.iterations,
            successful=phase.successful,
            seconds=time.perf_counter() - started,
        )

    def _local_steps(self, phase: GlobalPhase, rng) -> Iterator[Trace]:
        return run_local_phase(
            self.network,
            phase.inputs,
            phase.partner,
            phase.seed,
            schema=self.schema,
            sensitive=self.sensitive,
            n_steps=self.n_local,
            refresh=self.refresh,
            reading=self.reading,
            rng=rng,
        )

    def _as_starts(self, pairs) -> GlobalPhase:
        pairs = np.asarray(pairs)
        if pairs.dtype.kind not in "iu":
            raise ValueError(f"pairs: expected integers, found {pairs.dtype}")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, len(self.schema.bounds)):
            raise ValueError(f"pairs: expected shape (n, 2, {len(self.schema.bounds)}), found {pairs.shape}")
        columns = self.schema.positions(self.sensitive)
        partner = pairs[:, 1][:, columns]
        known = (partner[:, None] == (self.tried or self.schema).values(self.sensitive)).all(axis=2)
        if not known.any(axis=1).all():
            raise ValueError("pairs: a partner has protected values outside of the schema")
        n = len(pairs)
        return GlobalPhase(pairs[:, 0], partner, np.arange(n), np.zeros(n, dtype=int))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)


def with_gradients(
    model, schema: Schema, sensitive, threshold: float | None
) -> Network | FeedForward | FiniteDifferences:
    """Return a model with classes and gradients: its own, or with a threshold those of its scores by differences.

    Raises
    ------
    TypeError, ValueError
        If the model has no gradients and there is no threshold, or both are given.
    """
    if isinstance(model, Network | FeedForward | FiniteDifferences) or is_keras(model):
        if threshold is not None:
            raise ValueError(f"threshold: expected none, since {type(model).__name__} has classes of its own")
        return as_network(model) if is_keras(model) else model
    if threshold is None:
        found = type(model).__name__
        raise TypeError(f"model: expected a Keras model, or a model that gives scores and a threshold, found {found}")
    return FiniteDifferences(model, schema, sensitive, threshold=threshold)


def collect(steps: Iterable[Trace], schema: Schema, sensitive, *, stop, max_found: int | None) -> Trace:
    """Return everything that a search evaluated until it ended, `stop` said so, or enough was found."""
    max_found = None if max_found is None else check_count(max_found, "max_found")
    traces, found = [], set()
    columns = schema.positions(sensitive)
    if stop():
        return Trace.join([], len(schema.bounds))
    for step in steps:
        traces.append(step.compact())
        if stop():
            break
        if max_found is not None:
            others = np.delete(step.inputs[step.partner >= 0], columns, axis=1)
            found.update(map(tuple, others.tolist()))
            if len(found) >= max_found:
                break
    return Trace.join(traces, len(schema.bounds))


def clock(time_limit: float | None):
    """Return a function that says whether the time is over."""
    if time_limit is None:
        return lambda: False
    end = time.perf_counter() + check_number(time_limit, "time_limit", least=0, infinite=True)
    return lambda: time.perf_counter() >= end
