"""Probes: how each method is applied to a case. Every module of this package is one, found by listing the package."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from fairlab.auditing.wording import few
from fairlab.cases import Case, Finding

__all__ = ["NEEDS", "Probe", "Task", "probes"]

# What a probe may need of a case, and the one sentence that says that it is not there.
NEEDS = {
    "decisions": (
        lambda case: case.task != "numbers",
        "The model gives numbers, not decisions; decision_threshold= of the case makes decisions of them.",
    ),
    "scores": (lambda case: case.has_scores, "The model gives labels only, no scores."),
    "determinism": (
        lambda case: case.queries.is_deterministic,
        "The model answers the same row differently when queried again: its own noise would count as discrimination.",
    ),
}


@dataclass(frozen=True, eq=False)
class Task:
    """What a probe is given, and where it says what it could not do.

    Attributes
    ----------
    case : Case
    budget : int
        Most rows that the model may be queried with. More raise a BudgetSpentError, which ends the probe.
    confidence_level : float
        Of each interval.
    random_state : int
    proxies : mapping of str to iterable of str, or bool
        As of `fairlab.audit`.
    skipped : list of str
        What the probe could not assess, and why, one sentence each; see `skip`.
    warnings : list of str
        What a reader must know of the findings, one sentence each.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.auditing.probes import Task
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "points": np.arange(40)})
    >>> case = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> task = Task(case, budget=100)
    >>> task.lacks("scores"), task.large_groups("sex", case.groups("sex"), 30), task.skipped
    (True, [], ['The model gives labels only, no scores.', 'sex: fewer than 30 people are f (20), m (20).'])
    """

    case: Case
    budget: int
    confidence_level: float = 0.95
    random_state: int = 0
    proxies: Mapping[str, Iterable[str]] | bool = False
    skipped: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def skip(self, reason: str) -> None:
        """Note what could not be assessed, and why."""
        self.skipped.append(reason)

    def lacks(self, need: str, part: str = "") -> bool:
        """Return whether the case lacks one of `NEEDS`; what is skipped then is all, or a part of the method."""
        is_met, reason = NEEDS[need]
        if is_met(self.case):
            return False
        self.skip(f"{part}: {reason[0].lower()}{reason[1:]}" if part else reason)
        return True

    def large_groups(self, name: str, groups, fewest: int) -> list:
        """Return the groups of a sensitive column with at least `fewest` people, and skip the others."""
        sizes = groups.value_counts(sort=False)
        if small := [f"{group} ({size})" for group, size in sizes.items() if 0 < size < fewest]:
            self.skip(f"{name}: fewer than {fewest} people are {few(small)}.")
        return [group for group in sizes.index if sizes[group] >= fewest]

    def variable(self, *, besides=(), advice: str = "") -> list[str]:
        """Return the sensitive columns that can be varied: the model gets them, and they have two values or more.

        The others are skipped, but for those in `besides`; `advice` is added for those that the model does not get.
        """
        case, variable = self.case, []
        sizes = dict(zip(case.schema.names, case.schema.sizes, strict=True))
        for name in case.sensitive_features:
            if name in case.unseen and name not in besides:
                self.skip(f"{name}: the model does not get it, so that its direct effect is 0 by construction{advice}.")
            elif sizes.get(name) == 1:
                self.skip(f"{name}: has only one value in the schema, so that there is nothing to vary.")
            elif name in sizes:
                variable.append(name)
        return variable


@dataclass(frozen=True)
class Probe:
    """How a method is applied to a case: ``PROBE`` of a module of this package.

    Attributes
    ----------
    title : str
        Name of the method, in reports.
    description : str
        One sentence: what is computed, and where that is not the paper's algorithm.
    run : callable
        Takes a `Task`, and options of its own by keyword; yields findings.
    order : int
        Probes run in this order: those first that only need the people of the table, whose decisions are known.
    share : int
        Part of the model queries that are left, among the parts of all probes that have not run yet; what one
        does not use is there for the next.
    needs : tuple of str
        Some of `NEEDS`. A case that lacks one is refused before the probe runs.

    Examples
    --------
    >>> from fairlab.auditing.probes import Probe, probes
    >>> isinstance(probes()["themis"], Probe), probes()["themis"].title
    (True, 'Themis')
    """

    title: str
    description: str
    run: Callable[..., Iterable[Finding]]
    order: int
    share: int = 1
    needs: tuple[str, ...] = ()


@cache
def probes() -> dict[str, Probe]:
    """Return all probes by the names of their modules, in the order in which they run.

    Examples
    --------
    >>> from fairlab.auditing.probes import probes
    >>> "fairtest" in probes()
    True
    """
    found = {name: import_module(f"{__name__}.{name}").PROBE for _, name, _ in iter_modules(__path__)}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
