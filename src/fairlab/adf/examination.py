"""ADF and AEQUITAS on a case: how many inputs are discriminatory, by a fair sample; and which, by search.

A search finds far more discriminatory inputs than chance would, so that what it finds says nothing about how many there
are. The estimate comes from inputs drawn uniformly from the domain, or from the people of the table; the search brings
the evidence. One pair of inputs that differ in the sensitive attribute alone and have different decisions proves that
the attribute matters to a deterministic model, and without any the p-value is 1.

Attributes are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.discrimination import Fairness
from fairlab.adf.generation import ADF, cluster_labels, round_robin
from fairlab.adf.gradients import with_slopes
from fairlab.cases.case import check_examination
from fairlab.cases.finding import Examination, Finding
from fairlab.cases.queries import AnswerCache, BudgetSpentError
from fairlab.seeds import derive_seed


@dataclass(frozen=True, eq=False)
class Discriminatory:
    """Discriminatory inputs, one for each combination of the other attributes, with what changes their decision.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_features)
        Codes.
    other : ndarray of int of shape (n,)
        Code of the sensitive attribute that gets another decision.
    favourable : ndarray of bool of shape (n,)
        Decision on the input itself.
    """

    inputs: np.ndarray
    other: np.ndarray
    favourable: np.ndarray

    def __len__(self) -> int:
        return len(self.inputs)


class Answers:
    """A memory of a case's decisions and scores by codes.

    Parameters
    ----------
    case : Case
    most : int
        Rows that the model may be asked for; of a model that decides by labels, scores are rows of their own.
    """

    def __init__(self, case, most: int):
        self.case, self.most = case, most
        self.sizes = case.schema.sizes
        self.domain = case.schema.of_codes
        self._before = case.queries.asked
        self._shift = (
            0.0 if case.decision_threshold is None or case.unit == "score" else float(logit(case.decision_threshold))
        )
        self._decisions, self._leads = AnswerCache(), AnswerCache()

    def __len__(self) -> int:
        """Return the number of inputs whose decision was asked."""
        return len(self._decisions)

    @property
    def left(self) -> int:
        """Rows that may still be asked."""
        return self.most - (self.case.queries.asked - self._before)

    def check(self, n_rows: int) -> None:
        """Raise a BudgetSpentError if fewer rows are left."""
        if n_rows > self.left:
            raise BudgetSpentError(f"{n_rows:,} rows would be asked, {self.left:,} are left")

    def favourable(self, codes) -> np.ndarray:
        """Return whether the decision on each input is the favourable one.

        Raises
        ------
        BudgetSpentError
            If that takes more rows than are left; none is asked then.
        """
        return self._cached(self._decisions, self._decide, codes).astype(bool)

    def lead(self, codes) -> np.ndarray:
        """Return log odds of the favourable decision, or the excess of a score over its threshold; as `favourable`.

        Where a threshold decides, the decisions are then known, too.
        """
        lead = self._cached(self._leads, self._score, codes)
        if self.case.decision_threshold is not None:
            self.favourable(codes)
        return lead

    def pairs(self, column: int) -> Discriminatory:
        """Return the discriminatory among all inputs asked: two differ in this attribute and decision alone."""
        codes = self.domain.codes_of_keys(self._decisions.keys)
        favourable = self._decisions.values.astype(bool)
        others = pd.DataFrame(np.delete(codes, column, axis=1)).assign(every=0)
        group = others.groupby(list(others), sort=False).ngroup()
        first = pd.DataFrame({"group": group, "favourable": favourable}).drop_duplicates()
        first = first.sort_values("group", kind="stable")
        own = first.index[first["group"].duplicated(keep="last")].to_numpy(dtype=int)
        other = first.index[first["group"].duplicated(keep="first")].to_numpy(dtype=int)
        return Discriminatory(codes[own], codes[other, column], favourable[own])

    def _cached(self, known: AnswerCache, ask, codes) -> np.ndarray:
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        return known(self.domain.keys(codes), lambda new: ask(codes[new]))[0]

    def _decide(self, codes) -> np.ndarray:
        if self.case.decision_threshold is None or not self.case.has_scores:
            self.check(len(codes))
            return self.case.decide(self.case.schema.decode(codes))
        self._cached(self._leads, self._score, codes)  # counted there
        return self.case.decide(self.case.schema.decode(codes))

    def _score(self, codes) -> np.ndarray:
        self.check(len(codes))
        return self.case.log_odds(self.case.schema.decode(codes)) - self._shift


SAMPLE, PEOPLE = 0.3, 0.3  # of the budget of a sensitive attribute; what is left is for the search
N_CLUSTERS, MAX_ITER = 4, 10  # as in the paper
MOST_CLUSTERED = 10_000  # people among whom clusters are looked for
MOST_ROWS = 1000  # of evidence
FEWEST = 20  # inputs or people that a share may rest on
MOST_STEPS = 1000  # of a walk
MOST_WALKS = 128  # at a time
REFRESH = 25  # steps of ADF's walks by differences
NEAREST = 0.1  # of what a search may ask, for how near its seeds are to the threshold
FLIGHT = 0.1  # of what a search may ask, for one step of its walks


@dataclass(frozen=True, repr=False)
class DiscriminatoryInputs(Finding):
    """A finding of ADF or AEQUITAS: the share in a fair sample, and what the search found.

    Attributes
    ----------
    n_found : int
        Distinct discriminatory inputs that were found, however they differ in the sensitive attribute.
    n_asked : int
        Rows that were asked for it, those of the sample among them.
    found_per_1000 : float
        Distinct discriminatory inputs per 1,000 rows that the search asked; nan without a search.
    random_per_1000 : float
        The same of the sample.
    """

    n_found: int = 0
    n_asked: int = 0
    found_per_1000: float = np.nan
    random_per_1000: float = np.nan

    @property
    def summary(self) -> str:
        """Who, where, the share with its interval, and what was found."""
        search = f", {self.found_per_1000:.3g} by search" if np.isfinite(self.found_per_1000) else ""
        rates = f"per 1,000 rows {self.random_per_1000:.3g} at random{search}"
        return f"{super().summary}; {self.n_found:,} found ({rates})"


def examine(case, *, budget: int, confidence: float = 0.95, random_state: int = 0) -> Examination:
    """Examine a case by ADF and AEQUITAS; see `examine_adf` and `examine_aequitas`, which get half of the budget each.

    Parameters
    ----------
    case : Case
    budget : int
        Most rows to ask the model for.
    confidence : float
    random_state : int

    Returns
    -------
    Examination
        With the findings of both.
    """
    budget, random_state = check_examination(case, budget=budget, confidence=confidence, random_state=random_state)
    options = {"confidence": confidence, "random_state": random_state}
    adf = examine_adf(case, budget=budget - budget // 2, **options)
    aequitas = examine_aequitas(case, budget=budget // 2, **options)
    return Examination(
        "ADF and AEQUITAS",
        (*adf.findings, *aequitas.findings),
        tuple(dict.fromkeys((*adf.not_examined, *aequitas.not_examined))),
        adf.n_queries + aequitas.n_queries,
        adf.seconds + aequitas.seconds,
    )


def examine_adf(case, *, budget: int, confidence: float = 0.95, random_state: int = 0) -> Examination:
    """Return whose decision another value of a sensitive attribute changes, by the search of Zhang et al. (2020).

    For every sensitive attribute that the model gets: the share of the people of the table; the share of inputs drawn
    uniformly, of a number in bins the medians, with the inputs that ADF finds from people of all clusters. Gradients
    are those of the score, by differences between neighbours, each of which is checked for discrimination, too.

    Parameters
    ----------
    case : Case
        Without scores, only the people are asked.
    budget : int
        Most rows to ask the model for, divided evenly over the sensitive attributes.
    confidence : float
        Of the intervals (Clopper and Pearson's, so that they cover at least so often).
    random_state : int

    Returns
    -------
    Examination
    """
    return _Examiner(case, "ADF", budget, confidence, random_state).examine(_by_adf)


def examine_aequitas(case, *, budget: int, confidence: float = 0.95, random_state: int = 0) -> Examination:
    """Return which inputs another value of a sensitive attribute changes, by the search of Udeshi et al. (2018).

    For every sensitive attribute that the model gets: the share of inputs drawn uniformly, of a number in bins the
    medians, with the inputs that walks from those find. Decisions are all that it asks for.

    Parameters
    ----------
    case, budget, confidence, random_state
        As for `examine_adf`.

    Returns
    -------
    Examination
    """
    return _Examiner(case, "AEQUITAS", budget, confidence, random_state).examine(_by_aequitas)


class _Examiner:
    """What the examinations share: the case, what it cannot be asked, the sample of random inputs, the people."""

    def __init__(self, case, method, budget, confidence, random_state):
        budget, random_state = check_examination(case, budget=budget, confidence=confidence, random_state=random_state)
        self.case, self.method, self.budget = case, method, budget
        self.confidence, self.random_state = confidence, random_state

    def examine(self, method) -> Examination:
        """Return the findings of a method, which gives those of one sensitive attribute, and what was not examined."""
        started, asked = time.perf_counter(), self.case.queries.asked
        names, reasons = self._examined()
        findings = []
        for name in names:
            more, reason = method(self, name, self.budget // len(names))
            findings += more
            reasons += reason
        n_queries, seconds = self.case.queries.asked - asked, time.perf_counter() - started
        return Examination(self.method, tuple(findings), tuple(reasons), n_queries, seconds)

    def rng(self, name: str, stream: str) -> np.random.Generator:
        """Return a generator; both methods draw the same sample, which the case answers from memory the second time."""
        return np.random.default_rng(derive_seed(self.random_state, "adf", name, stream, bits=128))

    def _examined(self) -> tuple[list[str], list[str]]:
        """Return the sensitive attributes that can be varied, and why the others cannot."""
        case, reasons = self.case, []
        if case.task == "numbers":
            return [], ["The model gives numbers, not decisions; a threshold would make decisions of them."]
        if not case.queries.is_deterministic:
            return [], [
                "The model answers the same row differently when asked twice, so that two answers prove nothing."
            ]
        for name in case.unseen:
            reasons.append(f"{name}: the model does not get it, so that its direct effect is 0 by construction.")
        names = []
        for name in case.sensitive_features:
            if name in case.unseen:
                continue
            n_values = case.schema.sizes[case.schema.names.index(name)]
            if n_values < 2:
                reasons.append(f"{name}: has only one value, so that there is nothing to vary.")
            else:
                names.append(name)
        return names, reasons

    def sample(self, answers: Answers, name: str, most: int) -> "_Sample | None":
        """Return random inputs with their decisions for all values, the whole domain if it is small; None if too dear.

        Parameters
        ----------
        most : int
            Rows that may be asked.
        """
        domain, column = answers.domain, answers.domain.names.index(name)
        n_values, n_groups = answers.sizes[column], domain.n_inputs // answers.sizes[column]
        n = min(most // n_values, n_groups)
        if n < min(FEWEST, n_groups):
            return None
        if n == n_groups:
            free = [position for position in range(len(answers.sizes)) if position != column]
            codes = np.zeros((n, len(answers.sizes)), dtype=np.int64)
            codes[:, free] = domain.assignments(free) if free else 0
        else:
            codes = domain.sample(n, random_state=self.rng(name, "sample"))
        every = np.repeat(codes[:, None, :], n_values, axis=1)
        every[:, :, column] = np.arange(n_values)
        favourable = answers.favourable(every.reshape(-1, codes.shape[1])).reshape(n, n_values)
        hit = favourable.any(axis=1) & ~favourable.all(axis=1)
        return _Sample(codes, hit, exact=n == n_groups, n_asked=len(answers), left=answers.left)

    def finding(self, answers: Answers, name: str, sample: "_Sample") -> DiscriminatoryInputs:
        """Return the share in a sample, with the pairs among everything that was asked."""
        column = answers.domain.names.index(name)
        pairs = answers.pairs(column)
        n_found, n_sampled = len(pairs), len(np.unique(np.delete(sample.codes[sample.hit], column, axis=1), axis=0))
        estimate, low, high = self._share(int(sample.hit.sum()), len(sample.hit))
        n_groups = answers.domain.n_inputs // answers.sizes[column]
        known = n_found / n_groups  # it is certainly not less
        # Of a whole grid the share is known, but not that among the inputs that its bins stand for.
        in_bins = any(feature.edges is not None and feature.name != name for feature in self.case.schema.features)
        low, estimate, high = np.maximum([low, estimate, high], known).tolist()
        if sample.exact:
            low, high = (np.nan, np.nan) if in_bins else (estimate, estimate)
        inputs = "inputs on a grid of bin medians" if in_bins else "combinations of values"
        where = f"all {inputs}" if sample.exact else f"{inputs}, drawn uniformly"
        searched = max(len(answers) - sample.n_asked, sample.left - answers.left)
        return DiscriminatoryInputs(
            method=self.method,
            sensitive_features=name,
            where=where,
            effect=f"share of inputs whose decision another {name} changes",
            estimate=estimate,
            low=low,
            high=high,
            p_value=0.0 if n_found else 1.0,
            evidence=self._shown(answers, pairs, name),
            n=len(sample.hit),
            sentence=f"Another {name} changes the decision for {estimate:.1%} of {where}",
            n_found=n_found,
            n_asked=sample.n_asked + searched,
            found_per_1000=1000 * (n_found - n_sampled) / searched if searched else np.nan,
            random_per_1000=1000 * n_sampled / max(sample.n_asked, 1),
        )

    def people(self, name: str, most: int) -> tuple[DiscriminatoryInputs, np.ndarray] | None:
        """Return the share of people whose decision another value changes, and which they are; None if too dear."""
        case, schema = self.case, self.case.schema
        column = schema.names.index(name)
        n_values = schema.sizes[column]
        n = min(most // (n_values + 1), len(case.table))
        if n < min(FEWEST, len(case.table)):
            return None
        chosen = np.sort(self.rng(name, "people").permutation(len(case.table))[:n])
        rows = case.table.iloc[chosen][list(case.features)].reset_index(drop=True)
        own, codes = case.decide(rows), np.zeros((n_values, len(schema.names)), dtype=np.int64)
        codes[:, column] = np.arange(n_values)
        values = case.rows(schema.decode(codes))[name]
        flips = np.empty((n, n_values), dtype=bool)
        for number in range(n_values):
            value = values.iloc[np.full(n, number)].reset_index(drop=True)
            flips[:, number] = case.decide(rows.assign(**{name: value})) != own
        hit = flips.any(axis=1)
        estimate, low, high = self._share(int(hit.sum()), n)
        shown = case.table.iloc[chosen[hit][:MOST_ROWS]].copy()
        shown[f"other {name}"] = values.array[flips.argmax(axis=1)[hit][:MOST_ROWS]]
        shown["favourable"] = own[hit][:MOST_ROWS]
        finding = DiscriminatoryInputs(
            method=self.method,
            sensitive_features=name,
            where="people of the table",
            effect=f"share of people whose decision another {name} changes",
            estimate=estimate,
            low=low,
            high=high,
            p_value=1.0 - float(hit.any()),
            evidence=shown,
            n=n,
            sentence=f"Another {name} changes the decision for {estimate:.1%} of the people of the table",
            n_found=int(hit.sum()),
            n_asked=n * n_values,
            random_per_1000=1000 * float(hit.sum()) / (n * n_values),
        )
        return finding, chosen[hit]

    def _share(self, n_hits: int, n: int) -> tuple[float, float, float]:
        share = Fairness(n, n_hits)
        return share.share, *share.interval(self.confidence)

    def _shown(self, answers: Answers, pairs: Discriminatory, name: str) -> pd.DataFrame:
        """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
        inputs, column = pairs.inputs[:MOST_ROWS], answers.domain.names.index(name)
        other = inputs.copy()
        other[:, column] = pairs.other[:MOST_ROWS]
        shown, changed = (self.case.rows(self.case.schema.decode(codes)) for codes in (inputs, other))
        shown[f"other {name}"] = changed[name]
        shown["favourable"] = pairs.favourable[:MOST_ROWS]
        shown.attrs["generated"] = True
        return shown


@dataclass(frozen=True, eq=False)
class _Sample:
    codes: np.ndarray
    hit: np.ndarray
    exact: bool  # whether it is the whole domain
    n_asked: int
    left: int  # rows that may be asked after it


def _by_adf(examiner: _Examiner, name: str, budget: int) -> tuple[list[Finding], list[str]]:
    """Return the findings of ADF on one attribute, and what it could not do."""
    case, asked = examiner.case, examiner.case.queries.asked
    share = examiner.people(name, int(PEOPLE * budget) if case.has_scores else budget)
    if share is None:
        return [], [_too_dear(examiner, name, budget)]
    people, concerned = share
    if not case.has_scores:
        said = "the model gives labels and no scores, whose slopes ADF follows; the people of the table were asked."
        return [people], [f"{name}: {said}"]
    answers = Answers(case, budget - (case.queries.asked - asked))
    sample = examiner.sample(answers, name, int(SAMPLE * budget))
    if sample is None:
        return [people], [_too_dear(examiner, name, budget)]
    if not sample.exact:
        _search_by_adf(examiner, answers, name, concerned)
    return [people, examiner.finding(answers, name, sample)], []


def _by_aequitas(examiner: _Examiner, name: str, budget: int) -> tuple[list[Finding], list[str]]:
    """Return the finding of AEQUITAS on one attribute, and what it could not do."""
    answers = Answers(examiner.case, budget)
    sample = examiner.sample(answers, name, int(SAMPLE * budget))
    if sample is None:
        return [], [_too_dear(examiner, name, budget)]
    if not sample.exact:
        _search_by_aequitas(examiner, answers, name, sample)
    return [examiner.finding(answers, name, sample)], []


def _search_by_adf(examiner: _Examiner, answers: Answers, name: str, concerned: np.ndarray) -> None:
    """Ask what ADF asks, until the budget or the people are used up.

    Seeds are people, as in the paper from all clusters in turn, but of each cluster first those whose own decision
    another value changes (`concerned`), then those nearest to the threshold: others take more steps, and where
    gradients are differences, a step takes many rows.
    """
    case, domain, rng = examiner.case, answers.domain, examiner.rng(name, "adf")
    n_values, n_slopes = answers.sizes[domain.names.index(name)], 1 if case.has_gradients else 2 * len(domain.names)
    refresh = 1 if case.has_gradients else REFRESH
    n_together = int(np.clip(2 * FLIGHT * answers.left // (2 * n_slopes + n_values), 1, MOST_WALKS))
    n_local = int(np.clip(answers.left // (4 * n_together * (2 * n_slopes / refresh + n_values)), 1, MOST_STEPS))
    search = ADF(
        with_slopes(answers, name), domain, name, max_iter=MAX_ITER, n_local=n_local, refresh=refresh, random_state=rng
    )
    n_near = max(int(NEAREST * answers.left), 1)
    people = np.concatenate([rng.permutation(concerned), rng.permutation(len(case.table))[:MOST_CLUSTERED]])
    seeds = case.schema.encode(case.table.iloc[people][list(case.features)])
    first = ~pd.DataFrame(seeds).duplicated().to_numpy()
    first[len(concerned) + n_near :] = False
    seeds, is_concerned = seeds[first], (np.arange(len(people)) < len(concerned))[first]
    try:
        order = np.lexsort([np.abs(answers.lead(seeds)), ~is_concerned])
        labels = cluster_labels(seeds, n_clusters=min(N_CLUSTERS, len(seeds)))
        seeds = seeds[order][round_robin(labels[order], len(seeds))]
        for start in range(0, len(seeds), n_together):
            search.local_search(search.global_search(seeds[start : start + n_together]))
    except BudgetSpentError:
        return


def _search_by_aequitas(examiner: _Examiner, answers: Answers, name: str, sample: _Sample) -> None:
    """Ask what AEQUITAS asks: walks from the discriminatory inputs of the sample, or of more draws if it has none."""
    domain, rng = answers.domain, examiner.rng(name, "aequitas")
    n_values = answers.sizes[domain.names.index(name)]
    starts = sample.codes[sample.hit]
    n_together = int(np.clip(FLIGHT * answers.left // n_values, 1, MOST_WALKS))
    n_walks = max(n_together // max(len(starts), 1), 1)
    n_local = int(np.clip(answers.left // (n_values * n_walks * max(len(starts), 1)), 20, MOST_STEPS))
    search = Aequitas(
        answers.favourable, domain, name, n_local=n_local, in_flight=n_together, n_walks=n_walks, random_state=rng
    )
    n_draws = max(answers.left // (20 * n_values), 1)
    try:
        if len(starts):
            search.local_search(starts)
        for _ in range(20):  # whatever is left is for more draws
            search.generate(n_samples=n_draws)
    except BudgetSpentError:
        return


def _too_dear(examiner: _Examiner, name: str, budget: int) -> str:
    n_values = examiner.case.schema.sizes[examiner.case.schema.names.index(name)]
    return f"{name}: a budget of {budget} rows does not suffice for inputs with each of {n_values} values."
