"""What may be wrong with the people of a case, for a reader of its report to judge: one sentence each."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from fairlab.cases import Case, Feature
from fairlab.cases.decisions import determines, why_no_error_rates
from fairlab.cases.finding import decimals, few, percent
from fairlab.cases.groups import missing_groups
from fairlab.cases.queries import row_keys
from fairlab.checks import is_number
from fairlab.statistics import difference_bounds

BY_CHANCE = 0.001  # probability of a warning if nothing is wrong
LEAST_KNOWN = 30  # people of each kind needed to say something about their rates
LEAST_LABELS = 100  # labels; if there are fewer, all may be right by chance
SLIGHT = 0.05  # difference of rates
MOST_CODES = 30  # different whole numbers of a column that may be codes
# Names of groups that suggest an unknown group.
UNKNOWN = {
    *("", "?", "-", "n/a", "na", "<na>", "nan", "none", "null", "missing", "(missing)", "unknown", "unspecified"),
    *("not known", "not specified", "not stated", "not reported", "no answer", "unbekannt", "keine angabe", "k.a."),
}
MANY_COPIES = 0.02  # share of copied rows, below which there is no warning
NEARLY = 0.02  # pairs of rows that differ only in group or outcome, per equal pair; with fewer, rows are copies
HEAVIER, LEAST_HEAVY = 2, 7  # ratio of weights by decision; people with the heavier one, enough in simulations
LEAST_KINDS = 10  # kinds of rows; with fewer, rows are equal by chance


def doubts(case: Case, within: float) -> list[str]:
    """Return doubts about true labels, rows and groups of a case, and about the difference that is to be ruled out."""
    groups = {
        name: case.groups(name).cat.categories.drop(missing_groups(case, [name])) for name in case.sensitive_features
    }
    unknown = [said for name, names in groups.items() for said in unknown_groups(name, names)]
    of_people = [*_of_labels(case), *copied_rows(case), *_of_weights(case, groups), *_of_codes(case)]
    return [*of_people, *unknown, *_of_rare_decisions(case, within)]


def _of_labels(case: Case) -> list[str]:
    if case.y_true is None or case.task == "numbers":
        return []
    if why := why_no_error_rates(case):
        return [
            f"{why[0].upper()}{why[1:]}: true and false positive rates are then the same in every group, whatever the "
            "decisions, and are not compared; error rates describe only people with a known label."
        ]
    decided, known = case.decide(), case.labelled
    true = case.y_true[known].astype(bool)
    known_of = known_by_decision(case)
    said = [f"{known_of}: their error rates are not those of everyone."] if known_of else []
    if len(true) >= LEAST_LABELS and (decided[known] != true).mean() <= BY_CHANCE:
        said.append(
            f"Decisions equal true labels for {(decided[known] == true).sum():,} of {len(true):,} people. If one is a "
            "copy of the other, or the model was fitted to these rows, error rates say nothing about other people."
        )
    features = case.table.loc[known, list(case.features)] if len(true) >= LEAST_LABELS else pd.DataFrame()
    said += [
        f"{name} determines every true label. If it is the label itself, or follows from it, leave it out of the "
        "features: methods vary it, and match people on it."
        for name, column in features.items()
        if determines(column, true)
    ]
    low, high = _bounds(decided[known], true)
    rates = "of people with a favourable true label, {} have the favourable decision; of the others, {}".format(
        *map(percent, _shares(decided[known], true))
    )
    if high < 0:
        said.append(
            f"Decisions go against true labels: {rates}. Is the same label favourable in both, and are scores those of "
            "that label?"
        )
    elif low > -SLIGHT and high < SLIGHT:
        said.append(f"Decisions are nearly unrelated to true labels: {rates}. Do both belong to the same rows?")
    return said


def known_by_decision(case: Case) -> str:
    """Return a sentence on the shares of people with known true labels, by decision, if they differ; else ""."""
    if case.y_true is None:
        return ""
    decided, known = case.decide(), case.labelled
    low, high = _bounds(known, decided)
    if low <= SLIGHT and high >= -SLIGHT:
        return ""
    return "True labels are known for {}% of the people with a favourable decision, and for {}% of the others".format(
        *(decimals(100 * share, 0) for share in _shares(known, decided))
    )


def _shares(hits: np.ndarray, inside: np.ndarray) -> list[float]:
    return [float(hits[some].mean()) if some.any() else np.nan for some in (inside, ~inside)]


def _bounds(hits: np.ndarray, inside: np.ndarray) -> tuple[float, float]:
    """Return bounds of the difference of a rate between some people and all others; -1 and 1 if they are few."""
    totals = np.array([inside.sum(), (~inside).sum()])
    if totals.min() < LEAST_KNOWN:
        return -1.0, 1.0
    both = np.array([hits[inside].sum(), hits[~inside].sum()])
    low, high = difference_bounds(both, totals, confidence_level=1 - BY_CHANCE)
    return float(low), float(high)


def copied_rows(case: Case) -> list[str]:
    """Return a sentence if rows seem to be copies, which would make tests and intervals too confident.

    Either all rows occur several times, or many do, and rows that are equal in all other columns are also equal in
    sensitive features, decisions and true labels, unlike people who are alike by chance.
    """
    if case.person is not None:
        return []
    sensitive, others = list(case.sensitive_features), case.table.drop(columns=list(case.sensitive_features))
    outcomes = [] if case.y_true is None else [pd.DataFrame({"true": case.y_true, "known": case.labelled})]
    parts = [case.table[sensitive], *([] if case.record is None else [case.record]), *outcomes]
    inputs = row_keys(others)
    rows = np.sum([inputs, *(row_keys(part) * factor for factor, part in enumerate(parts, 3))], axis=0)
    times, of_inputs = (np.unique(keys, return_counts=True)[1] for keys in (rows, inputs))
    if len(times) < LEAST_KINDS:
        return []
    is_whole = len(case.table) == case.n_given and case.weights is None
    n_alike, n_more = _pairs(times), len(rows) - len(times)
    if is_whole and (n_copies := int(np.gcd.reduce(times))) > 1:
        copied = f"Each row occurs {n_copies} times, or a multiple of that, with equal values in all columns"
    elif n_more >= max(LEAST_KINDS, MANY_COPIES * len(rows)) and _pairs(of_inputs) <= (1 + NEARLY) * n_alike:
        copied = f"{n_more:,} of {len(rows):,} rows repeat another one in all columns, including groups and outcomes"
    else:
        return []
    return [
        f"{copied}. If rows were copied, for instance by a join or to balance groups, remove the copies, or identify "
        "people by person=: intervals and tests treat each row as a different person."
    ]


def _of_weights(case: Case, groups: dict[str, pd.Index]) -> list[str]:
    """Return a sentence if people with one decision weigh more, and a group is so small that it may lack them."""
    if case.weights is None or case.task == "numbers":
        return []
    decided, weights = case.decide(), case.weights
    means = [weights[side].mean() if side.any() else np.nan for side in (decided, ~decided)]
    heavy, times = (decided, means[0] / means[1]) if means[0] > means[1] else (~decided, means[1] / means[0])
    if not times >= HEAVIER:
        return []
    sizes = {name: case.groups(name).value_counts()[names] for name, names in groups.items()}
    small = [f"{name}: {group}" for name, of in sizes.items() for group in of.index[of * heavy.mean() < LEAST_HEAVY]]
    if not small:
        return []
    kind = "a favourable" if heavy is decided else "an unfavourable"
    return [
        f"People with {kind} decision weigh {times:.2g} times as much as the others. In small groups ({few(small)}), "
        f"fewer than {LEAST_HEAVY} such people are expected; a group without any has a rate that is far off and an "
        "interval that is too narrow."
    ]


def _pairs(times: np.ndarray) -> float:
    """Return the number of pairs of equal rows, given how often each row occurs."""
    return float((times * (times - 1.0)).sum() / 2)


def _of_codes(case: Case) -> list[str]:
    """Return a sentence on each sensitive feature that is grouped by size although its numbers may be codes."""
    said = []
    for name in case.sensitive_features:
        column = case.table[name]
        if not is_number(column) or column.nunique() > MOST_CODES:
            continue
        if (column.dropna().to_numpy(dtype=float) % 1 != 0).any():
            continue
        groups = case.groups(name)
        is_cut = Feature.groups(name, column).edges is not None
        if is_cut and list(groups.cat.categories) == Feature.groups(name, column).labels:
            said.append(
                f"{name} has {column.nunique()} different whole numbers, grouped by size: "
                f"{', '.join(groups.cat.categories)}. If they are codes of categories, convert them to strings."
            )
    return said


def unknown_groups(name: str, groups: Iterable[str]) -> list[str]:
    """Return a sentence if names of groups of a sensitive feature suggest that these groups are unknown."""
    found = [group for group in groups if group.strip().casefold() in UNKNOWN]
    if not found:
        return []
    return [
        f"{name}: {', '.join(map(repr, found))} may stand for missing values. As strings, they form groups like any "
        "other, which can be the reference of impact ratios; missing values never are."
    ]


def _of_rare_decisions(case: Case, within: float) -> list[str]:
    """Return a sentence if one decision is so rare that this alone rules out large differences."""
    if case.task == "numbers":
        return []
    share = case.decide().mean()
    rarer = min(share, 1 - share)
    if not 0 < rarer <= within:
        return []
    kind = "favourable" if share < 0.5 else "unfavourable"
    return [
        f"Only {100 * rarer:.2g}% of decisions are {kind}: ruling out a difference as large as {100 * within:.3g} "
        "percentage points says little. Impact ratios say more; set within= to a difference that would matter here."
    ]
