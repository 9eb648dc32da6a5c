"""FairTest on any model: which groups are decided otherwise, or wrongly, more often, overall and in which contexts."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.cases.case import check_examination
from fairlab.cases.finding import Examination, Finding
from fairlab.cases.queries import BudgetSpentError
from fairlab.cases.schema import GROUPS, Feature
from fairlab.cases.table import small_groups
from fairlab.checks import check_count
from fairlab.fairtest.investigation import MOST_CATEGORIES
from fairlab.fairtest.metrics import NMI, Correlation, Difference, Metric
from fairlab.fairtest.sample import Column, Sample, encode
from fairlab.fairtest.tree import Condition, GuidedTree, Node
from fairlab.seeds import derive_seed

METHOD = "FairTest"
FEWEST = 20  # people in a group
LEAST_LEAF, MOST_LEAF = 30, 100  # people in a context in training, by the size of the table
MOST_TRAINED = 100_000  # people that contexts are looked for among
MAX_BINS = 10


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the model makes of people: its decisions, its numbers, or its errors.

    Attributes
    ----------
    values : ndarray
        Booleans, or numbers, one for each person who is looked at.
    share : str
        What a rate of them is called.
    name : str
        What they are called themselves.
    """

    values: np.ndarray
    share: str
    name: str

    @property
    def column(self) -> Column:
        """As a column of a sample."""
        if self.values.dtype == bool:
            return Column(self.name, self.values.astype(np.intp), ("no", "yes"))
        return Column(self.name, self.values)


@dataclass(frozen=True, eq=False)
class Question:
    """An association to look for.

    Attributes
    ----------
    sensitive_features : str
    rows : ndarray of int
        Numbers of the people whom it concerns, in the table.
    sample : Sample
        Their groups and outcomes.
    metric : Metric
    effect : str
        Name of the measure in words.
    in_contexts : bool
        Whether contexts are looked for, too.
    """

    sensitive_features: str
    rows: np.ndarray
    sample: Sample
    metric: Metric
    effect: str
    in_contexts: bool


def examine(
    case,
    *,
    budget: int,
    confidence: float = 0.95,
    random_state: int = 0,
    max_contexts: int = 5,
    max_depth: int = 3,
) -> Examination:
    """Look for associations of sensitive columns with the model's decisions, and with its errors where truth is known.

    Among everyone, and in contexts: a guided tree (section 4.3) finds them in one half of the table (at most 100,000
    people), and the other half, which had no part in that, tests them. The contexts with the strongest associations in
    training are reported whatever the test says, so that each interval and p-value is valid on its own. The model is
    asked once about each row that it was not asked about before. Of two groups the effect is the difference of their
    rates; of several the mutual information (0 to 1), and each group's difference from the others; of a regression the
    correlation with the sensitive number or with being in a group.

    Parameters
    ----------
    case : fairlab.cases.Case
    budget : int
        Most rows that the model is asked for. If there are more new ones, a random part of the table is looked at.
    confidence : float
        Of the intervals.
    random_state : int
        Of the split and of Monte Carlo tests.
    max_contexts : int
        Most contexts that are reported of each association.
    max_depth : int
        Most conditions of a context.

    Returns
    -------
    Examination
        The evidence of a finding is the people that it rests on, by their row labels, with the decision or the error
        as first column.

    Raises
    ------
    TypeError
        If `case` is none.
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.fairtest import examine
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> examine(case, budget=1_000).method
    'FairTest'
    """
    budget, random_state = check_examination(case, budget=budget, confidence=confidence, random_state=random_state)
    check_count(max_contexts, "max_contexts", least=0)
    check_count(max_depth, "max_depth")
    start, asked = time.perf_counter(), case.queries.asked
    remarks: list[str] = []
    findings: list[Finding] = []
    rows = _affordable_rows(case, budget, random_state, remarks)
    if len(rows) < 2 * FEWEST:
        remarks.append(f"FairTest needs {2 * FEWEST} people, there are {len(rows)}.")
    else:
        with case.queries.limit(budget):
            outcomes = _outcomes(case, rows)
        halves = _split(rows, random_state)
        columns = _context_columns(case, remarks)
        for outcome in outcomes:
            for name in case.sensitive_features:
                context = [column for column in columns if column.name != name]
                for question in _questions(case, name, outcome, rows, remarks):
                    findings += _answers(
                        case, question, outcome, context, halves, remarks,
                        confidence=confidence, max_contexts=max_contexts, max_depth=max_depth,
                        random_state=random_state,
                    )  # fmt: skip
    seconds = time.perf_counter() - start
    return Examination(METHOD, tuple(findings), tuple(dict.fromkeys(remarks)), case.queries.asked - asked, seconds)


def _affordable_rows(case, budget, random_state, remarks) -> np.ndarray:
    """Return the numbers of the rows that the model can be asked about: all, or so many as the budget has."""
    n = len(case.table)
    try:
        with case.queries.limit(budget):
            _answer_of(case, None)
    except BudgetSpentError:
        remarks.append(f"FairTest looked at {budget:,} of {n:,} people, drawn at random: the budget has no more.")
        return np.sort(np.random.default_rng(derive_seed(random_state, METHOD, "rows")).permutation(n)[:budget])
    return np.arange(n)


def _answer_of(case, rows) -> np.ndarray:
    return case.number(rows) if case.task == "numbers" else case.decide(rows)


def _outcomes(case, rows) -> list[Outcome]:
    """Return what the model makes of people, and how far that is wrong where truth is known."""
    answer = _answer_of(case, None if len(rows) == len(case.table) else case.table.iloc[rows])
    truth = None if case.y_true is None else case.y_true[rows]
    if case.task == "numbers":
        errors = [] if truth is None else [Outcome(np.abs(answer - truth), "", "error of the model's number")]
        return [Outcome(answer.astype(float), "", "model's number"), *errors]
    errors = [] if truth is None else [Outcome(answer != truth, "error rates", "error")]
    return [Outcome(answer, "favourable rates", "favourable"), *errors]


def _split(rows, random_state) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the people to train on and to test on, both in the order of the table."""
    n_train = min(len(rows) // 2, MOST_TRAINED)
    halves = train_test_split(rows, train_size=n_train, random_state=derive_seed(random_state, METHOD, "split"))
    return tuple(np.sort(half) for half in halves)


def _context_columns(case, remarks) -> list[Column]:
    """Return the columns that contexts can be made of, whole; wide numbers with missing values in groups."""
    columns = []
    for name, values in case.table.items():
        column = encode(Feature.groups(name, values).categories(values) if _goes_by_levels(values) else values)
        if column.is_categorical and len(column.categories) > MOST_CATEGORIES:
            remarks.append(
                f"FairTest makes no contexts of {name}, which has {len(column.categories):,} different values."
            )
        else:
            columns.append(column)
    return columns


def _goes_by_levels(values: pd.Series) -> bool:
    """Whether a column is of wide numbers of which some are missing, of missing values only, or of numbers as text."""
    if pd.api.types.is_numeric_dtype(values):
        return values.isna().all() or (values.isna().any() and values.nunique() > GROUPS)
    known = values.dropna()
    return not len(known) or bool(pd.to_numeric(known.astype(str), errors="coerce").notna().all())


def _questions(case, name, outcome, rows, remarks) -> Iterator[Question]:
    """Yield the associations of one sensitive column with an outcome; the first is that of all groups."""
    values = case.table[name].iloc[rows]
    if outcome.values.dtype != bool and pd.api.types.is_numeric_dtype(values) and values.nunique() > GROUPS:
        known = values.notna().to_numpy()
        if not known.all():
            remarks.append(f"FairTest left out {int((~known).sum()):,} people without a value of {name}.")
        sample = Sample(Column(name, values[known].to_numpy(dtype=float)), outcome.column.take(known))
        effect = f"correlation of the {outcome.name} and {name}"
        yield Question(name, rows[known], sample, Correlation(), effect, True)
        return
    groups = case.groups(name).iloc[rows]
    sizes = groups.value_counts(sort=False)
    remarks += small_groups(name, sizes, FEWEST)
    large = [group for group in sizes.index if sizes[group] >= FEWEST]
    if len(large) < 2:
        remarks.append(f"{name}: fewer than two groups have {FEWEST} people.")
        return
    kept = groups.isin(large).to_numpy()
    codes = groups[kept].cat.set_categories(large).cat.codes.to_numpy().astype(np.intp)
    yield from _of_groups(name, large, codes, outcome, rows[kept], outcome.column.take(kept))


def _of_groups(name, groups, codes, outcome, rows, output) -> Iterator[Question]:
    is_rate = outcome.values.dtype == bool
    if len(groups) == 2 and is_rate:
        effect = f"difference of {outcome.share}, {groups[0]} less {groups[1]}"
        yield Question(name, rows, Sample(Column(name, codes, tuple(groups)), output), Difference(), effect, True)
        return
    if is_rate:
        effect = f"mutual information of {outcome.name} and {name}, from 0 to 1"
        yield Question(name, rows, Sample(Column(name, codes, tuple(groups)), output), NMI(), effect, True)
    for code, group in enumerate(groups if len(groups) > 2 else groups[:1]):
        others = "the others" if len(groups) > 2 else groups[1]
        one = Column(name, (codes != code).astype(np.intp), (group, others))
        if is_rate:
            effect = f"difference of {outcome.share}, {group} less {others}"
            yield Question(name, rows, Sample(one, output), Difference(), effect, False)
        else:
            effect = f"correlation of the {outcome.name} and being {group} rather than {others}"
            is_group = Column(name, 1.0 - one.values)
            yield Question(name, rows, Sample(is_group, output), Correlation(), effect, True)


def _answers(
    case, question, outcome, context, halves, remarks, *, confidence, max_contexts, max_depth, random_state
) -> Iterator[Finding]:
    """Yield the finding among everyone, and those in contexts."""
    stream = derive_seed(random_state, METHOD, question.sensitive_features, question.effect)
    rng = np.random.default_rng(stream)
    everyone = np.arange(len(question.rows))
    yield _finding(case, question, outcome, everyone, "everyone", confidence=confidence, rng=rng)
    if not (question.in_contexts and max_contexts):
        return
    train, test = (np.flatnonzero(np.isin(question.rows, half, assume_unique=True)) for half in halves)
    min_leaf_size = int(np.clip(len(train) // 20, LEAST_LEAF, MOST_LEAF))
    if len(train) < 2 * min_leaf_size:
        needed = 4 * LEAST_LEAF
        remarks.append(f"FairTest looked for no contexts: {len(question.rows)} people, {needed} are needed.")
        return
    here = {column.name: column.take(question.rows) for column in context}
    tree = GuidedTree(question.metric, confidence, max_depth, min_leaf_size, "avg", MAX_BINS)
    root = tree.grow(question.sample.take(train), [column.take(train) for column in here.values()])
    for node in _strongest(root, question, here, train, confidence)[:max_contexts]:
        where, members = _words(node.conditions, case), test[_holds(node.conditions, here, test)]
        if len(members) < FEWEST:
            remarks.append(
                f"FairTest did not test {question.sensitive_features} where {where}: "
                f"{len(members)} people of the test half."
            )
        else:
            yield _finding(case, question, outcome, members, where, confidence=confidence, rng=rng)


def _strongest(root: Node, question, columns, train, confidence) -> list[Node]:
    """Return the contexts that show an association in training, stronger than all around them, the strongest first."""
    shown = {}
    for node in root.walk():
        people = question.sample.take(train[_holds(node.conditions, columns, train)])
        effect = float(question.metric.effect(question.metric.approximate(people, confidence_level=confidence)))
        around = shown.get(id(node.parent), 0.0)
        shown[id(node)] = max(effect, around)
        node.effect = effect if node.parent is not None and effect > around else 0.0
    return sorted((node for node in root.walk() if node.effect > 0), key=lambda node: -node.effect)


def _holds(conditions, columns, rows) -> np.ndarray:
    held = np.ones(len(rows), dtype=bool)
    for condition in conditions:
        held &= condition.holds(columns[condition.attribute].take(rows))
    return held


def _finding(case, question, outcome, members, where, *, confidence, rng) -> Finding:
    """Return the test of some people, given by their places in the question's sample."""
    sample, metric = question.sample.take(members), question.metric
    interval = metric.exact(sample, confidence_level=confidence, rng=rng)
    estimate = metric.estimate(sample if isinstance(metric, Correlation) else metric.of_all(sample))
    evidence = case.table.iloc[question.rows[members]]
    if outcome.name not in evidence:
        values = sample.output.values
        evidence.insert(0, outcome.name, values == 1 if sample.output.is_categorical else values)
    low, high = float(interval.low), float(interval.high)
    return Finding(
        METHOD, question.sensitive_features, where, question.effect, float(np.clip(estimate, low, high)), low, high,
        min(float(interval.p_value), 1.0), evidence, len(members), _sentence(question, outcome, where, float(estimate)),
    )  # fmt: skip


def _sentence(question: Question, outcome, where: str, estimate: float) -> str:
    """Return what an estimate says, in plain words."""
    among = "" if where == "everyone" else f"Where {where}: "
    if isinstance(question.metric, Difference):
        first, second = question.sample.sensitive_features.categories
        side = "lower" if estimate < 0 else "higher"
        points = f"{100 * abs(estimate):.1f} percentage points"
        return f"{among}{outcome.share} are {points} {side} for {first} than for {second}"
    return f"{among}{outcome.name} goes with {question.sensitive_features} ({question.effect}: {estimate:.2g})"


def _words(conditions: tuple[Condition, ...], case) -> str:
    """Return the conditions of a context as "age >= 40 and workclass = Private"."""
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
