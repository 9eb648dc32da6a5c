"""What an audit as a whole promises, on generated models whose truth is known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from truth import FOLDER, check, main, tabulate

from fairlab import Case, audit, compare
from fairlab.auditing.audits import run
from fairlab.statistics import share_p_value, smallest_share

N_PEOPLE = 300
BUDGET = 4_000


def people(rng):
    """Return people whose sensitive column has to do with nothing: numbers in raw units, a word, and the group."""
    return pd.DataFrame(
        {
            "income": rng.gamma(4, 8_000, N_PEOPLE).round(),
            "years": rng.integers(0, 40, N_PEOPLE),
            "job": rng.choice(["clerk", "miner", "nurse"], N_PEOPLE),
            "group": rng.choice(["a", "b"], N_PEOPLE),
        }
    )


def generated_case(number, effect):
    """Return the case of model `number`, in which being in group b is worth `effect`: labels or scores, seen or not."""
    rng = np.random.default_rng([number, 14])
    table, weights = people(rng), rng.normal(size=3)
    worth = pd.Series(rng.normal(size=3), index=["clerk", "miner", "nurse"])

    def odds(rows):
        income, years = (rows["income"] - 32_000) / 16_000, (rows["years"] - 20) / 12
        group = effect * (rows["group"] == "b") if "group" in rows else 0
        return weights[0] * income + weights[1] * years + rows["job"].map(worth).astype(float) + group

    def probability(rows):
        return 1 / (1 + np.exp(-odds(rows).to_numpy()))

    def labels(rows):
        return odds(rows).to_numpy() > 0

    truth = rng.random(N_PEOPLE) < probability(table)
    features = None if effect or number % 2 else ["income", "years", "job"]
    model, options = (labels, {"pos_label": True}) if number % 4 < 2 else (probability, {"decision_threshold": 0.5})
    return Case(
        model, table, sensitive_features="group", features=features, y_true=truth, **({"pos_label": True} | options)
    )


def is_silent(number):
    """Return whether the audit of a fair model has no significant finding."""
    return not audit(generated_case(number, 0.0), budget=BUDGET, progress=False).significant


def is_found(number):
    """Return whether the audit of a model that plainly prefers group b has one."""
    return bool(audit(generated_case(number, 2.0), budget=BUDGET, progress=False).significant)


def two_models(number, *, equal):
    """Return a comparison of two rules over ten districts, and how the size of the gap between groups truly changes.

    Districts are told apart by the groups' shares in them, so that both gaps can be added up.
    """
    rng = np.random.default_rng([number, 41])
    shares = rng.dirichlet(np.ones(10), size=2)
    rules = rng.random((2, 10)) < 0.5
    rules[1] = rules[0] if equal else rules[1]
    gaps = (shares[1] - shares[0]) @ rules.T
    group = rng.integers(0, 2, N_PEOPLE)
    district = np.array([rng.choice(10, p=shares[g]) for g in group])
    table = pd.DataFrame({"district": district, "group": np.array(["a", "b"])[group]})

    def case(rule):
        return Case(lambda rows: rule[rows["district"].astype(int)], table, sensitive_features="group", pos_label=True)

    return compare(case(rules[0]), case(rules[1])), abs(gaps[1]) - abs(gaps[0])


def holds_the_change(number):
    """Return whether the interval of the change of a gap holds the true one."""
    compared, change = two_models(number, equal=False)
    [row] = compared.to_frame().itertuples()
    return row.low <= change <= row.high


def noisy_case(number, *, effect):
    """Return a case whose model draws each answer anew, and the mean of (p - q)² over its people.

    The chance of a favourable answer goes by the district, and with an effect by the group, too.
    """
    rng = np.random.default_rng([number, 53])
    chances = np.tile(rng.random((10, 1)), 2)
    if effect:
        chances[:, 1] = rng.random(10)
    table = pd.DataFrame({"district": rng.integers(0, 10, N_PEOPLE), "group": rng.choice(["a", "b"], N_PEOPLE)})

    def model(rows):
        return rng.random(len(rows)) < chances[rows["district"].astype(int), (rows["group"] == "b").astype(int)]

    with warnings.catch_warnings(action="ignore"):  # that it is not deterministic
        case = Case(model, table, sensitive_features="group", pos_label=True)
    return case, (np.diff(chances, axis=1)[:, 0] ** 2 @ np.bincount(table["district"], minlength=10)) / N_PEOPLE


def is_silent_beyond_noise(number):
    """Return whether a noisy model that treats both groups alike has no significant flip rate."""
    [found] = run("themis", noisy_case(number, effect=False)[0], budget=BUDGET).findings
    return found.p_value > 0.05


def holds_beyond_noise(number):
    """Return whether the interval of a flip rate beyond noise holds the true one."""
    case, truth = noisy_case(number, effect=True)
    [found] = run("themis", case, budget=BUDGET).findings
    return found.low <= truth <= found.high


def finds_the_smallest_gap(number):
    """Return whether new people are found to differ by the gap that a fair model's report names as the smallest.

    The rate of all together stays. Tests are at the level and margin of a report with four tests.
    """
    rng = np.random.default_rng([number, 80])
    level, margin, rate = 0.05 / 4, 0.005, rng.uniform(0.1, 0.5)
    group = rng.choice(["a", "b"], N_PEOPLE, p=rng.dirichlet([5, 5]))

    def gap(rates):
        table = pd.DataFrame({"decision": rng.random(N_PEOPLE) < np.where(group == "a", *rates), "group": group})
        case = Case(lambda rows: rows["decision"], table, sensitive_features="group", pos_label=True)
        return run("rates", case, budget=0).findings[0]

    size, share = gap([rate, rate]).smallest(level, margin), (group == "a").mean()
    return gap(np.clip([rate - (1 - share) * size, rate + share * size], 0, 1)).test(margin) <= level


def finds_the_smallest_share(number):
    """Return whether a flip rate of the size named as the smallest is found."""
    rng = np.random.default_rng([number, 81])
    n, level, margin = int(rng.integers(100, 5_000)), 0.05 / rng.integers(1, 10), 0.005
    return share_p_value(int(rng.binomial(n, smallest_share(n, level, margin))), n, margin) <= level


STATEMENTS = {
    "a fair model raises no alarm in the whole audit": (is_silent, 300, 0.95),
    "a model with a clear rule raises one": (is_found, 100, 0.95),
    "the interval of a changed gap holds the true change": (holds_the_change, 300, 0.95),
    "a noisy model that treats groups alike has no flip rate beyond its noise": (is_silent_beyond_noise, 300, 0.95),
    "the interval of a flip rate beyond noise holds the true one": (holds_beyond_noise, 300, 0.95),
    "a gap of the size named as the smallest is found": (finds_the_smallest_gap, 300, 0.8),
    "a flip rate of the size named as the smallest is found": (finds_the_smallest_share, 300, 0.8),
}


def counted(statement):
    """Yield whether a statement holds of each of its models."""
    holds, models, stated = STATEMENTS[statement]
    for number in range(models):
        yield statement, bool(holds(number)), stated


@pytest.mark.slow
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_counts_come_out_again_and_are_as_stated(statement):
    committed = pd.read_csv(FOLDER / "auditing.csv").query("statement == @statement").reset_index(drop=True)
    pd.testing.assert_frame_equal(tabulate(counted(statement)), committed)


@pytest.mark.parametrize(
    "method", ["adf", "auditing", "fairtest", "fliptest", "individual_fairness", "margins_within", "themis"]
)
def test_committed_counts_are_within_what_is_stated(method):
    table = pd.read_csv(FOLDER / f"{method}.csv")
    check(table)
    assert table["models"].min() >= 20
    assert table["models"].max() >= 300


if __name__ == "__main__":
    main("auditing", lambda: tabulate(row for statement in STATEMENTS for row in counted(statement)))
