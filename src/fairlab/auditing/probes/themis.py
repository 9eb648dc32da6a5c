"""What Themis finds about a case: how often sensitive columns alone change the decision, and whom they favour."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from fairlab.auditing.probes import Probe, Task
from fairlab.auditing.varied import over_inputs, over_people, proxies_of
from fairlab.auditing.wording import listed
from fairlab.cases import Case, CaseError, Finding
from fairlab.checks import check_number
from fairlab.seeds import derive_seed

METHOD = "Themis"
FEWEST = 20  # inputs or people that a score may rest on
ENOUGH = 10_000  # of either: within about 0.01 at 95%
CAUSAL = "counterfactual flip rate on generated inputs"
GROUP = "demographic parity difference on generated inputs (largest − smallest)"
PEOPLE = "counterfactual flip rate of the people of the table"
ALL, DRAWN = "all combinations of values", "generated inputs, drawn feature by feature"


@dataclass(frozen=True)
class _Question:
    """Features to vary together, and whose effect that shows."""

    names: tuple[str, ...]
    sensitive_features: str
    n_values: int
    is_proxy: bool = False


def run(task: Task, *, min_score: float = 0.05) -> Iterator[Finding]:
    """Measure how often sensitive columns alone change the model's decisions.

    For each sensitive column that the model gets, and for all of them together, there are three findings. The
    counterfactual flip rate on generated inputs is the share of inputs whose decision some other values of the columns
    change (the paper's causal score, definition 3.7). The demographic parity difference on generated inputs is the
    largest minus the smallest selection rate among those values (its group score, definition 3.6). Inputs are generated
    feature by feature: each value of the schema is as likely as every other, and a number in bins is drawn from the
    table's values in a bin (`fairlab.auditing.varied.over_inputs`). Since such inputs are often unlike people, the
    third finding varies the columns of each person of the table. With three columns or more, sets in between are
    examined, too, small ones first: but not those that contain a set with a flip rate above `min_score`, since theirs
    is no lower (theorem 4.1), and none if the flip rate of all columns together is below it.

    Intervals are exact for numbers of inputs that are fixed beforehand from the budget (Clopper and Pearson). They are
    points where no feature is in bins and all combinations of values are examined. Those about people hold for the
    table and for the population it is a sample of. The p-value of a flip rate is 0 with the first change and 1 without:
    a deterministic model that changes one decision has a flip rate above 0, however small. The interval says how large
    it is. The p-value of a difference is that of an exact test, see `fairlab.auditing.varied.Varied.group`.

    The evidence is pairs of inputs that differ in the columns and in the decision.
    """
    check_number(min_score, "min_score", above=0, below=1)
    case, proxies = task.case, _checked(task.case, task.proxies)
    try:
        _ = case.schema
    except CaseError as error:
        task.skip(f"Themis varies inputs within a schema, and there is none: {error}.")
        return
    if task.proxies is True:
        proxies = {name: proxies_of(case, name, random_state=task.random_state) for name in case.unseen}
    questions = _questions(task, proxies)
    found = _Run(task, 1 - task.confidence_level)
    found.answer(questions, min_score)
    yield from found.findings


PROBE = Probe(
    title="Themis",
    description="Themis measures its causal and group scores on inputs that are generated feature by feature, and the "
    "causal score on the people of the table, too; numbers of inputs are fixed by the budget and intervals are exact, "
    "where the paper samples until a normal interval is narrow enough.",
    run=run,
    order=4,
    share=2,
    needs=("decisions", "determinism"),
)


def _checked(case: Case, proxies) -> dict[str, tuple[str, ...]]:
    if isinstance(proxies, bool):
        return {}
    if not isinstance(proxies, Mapping):
        raise ValueError(f"proxies: expected features by sensitive column, or True, found {proxies!r}")
    found = {name: (names,) if isinstance(names, str) else tuple(names) for name, names in proxies.items()}
    for name, names in found.items():
        if name not in case.sensitive_features:
            raise ValueError(
                f"proxies: expected sensitive columns, {', '.join(case.sensitive_features)}, found {name!r}"
            )
        for feature in names:
            if feature not in case.features:
                raise ValueError(f"proxies: expected features of the model, found {feature!r} for {name}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"proxies: expected features, each once, for {name}, found {list(names)}")
    return found


def _questions(task: Task, proxies: dict) -> list[_Question]:
    """Return what can be assessed: each sensitive column that the model gets, all of them together, and proxies."""
    case = task.case
    sizes = dict(zip(case.schema.names, case.schema.sizes, strict=True))

    def question(names, sensitive_features: str, is_proxy: bool = False) -> _Question:
        return _Question(tuple(names), sensitive_features, prod(sizes[name] for name in names), is_proxy)

    varied = {name: [feature for feature in proxies.get(name, ()) if sizes[feature] > 1] for name in proxies}
    varied = {name: varied[name] for name in case.sensitive_features if varied.get(name)}
    advice = "no feature predicts it well" if task.proxies is True else "proxies= varies features that predict it"
    seen = task.variable(besides=varied, advice=f"; {advice}")
    questions = [question([name], name) for name in seen]
    questions += [question(seen, listed(seen))] if len(seen) > 1 else []
    through = {name: f"{name} (through {listed(features)})" for name, features in varied.items()}
    return [*questions, *(question(features, through[name], is_proxy=True) for name, features in varied.items())]


@dataclass(frozen=True)
class _Run:
    """Answers to questions within a budget."""

    task: Task
    alpha: float
    findings: list[Finding] = field(default_factory=list)

    def answer(self, questions: list[_Question], min_score: float) -> None:
        """Find what there is to say to each question, and to sets between one column and all."""
        singles = [question for question in questions if len(question.names) == 1 and not question.is_proxy]
        weights = [np.sqrt(question.n_values) for question in questions]
        between = max(weights[: len(singles)]) if len(singles) > 2 else 0.0
        total, scores = sum(weights) + between, {}
        for question, weight in zip(questions, weights, strict=True):
            scores[question.names] = self._ask(question, int(self.task.budget * weight / total))
        if between and scores[tuple(question.names[0] for question in singles)][1] >= min_score:
            found = {names for names, (low, _) in scores.items() if low >= min_score}
            self._search(singles, found, min_score, int(self.task.budget * between / total))

    def _search(self, singles: list[_Question], found: set, min_score: float, rows: int) -> None:
        """Look at sets of some columns that contain no set with a score of at least `min_score`."""
        sizes = {question.names[0]: question.n_values for question in singles}
        for size in range(2, len(sizes)):
            sets = [names for names in combinations(sizes, size) if not any(set(f) <= set(names) for f in found)]
            for number, names in enumerate(sets):
                share = rows // (len(sets) - number + (size + 1 < len(sizes)))
                rows -= share
                low, _ = self._ask(_Question(names, listed(names), prod(sizes[name] for name in names)), share)
                found |= {names} if low >= min_score else set()

    def _ask(self, question: _Question, rows: int) -> tuple[float, float]:
        """Add the findings of a question, on at most so many rows; return how low and high a causal score can be."""
        case, n_values = self.task.case, question.n_values
        n_people = min(rows // 2 // (n_values + 1), ENOUGH, len(case.table))
        n_inputs = min((rows - n_people * (n_values + 1)) // n_values, ENOUGH)
        if n_people < min(FEWEST, len(case.table)) or n_inputs < min(FEWEST, case.schema.n_inputs // n_values):
            advice = "a larger budget, or fewer bins in the schema, would do"
            self.task.skip(
                f"{question.sensitive_features}: {n_values:,} combinations of values on {FEWEST} inputs and people "
                f"are more than {rows:,} rows, its part of the budget; {advice}."
            )
            return 0.0, 1.0
        try:
            inputs = over_inputs(case, question.names, n_inputs, self._rng("inputs", question))
            people = over_people(case, question.names, self._people(n_people, question))
        except CaseError as error:
            self.task.skip(f"{question.sensitive_features}: the model cannot be queried with other values; {error}.")
            return 0.0, 1.0
        where = ALL if inputs.is_exact else DRAWN
        of_inputs, of_people = inputs.causal(self.alpha), people.causal(self.alpha)
        *group, p_value = inputs.group(self.alpha, self._rng("group", question))
        p_of_inputs, p_of_people = (float(not varied.hits.any()) for varied in (inputs, people))
        self._add(question, CAUSAL, where, len(inputs.rows), of_inputs, p_of_inputs, inputs.pairs())
        self._add(question, GROUP, where, len(inputs.rows), group, p_value, inputs.extreme_pairs())
        self._add(question, PEOPLE, "everyone", n_people, of_people, p_of_people, people.pairs())
        return max(of_inputs[1], of_people[1]), max(of_inputs[2], of_people[2])

    def _people(self, n: int, question: _Question) -> np.ndarray:
        """Return the places of so many people of the table, drawn without replacement, in order."""
        n_there = len(self.task.case.table)
        return np.sort(self._rng("people", question).choice(n_there, n, replace=False)) if n < n_there else np.arange(n)

    def _add(self, question, effect, where, n, numbers, p_value, evidence) -> None:
        names, sentence = question.sensitive_features, _sentence(question.sensitive_features, effect, where, numbers[0])
        self.findings.append(Finding(METHOD, names, where, effect, *numbers, p_value, evidence, n, sentence))

    def _rng(self, stream: str, question: _Question) -> np.random.Generator:
        return np.random.default_rng(derive_seed("themis examination", self.task.random_state, stream, *question.names))


def _sentence(sensitive_features: str, effect: str, where: str, estimate: float) -> str:
    """Return what an estimate says, in plain words."""
    if effect == GROUP:
        points = f"{100 * estimate:.1f} percentage points"
        return f"Among {where}, the selection rates of two values of {sensitive_features} differ by {points}"
    whom = "the people of the table" if effect == PEOPLE else where
    return f"A change of {sensitive_features} and of nothing else changes the decision for {estimate:.1%} of {whom}"
