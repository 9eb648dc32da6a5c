"""Discrimination scores, the sets of features that a search finds (algorithm 3), and how both are drawn."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairlab.cases.finding import Result, intervals
from fairlab.cases.schema import Schema
from fairlab.plotting import GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("group", "causal")
EFFECTS = {"group": "demographic parity difference (largest − smallest)", "causal": "counterfactual flip rate"}
_COUNTERPART = " of the counterpart"


@dataclass(frozen=True, repr=False)
class Score(Result):
    """An estimated discrimination score: of groups, or causal, as the paper calls a counterfactual flip rate.

    Attributes
    ----------
    measure : {"group", "causal"}
    sensitive_features : tuple of str
    score : float
    low, high : float
        Confidence interval, of the kind that the rule of stopping gives. For the group score, which is a range of many
        shares and therefore biased upwards, the range that all shares' intervals together allow (Bonferroni).
    samples : int
        Random inputs that the estimate rests on.
    tests : int
        Inputs that the paper's algorithm looks at, one by one, in memory or not.
    model_runs : int
        How often the model was applied for it. Inputs are tried in batches, so this can exceed `tests`.
    distinct_inputs : int
        Inputs in memory afterwards, over all scores.
    make_evidence : callable
        Returns `evidence`, which most scores of a search do not need.

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
    sensitive_features: tuple[str, ...]
    score: float
    low: float
    high: float
    samples: int
    tests: int
    model_runs: int
    distinct_inputs: int
    make_evidence: Callable[[], pd.DataFrame] = field(default=pd.DataFrame, compare=False)

    @property
    def who(self) -> str:
        """The sensitive features."""
        return " and ".join(self.sensitive_features)

    @property
    def where(self) -> str:
        """What the score is and of which inputs."""
        return f"{EFFECTS[self.measure]} on generated inputs"

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
        first inputs whose output other values of the sensitive_features change, each with such a counterpart.
        """
        return self.make_evidence()

    def to_dict(self) -> dict:
        """Return all attributes but the evidence."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "make_evidence"}

    def to_frame(self) -> pd.DataFrame:
        """Return one row with all attributes but the evidence."""
        return pd.DataFrame([self.to_dict()])

    def plot(self) -> "Figure":
        """Draw the score with its interval."""
        return _plot(self.to_frame())


def extreme_groups(schema: Schema, positions: list[int], codes: np.ndarray, numbers: dict) -> pd.DataFrame:
    """Return groups with what was measured on them, one a row.

    Parameters
    ----------
    schema : Schema
    positions : list of int
        Of the sensitive_features that make the groups.
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
        Of the sensitive_features in which a counterpart differs.
    inputs, others : ndarray of int of shape (n_pairs, n_sensitive_features)
        Codes.
    outputs, other_outputs : ndarray of shape (n_pairs,)
    """
    different = schema.decode(others).iloc[:, positions].assign(output=other_outputs)
    return schema.decode(inputs).assign(output=outputs).join(different.add_suffix(_COUNTERPART))


@dataclass(frozen=True, repr=False)
class Search(Result):
    """Sets of features that a program discriminates against (definition 3.9).

    Attributes
    ----------
    min_score : float
    found : dict of str to tuple of tuple of str
        By measure, the minimal sets whose score reaches it.
    scores : tuple of Score
        Of all sets that were tested.
    skipped : dict of str to int
        By measure, how many sets needed no test.
    decided_by : {"score", "low"}
        Which number of a `Score` has to reach it: the estimate, or the lower end of its interval.

    Examples
    --------
    >>> from fairlab.themis import Themis
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 20}})
    >>> search = Themis(lambda rows: rows["sex"] == "m", schema).search(min_score=0.2)
    >>> search.found
    {'causal': (('sex',),)}
    """

    min_score: float
    found: dict[str, tuple[tuple[str, ...], ...]]
    scores: tuple[Score, ...]
    skipped: dict[str, int]
    decided_by: str = "score"

    @property
    def undecided(self) -> tuple[Score, ...]:
        """Scores of the tested sets whose interval has the least score inside: more samples might find them."""
        return tuple(score for score in self.scores if score.low < self.min_score <= score.high)

    @property
    def tests(self) -> int:
        """Number of tests over all scores."""
        return sum(score.tests for score in self.scores)

    @property
    def model_runs(self) -> int:
        """How often the model was applied."""
        return sum(score.model_runs for score in self.scores)

    @property
    def summary(self) -> str:
        """The minimal sets by measure, and how many sets were tested for them."""
        parts = [
            f"{measure}: {'; '.join(' and '.join(names) for names in sets) or 'no set'}"
            for measure, sets in self.found.items()
        ]
        skipped = sum(self.skipped.values())
        counts = f"{len(self.scores)} sets tested, {skipped} skipped"
        if self.decided_by == "low" and self.undecided:
            counts += f", {len(self.undecided)} undecided"
        return f"scores of at least {self.min_score:g} by {', by '.join(parts)} ({counts})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested set."""
        minimal = {(measure, names) for measure, sets in self.found.items() for names in sets}
        table = pd.DataFrame([score.to_dict() for score in self.scores], columns=SCORE_COLUMNS)
        return table.assign(minimal=[(score.measure, score.sensitive_features) in minimal for score in self.scores])

    def plot(self) -> "Figure":
        """Draw all scores with their intervals and the least one."""
        figure = _plot(self.to_frame())
        figure.axes[0].axvline(self.min_score, color=GREY, linestyle="--", linewidth=1)
        return figure


SCORE_COLUMNS = [name for name in Score.__dataclass_fields__ if name != "make_evidence"]


def _plot(scores: pd.DataFrame) -> "Figure":
    effects = scores["measure"].map(EFFECTS)
    named = scores.assign(method="Themis", where="generated inputs", effect=effects)
    return intervals(named.rename(columns={"score": "estimate"}))
