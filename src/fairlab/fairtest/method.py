"""FairTest of a case: subgroups in which decisions, or errors, are associated with sensitive features."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.cases import Finding
from fairlab.cases.finding import free_name
from fairlab.cases.method import Examination, Method, rest_of
from fairlab.cases.schema import MAX_GROUP_VALUES, Feature
from fairlab.fairtest.investigation import MOST_CATEGORIES
from fairlab.fairtest.metrics import NMI, Correlation, Difference, Metric
from fairlab.fairtest.rates import rate_difference
from fairlab.fairtest.sample import Column, Sample, encode, outcomes
from fairlab.fairtest.tree import GuidedTree, strongest
from fairlab.seeds import derive_seed
from fairlab.statistics import correlation_bounds, correlation_p_value, smallest_effect

LEAST_TESTED = 20  # people in a group
LEAST_LEAF, MOST_LEAF = 30, 100  # people in a subgroup in training, by the size of the table
MOST_TRAINED = 100_000  # people among whom subgroups are sought
MOST_SUBGROUPS, MAX_DEPTH = 5, 3  # reported for each association, and conditions of each subgroup
MAX_BINS = 10
RATES = {"favourable": "selection rate", "error": "error rate"}
# Names of outcomes in effects.
NAMES = {"favourable": "decision", "model's number": "prediction", "error of the model's number": "absolute error"}


class _Question(NamedTuple):
    """An association to look for: the rows of the table that it concerns, with their groups and outcomes."""

    rows: np.ndarray
    sample: Sample
    metric: Metric
    effect: str = ""  # name of a correlation
    groups: tuple[str, ...] = ()  # the two that it compares


class FairTest(Method):
    """Looks for subgroups where sensitive features are associated with the model's decisions or errors.

    A guided tree (section 4.3) finds them in one half of the table (at most 100,000 people), and they are tested in the
    other half. The subgroups with the strongest associations in training are reported whatever the test result, so that
    each interval and p-value is valid on its own. The effect is the difference of a rate between two groups. With more
    groups, the tree uses mutual information, and the effect compares the group that differs most from the others in
    training with these. For a regression, the effect is the correlation with the sensitive number or with membership in
    a group, among everyone and in subgroups. Errors are tested among people whose true label is known.

    The evidence of a finding is the table of the tested people, by row label, with the decision or the error as first
    column.

    Parameters
    ----------
    confidence_level : float
    random_state : int

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.fairtest import FairTest
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: (rows["points"] > 20) & (rows["sex"] == "m")
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> [finding.where for finding in FairTest().run(case).findings]
    ['points >= 30', 'points >= 22 and points <= 29']
    """

    title = "FairTest"
    description = (
        "FairTest finds subgroups by the paper's guided tree in one half of the people and tests them on the "
        "other by the difference of the rates of two groups, where the paper takes mutual information, and p-values "
        "are corrected over all findings of the audit."
    )

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield correlations among everyone, and the findings in subgroups."""
        case, n = examination.case, len(examination.case.table)
        if n < 2 * LEAST_TESTED:
            examination.skip(f"FairTest needs {2 * LEAST_TESTED} people, there are {n}.")
            return
        halves = train_test_split(
            np.arange(n),
            train_size=min(n // 2, MOST_TRAINED),
            random_state=derive_seed(self.random_state, self.title, "split"),
        )
        columns = _subgroup_columns(examination)
        for outcome, known in outcomes(case):
            if not outcome.is_categorical and np.ptp(outcome.values[known]) == 0:
                what = NAMES[outcome.name]
                examination.skip(f"FairTest: each {what} is {outcome.values[known][0]:g}, correlated with nothing.")
                continue
            for name in case.sensitive_features:
                others = [column for column in columns if column.name != name]
                for question in _questions(examination, name, outcome, known):
                    yield from _answers(examination, self.confidence_level, question, others, *map(np.sort, halves))


def _subgroup_columns(examination) -> list[Column]:
    """Return the complete columns that can define subgroups; wide numbers with missing values are grouped."""
    columns = []
    for name, values in examination.case.table.items():
        column, in_words = None if _goes_by_levels(values) else encode(values), examination.case.named(name)
        if column is None or (in_words and column.is_categorical):  # a few dates: formatted categories
            groups = Feature.groups(name, values)
            column = encode(groups.categories(values, groups.named(in_words)))
        if column.is_categorical and len(column.categories) > MOST_CATEGORIES:
            examination.skip(
                f"FairTest makes no subgroups of {name}, which has {len(column.categories):,} different values.",
                *{name}.intersection(examination.case.sensitive_features),
            )
        else:
            columns.append(column)
    return columns


def _goes_by_levels(values: pd.Series) -> bool:
    """Whether a column holds fractions or wide numbers, some missing, only missing values, or numbers as text."""
    known = values.dropna()
    if pd.api.types.is_numeric_dtype(values):
        is_continuous = values.nunique() > MAX_GROUP_VALUES or (known.to_numpy(dtype=float) % 1).any()
        return len(known) == 0 or (len(known) < len(values) and is_continuous)
    return not len(known) or bool(pd.to_numeric(pd.Series(known.astype(str).unique()), errors="coerce").notna().all())


def _questions(examination, name, outcome: Column, known: np.ndarray) -> Iterator[_Question]:
    """Yield the associations of one sensitive feature with an outcome that is known of some people."""
    values, what = examination.case.table[name], NAMES.get(outcome.name, outcome.name)
    if not outcome.is_categorical and pd.api.types.is_numeric_dtype(values) and values.nunique() > MAX_GROUP_VALUES:
        if n_missing := int(values.isna().sum()):
            examination.skip(f"FairTest left out {n_missing:,} people without a value of {name}.", name)
        rows = np.flatnonzero(values.notna() & known)
        sample = Sample(Column(name, values.iloc[rows].to_numpy(dtype=float)), outcome.take(rows))
        yield _Question(rows, sample, Correlation(), f"correlation ({what}, {name})")
        return
    groups = examination.case.groups(name)
    large = examination.large_groups(name, groups[known], LEAST_TESTED)
    if len(large) < 2:
        examination.skip(f"{name}: fewer than two groups have {LEAST_TESTED} people.", name)
        return
    rows = np.flatnonzero(groups.isin(large) & known)
    codes = groups.iloc[rows].cat.set_categories(large).cat.codes.to_numpy().astype(np.intp)
    several, output = len(large) > 2, outcome.take(rows)
    if outcome.name in RATES:
        yield _Question(rows, Sample(Column(name, codes, tuple(large)), output), NMI() if several else Difference())
        return
    for code, group in enumerate(large if several else large[:1]):
        others = rest_of(large, "the others") if several else large[1]
        effect, sample = f"correlation ({what}, {group} versus {others})", Column(name, 1.0 * (codes == code))
        yield _Question(rows, Sample(sample, output), Correlation(), effect, (group, others))


def _answers(examination, level, question: _Question, columns, train_rows, test_rows) -> Iterator[Finding]:
    """Yield the correlation among everyone, and the findings in subgroups."""
    case, (rows, sample, metric, *_) = examination.case, question
    if isinstance(metric, Correlation):
        yield _correlation(case, level, question, np.arange(len(rows)), "everyone")
    train, test = (np.flatnonzero(np.isin(rows, half, assume_unique=True)) for half in (train_rows, test_rows))
    min_leaf_size = int(np.clip(len(train) // 20, LEAST_LEAF, MOST_LEAF))
    if len(train) < 2 * min_leaf_size:
        examination.skip(f"FairTest looked for no subgroups: {len(rows)} people, {4 * LEAST_LEAF} are needed.")
        return
    here = {column.name: column.take(rows) for column in columns}
    tree = GuidedTree(metric, level, MAX_DEPTH, min_leaf_size, "avg", MAX_BINS)
    root = tree.grow(sample.take(train), [column.take(train) for column in here.values()])
    trained = {node: sample.take(train[node.members(here, train)]) for node in root.walk()}
    shown = {node: metric.approximate(people, confidence_level=level) for node, people in trained.items()}
    nodes = strongest({node: float(metric.effect(each)) for node, each in shown.items()}, ties=False)[:MOST_SUBGROUPS]
    name, what = sample.sensitive_features.name, NAMES.get(sample.output.name, sample.output.name)
    if not nodes:
        examination.skip(
            f"FairTest found no subgroup in which {name} and the {what} are more associated than elsewhere.", name
        )
    for node in nodes:
        where = " and ".join(
            each.in_words(case.table[each.attribute], case.named(each.attribute)) for each in node.conditions
        )
        members = test[node.members(here, test)]
        if len(members) < LEAST_TESTED:
            few = f"{len(members)} people in the test half"
            examination.skip(f"FairTest did not test {name} where {where}: {few}.", name)
        elif isinstance(metric, Correlation):
            yield _correlation(case, level, question, members, where)
        else:
            yield from _difference(examination, level, question, trained[node], members, where)


def _correlation(case, level, question: _Question, members, where) -> Finding:
    """Return the finding on some people, given by their positions in the question's sample."""
    sample = question.sample.take(members)
    values = sample.sensitive_features.values, sample.output.values
    low, high, p_value = correlation_bounds(*values, confidence_level=level)
    estimate = float(question.metric.estimate(sample))
    start = "The" if where == "everyone" else f"Where {where}: the"
    return Finding(
        FairTest.title,
        (sample.sensitive_features.name,),
        where,
        question.effect,
        float(np.clip(estimate, low, high)),
        low,
        high,
        p_value,
        _evidence(case, question, members),
        len(members),
        f"{start} {question.effect} is {estimate:.2g}",
        measure="correlation",
        groups=question.groups,
        test=partial(correlation_p_value, *values),
        smallest=partial(smallest_effect, low, high, level),
        bounds=partial(correlation_bounds, *values),
    )


def _difference(examination, level, question: _Question, trained: Sample, members, where) -> Iterator[Finding]:
    """Yield the difference of a rate between two groups in the test half, the groups chosen in training."""
    sensitive, rate = question.sample.sensitive_features, RATES[question.sample.output.name]
    name, groups, table = sensitive.name, sensitive.categories, Difference().of_all(trained)[0]
    chosen = (
        0 if len(groups) == 2 else int(np.argmax([_distance(*_counts(table, code)) for code in range(len(groups))]))
    )
    hits, totals = _counts(Difference().of_all(question.sample.take(members))[0], chosen)
    names = groups[chosen], groups[1] if len(groups) == 2 else rest_of(groups, "the others")
    if min(totals) == 0:
        examination.skip(
            f"FairTest did not test {name} where {where}: nobody in the test half is {names[np.argmin(totals)]}.",
            name,
        )
        return
    yield rate_difference(
        FairTest.title,
        (name,),
        rate,
        names,
        hits,
        totals,
        start=f"Where {where}: the {rate}",
        confidence_level=level,
        n=int(totals.sum()),
        where=where,
        evidence=_evidence(examination.case, question, members),
    )


def _counts(table: np.ndarray, code: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many people of a group, and of all others, have the outcome, and how many there are."""
    both = np.stack([table[code], table.sum(axis=0) - table[code]])
    return both[:, 1], both.sum(axis=1)


def _distance(hits: np.ndarray, totals: np.ndarray) -> float:
    """Return the distance between two rates, scaled by the sizes of the groups; -1 if a group is empty."""
    if min(totals) == 0:
        return -1.0
    return float(abs(hits[0] / totals[0] - hits[1] / totals[1]) * np.sqrt(totals.prod() / totals.sum()))


def _evidence(case, question: _Question, members) -> pd.DataFrame:
    """Return people as rows of the table, the outcome first."""
    evidence, output = case.table.iloc[question.rows[members]], question.sample.output
    values = output.values[members] == 1 if output.is_categorical else output.values[members]
    evidence.insert(0, free_name(output.name, evidence), values)
    return evidence
