"""The people of two cases, side by side: whether they are the same, and what is known about them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.cases import Case


@dataclass(frozen=True, eq=False)
class Pairs:
    """Decisions of two models.

    Attributes
    ----------
    cases : pair of Case
    decisions : pair of boolean arrays
        Favourable decisions; of the same person at the same place if `is_paired`.
    truth : pair of boolean arrays or None
        True labels, if they are known in both cases.
    labelled : pair of boolean arrays
        Whose true label is known.
    order : pair of integer arrays
        Rows of the tables in the order of the decisions.
    is_paired : bool
    """

    cases: tuple[Case, Case]
    decisions: tuple[np.ndarray, ...]
    truth: tuple[np.ndarray, ...] | None
    labelled: tuple[np.ndarray, ...]
    order: tuple[np.ndarray, ...]
    is_paired: bool

    def everyone(self) -> list[np.ndarray]:
        """Return masks of all people."""
        return [np.ones(len(decided), dtype=bool) for decided in self.decisions]

    def wrong(self) -> list[np.ndarray]:
        """Return which decisions differ from the true labels."""
        return [decided != true for decided, true in zip(self.decisions, self.truth or (), strict=True)]

    def groups(self, sensitive_features: str) -> Iterator[tuple[str, list[np.ndarray]]]:
        """Yield each group that both tables have, with the masks of its members."""
        columns = [pd.Series(np.asarray(case.groups(sensitive_features).astype(str))) for case in self.cases]
        columns = [column.to_numpy()[order] for column, order in zip(columns, self.order, strict=True)]
        for group in sorted(set(columns[0]) & set(columns[1])):
            yield group, [column == group for column in columns]


def pair(before: Case, after: Case) -> Pairs:
    """Return the people of two cases side by side; of the same ones, person by person.

    Raises
    ------
    ValueError
        If the same people have different true labels.
    """
    tables = (before.table, after.table)
    same = are_same_people(*tables)
    order = [np.arange(len(table)) for table in tables]
    if same:
        order[1] = after.table.index.get_indexer(before.table.index)
    decisions = tuple(case.decide()[rows] for case, rows in zip((before, after), order, strict=True))
    labelled = [case.labelled[rows] for case, rows in zip((before, after), order, strict=True)]
    if same:
        labelled = [labelled[0] & labelled[1]] * 2
    truth = None
    if before.y_true is not None and after.y_true is not None:
        truth = tuple(np.asarray(case.y_true)[rows] for case, rows in zip((before, after), order, strict=True))
        if same and (differ := (truth[0] != truth[1])[labelled[0]]).any():
            raise ValueError(
                "case_b: expected the y_true of case_a, since the people are the same, found other labels of "
                f"{differ.sum():,} of {len(differ):,}; give both cases the same, such as those that were corrected"
            )
    return Pairs((before, after), decisions, truth, tuple(labelled), tuple(order), same)


def are_same_people(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether two tables have the same row labels, in any order, and equal values in their common columns."""
    if len(first) != len(second) or not first.index.is_unique or not second.index.is_unique:
        return False
    place = second.index.get_indexer(first.index)
    if (place < 0).any():
        return False
    common = [name for name in first if name in second]
    aligned = second.iloc[place]
    return bool(common) and all(_equal(first[name], aligned[name]) for name in common)


def _equal(first: pd.Series, second: pd.Series) -> bool:
    """Return whether values are equal one by one; one missing value is like any other."""
    values = [column.astype(object).where(column.notna(), None).to_numpy() for column in (first, second)]
    return bool(np.all(values[0] == values[1]))
