"""Results of methods, each with a summary, a table and a figure: one finding, and the result of one method."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri

from fairlab.plotting import BLUE, GREY, interval_lines, panels, wrapped
from fairlab.statistics import level_within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS_SHOWN = 10
MOST_NAMED = 3  # groups in a sentence
OTHER = "other "  # column of evidence with another value of a column
ROUNDING = 1e-9  # what is nearer to a number is that number
NOT_PLAIN = ("evidence", "test", "smallest", "bounds", "most", "by_group")


class Result(ABC):
    """Anything that a method returns: shown as one line, in a notebook with the first rows of its table.

    Examples
    --------
    >>> from fairlab.cases import Finding, Result
    >>> issubclass(Finding, Result)
    True
    """

    @property
    @abstractmethod
    def summary(self) -> str:
        """One line with what matters most."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return all numbers as a table."""

    @abstractmethod
    def plot(self) -> "Figure":
        """Return a figure of the numbers, closed for pyplot."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.summary}"

    def _repr_html_(self) -> str:
        table = self.to_frame()
        left_out = f"<p>{len(table) - ROWS_SHOWN} more rows</p>" if len(table) > ROWS_SHOWN else ""
        return f"<p>{escape(repr(self))}</p>{table.head(ROWS_SHOWN).to_html(index=False, border=0)}{left_out}"


@dataclass(frozen=True, repr=False)
class Finding(Result):
    """One finding: sensitive features, people, effect, uncertainty, and the rows that show it.

    Attributes
    ----------
    method : str
        Name of the method, as "FlipTest".
    sensitive_features : tuple of str
    where : str
        The people that it is about, as "everyone" or "age >= 40 and workclass = Private".
    effect : str
        Name of the measure in words, as "selection rate difference, women minus men".
    estimate : float
    low, high : float
        Confidence interval of the effect.
    p_value : float
        Of "there is no such effect", for this finding alone, before correction over findings; nan where there is none.
    evidence : DataFrame
        Rows that show it. Real people have the row labels of the case's table; generated inputs have a RangeIndex and
        ``attrs["generated"]`` is True; ``attrs["others"]`` maps each column with other values to the column varied.
    n : int
        Number of people or inputs in the estimate.
    sentence : str
        What the estimate says, in plain words.
    measure : str
        Identifier of the measure, for filtering and comparing findings, as "selection_rate_difference".
    population : {"people", "generated inputs"}
        Whether it is about people of the table or about generated inputs.
    test : callable or None
        Takes a margin, returns the p-value of "the effect is at most that in size"; None where there is only `p_value`.
    smallest : callable or None
        Takes a level and a margin, returns the smallest effect that the test would find with a power of 80%.
    bounds : callable or None
        Takes `confidence_level`; its first two return values are the interval at that level, which can show that an
        effect is small.
    most : float
        Estimate that the upper end of `bounds` belongs to, where the effect is only partly separated from chance: all
        flips of matched pairs, including those by chance. By default `estimate`.
    limit : float
        Value of the effect that `test` is against instead of an audit's margin, such as a loss ratio of 1.25; 0 for
        the margin. Without a `test`, the value that `p_value` is against.
    within : float
        Size below which the effect is small, instead of the audit's; 0 for `limit`, or else for the audit's.
    through : tuple of str
        Features that were varied in place of the sensitive one, which the model does not get.
    groups : tuple of str
        The two groups compared: the effect is the first minus the second. Empty where there are no two.
    by_group : DataFrame or None
        One row for each group, with ``people``, ``lose`` (people whose decision would otherwise be favourable) and
        ``gain`` (people whose decision would otherwise be unfavourable).

    Raises
    ------
    TypeError
        If `sensitive_features` is no tuple of names.
    ValueError
        If `low` is above `high`, or `p_value` is not within 0 and 1.

    Examples
    --------
    >>> from fairlab.cases import Finding
    >>> finding = Finding(
    ...     "themis", ("sex",), "everyone", "causal score", 0.12, 0.10, 0.14, 0.001, pd.DataFrame(), 500
    ... )
    >>> finding.estimate, finding.n
    (0.12, 500)
    """

    method: str
    sensitive_features: tuple[str, ...]
    where: str
    effect: str
    estimate: float
    low: float
    high: float
    p_value: float
    evidence: pd.DataFrame = field(compare=False)
    n: int
    sentence: str = ""
    measure: str = ""
    population: str = "people"
    test: Callable[[float], float] | None = field(default=None, compare=False)
    smallest: Callable[[float, float], float] | None = field(default=None, compare=False)
    bounds: Callable[..., tuple] | None = field(default=None, compare=False)
    most: float = -math.inf
    limit: float = 0.0
    within: float = 0.0
    through: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    by_group: pd.DataFrame | None = field(default=None, compare=False)

    def __post_init__(self):
        if not isinstance(self.sensitive_features, tuple):
            raise TypeError(f"sensitive_features: expected a tuple of names, found {self.sensitive_features!r}")
        if self.low > self.high:
            raise ValueError(f"low: expected at most high ({self.high:g}), found {self.low:g}")
        if not (np.isnan(self.p_value) or 0 <= self.p_value <= 1):
            raise ValueError(f"p_value: expected a number within 0 and 1, or nan, found {self.p_value:g}")

    @property
    def who(self) -> str:
        """The sensitive features in words, as "sex and race", with any proxies varied, as "sex (through job)"."""
        return listed(self.sensitive_features) + (f" (through {listed(self.through)})" if self.through else "")

    @property
    def comparison(self) -> str:
        """The comparison as a label in a list: the features, the people unless everyone, and the effect."""
        where = "" if self.where == "everyone" else f", {self.where}"
        return f"{self.who}{where}: {self.effect}"

    def side(self, group: str) -> int:
        """Return 1 if a group has more of what is compared, -1 if less; 0 for groups that the finding is not about."""
        places = {name: 1 - 2 * place for place, name in enumerate(self.groups)}
        return int(np.sign(self.estimate)) * places.get(group, 0)

    def against(self, margin: float) -> float:
        """Return the size of the effect that a report with a margin tests against; nan without a p-value."""
        if np.isnan(self.p_value):
            return np.nan
        return self.limit or (margin if self.test else 0.0)

    def p_value_beyond(self, margin: float) -> float:
        """Return the p-value of "the effect is at most `margin` in size", or `p_value` where that is all there is."""
        return self.test(margin) if self.test and not np.isnan(self.p_value) else self.p_value

    def least_large(self, within: float) -> float:
        """Return the size below which the effect is small, in a report with this `within`."""
        return self.within or self.limit or within

    def p_value_within(self, margin: float) -> float:
        """Return the p-value of "the effect is at least `margin` in size" (or its own limit); nan if it is unknown.

        It is half the smallest alpha at which the interval lies inside: two one-sided tests, both of which must reject.
        """
        if self.bounds is None or np.isnan(self.p_value):
            return np.nan
        bounds = self.bounds
        level = level_within(lambda of: bounds(confidence_level=of)[:2], self.least_large(margin))
        return level / 2 if level < 1 else 1.0

    def times_as_many(self, margin: float, within: float, alpha: float, n_tests: int) -> float:
        """Return how many times as many people would settle it, if its estimate were true; nan if unknown.

        It is infinite where no number would do, as for flips that chance alone could explain. Settled means shown to be
        beyond `margin` or within `within`, as one of `n_tests`, with a power of at least 80%, by the normal
        approximation.
        """
        rooms = np.array([self.estimate, -self.estimate]) - (self.limit or margin)
        quantile = ndtri(1 - alpha / 2 / n_tests) + ndtri(0.8)
        beyond = self._times(alpha, quantile, rooms).min()  # an interval has one end towards the margin
        return max(min(float(beyond), self.times_within(within, alpha, n_tests)), 1.0)

    def times_within(self, within: float, alpha: float, n_tests: int = 1) -> float:
        """Return the same of showing that it is within `within`; less than 1 where fewer people would do."""
        rooms = self.least_large(within) + np.array([self.estimate, -max(self.estimate, self.most)])
        return float(self._times(alpha, ndtri(1 - alpha / n_tests) + ndtri(0.9), rooms).max())

    def _times(self, alpha: float, quantile: float, rooms: np.ndarray) -> np.ndarray:
        """Return the factors on the number of people at which the lower and the upper error fit into two distances."""
        if self.bounds is None or np.isnan(self.p_value):
            return np.full(2, np.nan)
        low, high = self.bounds(confidence_level=1 - alpha)[:2]
        ends = np.array([self.estimate - low, high - max(self.estimate, self.most)])
        errors = np.maximum(ends, 0) / ndtri(1 - alpha / 2)
        return np.divide(quantile * errors, rooms, out=np.full(2, np.inf), where=rooms > 0) ** 2

    @property
    def summary(self) -> str:
        """Who, where, the effect and its interval."""
        interval = f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"
        return f"{self.method}, {self.who}, {self.where}: {self.effect} {interval}"

    def to_dict(self) -> dict:
        """Return the attributes that are numbers, words or tuples of words; `most` is left out."""
        return {name: getattr(self, name) for name in _plain_fields(type(self))}

    def to_frame(self) -> pd.DataFrame:
        """Return one row with the attributes in `to_dict`."""
        return pd.DataFrame([self.to_dict()])

    def plot(self) -> "Figure":
        """Draw the estimate with its interval."""
        return intervals(self.to_frame())


class Reason(str):
    """A sentence on what was not assessed.

    Attributes
    ----------
    sensitive_features : tuple of str
        Those that it is about; none if it is about all.
    left_out : tuple of str
        Groups of one feature that were not compared because they are small, or because there are too many.
    """

    sensitive_features: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def about(cls, text: str, sensitive_features: Iterable[str], left_out: Iterable[str] = ()) -> "Reason":
        """Return a sentence about some sensitive features."""
        reason = cls(text)
        reason.sensitive_features, reason.left_out = tuple(sensitive_features), tuple(left_out)
        return reason


@dataclass(frozen=True, repr=False)
class MethodResult(Result):
    """Result of one method on a case.

    Attributes
    ----------
    method : str
    findings : tuple of Finding
    skipped : tuple of str
        What it could not assess, and why, one sentence each; a `Reason` knows which sensitive features it is about.
    n_queries : int
        Rows that the model was queried with.
    seconds : float
    warnings : tuple of str
        What a reader must know of the findings, one sentence each.
    description : str
        What was computed, and where it differs from the paper's algorithm.

    Examples
    --------
    >>> from fairlab.cases import MethodResult
    >>> MethodResult("Themis", (), ("sex: the model does not get it.",), 120, 0.5).n_queries
    120
    """

    method: str
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]
    n_queries: int
    seconds: float
    warnings: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self):
        for name in ("findings", "skipped", "warnings"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def summary(self) -> str:
        """How many findings, queries and seconds, and how much was skipped."""
        found = f"{len(self.findings)} finding{'s' * (len(self.findings) != 1)}, {len(self.skipped)} skipped"
        return f"{self.method}: {found} ({self.n_queries:,} model queries, {self.seconds:.1f} s)"

    def to_frame(self) -> pd.DataFrame:
        """Return one row a finding, with the attributes in `Finding.to_dict`."""
        columns = _plain_fields(Finding)
        return pd.DataFrame([finding.to_dict() for finding in self.findings], columns=columns)

    def plot(self) -> "Figure":
        """Draw all estimates with their intervals."""
        return intervals(self.to_frame())


def _plain_fields(kind) -> list[str]:
    return [each.name for each in fields(kind) if each.name not in NOT_PLAIN]


def intervals(findings: pd.DataFrame) -> "Figure":
    """Return a figure of estimates with their confidence intervals, one a line.

    Parameters
    ----------
    findings : DataFrame
        With the columns ``method, sensitive_features, where, effect, estimate, low, high``; ``limit``, if they have it.
    """
    rows = list(findings.itertuples())
    heads = [f"{row.method}: {listed(row.sensitive_features)}, {row.where}" for row in rows]
    labels = [f"{wrapped(head)}\n{wrapped(row.effect)}" for head, row in zip(heads, rows, strict=True)]
    n_lines = max((label.count("\n") + 1 for label in labels), default=1)
    figure, [axis] = panels(1, 1, width=8, height=0.8 + max(0.45, 0.15 * n_lines) * max(len(rows), 1))
    for limit in {0.0, *findings.get("limit", ())}:
        axis.axvline(limit, color=GREY, linewidth=1, linestyle=":" if limit else "-")
    numbers = (findings[name].astype(float) for name in ("estimate", "low", "high"))
    interval_lines(axis, labels, *numbers, colors=[BLUE] * len(rows))
    axis.set_xlabel("effect with its confidence interval")
    return figure


def beside(
    rows: pd.DataFrame, others: pd.DataFrame, decision, *, generated: bool, name: str = "favourable"
) -> pd.DataFrame:
    """Return rows as evidence, with added columns for other values and for the decision on the row itself."""
    origins = {free_name(f"{OTHER}{origin}", rows): origin for origin in others}
    added = {other: others[origin].array for other, origin in origins.items()}
    evidence = rows.assign(**added, **{free_name(name, rows): decision})
    if generated:
        evidence = evidence.reset_index(drop=True)
    evidence.attrs |= {"generated": generated, "others": origins}
    return evidence


def free_name(name: str, rows: pd.DataFrame) -> str:
    """Return a name for a new column; underscores are added while rows have a column of that name."""
    while name in rows:
        name += "_"
    return name


def listed(words: Iterable[str]) -> str:
    """Return words in a sentence: ``"a, b and c"``."""
    words = list(words)
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def decimals(value: float, n: int = 1, whole: float = 100.0) -> str:
    """Return a number with `n` decimals, or with more where it would wrongly read as 0 or as `whole`."""
    nearest = round(value, n) + 0.0  # which makes -0 a 0
    away = abs(value - nearest)
    if abs(nearest) in (0, whole) and away > ROUNDING:
        return f"{value:.{math.ceil(-math.log10(away))}f}"
    return f"{nearest:.{n}f}"


def percent(share: float) -> str:
    """Return a share in words: ``"4.3%"``, ``"0.02%"``."""
    return f"{decimals(100 * share)}%"


def few(names: Sequence[str]) -> str:
    """Return the first names in words, and how many there are besides."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
