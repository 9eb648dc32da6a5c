"""ADF and AEQUITAS on a case: inputs whose decision another value of a sensitive feature changes, found by search.

A search finds far more discriminatory inputs than chance would, so that what it finds says nothing about how many there
are: that is Themis' part. One pair of inputs that differ in the sensitive feature alone and have different decisions
proves that the feature matters to a deterministic model; nothing is tested here.

Features are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.answers import Answers, DiscriminatoryPairs, Slopes
from fairlab.adf.generation import ADF, cluster_labels, round_robin
from fairlab.cases import BudgetSpentError, Finding
from fairlab.cases.finding import beside
from fairlab.cases.method import Examination, Method
from fairlab.seeds import derive_seed

SAMPLE, PEOPLE = 0.3, 0.3  # of the budget of a sensitive feature; what is left is for the search
N_CLUSTERS, MAX_ITER = 4, 10  # as in the paper
MOST_CLUSTERED = 10_000  # people among whom clusters are looked for
ROWS_OF_EVIDENCE = 1000  # of evidence
EFFECT = "discriminatory inputs found per 1,000 queries"
LEAST_SAMPLED = 20  # inputs or people that a share may rest on
MOST_STEPS = 1000  # of a walk
MOST_WALKS = 128  # at a time
REFRESH = 25  # steps of ADF's walks by differences
NEAREST = 0.1  # of what a search may ask, for how near its seeds are to the threshold
FLIGHT = 0.1  # of what a search may ask, for one step of its walks


@dataclass(frozen=True, repr=False)
class DiscriminatoryInputs(Finding):
    """A finding of ADF or AEQUITAS: how many discriminatory inputs the search found, beside chance.

    Attributes
    ----------
    n_found : int
        Distinct discriminatory inputs that were found, however they differ in the sensitive feature.
    n_asked : int
        Rows that were asked for it, those of the sample among them.
    random_per_1000 : float
        Distinct discriminatory inputs per 1,000 rows of the sample; the estimate is the same of the search.
    """

    n_found: int = 0
    n_asked: int = 0
    random_per_1000: float = np.nan

    @property
    def summary(self) -> str:
        """Who, where, and what was found."""
        return f"{self.method}, {self.who}: {self.sentence}"


class DirectedSearch(Method):
    """Searches for inputs whose decision another value of a sensitive feature changes, by ADF and by AEQUITAS.

    Each gets half of the budget, divided evenly over the sensitive features that the model gets. Both begin with a
    sample of inputs whose features are drawn one by one from the table, or with all combinations where they are few.
    ADF searches from people of all clusters; gradients are those of the score, by differences between neighbours, each
    of which is checked for discrimination, too. AEQUITAS (Udeshi et al. 2018) walks from the discriminatory inputs of
    the sample; it needs decisions only. The estimate is what the search found per 1,000 queries, or the sample where
    all combinations are in it; it has no interval and no test.

    Parameters
    ----------
    confidence_level : float
    random_state : int

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.adf import DirectedSearch
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> [finding.n_found for finding in DirectedSearch().run(case).findings]
    [9]
    """

    title = "ADF and AEQUITAS"
    description = (
        "ADF and AEQUITAS search as in the papers, ADF by differences between neighbours where a model has no "
        "gradients, and from people near the decision threshold first; what they find is counted as in the papers, "
        "and is no test."
    )
    share = 2
    needs = ("model", "decisions", "determinism")

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield how many discriminatory inputs each search found."""
        names, half = examination.variable(), examination.budget // 2
        if not examination.lacks("scores", "ADF"):
            for name in names:
                budget = (examination.budget - half) // len(names)
                yield from _found(_Search(examination, self.random_state, "ADF", name, budget), _search_by_adf)
        for name in names:
            search = _Search(examination, self.random_state, "AEQUITAS", name, half // len(names))
            yield from _found(search, _search_by_aequitas)


@dataclass(frozen=True, eq=False)
class _Search:
    """What both searches share for one sensitive feature: the sample of generated inputs, and the people."""

    examination: Examination
    random_state: int
    method: str
    name: str
    budget: int

    @property
    def case(self):
        return self.examination.case

    @property
    def column(self) -> int:
        return self.case.schema.names.index(self.name)

    @property
    def n_values(self) -> int:
        return self.case.schema.sizes[self.column]

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator; both methods draw the same sample, which the case answers from memory the second time."""
        return np.random.default_rng(derive_seed(self.random_state, "adf", self.name, stream, bits=128))

    def concerned(self, most: int) -> np.ndarray:
        """Return people whose decision another value changes, among so many as can be asked about."""
        chosen = self.rng("people").permutation(len(self.case.table))[: most // (self.n_values + 1)]
        if not len(chosen):
            return chosen
        chosen = np.sort(chosen)
        rows = self.case.table[list(self.case.features)].iloc[chosen]
        return chosen[(self.case.vary(rows, (self.name,)) != self.case.decide(rows)[:, None]).any(axis=1)]

    def sample(self) -> np.ndarray | None:
        """Return inputs as codes, each feature drawn by itself from the table; all combinations if they are few.

        None if the budget is too small.
        """
        schema, n_groups = self.case.schema, self.case.schema.n_inputs // self.n_values
        n = min(int(SAMPLE * self.budget) // self.n_values, n_groups)
        if n < min(LEAST_SAMPLED, n_groups):
            many = f"inputs with each of {self.n_values} values"
            self.examination.skip(f"{self.name}: a budget of {self.budget} rows does not suffice for {many}.")
            return None
        if n < n_groups:
            return schema.encode(self.case.draw(n, self.rng("sample")))
        return schema.combinations([position for position in range(len(schema.sizes)) if position != self.column])

    def shown(self, pairs: DiscriminatoryPairs) -> pd.DataFrame:
        """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
        inputs, other, favourable = (part[:ROWS_OF_EVIDENCE] for part in pairs)
        changed = inputs.copy()
        changed[:, self.column] = other
        own, changed = (self.case.decode(codes) for codes in (inputs, changed))
        return beside(own, changed[[self.name]], favourable, generated=True)


def _found(search: _Search, walk: Callable) -> Iterator[Finding]:
    """Yield what a sample of inputs, and a search from its discriminatory ones, found: all pairs that were asked."""
    case, column, n_values, asked = search.case, search.column, search.n_values, search.case.queries.n_queries
    if (codes := search.sample()) is None:
        return
    n, is_all = len(codes), len(codes) == case.schema.n_inputs // n_values
    concerned = search.concerned(int(PEOPLE * search.budget)) if walk is _search_by_adf else np.empty(0, dtype=int)
    answers = Answers(case, search.budget - (case.queries.n_queries - asked))
    every = np.repeat(codes[:, None, :], n_values, axis=1)
    every[:, :, column] = np.arange(n_values)
    favourable = answers.favourable(every.reshape(-1, codes.shape[1])).reshape(n, n_values)
    hit = favourable.any(axis=1) & ~favourable.all(axis=1)
    n_asked, left = len(answers), answers.left
    if not is_all:
        with suppress(BudgetSpentError):
            walk(search, answers, codes[hit], concerned)
    searched = max(len(answers) - n_asked, left - answers.left)
    pairs = answers.pairs(column)
    n_found, n_sampled = len(pairs.inputs), len(np.unique(np.delete(codes[hit], column, axis=1), axis=0))
    random = 1000 * n_sampled / max(n_asked, 1)
    estimate = 1000 * (n_found - n_sampled) / searched if searched else random
    name, method = search.name, search.method
    how = f"{estimate:.3g} per 1,000 queries, {random:.3g} at random" if searched else "all combinations were asked"
    yield DiscriminatoryInputs(
        method, (name,), "generated inputs", EFFECT, float(estimate), np.nan, np.nan, np.nan, search.shown(pairs), n,
        f"{method} found {n_found:,} inputs whose decision another {name} changes ({how})",
        measure="discriminatory_inputs",
        population="generated inputs",
        n_found=n_found,
        n_asked=n_asked + searched,
        random_per_1000=float(random),
    )  # fmt: skip


def _search_by_adf(search: _Search, answers: Answers, _, concerned: np.ndarray) -> None:
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
    options = {"max_iter": MAX_ITER, "n_local": n_local, "refresh": refresh, "random_state": rng}
    adf = ADF(Slopes(answers, search.name), domain, search.name, **options)
    n_near = max(int(NEAREST * answers.left), 1)
    people = np.concatenate([rng.permutation(concerned), rng.permutation(len(case.table))[:MOST_CLUSTERED]])
    seeds = case.schema.encode(case.table.iloc[people][list(case.features)])
    first = ~pd.DataFrame(seeds).duplicated().to_numpy()
    first[len(concerned) + n_near :] = False
    seeds, is_concerned = seeds[first], (np.arange(len(people)) < len(concerned))[first]
    order = np.lexsort([np.abs(answers.lead(seeds)), ~is_concerned])
    labels = cluster_labels(seeds, n_clusters=min(N_CLUSTERS, len(seeds)))
    seeds = seeds[order][round_robin(labels[order], len(seeds))]
    for start in range(0, len(seeds), n_together):
        adf.local_search(adf.global_search(seeds[start : start + n_together]))


def _search_by_aequitas(search: _Search, answers: Answers, starts: np.ndarray, _) -> None:
    """Ask what AEQUITAS asks: walks from the discriminatory inputs of the sample, or of more draws if it has none."""
    n_values, rng = search.n_values, search.rng("aequitas")
    n_together = int(np.clip(FLIGHT * answers.left // n_values, 1, MOST_WALKS))
    n_walks = max(n_together // max(len(starts), 1), 1)
    n_local = int(np.clip(answers.left // (n_values * n_walks * max(len(starts), 1)), 20, MOST_STEPS))
    options = {"n_local": n_local, "in_flight": n_together, "n_walks": n_walks, "random_state": rng}
    aequitas = Aequitas(answers.favourable, answers.domain, search.name, **options)
    n_draws = max(answers.left // (20 * n_values), 1)
    if len(starts):
        aequitas.local_search(starts)
    for _ in range(20):  # whatever is left is for more draws
        aequitas.generate(n_samples=n_draws)
