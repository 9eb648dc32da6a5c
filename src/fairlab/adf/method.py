"""Common parts of ADF and AEQUITAS: their searches of a case, for one sensitive feature after the other.

A search finds far more discriminatory inputs than chance would, so that its findings do not estimate how frequent they
are; Themis does. One pair of inputs that differ in the sensitive feature alone and have different decisions proves that
the feature matters to a deterministic model; nothing is tested here.

Features are varied one at a time: where changing two changes a decision, changing one of them does so on the way.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from fairlab.adf.discrimination import Partners, Trace
from fairlab.adf.gradients import CodedCase, DiscriminatoryPairs, check_domain
from fairlab.cases import BudgetSpentError, Case, Finding
from fairlab.cases.finding import beside
from fairlab.cases.method import Examination, Method
from fairlab.checks import COUNT_OR_ZERO, VARIANT, check_count, check_parameters, check_seed, checked
from fairlab.seeds import derive_seed

SHARE_SAMPLED = 0.3  # of the budget of a sensitive feature
ROWS_OF_EVIDENCE = 1000
LEAST_SAMPLED = 20  # inputs that a share needs
MOST_WALKS = 128  # at a time
SHARE_OF_A_STEP = 0.1  # of the queries of a search, for one step of its walks


@dataclass(frozen=True, repr=False)
class DiscriminatoryInputs(Finding):
    """A finding of ADF or AEQUITAS: how many discriminatory inputs a search found, compared with random draws.

    Attributes
    ----------
    n_found : int
        Discriminatory inputs that were found; those that differ only in the sensitive feature count once.
    n_asked : int
        Model queries, including those of the sample.
    random_per_1000 : float
        Distinct discriminatory inputs per 1,000 rows of the sample; the estimate is the same rate for the search.
    """

    n_found: int = 0
    n_asked: int = 0
    random_per_1000: float = np.nan

    @property
    def summary(self) -> str:
        """Who, where, and what was found."""
        return f"{self.method}, {self.who}: {self.sentence}"


class Sample:
    """Random inputs of a case, for one sensitive feature, with which a search of the case is compared.

    Each feature is drawn by itself from the table; if the other features have few combinations, all are taken.

    Parameters
    ----------
    case : Case
    name : str
        The sensitive feature.
    budget : int
        Rows that the sample and the search may take together.
    random_state : int

    Attributes
    ----------
    model : CodedCase
        With the answers to all queries of the sample and the search.
    n_values : int
        Number of values of the sensitive feature.
    n_groups : int
        Number of combinations of the other features.
    n : int
        Number of inputs, each of which is queried with all values.
    """

    def __init__(self, case: Case, name: str, budget: int, random_state: int):
        self.case, self.name, self.budget, self.random_state = case, name, budget, random_state
        self.model, self.n_values = CodedCase(case, name), case.schema.sizes[case.schema.names.index(name)]
        self.n_groups = case.schema.n_inputs // self.n_values
        self.n = min(int(SHARE_SAMPLED * budget) // self.n_values, self.n_groups)

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator; both methods draw the same sample, whose answers are cached the second time."""
        return np.random.default_rng(derive_seed(self.random_state, "adf", self.name, stream, bits=128))

    def discriminatory(self) -> np.ndarray:
        """Query all inputs, and return those whose decision changes with another value of the sensitive feature."""
        schema = self.case.schema
        if self.n < self.n_groups:
            codes = schema.encode(self.case.draw(self.n, self.rng("sample")))
        else:
            codes = schema.combinations([place for place, name in enumerate(schema.names) if name != self.name])
        return codes[Partners(self.model.decisions.positive, self.name, schema=self.model.domain)(codes) >= 0]


@checked(
    n_local=COUNT_OR_ZERO,
    variant=VARIANT,
    random_state=check_seed,
)
class SearchMethod(BaseEstimator, Method):
    """A search whose parameters are stored as given and checked by each verb, so that they can be set and cloned.

    `run` searches a case, the verbs of a subclass search the given model. On a case, each sensitive feature has an
    equal part of the budget, for a random sample first, then the search.
    """

    needs = ("model", "decisions", "determinism")
    has_tests = False

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the number of discriminatory inputs found, and at random, for each sensitive feature of a case."""
        check_parameters(self)
        check_count(self.random_state, "random_state", least=0)  # each feature has seeds of its own
        names = examination.variable()
        for name in names:
            sample = Sample(examination.case, name, examination.budget // len(names), self.random_state)
            if sample.n >= min(LEAST_SAMPLED, sample.n_groups):
                yield self._finding(sample)
            else:
                examination.skip(
                    f"{name}: a budget of {sample.budget} rows does not suffice for inputs with each of "
                    f"{sample.n_values} values.",
                    name,
                )

    def _starts(self, sample: Sample, sampled: np.ndarray) -> np.ndarray:
        """Return the starts of the search of a case: by default, the discriminatory inputs of the sample."""
        return sampled

    @abstractmethod
    def _search_case(self, sample: Sample, starts: np.ndarray) -> None:
        """Search a case until the search is done or the budget is spent; the model of the sample keeps count."""

    def _on_case(self, sample: Sample, model: Any, **chosen: Any) -> "SearchMethod":
        """Return this search over the codes of a case, with a model of codes and parameters chosen for the case."""
        own = {"model": model, "schema": sample.model.domain, "sensitive_features": sample.name}
        return type(self)(**self.get_params(deep=False) | own | {"decision_threshold": None} | chosen)

    def _finding(self, sample: Sample) -> Finding:
        """Query the sample, search, and return the finding on the discriminatory inputs."""
        model, name, queries = sample.model, sample.name, sample.case.queries
        with queries.limit(sample.budget):
            starts = self._starts(sample, sample.discriminatory())
            n_random, n_sampled, left = len(model.pairs().inputs), len(model.decisions), queries.left
            if sample.n < sample.n_groups:
                with suppress(BudgetSpentError):
                    self._search_case(sample, starts)
            # Rows for slopes are queries but no inputs; inputs with cached answers are no queries.
            searched = max(len(model.decisions) - n_sampled, left - queries.left)
        pairs = model.pairs()
        n_found, random = len(pairs.inputs), 1000 * n_random / max(n_sampled, 1)
        estimate = 1000 * (n_found - n_random) / searched if searched else random
        how = f"{estimate:.3g} per 1,000 queries, {random:.3g} at random" if searched else "all combinations were asked"
        return DiscriminatoryInputs(
            method=self.title,
            sensitive_features=(name,),
            where="generated inputs",
            effect="discriminatory inputs found per 1,000 queries",
            estimate=float(estimate),
            low=np.nan,
            high=np.nan,
            p_value=np.nan,
            evidence=_evidence(sample, pairs),
            n=sample.n,
            sentence=f"{self.title} found {n_found:,} inputs whose decision another {name} changes ({how})",
            measure="discriminatory_inputs",
            population="generated inputs",
            n_found=n_found,
            n_asked=n_sampled + searched,
            random_per_1000=float(random),
        )

    def local_evaluations(self, starts) -> Trace:
        """Return every input that `local_search` evaluates, repeats included."""
        return Trace.join(list(self.steps(starts)), len(self.schema.names))

    def _check(self):
        """Return the schema; raise an error if nothing can be searched or a parameter is out of range."""
        needed = ("model", "a model"), ("schema", "a Schema"), ("sensitive_features", "attributes of the schema")
        for name, what in needed:
            if getattr(self, name) is None:
                raise TypeError(f"{name}: expected {what}, found None; a case is examined by run(case)")
        if len(check_domain(self.schema).positions(self.sensitive_features)) == len(self.schema.names):
            raise ValueError("sensitive_features: no attribute is left to search along")
        check_parameters(self)
        return self.schema


def _evidence(sample: Sample, pairs: DiscriminatoryPairs) -> pd.DataFrame:
    """Return the first pairs found as a table: the input, the value that changes its decision, the decision."""
    inputs, other, favourable = (part[:ROWS_OF_EVIDENCE] for part in pairs)
    own, changed = sample.case.decode(inputs), sample.case.values([sample.name]).take(other)
    return beside(own, changed, favourable, generated=True)
