"""ADF and AEQUITAS on a case: how many inputs are discriminatory, by a fair sample; and which, by search.

A search finds far more discriminatory inputs than chance would, so that what it finds says nothing about how many there
are. The estimate comes from inputs drawn uniformly from the domain, or from the people of the table; the search brings
the evidence. One pair of inputs that differ in the sensitive feature alone and have different decisions proves that
the attribute matters to a deterministic model, and without any the p-value is 1.

Attributes are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.generation import ADF, cluster_labels, round_robin
from fairlab.auditing.answers import Answers, DiscriminatoryPairs, Slopes
from fairlab.auditing.probes import Probe, Task
from fairlab.auditing.varied import beside, combinations_of, over_people
from fairlab.cases import BudgetSpentError, Finding
from fairlab.seeds import derive_seed
from fairlab.statistics import exact_interval

SAMPLE, PEOPLE = 0.3, 0.3  # of the budget of a sensitive feature; what is left is for the search
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
        Distinct discriminatory inputs that were found, however they differ in the sensitive feature.
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
        search = _Search(task, "AEQUITAS", name, half // len(names))
        yield from search.of_inputs(Answers(task.case, search.budget), _search_by_aequitas)


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

    def suffices(self, n: int, n_there: int) -> bool:
        """Return whether a share can rest on `n` of so many people or inputs; otherwise the budget is too small."""
        if n >= min(FEWEST, n_there):
            return True
        many = f"inputs with each of {self.n_values} values"
        self.task.skip(f"{self.name}: a budget of {self.budget} rows does not suffice for {many}.")
        return False

    def of_people(self, most: int) -> tuple[DiscriminatoryInputs, np.ndarray] | None:
        """Return the share of people whose decision another value changes, and which they are.

        None if the budget is too small.
        """
        people = self.case.table
        n = min(most // (self.n_values + 1), len(people))
        if not self.suffices(n, len(people)):
            return None
        chosen = np.sort(self.rng("people").permutation(len(people))[:n])
        varied = over_people(self.case, (self.name,), chosen)
        shown = varied.pairs(people.iloc[chosen], most=MOST_ROWS)
        n_found, n_asked = int(varied.hits.sum()), n * self.n_values
        numbers = {"n_found": n_found, "n_asked": n_asked, "random_per_1000": 1000 * n_found / n_asked}
        share = varied.causal(1 - self.task.confidence_level)
        return self._finding("people", "people of the table", share, shown, n, **numbers), chosen[varied.hits]

    def sample(self) -> np.ndarray | None:
        """Return random inputs as codes; all, but for the sensitive feature, if they are few; None without a budget."""
        schema, n_groups = self.case.schema, self.case.schema.n_inputs // self.n_values
        n = min(int(SAMPLE * self.budget) // self.n_values, n_groups)
        if not self.suffices(n, n_groups):
            return None
        if n < n_groups:
            return schema.sample_codes(n, random_state=self.rng("sample"))
        return combinations_of(schema, [position for position in range(len(schema.sizes)) if position != self.column])

    def of_inputs(self, answers: Answers, search: Callable) -> Iterator[Finding]:
        """Yield the share in a sample of inputs, the whole domain if it is small, with all pairs that were asked.

        Those that `search` asks from the sample's discriminatory inputs on are among them.
        """
        schema, column, n_values = self.case.schema, self.column, self.n_values
        if (codes := self.sample()) is None:
            return
        n, n_groups = len(codes), schema.n_inputs // n_values
        is_exact = n == n_groups
        every = np.repeat(codes[:, None, :], n_values, axis=1)
        every[:, :, column] = np.arange(n_values)
        favourable = answers.favourable(every.reshape(-1, codes.shape[1])).reshape(n, n_values)
        hit = favourable.any(axis=1) & ~favourable.all(axis=1)
        n_asked, left = len(answers), answers.left
        if not is_exact:
            with suppress(BudgetSpentError):
                search(self, answers, codes[hit])
        searched = max(len(answers) - n_asked, left - answers.left)
        pairs = answers.pairs(column)
        n_found, n_sampled = len(pairs.inputs), len(np.unique(np.delete(codes[hit], column, axis=1), axis=0))
        interval = exact_interval(hit.sum(), n, alpha=1 - self.task.confidence_level)
        share = np.maximum([hit.mean(), *interval], n_found / n_groups)  # it is certainly not less
        # Of a whole grid the share is known, but not that among the inputs that its bins stand for.
        in_bins = any(feature.edges is not None and feature.name != self.name for feature in schema.features)
        if is_exact:
            share[1:] = np.nan if in_bins else share[0]
        inputs = "inputs on a grid of bin medians" if in_bins else "combinations of values"
        where = f"all {inputs}" if is_exact else f"{inputs}, drawn uniformly"
        yield self._finding(
            "inputs", where, share, self._shown(pairs), n,
            n_found=n_found,
            n_asked=n_asked + searched,
            found_per_1000=1000 * (n_found - n_sampled) / searched if searched else np.nan,
            random_per_1000=1000 * n_sampled / max(n_asked, 1),
        )  # fmt: skip

    def _finding(self, what, where, share, evidence, n, **numbers) -> DiscriminatoryInputs:
        return DiscriminatoryInputs(
            self.method, self.name, where, EFFECTS[what],
            *map(float, share), 0.0 if numbers["n_found"] else 1.0, evidence, n,
            f"Another {self.name} changes the decision for {share[0]:.1%} of "
            f"{where if what == 'inputs' else f'the {where}'}",
            **numbers,
        )  # fmt: skip

    def _shown(self, pairs: DiscriminatoryPairs) -> pd.DataFrame:
        """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
        inputs, other, favourable = (part[:MOST_ROWS] for part in pairs)
        changed = inputs.copy()
        changed[:, self.column] = other
        own, changed = (self.case.rows(self.case.schema.decode(codes)) for codes in (inputs, changed))
        return beside(own, changed[[self.name]], favourable, generated=True)


def _by_adf(search: _Search) -> Iterator[Finding]:
    """Yield the findings of ADF on one feature."""
    case, budget, asked = search.case, search.budget, search.case.queries.n_queries
    share = search.of_people(int(PEOPLE * budget) if case.has_scores else budget)
    if share is None:
        return
    people, concerned = share
    yield people
    if not search.task.lacks("scores", f"{search.name}, inputs that ADF finds by slopes of scores"):
        answers = Answers(case, budget - (case.queries.n_queries - asked))
        yield from search.of_inputs(answers, partial(_search_by_adf, concerned=concerned))


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


def _search_by_aequitas(search: _Search, answers: Answers, starts: np.ndarray) -> None:
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
