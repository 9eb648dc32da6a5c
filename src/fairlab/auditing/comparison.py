"""Two models: what the newer one makes better and worse, with intervals of the difference.

The two models are compared person by person on the same people, and as two independent samples on different people.
Bounds of the change of a rate combine exact ones: of both rates, or of the shares of people whose decision changed in
either direction. They also hold in small groups, where no decision changes, and at the levels of many tests.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from fairlab.auditing import figures, page
from fairlab.auditing.doubts import copied_rows, known_by_decision
from fairlab.auditing.exports import as_json
from fairlab.auditing.report import FOUND, RULED_OUT, UNDECIDED, WITHIN_MARGIN, answers, written
from fairlab.auditing.wording import count, name_of, number, points
from fairlab.cases import Case, Feature, Result
from fairlab.cases.decisions import why_no_error_rates
from fairlab.cases.finding import few, listed
from fairlab.cases.method import CASE
from fairlab.cases.queries import row_keys
from fairlab.checks import FRACTION, checked, is_number
from fairlab.statistics import difference_bounds, exclusive_correlation, holm, level_beyond, level_within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETTER, WORSE = "better", "worse"
MOST_CHANGED = 0.5  # share of differing rows, from which on two tables are silently taken for different people
LEAST_COMPARED = 10  # people of a group in each case, below which it is not compared
N_SHARES = 9  # ways to divide a level between the changes in two groups
COLUMNS = [
    "sensitive_features",
    "where",
    "measure",
    "before",
    "after",
    "change",
    "low",
    "high",
    "p_value",
    "verdict",
    "n",
]


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """What the newer of two models makes better and worse.

    Attributes
    ----------
    before, after : Case
        With the older and with the newer model.
    rows : DataFrame
        One row for each measure, as `to_frame` returns it.
    is_paired : bool
        Whether both models decided on the same people, who were compared one by one.
    not_compared : tuple of str
        What could not be compared, and why.
    confidence_level : float
    within : float

    Examples
    --------
    >>> import fairlab
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> before = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> after = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> comparison = fairlab.compare(before, after)
    >>> comparison.is_paired, comparison.confidence_level
    (True, 0.95)
    """

    before: Case
    after: Case
    rows: pd.DataFrame
    is_paired: bool
    not_compared: tuple[str, ...]
    confidence_level: float
    within: float = WITHIN_MARGIN

    @cached_property
    def summary(self) -> str:
        """One paragraph in plain words."""
        people = (
            f"the same {count(len(self.after.table), 'person', 'people')}, one by one"
            if self.is_paired
            else f"{len(self.before.table):,} and {len(self.after.table):,} people, as two independent samples"
        )
        said = [f"{name_of(self.before)} (before) and {name_of(self.after)} (after) were compared on {people}."]
        labels = [case.pos_label for case in (self.before, self.after)]
        if labels[0] != labels[1] and None not in labels:
            said.append(f"{labels[0]!r} is favourable before and {labels[1]!r} after, taken to mean the same.")
        gaps = self.rows[["before", "after"]]
        is_turned = (gaps.prod(axis=1) < 0) & (gaps.abs().min(axis=1) >= self.within)  # a change of sign, not of size
        kinds = {kind.capitalize(): self.rows["verdict"] == kind for kind in (BETTER, WORSE)}
        for kind, chosen in (kinds | {"In the other direction": is_turned}).items():
            lines = [
                f"{row.measure}, {row.where}, from {number(row.before)} to {number(row.after)}"
                for row in self.rows[chosen].itertuples()
            ]
            if lines or kind in kinds:
                said.append(f"{kind}: {'; '.join(lines) or 'nothing that could be shown'}.")
        said.append(
            f"{count(len(self.rows), 'measure was', 'measures were')} tested together (Holm's correction); the "
            f"family-wise error rate is at most {100 * (1 - self.confidence_level):.2g}%."
        )
        counts = self.rows["verdict"].value_counts()
        if {RULED_OUT, UNDECIDED}.intersection(counts.index):
            said.append(
                f"Among the others, a change as large as {points(self.within)} is {RULED_OUT} in "
                f"{counts.get(RULED_OUT, 0):,} and {UNDECIDED} in {counts.get(UNDECIDED, 0):,}."
            )
        if self.rows["measure"].str.endswith("difference").any():
            said.append("The change of a difference between groups is the change in its absolute value.")
        if self.not_compared:
            said.append(f"Not compared: {' '.join(self.not_compared)}")
        said += dict.fromkeys([*copied_rows(self.before), *copied_rows(self.after)])
        return " ".join(said)

    def __repr__(self) -> str:
        counts = self.rows["verdict"].value_counts()
        return "ModelComparison: " + listed(
            [f"{counts.get(verdict, 0)} {verdict}" for verdict in (BETTER, WORSE, RULED_OUT, UNDECIDED)]
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each measure.

        Returns
        -------
        DataFrame
            ``sensitive_features``, ``where`` (the group), ``measure``, its value ``before`` and ``after``, the
            ``change`` (of its size, for a gap between groups) with its interval ``low`` to ``high``, ``p_value`` after
            correction over all rows, ``verdict`` (``"better"``, ``"worse"``, ``"ruled out"``, a change as large as
            `within`, or ``"undecided"``), and ``n`` people.
        """
        return self.rows.copy()

    def plot(self) -> "Figure":
        """Return the changes with their intervals: left of 0 is smaller."""
        return figures.changes(self.rows)

    @property
    def is_worse(self) -> bool:
        """Whether anything became worse."""
        return bool((self.rows["verdict"] == WORSE).any())

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the comparison as one page that needs no other file, and write it to `path`."""
        return written(page.whole("Two models compared", page.comparison(self)), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the comparison as JSON, and write it to `path`."""
        content = {
            "summary": self.summary,
            "is_worse": self.is_worse,
            "is_paired": self.is_paired,
            "confidence_level": self.confidence_level,
            "not_compared": list(self.not_compared),
            "rows": self.rows.to_dict(orient="records"),
        }
        return written(as_json(content), path)

    def _repr_html_(self) -> str:
        return page.comparison(self)


@checked(case_a=CASE, case_b=CASE, confidence_level=FRACTION, within=FRACTION)
def compare(
    case_a: Case, case_b: Case, *, confidence_level: float = 0.95, within: float = WITHIN_MARGIN
) -> ModelComparison:
    """Report what a newer model makes better and worse.

    This compares the selection rate differences between each group and everybody else and, where `y_true` is known, the
    error rates overall and in each group, and the differences of true positive rates. Groups in only one of the tables
    are left out. Numbers are cut into the same groups in both.

    Parameters
    ----------
    case_a, case_b : Case
        The older and the newer model, each on a table. The same people (equal row labels, and equal values in the
        columns that both tables have) are compared one by one.
    confidence_level : float
        Of each interval, and of all verdicts together (Holm's correction).
    within : float
        The change that is to be ruled out.

    Returns
    -------
    ModelComparison

    Raises
    ------
    TypeError
        If one is not a case.
    ValueError
        If they have no sensitive column in common, give numbers without a threshold, have weights or several decisions
        of one person, take different labels for the favourable one, or have different true labels of the same people.

    Examples
    --------
    >>> import fairlab
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> before = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> after = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> fairlab.compare(before, after).is_paired
    True
    """
    for name, case in (("case_a", case_a), ("case_b", case_b)):
        if case.task == "numbers":
            raise ValueError(f"{name}: expected decisions, found a model of numbers; give its case a threshold")
        if case.weights is not None or case.person is not None:
            raise ValueError(f"{name}: expected whole people, one decision each, found weights or persons")
    if are_opposite(case_a.pos_label, case_b.pos_label):
        labels = [case.pos_label for case in (case_a, case_b)]
        expected, found = ("none (scores speak for 1)" if label is None else repr(label) for label in labels)
        raise ValueError(
            f"case_b: expected the pos_label of case_a, {expected}, found {found}: what is favourable for one model "
            "would count as unfavourable for the other"
        )
    common = [name for name in case_b.sensitive_features if name in case_a.sensitive_features]
    if not common:
        raise ValueError(
            f"case_b: expected a sensitive column of case_a ({listed(case_a.sensitive_features)}), "
            f"found {listed(case_b.sensitive_features)}"
        )
    people, is_paired = side_by_side(case_a, case_b, common)
    not_compared = [
        f"The part due to chance: {name_of(case)} answers the same row differently when queried again."
        for case in (case_a, case_b)
        if not case.queries.is_deterministic
    ]
    not_compared += [
        f"{name}, which is a sensitive feature of one case only."
        for name in dict.fromkeys([*case_a.sensitive_features, *case_b.sensitive_features])
        if name not in common
    ]
    differ = None if is_paired else _changed(case_a.table, case_b.table)
    if differ is not None and not (n_changed := int(differ.any(axis=1).sum())):
        not_compared.append(
            "People one by one: rows with the same decision stand together, as when counts are expanded to rows, and "
            "row labels do not identify people; give an index that does."
        )
    elif differ is not None and n_changed < MOST_CHANGED * len(differ):
        names = few([str(name) for name in differ.columns[differ.any()]])
        not_compared.append(
            f"People one by one: row labels are the same, but {names} differs in {n_changed:,} of {len(differ):,} "
            "rows, so the tables count as different people."
        )
    for name in common:
        if only := sorted(set.symmetric_difference(*(set(each[f"by {name}"]) for each in people))):
            not_compared.append(f"{name}: {few(only)}, in one of the tables only.")
    why = next(filter(None, map(why_no_error_rates, (case_a, case_b))), "")
    # In tables of different people, labels may be known for different kinds of people, which changes error rates.
    if not (why or is_paired) and (known_of := next(filter(None, map(known_by_decision, (case_a, case_b))), "")):
        why = f"{known_of[0].lower()}{known_of[1:]} in one of the tables"
    if why:
        people = [each.assign(known=False) for each in people]
    if not all(each["known"].any() for each in people):
        not_compared.append(f"Errors, since {why or 'y_true is not known in both cases'}.")
    options = {"is_paired": is_paired, "confidence_level": confidence_level, "within": within}
    estimates = [row for rows in (_errors, _gaps) for row in rows(people, common, not_compared, **options)]
    rows = pd.DataFrame(estimates, columns=[*COLUMNS, "p_value_within"])
    answer = answers(rows["p_value"], rows.pop("p_value_within"), 1 - confidence_level)
    rows["p_value"] = holm(rows["p_value"])
    rows["verdict"] = np.where(answer == FOUND, np.where(rows["change"] < 0, BETTER, WORSE), answer)
    reasons = tuple(dict.fromkeys(not_compared))
    return ModelComparison(case_a, case_b, rows, is_paired, reasons, confidence_level, within)


def are_opposite(first, second) -> bool:
    """Return whether two favourable labels of one kind differ; a string may stand for a number."""
    first, second = (_plain_label(1 if label is None else label) for label in (first, second))  # scores speak for 1
    return type(first) is type(second) and first != second


def _plain_label(label) -> float | str:
    """Return a label as a number, if it is one or reads as one, or else as text."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return str(label)


def side_by_side(before: Case, after: Case, names: Sequence[str]) -> tuple[list[pd.DataFrame], bool]:
    """Return the people of two cases, and whether they are the same; if so, both are in the same order.

    Returns
    -------
    people : list of two DataFrames
        Columns ``decided``, ``true`` and ``wrong`` (favourable, by decision and by true label, and whether these
        differ), ``known`` (whether the true label is known; for the same people, in both cases), and ``by NAME``, the
        group.
    is_paired : bool

    Raises
    ------
    ValueError
        If the same people have different true labels.
    """
    groups = {name: _common_groups(before, after, name) for name in names}
    people = [_people(case, {name: both[k] for name, both in groups.items()}) for k, case in enumerate((before, after))]
    is_paired = are_same_people(before.table, after.table) and not (_is_in_order(before) and _is_in_order(after))
    if is_paired:
        people[1] = people[1].iloc[after.table.index.get_indexer(before.table.index)].reset_index(drop=True)
        known = people[0]["known"] & people[1]["known"]
        if (differ := (people[0]["true"] != people[1]["true"])[known]).any():
            raise ValueError(
                "case_b: expected the y_true of case_a, since the people are the same, found other labels of "
                f"{differ.sum():,} of {len(differ):,}; give both cases the same, such as those that were corrected"
            )
        people = [each.assign(known=known) for each in people]
    return people, is_paired


def _people(case: Case, groups: Mapping[str, pd.Series]) -> pd.DataFrame:
    decided, true = case.decide(), np.zeros(len(case.table), dtype=bool) if case.y_true is None else case.y_true
    by = {f"by {name}": np.asarray(of.astype(str)) for name, of in groups.items()}
    return pd.DataFrame({"decided": decided, "true": true, "wrong": decided != true, "known": case.labelled} | by)


def _common_groups(before: Case, after: Case, name: str) -> list[pd.Series]:
    """Return each person's group in both cases; numbers that the tables would cut differently are cut jointly."""
    groups = [case.groups(name) for case in (before, after)]
    columns = [case.table[name] for case in (before, after)]
    if list(groups[0].cat.categories) == list(groups[1].cat.categories) or not all(map(is_number, columns)):
        return groups
    for own, column in zip(groups, columns, strict=True):
        if list(own.cat.categories) != Feature.groups(name, column).labels:  # edges that were given, or dates
            return groups
    feature = Feature.groups(name, pd.concat(columns))
    return [feature.categories(column) for column in columns]


def _is_in_order(case: Case) -> bool:
    """Return whether decisions are sorted by kind, as when counts of a few kinds of people were turned into rows.

    If they are in two tables, equal rows may be different people, who would seem to be decided alike because of
    the order; a group of the same size in both is enough for that.
    """
    n = len(case.table)
    if case.model is not None or not case.table.index.equals(pd.RangeIndex(n)):
        return False
    decided = pd.DataFrame({"row": row_keys(case.table), "decided": case.decide()})
    whole = decided if case.y_true is None else decided.assign(true=case.y_true, known=case.labelled)
    for known in (decided, whole):
        codes = known.groupby(list(known)).ngroup().to_numpy()
        if np.count_nonzero(np.diff(codes)) + 1 == codes.max() + 1 <= n / 2:
            return True
    return False


def are_same_people(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether two tables have the same row labels, in any order, and equal values in their common columns."""
    differ = _changed(first, second)
    return differ is not None and not differ.to_numpy().any()


def _changed(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame | None:
    """Return where two tables with the same row labels differ, by common column; None for other tables."""
    if len(first) != len(second) or not first.index.is_unique or not second.index.is_unique:
        return None
    place = second.index.get_indexer(first.index)
    common = [name for name in first if name in second]
    if (place < 0).any() or not common:
        return None
    aligned = second.iloc[place]
    return pd.DataFrame({name: _unlike(first[name], aligned[name]) for name in common})


def _unlike(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return where values differ; missing values are equal, and floats are compared at the lower precision."""
    columns, kinds = (first, second), [getattr(each.dtype, "numpy_dtype", each.dtype) for each in (first, second)]
    if all(isinstance(kind, np.dtype) and kind.kind == "f" for kind in kinds):
        kind = min(kinds, key=lambda kind: kind.itemsize)
        columns = tuple(pd.Series(each.to_numpy(dtype=kind, na_value=np.nan)) for each in columns)
    values = [column.astype(object).where(column.notna(), None).to_numpy() for column in columns]
    return np.asarray(values[0] != values[1], dtype=bool)


def _groups(people: list[pd.DataFrame], name: str) -> Iterator[tuple[str, list[pd.Series]]]:
    """Yield each group that both tables have, with the masks of its members."""
    for group in sorted(set.intersection(*(set(each[f"by {name}"]) for each in people))):
        yield group, [each[f"by {name}"] == group for each in people]


def _errors(people, sensitive_features, not_compared, *, is_paired, confidence_level, within) -> Iterator[dict]:
    """Yield a row on the error rate of everyone and of each group."""
    if not all(each["known"].any() for each in people):
        return
    places = [("", "everyone", [np.ones(len(each), dtype=bool) for each in people])]
    places += [
        (name, f"{name} = {group}", members) for name in sensitive_features for group, members in _groups(people, name)
    ]
    for name, where, members in places:
        first, second = (
            each.loc[some & each["known"], "wrong"].to_numpy() for each, some in zip(people, members, strict=True)
        )
        if min(len(first), len(second)) < LEAST_COMPARED:
            not_compared.append(f"{where}, with fewer than {LEAST_COMPARED} people.")
            continue
        bounds = partial(change_bounds, first, second, is_paired=is_paired)
        yield {
            "sensitive_features": name,
            "where": where,
            "measure": "error rate",
            "before": first.mean(),
            "after": second.mean(),
            **_change(second.mean() - first.mean(), bounds, confidence_level),
            "p_value_within": level_within(bounds, within) / 2,  # two one-sided tests
            "n": len(second),
        }


def _gaps(people, sensitive_features, not_compared, **options) -> Iterator[dict]:
    """Yield a row on the gap between each group and everybody else in selection rates and true positive rates."""
    kinds = {"selection rate difference": [np.ones(len(each), dtype=bool) for each in people]}
    if all(each["known"].any() for each in people):
        kinds["true positive rate difference"] = [each["true"] & each["known"] for each in people]
    for measure, among in kinds.items():
        for name in sensitive_features:
            groups = list(_groups(people, name))
            both = [np.any([members[k] for _, members in groups], axis=0) for k in range(len(people))]
            for group, members in groups[:1] if len(groups) == 2 else groups if len(groups) > 2 else ():
                inside, outside = (
                    [
                        each.loc[chosen & of_both & (some == is_inside), "decided"].to_numpy()
                        for each, chosen, of_both, some in zip(people, among, both, members, strict=True)
                    ]
                    for is_inside in (True, False)
                )
                where = f"{name}: {group} minus {groups[1][0] if len(groups) == 2 else 'all others'}"
                if min(map(len, inside + outside)) < LEAST_COMPARED:
                    not_compared.append(f"{measure}, {where}, with fewer than {LEAST_COMPARED} people in a group.")
                    continue
                yield {"sensitive_features": name, "where": where, "measure": measure} | gap(inside, outside, **options)


def gap(inside, outside, *, is_paired: bool, confidence_level: float = 0.95, within: float = WITHIN_MARGIN) -> dict:
    """Return how the size of the gap between two groups changes from the first to the second model.

    With gaps a and b, ``|b| - |a| = sign(uv) min(|u|, |v|)`` for the difference ``u = b - a`` and the sum
    ``v = a + b``. The gap has changed in size if both differ from 0, so the p-value is the larger of theirs. The
    interval is the range of that expression over the intervals of u and of v, each at the full level: it excludes 0
    where both tests reject, and the change is within a margin where the interval is.

    Notes
    -----
    For normal u and v the interval misses a change ``t > 0`` with a probability of at most alpha: it is below t where
    one of the two intervals is, and above t where both are above t, or both below -t. If ``u = v = t``, this
    probability is alpha, whatever their correlation; if one is larger, the first part falls by at least what the second
    gains.

    Parameters
    ----------
    inside, outside : pair of boolean arrays
        Decisions of the first and of the second model on the members of the group, and on those of the other group.
    is_paired : bool
    confidence_level, within : float

    Returns
    -------
    dict
        ``before``, ``after`` (the gaps with their signs), ``change``, ``low``, ``high``, ``p_value``,
        ``p_value_within``, ``n``.
    """
    a, b = (own.mean() - others.mean() for own, others in zip(inside, outside, strict=True))
    bounds = partial(gap_bounds, inside, outside, is_paired=is_paired)
    n = len(inside[1]) + len(outside[1])
    change = _change(abs(b) - abs(a), bounds, confidence_level)
    return {"before": a, "after": b} | change | {"p_value_within": level_within(bounds, within), "n": n}


def gap_bounds(inside, outside, confidence_level: float, *, is_paired: bool) -> tuple[float, float]:
    """Return bounds of the change in size of a gap; parameters as in `gap`."""

    def of_two(*, is_sum: bool):
        # The sum of two rates is the first minus the second's complement, plus 1, which cancels between groups.
        own, others = (
            partial(change_bounds, first ^ is_sum, second, is_paired=is_paired) for first, second in (inside, outside)
        )
        return _bounds_apart(own, others, confidence_level)

    return _range_of_change(of_two(is_sum=False), of_two(is_sum=True))


def _change(estimate: float, bounds: Callable, confidence_level: float) -> dict:
    """Return a change of a share with its interval within -1 and 1, and the level at which the interval reaches 0."""
    low, high = map(float, bounds(confidence_level))
    return {"change": estimate, "low": max(low, -1.0), "high": min(high, 1.0), "p_value": level_beyond(bounds)}


def change_bounds(first: np.ndarray, second: np.ndarray, confidence_level, *, is_paired: bool):
    """Return bounds of the second share minus the first.

    Parameters
    ----------
    first, second : boolean arrays
        For pairs, of equal length: the change is the share who gain minus the share who lose.
    confidence_level : float, or array of shape (n_levels, 1)
    is_paired : bool
    """
    if is_paired:
        n, hits = len(first), (int((second & ~first).sum()), int((first & ~second).sum()))
        correlation = exclusive_correlation(*hits, n)
        return difference_bounds(hits, (n, n), confidence_level=confidence_level, correlation=correlation)
    hits, totals = zip(*((each.sum(), len(each)) for each in (second, first)), strict=True)
    return difference_bounds(hits, totals, confidence_level=confidence_level)


def _bounds_apart(inside: Callable, outside: Callable, confidence_level: float) -> tuple[float, float]:
    """Return bounds of the difference of two changes in different people, given a function that bounds each one.

    They are the widest ones over several ways to divide the level between the changes: see `fairlab.statistics`.
    """
    angles = np.linspace(0, np.pi / 2, N_SHARES)[:, None]
    quantile = -ndtri((1 - confidence_level) / 2)
    (low, high), (other_low, other_high) = (
        bounds(1 - 2 * ndtr(-quantile * part)) for bounds, part in ((inside, np.cos(angles)), (outside, np.sin(angles)))
    )
    return float((low - other_high).min()), float((high - other_low).max())


def _range_of_change(u, v) -> tuple[float, float]:
    corners = [np.sign(x * y) * min(abs(x), abs(y)) for x in u for y in v]
    return float(min(corners)), float(max(corners))
