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


class Answers:
    """A memory of answers by codes.

    Parameters
    ----------
    case : Case
    most : int
        Rows that the model may be asked for.
    with_scores : bool
        Whether scores are asked for, too; of a model that decides by labels these are rows of their own.
    """

    def __init__(self, case, most: int, *, with_scores: bool = False):
        self.case, self.most = case, most
        self.sizes = case.schema.sizes
        self.domain = Schema.from_bounds(
            {name: (0, n - 1) for name, n in zip(case.schema.names, self.sizes, strict=True)}
        )
        self._with_scores, self._before = with_scores, case.queries.asked
        self._places = {}
        self._codes = np.empty((0, len(self.sizes)), dtype=np.int64)
        self._favourable, self._lead = np.empty(0, dtype=bool), np.empty(0)
        self._shift = 0.0 if case.threshold is None or case.unit == "score" else float(logit(case.threshold))

    def __len__(self) -> int:
        """Return the number of inputs that were asked about."""
        return len(self._places)

    @property
    def left(self) -> int:
        """Rows that may still be asked."""
        return self.most - (self.case.queries.asked - self._before)

    def favourable(self, codes) -> np.ndarray:
        """Return whether the decision on each input is the favourable one.

        Raises
        ------
        BudgetReachedError
            If that takes more rows than are left; none is asked then.
        """
        places = self._ask(codes)
        return self._favourable[places]

    def lead(self, codes) -> np.ndarray:
        """Return log odds of the favourable decision, or the excess of a score over its threshold; as `favourable`."""
        places = self._ask(codes)
        return self._lead[places]

    def check(self, n_rows: int) -> None:
        """Raise a BudgetReachedError if fewer rows are left."""
        if n_rows > self.left:
            raise BudgetReachedError(f"{n_rows:,} rows would be asked, {self.left:,} are left")

    def pairs(self, column: int) -> Pairs:
        """Return the discriminatory among all inputs asked: two differ in this attribute and decision alone."""
        codes, favourable = self._codes[: len(self)], self._favourable[: len(self)]
        others = pd.DataFrame(np.delete(codes, column, axis=1)).assign(every=0)
        group = others.groupby(list(others), sort=False).ngroup()
        first = pd.DataFrame({"group": group, "favourable": favourable}).drop_duplicates()
        first = first.sort_values("group", kind="stable")
        own = first.index[first["group"].duplicated(keep="last")].to_numpy(dtype=int)
        other = first.index[first["group"].duplicated(keep="first")].to_numpy(dtype=int)
        return Pairs(codes[own], codes[other, column], favourable[own])

    def _ask(self, codes) -> list[int]:
        """Return the place of each input in the memory, after asking for those that are new."""
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        keys = [row.tobytes() for row in codes]
        new = {key: number for number, key in enumerate(keys) if key not in self._places}
        if new:
            self.check(len(new) * (2 if self._with_scores and self.case.threshold is None else 1))
            self._learn(codes[list(new.values())])
            self._places.update(zip(new, range(len(self), len(self) + len(new)), strict=True))
        return [self._places[key] for key in keys]

    def _learn(self, codes) -> None:
        rows = self.case.schema.decode(codes)
        places = slice(len(self), len(self) + len(codes))
        if places.stop > len(self._codes):
            more = max(places.stop, 2 * len(self._codes))
            self._codes = np.resize(self._codes, (more, len(self.sizes)))
            self._favourable, self._lead = np.resize(self._favourable, more), np.resize(self._lead, more)
        if self._with_scores:
            self._lead[places] = self.case.log_odds(rows) - self._shift
        self._favourable[places] = self.case.decide(rows)
        self._codes[places] = codes
