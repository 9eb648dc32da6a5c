"""Themis on a case: how often sensitive columns alone change the decision, and which groups they favour."""

from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd

from fairlab.cases import CaseError, Finding
from fairlab.cases.finding import beside, decimals, listed, percent
from fairlab.cases.groups import group_codes, losers_in_words, who_loses
from fairlab.cases.method import Examination
from fairlab.seeds import derive_seed
from fairlab.statistics import share_bounds, share_p_value, smallest_share
from fairlab.themis.draws import INPUTS, Comparison, from_people, from_table
from fairlab.themis.estimation import (
    EFFECTS,
    extreme_values,
    paired_bounds,
    paired_p_value,
    paired_spread,
    score_finding,
)
from fairlab.themis.noisy import QUERIES_EACH, RepeatedPairs
from fairlab.themis.proxies import check_proxies, proxies_of

MIN_ROWS = 20  # inputs or people that a score needs
MAX_INPUTS = 10_000  # inputs: within about 0.01 at 95%
PEOPLE_SHARE = 0.75  # of a question's rows, to vary people of the table
MOST_PAIRS = 50  # in the evidence of a finding


@dataclass(frozen=True)
class _Question:
    """Features to vary together, and the sensitive features whose effect this shows."""

    names: tuple[str, ...]
    sensitive_features: tuple[str, ...]
    n_values: int
    through: tuple[str, ...] = ()

    @property
    def who(self) -> str:
        return listed(self.sensitive_features) + (f" (through {listed(self.through)})" if self.through else "")


def case_findings(
    examination: Examination, *, proxies, min_score: float, confidence_level: float, random_state: int
) -> list[Finding]:
    """Return flip rates and differences for all features of a case that can be varied, and for sets of them.

    Parameters
    ----------
    examination : Examination
    proxies, min_score, confidence_level, random_state
        As in `fairlab.themis.Themis`.
    """
    case, varied = examination.case, check_proxies(examination.case, proxies)
    try:
        _ = case.schema
    except CaseError as error:
        examination.skip(f"Themis varies inputs within a schema, and there is none: {error}.")
        return []
    if proxies is True:
        varied = {name: proxies_of(case, name, random_state=random_state) for name in case.unseen}
    questions = _questions(examination, varied, looks_for_proxies=proxies is True)
    found = _Run(examination, confidence_level, random_state)
    if case.queries.is_deterministic:
        found.answer(questions, min_score)
    else:
        found.query_repeatedly(questions)
    return found.findings


def changed_pairs(drawn: Comparison, values: pd.DataFrame, *, generated: bool) -> pd.DataFrame:
    """Return the first rows whose decision changes with other values, each beside the first such values.

    The decision is the one on the row, unfavourable ones first; with the other values it is the opposite.

    Parameters
    ----------
    drawn : Comparison
    values : DataFrame of shape (n_values, n_names)
        See `fairlab.cases.Case.values`.
    generated : bool
        Whether the rows are generated.
    """
    changed = np.flatnonzero(drawn.changed)
    shown = drawn.take(changed[np.argsort(drawn.own[changed], kind="stable")][:MOST_PAIRS])
    return beside(shown.inputs, values.iloc[shown.partner], shown.own, generated=generated)


def favoured_pairs(drawn: Comparison, values: pd.DataFrame) -> pd.DataFrame:
    """Return generated rows where the values with the highest rate are favoured and those with the lowest are not.

    Parameters
    ----------
    drawn : Comparison
    values : DataFrame of shape (n_values, n_names)
        See `fairlab.cases.Case.values`.
    """
    first, second = extreme_values(drawn.decisions)
    shown = np.flatnonzero(drawn.decisions[:, first] & ~drawn.decisions[:, second])[:MOST_PAIRS]
    own, other = (values.iloc[[number] * len(shown)] for number in (first, second))
    rows = drawn.inputs.iloc[shown].assign(**{name: column.array for name, column in own.items()})
    return beside(rows, other, True, generated=True)


def _questions(examination: Examination, proxies: dict, *, looks_for_proxies: bool) -> list[_Question]:
    """Return the questions: each sensitive column that the model gets, all of them together, and proxies."""
    case = examination.case
    sizes = dict(zip(case.schema.names, case.schema.sizes, strict=True))

    def question(names, sensitive_features, through=()) -> _Question:
        n_values = prod(sizes[name] for name in names)
        return _Question(tuple(names), tuple(sensitive_features), n_values, tuple(through))

    varied = {name: [feature for feature in proxies.get(name, ()) if sizes[feature] > 1] for name in proxies}
    varied = {name: varied[name] for name in case.sensitive_features if varied.get(name)}
    advice = "no feature predicts it well" if looks_for_proxies else "proxies= varies features that predict it"
    seen = examination.variable(besides=varied, advice=f"; {advice}")
    questions = [question([name], [name]) for name in seen]
    questions += [question(seen, seen)] if len(seen) > 1 else []
    return [*questions, *(question(features, [name], features) for name, features in varied.items())]


@dataclass(frozen=True)
class _Run:
    """Answers to questions within a budget."""

    examination: Examination
    confidence_level: float
    random_state: int
    findings: list[Finding] = field(default_factory=list)

    def answer(self, questions: list[_Question], min_score: float) -> None:
        """Measure each question, and the sets of more than one column but not all."""
        singles = [question for question in questions if len(question.names) == 1 and not question.through]
        weights = [np.sqrt(question.n_values) for question in questions]
        between = max(weights[: len(singles)]) if len(singles) > 2 else 0.0
        total, scores = sum(weights) + between, {}
        n_people = self._people_by_question(
            questions, PEOPLE_SHARE * self.examination.budget * sum(weights) / max(total, 1)
        )
        rest = self.examination.budget - sum(
            n * self._cost(question) for question, n in zip(questions, n_people, strict=True)
        )
        for question, weight, n in zip(questions, weights, n_people, strict=True):
            scores[question.names] = self._measure(question, n, int(rest * weight / total))
        if between and scores[tuple(question.names[0] for question in singles)][1] >= min_score:
            found = {names for names, (low, _) in scores.items() if low >= min_score}
            self._search(singles, found, min_score, int(rest * between / total))

    def query_repeatedly(self, questions: list[_Question]) -> None:
        """Add the flip rates beyond noise of a model that is not deterministic, each with the same number of people."""
        case = self.examination.case
        n_people = min(len(case.table), self.examination.budget // (QUERIES_EACH * max(1, len(questions))))
        for question in questions:
            if n_people < min(MIN_ROWS, len(case.table)):
                reason = f"{n_people} people are too few; a larger budget would do"
                self.examination.stop(f"{question.who}: {reason}.", *question.sensitive_features)
                continue
            rng = self._rng("repeated", question)
            people = np.sort(rng.choice(len(case.table), n_people, replace=False))
            pairs = RepeatedPairs(case, question.names, people, rng, 1 - self.confidence_level)
            by_group = self._by_group(question, people, pairs.hits, pairs.own)
            names = question.who
            sentence = (
                f"Another value of {names}, and nothing else, changes the decision for {percent(pairs.estimate)} of "
                f"the people beyond the model's own noise ({n_people:,} of {len(case.table):,} were queried, twice "
                "as they are and twice with another value)"
            )
            direction = losers_in_words(by_group, f"their {names}") if pairs.low > 0 else ""
            self._add(
                question,
                "causal",
                (pairs.estimate, pairs.low, pairs.high, pairs.p_value()),
                pairs.evidence(MOST_PAIRS),
                n_people,
                effect=f"{EFFECTS['causal']} beyond noise",
                population="people",
                sentence=f"{sentence}: {direction}" if direction else sentence,
                test=pairs.p_value,
                smallest=pairs.smallest,
                bounds=pairs.bounds,
                by_group=by_group,
            )

    def _cost(self, question: _Question) -> int:
        """Return the number of rows per person: the decision on the own values is known, unless a feature is binned."""
        schema = self.examination.case.schema
        in_bins = any(schema.features[place].edges is not None for place in schema.positions(question.names))
        return question.n_values - (not in_bins)

    def _people_by_question(self, questions: list[_Question], rows: float) -> list[int]:
        """Return the number of people for each question: everyone if the budget allows, cheapest questions first."""
        n_there, found = len(self.examination.case.table), {}
        for left, question in enumerate(sorted(questions, key=self._cost)):
            n = min(n_there, int(rows / (len(questions) - left) / self._cost(question)))
            found[question] = n
            rows -= n * self._cost(question)
        return [found[question] for question in questions]

    def _search(self, singles: list[_Question], found: set, min_score: float, rows: int) -> None:
        """Measure sets of some columns that contain no set with a score of at least `min_score`."""
        sizes = {question.names[0]: question.n_values for question in singles}
        for size in range(2, len(sizes)):
            sets = [names for names in combinations(sizes, size) if not any(set(f) <= set(names) for f in found)]
            for number, names in enumerate(sets):
                share = rows // (len(sets) - number + (size + 1 < len(sizes)))
                rows -= share
                question = _Question(names, names, prod(sizes[name] for name in names))
                n_people = min(int(PEOPLE_SHARE * share) // self._cost(question), len(self.examination.case.table))
                low, _ = self._measure(question, n_people, share - n_people * self._cost(question))
                found |= {names} if low >= min_score else set()

    def _measure(self, question: _Question, n_people: int, rows: int) -> tuple[float, float]:
        """Add the findings of a question on `n_people` people, and on generated inputs of at most `rows` rows.

        Return the larger of the lower bounds of the causal scores, and the larger of the upper bounds.
        """
        case, n_values = self.examination.case, question.n_values
        n_there = len(case.table)
        n_inputs = min(rows // n_values, MAX_INPUTS)
        if n_people < min(MIN_ROWS, n_there) or n_inputs < MIN_ROWS:
            advice = "a larger budget, or fewer bins in the schema, would do"
            is_one = len(question.sensitive_features) == 1  # sets of several features are an extra
            (self.examination.stop if is_one else self.examination.skip)(
                f"{question.who}: {n_values:,} combinations of values on {MIN_ROWS} inputs and people "
                f"are more than its part of the budget, {rows + n_people * self._cost(question):,} rows; {advice}.",
                *question.sensitive_features,
            )
            return 0.0, 1.0
        chosen = np.arange(n_there)
        if n_people < n_there:
            chosen = np.sort(self._rng("people", question).choice(n_there, n_people, replace=False))
        try:
            people = from_people(case, question.names, chosen)
            inputs = from_table(case, question.names, n_inputs, self._rng("inputs", question))
        except CaseError as error:
            said = f"{question.who}: the model cannot be queried with other values; {error}."
            self.examination.stop(said, *question.sensitive_features)
            return 0.0, 1.0
        sample = f", a random sample of the {n_there:,}" if n_people < n_there else ""
        of_people = f"of the people ({people.changed.sum():,} of {n_people:,}{sample})"
        ends = [
            self._add_flips(question, people, of_people, chosen),
            self._add_flips(question, inputs, f"of {n_inputs:,} {INPUTS}"),
        ]
        self._add_difference(question, inputs)
        return max(low for low, _ in ends), max(high for _, high in ends)

    def _add_flips(self, question: _Question, drawn: Comparison, of_whom: str, people=None) -> tuple[float, float]:
        """Add how often other values change the decision and, for people, which groups lose; return the interval."""
        names, n, is_generated = question.who, len(drawn.own), people is None
        n_hit = int(drawn.changed.sum())
        low, high = share_bounds(n_hit, n, confidence_level=self.confidence_level)
        sentence = (
            f"Another value of {names}, and nothing else, changes the decision for {percent(n_hit / n)} {of_whom}"
        )
        by_group = None
        if not is_generated:
            by_group = self._by_group(question, people, drawn.changed, drawn.own)
            direction = losers_in_words(by_group, f"their {names}")
            sentence += f": {direction}" if direction else ""
        values = self.examination.case.values(question.names)
        self._add(
            question,
            "causal",
            (n_hit / n, low, high, share_p_value(n_hit, n)),
            changed_pairs(drawn, values, generated=is_generated),
            n,
            sentence=sentence,
            population=INPUTS if is_generated else "people",
            test=partial(share_p_value, n_hit, n),
            smallest=partial(smallest_share, n),
            bounds=partial(share_bounds, n_hit, n),
            by_group=by_group,
        )
        return low, high

    def _add_difference(self, question: _Question, drawn: Comparison) -> None:
        """Add the largest difference in selection rates of two values, with rows that only one of them favours."""
        decisions, names = drawn.decisions, question.who
        estimate, low, high = paired_spread(decisions, 1 - self.confidence_level, self._rng("group", question))
        points = f"{decimals(100 * estimate)} percentage points"
        self._add(
            question,
            "group",
            (estimate, low, high, paired_p_value(decisions)),
            favoured_pairs(drawn, self.examination.case.values(question.names)),
            len(decisions),
            sentence=f"Among {INPUTS}, the selection rates of two values of {names} differ by {points}",
            test=partial(paired_p_value, decisions),
            bounds=partial(paired_bounds, decisions),
        )

    def _by_group(self, question: _Question, people, hits, own) -> pd.DataFrame:
        case = self.examination.case
        names = [name for name in case.sensitive_features if name in question.sensitive_features]
        codes, groups = group_codes(case, names)
        return who_loses(codes[people], groups, hits, own)

    def _add(self, question: _Question, measure: str, numbers, evidence, n, **more) -> None:
        more |= {"through": question.through}
        self.findings.append(score_finding(measure, question.sensitive_features, numbers, evidence, n, **more))

    def _rng(self, stream: str, question: _Question) -> np.random.Generator:
        return np.random.default_rng(derive_seed("themis examination", self.random_state, stream, *question.names))
