"""What a case's model answered to inputs of its schema: each is asked once, no more of them than a budget allows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

from fairlab.cases.schema import Schema


class BudgetReachedError(RuntimeError):
    """More rows would be asked than the budget allows."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Discriminatory inputs, one for each combination of the other attributes, with what changes their decision.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_features)
        Codes.
    other : ndarray of int of shape (n,)
        Code of the sensitive attribute that gets another decision.
    favourable : ndarray of bool of shape (n,)
        Decision on the input itself.
    """

    inputs: np.ndarray
    other: np.ndarray
    favourable: np.ndarray

    def __len__(self) -> int:
        return len(self.inputs)


class Memory:
    """Numbers by codes, each asked for once.

    Parameters
    ----------
    ask : callable
        Takes codes of shape (n, n_features), returns one number each.
    n_features : int
    """

    def __init__(self, ask, n_features: int):
        self._ask, self._places = ask, {}
        self._codes, self._values = np.empty((0, n_features), dtype=np.int64), np.empty(0)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def codes(self) -> np.ndarray:
        """What was asked about, in the order of asking."""
        return self._codes[: len(self)]

    @property
    def values(self) -> np.ndarray:
        """What was answered."""
        return self._values[: len(self)]

    def __call__(self, codes) -> np.ndarray:
        """Return the numbers of inputs, after asking for those that are new."""
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        keys = [row.tobytes() for row in codes]
        new = {key: number for number, key in enumerate(keys) if key not in self._places}
        if new:
            asked = codes[list(new.values())]
            answers, stop = self._ask(asked), len(self) + len(new)
            if stop > len(self._codes):
                more = max(stop, 2 * len(self._codes))
                self._codes = np.resize(self._codes, (more, codes.shape[1]))
                self._values = np.resize(self._values, more)
            self._codes[len(self) : stop], self._values[len(self) : stop] = asked, answers
            self._places.update(zip(new, range(len(self), stop), strict=True))
        return self._values[[self._places[key] for key in keys]]


class Answers:
    """A memory of a case's decisions and scores by codes.

    Parameters
    ----------
    case : Case
    most : int
        Rows that the model may be asked for; of a model that decides by labels, scores are rows of their own.
    """

    def __init__(self, case, most: int):
        self.case, self.most = case, most
        self.sizes = case.schema.sizes
        self.domain = Schema.from_bounds(
            {name: (0, n - 1) for name, n in zip(case.schema.names, self.sizes, strict=True)}
        )
        self._before = case.queries.asked
        self._shift = 0.0 if case.threshold is None or case.unit == "score" else float(logit(case.threshold))
        self._decisions = Memory(self._decide, len(self.sizes))
        self._leads = Memory(self._score, len(self.sizes))

    def __len__(self) -> int:
        """Return the number of inputs whose decision was asked."""
        return len(self._decisions)

    @property
    def left(self) -> int:
        """Rows that may still be asked."""
        return self.most - (self.case.queries.asked - self._before)

    def check(self, n_rows: int) -> None:
        """Raise a BudgetReachedError if fewer rows are left."""
        if n_rows > self.left:
            raise BudgetReachedError(f"{n_rows:,} rows would be asked, {self.left:,} are left")

    def favourable(self, codes) -> np.ndarray:
        """Return whether the decision on each input is the favourable one.

        Raises
        ------
        BudgetReachedError
            If that takes more rows than are left; none is asked then.
        """
        return self._decisions(codes).astype(bool)

    def lead(self, codes) -> np.ndarray:
        """Return log odds of the favourable decision, or the excess of a score over its threshold; as `favourable`.

        Where a threshold decides, the decisions are then known, too.
        """
        lead = self._leads(codes)
        if self.case.threshold is not None:
            self._decisions(codes)
        return lead

    def pairs(self, column: int) -> Pairs:
        """Return the discriminatory among all inputs asked: two differ in this attribute and decision alone."""
        codes, favourable = self._decisions.codes, self._decisions.values.astype(bool)
        others = pd.DataFrame(np.delete(codes, column, axis=1)).assign(every=0)
        group = others.groupby(list(others), sort=False).ngroup()
        first = pd.DataFrame({"group": group, "favourable": favourable}).drop_duplicates()
        first = first.sort_values("group", kind="stable")
        own = first.index[first["group"].duplicated(keep="last")].to_numpy(dtype=int)
        other = first.index[first["group"].duplicated(keep="first")].to_numpy(dtype=int)
        return Pairs(codes[own], codes[other, column], favourable[own])

    def _decide(self, codes) -> np.ndarray:
        if self.case.threshold is None or not self.case.has_scores:
            self.check(len(codes))
            return self.case.decide(self.case.schema.decode(codes))
        self._leads(codes)  # counted there
        return self.case.decide(self.case.schema.decode(codes))

    def _score(self, codes) -> np.ndarray:
        self.check(len(codes))
        return self.case.log_odds(self.case.schema.decode(codes)) - self._shift
