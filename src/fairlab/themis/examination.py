"""What Themis finds about a case: how often sensitive columns alone change the decision, and whom they favour."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from fairlab.cases.case import Case, check_examination
from fairlab.cases.finding import Examination, Finding
from fairlab.cases.schema import CaseError
from fairlab.checks import check_number
from fairlab.seeds import derive_seed
from fairlab.themis.varied import Varied, over_inputs, over_people, proxies_of

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


def examine(
    case: Case,
    *,
    budget: int,
    confidence: float = 0.95,
    random_state: int = 0,
    proxies: Mapping[str, Iterable[str]] | bool = False,
    threshold: float = 0.05,
) -> Examination:
    """Return how often sensitive columns alone change the model's decisions.

    For each sensitive column that the model gets, and for all of them together, there are three findings. The
    counterfactual flip rate on generated inputs is the share of inputs whose decision some other values of the columns
    change (the paper's causal score, definition 3.7). The demographic parity difference on generated inputs is the
    largest less the smallest selection rate among those values (its group score, definition 3.6). Inputs are generated
    feature by feature: each value of the schema is as likely as every other, and a number in bins is drawn from the
    table's values in a bin (`fairlab.themis.varied.over_inputs`). Since such inputs are often unlike people, the third
    finding varies the columns of each person of the table. With three columns or more, sets in between are examined,
    too, small ones first: but not those that contain a set with a flip rate above the threshold, since theirs is no
    lower (theorem 4.1), and none if the flip rate of all columns together is below it.

    Intervals are exact for numbers of inputs that are fixed beforehand from the budget (Clopper and Pearson). They are
    points where no feature is in bins and all combinations of values are examined. Those about people hold for the
    table and for the population it is a sample of. The p-value of a flip rate is 0 with the first change and 1 without:
    a deterministic model that changes one decision has a flip rate above 0, however small. The interval says how large
    it is. The p-value of a difference is that of an exact test, see `fairlab.themis.varied.Varied.group`.

    Parameters
    ----------
    case : Case
    budget : int
        Rows that the model may be asked at most.
    confidence : float
        Of each interval, between 0 and 1.
    random_state : int
    proxies : mapping of str to iterable of str, or bool
        By sensitive column, features that stand for it and are varied in its place; True takes, for columns that the
        model does not get, the features that tell most about them (`fairlab.themis.varied.proxies_of`).
    threshold : float
        Flip rate from which on larger sets are not examined, between 0 and 1.

    Returns
    -------
    Examination
        Evidence are pairs of inputs that differ in the columns and in the decision.

    Raises
    ------
    ValueError
        If the budget, the confidence or the threshold is out of range, or `proxies` names what is not sensitive or no
        feature.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.themis import examine
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> [finding.p_value < 0.05 for finding in examine(case, budget=1_000).findings][0]
    True
    """
    budget, random_state = check_examination(case, budget=budget, confidence=confidence, random_state=random_state)
    check_number(threshold, "threshold", above=0, below=1)
    given = _checked(case, proxies)
    start, before = time.perf_counter(), case.queries.asked
    findings, not_examined = [], []
    if reason := _unsuitable(case):
        not_examined.append(reason)
    else:
        chosen = given or {name: proxies_of(case, name, random_state=random_state) for name in case.unseen if proxies}
        questions, not_examined = _questions(case, chosen)
        with case.queries.limit(budget):
            _Run(case, budget, 1 - confidence, random_state, findings, not_examined).answer(questions, threshold)
    seconds = time.perf_counter() - start
    return Examination(METHOD, tuple(findings), tuple(not_examined), case.queries.asked - before, seconds)


def _unsuitable(case: Case) -> str | None:
    if case.task == "numbers":
        return "Themis compares decisions, and the model gives numbers: hand the case a threshold."
    if not case.queries.is_deterministic:
        return (
            "Themis compares two single answers, and the model answers the same row differently when asked again: "
            "its own noise would count as discrimination."
        )
    try:
        _ = case.schema
    except CaseError as error:
        return f"Themis varies inputs within a schema, and there is none: {error}."
    return None


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


def _questions(case: Case, proxies: dict) -> tuple[list[_Question], list[str]]:
    """Return what can be asked, the sensitive columns that the model gets first, and why the rest cannot."""
    sizes, reasons = dict(zip(case.schema.names, case.schema.sizes, strict=True)), []

    def question(names, sensitive_features: str, is_proxy: bool = False) -> _Question:
        return _Question(tuple(names), sensitive_features, prod(sizes[name] for name in names), is_proxy)

    got = [name for name in case.sensitive_features if name not in case.unseen]
    seen = [name for name in got if sizes[name] > 1]
    reasons += [f"{name}: the schema gives it one value only." for name in got if name not in seen]
    questions = [question([name], name) for name in seen]
    questions += [question(seen, _words(seen))] if len(seen) > 1 else []
    for name in case.sensitive_features:
        if varied := [feature for feature in proxies.get(name, ()) if sizes[feature] > 1]:
            questions.append(question(varied, f"{name} (through {_words(varied)})", is_proxy=True))
        elif name in case.unseen:
            why = "no feature tells enough about it to be varied instead"
            why = why if name in proxies else "proxies= varies features that predict it"
            reasons.append(f"{name}: the model does not get it, so that a direct effect is 0 by construction; {why}.")
    return questions, reasons


@dataclass(frozen=True)
class _Run:
    """Answers to questions within a budget."""

    case: Case
    budget: int
    alpha: float
    random_state: int
    findings: list[Finding]
    not_examined: list[str]

    def answer(self, questions: list[_Question], threshold: float) -> None:
        """Find what there is to say to each question, and to sets between one column and all."""
        singles = [question for question in questions if len(question.names) == 1 and not question.is_proxy]
        weights = [np.sqrt(question.n_values) for question in questions]
        between = max(weights[: len(singles)]) if len(singles) > 2 else 0.0
        total, scores = sum(weights) + between, {}
        for question, weight in zip(questions, weights, strict=True):
            scores[question.names] = self._ask(question, int(self.budget * weight / total))
        if between and scores[tuple(question.names[0] for question in singles)][1] >= threshold:
            found = {names for names, (low, _) in scores.items() if low >= threshold}
            self._search(singles, found, threshold, int(self.budget * between / total))

    def _search(self, singles: list[_Question], found: set, threshold: float, rows: int) -> None:
        """Look at sets of some columns that contain no set with a score above the threshold."""
        sizes = {question.names[0]: question.n_values for question in singles}
        for size in range(2, len(sizes)):
            sets = [names for names in combinations(sizes, size) if not any(set(f) <= set(names) for f in found)]
            for number, names in enumerate(sets):
                share = rows // (len(sets) - number + (size + 1 < len(sizes)))
                rows -= share
                low, _ = self._ask(_Question(names, _words(names), prod(sizes[name] for name in names)), share)
                found |= {names} if low >= threshold else set()

    def _ask(self, question: _Question, rows: int) -> tuple[float, float]:
        """Add the findings of a question, on at most so many rows; return how low and high a causal score can be."""
        case, n_values = self.case, question.n_values
        n_people = min(rows // 2 // (n_values + 1), ENOUGH, len(case.table))
        n_inputs = min((rows - n_people * (n_values + 1)) // n_values, ENOUGH)
        if n_people < min(FEWEST, len(case.table)) or n_inputs < min(FEWEST, case.schema.n_inputs // n_values):
            advice = "a larger budget, or fewer bins in the schema, would do"
            self.not_examined.append(
                f"{question.sensitive_features}: {n_values:,} combinations of values on {FEWEST} inputs and people "
                f"are more than {rows:,} rows, its part of the budget; {advice}."
            )
            return 0.0, 1.0
        try:
            inputs = over_inputs(case, question.names, n_inputs, self._rng("inputs", question))
            people = over_people(case, question.names, n_people, self._rng("people", question))
        except CaseError as error:
            self.not_examined.append(
                f"{question.sensitive_features}: the model cannot be asked about other values; {error}."
            )
            return 0.0, 1.0
        where = ALL if inputs.is_exact else DRAWN
        self._add(question, CAUSAL, where, inputs, inputs.causal(self.alpha), inputs.pairs())
        *group, p_value = inputs.group(self.alpha, self._rng("group", question))
        self._add(question, GROUP, where, inputs, group, inputs.extreme_pairs(), p_value)
        self._add(question, PEOPLE, "everyone", people, people.causal(self.alpha), people.pairs())
        return tuple(
            max(ends) for ends in zip(inputs.causal(self.alpha)[1:], people.causal(self.alpha)[1:], strict=True)
        )

    def _add(self, question, effect, where, varied: Varied, numbers, evidence, p_value=None) -> None:
        if p_value is None:
            p_value = 0.0 if varied.hits.any() else 1.0
        counts, sentence = len(varied.rows), _sentence(question.sensitive_features, effect, where, numbers[0])
        self.findings.append(
            Finding(METHOD, question.sensitive_features, where, effect, *numbers, p_value, evidence, counts, sentence)
        )

    def _rng(self, stream: str, question: _Question) -> np.random.Generator:
        return np.random.default_rng(derive_seed("themis examination", self.random_state, stream, *question.names))


def _sentence(sensitive_features: str, effect: str, where: str, estimate: float) -> str:
    """Return what an estimate says, in plain words."""
    if effect == GROUP:
        points = f"{100 * estimate:.1f} percentage points"
        return f"Among {where}, some {sensitive_features} is favoured {points} more often than another"
    whom = "the people of the table" if effect == PEOPLE else where
    return f"A change of {sensitive_features} and of nothing else changes the decision for {estimate:.1%} of {whom}"


def _words(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
