"""What ADF and AEQUITAS report of generated models whose discrimination is known by enumeration.

Half of the models are fair: they get the sensitive attribute and do not use it.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
import pytest
import truth

from fairlab.adf import ADF, Aequitas, estimate_unfairness
from fairlab.cases import Case, Schema

N_MODELS, N_PEOPLE, BUDGET = 300, 200, 1500
SIZES = {"a": 6, "b": 5, "group": 3, "c": 7, "job": 4, "d": 5}  # 4,200 combinations of the others
JOBS = np.array(["cook", "clerk", "nurse", "smith"])
CLEAR = 0.05  # share of the domain from which a rule counts as clear
SURE = 1.0


@dataclass
class Generated:
    """A model: a score in codes and the threshold that decides."""

    weights: np.ndarray  # of the attributes, of 0 for the group
    product: float  # of two attributes
    unfair: np.ndarray  # by group
    least: int  # of attribute a, where the group matters
    threshold: float

    @classmethod
    def draw(cls, number: int) -> "Generated":
        rng = np.random.default_rng([14, number])
        weights = rng.normal(size=6)
        weights[2] = 0
        fair = number % 2 == 0
        effect = 10 ** rng.uniform(-1, 0.7)
        unfair = np.zeros(3) if fair else effect * rng.permutation([0.0, rng.uniform(), 1.0])
        self = cls(weights, rng.normal() / 4, unfair, int(rng.integers(0, 6)), 0.0)
        self.threshold = float(np.quantile(self.score(everything()), rng.uniform(0.2, 0.8))) + 1e-6
        return self

    def score(self, codes):
        where = codes[:, 0] >= self.least
        return codes @ self.weights + self.product * codes[:, 0] * codes[:, 3] + where * self.unfair[codes[:, 2]]

    def __call__(self, rows):
        return self.score(codes_of(rows))

    def discriminatory(self):
        """Return of every combination of the other attributes whether the group matters, shape (4200,)."""
        favourable = (self.score(everything()) >= self.threshold).reshape(3, -1)
        return favourable.any(axis=0) & ~favourable.all(axis=0)


def everything():
    """Return the whole domain, group after group."""
    others = [np.arange(size) for name, size in SIZES.items() if name != "group"]
    grid = np.stack(np.meshgrid(*others, indexing="ij"), axis=-1).reshape(-1, 5)
    return np.concatenate([np.insert(grid, 2, group, axis=1) for group in range(3)])


def place(codes):
    """Return which combination of the other attributes each input is."""
    return np.ravel_multi_index(np.delete(codes, 2, axis=1).T, [6, 5, 7, 4, 5])


def rows_of(codes):
    table = pd.DataFrame(codes, columns=list(SIZES))
    return table.assign(job=JOBS[table["job"]], group=np.array(["x", "y", "z"])[table["group"]])


def codes_of(rows):
    table = rows.assign(
        job=pd.Index(JOBS).get_indexer(rows["job"]), group=pd.Index(list("xyz")).get_indexer(rows["group"])
    )
    return table[list(SIZES)].to_numpy(dtype=int)


def population(number):
    """Return the chance of every combination of the other attributes, as people have them."""
    rng = np.random.default_rng([41, number])
    marginals = [rng.dirichlet(np.full(size, 3.0)) for name, size in SIZES.items() if name != "group"]
    return reduce(np.multiply.outer, marginals).ravel()


def examined(number):
    """Yield statements about one model, whether each holds, and the share that is stated."""
    model, rng = Generated.draw(number), np.random.default_rng([24, number])
    matters, chance = model.discriminatory(), population(number)
    people = everything()[:4200][rng.choice(4200, N_PEOPLE, p=chance)]
    people[:, 2] = rng.integers(0, 3, N_PEOPLE)
    people[:10] = [[5, 4, g % 3, 6, 3, 4] for g in range(5)] + [
        [0, 0, g % 3, 0, g % 4, 0] for g in range(5)
    ]  # all values
    case = Case(model, rows_of(people), sensitive_features="group", decision_threshold=model.threshold)
    assert case.schema.sizes == tuple(SIZES.values())
    results = [method(random_state=number).run(case, budget=BUDGET) for method in (ADF, Aequitas)]
    [by_adf], [by_walks] = (result.findings for result in results)
    fairness = estimate_unfairness(
        lambda X: decisions(model, X), schema=CODES, sensitive_features="group", n=1000, random_state=number
    )
    low, high = fairness.interval()
    yield "estimate_unfairness: the interval holds the truth", low <= matters.mean() <= high, 0.95
    yield "both: the budget is kept", all(result.n_queries <= BUDGET for result in results), SURE
    score = lambda X: model.score(X)  # noqa: E731
    search = ADF(score, CODES, "group", decision_threshold=model.threshold, n_local=20, random_state=number)
    walks = Aequitas(score, CODES, "group", decision_threshold=model.threshold, n_local=50, random_state=number)
    for method, finding, result in (
        ("ADF", by_adf, search.generate(people, n_seeds=20)),
        ("AEQUITAS", by_walks, walks.generate(n_samples=50)),
    ):
        shown = codes_of(finding.evidence)
        other = codes_of(finding.evidence.assign(group=finding.evidence["other group"]))
        real = matters[place(shown)].all() and (decisions(model, shown) != decisions(model, other)).all()
        yield f"{method}: all inputs shown are discriminatory", real, SURE
        real = matters[place(result.discriminatory)].all()
        yield f"{method}.generate: all inputs found are discriminatory", real, SURE
        if not matters.any():
            silent = len(shown) == finding.n_found == finding.estimate == result.n_discriminatory == 0
            yield f"{method}: a fair model gives nothing", silent, SURE
        if matters.mean() >= CLEAR:
            yield f"{method}: a clear rule is found", finding.n_found > 0, SURE
            more = finding.estimate >= finding.random_per_1000
            yield f"{method}: the search finds more than chance, of clear rules", more, 0.5


CODES = Schema.from_bounds({name: (0, size - 1) for name, size in SIZES.items()})


def decisions(model, codes):
    return model.score(codes) >= model.threshold


def counts(n_models=N_MODELS):
    """Return the table of docs/truth."""
    return truth.tabulate(answer for number in range(n_models) for answer in examined(number))


@pytest.mark.slow
def test_what_is_stated_holds():
    truth.check_committed("adf", counts())


def test_the_truth_of_a_model_by_hand():
    model = Generated(np.array([1.0, 0, 0, 0, 0, 0]), 0.0, np.array([0.0, 0.5, 1.0]), 2, 3.5)
    matters = model.discriminatory().reshape(6, -1)
    assert matters.all(axis=1).tolist() == matters.any(axis=1).tolist() == [False, False, False, True, False, False]
    assert len(everything()) == 12_600
    np.testing.assert_array_equal(place(everything()[:4200]), np.arange(4200))
    np.testing.assert_array_equal(codes_of(rows_of(everything())), everything())


if __name__ == "__main__":
    truth.main("adf", counts)
