"""FairTest against generated models whose truth is known by enumeration; slow."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, entropy
from statsmodels.stats.multitest import multipletests
from truth import check, check_committed, main, tabulate

from fairlab.auditing import audit, run
from fairlab.cases import Case
from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    DataSource,
    Difference,
    GroupRates,
    Investigation,
    Ratio,
    Sample,
    investigate,
)
from fairlab.fairtest.sample import encode

pytestmark = pytest.mark.slow

N_MODELS, N_TABLES = 480, 400
CONFIDENCE = 0.95
KINDS = ("two groups", "two groups", "three groups", "regression")
FEATURES = ["job", "years", "member"]


def world(number: int) -> SimpleNamespace:
    """Return a generated world; every second one is fair: the group has to do with nothing.

    That is a population, by all people that it can have and how likely each is, and a model that decides on them.
    """
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
    people = people.assign(answer=answer)
    known = people.drop_duplicates(key := ["group", *FEATURES] if sees_group else FEATURES).set_index(key)["answer"]
    return SimpleNamespace(
        kind=kind,
        is_fair=is_fair,
        has_rule=has_rule,
        sees_group=sees_group,
        people=people,
        chance=(weight / weight.sum()).to_numpy(),
        answers=lambda rows: known.loc[pd.MultiIndex.from_frame(rows[key])].to_numpy(),
    )


def drawn(world, rng, n):
    """Return people of a world as a table."""
    people = world.people.drop(columns="answer")
    return people.iloc[rng.choice(len(people), n, p=world.chance)].reset_index(drop=True)


# truth by enumeration


def holds(where: str, people: pd.DataFrame) -> np.ndarray:
    """Return the people for whom the words of a finding hold."""
    compare = {
        "=": lambda column, value: column.astype(str) == value,
        ">=": lambda column, value: column >= float(value),
        "<=": lambda column, value: column <= float(value),
    }
    conditions = [] if where == "everyone" else [words.split(" ", maxsplit=2) for words in where.split(" and ")]
    held = [compare[sign](people[name], value) for name, sign, value in conditions]
    return np.all([np.ones(len(people), dtype=bool), *held], axis=0)


def nmi(shares: np.ndarray) -> float:
    rows, columns = entropy(shares.sum(axis=1)), entropy(shares.sum(axis=0))
    smaller = min(rows, columns)
    return 0.0 if smaller < 1e-12 else max(rows + columns - entropy(shares.ravel()), 0) / smaller


def correlation(x, y, weight) -> float:
    x, y = (v - np.average(v, weights=weight) for v in (x, y))
    spread = (weight * x * x).sum() * (weight * y * y).sum()
    return float((weight * x * y).sum() / np.sqrt(spread)) if spread > 1e-24 else 0.0


def truth(world: SimpleNamespace, effect: str, held: np.ndarray) -> float:
    """Return the effect, by its name, among people for whom a mask holds."""
    people, weight = world.people, world.chance * held
    answer, good = people["answer"].to_numpy(), people["good"].to_numpy()
    if world.kind == "regression":
        values = np.abs(answer - target(people)) if "error" in effect else answer
    else:
        values = answer != good if "error" in effect else answer
    if "mutual" in effect:
        codes = pd.factorize(people["group"])[0]
        shares = np.zeros((codes.max() + 1, 2))
        np.add.at(shares, (codes, values.astype(int)), weight)
        return nmi(shares / shares.sum())
    if effect.startswith("correlation"):
        name = effect.split(", ")[1].split(" versus")[0]
        return correlation((people["group"] == name).astype(float).to_numpy(), values, weight)
    first, second = effect.split(", ")[1].split(" minus ")
    one = (people["group"] == first).to_numpy()
    other = ~one if second == "the others" else (people["group"] == second).to_numpy()
    return np.average(values, weights=weight * one) - np.average(values, weights=weight * other)


def target(people) -> np.ndarray:
    """Return the true numbers of a regression; `Case` would take two different ones for labels."""
    return people["good"].to_numpy() * 2.0 + people["years"].to_numpy() * 1e-9


# what is counted


def shown(world: SimpleNamespace, number: int) -> pd.DataFrame:
    """Return the findings about a table drawn from a world, with the truth of each."""
    rng = np.random.default_rng([15, number])
    table = drawn(world, rng, int(rng.choice([200, 500, 1_000, 4_000])) if not world.has_rule else 1_000)
    case = Case(
        world.answers,
        table.drop(columns="good"),
        sensitive_features="group",
        features=["group", *FEATURES] if world.sees_group else FEATURES,
        y_true=target(table) if world.kind == "regression" else table["good"],
        pos_label=None if world.kind == "regression" else True,
    )
    found = run("fairtest", case, budget=0, confidence_level=CONFIDENCE).to_frame()
    if found.empty:
        return found.assign(truth=[], significant=[])
    found["truth"] = [truth(world, *pair) for pair in zip(
        found["effect"], (holds(where, world.people) for where in found["where"]), strict=True)]  # fmt: skip
    return found.assign(significant=multipletests(found["p_value"], 1 - CONFIDENCE, method="holm")[0])


def investigated(world: SimpleNamespace, number: int, metric) -> tuple[bool, bool]:
    """Return whether all intervals of an investigation with its defaults hold the truth, and whether any is alarmed."""
    rng = np.random.default_rng([16, number])
    table = drawn(world, rng, int(rng.choice([500, 2_000])))
    table["answer"] = world.answers(table)
    tests = investigate(DataSource(table.drop(columns="good")), Investigation("group", "answer", metric=metric)).frame
    everyone = {name: encode(world.people[name]) for name in FEATURES}
    all_hold = True
    for test in tests.itertuples():
        held = np.ones(len(world.people), dtype=bool)
        for condition in test.node.conditions:
            held &= condition.holds(everyone[condition.attribute])
        people, weight = world.people, world.chance * held
        if test.metric == Ratio.name:
            rates = [np.average(people["answer"], weights=weight * (people["group"] == group)) for group in "ab"]
            expected = rates[0] / rates[1] if rates[1] > 0 else np.inf if rates[0] > 0 else 1.0
        else:
            names = {"NMI": "mutual", "DIFF": "difference, a minus b", "CORR": "correlation (prediction, b versus a)"}
            expected = truth(world, names[test.metric], held)
        all_hold &= np.isnan(test.low) or test.low - 1e-9 <= expected <= test.high + 1e-9
    return bool(all_hold), bool(tests["significant"].any())


def checked(number: int):
    """Yield statements about one generated world, whether each holds, and the share that is stated."""
    here = world(number)
    rng = np.random.default_rng([17, number])
    found = shown(here, number)

    held = (found["low"] - 1e-9 <= found["truth"]) & (found["truth"] <= found["high"] + 1e-9)
    measure = found["effect"].str.extract("(correlation|difference)")[0]
    place = np.where(found["where"] == "everyone", "among everyone", "in contexts")
    for (name, where), some in found.groupby([measure, place]).indices.items():
        yield f"audit: interval of a {name} {where} holds the truth", held.iloc[rng.choice(some)], CONFIDENCE
    if len(found):
        one = rng.integers(len(found))
        yield "audit: any interval of a model holds the truth", held.iloc[one], CONFIDENCE
        if here.is_fair:
            yield "audit: fair model, a p-value is above 0.05", found["p_value"].iloc[one] > 1 - CONFIDENCE, CONFIDENCE
            nothing = not found["significant"].any()
            yield "audit: fair model, nothing is significant after correction", nothing, CONFIDENCE
    if here.has_rule:
        yield "audit: a clear rule is found", found.loc[~found["effect"].str.contains("error"), "significant"].any(), 1
    metrics = [None, Difference(), Ratio()] if here.kind == "two groups" else [None]
    metric = metrics[number // 8 % len(metrics)]
    holding, alarm = investigated(here, number, metric)
    name = metric.name if metric else "CORR" if here.kind == "regression" else "NMI"
    yield f"investigate: all intervals of {name} hold the truth at once", holding, CONFIDENCE
    if here.is_fair:
        yield "investigate: fair model, nothing is significant", not alarm, CONFIDENCE


def silent_together(number: int) -> bool:
    """Return whether ten investigations of noise, tested together, find nothing."""
    rng = np.random.default_rng([18, number])
    table = pd.DataFrame({f"answer {k}": rng.choice(["no", "yes"], 600) for k in range(10)})
    table = table.assign(group=rng.choice(["a", "b"], 600), job=rng.choice(["clerk", "driver", "nurse"], 600))
    several = [Investigation("group", f"answer {k}", context=["job"], min_leaf_size=50) for k in range(10)]
    return not investigate(DataSource(table), several).to_frame()["significant"].any()


def counts(n_models: int = N_MODELS, n_tables: int = N_TABLES) -> pd.DataFrame:
    """Return how often each statement held over the generated worlds, and over tables of noise."""
    answers = [answer for number in range(n_models) for answer in checked(number)]
    together = "investigate: ten investigations of noise at once, nothing is significant"
    answers += [(together, silent_together(number), CONFIDENCE) for number in range(n_tables)]
    return tabulate(answers).sort_values("statement", ignore_index=True)


def test_every_statement_holds_at_its_rate_and_the_counts_come_out_again():
    check_committed("fairtest", counts())


def test_half_of_the_worlds_are_fair():
    worlds = [world(number) for number in range(24)]
    assert sum(here.is_fair for here in worlds) == 12
    for here in worlds:
        everyone = np.ones(len(here.people), dtype=bool)
        effect = "correlation (prediction, b versus a)" if here.kind == "regression" else "difference, a minus b"
        assert (abs(truth(here, effect, everyone)) < 1e-9) == here.is_fair
        assert here.chance.sum() == pytest.approx(1)


# the intervals of every metric cover the truth as often as they say, neither less nor more

RUNS = 400
SHARES = np.array([[0.2, 0.3], [0.4, 0.1]])  # of all people, by group and output
RATES = SHARES[:, 1] / SHARES.sum(axis=1)
ROWS, COLUMNS, JOINT = (entropy(shares) for shares in (SHARES.sum(axis=1), SHARES.sum(axis=0), SHARES.ravel()))


def sample_of(**codes):
    return Sample(*(Column(name, values.astype(int), ("0", "1")) for name, values in codes.items()))


def table(rng, n):
    group, output = np.divmod(rng.choice(4, size=n, p=SHARES.ravel()), 2)
    return sample_of(group=group, output=output)


def strata(rng, n):
    """Return people whose group and output both go with their stratum; in each, the rates differ by 0.2."""
    stratum = rng.integers(2, size=n)
    group = rng.random(n) < 0.3 + 0.4 * stratum
    return sample_of(group=group, output=rng.random(n) < 0.5 + 0.3 * stratum - 0.2 * group, stratum=stratum)


def numbers(rng, n):
    x, y = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], size=n).T
    return Sample(Column("x", x), Column("y", y))


@pytest.mark.parametrize("n", [200, 2_000])  # resampled, and by large-sample theory where the metric has one
@pytest.mark.parametrize(
    ("metric", "draw", "truth"),
    [
        (Difference(smoothing=0), table, RATES[0] - RATES[1]),
        (Ratio(smoothing=0), table, RATES[0] / RATES[1]),
        (NMI(), table, (ROWS + COLUMNS - JOINT) / min(ROWS, COLUMNS)),
        (Difference(smoothing=0), strata, 0.2),
        (Correlation(), numbers, 0.3),
    ],
    ids=["difference", "ratio", "nmi", "conditional difference", "correlation"],
)
def test_intervals_of_metrics_cover_the_truth(metric, draw, truth, n):
    rng = np.random.default_rng(3)
    intervals = [metric.exact(draw(rng, n), confidence_level=0.95, rng=rng) for _ in range(RUNS)]
    low, high = binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= sum(interval.low <= truth <= interval.high for interval in intervals) <= high


# Weighted and repeated decisions against populations whose rates are known by enumeration.

# Rates of the two groups: alike, rare and alike, different.
RATES_OF_TWO = {"alike": (0.4, 0.4), "rare": (0.06, 0.06), "different": (0.55, 0.35)}
SIZES = (150, 1_000)  # people
DESIGNS = ("plain", "weights", "persons", "weights and persons")
REPEATS = {1: 0.4, 2: 0.3, 6: 0.2, 15: 0.1}  # of persons, by how many decisions are about them
SCORES = np.linspace(0.1, 0.9, 5)


def decisions(rng, design, rates, n):
    """Return decisions on people of two groups, drawn so that the weights, and the persons, make the rates true.

    Half of each group is of a stratum with a higher rate that was sampled a fifth as often; its people stand for five
    times as many. A person has a rate of their own, so that decisions on them are alike.
    """
    group = rng.integers(0, 2, n)
    rate = np.array(rates)[group]
    weights, upper = np.ones(n), np.zeros(n, dtype=bool)
    if "weights" in design:
        upper = rng.random(n) < 1 / 6  # of those in the sample
        weights = np.where(upper, 5.0, 1.0) * rng.uniform(0.5, 1.5, n)
        rate = rate * np.where(upper, 1.4, 0.6)  # half of the population each
    repeated = np.ones(n, dtype=int)
    if "persons" in design:
        repeated = rng.choice(list(REPEATS), n, p=list(REPEATS.values()))
        rate = rng.beta(1.5 * rate, 1.5 * (1 - rate))
    rows = np.repeat(np.arange(n), repeated)
    table = pd.DataFrame({"group": np.where(group, "b", "a")[rows], "person": rows, "weight": weights[rows]})
    return table.assign(decided=rng.random(len(rows)) < rate[rows])


def labels(rng, design, shift, n):
    """Return decisions with scores and true labels that are favourable by the score, in one group more often."""
    table = decisions(rng, design, (0.5, 0.5), n)
    own = rng.integers(0, 5, n)[table["person"]]  # of a person
    score = SCORES[(own + rng.integers(0, 2, len(table)) * (table["group"] == "b")) % 5]
    chance = 0.8 * score + 0.1 + shift * (table["group"] == "a")
    common = rng.random(n)[table["person"]] < 0.5  # a person's labels go by one draw half of the time
    draw = np.where(common, rng.random(n)[table["person"]], rng.random(len(table)))
    return table.assign(score=score, label=draw < chance)


def case_of(design, table):
    """Return the case of a table, with weights and persons where the design has them."""
    columns = {"weights": "weight", "person": "person"}
    own = {argument: name for argument, name in columns.items() if argument.rstrip("s") in design}
    own |= {"y_true": "label", "scores": "score"} if "label" in table else {}
    used = table.drop(columns=set(columns.values()) - set(own.values()))
    return Case.from_decisions(used, "decided", sensitive_features="group", **own)


def count_decisions():
    """Count how often intervals hold the truth, and p-values are above 0.05 where nothing differs."""
    answers = []
    for design, (kind, rates), n in product(DESIGNS, RATES_OF_TWO.items(), SIZES):
        for number in range(N_TABLES):
            rng = np.random.default_rng([number, n, len(design), int(100 * rates[0])])
            case = case_of(design, decisions(rng, design, rates, n))
            for found in GroupRates(rates=["selection rate"]).run(case).findings:
                where = f"{design}, {n} people, {kind} rates"
                holds = found.low <= rates[0] - rates[1] <= found.high
                answers.append((f"{where}: the interval holds the truth", holds, 0.95))
                if rates[0] == rates[1]:
                    answers.append((f"{where}: the p-value is above 0.05", found.p_value > 0.05, 0.95))
    for design, shift, n in product(DESIGNS, (0.0, 0.1), SIZES):
        for number in range(N_TABLES):
            rng = np.random.default_rng([number, n, len(design), int(100 * shift)])
            case = case_of(design, labels(rng, design, shift, n))
            for found in GroupRates(rates=["calibration"]).run(case).findings:
                said = f"{design}, {n} people, calibration differs by {shift:g}: the interval holds the truth"
                answers.append((said, found.low <= shift <= found.high, 0.95))
    for (kind, correlation), numbers in product(ALIKE.items(), UNEQUAL):
        for number in range(N_TABLES):
            rng = np.random.default_rng([number, numbers[0], len(kind)])
            case = case_of("persons", unequal(rng, *numbers, correlation).assign(weight=1))
            for found in GroupRates(rates=["selection rate"]).run(case).findings:  # a group may be too small
                said = f"{numbers[0]} persons, {numbers[4]} decisions of {numbers[3]:.0%}, {kind} alike"
                answers.append((f"{said}: the interval holds the truth", found.low <= 0 <= found.high, 0.95))
    for sizes, n_many, most in FEW_OF_ONE_GROUP:
        for (kind, correlation), number in product(ALIKE.items(), range(N_TABLES)):
            rng = np.random.default_rng([number, *sizes, len(kind)])
            case = case_of("persons", several_of_few(rng, sizes, n_many, most, 0.3, correlation).assign(weight=1))
            [found] = GroupRates(rates=["selection rate"]).run(case).findings
            said = f"{sizes[0]} and {sizes[1]} persons, {most} decisions of {n_many} of the first, {kind} alike"
            answers.append((f"{said}: the interval holds the truth", found.low <= 0 <= found.high, 0.95))
    for sizes, rate, times in HEAVY:
        for number in range(N_TABLES):
            case = case_of("weights", heavy(np.random.default_rng([number, *sizes]), sizes, rate, times))
            [found] = GroupRates(rates=["selection rate"]).run(case).findings
            said = f"{sizes[0]} and {sizes[1]} people, hits of {times} times the weight"
            answers.append((f"{said}: the interval holds the truth", found.low <= 0 <= found.high, 0.95))
    for name, shapes in SHAPES.items():
        for number in range(N_TABLES):
            case = of_shapes(np.random.default_rng([number, len(name)]), *shapes)
            [found] = GroupRates().run(case).findings
            answers.append((f"{name}: the interval of means holds the truth", found.low <= 0 <= found.high, 0.95))
    for sizes, means in SCORES_APART:
        for number in range(N_TABLES):
            case = calibrated(np.random.default_rng([number, *sizes]), sizes, means)
            [found] = GroupRates(rates=["calibration"]).run(case).findings
            said = f"{sizes[0]} and {sizes[1]} people, means of scores {means[0]} and {means[1]}"
            answers.append((f"{said}: the interval of a calibrated score holds 0", found.low <= 0 <= found.high, 0.95))
    return tabulate(answers)


# People of two groups and the means of their scores as log odds.
SCORES_APART = (((1_000, 1_000), (-1, 1)), ((200, 200), (-1, 1)), ((4_000, 400), (-2, 0)), ((20_000, 400), (-3, 0)))


# Persons, the share of one group, the rate of all, the share with many decisions and how many; the others have one.
UNEQUAL = ((2_000, 0.1, 0.05, 0.05, 30), (200, 0.2, 0.1, 0.2, 50), (1_000, 0.5, 0.3, 0.1, 15))
ALIKE = {"all": 1.0, "some": 0.3, "none": 1e-6}  # of the decisions on one person: the correlation of two of them


def unequal(rng, n, share, rate, heavy, most, correlation):
    """Return decisions of persons of two groups, many of a few, who are selected alike."""
    own = own_rates(rng, n, rate, correlation)
    person = np.repeat(np.arange(n), np.where(rng.random(n) < heavy, most, 1))
    table = pd.DataFrame({"group": np.where(rng.random(n) < share, "b", "a")[person], "person": person})
    return table.assign(decided=rng.random(len(person)) < own[person])


def own_rates(rng, n, rate, correlation):
    """Return the rates of persons whose decisions have a correlation."""
    if correlation == 1:
        return (rng.random(n) < rate).astype(float)
    return rng.beta(rate * (1 / correlation - 1), (1 - rate) * (1 / correlation - 1), n)


# Persons of two groups, of how many of the first there are many decisions, and how many.
FEW_OF_ONE_GROUP = (((200, 1_000), 5, 50), ((400, 4_000), 8, 50))


def several_of_few(rng, sizes, n_many, most, rate, correlation):
    """Return decisions of persons of two groups, many of a few of the first, who are selected alike."""
    n = sum(sizes)
    person = np.repeat(np.arange(n), np.where(np.arange(n) < n_many, most, 1))
    decided = rng.random(len(person)) < own_rates(rng, n, rate, correlation)[person]
    return pd.DataFrame({"group": np.where(person < sizes[0], "a", "b"), "person": person, "decided": decided})


# People of two groups, the rate of both, and how many times as heavy hits are: of a sample that was drawn by outcome.
HEAVY = (((100, 1_000), 0.1, 10), ((300, 300), 0.02, 10), ((50, 1_000), 0.2, 3))


def heavy(rng, sizes, rate, times):
    """Return decisions of people with weights, of which hits were drawn more seldom, and stand for more."""
    hit = rng.random(sum(sizes)) < rate / times / (rate / times + 1 - rate)
    weight = np.where(hit, times, 1) * rng.lognormal(0, 0.3, len(hit))
    return pd.DataFrame({"group": np.repeat(["a", "b"], sizes), "decided": hit, "weight": weight, "person": 0})


# By name: numbers of few people, and of all others, with equal means.
SHAPES = {
    "40 exponential, 1,000 normal": (lambda rng: rng.exponential(size=40), lambda rng: rng.normal(1, 1, 1_000)),
    "40 normal, 1,000 lognormal": (lambda rng: rng.normal(1, 0.3, 40), lambda rng: lognormal(rng, 1.5, 1_000)),
    "60 mostly 0, 600 exponential": (lambda rng: 10 * (rng.random(60) < 0.1), lambda rng: rng.exponential(size=600)),
    "40 and 400 lognormal": (lambda rng: lognormal(rng, 1, 40), lambda rng: lognormal(rng, 1, 400)),
}


def lognormal(rng, spread, n):
    """Return numbers with the mean 1."""
    return rng.lognormal(-(spread**2) / 2, spread, n)


def of_shapes(rng, few, others):
    """Return outcomes that are numbers, of two groups."""
    own, rest = few(rng), others(rng)
    table = pd.DataFrame({"pay": 1e3 * np.append(own, rest), "group": np.repeat(["a", "b"], [len(own), len(rest)])})
    return Case.from_decisions(table, "pay", sensitive_features="group")


def calibrated(rng, sizes, means):
    """Return decisions with scores that are the probabilities of the true labels."""
    score = expit(rng.normal(np.repeat(means, sizes), 1))
    table = pd.DataFrame(
        {"group": np.repeat(["a", "b"], sizes), "score": score, "label": rng.random(sum(sizes)) < score}
    )
    return Case.from_decisions(table, score > 0.5, sensitive_features="group", y_true="label", scores="score")


# Whole audits of tables without a model: by how much more the first sex is selected at equal points, and how many.
AUDITS = {"fair": (0.0, 300), "at the margin": (0.005, 300), "biased by 12 points": (0.12, 100)}
N_PEOPLE = 2_000


def audited(number, shift):
    """Return the report on a generated table: decisions go by points, of one sex more often by `shift`."""
    rng = np.random.default_rng([number, int(1_000 * shift)])
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N_PEOPLE),
            "race": rng.choice(list("abc"), N_PEOPLE),
            "points": rng.integers(0, 40, N_PEOPLE),
        }
    )
    chance = 0.2 + table["points"] / 80 + shift * (table["sex"] == "f")
    case = Case.from_decisions(table, rng.random(N_PEOPLE) < chance, sensitive_features=["sex", "race"])
    return audit(case, progress=False)


def count_audits():
    """Count how often whole audits say nothing of fair tables, and find what is biased."""
    answers = []
    for kind, (shift, n) in AUDITS.items():
        for number in range(n):
            found = bool(audited(number, shift).significant)
            said, stated = ("a difference is found", 0.8) if shift > 0.1 else ("no difference is found", 0.95)
            answers.append((f"{kind}: {said}", found == (shift > 0.1), stated))
    return tabulate(answers)


def test_whole_audits_of_decisions_are_as_stated():
    check(count_audits())  # what FairTest finds in subgroups changes with it


def test_intervals_and_tests_of_weighted_and_repeated_decisions_are_as_stated():
    check_committed("decisions", count_decisions())


if __name__ == "__main__":
    main("fairtest", counts)
    main("decisions", count_decisions)
    main("decisions_audits", count_audits)
