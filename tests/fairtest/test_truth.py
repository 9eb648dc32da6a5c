"""FairTest against generated models whose truth is known by enumeration; slow."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, entropy
from truth import check_committed, main, tabulate

from fairlab.fairtest import NMI, Column, Correlation, DataSource, Difference, Investigation, Ratio, Sample, investigate
from fairlab.fairtest.sample import encode

pytestmark = pytest.mark.slow


N_MODELS = 480

CONFIDENCE = 0.95
KINDS = ("two groups", "two groups", "three groups", "regression")
FEATURES = ["job", "years", "member"]


@dataclass(frozen=True, eq=False)
class World:
    """A population, by all people that it can have and how likely each is, and a model that decides on them."""

    kind: str
    is_fair: bool
    has_rule: bool
    people: pd.DataFrame
    chance: np.ndarray
    sees_group: bool

    def answers(self, rows):
        """Return the model's answers; what it knows of a row is in its features."""
        key = ["group", *FEATURES] if self.sees_group else FEATURES
        known = self.people.drop_duplicates(key).set_index(key)["answer"]
        return known.loc[pd.MultiIndex.from_frame(rows[key])].to_numpy()

    def draw(self, rng, n):
        """Return people as a table."""
        rows = rng.choice(len(self.people), n, p=self.chance)
        return self.people.drop(columns="answer").iloc[rows].reset_index(drop=True)


def world(number: int) -> World:
    """Return a generated world; every second one is fair: the group has to do with nothing."""
    rng = np.random.default_rng([14, number])
    kind, is_fair, has_rule = KINDS[number % 4], number // 4 % 2 == 0, number // 4 % 4 == 1
    groups = ["a", "b", "c"][: 3 if kind == "three groups" else 2]
    grid = product(groups, ["clerk", "driver", "nurse"], range(15), [False, True], [False, True])
    people = pd.DataFrame(list(grid), columns=["group", *FEATURES, "good"])
    code = people["group"].map(groups.index)
    lean = 0 if is_fair else rng.normal(0, 0.7)
    share = pd.Series(0.2 + 0.8 * rng.dirichlet(np.ones(len(groups))), groups)
    by_job = pd.Series(rng.dirichlet(5 * np.ones(3)), ["clerk", "driver", "nurse"])
    weight = people["group"].map(share) * people["job"].map(by_job) * np.exp(lean * code * (people["job"] == "nurse"))
    weight *= np.exp(lean * code * people["years"] / 14) * np.where(people["member"], *rng.dirichlet([5, 5]))
    merit = people["job"].map(pd.Series(rng.normal(0, 1, 3), by_job.index)) + rng.normal(0, 2) * people["years"] / 14
    good = 1 / (1 + np.exp(-(merit + (0 if is_fair else rng.normal(0, 0.7)) * code + rng.normal(0, 0.5))))
    weight *= np.where(people["good"], good, 1 - good)
    weight *= people["group"].map(share / weight.groupby(people["group"]).sum())
    noise = pd.Series(rng.normal(0, 0.7, 90), pd.MultiIndex.from_product([by_job.index, range(15), [False, True]]))
    score = merit + noise.loc[pd.MultiIndex.from_frame(people[FEATURES])].to_numpy()
    bar = np.quantile(score, rng.uniform(0.2, 0.8), method="inverted_cdf", weights=weight)
    sees_group = has_rule or (not is_fair and rng.random() < 0.5)
    if has_rule:
        score = np.where(people["job"] == "clerk", np.where(code == 0, bar - 5, bar + 5), score)
    elif sees_group:
        score = score + rng.normal(0, 0.5) * code
    answer = score.astype(float) if kind == "regression" else score > bar
    return World(kind, is_fair, has_rule, people.assign(answer=answer), (weight / weight.sum()).to_numpy(), sees_group)


# truth by enumeration


def nmi(shares: np.ndarray) -> float:
    rows, columns = entropy(shares.sum(axis=1)), entropy(shares.sum(axis=0))
    smaller = min(rows, columns)
    return 0.0 if smaller < 1e-12 else max(rows + columns - entropy(shares.ravel()), 0) / smaller


def correlation(x, y, weight) -> float:
    x, y = (v - np.average(v, weights=weight) for v in (x, y))
    spread = (weight * x * x).sum() * (weight * y * y).sum()
    return float((weight * x * y).sum() / np.sqrt(spread)) if spread > 1e-24 else 0.0


def truth(world: World, metric: str, held: np.ndarray) -> float:
    """Return what a metric measures, among people for whom a mask holds."""
    people, weight = world.people, world.chance * held
    answer, group = people["answer"].to_numpy(), people["group"]
    if metric == NMI.name:
        codes = pd.factorize(group)[0]
        shares = np.zeros((codes.max() + 1, 2))
        np.add.at(shares, (codes, answer.astype(int)), weight)
        return nmi(shares / shares.sum())
    if metric == Correlation.name:
        return correlation((group == "b").to_numpy(float), answer, weight)
    first, second = (np.average(answer, weights=weight * (group == name)) for name in "ab")
    if metric == Difference.name:
        return first - second
    return first / second if second > 0 else np.inf if first > 0 else 1.0


# what is counted


def investigated(world: World, number: int, metric) -> tuple[bool, bool]:
    """Return whether all intervals of an investigation with its defaults hold the truth, and whether any is alarmed."""
    rng = np.random.default_rng([16, number])
    table = world.draw(rng, int(rng.choice([500, 2_000])))
    source = DataSource(table.assign(answer=world.answers(table)).drop(columns="good"))
    tests = investigate(source, Investigation("group", "answer", metric=metric)).frame
    everyone = {name: encode(world.people[name]) for name in FEATURES}
    all_hold = True
    for test in tests.itertuples():
        held = np.ones(len(world.people), dtype=bool)
        for condition in test.node.conditions:
            held &= condition.holds(everyone[condition.attribute])
        all_hold &= np.isnan(test.low) or test.low - 1e-9 <= truth(world, test.metric, held) <= test.high + 1e-9
    return bool(all_hold), bool(tests["significant"].any())


def checked(number: int):
    """Yield statements about one generated world, whether each holds, and the share that is stated."""
    here = world(number)
    metrics = [None, Difference(), Ratio()] if here.kind == "two groups" else [None]
    metric = metrics[number // 8 % len(metrics)]
    holding, alarm = investigated(here, number, metric)
    name = metric.name if metric else "CORR" if here.kind == "regression" else "NMI"
    yield f"investigate: all intervals of {name} hold the truth at once", holding, CONFIDENCE
    if here.is_fair:
        yield "investigate: fair model, nothing is significant", not alarm, CONFIDENCE


def counts(n_models: int = N_MODELS) -> pd.DataFrame:
    """Return how often each statement held over the generated worlds."""
    answers = [answer for number in range(n_models) for answer in checked(number)]
    return tabulate(answers).sort_values("statement", ignore_index=True)


def test_every_statement_holds_at_its_rate_and_the_counts_come_out_again():
    check_committed("fairtest", counts())


# intervals cover the truth as often as they say, neither less nor more

RUNS = 400


def strata(rng, n):
    """Return people whose group and output both go with their stratum; in each, the rates differ by 0.2."""
    stratum = rng.integers(2, size=n)
    group = rng.random(n) < 0.3 + 0.4 * stratum
    output = rng.random(n) < 0.5 + 0.3 * stratum - 0.2 * group
    columns = {"group": group, "output": output, "stratum": stratum}
    return Sample(*(Column(name, values.astype(int), ("0", "1")) for name, values in columns.items()))


@pytest.mark.parametrize("n", [200, 2_000])  # resampled, and by large-sample theory
def test_intervals_of_a_conditional_difference_cover_the_truth(n):
    rng, metric = np.random.default_rng(3), Difference(smoothing=0)
    intervals = [metric.exact(strata(rng, n), confidence_level=0.95, rng=rng) for _ in range(RUNS)]
    low, high = binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= sum(interval.low <= 0.2 <= interval.high for interval in intervals) <= high


if __name__ == "__main__":
    main("fairtest", counts)
