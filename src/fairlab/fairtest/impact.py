"""Impact ratios: the selection rate of each group over that of the group with the highest rate."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.groups import SMALLEST_SHARE
from fairlab.cases.meaning import quoted, spelled_alike, two_spellings
from fairlab.cases.tables import engine_table
from fairlab.checks import FRACTION, check_count, check_names, check_number, checked
from fairlab.fairtest.rates import KINDS, RATES
from fairlab.fairtest.sample import described, encode
from fairlab.statistics import rate_bounds, ratio_bounds

UNKNOWN = "(unknown)"
ERRORS = {name: RATES[name] for name in ("true positive rate", "false positive rate")}
SUMS = {"labelled": ("positives", "negatives"), "selected": ("true positives", "false positives")}


@checked(smallest_share=partial(check_number, least=0, below=1), smallest_size=check_count, confidence_level=FRACTION)
def impact_table(
    counts: pd.DataFrame | Any,
    *,
    decisions: str | None = None,
    sensitive_features: str | Sequence[str] = (),
    y_true: str | None = None,
    pos_label: object = None,
    unknown: Collection[str] = (),
    smallest_share: float = SMALLEST_SHARE,
    smallest_size: int = 1,
    confidence_level: float = 0.95,
) -> pd.DataFrame:
    """Return selection rates and impact ratios of groups from counts.

    The form is that of a bias audit under New York City's Local Law 144 (rules of the Department of Consumer and Worker
    Protection, 6 RCNY 5-300 ff.): a group's selection rate over that of the group which is selected most often. For a
    scoring rate, count those whose score is above the median as selected. No verdict is given at 0.8: the four-fifths
    rule proves nothing by itself, and is not the law everywhere.

    Parameters
    ----------
    counts : DataFrame
        One row per group, named by the index, which may have several levels. Columns ``people`` and ``selected``; where
        true labels are known also ``labelled``, the people who have one, and ``positives``, ``true positives``,
        ``negatives`` and ``false positives``. Counts may be fractional, as when computed from published rates. Those of
        `fairlab.fairtest.rates.without_tiny` may include ``effective`` counts and a ``weight``; shares, rates, ratios
        and intervals then use these. Or, with `decisions`, a table with a row for each decision, of pandas, Polars,
        Arrow, DuckDB or Spark, or paths of files, which is counted inside its engine.
    decisions : str or None
        Column of that table with the decisions.
    sensitive_features : str or sequence of str
        Columns to count by, with at most 255 different values each; several give their intersections.
    y_true : str or None
        Column with true labels, of which some may be missing.
    pos_label : object or None
        The favourable decision and label; not needed for 0 and 1, and booleans.
    unknown : collection of str
        Names of groups that stand for an unknown feature: like a missing name, they are counted but not compared. With
        several levels, also names within one level.
    smallest_share : float
        Share of the people below which a group is marked as small.
    smallest_size : int
        Number of people below which a group is marked as small, too. Small groups are shown, but others are not
        compared with them.
    confidence_level : float

    Returns
    -------
    DataFrame
        By group: ``people``, ``share`` of the people, ``selected``, ``selection rate`` with its exact interval ``rate
        low`` and ``rate high``, ``impact ratio`` with ``ratio low`` and ``ratio high``, ``small``, and with true labels
        ``true positive rate``, ``false positive rate`` and ``missing labels``. Intervals of ratios treat the group with
        the highest rate in these counts as if it had been named beforehand; this group itself has the ratio 1 and no
        interval. If nobody is selected, ratios are nan.

    Raises
    ------
    TypeError
        If `counts` is no DataFrame, or `unknown` no collection of names.
    ValueError
        If there is no group, a group or column is named twice, a column is missing, a count is negative, missing,
        infinite, a boolean or larger than the count it is a part of, two parts add up to more than the whole, `unknown`
        names no group, or an option is out of its range.

    Examples
    --------
    >>> import fairlab
    >>> counts = pd.DataFrame({"people": [400, 500], "selected": [120, 200]}, index=["women", "men"])
    >>> fairlab.impact_table(counts)["impact ratio"].round(3).to_dict()
    {'women': 0.75, 'men': 1.0}

    The same from a table of decisions:

    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "hired": ["no", "yes", "no", "yes", "yes", "no"] * 100})
    >>> table = fairlab.impact_table(people, decisions="hired", sensitive_features="sex", pos_label="yes")
    >>> table["selected"].to_dict()
    {'f': 100, 'm': 200}
    """
    of_decisions = {"sensitive_features": sensitive_features, "y_true": y_true, "pos_label": pos_label}
    if decisions is None:
        for name, value in of_decisions.items():
            if value != (() if name == "sensitive_features" else None):
                raise ValueError(f"{name}: expected none without decisions, found {value!r}")
    else:
        counts = count_decisions(counts, decisions=decisions, **of_decisions)
    if isinstance(unknown, str) or not isinstance(unknown, Collection):
        raise TypeError(f"unknown: expected names of groups, found {unknown!r}")
    counts, levels = _checked(counts)
    names = pd.Index([UNKNOWN, *unknown], dtype=object).fillna(UNKNOWN)
    known = {UNKNOWN, *counts.index, *(name for level in levels for name in level)}
    if strange := [name for name in names if name not in known]:
        raise ValueError(
            f"unknown: expected names of groups, {', '.join(map(str, counts.index))}, found {strange[0]!r}"
        )
    is_unknown = np.any([level.isin(names) for level in (counts.index, *levels)], axis=0)
    people, selected = (_effective(counts, name).to_numpy(dtype=float) for name in ("people", "selected"))
    weight = counts.get("weight", counts["people"]).to_numpy(dtype=float)
    small = (weight < smallest_share * weight.sum()) | (counts["people"].to_numpy(dtype=float) < smallest_size)
    rate, low, high = rate_bounds(selected, people, confidence_level=confidence_level)
    rate = np.where(people > 0, rate, np.nan)
    ratio = np.full((3, len(counts)), np.nan)
    compared = ~is_unknown & ~small & (people > 0)
    if compared.any() and selected[compared].any():
        best = int(np.argmax(np.where(compared, rate, -1)))
        pairs = np.stack([np.column_stack([part, np.full(len(part), part[best])]) for part in (selected, people)])
        ratio[0] = rate / rate[best]
        ratio[1:] = ratio_bounds(*pairs, confidence_level=confidence_level)
        ratio[1:, best] = np.nan
        ratio[:, is_unknown] = np.nan
    columns = {"people": counts["people"], "share": weight / weight.sum(), "selected": counts["selected"]}
    columns |= {"selection rate": rate, "rate low": low, "rate high": high}
    columns |= dict(zip(["impact ratio", "ratio low", "ratio high"], ratio, strict=True)) | {"small": small}
    for name, (hits, totals) in ERRORS.items():
        if {hits, totals} <= set(counts):
            total = _effective(counts, totals)
            columns[name] = _effective(counts, hits) / total.where(total > 0)
    if "labelled" in counts:
        columns["missing labels"] = counts["people"] - counts["labelled"]
    return pd.DataFrame(columns, index=counts.index)


def count_decisions(
    table: Any, *, decisions: str, sensitive_features: str | Sequence[str], y_true: str | None, pos_label: object
) -> pd.DataFrame:
    """Return counts by group of a table of decisions, for `impact_table`, which describes the parameters."""
    table = engine_table(table, "counts")
    parts = {"sensitive_features": sensitive_features, "decisions": decisions, "y_true": y_true}
    named = {argument: check_names(names, argument, table.names) for argument, names in parts.items()}
    names = [name for several in named.values() for name in several]
    if not named["sensitive_features"] or len(set(names)) < len(names):
        raise ValueError(f"sensitive_features: expected columns, none of them with another role, found {names}")
    codes = {}
    for name in names:
        column, codes[name] = described(table, name, partial(encode, kind="categories"))
        if codes[name] is None:
            raise ValueError(f"column {name!r} holds numbers; cut them into groups first")
        table.add(column, codes[name])
    favourable, known = {}, set()
    for argument in ("decisions", "y_true")[: 1 + bool(y_true)]:
        [name] = named[argument]
        known |= codes[name].keys() - {None}
        if len(alike := spelled_alike(known)) > 1:
            raise ValueError(f"{argument}: expected one spelling of each label, found {quoted(alike)}")
        favourable[name] = _favourable(name, codes[name], pos_label)
    if len(known) > 2:
        said = f"Only {pos_label!r} counts as favourable; as unfavourable count {quoted(known - {pos_label})}."
        warnings.warn(said, stacklevel=4)
    if None in codes[decisions]:
        raise ValueError(f"decisions: expected one in each row, some of column {decisions!r} are missing")
    [counted] = table.tabulate([tuple(table.columns[name].key for name in names)])
    counted = counted.reshape(-1, *(len(table.columns[name].categories) for name in favourable), *[1] * (not y_true))
    kinds = np.zeros((len(counted), 8), dtype=np.int64)  # coded as in `KINDS`
    for decision, own in favourable[decisions].items():
        for label, truth in (favourable[y_true] if y_true else {0: None}).items():
            kinds[:, 4 * (truth is not None) + 2 * bool(truth) + own] += counted[:, decision, label]
    missing = {name: codes[name].get(None) for name in named["sensitive_features"]}
    for name in missing:
        if said := two_spellings(name, [value for value in codes[name] if value is not None]):
            warnings.warn(said, stacklevel=4)
    labels = [
        [np.nan if code == unknown else label for code, label in enumerate(table.columns[name].categories)]
        for name, unknown in missing.items()
    ]
    groups = pd.MultiIndex.from_product(labels) if len(labels) > 1 else pd.Index(labels[0], dtype=object)
    frame = pd.DataFrame({name: kinds[:, which].sum(axis=1) for name, which in KINDS.items()}, index=groups)
    return frame.loc[kinds.any(axis=1), list(KINDS) if y_true else ["people", "selected"]]


def _favourable(name: str, codes: Mapping, pos_label) -> dict[int, bool | None]:
    """Return for each code of a column whether its value is the favourable one; None for a missing value."""
    values = [value for value in codes if value is not None]
    is_plain = pos_label is None and len(values) > 0 and set(values) <= {0, 1}
    pos_label = 1 if is_plain else pos_label
    if not is_plain and pos_label not in values:
        expected = ", ".join(map(repr, values))
        raise ValueError(f"pos_label: expected one of the values of column {name!r}, {expected}, found {pos_label!r}")
    return {code: None if value is None else value == pos_label for value, code in codes.items()}


def _effective(counts: pd.DataFrame, name: str) -> pd.Series:
    return counts.get(f"effective {name}", counts[name])


def _checked(counts) -> tuple[pd.DataFrame, list[pd.Index]]:
    """Return counts with a flat index of names, and the names by level; raise an error for anything but counts."""
    if not isinstance(counts, pd.DataFrame):
        raise TypeError(f"counts: expected a DataFrame with the columns people and selected, found {counts!r}")
    if counts.empty:
        raise ValueError("counts: expected one row for each group, found none")
    index = counts.index
    levels = [
        index.get_level_values(place).astype(object).fillna(UNKNOWN).rename(None) for place in range(index.nlevels)
    ]
    names = (
        levels[0] if len(levels) == 1 else pd.Index([", ".join(map(str, each)) for each in zip(*levels, strict=True)])
    )
    counts = counts.set_axis(names.rename(index.name))
    if (twice := counts.index.duplicated()).any():
        raise ValueError(f"counts: expected each group once, found {counts.index[twice][0]!r} twice")
    if (twice := counts.columns.duplicated()).any():
        raise ValueError(f"counts: expected each column once, found {counts.columns[twice][0]!r} twice")
    parts = {"selected": "people", "labelled": "people", **dict(ERRORS.values())}
    parts |= {"positives": "labelled", "negatives": "labelled"}
    for name in ("people", "selected"):
        if name not in counts:
            raise ValueError(f"counts: expected a column {name!r}, found {', '.join(map(str, counts))}")
    for name in [name for name in ("people", *parts) if name in counts]:
        is_count = pd.api.types.is_any_real_numeric_dtype(counts[name])
        numbers = counts[name].to_numpy(dtype=float, na_value=np.nan) if is_count else np.full(len(counts), np.nan)
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            found = counts[name].tolist()
            raise ValueError(f"counts: expected counts, finite and of at least 0, in column {name!r}, found {found}")
    for name, whole in parts.items():
        if {name, whole} <= set(counts) and (wrong := counts[name] > counts[whole] * (1 + 1e-9)).any():
            group = counts.index[wrong][0]
            raise ValueError(
                f"counts: expected at most as many {name} as {whole}, found {counts[name][wrong].iloc[0]:g} of "
                f"{counts[whole][wrong].iloc[0]:g} in {group!r}"
            )
    for whole, both in SUMS.items():
        if {whole, *both} <= set(counts):
            total = counts[list(both)].astype(float).sum(axis=1)
            if (wrong := total > counts[whole] * (1 + 1e-9)).any():
                raise ValueError(
                    f"counts: expected at most as many {' and '.join(both)} together as {whole}, found "
                    f"{total[wrong].iloc[0]:g} of {counts[whole][wrong].iloc[0]:g} in {counts.index[wrong][0]!r}"
                )
    if not counts["people"].astype(float).sum() > 0:
        raise ValueError("counts: expected some people, found none")
    return counts, levels
