"""What a search found: distinct inputs, those among them that are discriminatory, and how they came about."""

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema


@dataclass(frozen=True, eq=False)
class Trace:
    """Inputs that a search evaluated, in any number and order.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_attributes)
    partner : ndarray of int of shape (n,)
        Which combination of protected values gives another class, as a row of `Schema.values`; -1 if none does.
    seed : ndarray of int of shape (n,)
        Number of the seed that the input goes back to.
    """

    inputs: np.ndarray
    partner: np.ndarray
    seed: np.ndarray

    @classmethod
    def join(cls, traces: list["Trace"], n_attributes: int) -> "Trace":
        """Return several traces as one."""
        if not traces:
            return cls(np.empty((0, n_attributes), dtype=np.int64), np.empty(0, dtype=int), np.empty(0, dtype=int))
        return cls(*(np.concatenate([getattr(t, part) for t in traces]) for part in ("inputs", "partner", "seed")))

    def compact(self) -> "Trace":
        """Return the same in less memory, where it is kept for long."""
        small = self.inputs.astype(np.int32)
        return Trace(small, self.partner.astype(np.int32), self.seed) if (small == self.inputs).all() else self

    def of_seeds(self, low: int, high: int) -> "Trace":
        """Return what goes back to the seeds from `low` to below `high`, which are then counted from 0."""
        own = (self.seed >= low) & (self.seed < high)
        return Trace(self.inputs[own], self.partner[own], self.seed[own] - low)

    def first_of_each_seed(self) -> "Trace":
        """Return the first input of every seed: in one step of a walk its candidate."""
        _, first = np.unique(self.seed, return_index=True)
        return Trace(self.inputs[first], self.partner[first], self.seed[first])

    @property
    def n_found(self) -> int:
        """Number of discriminatory inputs, repeats included."""
        return int((self.partner >= 0).sum())


def repeated(inputs: np.ndarray, sensitive: np.ndarray) -> np.ndarray:
    """Return which inputs occurred in an earlier row, whatever their protected values.

    Parameters
    ----------
    inputs : ndarray of int of shape (n, n_attributes)
    sensitive : ndarray of int
        Columns that do not count.
    """
    others = np.delete(inputs, sensitive, axis=1)
    if not others.size:
        return np.arange(len(others)) > 0
    low = others.min(axis=0)
    sizes = others.max(axis=0) - low + 1
    if prod(sizes.tolist()) < 2**63:  # one number for each input is found sooner than one for each attribute
        return pd.Series(np.ravel_multi_index((others - low).T, sizes)).duplicated().to_numpy()
    return pd.DataFrame(others).duplicated().to_numpy()


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search for discriminatory inputs.

    Inputs are distinct but for the protected attributes, as the paper counts them, and ordered by seed.

    Attributes
    ----------
    schema : Schema
    sensitive : tuple of str
    trace : Trace
        Every distinct input tried, with its partner and its seed.
    iterations : ndarray of int of shape (n_seeds,)
        Steps of the global phase until the seed was discriminatory; the most allowed if it never was.
    successful : ndarray of bool of shape (n_seeds,)
        Whether the global phase made something discriminatory of the seed.
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
    sensitive: tuple[str, ...]
    trace: Trace
    iterations: np.ndarray
    successful: np.ndarray
    seconds: float

    @classmethod
    def count(cls, trace: Trace, *, schema, sensitive, iterations, successful, seconds) -> "SearchResult":
        """Return the result of a search from everything that it evaluated."""
        sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        order = np.argsort(trace.seed, kind="stable")
        first = order[~repeated(trace.inputs[order], schema.positions(sensitive))]
        distinct = Trace(trace.inputs[first].astype(np.int64), trace.partner[first].astype(int), trace.seed[first])
        return cls(schema, sensitive, distinct, iterations, successful, seconds)

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
        """Discriminatory inputs, each with one that differs in protected values only and has another class.

        Returns
        -------
        ndarray of int of shape (n_discriminatory, 2, n_attributes)
        """
        pairs = np.repeat(self.discriminatory[:, None, :], 2, axis=1)
        values = self.schema.values(self.sensitive)[self.trace.partner[self.trace.partner >= 0]]
        pairs[:, 1, self.schema.positions(self.sensitive)] = values
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
