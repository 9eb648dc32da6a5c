"""Fair models, and models whose effects are exactly at the margin, are accused as seldom as stated, by every measure.

The truth is known by construction: a ticket decides, whose place between 0 and 1 has to do with nothing else, and the
groups need places that lie as far apart as the margin. What goes by the group and by tickets alone is the same in every
subgroup.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from truth import check, check_committed, main, tabulate

from fairlab import Case, audit
from fairlab.auditing import run

N_PEOPLE, BUDGET, N_MODELS = 400, 3_000, 150
MARGINS = (0.005, 0.05, 0.2, 0.5)
METHODS = ["rates", "fliptest", "fairtest", "themis"]
# How large all effects are, and the margin of the audit.
WORLDS = {"fair, margin 0.005": (0.0, 0.005)} | {f"at the margin, {margin}": (margin, margin) for margin in MARGINS}


def people(places):
    """Return people of two groups and some jobs, each with a ticket for a place."""
    rng = np.random.default_rng((1e9 * places[:2]).astype(int))
    columns = {"ticket": [f"t{place:.9f}" for place in places], "job": rng.choice(list("xyz"), len(places))}
    return pd.DataFrame(columns | {"group": rng.choice(["a", "b"], len(places))})


def place(rows):
    """Return the places of tickets."""
    return rows["ticket"].str[1:].astype(float).to_numpy()


def deciding(places, difference, **options):
    """Return a case in which selection rates of groups, and decisions on people of another group, differ so much."""

    def model(rows):
        return place(rows) > 0.5 + difference * ((rows["group"] == "b") - 0.5)

    return Case(model, people(places), sensitive_features="group", pos_label=True, **options)


def numbered(places, correlation):
    """Return a case of a regression whose numbers have this correlation with the group."""

    def model(rows):
        return 2 * correlation / np.sqrt(1 - correlation**2) * (rows["group"] == "b") + np.sqrt(12) * place(rows)

    return Case(model, people(places), sensitive_features="group")


def noisy(rng, places, flips):
    """Return a case of a model that draws each answer, with chances whose squared difference is that flip rate."""

    def model(rows):
        return rng.random(len(rows)) < 0.5 + np.sqrt(flips) * ((rows["group"] == "b") - 0.5)

    return Case(model, people(places), sensitive_features="group", pos_label=True)


def findings(number, effect, margin):
    """Yield measures and findings of models whose truth is `effect`, and the reports of whole audits.

    Of every second model the places of tickets are evenly spread, so that the table's own tickets, which generated
    inputs are drawn from, have the effect exactly; of the others they are drawn, and people alone have it.
    """
    rng = np.random.default_rng([number, int(1000 * effect), 49])
    is_even = number % 2 == 0
    places = (rng.permutation(N_PEOPLE) + 0.5) / N_PEOPLE if is_even else rng.random(N_PEOPLE)
    options = {"margin": margin, "budget": BUDGET, "verdict_on": "all" if is_even else "people", "progress": False}
    case = deciding(places, effect, y_true=rng.random(N_PEOPLE) < 0.5)
    reports = {"decisions": audit(case, methods=METHODS, **options)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is a regression, or not deterministic
        reports["numbers"] = audit(numbered(rng.random(N_PEOPLE), effect), methods=["fairtest"], **options)
        of_noise = noisy(rng, places, effect)
    for name, report in reports.items():
        yield f"a whole audit of {name}", report
        for finding in report.findings:
            if finding.measure != "excess_flip_rate" and (is_even or finding.population == "people"):
                where = "" if finding.where in ("everyone", finding.population) else " in subgroups"
                yield f"{finding.measure} ({finding.population}{where})", finding
    # Matched people are decided otherwise as often as both are drawn apart: the square of the difference.
    [excess] = run("fliptest", deciding(rng.random(N_PEOPLE), np.sqrt(effect)), budget=0).findings
    yield "excess_flip_rate (people)", excess
    [beyond_noise] = run("themis", of_noise, budget=BUDGET).findings
    yield "counterfactual_flip_rate beyond noise (people)", beyond_noise


def checked(number, world):
    """Yield statements, whether each holds of a model, and the share that is stated: of a measure one finding."""
    effect, margin = WORLDS[world]
    rng, by_measure = np.random.default_rng([number, 50]), {}
    for measure, found in findings(number, effect, margin):
        by_measure.setdefault(measure, []).append(found)
    for measure, found in by_measure.items():
        one = found[rng.integers(len(found))]
        is_whole = measure.startswith("a whole audit")
        accused = bool(one.significant) if is_whole else one.p_value_beyond(one.against(margin)) <= 0.05
        yield f"{world}: not accused by {measure}", not accused, 0.95


def counts(numbers=range(N_MODELS)):
    """Return how often each statement holds."""
    answers = [answer for world in WORLDS for number in numbers for answer in checked(number, world)]
    return tabulate(answers).sort_values("statement", ignore_index=True)


@pytest.mark.parametrize("world", WORLDS)
def test_a_few_models_at_the_margin_are_not_accused(world):
    table = tabulate(checked(0, world))
    check(table)
    assert len(table) >= 10


def test_a_model_beyond_the_margin_is_accused_by_every_measure():
    found = {}
    for measure, each in findings(0, 0.5, 0.05):
        found.setdefault(measure, []).append(each)
    for measure, several in found.items():
        if not measure.startswith(("a whole", "error")):
            assert min(each.p_value_beyond(each.against(0.05)) for each in several) <= 0.05, measure


@pytest.mark.slow
def test_models_at_the_margin_are_accused_as_seldom_as_stated():
    check_committed("margins", counts())


if __name__ == "__main__":
    main("margins", counts)
