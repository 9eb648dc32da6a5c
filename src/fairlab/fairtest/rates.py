"""Rates by group: how often the people of each are selected, and how often rightly; by sensitive feature and by two."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from fairlab.cases import Case
from fairlab.cases.groups import group_codes

BETWEEN = " and "  # names of features
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


def feature_sets(case: Case) -> list[tuple[str, ...]]:
    """Return each sensitive feature and each two of them, whose groups are compared."""
    names = case.sensitive_features
    return [*((name,) for name in names), *combinations(names, 2)]


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
    parts = {}
    for features in feature_sets(case):
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


def pairs_of_groups(groups: pd.DataFrame, names: list[str]) -> Iterator[tuple[str, str, pd.Series, pd.Series]]:
    """Yield what to compare: two groups with one another, of several each with everyone else."""
    everyone = groups.sum()
    if len(groups) == 2 and len(names) == 2:
        yield names[0], names[1], groups.loc[names[0]], groups.loc[names[1]]
        return
    for name in names:
        yield name, "everyone else", groups.loc[name], everyone - groups.loc[name]
