"""The part of the evidence, rows about real people, that a page or a file shows."""

import numpy as np
import pandas as pd

from fairlab.cases import Feature, Finding
from fairlab.cases.finding import free_name
from fairlab.checks import is_number

ROW_FORMATS = ("none", "binned", "all")
ROWS_SHOWN = 6  # of each finding, but for "all"
# Columns that methods add and that reveal nothing about a person: number of a match, role in it, the decision.
HARMLESS = ("match", "role", "favourable", "error", "its label")
MAX_CATEGORIES = 5  # numbers with at most so many values are shown as categories
RARE_SHARE, RARE_PEOPLE = 0.02, 10  # a category below either is merged with the other rare ones
LEAST_ALIKE = 5  # people of the table who must equal a shown row in all shown columns
RARE, MISSING = "(rare)", "(missing)"


def shown_rows(finding: Finding, table: pd.DataFrame, rows: str) -> pd.DataFrame | None:
    """Return what may be shown of a finding's evidence, None for nothing.

    Parameters
    ----------
    finding : Finding
    table : DataFrame
        The people of the case, among whom ranges and rarity are determined, not among the few rows of the evidence.
    rows : {"none", "binned", "all"}
        Nothing; some rows without labels and exact values, in columns in which each row equals at least five people; or
        everything, with the labels as a column.

    Notes
    -----
    Generated inputs are binned as well: they are made from values of people, and some differ from one person in one
    value only. People of a subgroup are shown only by "all", since without exact values they show nothing.
    """
    evidence = finding.evidence
    if rows == "none" or evidence is None or evidence.empty:
        return None
    generated = evidence.attrs.get("generated")
    if rows == "all":
        labelled = evidence.set_axis(evidence.index.to_flat_index())
        return evidence if generated else labelled.reset_index(names=free_name("row", evidence))
    if finding.where not in ("everyone", finding.population):  # a subgroup: its people show nothing by themselves
        return None
    some = evidence.head(ROWS_SHOWN)
    origins = {name: name for name in some if name in table} | evidence.attrs.get("others", {})
    shown = pd.DataFrame({name: _shown(some[name], origins.get(name), table, evidence).to_numpy() for name in some})
    return shown if generated else _anonymous(shown, finding, table)


def _anonymous(shown: pd.DataFrame, finding: Finding, table: pd.DataFrame) -> pd.DataFrame | None:
    """Return binned rows, without columns that would leave a row equal to fewer than `LEAST_ALIKE` people; or None.

    Sensitive features come first, then the columns in their order; those that would make a row rarer are left out.
    """
    own = [name for name in shown if name in table]
    alike = np.ones((len(shown), len(table)), dtype=bool)
    left_out = []
    for name in sorted(own, key=lambda name: name not in finding.sensitive_features):
        everyone = binned(table[name], table[name]).to_numpy()
        narrower = alike & (everyone[None, :] == shown[name].to_numpy()[:, None])
        if (narrower.sum(axis=1) >= LEAST_ALIKE).all():
            alike = narrower
        else:
            left_out.append(name)
    return shown.drop(columns=left_out) if len(left_out) < len(own) else None


def _shown(column, origin, table, evidence) -> pd.Series:
    """Return a column as it may be shown; values of `origin`, a column of the table, are binned like that column."""
    if origin is not None:
        return binned(column, table[origin])
    if column.name in [free_name(name, table) for name in HARMLESS]:
        return column
    if pd.api.types.is_float_dtype(column):  # a score, or a ratio of losses
        return column.map(lambda value: f"about {float(f'{value:.1g}'):,g}")
    return binned(column, evidence[column.name])


def binned(column: pd.Series, everyone: pd.Series) -> pd.Series:
    """Return a column with text that fits many people: ranges of numbers, categories that are not rare.

    Parameters
    ----------
    column : Series
        What is to be shown.
    everyone : Series
        The values of all people. The ranges are between their rounded quintiles; the smallest and the largest value,
        which belong to somebody, are not shown.
    """
    missing = column.isna().to_numpy()
    if not is_number(everyone):  # row labels may be anything
        column, everyone = column.astype(str), everyone.astype(str)
    feature = Feature.groups("everyone", everyone, most=MAX_CATEGORIES, n_groups=5)
    names = np.array([*feature.labels, RARE], dtype=object)  # the last one is for values that nobody has
    if feature.edges is None:
        sizes = np.bincount(feature.find(everyone), minlength=len(names))
        names[sizes < max(RARE_PEOPLE, RARE_SHARE * len(everyone))] = RARE
    return pd.Series(np.where(missing, MISSING, names[feature.find(column)]), index=column.index, name=column.name)
