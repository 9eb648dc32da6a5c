"""FairTest of a case: which groups are decided otherwise, or wrongly, more often, overall and in which subgroups."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.auditing.probes import Probe, Task
from fairlab.cases import Finding
from fairlab.cases.schema import GROUPS, Feature
from fairlab.fairtest.investigation import MOST_CATEGORIES
from fairlab.fairtest.metrics import NMI, Correlation, Difference, Metric
from fairlab.fairtest.sample import Column, Sample, encode
from fairlab.fairtest.tree import Condition, GuidedTree, Node
from fairlab.seeds import derive_seed

METHOD = "FairTest"
FEWEST = 20  # people in a group
LEAST_LEAF, MOST_LEAF = 30, 100  # people in a subgroup in training, by the size of the table
MOST_TRAINED = 100_000  # people that subgroups are looked for among
MOST_SUBGROUPS, MAX_DEPTH = 5, 3  # that are reported of each association, and conditions of each
MAX_BINS = 10
RATES = {"favourable": "selection rate", "error": "error rate"}
# What an effect calls an outcome.
NAMES = {"favourable": "decision", "model's number": "prediction", "error of the model's number": "absolute error"}


@dataclass(frozen=True, eq=False)
class _Target:
    """An association to look for: the people whom it concerns, as rows of the table, with their groups and outcomes."""

    rows: np.ndarray
    sample: Sample
    metric: Metric
    effect: str
    in_subgroups: bool = True

    @property
    def sensitive_features(self) -> str:
        return self.sample.sensitive_features.name


def run(task: Task) -> Iterator[Finding]:
    """Look for associations of sensitive columns with the model's decisions, and with its errors where truth is known.

    Among everyone, and in subgroups: a guided tree (section 4.3) finds them in one half of the table (at most 100,000
    people), and the other half, which had no part in that, tests them. The subgroups with the strongest associations in
    training are reported whatever the test says, so that each interval and p-value is valid on its own. Of two groups
    the effect is the difference of their rates; of several the normalised mutual information (0 to 1), and each group's
    difference from the others; of a regression the correlation with the sensitive number or with being in a group.

    The evidence of a finding is the people that it rests on, by their row labels, with the decision or the error
    as first column.
    """
    case, n = task.case, len(task.case.table)
    if n < 2 * FEWEST:
        task.skip(f"FairTest needs {2 * FEWEST} people, there are {n}.")
        return
    halves = train_test_split(
        np.arange(n),
        train_size=min(n // 2, MOST_TRAINED),
        random_state=derive_seed(task.random_state, METHOD, "split"),
    )
    columns = _subgroup_columns(task)
    for outcome in _outcomes(case):
        for name in case.sensitive_features:
            others = [column for column in columns if column.name != name]
            for question in _questions(task, name, outcome):
                yield from _answers(task, question, others, *map(np.sort, halves))


PROBE = Probe(
    title="FairTest",
    description="FairTest finds subgroups by the paper's guided tree in one half of the people and tests them on the "
    "other; two groups are compared by the difference of their rates, where the paper takes mutual information, and "
    "p-values are corrected over all findings of the audit.",
    run=run,
    order=2,
    share=1,
)


def _outcomes(case) -> Iterator[Column]:
    """Yield what the model makes of people, and how far that is wrong where truth is known."""
    if case.task == "numbers":
        numbers = case.number()
        yield Column("model's number", numbers.astype(float))
        if case.y_true is not None:
            yield Column("error of the model's number", np.abs(numbers - case.y_true))
        return
    decisions = case.decide()
    yield _yes_or_no("favourable", decisions)
    if case.y_true is not None:
        yield _yes_or_no("error", decisions != case.y_true)


def _yes_or_no(name, values) -> Column:
    return Column(name, values.astype(np.intp), ("no", "yes"))


def _subgroup_columns(task) -> list[Column]:
    """Return the columns that subgroups can be made of, whole; wide numbers with missing values in groups."""
    columns = []
    for name, values in task.case.table.items():
        column = encode(Feature.groups(name, values).categories(values) if _goes_by_levels(values) else values)
        if column.is_categorical and len(column.categories) > MOST_CATEGORIES:
            task.skip(f"FairTest makes no subgroups of {name}, which has {len(column.categories):,} different values.")
        else:
            columns.append(column)
    return columns


def _goes_by_levels(values: pd.Series) -> bool:
    """Whether a column is of wide numbers of which some are missing, of missing values only, or of numbers as text."""
    if pd.api.types.is_numeric_dtype(values):
        return values.isna().all() or (values.isna().any() and values.nunique() > GROUPS)
    known = values.dropna()
    return not len(known) or bool(pd.to_numeric(known.astype(str), errors="coerce").notna().all())


def _questions(task, name, outcome: Column) -> Iterator[_Target]:
    """Yield the associations of one sensitive column with an outcome; the first is that of all groups."""
    values, what = task.case.table[name], NAMES.get(outcome.name, outcome.name)
    if not outcome.is_categorical and pd.api.types.is_numeric_dtype(values) and values.nunique() > GROUPS:
        known = np.flatnonzero(values.notna())
        if len(known) < len(values):
            task.skip(f"FairTest left out {len(values) - len(known):,} people without a value of {name}.")
        sample = Sample(Column(name, values.iloc[known].to_numpy(dtype=float)), outcome.take(known))
        yield _Target(known, sample, Correlation(), f"correlation ({what}, {name})")
        return
    groups = task.case.groups(name)
    large = task.large_groups(name, groups, FEWEST)
    if len(large) < 2:
        task.skip(f"{name}: fewer than two groups have {FEWEST} people.")
        return
    rows = np.flatnonzero(groups.isin(large))
    codes = groups.iloc[rows].cat.set_categories(large).cat.codes.to_numpy().astype(np.intp)
    several, output, rate = len(large) > 2, outcome.take(rows), RATES.get(outcome.name)
    if rate and several:
        effect = f"normalised mutual information ({what}, {name})"
        yield _Target(rows, Sample(Column(name, codes, tuple(large)), output), NMI(), effect)
    for code, group in enumerate(large if several else large[:1]):
        others = "the others" if several else large[1]
        if rate:
            one = Column(name, (codes != code).astype(np.intp), (group, others))
            effect = f"{rate} difference, {group} minus {others}"
            yield _Target(rows, Sample(one, output), Difference(), effect, in_subgroups=not several)
        else:
            effect = f"correlation ({what}, {group} versus {others})"
            yield _Target(rows, Sample(Column(name, 1.0 * (codes == code)), output), Correlation(), effect)


def _answers(task, question: _Target, columns, train_rows, test_rows) -> Iterator[Finding]:
    """Yield the finding among everyone, and those in subgroups."""
    name, outcome = question.sensitive_features, question.sample.output.name
    # Mutual information alone draws random numbers.
    stream = f"mutual information of {outcome} and {name}, from 0 to 1"
    rng = np.random.default_rng(derive_seed(task.random_state, METHOD, name, stream))
    yield _finding(task, question, np.arange(len(question.rows)), "everyone", rng)
    if not question.in_subgroups:
        return
    train, test = (np.flatnonzero(np.isin(question.rows, half, assume_unique=True)) for half in (train_rows, test_rows))
    min_leaf_size = int(np.clip(len(train) // 20, LEAST_LEAF, MOST_LEAF))
    if len(train) < 2 * min_leaf_size:
        needed = 4 * LEAST_LEAF
        task.skip(f"FairTest looked for no subgroups: {len(question.rows)} people, {needed} are needed.")
        return
    here = {column.name: column.take(question.rows) for column in columns}
    tree = GuidedTree(question.metric, task.confidence_level, MAX_DEPTH, min_leaf_size, "avg", MAX_BINS)
    root = tree.grow(question.sample.take(train), [column.take(train) for column in here.values()])
    for node in _strongest(root, question, here, train, task.confidence_level)[:MOST_SUBGROUPS]:
        where, members = _words(node.conditions, task.case), test[_holds(node.conditions, here, test)]
        if len(members) < FEWEST:
            tested = f"{len(members)} people of the test half"
            task.skip(f"FairTest did not test {name} where {where}: {tested}.")
        else:
            yield _finding(task, question, members, where, rng)


def _strongest(root: Node, question, columns, train, confidence_level) -> list[Node]:
    """Return the subgroups with an association in training, stronger than all around them, the strongest first."""
    shown, stronger = {}, {}
    for node in root.walk():
        people = question.sample.take(train[_holds(node.conditions, columns, train)])
        metric = question.metric
        effect = float(metric.effect(metric.approximate(people, confidence_level=confidence_level)))
        around = shown.get(node.parent, 0.0)
        shown[node] = max(effect, around)
        if node.parent is not None and effect > around:
            stronger[node] = effect
    return sorted(stronger, key=stronger.get, reverse=True)


def _holds(conditions, columns, rows) -> np.ndarray:
    held = np.ones(len(rows), dtype=bool)
    for condition in conditions:
        held &= condition.holds(columns[condition.attribute].take(rows))
    return held


def _finding(task, question: _Target, members, where, rng) -> Finding:
    """Return the test of some people, given by their places in the question's sample."""
    sample, metric = question.sample.take(members), question.metric
    interval = metric.exact(sample, confidence_level=task.confidence_level, rng=rng)
    estimate = float(metric.estimate(sample if isinstance(metric, Correlation) else metric.of_all(sample)[0]))
    evidence, output = task.case.table.iloc[question.rows[members]], sample.output
    if output.name not in evidence:
        evidence.insert(0, output.name, output.values == 1 if output.is_categorical else output.values)
    low, high = float(interval.low), float(interval.high)
    return Finding(
        METHOD, question.sensitive_features, where, question.effect, float(np.clip(estimate, low, high)), low, high,
        min(float(interval.p_value), 1.0), evidence, len(members), _sentence(question, where, estimate),
    )  # fmt: skip


def _sentence(question: _Target, where: str, estimate: float) -> str:
    """Return what an estimate says, in plain words."""
    start = "The" if where == "everyone" else f"Where {where}: the"
    if isinstance(question.metric, Difference):
        first, second = question.sample.sensitive_features.categories
        side = "lower" if estimate < 0 else "higher"
        points = f"{100 * abs(estimate):.1f} percentage points"
        return f"{start} {RATES[question.sample.output.name]} of {first} is {points} {side} than that of {second}"
    return f"{start} {question.effect} is {estimate:.2g}"


def _words(conditions: tuple[Condition, ...], case) -> str:
    """Return the conditions of a subgroup as "age >= 40 and workclass = Private"."""
    parts = []
    for condition in conditions:
        name = condition.attribute
        if condition.category is not None:
            parts.append(f"{name} = {condition.category}")
            continue
        low, high = condition.low, condition.high
        values = case.table[name].dropna().to_numpy(dtype=float)
        if (values % 1).any():
            bounds = {">": f"{low:.6g}", "<=": f"{high:.6g}"}
        else:
            least, most = (int(np.floor(end)) if np.isfinite(end) else None for end in (low, high))
            least = None if least is None else least + 1
            bounds = {"=": least} if least == most else {">=": least, "<=": most}
        finite = {">": np.isfinite(low), ">=": np.isfinite(low), "<=": np.isfinite(high), "=": True}
        parts += [f"{name} {sign} {bound}" for sign, bound in bounds.items() if finite[sign]]
    return " and ".join(parts)
