"""The report of investigations (section 4.4): what is significant and stronger than in the population around it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.investigation import as_list
from fairlab.fairtest.metric import Metric
from fairlab.fairtest.sample import Column, Sample


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
    """

    output: str
    protected: str
    explanatory: str | None
    metric: Metric
    findings: tuple[Finding, ...]

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
    """

    sections: tuple[Section, ...]

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
        return "\n\n".join(map(str, self.sections))


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
    """
    sections = []
    for investigation in as_list(investigations):
        if not hasattr(investigation, "findings_"):
            raise ValueError("there is nothing to report yet: call investigate first")
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
    return Report(tuple(sections))


def contingency_table(sample: Sample) -> pd.DataFrame:
    """Return counts of people by output (rows) and protected group (columns), with totals.

    Raises
    ------
    ValueError
        If one of them is continuous.
    """
    output, protected = sample.output, sample.protected
    for column in (output, protected):
        if not column.is_categorical:
            raise ValueError(f"column {column.name!r} holds numbers, a contingency table needs categories")
    shape = len(output.categories), len(protected.categories)
    cells = np.bincount(output.values * shape[1] + protected.values, minlength=shape[0] * shape[1])
    table = pd.DataFrame(
        cells.reshape(shape),
        index=pd.Index(output.categories, name=output.name),
        columns=pd.Index(protected.categories, name=protected.name),
    )
    table["Total"] = table.sum(axis=1)
    table.loc["Total"] = table.sum()
    return table


def label_table(finding: Finding) -> pd.DataFrame:
    """Return the labels of a `Discovery` in one context: share of people with each, by group, interval and p-value.

    Returns
    -------
    DataFrame of shape (n_labels, 5)
        Indexed by label; shares lie between 0 and 1.
    """
    rows = []
    for association in finding.associations:
        protected, output = association.hypothesis.sample.protected, association.hypothesis.sample.output
        shares = {
            group: output.values[protected.values == code].mean() if (protected.values == code).any() else np.nan
            for code, group in enumerate(protected.categories)
        }
        rows.append({"label": output.name} | shares | _numbers(association))
    return pd.DataFrame(rows).set_index("label")


def _output_name(output) -> str:
    return output.name if isinstance(output, Column) else f"{len(output)} labels"


def _numbers(association: Association) -> dict:
    return {"low": association.low, "high": association.high, "p_value": association.p_value}


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
            if sample.output.is_categorical and sample.protected.is_categorical:
                lines += _with_shares(contingency_table(sample)).to_string().splitlines()
    return lines


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of counts as text, with shares of the column in the body and of all people in the totals."""
    shares = table / table.loc["Total"].replace(0, 1)
    shares.loc["Total"] = table.loc["Total"] / max(table.loc["Total", "Total"], 1)
    return table.map("{:,}".format) + shares.map(" ({:.0%})".format)
