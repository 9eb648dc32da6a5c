"""ADF and AEQUITAS on a case: inputs whose decision another value of a sensitive feature changes, found by search.

A search finds far more discriminatory inputs than chance would, so that what it finds says nothing about how many there
are: that is Themis' part. One pair of inputs that differ in the sensitive feature alone and have different decisions
proves that the feature matters to a deterministic model; nothing is tested here.

Features are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.answers import Answers, DiscriminatoryPairs, Slopes
from fairlab.adf.discrimination import with_every_value
from fairlab.adf.generation import ADF, cluster_labels, round_robin
from fairlab.cases import BudgetSpentError, Finding
from fairlab.cases.finding import beside
from fairlab.cases.method import Examination, Method
from fairlab.seeds import derive_seed

SHARE_SAMPLED, SHARE_OF_PEOPLE = 0.3, 0.3  # of the budget of a sensitive feature; what is left is for the search
N_CLUSTERS, MAX_ITER = 4, 10  # as in the paper
MOST_CLUSTERED = 10_000  # people among whom clusters are looked for
ROWS_OF_EVIDENCE = 1000  # of evidence
EFFECT = "discriminatory inputs found per 1,000 queries"
LEAST_SAMPLED = 20  # inputs or people that a share may rest on
MOST_STEPS = 1000  # of a walk
MOST_WALKS = 128  # at a time
STEPS_PER_GRADIENT = 25  # steps of ADF's walks by differences
SHARE_OF_NEAREST = 0.1  # of what a search may ask, for how near its seeds are to the threshold
SHARE_OF_A_STEP = 0.1  # of what a search may ask, for one step of its walks


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
                yield from _ADF(examination, self.random_state, name, (examination.budget - half) // len(names)).found()
        for name in names:
            yield from _Aequitas(examination, self.random_state, name, half // len(names)).found()


@dataclass(frozen=True, eq=False)
class _Search:
    """One method's search for one sensitive feature: a sample, a walk from what it shows, the count, the finding.

    Subclasses define `walk(answers, starts, concerned)`, which asks what the method asks until it is done or the budget
    is spent: from the discriminatory inputs of the sample, and from the people that `concerned` gives.
    """

    examination: Examination
    random_state: int
    name: str
    budget: int
    method: ClassVar[str]

    @property
    def case(self):
        return self.examination.case

    @property
    def column(self) -> int:
        return self.case.schema.names.index(self.name)

    @property
    def n_values(self) -> int:
        return self.case.schema.sizes[self.column]

    @property
    def n_groups(self) -> int:
        """Number of combinations of the other features."""
        return self.case.schema.n_inputs // self.n_values

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator; both methods draw the same sample, which the case answers from memory the second time."""
        return np.random.default_rng(derive_seed(self.random_state, "adf", self.name, stream, bits=128))

    def found(self) -> Iterator[Finding]:
        """Yield what the sample and the search from it found; nothing if the budget is too small for a sample."""
        if (codes := self.sample()) is None:
            return
        with self.case.queries.limit(self.budget):
            concerned, answers = self.concerned(), Answers(self.case)
            starts = codes[self.is_discriminatory(codes, answers)]
            n_sampled, n_asked, left = len(answers.pairs(self.column).inputs), len(answers), answers.left
            if len(codes) < self.n_groups:
                with suppress(BudgetSpentError):
                    self.walk(answers, starts, concerned)
            # Rows of slopes are no inputs, and inputs whose answers the case knows are no rows.
            searched = max(len(answers) - n_asked, left - answers.left)
        yield self.report(len(codes), n_sampled, answers.pairs(self.column), n_asked, searched)

    def sample(self) -> np.ndarray | None:
        """Return inputs as codes, each feature drawn by itself from the table; all combinations if they are few.

        None if the budget is too small.
        """
        schema, n_groups = self.case.schema, self.n_groups
        n = min(int(SHARE_SAMPLED * self.budget) // self.n_values, n_groups)
        if n < min(LEAST_SAMPLED, n_groups):
            many = f"inputs with each of {self.n_values} values"
            self.examination.skip(f"{self.name}: a budget of {self.budget} rows does not suffice for {many}.")
            return None
        if n < n_groups:
            return schema.encode(self.case.draw(n, self.rng("sample")))
        return schema.combinations([position for position in range(len(schema.sizes)) if position != self.column])

    def concerned(self) -> np.ndarray:
        """Return the people to begin with; none by default."""
        return np.empty(0, dtype=int)

    def is_discriminatory(self, codes: np.ndarray, answers: Answers) -> np.ndarray:
        """Return which inputs are decided otherwise with another value of the sensitive feature."""
        every = with_every_value(codes, [self.column], np.arange(self.n_values)[:, None])
        favourable = answers.favourable(every.reshape(-1, codes.shape[1])).reshape(every.shape[:2])
        return favourable.any(axis=1) & ~favourable.all(axis=1)

    def report(self, n: int, n_sampled: int, pairs: DiscriminatoryPairs, n_asked: int, searched: int) -> Finding:
        """Return the finding: distinct discriminatory inputs of the sample, of everything, and the rows of both."""
        random, n_found = 1000 * n_sampled / max(n_asked, 1), len(pairs.inputs)
        estimate = 1000 * (n_found - n_sampled) / searched if searched else random
        how = f"{estimate:.3g} per 1,000 queries, {random:.3g} at random" if searched else "all combinations were asked"
        return DiscriminatoryInputs(
            method=self.method,
            sensitive_features=(self.name,),
            where="generated inputs",
            effect=EFFECT,
            estimate=float(estimate),
            low=np.nan,
            high=np.nan,
            p_value=np.nan,
            evidence=self.shown(pairs),
            n=n,
            sentence=f"{self.method} found {n_found:,} inputs whose decision another {self.name} changes ({how})",
            measure="discriminatory_inputs",
            population="generated inputs",
            n_found=n_found,
            n_asked=n_asked + searched,
            random_per_1000=float(random),
        )

    def shown(self, pairs: DiscriminatoryPairs) -> pd.DataFrame:
        """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
        inputs, other, favourable = (part[:ROWS_OF_EVIDENCE] for part in pairs)
        changed = inputs.copy()
        changed[:, self.column] = other
        own, changed = (self.case.decode(codes) for codes in (inputs, changed))
        return beside(own, changed[[self.name]], favourable, generated=True)


class _ADF(_Search):
    method = "ADF"

    def concerned(self) -> np.ndarray:
        """Return people whose decision another value changes, among so many as can be asked about."""
        most = int(SHARE_OF_PEOPLE * self.budget) // (self.n_values + 1)
        chosen = np.sort(self.rng("people").permutation(len(self.case.table))[:most])
        if not len(chosen):
            return chosen
        rows = self.case.table[list(self.case.features)].iloc[chosen]
        return chosen[(self.case.vary(rows, (self.name,)) != self.case.decide(rows)[:, None]).any(axis=1)]

    def walk(self, answers, starts, concerned) -> None:
        """Go through seeds, some at a time, each phase as long as the budget allows for all of them."""
        case, domain, rng = self.case, answers.domain, self.rng("adf")
        n_slopes, refresh = (1, 1) if case.has_gradients else (2 * len(domain.names), STEPS_PER_GRADIENT)
        n_together = int(np.clip(2 * SHARE_OF_A_STEP * answers.left // (2 * n_slopes + self.n_values), 1, MOST_WALKS))
        a_step = 2 * n_slopes / refresh + self.n_values  # rows
        n_local = int(np.clip(answers.left // (4 * n_together * a_step), 1, MOST_STEPS))
        options = {"max_iter": MAX_ITER, "n_local": n_local, "refresh": refresh, "random_state": rng}
        adf = ADF(Slopes(answers, self.name), domain, self.name, **options)
        seeds = self.seeds(answers, concerned, rng)
        for start in range(0, len(seeds), n_together):
            adf.local_search(adf.global_search(seeds[start : start + n_together]))

    def seeds(self, answers: Answers, concerned: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return people as codes, as in the paper from all clusters in turn.

        Of each cluster come first those whose own decision another value changes (`concerned`), then those nearest to
        the threshold: others take more steps, and where gradients are differences, a step takes many rows.
        """
        table = self.case.table
        people = np.concatenate([rng.permutation(concerned), rng.permutation(len(table))[:MOST_CLUSTERED]])
        seeds = self.case.schema.encode(table.iloc[people][list(self.case.features)])
        first = ~pd.DataFrame(seeds).duplicated().to_numpy()
        first[len(concerned) + max(int(SHARE_OF_NEAREST * answers.left), 1) :] = False
        seeds, is_concerned = seeds[first], (np.arange(len(people)) < len(concerned))[first]
        order = np.lexsort([np.abs(answers.lead(seeds)), ~is_concerned])
        labels = cluster_labels(seeds, n_clusters=min(N_CLUSTERS, len(seeds)))
        return seeds[order][round_robin(labels[order], len(seeds))]


class _Aequitas(_Search):
    method = "AEQUITAS"

    def walk(self, answers, starts, concerned) -> None:
        """Walk from the discriminatory inputs of the sample, or of more draws if it has none."""
        n_values, rng = self.n_values, self.rng("aequitas")
        n_together = int(np.clip(SHARE_OF_A_STEP * answers.left // n_values, 1, MOST_WALKS))
        n_walks = max(n_together // max(len(starts), 1), 1)
        n_local = int(np.clip(answers.left // (n_values * n_walks * max(len(starts), 1)), 20, MOST_STEPS))
        options = {"n_local": n_local, "in_flight": n_together, "n_walks": n_walks, "random_state": rng}
        aequitas = Aequitas(answers.favourable, answers.domain, self.name, **options)
        n_draws = max(answers.left // (20 * n_values), 1)
        if len(starts):
            aequitas.local_search(starts)
        for _ in range(20):  # whatever is left is for more draws
            aequitas.generate(n_samples=n_draws)
