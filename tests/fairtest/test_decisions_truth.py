"""Weighted and repeated decisions against populations whose rates are known by enumeration; slow."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from truth import check, check_committed, main, tabulate

from fairlab import Case, audit
from fairlab.fairtest import GroupRates

pytestmark = pytest.mark.slow

N_TABLES = 400
# Rates of the two groups: alike, rare and alike, different.
RATES = {"alike": (0.4, 0.4), "rare": (0.06, 0.06), "different": (0.55, 0.35)}
SIZES = (150, 1_000)  # people
DESIGNS = ("plain", "weights", "persons", "weights and persons")
SHARES = {1: 0.4, 2: 0.3, 6: 0.2, 15: 0.1}  # of persons, by how many decisions are about them
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
        repeated = rng.choice(list(SHARES), n, p=list(SHARES.values()))
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


def count():
    """Count how often intervals hold the truth, and p-values are above 0.05 where nothing differs."""
    answers = []
    for design, (kind, rates), n in product(DESIGNS, RATES.items(), SIZES):
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
    return tabulate(answers)


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
    check_committed("decisions", count())


if __name__ == "__main__":
    main("decisions", count)
    main("decisions_audits", count_audits)
