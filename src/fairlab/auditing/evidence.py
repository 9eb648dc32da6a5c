"""How much of the evidence, which is rows about real people, a page or a file shows."""

from itertools import pairwise

import numpy as np
import pandas as pd

from fairlab.cases import Finding

ROWS = ("none", "binned", "all")
ROWS_SHOWN = 6  # of each finding, but for "all"
# Columns that methods add and that tell nothing of a person: the number of a match, a part in it, the decision.
HARMLESS = ("match", "role", "favourable", "error", "its label")
FEW = 5  # numbers with at most so many values are shown as categories
RARE_SHARE, RARE_PEOPLE = 0.02, 10  # a category below either is merged with the other rare ones
RARE, MISSING = "(rare)", "(missing)"


def check_rows(rows: str) -> str:
    """Return `rows`.

    Raises
    ------
    ValueError
        If it is not one of ``"none"``, ``"binned"`` and ``"all"``.
    """
    if rows not in ROWS:
        raise ValueError(f"rows: expected one of {', '.join(ROWS)}, found {rows!r}")
    return rows


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
    if check_rows(rows) == "none" or evidence is None or evidence.empty:
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
        The values of all people. The ranges are between their quintiles; the smallest and the largest value, which
        belong to somebody, are not told.
    """
    missing = column.isna().to_numpy()
    is_number = pd.api.types.is_numeric_dtype(everyone) and not pd.api.types.is_bool_dtype(everyone)
    if is_number and everyone.nunique() > FEW:
        words = _ranges(pd.to_numeric(column, errors="coerce"), everyone)
    else:
        known = _words(everyone[everyone.notna()], is_number).value_counts()
        common = known.index[known >= max(RARE_PEOPLE, RARE_SHARE * len(everyone))]
        words = _words(column, is_number)
        words = words.where(words.isin(common), RARE)
    return pd.Series(np.where(missing, MISSING, words.astype(object)), index=column.index, name=column.name)


def _words(column, is_number):
    return column.astype(float).map("{:g}".format) if is_number else column.astype(str)


def _ranges(column: pd.Series, everyone: pd.Series) -> pd.Series:
    values = everyone.dropna().to_numpy(dtype=float)
    edges = np.quantile(values[np.isfinite(values)], [0.2, 0.4, 0.6, 0.8])
    edges = sorted({float(f"{edge:.2g}") for edge in edges})
    if len(edges) == 1:  # nearly everybody has one value
        sides = np.sign(column.to_numpy(dtype=float, na_value=np.nan) - edges[0])
        words = {-1.0: f"below {edges[0]:g}", 0.0: f"{edges[0]:g}", 1.0: f"above {edges[0]:g}"}
        return pd.Series([words.get(side) for side in sides], index=column.index, dtype=object)
    names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    names = np.array([f"below {edges[0]:g}", *names, f"{edges[-1]:g} or more"], dtype=object)
    place = np.searchsorted(edges, column.to_numpy(dtype=float, na_value=np.nan), side="right")
    return pd.Series(names[np.minimum(place, len(names) - 1)], index=column.index)
