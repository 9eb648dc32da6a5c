"""Individual discrimination (definition 2.1), and the results of searches for it.

An input is discriminatory if another value of a sensitive feature (the paper's protected attribute), or of several
together, changes its class.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import numpy as np
import pandas as pd

from fairlab.adf.gradients import check_domain, model_over
from fairlab.cases.schema import Schema, check_schema
from fairlab.checks import FRACTION, check_count, check_seed, checked
from fairlab.statistics import share_bounds

INPUTS_AT_ONCE = 1 << 18  # inputs, counterparts included, held at once


@dataclass(frozen=True)
class Fairness:
    """Share of discriminatory inputs in a uniform sample of the domain.

    Attributes
    ----------
    n : int
        Inputs drawn.
    n_discriminatory : int

    Examples
    --------
    >>> from fairlab.adf import Fairness
    >>> fairness = Fairness(n=1_000, n_discriminatory=200)
    >>> fairness.share, round(fairness.standard_error, 3)
    (0.2, 0.013)
    """

    n: int
    n_discriminatory: int

    @property
    def share(self) -> float:
        """Estimated share."""
        return self.n_discriminatory / self.n

    @property
    def standard_error(self) -> float:
        """Standard error of the share."""
        return float(np.sqrt(self.share * (1 - self.share) / self.n))

    @checked(confidence_level=FRACTION)
    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the exact confidence interval of the share (Clopper and Pearson 1934).

        Raises
        ------
        ValueError
            If `confidence_level` is not between 0 and 1.
        """
        return share_bounds(self.n_discriminatory, self.n, confidence_level=confidence_level)


def with_every_value(X: np.ndarray, columns: Sequence[int], values: np.ndarray) -> np.ndarray:
    """Return every input with each combination of sensitive values in turn, its own among them.

    Parameters
    ----------
    X : ndarray of int of shape (n_rows, n_attributes)
    columns : sequence of int
        The sensitive ones.
    values : ndarray of int of shape (n_combinations, n_sensitive)

    Returns
    -------
    ndarray of shape (n_rows, n_combinations, n_attributes)
    """
    every = np.repeat(X[:, None, :], len(values), axis=1)
    every[:, :, columns] = values
    return every


class Partners:
    """Search for other sensitive values that change the class of inputs.

    Parameters
    ----------
    classify : callable
        Takes rows of integers, returns one class per row.
    sensitive_features : str or sequence of str
    schema : Schema

    Attributes
    ----------
    columns : list of int
        Columns of the sensitive features.
    values : ndarray of int of shape (n_combinations, n_sensitive)
        Combinations of the sensitive features' values.
    """

    def __init__(self, classify, sensitive_features, *, schema: Schema):
        self.classify, self.columns = classify, check_domain(schema).positions(sensitive_features)
        self.values = schema.values(sensitive_features)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the number of the first combination that gives each input another class, -1 if none does.

        Parameters
        ----------
        X : ndarray of int of shape (n_rows, n_attributes)
        """
        rows = with_every_value(X, self.columns, self.values).reshape(-1, X.shape[1])
        own = (X[:, None, self.columns] == self.values).all(axis=2)
        among = own.any(axis=1)  # an input need not be queried again
        classes = self.classify(rows if among.all() else np.concatenate([rows, X[~among]]))
        others, mine = classes[: own.size].reshape(own.shape), np.empty(len(X), dtype=classes.dtype)
        mine[among], mine[~among] = others[own], classes[own.size :]
        differs = others != mine[:, None]
        return np.where(differs.any(axis=1), differs.argmax(axis=1), -1)


def discriminatory(
    model: Any,
    X: Any,
    sensitive_features: str | Sequence[str],
    *,
    schema: Schema,
    decision_threshold: float | None = None,
) -> np.ndarray:
    """Return which inputs are discriminatory: some other sensitive values, all else equal, change the class.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
        Gives classes; with a threshold, scores.
    X : DataFrame or array of integers of shape (n_rows, n_attributes)
        Inputs may lie outside of the bounds; sensitive values within them are tried all the same.
    sensitive_features : str or sequence of str
        With several attributes, every combination of their values is tried.
    schema : Schema
        Its bounds define the values; for features that are no numbers, the model gets codes.
    decision_threshold : float or None
        For models that give scores: the class is whether the score is at least this.

    Returns
    -------
    ndarray of bool of shape (n_rows,)

    Raises
    ------
    ValueError
        If a sensitive feature is not in the schema, `X` or the model has other columns, or the same in another order;
        if numbers of the schema are in bins or have gaps; if the model returns anything but classes, such as
        probabilities.

    Examples
    --------
    >>> from fairlab.adf import discriminatory
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> discriminatory(model, np.array([[4, 0], [4, 1], [9, 0]]), "sex", schema=schema).tolist()
    [True, True, False]
    """
    X, classify = check_schema(schema).check(X), model_over(model, schema).deciding(decision_threshold)
    partners = Partners(classify, sensitive_features, schema=schema)
    rows = max(1, INPUTS_AT_ONCE // len(partners.values))
    return np.concatenate([partners(X[start : start + rows]) >= 0 for start in range(0, len(X), rows)])


@checked(n=check_count, random_state=check_seed)
def estimate_unfairness(
    model: Any,
    *,
    schema: Schema,
    sensitive_features: str | Sequence[str],
    n: int = 100_000,
    decision_threshold: float | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Fairness:
    """Estimate the share of discriminatory inputs among all of the domain (section 4.2, RQ3).

    Parameters
    ----------
    model, schema, sensitive_features
        As for `discriminatory`.
    n : int
        Uniform draws; the sensitive features are drawn, too.
    decision_threshold : float or None
        As for `discriminatory`.
    random_state : int, Generator or None

    Returns
    -------
    Fairness

    Examples
    --------
    >>> from fairlab.adf import estimate_unfairness
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> fairness = estimate_unfairness(
    ...     lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int), schema=schema, sensitive_features="sex", n=1_000
    ... )
    >>> low, high = fairness.interval()
    >>> low < 0.2 < high
    True
    """
    X = check_schema(schema).sample(n, random_state=random_state)
    found = discriminatory(model, X, sensitive_features, schema=schema, decision_threshold=decision_threshold)
    return Fairness(len(X), int(found.sum()))


@dataclass(frozen=True, eq=False)
class Trace:
    """Inputs that a search evaluated, in any number and order.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_attributes)
    partner : ndarray of int of shape (n,)
        Which combination of sensitive values gives another class, as a row of `Schema.values`; -1 if none does.
    seed : ndarray of int of shape (n,)
        Number of the seed from which the input was reached.
    """

    inputs: np.ndarray
    partner: np.ndarray
    seed: np.ndarray

    @classmethod
    def join(cls, traces: list["Trace"], n_attributes: int) -> "Trace":
        """Return several traces as one.

        Parameters
        ----------
        traces : list of Trace
        n_attributes : int
            Number of attributes, for an empty list.
        """
        if not traces:
            return cls(np.empty((0, n_attributes), dtype=np.int64), np.empty(0, dtype=int), np.empty(0, dtype=int))
        return cls(*(np.concatenate([getattr(t, part) for t in traces]) for part in ("inputs", "partner", "seed")))

    def compact(self) -> "Trace":
        """Return the same trace in less memory, for long storage."""
        small = self.inputs.astype(np.int32)
        return Trace(small, self.partner.astype(np.int32), self.seed) if (small == self.inputs).all() else self

    def split(self, sizes: Iterable[int]) -> Iterator["Trace"]:
        """Yield consecutive parts with these numbers of inputs.

        Parameters
        ----------
        sizes : iterable of int
        """
        for low, high in pairwise(accumulate(sizes, initial=0)):
            yield Trace(self.inputs[low:high], self.partner[low:high], self.seed[low:high])

    def of_seeds(self, low: int, high: int) -> "Trace":
        """Return the inputs of the seeds from `low` to below `high`, with seeds renumbered from 0.

        Parameters
        ----------
        low, high : int
        """
        own = (self.seed >= low) & (self.seed < high)
        return Trace(self.inputs[own], self.partner[own], self.seed[own] - low)

    @property
    def n_found(self) -> int:
        """Number of discriminatory inputs, repeats included."""
        return int((self.partner >= 0).sum())


def repeated(inputs: np.ndarray, sensitive_features: np.ndarray) -> np.ndarray:
    """Return which inputs occurred in an earlier row, whatever their sensitive values.

    Parameters
    ----------
    inputs : ndarray of int of shape (n, n_attributes)
    sensitive_features : ndarray of int
        Columns that do not count.
    """
    others = np.delete(inputs, sensitive_features, axis=1).astype(np.int64, copy=False)  # wide enough for differences
    if not others.size:
        return np.arange(len(others)) > 0
    low = others.min(axis=0)
    steps = list(accumulate((others.max(axis=0) - low + 1).tolist(), mul, initial=1))
    if steps.pop() < 2**63:  # one number per input is faster than one per attribute
        return pd.Series((others - low) @ np.array(steps)).duplicated().to_numpy()
    return pd.DataFrame(others).duplicated().to_numpy()


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search for discriminatory inputs.

    Inputs are ordered by seed; as in the paper, those that differ only in sensitive features count once.

    Attributes
    ----------
    schema : Schema
    sensitive_features : tuple of str
    trace : Trace
        Every distinct input tried, with its partner and its seed.
    iterations : ndarray of int of shape (n_seeds,)
        Steps of the global phase until the seed was discriminatory; the maximum if it never was.
    successful : ndarray of bool of shape (n_seeds,)
        Whether the global phase turned the seed into a discriminatory input.
    seconds : float
        Wall time of the whole search.

    Examples
    --------
    >>> from fairlab.adf import Aequitas
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> found = Aequitas(model, schema, "sex", n_local=20).generate(n_samples=20)
    >>> found.n_inputs, found.n_discriminatory, round(found.success_rate, 2)
    (10, 2, 0.2)
    """

    schema: Schema
    sensitive_features: tuple[str, ...]
    trace: Trace
    iterations: np.ndarray
    successful: np.ndarray
    seconds: float

    @classmethod
    def count(
        cls,
        trace: Trace,
        *,
        schema: Schema,
        sensitive_features: str | Sequence[str],
        iterations: Any,
        successful: Any,
        seconds: float,
    ) -> "SearchResult":
        """Return the result of a search from everything that it evaluated.

        Parameters
        ----------
        trace : Trace
            In the order of the search; of repeated inputs, the first counts.
        schema, sensitive_features, iterations, successful, seconds
            As the attributes; a single sensitive feature may be a str.
        """
        sensitive_features = (sensitive_features,) if isinstance(sensitive_features, str) else tuple(sensitive_features)
        order = np.argsort(trace.seed, kind="stable")
        first = order[~repeated(trace.inputs[order], schema.positions(sensitive_features))]
        distinct = Trace(trace.inputs[first].astype(np.int64), trace.partner[first].astype(int), trace.seed[first])
        return cls(schema, sensitive_features, distinct, iterations, successful, seconds)

    @property
    def n_inputs(self) -> int:
        """Distinct inputs tried (#GDiff)."""
        return len(self.trace.inputs)

    @property
    def n_discriminatory(self) -> int:
        """Distinct discriminatory inputs (#ID)."""
        return self.trace.n_found

    @property
    def success_rate(self) -> float:
        """Share of the inputs tried that are discriminatory; 0 if none was tried."""
        return self.n_discriminatory / max(self.n_inputs, 1)

    @property
    def discriminatory(self) -> np.ndarray:
        """The distinct discriminatory inputs, shape (n_discriminatory, n_attributes)."""
        return self.trace.inputs[self.trace.partner >= 0]

    @property
    def pairs(self) -> np.ndarray:
        """Discriminatory inputs, each with one that differs in sensitive values only and has another class.

        Returns
        -------
        ndarray of int of shape (n_discriminatory, 2, n_attributes)
        """
        pairs = np.repeat(self.discriminatory[:, None, :], 2, axis=1)
        values = self.schema.values(self.sensitive_features)[self.trace.partner[self.trace.partner >= 0]]
        pairs[:, 1, self.schema.positions(self.sensitive_features)] = values
        return pairs

    def growth(self) -> pd.DataFrame:
        """Return distinct inputs and discriminatory ones after each seed from which a local search started."""
        started = np.unique(self.trace.seed)
        place = np.searchsorted(started, self.trace.seed)
        found = self.trace.partner >= 0
        counts = {
            "inputs": np.bincount(place, minlength=len(started)),
            "discriminatory": np.bincount(place[found], minlength=len(started)),
        }
        return pd.DataFrame(counts, index=pd.RangeIndex(1, len(started) + 1, name="seeds")).cumsum()

    def to_frame(self) -> pd.DataFrame:
        """Return one row with all counts."""
        row = {
            "inputs": self.n_inputs,
            "discriminatory": self.n_discriminatory,
            "success rate": self.success_rate,
            "seeds": len(self.successful),
            "successful seeds": int(self.successful.sum()),
            "seconds": self.seconds,
        }
        return pd.DataFrame([row])


def collect(steps: Iterable[Trace], columns: Sequence[int], max_found: int | None) -> Trace:
    """Return all inputs that a search evaluated until it ended or had found enough.

    Parameters
    ----------
    steps : iterable of Trace
    columns : sequence of int
        The sensitive ones.
    max_found : int or None
        Number of distinct discriminatory inputs that is enough.
    """
    most = np.inf if max_found is None else check_count(max_found, "max_found")
    traces, found = [], set()
    for step in steps:
        traces.append(step.compact())
        if max_found is not None:
            found.update(map(tuple, np.delete(step.inputs[step.partner >= 0], columns, axis=1).tolist()))
        if len(found) >= most:
            break
    return Trace.join(traces, traces[0].inputs.shape[1])  # the first trace holds the starts
