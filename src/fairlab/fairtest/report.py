"""What tests found: of one hypothesis, of one subgroup, and the report on all of them (section 4.4)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fairlab.fairtest.metrics import Interval, Metric, TableMetric
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tree import Node

SIGNIFICANCE = 0.05


@dataclass(frozen=True, eq=False)
class Association:
    """The test of one hypothesis.

    Attributes
    ----------
    part : str
        Empty for a whole context; else a label of a discovery, or a stratum such as ``department: A``.
    metric : Metric
    sample : Sample
        The people concerned.
    low, high : float
        Interval, corrected for the number of hypotheses; nan if nobody of the test set is concerned.
    p_value : float
        Corrected.
    raw_p_value : float
        Before correction.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(DataSource(people), Investigation("sex", "offer")).sections
    >>> (association,) = section.subgroups[0].associations
    >>> association.low > 0.5, association.p_value < 0.05
    (True, True)
    """

    part: str
    metric: Metric
    sample: Sample
    low: float
    high: float
    p_value: float
    raw_p_value: float

    @property
    def size(self) -> int:
        """Number of people."""
        return len(self.sample)

    @property
    def metric_name(self) -> str:
        """Name of the metric, which says whether an explanatory attribute is held fixed."""
        return self.metric.name_given(self.sample.explanatory)

    @property
    def effect(self) -> float:
        """Strength that the corrected interval proves."""
        return float(self.metric.effect(Interval(self.low, self.high, self.p_value))) if self.size else 0.0

    @property
    def estimate(self) -> float | None:
        """The metric of the people themselves; None of nobody, and for a metric that is not of contingency tables."""
        if not (self.size and isinstance(self.metric, TableMetric)):
            return None
        tables = self.metric.of_all(self.sample)
        return float(self.metric.estimate_given(tables[tables.any(axis=(-2, -1))]))

    def to_dict(self, *, smallest_cell: int = 0) -> dict:
        """Return the test as plain data; see `AssociationReport.to_dict`."""
        table = _shown_counts(self.sample, smallest_cell)
        is_whole = table is not None and not table["hidden"]
        return {
            "part": self.part,
            "size": self.size,
            "metric": self.metric_name,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "estimate": _finite(self.estimate) if is_whole else None,
            "p_value": self.p_value,
            "direction": _direction(table) if table and self.sample.explanatory is None else None,
            "table": table,
        }


@dataclass(frozen=True, eq=False)
class Subgroup:
    """The test of one subgroup, which the paper calls a context.

    Attributes
    ----------
    node : Node
        What defines it.
    sample : Sample
        Its people in the test set.
    associations : tuple of Association
        The subgroup's own, then those of its strata; in a discovery, one for each label.
    significance : float
        The largest corrected p-value that is significant.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(DataSource(people), Investigation("sex", "offer")).sections
    >>> everyone = section.subgroups[0]
    >>> everyone.size, everyone.association().p_value < 0.05
    (300, True)
    """

    node: Node
    sample: Sample
    associations: tuple[Association, ...]
    significance: float = SIGNIFICANCE

    @property
    def size(self) -> int:
        """Number of people in the test set."""
        return len(self.sample)

    def association(self, part: str = "") -> Association:
        """Return the test of the whole subgroup, or of a part of it.

        Parameters
        ----------
        part : str
            A stratum, such as ``"department: A"``, or a label of a discovery.

        Raises
        ------
        KeyError
            If there is no such part; the message lists those that are.
        """
        for association in self.associations:
            if association.part == part:
                return association
        known = ", ".join(repr(association.part) for association in self.associations)
        raise KeyError(f"{self.node} has no part {part!r}; there are {known}")

    @property
    def effect(self) -> float:
        """Effect of the subgroup's own association, or the mean over labels."""
        own = [a.effect for a in self.associations if not a.part]
        return own[0] if own else float(np.mean([a.effect for a in self.associations]))

    @property
    def is_significant(self) -> bool:
        """Whether the subgroup's corrected p-value is small enough, or, for labels, whether its effect is above 0."""
        own = [a.p_value for a in self.associations if not a.part]
        return own[0] <= self.significance if own else self.effect > 0

    @property
    def p_value(self) -> float:
        """The subgroup's own corrected p-value, or the smallest one of its labels."""
        return min((a.p_value for a in self.associations if not a.part or self.node.labels), default=1.0)

    def to_dict(self, *, smallest_cell: int = 0) -> dict:
        """Return the subgroup with its tests as plain data; see `AssociationReport.to_dict`."""
        return {
            "context": str(self.node),
            "kind": sorted(condition.kind for condition in self.node.conditions),
            "size": self.size,
            "effect": _finite(self.effect),
            "significant": self.p_value <= self.significance,
            "tests": [a.to_dict(smallest_cell=smallest_cell) for a in self.associations if a.size >= smallest_cell],
        }

    def labels(self) -> pd.DataFrame:
        """Return the labels of a discovery: share of people with each, by group, interval and p-value.

        Returns
        -------
        DataFrame of shape (n_labels, 5)
            Indexed by label; shares lie between 0 and 1.
        """
        rows = []
        for association in self.associations:
            sensitive, output = association.sample.sensitive_features, association.sample.output
            members = {group: sensitive.values == code for code, group in enumerate(sensitive.categories)}
            shares = {group: output.values[some].mean() if some.any() else np.nan for group, some in members.items()}
            tested = {"low": association.low, "high": association.high, "p_value": association.p_value}
            rows.append({"label": output.name} | shares | tested)
        return pd.DataFrame(rows).set_index("label")

    def __str__(self):
        if self.node.labels:
            table = self.labels()
            formats = dict.fromkeys(table.columns[:2], "{:.0%}".format)
            formats |= {"low": "{:.4f}".format, "high": "{:.4f}".format, "p_value": "{:.2e}".format}
            return table.to_string(formatters=formats)
        lines = []
        for association in self.associations:
            part, sample = association.part, association.sample
            if part and association.size:
                lines += ["", f"* {part}: population of size {association.size:,}"]
            if association.size or not part:
                interval = f"[{association.low:.4f}, {association.high:.4f}]"
                lines.append(f"p-value = {association.p_value:.2e} ; {association.metric_name} = {interval}")
                if association.effect == 0 or association.p_value > self.significance:
                    lines.append("Not distinguishable from no association.")
                if sample.output.is_categorical and sample.sensitive_features.is_categorical:
                    lines.append(_with_shares(sample.counts()).to_string())
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Section:
    """The report on one sensitive feature of one investigation.

    Attributes
    ----------
    output, sensitive_features : str
    explanatory : str or None
    metric : Metric
    subgroups : tuple of Subgroup
        The tests of all subgroups, the whole population's first.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(DataSource(people), Investigation("sex", "offer")).sections
    >>> section.sensitive_features, section.output, len(section.subgroups)
    ('sex', 'offer', 1)
    """

    output: str
    sensitive_features: str
    explanatory: str | None
    metric: Metric
    subgroups: tuple[Subgroup, ...]

    @property
    def everyone(self) -> Subgroup:
        """The test of the whole population."""
        return self.subgroups[0]

    def find(self, *conditions: str) -> Subgroup | None:
        """Return the test of the subgroup with exactly these conditions in any order, None if there is none.

        Parameters
        ----------
        *conditions : str
            As they are printed, such as ``"age > 46.5"`` or ``"race: Black"``; none for the whole population.
        """
        wanted = set(conditions)
        return next((one for one in self.subgroups if set(map(str, one.node.conditions)) == wanted), None)

    @cached_property
    def significant(self) -> tuple[Subgroup, ...]:
        """The significant subgroups, the whole population among them if it is."""
        return tuple(one for one in self.subgroups if one.is_significant)

    @cached_property
    def reported(self) -> tuple[Subgroup, ...]:
        """What is reported: the whole population, then the significant subgroups with an effect, the strongest first.

        Left out are subgroups with a weaker effect than one that contains them.
        """
        root, *others = self.subgroups
        effect = {id(one.node): one.effect for one in self.subgroups}
        strong = [
            one
            for one in others
            if one.is_significant
            and one.effect > 0
            and one.effect >= max(effect.get(id(node), 0.0) for node in one.node.ancestors)
        ]
        return (root, *sorted(strong, key=lambda one: -one.effect))

    def counts(self) -> dict:
        """Return how many subgroups were tested, are significant and are reported; see `AssociationReport.counts`."""
        return {
            "output": self.output,
            "sensitive_features": self.sensitive_features,
            "metric": self.metric.name_given(self.explanatory),
            "tested": len(self.subgroups),
            "significant": len(self.significant),
            "reported": len(self.reported),
            "smallest_significant": min((one.size for one in self.significant), default=None),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested hypothesis; see `AssociationReport.to_frame`."""
        rank = {id(one): number for number, one in enumerate(self.reported)}
        rows = [
            {
                "output": self.output,
                "sensitive_features": self.sensitive_features,
                "context": str(one.node),
                "part": association.part,
                "depth": len(one.node.ancestors),
                "size": association.size,
                "metric": association.metric_name,
                "low": association.low,
                "high": association.high,
                "p_value": association.p_value,
                "raw_p_value": association.raw_p_value,
                "effect": one.effect,
                "significant": one.is_significant,
                "rank": rank.get(id(one)),
            }
            for one in self.subgroups
            for association in one.associations
        ]
        return pd.DataFrame(rows).astype({"rank": "Int64"})

    def to_dict(self, *, smallest_cell: int = 0) -> dict:
        """Return the reported subgroups as plain data; see `AssociationReport.to_dict`."""
        shown = [one for one in self.reported if one.size >= smallest_cell]
        return {
            "output": self.output,
            "sensitive_feature": self.sensitive_features,
            "explanatory": self.explanatory,
            "metric": self.metric.name_given(self.explanatory),
            "tested": len(self.subgroups),
            "significant": sum(one.p_value <= one.significance for one in self.subgroups),
            "withheld": len(self.reported) - len(shown),
            "contexts": [one.to_dict(smallest_cell=smallest_cell) for one in shown],
        }

    def __str__(self):
        given = f", conditioned on explanatory attribute E={self.explanatory}" if self.explanatory else ""
        root, *others = self.reported
        lines = [
            f"Report of associations of O={self.output} on S={self.sensitive_features}{given}:",
            f"Association metric: {self.metric.name_given(self.explanatory)}.",
            f"{len(self.subgroups)} contexts tested, {len(self.significant)} significant, {len(others) + 1} reported.",
            "",
            f"Global population of size {root.size:,}",
            str(root),
        ]
        for number, one in enumerate(others, start=1):
            lines += ["", f"{number}. Subpopulation of size {one.size:,}", f"Context = {one.node}", str(one)]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class AssociationReport:
    """What one or several investigations found; as text with ``print``.

    Attributes
    ----------
    sections : tuple of Section
        One for each sensitive feature of each investigation.
    warnings : tuple of str
        What was decided about the data unasked.

    Examples
    --------
    >>> from fairlab.fairtest import AssociationReport, DataSource, Investigation, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> found = investigate(DataSource(people), Investigation("sex", "offer"))
    >>> isinstance(found, AssociationReport), len(found.sections)
    (True, 1)
    """

    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()

    def section(self, sensitive_features: str, output: str | None = None) -> Section:
        """Return the section on a sensitive feature, and on an output if there are several.

        Raises
        ------
        KeyError
            If there is no such section, or more than one.
        """
        found = [s for s in self.sections if s.sensitive_features == sensitive_features and output in (None, s.output)]
        if len(found) != 1:
            known = ", ".join(f"{s.output!r} on {s.sensitive_features!r}" for s in self.sections)
            asked = f"of {output!r} " * (output is not None) + f"on {sensitive_features!r}"
            raise KeyError(f"expected one section {asked}, found {len(found)}; there are {known}")
        return found[0]

    def counts(self) -> pd.DataFrame:
        """Return how many subgroups were tested, are significant and are reported, one row for each section.

        Returns
        -------
        DataFrame
            Columns ``output``, ``sensitive_features``, ``metric``, ``tested``, ``significant``, ``reported`` and
            ``smallest_significant``, the number of people in the smallest significant subgroup, if there is one.
        """
        return pd.DataFrame([section.counts() for section in self.sections]).astype({"smallest_significant": "Int64"})

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested hypothesis, reported or not.

        Returns
        -------
        DataFrame
            ``output`` and ``sensitive_features``; ``context``, the subgroup, and its ``depth`` in the tree; ``part``,
            which is empty for the whole subgroup and else names a stratum or label; ``size`` in the test set;
            ``metric`` with the corrected interval ``low`` to ``high``, corrected and raw p-value; for the subgroup
            ``effect``, ``significant`` and, if it is reported, ``rank``, which is 0 for the whole population.
        """
        return pd.concat([section.to_frame() for section in self.sections], ignore_index=True)

    def to_dict(self, *, smallest_cell: int = 0) -> dict:
        """Return what is reported as plain data, for JSON and `compare_reports`.

        Parameters
        ----------
        smallest_cell : int
            Subgroups and strata of fewer people are left out, and so are groups with fewer people of one output,
            unless their numbers would follow from what is shown.

        Returns
        -------
        dict
            ``warnings``, and ``sections`` with the ``contexts`` that are reported, the whole population first. Each has
            its ``tests``: interval, p-value, the ``table`` of counts and, where that is whole, the ``estimate``, and in
            ``direction`` which group gets the last output least often. A context is ``significant`` by its p-value, or
            by that of one of its labels. None stands for what is not shown, and for an infinite number.

        Examples
        --------
        >>> from fairlab.fairtest import DataSource, Investigation, investigate
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
        >>> found = investigate(DataSource(people), Investigation("sex", "offer")).to_dict(smallest_cell=10)
        >>> (everyone,) = found["sections"][0]["contexts"]
        >>> everyone["size"], everyone["significant"], everyone["tests"][0]["table"]
        (300, True, None)
        """
        sections = [section.to_dict(smallest_cell=smallest_cell) for section in self.sections]
        return {"warnings": list(self.warnings), "sections": sections}

    def __str__(self):
        return "\n\n".join([*self.warnings, *map(str, self.sections)])


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of counts as text, with shares of the column in the body and of all people in the totals."""
    shares = table / table.loc["Total"].replace(0, 1)
    shares.loc["Total"] = table.loc["Total"] / max(table.loc["Total", "Total"], 1)
    return table.map("{:,}".format) + shares.map(" ({:.0%})".format)


def _finite(number: float | None) -> float | None:
    """Return None for what JSON has no number for: the bound of a ratio may be infinite."""
    return float(number) if number is not None and np.isfinite(number) else None


def _shown_counts(sample: Sample, smallest_cell: int) -> dict | None:
    """Return people by output and group, as far as two groups at least have no small cell.

    The people of the other groups together are no small cell, either, as they follow from the size of the context.
    """
    if not (sample.output.is_categorical and sample.sensitive_features.is_categorical):
        return None
    counts = sample.counts().drop(index="Total", columns="Total")
    shown = counts.loc[:, (counts >= smallest_cell).all() & counts.any()]
    if 0 < counts.to_numpy().sum() - shown.to_numpy().sum() < smallest_cell and len(shown.columns):
        shown = shown.drop(columns=shown.sum().idxmin())
    if len(shown.columns) < 2:
        return None
    return {
        "groups": list(shown.columns),
        "outputs": list(shown.index),
        "counts": shown.to_numpy().tolist(),
        "hidden": len(counts.columns) - len(shown.columns),
        "shares": (shown.iloc[-1] / shown.sum()).tolist(),
    }


def _direction(table: dict) -> str | None:
    """Say which of the groups shown gets the last output least and which most often, unless it is all the same."""
    (least, low), *_, (most, high) = sorted(zip(table["groups"], table["shares"], strict=True), key=lambda one: one[1])
    if low == high:
        return None
    return f"{table['outputs'][-1]} less often among {least} ({low:.1%}) than among {most} ({high:.1%})"
