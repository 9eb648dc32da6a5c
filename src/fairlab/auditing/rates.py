"""Rates by group: how often the people of each are selected, and how often rightly; by sensitive feature and by two."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from fairlab.auditing.impact import SMALLEST_SHARE
from fairlab.cases import Case

BETWEEN = " and "  # names of features
WITHIN = ", "  # names of groups
# Name of a rate: the counts that it divides.
RATES = {
    "selection rate": ("selected", "people"),
    "true positive rate": ("true positives", "positives"),
    "false positive rate": ("false positives", "negatives"),
    "false negative rate": ("false negatives", "positives"),
    "positive predictive value": ("true positives", "labelled selected"),
    "negative predictive value": ("true negatives", "labelled not selected"),
    "error rate": ("errors", "labelled"),
}
LEAST_SHOWN = 5  # people of a group that a report names
TINY = f" of fewer than {LEAST_SHOWN} people)"  # the name of the others, after their number
COUNTS = ["people", "selected", "labelled", "positives", "true positives", "false positives"]


def group_counts(case: Case) -> pd.DataFrame:
    """Return counts of people and decisions by group, of each sensitive feature and of each two of them.

    Returns
    -------
    DataFrame
        Index ``sensitive_features`` ("sex", "sex and race") and ``group`` ("f, black"); columns ``people``,
        ``selected``, and of those with a true label ``labelled``, ``positives``, ``negatives``, ``true positives``,
        ``false positives``, ``true negatives``, ``false negatives``, ``errors``, ``labelled selected``, ``labelled not
        selected``.
    """
    decided, known = case.decide(), case.labelled
    truth = known & (decided if case.y_true is None else case.y_true.astype(bool))
    masks = [np.ones(len(decided), dtype=bool), decided, known, truth, truth & decided, known & ~truth & decided]
    names = case.sensitive_features
    parts = {}
    for features in [*((name,) for name in names), *combinations(names, 2)]:
        codes, groups = group_codes(case, features)
        counted = [np.bincount(codes[mask], minlength=len(groups)) for mask in masks]
        parts[BETWEEN.join(features)] = pd.DataFrame(dict(zip(COUNTS, counted, strict=True)), index=groups)
    frame = pd.concat(parts, names=["sensitive_features", "group"])
    frame = frame[frame["people"] > 0]
    right, wrong = frame["true positives"], frame["false positives"]
    negatives = frame["labelled"] - frame["positives"]
    return frame.assign(
        **{
            "negatives": negatives,
            "true negatives": negatives - wrong,
            "false negatives": frame["positives"] - right,
            "errors": frame["positives"] - right + wrong,
            "labelled selected": right + wrong,
            "labelled not selected": frame["labelled"] - right - wrong,
        }
    )


def without_tiny(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts by group, groups of fewer than `LEAST_SHOWN` people as one, since they may be single persons."""
    parts = {}
    for features, groups in counts.groupby(level=0, sort=False):
        groups = groups.droplevel(0)
        is_tiny = groups["people"] < LEAST_SHOWN
        if is_tiny.any():
            name = f"({int(is_tiny.sum()):,}{TINY}"
            groups = pd.concat([groups[~is_tiny], groups[is_tiny].sum().to_frame(name).T])
        parts[features] = groups
    return pd.concat(parts, names=counts.index.names)


def group_codes(case: Case, features: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the number of everybody's group by some sensitive features, and the names of the groups that occur."""
    columns = [case.groups(name) for name in features]
    codes, first = np.zeros(len(case.table), dtype=np.int64), np.zeros(1, dtype=np.intp)
    for column in columns:
        codes = codes * len(column.cat.categories) + column.cat.codes.to_numpy()
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes, [WITHIN.join(str(column.iloc[row]) for column in columns) for row in first]


def who_loses(codes: np.ndarray, groups: Sequence[str], hits: np.ndarray, own: np.ndarray) -> pd.DataFrame:
    """Return by group how many people lose and gain by it, who would get another decision otherwise.

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
        and would not be).
    """
    masks = {"people": np.ones(len(codes), dtype=bool), "lose": hits & ~own, "gain": hits & own}
    counted = {name: np.bincount(codes[mask], minlength=len(groups)) for name, mask in masks.items()}
    frame = pd.DataFrame(counted, index=pd.Index(groups, name="group"))
    return frame[frame["people"] > 0]


def losers_in_words(by_group: pd.DataFrame, cause: str) -> str:
    """Return which groups lose and gain most, of those that are no small part of the people; empty if nobody does."""
    large = by_group[by_group["people"] >= SMALLEST_SHARE * by_group["people"].sum()]
    parts = []
    for column, now, otherwise in (("lose", "unfavourable", "favourable"), ("gain", "favourable", "unfavourable")):
        shares = (large[column] / large["people"]).sort_values(ascending=False, kind="stable")
        if shares.iloc[0] > 0:
            most = f"{shares.iloc[0]:.1%} of {shares.index[0]}"
            parts.append(f"{most} {column} by {cause} (decision {now}, otherwise {otherwise})")
    return "; ".join(parts)


def pairs_of_groups(groups: pd.DataFrame, names: list[str]) -> Iterator[tuple[str, str, pd.Series, pd.Series]]:
    """Yield what to compare: two groups with one another, of several each with everyone else."""
    everyone = groups.sum()
    if len(groups) == 2 and len(names) == 2:
        yield names[0], names[1], groups.loc[names[0]], groups.loc[names[1]]
        return
    for name in names:
        yield name, "everyone else", groups.loc[name], everyone - groups.loc[name]
