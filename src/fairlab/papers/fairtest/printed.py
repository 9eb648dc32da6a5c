"""Our side of what the paper prints of a context: size, p-value, interval and contingency table."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fairtest.report import Association, AssociationReport, Subgroup
from fairlab.papers.fairtest import contexts

ADULT_OUTPUTS = {"le_50k": "<=50K", "gt_50k": ">50K"}
BERKELEY_OUTPUTS, BERKELEY_GROUPS = {"no": "No", "yes": "Yes"}, {"female": "Female", "male": "Male"}
BERKELEY_PARTS = {"global": "", "department_a": "department: A", "department_b": "department: B"}
STAPLES_OUTPUTS = {"high": "high", "low": "low"}

Values = dict[str, object]


def context_values(
    association: Association, prefix: str, interval: str, *, outputs: Mapping[str, str], groups: Mapping[str, str]
) -> Values:
    """Return the numbers of one context by their ids in the paper's ``published.yaml``.

    Parameters
    ----------
    association : Association
    prefix : str
        Of the ids.
    interval : str
        Id of the interval.
    outputs, groups : dict of str to str
        Rows and columns of the table: categories by their ids. Those of the totals are added.

    Returns
    -------
    dict of str to number or tuple
        Counts, and percentages of the column in the body of the table and of all people in its totals.
    """
    tests = {"p": association.p_value, interval: (association.low, association.high)}
    table = association.hypothesis.sample.counts()
    return {f"{prefix}.{id}": value for id, value in tests.items()} | table_values(
        table, prefix, outputs=outputs, groups=groups
    )


def table_values(
    table: pd.DataFrame, prefix: str, *, outputs: Mapping[str, str], groups: Mapping[str, str]
) -> dict[str, float]:
    """Return size, counts and percentages of a table with totals, by ids as in `context_values`; of nobody nan."""
    values = {"size": table.loc["Total", "Total"]}
    for row, output in {**outputs, "total": "Total"}.items():
        for column, group in {**groups, "total": "Total"}.items():
            count, share_of = table.loc[output, group], "Total" if "total" in (row, column) else group
            values[f"{row}.{column}"] = count
            if (row, column) != ("total", "total"):
                values[f"{row}.{column}.pct"] = 100 * count / (table.loc["Total", share_of] or np.nan)
    return {f"{prefix}.{id}": value for id, value in values.items()}


def adult_values(report: AssociationReport) -> Values:
    """Return the numbers of figure 10, of those contexts that the trees have."""
    values = {}
    for key, protected in contexts.ADULT_PROTECTED.items():
        found = contexts.find_shown(report.section(protected), contexts.ADULT[key])
        for name, finding in found.items():
            groups = contexts.ADULT_GROUPS[key]
            values |= context_values(
                finding.association(), f"{key}.{name}", "nmi", outputs=ADULT_OUTPUTS, groups=groups
            )
    return values


def berkeley_values(finding: Subgroup) -> Values:
    """Return the numbers of figure 4, of everyone given the department and of departments A and B."""
    values = {}
    for prefix, part in BERKELEY_PARTS.items():
        interval = "diff" if part else "cond_diff"
        values |= context_values(
            finding.association(part), prefix, interval, outputs=BERKELEY_OUTPUTS, groups=BERKELEY_GROUPS
        )
    return values


def beside_published(published: pd.DataFrame, ours: Mapping[str, object]) -> pd.DataFrame:
    """Return what the paper printed and, as text in its manner, what this run has; only what both have.

    Parameters
    ----------
    published : DataFrame
        As `fairlab.Experiment.published` returns it.
    ours : dict of str to number or tuple
        By id.
    """
    both = published.loc[[id for id in published.index if id in ours], ["printed", "kind"]]
    texts = [_as_text(ours[id], kind) for id, kind in both["kind"].items()]
    return both.drop(columns="kind").assign(**{"this run": texts})


def _as_text(value, kind):
    if kind == "interval":
        return f"[{value[0]:.4f}, {value[1]:.4f}]"
    return f"{value:.0f}" if kind in ("count", "percent") else f"{value:.3g}"
