"""A method of fairness testing: its parameters in the constructor, and `run`, which applies it to a case."""

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import pandas as pd

from fairlab.cases.case import Case
from fairlab.cases.decisions import NO_MODEL, NoModelError
from fairlab.cases.finding import Finding, MethodResult, Reason, few, listed
from fairlab.cases.queries import BudgetSpentError, DeadlineError
from fairlab.cases.schema import ModelFailedError
from fairlab.checks import COUNT_OR_ZERO, FRACTION, check_kind, checked

# Requirements that a method may have of a case, and the sentence for a case that does not meet one.
NEEDS = {
    "model": (lambda case: case.model is not None, NO_MODEL),
    "decisions": (
        lambda case: case.task != "numbers",
        "The model gives numbers, not decisions; decision_threshold= of the case makes decisions of them.",
    ),
    "scores": (lambda case: case.has_scores, "The model gives labels only, no scores."),
    "determinism": (
        lambda case: case.queries.is_deterministic,
        "The model answers the same row differently when queried again: its own noise would count as discrimination.",
    ),
    "whole people": (lambda case: case.weights is None, "It needs people without weights."),
    "transport": (
        lambda case: find_spec("ot") is not None,
        "It matches people by the package POT, which is not installed here.",
    ),
}
CASE = partial(check_kind, kind=Case, advice="; wrap model and table in one first")  # of a parameter
PAIRS_CONFIRMED = 10  # pairs of each finding, fewer for a slow model
REST = ("all others", "everyone else", "the others")  # names of the people of all other groups
LATE = "the seconds that the audit may take were over."


class Unfinished(Reason):
    """A sentence on why tests of a method were not made: time or budget ran out, or the model failed."""


@dataclass(frozen=True, eq=False)
class Examination:
    """One run of a method on a case: its budget, and where the method says what it could not do.

    Attributes
    ----------
    case : Case
    budget : int
        Most rows that the model may be queried with. More raise a BudgetSpentError, which ends the run.
    skipped : list of str
        What could not be assessed, and why, one sentence each; see `skip`.
    warnings : list of str
        What a reader must know of the findings, one sentence each.
    has_tests : bool
        Whether the method has tests, which a reader misses where they were not made; see `stop`.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.cases.method import Examination
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "points": np.arange(40)})
    >>> case = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> examination = Examination(case, budget=100)
    >>> examination.lacks("scores"), examination.large_groups("sex", case.groups("sex"), 30), examination.skipped
    (True, [], ['The model gives labels only, no scores.', 'sex: fewer than 30 people are f (20), m (20).'])
    """

    case: Case
    budget: int
    skipped: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    has_tests: bool = True

    def skip(self, reason: str, *sensitive_features: str, left_out: Iterable[str] = ()) -> None:
        """Record what could not be assessed, and why, with the sensitive features (none: all) and groups concerned."""
        self.skipped.append(Reason.about(reason, sensitive_features, left_out))

    def stop(self, reason: str, *sensitive_features: str) -> None:
        """Record why tests were not made: time or budget did not suffice, or the model failed; see `skip`."""
        kind = Unfinished if self.has_tests else Reason
        self.skipped.append(kind.about(reason, sensitive_features))

    def lacks(self, need: str, part: str = "") -> bool:
        """Return whether the case lacks one of `NEEDS`; if so, the method, or `part` of it, is recorded as skipped."""
        is_met, reason = NEEDS[need]
        if is_met(self.case):
            return False
        self.skip(f"{part}: {reason[0].lower()}{reason[1:]}" if part else reason)
        return True

    def confirms(self, findings: Iterable[Finding]) -> bool:
        """Return whether the model repeats its decisions on the first pairs of rows in the evidence of findings.

        Otherwise, noise too rare to show in the case's determinism check would count as discrimination.
        """
        shown = [each.evidence for each in findings if len(each.evidence) and each.evidence.attrs.get("others")]
        if not self.case.queries.is_deterministic or not shown:
            return True
        n_pairs = np.clip(self.case.queries.repeated_in_time // (2 * len(shown)), 1, PAIRS_CONFIRMED)
        features, sides = list(self.case.features), []
        for some in (evidence.head(n_pairs) for evidence in shown):
            others = {origin: some[name].array for name, origin in some.attrs["others"].items()}
            sides += [some[features], some[features].assign(**others)]
        return self.case.confirms(pd.concat(sides, ignore_index=True))

    def large_groups(self, name: str, groups, fewest: int) -> list:
        """Return the groups of a sensitive column with at least `fewest` people; the others are recorded as skipped."""
        return self._large((name,), groups.value_counts(sort=False), fewest)

    def pairs_of_groups(self, features: Sequence[str], sizes, fewest: int, most: int) -> list[tuple[str, str]]:
        """Return the pairs to compare: two groups with each other, or each of several groups with everyone else.

        Parameters
        ----------
        features : sequence of str
            The sensitive ones.
        sizes : Series of int
            People by group.
        fewest, most : int
            Groups of fewer than `fewest` people are skipped, and all but the `most` largest.
        """
        large = sizes[self._large(features, sizes, fewest)]
        kept = set(large.sort_values(ascending=False, kind="stable").index[:most])
        if left_out := [str(group) for group in large.index if group not in kept]:
            reason = f"{listed(features)}: only the {most} largest groups are compared, not {few(left_out)}."
            self.skip(reason, *features, left_out=left_out)
        if len(large) == 2 == (sizes > 0).sum():
            return [tuple(large.index)]
        others = rest_of(sizes.index, "everyone else")
        return [(group, others) for group in large.index if group in kept and sizes.sum() - sizes[group] >= fewest]

    def _large(self, features, sizes, fewest) -> list:
        if small := {str(group): size for group, size in sizes.items() if 0 < size < fewest}:
            named = few([f"{group} ({size})" for group, size in small.items()])
            left_out = small if len(features) == 1 else ()  # intersections of two features are often small
            self.skip(f"{listed(features)}: fewer than {fewest} people are {named}.", *features, left_out=left_out)
        return [group for group in sizes.index if sizes[group] >= fewest]

    def variable(self, *, besides=(), advice: str = "") -> list[str]:
        """Return the sensitive columns that can be varied: the model gets them, and they have two values or more.

        The others are skipped, but for those in `besides`; `advice` is added for those that the model does not get.
        """
        case, variable = self.case, []
        sizes = dict(zip(case.schema.names, case.schema.sizes, strict=True))
        for name in case.sensitive_features:
            if name in case.unseen and name not in besides:
                self.skip(
                    f"{name}: the model does not get it, so its direct effect is 0 by construction{advice}.", name
                )
            elif sizes.get(name) == 1:
                self.skip(f"{name}: has only one value in the schema, so that there is nothing to vary.", name)
            elif name in sizes:
                variable.append(name)
        return variable


def rest_of(groups: Collection[str], usual: str) -> str:
    """Return a name for the people of all other groups that no group has: `usual`, or else one of `REST`."""
    return next(name for name in (usual, *REST) if name not in groups)


class Method(ABC):
    """A method of fairness testing; an audit runs its own, and those that a user adds.

    Parameters
    ----------
    confidence_level : float
        Of each interval.
    random_state : int

    Attributes
    ----------
    title : str
        Name of the method, in reports.
    description : str
        One sentence: what is computed, and where it differs from the paper's algorithm.
    share : int
        Weight by which an audit divides the model queries that are left among all methods that have not run yet.
    needs : tuple of str
        Some of `NEEDS`. On a case that lacks one, the method does not run.
    takes_weights : bool
        Whether it uses weights and persons of a case, and all decisions in an audit without a model. Otherwise it skips
        a case with weights, and gets one decision of each person.
    has_tests : bool
        Whether its findings have tests. An audit in which such a method does not finish rules nothing out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.fliptest import FlipTest
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> FlipTest().run(case).method
    'FlipTest'
    """

    title: ClassVar[str]
    description: ClassVar[str]
    share: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    takes_weights: ClassVar[bool] = False
    has_tests: ClassVar[bool] = True

    @checked(confidence_level=FRACTION, random_state=COUNT_OR_ZERO)
    def __init__(self, *, confidence_level: float = 0.95, random_state: int = 0):
        self.confidence_level, self.random_state = confidence_level, random_state

    @abstractmethod
    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the findings about the case; what cannot be assessed is recorded as skipped in the examination."""

    def is_skipped(self, examination: Examination) -> bool:
        """Return whether the case lacks something that the method needs, which is recorded as skipped."""
        needs = self.needs if self.takes_weights else (*self.needs, "whole people")
        return any(map(examination.lacks, needs))

    @checked(case=CASE, budget=COUNT_OR_ZERO)
    def run(self, case: Case, *, budget: int = 200_000) -> MethodResult:
        """Apply the method to a case.

        Parameters
        ----------
        case : Case
        budget : int
            Most rows that the model is queried with, besides the people of the table, whose decisions are cached.

        Raises
        ------
        TypeError
            If `case` is not a Case.
        ValueError
            If `budget` is no whole number of at least 0.
        """
        one_each = case if self.takes_weights else case.one_decision_each(random_state=self.random_state)
        examination = Examination(one_each, budget, has_tests=self.has_tests)
        start, queried, confirmed = time.perf_counter(), case.queries.n_queries, True
        findings: list[Finding] = []
        try:
            with case.queries.limit(budget):
                if not self.is_skipped(examination):
                    if one_each is not case:
                        examination.warnings.append(
                            f"{self.title} took one decision of each person, drawn at random: "
                            f"{len(one_each.table):,} of {len(case.table):,}."
                        )
                    findings.extend(self.findings(examination))
                    confirmed = examination.confirms(findings)
        except NoModelError:
            examination.skip(NO_MODEL)
        except DeadlineError:
            examination.stop(LATE)
        except ModelFailedError as error:
            examination.stop(f"The model cannot be queried with other values; {error}.")
        except BudgetSpentError:
            spent = f"{budget:,} {'query' if budget == 1 else 'queries'}"
            examination.stop(f"its share of the budget, {spent}, ran out before it had a result.")
        except Exception as error:
            error.add_note(f"This happened while {self.title} examined the case; audit(methods=...) can leave it out.")
            raise
        if not confirmed:
            anew = self.run(case, budget=int(min(budget, case.queries.left)))
            return replace(anew, n_queries=case.queries.n_queries - queried, seconds=time.perf_counter() - start)
        return MethodResult(
            method=self.title,
            findings=tuple(findings),
            skipped=tuple(dict.fromkeys(examination.skipped)),
            n_queries=case.queries.n_queries - queried,
            seconds=time.perf_counter() - start,
            warnings=tuple(dict.fromkeys(examination.warnings)),
            description=self.description,
        )
