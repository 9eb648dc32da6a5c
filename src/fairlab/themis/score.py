"""One estimated discrimination score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real

import numpy as np
import pandas as pd

from fairlab.cases.finding import Result
from fairlab.cases.schema import Schema

MEASURES = ("group", "causal")
_COUNTERPART = " of the counterpart"


@dataclass(frozen=True, repr=False)
class Score(Result):
    """An estimated discrimination score.

    Attributes
    ----------
    measure : {"group", "causal"}
    characteristics : tuple of str
    score : float
    low, high : float
        Confidence interval: Wilson's for the causal score; for the group score, which is a range of many shares and
        therefore biased upwards, the range that all shares' Wilson intervals together allow (Bonferroni).
    samples : int
        Random inputs that the estimate rests on.
    tests : int
        Inputs that the paper's algorithm looks at, one by one, in memory or not.
    software_runs : int
        How often the software was run for it. Inputs are tried in batches, so this can exceed `tests`.
    distinct_inputs : int
        Inputs in memory afterwards, over all scores.
    make_evidence : callable
        Returns `evidence`, which most scores of a search are never asked for.

    Examples
    --------
    >>> from fairlab.themis import Themis
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 20}})
    >>> score = Themis(lambda rows: rows["sex"] == "m", schema).causal_score(["sex"])
    >>> score.score, score.measure, score.who
    (1.0, 'causal', 'sex')
    """

    measure: str
    characteristics: tuple[str, ...]
    score: float
    low: float
    high: float
    samples: int
    tests: int
    software_runs: int
    distinct_inputs: int
    make_evidence: Callable[[], pd.DataFrame] = field(default=pd.DataFrame, compare=False)

    @property
    def who(self) -> str:
        """The characteristics."""
        return " and ".join(self.characteristics)

    @property
    def where(self) -> str:
        """What the score is and of which inputs."""
        return f"{self.measure} score over all inputs"

    @property
    def effect(self) -> float:
        """The score."""
        return self.score

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the score."""
        return self.low, self.high

    @property
    def summary(self) -> str:
        """Who, where, the score and its interval."""
        return f"{self.who}, {self.where}: {self.score:.3g} [{self.low:.3g}, {self.high:.3g}]"

    @property
    def evidence(self) -> pd.DataFrame:
        """What shows it.

        Of a group score, the groups with the lowest and the highest share of positive outputs; of a causal score, the
        first inputs whose output other values of the characteristics change, each with such a counterpart.
        """
        return self.make_evidence()

    def to_dict(self) -> dict:
        """Return all attributes but the evidence."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "make_evidence"}

    def to_frame(self) -> pd.DataFrame:
        """Return one row with all attributes but the evidence."""
        return pd.DataFrame([self.to_dict()])

    def plot(self):
        """Draw the score with its interval; see `fairlab.themis.figures.score_intervals`."""
        from fairlab.themis.figures import score_intervals

        return score_intervals(self.to_frame())


def extreme_groups(schema: Schema, positions: list[int], codes: np.ndarray, numbers: dict) -> pd.DataFrame:
    """Return groups with what was measured on them, one a row.

    Parameters
    ----------
    schema : Schema
    positions : list of int
        Of the characteristics that make the groups.
    codes : ndarray of int of shape (n_groups, n_positions)
        Their values.
    numbers : dict of str to ndarray
        One number a group.
    """
    inputs = np.zeros((len(codes), len(schema.sizes)), dtype=np.int64)
    inputs[:, positions] = codes
    return schema.decode(inputs).iloc[:, positions].assign(**numbers)


def pairs_of_inputs(schema: Schema, positions: list[int], inputs, outputs, others, other_outputs) -> pd.DataFrame:
    """Return inputs beside their counterparts, one pair a row; of the latter, what may differ.

    Parameters
    ----------
    schema : Schema
    positions : list of int
        Of the characteristics in which a counterpart differs.
    inputs, others : ndarray of int of shape (n_pairs, n_characteristics)
        Codes.
    outputs, other_outputs : ndarray of shape (n_pairs,)
    """
    different = schema.decode(others).iloc[:, positions].assign(output=other_outputs)
    return schema.decode(inputs).assign(output=outputs).join(different.add_suffix(_COUNTERPART))


def expect_measure(measure: str, known: Sequence[str] = MEASURES) -> None:
    """Raise a ValueError unless a measure is among those known."""
    if measure not in known:
        raise ValueError(f"measure is {measure!r}, expected one of {', '.join(known)}")


def expect_share(name: str, value, *, open_ends: bool = False) -> None:
    """Raise a ValueError unless a value is a number between 0 and 1, without the ends if these are open."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not (is_number and (0 < value < 1 if open_ends else 0 <= value <= 1)):
        raise ValueError(f"{name} is {value!r}, expected a number between 0 and 1")
