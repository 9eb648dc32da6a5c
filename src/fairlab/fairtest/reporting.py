"""The report of investigations (section 4.4): what is significant and stronger than in the population around it."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fairlab.fairtest.finding import SIGNIFICANCE, Finding
from fairlab.fairtest.investigation import as_list
from fairlab.fairtest.metric import Metric
from fairlab.fairtest.sample import Column
from fairlab.fairtest.summaries import contingency_table, label_table


@dataclass(frozen=True, eq=False)
class Section:
    """The report on one protected attribute of one investigation.

    Attributes
    ----------
    output, protected : str
    explanatory : str or None
    metric : Metric
    findings : tuple of Finding
        The tests of all contexts, the root's first.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(Testing(DataSource(people), "sex", "offer")).sections
    >>> section.protected, section.output, len(section.findings)
    ('sex', 'offer', 1)
    """

    output: str
    protected: str
    explanatory: str | None
    metric: Metric
    findings: tuple[Finding, ...]

    @property
    def everyone(self) -> Finding:
        """The test of the whole population."""
        return self.findings[0]

    def find(self, *conditions: str) -> Finding | None:
        """Return the test of the context with exactly these conditions in any order, None if there is none.

        Parameters
        ----------
        *conditions : str
            As they are printed, such as ``"age > 46.5"`` or ``"race: Black"``; none for the whole population.
        """
        wanted = set(conditions)
        return next((f for f in self.findings if set(map(str, f.node.conditions)) == wanted), None)

    @cached_property
    def significant(self) -> tuple[Finding, ...]:
        """The significant findings, the root among them if it is."""
        return tuple(finding for finding in self.findings if finding.is_significant)

    @cached_property
    def reported(self) -> tuple[Finding, ...]:
        """What is reported: the root, then the significant contexts with an effect, the strongest first.

        Left out are contexts with a weaker effect than one that contains them.
        """
        root, *others = self.findings
        effect = {id(finding.node): finding.effect for finding in self.findings}
        strong = [
            finding
            for finding in others
            if finding.is_significant
            and finding.effect > 0
            and finding.effect >= max(effect.get(id(node), 0.0) for node in finding.node.ancestors)
        ]
        return (root, *sorted(strong, key=lambda finding: -finding.effect))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested hypothesis; see `Report.to_frame`."""
        rank = {id(finding): number for number, finding in enumerate(self.reported)}
        rows = [
            {
                "output": self.output,
                "protected": self.protected,
                "context": str(finding.node),
                "part": association.hypothesis.part,
                "depth": len(finding.node.ancestors),
                "size": association.size,
                "metric": association.hypothesis.metric.name,
                "low": association.low,
                "high": association.high,
                "p_value": association.p_value,
                "raw_p_value": association.raw_p_value,
                "effect": finding.effect,
                "significant": finding.is_significant,
                "rank": rank.get(id(finding)),
            }
            for finding in self.findings
            for association in finding.associations
        ]
        return pd.DataFrame(rows).astype({"rank": "Int64"})

    def __str__(self):
        given = f", conditioned on explanatory attribute E={self.explanatory}" if self.explanatory else ""
        root, *others = self.reported
        lines = [
            f"Report of associations of O={self.output} on S={self.protected}{given}:",
            f"Association metric: {self.metric.name}.",
            f"{len(self.findings)} contexts tested, {len(self.significant)} significant, {len(others) + 1} reported.",
            "",
            f"Global population of size {root.size:,}",
            *_lines(root),
        ]
        for number, finding in enumerate(others, start=1):
            lines += [
                "",
                f"{number}. Subpopulation of size {finding.size:,}",
                f"Context = {finding.node}",
                *_lines(finding),
            ]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Report:
    """What one or several investigations found; as text with ``print``.

    Attributes
    ----------
    sections : tuple of Section
        One for each protected attribute of each investigation.
    notes : tuple of str
        What was decided about the data unasked.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Report, Testing, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> found = investigate(Testing(DataSource(people), "sex", "offer"))
    >>> isinstance(found, Report), len(found.sections)
    (True, 1)
    """

    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()

    def section(self, protected: str, output: str | None = None) -> Section:
        """Return the section on a protected attribute, and on an output if there are several.

        Raises
        ------
        KeyError
            If there is no such section, or more than one.
        """
        found = [s for s in self.sections if s.protected == protected and output in (None, s.output)]
        if len(found) != 1:
            known = ", ".join(f"{s.output!r} on {s.protected!r}" for s in self.sections)
            asked = f"of {output!r} " * (output is not None) + f"on {protected!r}"
            raise KeyError(f"expected one section {asked}, found {len(found)}; there are {known}")
        return found[0]

    def counts(self) -> pd.DataFrame:
        """Return how many contexts were tested, are significant and are reported, one row for each section.

        Returns
        -------
        DataFrame
            Columns ``output``, ``protected``, ``metric``, ``tested``, ``significant``, ``reported`` and
            ``smallest_significant``, the number of people in the smallest significant context, if there is one.
        """
        rows = [
            {
                "output": section.output,
                "protected": section.protected,
                "metric": section.metric.name,
                "tested": len(section.findings),
                "significant": len(section.significant),
                "reported": len(section.reported),
                "smallest_significant": min((finding.size for finding in section.significant), default=None),
            }
            for section in self.sections
        ]
        return pd.DataFrame(rows).astype({"smallest_significant": "Int64"})

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested hypothesis, reported or not.

        Returns
        -------
        DataFrame
            ``output`` and ``protected``; ``context`` and its ``depth`` in the tree; ``part``, which is empty for the
            whole context and else names a stratum or label; ``size`` in the test set; ``metric`` with the corrected
            interval ``low`` to ``high``, corrected and raw p-value; for the context ``effect``, ``significant`` and, if
            it is reported, ``rank``, which is 0 for the root.
        """
        return pd.concat([section.to_frame() for section in self.sections], ignore_index=True)

    def __str__(self):
        return "\n\n".join([*self.notes, *map(str, self.sections)])


def report(investigations) -> Report:
    """Filter and rank what was tested, as `investigate` and `validate_contexts` do.

    Reported are the root and the contexts with a corrected p-value of at most 0.05 (for labels, an effect above 0)
    whose effect is not weaker than that of any tested population around them.

    Parameters
    ----------
    investigations : Investigation or list of Investigation

    Raises
    ------
    ValueError
        If there is no investigation, or one was not tested.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate, report
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> investigation = Testing(DataSource(people), "sex", "offer")
    >>> found = investigate(investigation)
    >>> len(report(investigation).sections) == len(found.sections)
    True
    """
    sections = []
    for investigation in as_list(investigations):
        if not hasattr(investigation, "findings_"):
            raise ValueError("investigations: there is nothing to report yet: call investigate first")
        sections += [
            Section(
                _output_name(findings[0].sample.output),
                name,
                investigation.explanatory,
                investigation.metric[name],
                tuple(findings),
            )
            for name, findings in investigation.findings_.items()
        ]
    return Report(
        tuple(sections), tuple(dict.fromkeys(note for one in as_list(investigations) for note in _notes(one)))
    )


def _notes(investigation) -> list[str]:
    """Return one line that says which columns of numbers were taken as categories, if there are any."""
    notes, used = investigation.source.notes, investigation.columns
    taken = [f"{name} ({note})" for name, note in notes.items() if name in used]
    if not taken:
        return []
    return [f"Taken as categories: {', '.join(taken)}; DataSource(..., numbers=[...]) keeps numbers."]


def _output_name(output) -> str:
    return output.name if isinstance(output, Column) else f"{len(output)} labels"


def _lines(finding) -> list[str]:
    if finding.node.labels:
        shares = label_table(finding)
        formats = dict.fromkeys(shares.columns[:2], "{:.0%}".format)
        formats |= {"low": "{:.4f}".format, "high": "{:.4f}".format, "p_value": "{:.2e}".format}
        return shares.to_string(formatters=formats).splitlines()
    lines = []
    for association in finding.associations:
        part, sample = association.hypothesis.part, association.hypothesis.sample
        if part and association.size:
            lines += ["", f"* {part}: population of size {association.size:,}"]
        if association.size or not part:
            name = association.hypothesis.metric.name
            interval = f"[{association.low:.4f}, {association.high:.4f}]"
            lines.append(f"p-value = {association.p_value:.2e} ; {name} = {interval}")
            if association.effect == 0 or association.p_value > SIGNIFICANCE:
                lines.append("Not distinguishable from no association.")
            if sample.output.is_categorical and sample.protected.is_categorical:
                lines += _with_shares(contingency_table(sample)).to_string().splitlines()
    return lines


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of counts as text, with shares of the column in the body and of all people in the totals."""
    shares = table / table.loc["Total"].replace(0, 1)
    shares.loc["Total"] = table.loc["Total"] / max(table.loc["Total", "Total"], 1)
    return table.map("{:,}".format) + shares.map(" ({:.0%})".format)
