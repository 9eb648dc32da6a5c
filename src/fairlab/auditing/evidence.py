"""How much of the evidence, which is rows about real people, a page or a file shows."""

import numpy as np
import pandas as pd

from fairlab.cases import Feature, Finding
from fairlab.checks import is_number

ROWS = ("none", "binned", "all")
ROWS_SHOWN = 6  # of each finding, but for "all"
# Columns that methods add and that tell nothing of a person: the number of a match, a part in it, the decision.
HARMLESS = ("match", "role", "favourable", "error", "its label")
FEW = 5  # numbers with at most so many values are shown as categories
RARE_SHARE, RARE_PEOPLE = 0.02, 10  # a category below either is merged with the other rare ones
RARE, MISSING = "(rare)", "(missing)"


def shown_rows(finding: Finding, table: pd.DataFrame, rows: str) -> pd.DataFrame | None:
    """Return what may be shown of a finding's evidence, None for nothing.

    Parameters
    ----------
    finding : Finding
    table : DataFrame
        The people of the case: ranges and rarity are those among them, not those among the few rows of the evidence.
    rows : {"none", "binned", "all"}
        Nothing; some rows without labels and exact values; or everything, the labels as a column of their own.

    Notes
    -----
    Generated inputs are binned as well: they are made from values of people, and some differ from one person in one
    value only.
    """
    evidence = finding.evidence
    if rows == "none" or evidence is None or evidence.empty:
        return None
    if rows == "all":
        return evidence if evidence.attrs.get("generated") else evidence.rename_axis("row").reset_index()
    some = evidence.head(ROWS_SHOWN)
    return pd.DataFrame({name: _shown(some[name], name, table, evidence).to_numpy() for name in some})


def _shown(column, name, table, evidence) -> pd.Series:
    if name in table:
        return binned(column, table[name])
    if name in HARMLESS:
        return column
    origin = str(name).removeprefix("other ")  # "other sex" holds values of "sex"
    if origin in table:
        return binned(column, table[origin])
    if pd.api.types.is_float_dtype(column):  # a score, or a ratio of losses
        return column.map("about {:.1g}".format)
    return binned(column, evidence[name])


def binned(column: pd.Series, everyone: pd.Series) -> pd.Series:
    """Return a column in words that fit many people: ranges of numbers, categories that are not rare.

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
    feature = Feature.groups("everyone", everyone, most=FEW, n_groups=5)
    names = np.array([*feature.labels, RARE], dtype=object)  # the last one is for values that nobody has
    if feature.edges is None:
        sizes = np.bincount(feature.find(everyone), minlength=len(names))
        names[sizes < max(RARE_PEOPLE, RARE_SHARE * len(everyone))] = RARE
    return pd.Series(np.where(missing, MISSING, names[feature.find(column)]), index=column.index, name=column.name)
