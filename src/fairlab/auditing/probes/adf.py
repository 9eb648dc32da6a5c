"""ADF and AEQUITAS on a case: how many inputs are discriminatory, by a fair sample; and which, by search.

A search finds far more discriminatory inputs than chance would, so that what it finds says nothing about how many there
are. The estimate comes from inputs drawn uniformly from the domain, or from the people of the table; the search brings
the evidence. One pair of inputs that differ in the sensitive attribute alone and have different decisions proves that
the attribute matters to a deterministic model, and without any the p-value is 1.

Attributes are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.discrimination import Fairness
from fairlab.adf.generation import ADF, cluster_labels, round_robin
from fairlab.adf.gradients import with_slopes
from fairlab.auditing.probes import Probe, Task
from fairlab.cases import AnswerCache, BudgetSpentError, Finding
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
        self._before = case.queries.n_queries
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
        return self.most - (self.case.queries.n_queries - self._before)

    def check(self, n_rows: int) -> None:
        """Raise a BudgetSpentError if fewer rows are left."""
        if n_rows > self.left:
            raise BudgetSpentError(f"expected at most {self.left:,} more model queries, found {n_rows:,}")

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
EFFECTS = {
    "inputs": "counterfactual flip rate on generated inputs",
    "people": "counterfactual flip rate of the people of the table",
}
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


def run(task: Task) -> Iterator[Finding]:
    """Search for inputs whose decision another value of a sensitive feature changes, by ADF and by AEQUITAS.

    Each gets half of the budget, divided evenly over the sensitive features that the model gets. ADF: the share of
    people; with scores, also the share of inputs drawn uniformly, of a number in bins the medians, with the inputs that
    its search finds from people of all clusters. Gradients are those of the score, by differences between neighbours,
    each of which is checked for discrimination, too. AEQUITAS (Udeshi et al. 2018): the same share of inputs, with the
    inputs that walks from the discriminatory ones find; it needs decisions only. Intervals are Clopper and Pearson's.
    """
    names, half = task.variable(), task.budget // 2
    for name in names:
        yield from _by_adf(_Search(task, "ADF", name, (task.budget - half) // len(names)))
    for name in names:
        yield from _by_aequitas(_Search(task, "AEQUITAS", name, half // len(names)))


PROBE = Probe(
    title="ADF and AEQUITAS",
    description="ADF and AEQUITAS search as in the papers, ADF by differences between neighbours where a model has no "
    "gradients, and from people near the decision threshold first; their shares and intervals are of uniform samples "
    "and of the people of the table, while the papers count what the searches find.",
    run=run,
    order=5,
    share=3,
    needs=("decisions", "determinism"),
)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Generated inputs, and which of them are discriminatory."""

    codes: np.ndarray
    hit: np.ndarray
    exact: bool  # whether it is the whole domain
    n_asked: int
    left: int  # rows that may be asked after it


@dataclass(frozen=True, eq=False)
class _Search:
    """What both searches share for one sensitive feature: the sample of generated inputs, and the people."""

    task: Task
    method: str
    name: str
    budget: int

    @property
    def case(self):
        return self.task.case

    @property
    def column(self) -> int:
        return self.case.schema.names.index(self.name)

    @property
    def n_values(self) -> int:
        return self.case.schema.sizes[self.column]

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator; both methods draw the same sample, which the case answers from memory the second time."""
        return np.random.default_rng(derive_seed(self.task.random_state, "adf", self.name, stream, bits=128))

    def skip(self) -> None:
        """Say that the budget is too small."""
        many = f"inputs with each of {self.n_values} values"
        self.task.skip(f"{self.name}: a budget of {self.budget} rows does not suffice for {many}.")

    def sample(self, answers: Answers) -> _Sample | None:
        """Return random inputs with their decisions for all values, the whole domain if it is small.

        None if the budget is too small.
        """
        domain, n_groups = answers.domain, answers.domain.n_inputs // self.n_values
        n = min(int(SAMPLE * self.budget) // self.n_values, n_groups)
        if n < min(FEWEST, n_groups):
            return self.skip()
        if n == n_groups:
            free = [position for position in range(len(answers.sizes)) if position != self.column]
            codes = np.zeros((n, len(answers.sizes)), dtype=np.int64)
            codes[:, free] = domain.assignments(free) if free else 0
        else:
            codes = domain.sample(n, random_state=self.rng("sample"))
        every = np.repeat(codes[:, None, :], self.n_values, axis=1)
        every[:, :, self.column] = np.arange(self.n_values)
        favourable = answers.favourable(every.reshape(-1, codes.shape[1])).reshape(n, self.n_values)
        hit = favourable.any(axis=1) & ~favourable.all(axis=1)
        return _Sample(codes, hit, exact=n == n_groups, n_asked=len(answers), left=answers.left)

    def of_inputs(self, answers: Answers, sample: _Sample) -> DiscriminatoryInputs:
        """Return the share in a sample, with the pairs among everything that was asked."""
        pairs = answers.pairs(self.column)
        n_found = len(pairs)
        n_sampled = len(np.unique(np.delete(sample.codes[sample.hit], self.column, axis=1), axis=0))
        estimate, (low, high) = sample.hit.mean(), self._interval(sample.hit)
        known = n_found / (answers.domain.n_inputs // self.n_values)  # it is certainly not less
        # Of a whole grid the share is known, but not that among the inputs that its bins stand for.
        in_bins = any(feature.edges is not None and feature.name != self.name for feature in self.case.schema.features)
        low, estimate, high = np.maximum([low, estimate, high], known).tolist()
        if sample.exact:
            low, high = (np.nan, np.nan) if in_bins else (estimate, estimate)
        inputs = "inputs on a grid of bin medians" if in_bins else "combinations of values"
        where = f"all {inputs}" if sample.exact else f"{inputs}, drawn uniformly"
        searched = max(len(answers) - sample.n_asked, sample.left - answers.left)
        return self._finding(
            "inputs", where, (estimate, low, high), self._shown(answers, pairs), len(sample.hit),
            n_found=n_found,
            n_asked=sample.n_asked + searched,
            found_per_1000=1000 * (n_found - n_sampled) / searched if searched else np.nan,
            random_per_1000=1000 * n_sampled / max(sample.n_asked, 1),
        )  # fmt: skip

    def of_people(self, most: int) -> tuple[DiscriminatoryInputs, np.ndarray] | None:
        """Return the share of people whose decision another value changes, and which they are.

        None if the budget is too small.
        """
        case, name, n_values = self.case, self.name, self.n_values
        n = min(most // (n_values + 1), len(case.table))
        if n < min(FEWEST, len(case.table)):
            return self.skip()
        chosen = np.sort(self.rng("people").permutation(len(case.table))[:n])
        rows = case.table.iloc[chosen][list(case.features)].reset_index(drop=True)
        own, codes = case.decide(rows), np.zeros((n_values, len(case.schema.names)), dtype=np.int64)
        codes[:, self.column] = np.arange(n_values)
        values = case.rows(case.schema.decode(codes))[name]
        flips = np.empty((n, n_values), dtype=bool)
        for number in range(n_values):
            value = values.iloc[np.full(n, number)].reset_index(drop=True)
            flips[:, number] = case.decide(rows.assign(**{name: value})) != own
        hit = flips.any(axis=1)
        shown = case.table.iloc[chosen[hit][:MOST_ROWS]].copy()
        shown[f"other {name}"] = values.array[flips.argmax(axis=1)[hit][:MOST_ROWS]]
        shown["favourable"] = own[hit][:MOST_ROWS]
        n_found, n_asked = int(hit.sum()), n * n_values
        numbers = {"n_found": n_found, "n_asked": n_asked, "random_per_1000": 1000 * n_found / n_asked}
        share = hit.mean(), *self._interval(hit)
        return self._finding("people", "people of the table", share, shown, n, **numbers), chosen[hit]

    def _interval(self, hit: np.ndarray) -> tuple[float, float]:
        return Fairness(len(hit), int(hit.sum())).interval(self.task.confidence_level)

    def _finding(self, what, where, share, evidence, n, **numbers) -> DiscriminatoryInputs:
        return DiscriminatoryInputs(
            self.method, self.name, where, EFFECTS[what],
            *map(float, share), 0.0 if numbers["n_found"] else 1.0, evidence, n,
            f"Another {self.name} changes the decision for {share[0]:.1%} of "
            f"{where if what == 'inputs' else f'the {where}'}",
            **numbers,
        )  # fmt: skip

    def _shown(self, answers: Answers, pairs: Discriminatory) -> pd.DataFrame:
        """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
        inputs = pairs.inputs[:MOST_ROWS]
        other = inputs.copy()
        other[:, self.column] = pairs.other[:MOST_ROWS]
        shown, changed = (self.case.rows(self.case.schema.decode(codes)) for codes in (inputs, other))
        shown[f"other {self.name}"] = changed[self.name]
        shown["favourable"] = pairs.favourable[:MOST_ROWS]
        shown.attrs["generated"] = True
        return shown


def _by_adf(search: _Search) -> Iterator[Finding]:
    """Yield the findings of ADF on one feature."""
    case, budget, asked = search.case, search.budget, search.case.queries.n_queries
    share = search.of_people(int(PEOPLE * budget) if case.has_scores else budget)
    if share is None:
        return
    people, concerned = share
    yield people
    if search.task.lacks("scores", f"{search.name}, inputs that ADF finds by slopes of scores"):
        return
    answers = Answers(case, budget - (case.queries.n_queries - asked))
    sample = search.sample(answers)
    if sample is not None:
        if not sample.exact:
            _search_by_adf(search, answers, concerned)
        yield search.of_inputs(answers, sample)


def _by_aequitas(search: _Search) -> Iterator[Finding]:
    """Yield the finding of AEQUITAS on one feature."""
    answers = Answers(search.case, search.budget)
    sample = search.sample(answers)
    if sample is not None:
        if not sample.exact:
            _search_by_aequitas(search, answers, sample)
        yield search.of_inputs(answers, sample)


def _search_by_adf(search: _Search, answers: Answers, concerned: np.ndarray) -> None:
    """Ask what ADF asks, until the budget or the people are used up.

    Seeds are people, as in the paper from all clusters in turn, but of each cluster first those whose own decision
    another value changes (`concerned`), then those nearest to the threshold: others take more steps, and where
    gradients are differences, a step takes many rows.
    """
    case, domain, rng = search.case, answers.domain, search.rng("adf")
    n_values, n_slopes = search.n_values, 1 if case.has_gradients else 2 * len(domain.names)
    refresh = 1 if case.has_gradients else REFRESH
    n_together = int(np.clip(2 * FLIGHT * answers.left // (2 * n_slopes + n_values), 1, MOST_WALKS))
    n_local = int(np.clip(answers.left // (4 * n_together * (2 * n_slopes / refresh + n_values)), 1, MOST_STEPS))
    adf = ADF(
        with_slopes(answers, search.name),
        domain,
        search.name,
        max_iter=MAX_ITER,
        n_local=n_local,
        refresh=refresh,
        random_state=rng,
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
            adf.local_search(adf.global_search(seeds[start : start + n_together]))
    except BudgetSpentError:
        return


def _search_by_aequitas(search: _Search, answers: Answers, sample: _Sample) -> None:
    """Ask what AEQUITAS asks: walks from the discriminatory inputs of the sample, or of more draws if it has none."""
    domain, n_values, rng = answers.domain, search.n_values, search.rng("aequitas")
    starts = sample.codes[sample.hit]
    n_together = int(np.clip(FLIGHT * answers.left // n_values, 1, MOST_WALKS))
    n_walks = max(n_together // max(len(starts), 1), 1)
    n_local = int(np.clip(answers.left // (n_values * n_walks * max(len(starts), 1)), 20, MOST_STEPS))
    aequitas = Aequitas(
        answers.favourable,
        domain,
        search.name,
        n_local=n_local,
        in_flight=n_together,
        n_walks=n_walks,
        random_state=rng,
    )
    n_draws = max(answers.left // (20 * n_values), 1)
    try:
        if len(starts):
            aequitas.local_search(starts)
        for _ in range(20):  # whatever is left is for more draws
            aequitas.generate(n_samples=n_draws)
    except BudgetSpentError:
        return
