"""Groups of people by sensitive features, and counts of people in each whose decision would otherwise differ."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlab.cases.case import Case
from fairlab.cases.finding import percent

WITHIN = ", "  # separator in names of groups
SMALLEST_SHARE = 0.02  # share of the people below which a group is small
LEAST_SHOWN = 5  # fewest people of a group that a report names


def group_codes(case: Case, features: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the code of each person's group by some sensitive features, and the names of the groups that occur."""
    codes = np.zeros(len(case.table), dtype=np.int64)
    values: list[tuple[str, ...]] = [()]
    for name in features:
        column = case.groups(name).cat
        labels, n = column.categories, len(column.categories)
        codes, occurring = pd.factorize(codes * n + column.codes.to_numpy(), sort=True)
        values = [(*values[k // n], str(labels[k % n])) for k in occurring.tolist()]
    names = [WITHIN.join(row) for row in values]
    if len(set(names)) < len(names):  # "a, b" with "c" reads as "a" with "b, c"
        names = [WITHIN.join(repr(each) if WITHIN in each else each for each in row) for row in values]
    return codes, names


def missing_groups(case: Case, features: Sequence[str]) -> set[str]:
    """Return the names of groups in which one of some sensitive features is missing.

    Such a name is "((missing))" if "(missing)" is also a value.
    """
    codes, names = group_codes(case, features)
    missing = case.table[list(features)].isna().any(axis=1).to_numpy()
    return {names[code] for code in np.unique(codes[missing])}


def who_loses(codes: np.ndarray, groups: Sequence[str], hits: np.ndarray, own: np.ndarray) -> pd.DataFrame:
    """Return how many people lose and gain, by group, because they would get another decision otherwise.

    Parameters
    ----------
    codes : ndarray of int of shape (n_people,)
        Number of everybody's group.
    groups : sequence of str
    hits : ndarray of bool of shape (n_people,)
        Who would get another decision.
    own : ndarray of bool of shape (n_people,)
        Whether their own decision is favourable.

    Returns
    -------
    DataFrame
        Index ``group``; columns ``people``, ``lose`` (the decision is not favourable and would be), ``gain`` (it is,
        and would not be). Groups of fewer than `LEAST_SHOWN` people are merged into one.
    """
    masks = {"people": np.ones(len(codes), dtype=bool), "lose": hits & ~own, "gain": hits & own}
    counted = {name: np.bincount(codes[mask], minlength=len(groups)) for name, mask in masks.items()}
    frame = pd.DataFrame(counted, index=pd.Index(groups, name="group"))
    frame = frame[frame["people"] > 0]
    return tiny_as_one(frame, frame["people"]).rename_axis("group")


def tiny_as_one(counts: pd.DataFrame, people: pd.Series) -> pd.DataFrame:
    """Return counts by group, with groups of fewer than `LEAST_SHOWN` people merged, since they may be one person.

    The merged group is the last; ``attrs["together"]`` is its name.
    """
    is_tiny = people < LEAST_SHOWN
    if not is_tiny.any():
        return counts
    name = f"({int(is_tiny.sum()):,} of fewer than {LEAST_SHOWN} people)"
    while name in counts.index:
        name = f"({name})"
    together = pd.concat([counts[~is_tiny], counts[is_tiny].sum().to_frame(name).T])
    together.attrs["together"] = name
    return together


def named_groups(by_group: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `who_loses` that a sentence names: no small groups, and not the merged one."""
    large = by_group["people"] >= SMALLEST_SHARE * by_group["people"].sum()
    return by_group[large & (by_group.index != by_group.attrs.get("together"))]


def losers_in_words(by_group: pd.DataFrame, cause: str) -> str:
    """Return text with the groups that lose and gain most, among those that a sentence names; empty if nobody does."""
    named = named_groups(by_group)
    parts = []
    for column, now, otherwise in (("lose", "unfavourable", "favourable"), ("gain", "favourable", "unfavourable")):
        shares = (named[column] / named["people"]).sort_values(ascending=False, kind="stable")
        if shares.max() > 0:
            most = f"{percent(shares.iloc[0])} of {shares.index[0]}"
            parts.append(f"{most} {column} by {cause} (decision {now}, otherwise {otherwise})")
    return "; ".join(parts)
