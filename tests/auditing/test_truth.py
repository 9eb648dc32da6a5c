"""What an audit as a whole promises, on generated models whose truth is known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from truth import FOLDER, check, check_committed, main, tabulate

from fairlab import Case, audit, compare
from fairlab.auditing.audits import run
from fairlab.fairtest import GroupRates
from fairlab.statistics import exact_interval, share_p_value, smallest_share

N_DRAWN = 300
N_QUERIES = 4_000


def generated_case(number, effect):
    """Return the case of model `number`, in which being in group b is worth `effect`: labels or scores, seen or not."""
    rng = np.random.default_rng([number, 14])
    # The group has to do with nothing.
    columns = {
        "income": rng.gamma(4, 8_000, N_DRAWN).round(),
        "years": rng.integers(0, 40, N_DRAWN),
        "job": rng.choice(["clerk", "miner", "nurse"], N_DRAWN),
        "group": rng.choice(["a", "b"], N_DRAWN),
    }
    table, weights = pd.DataFrame(columns), rng.normal(size=3)
    worth = pd.Series(rng.normal(size=3), index=["clerk", "miner", "nurse"])

    def odds(rows):
        income, years = (rows["income"] - 32_000) / 16_000, (rows["years"] - 20) / 12
        group = effect * (rows["group"] == "b") if "group" in rows else 0
        return weights[0] * income + weights[1] * years + rows["job"].map(worth).astype(float) + group

    def probability(rows):
        return 1 / (1 + np.exp(-odds(rows).to_numpy()))

    truth = rng.random(N_DRAWN) < probability(table)
    features = None if effect or number % 2 else ["income", "years", "job"]
    model, options = (
        (lambda rows: odds(rows).to_numpy() > 0, {"pos_label": True})
        if number % 4 < 2
        else (probability, {"decision_threshold": 0.5})
    )
    return Case(
        model, table, sensitive_features="group", features=features, y_true=truth, **({"pos_label": True} | options)
    )


def is_accused(number, effect):
    """Return whether the audit of a model, to which group b is worth `effect`, has a significant finding."""
    return bool(audit(generated_case(number, effect), budget=N_QUERIES, progress=False).significant)


def holds_the_change(number):
    """Return whether the interval of the change of a gap, from one rule over ten districts to another, holds it.

    Groups have shares of districts, so that both gaps can be added up.
    """
    rng = np.random.default_rng([number, 41])
    shares = rng.dirichlet(np.ones(10), size=2)
    rules = rng.random((2, 10)) < 0.5
    gaps = (shares[1] - shares[0]) @ rules.T
    group = rng.integers(0, 2, N_DRAWN)
    district = np.array([rng.choice(10, p=shares[g]) for g in group])
    table = pd.DataFrame({"district": district, "group": np.array(["a", "b"])[group]})

    def case(rule):
        return Case(lambda rows: rule[rows["district"].astype(int)], table, sensitive_features="group", pos_label=True)

    [row] = compare(case(rules[0]), case(rules[1])).to_frame().itertuples()
    return row.low <= abs(gaps[1]) - abs(gaps[0]) <= row.high


def noisy_case(number, *, effect):
    """Return a case whose model draws each answer anew, and the mean of (p - q)² over its people.

    The chance of a favourable answer goes by the district, and with an effect by the group, too.
    """
    rng = np.random.default_rng([number, 53])
    chances = np.tile(rng.random((10, 1)), 2)
    if effect:
        chances[:, 1] = rng.random(10)
    table = pd.DataFrame({"district": rng.integers(0, 10, N_DRAWN), "group": rng.choice(["a", "b"], N_DRAWN)})

    def model(rows):
        return rng.random(len(rows)) < chances[rows["district"].astype(int), (rows["group"] == "b").astype(int)]

    with warnings.catch_warnings(action="ignore"):  # that it is not deterministic
        case = Case(model, table, sensitive_features="group", pos_label=True)
    return case, (np.diff(chances, axis=1)[:, 0] ** 2 @ np.bincount(table["district"], minlength=10)) / N_DRAWN


def beyond_noise(number, *, effect):
    """Return whether the flip rate of a noisy model is significant, and whether its interval holds the true one."""
    case, truth = noisy_case(number, effect=effect)
    [found] = run("themis", case, budget=N_QUERIES).findings
    return found.p_value <= 0.05, found.low <= truth <= found.high


def finds_the_smallest_gap(number):
    """Return whether new people are found to differ by the gap that a fair model's report names as the smallest.

    The rate of all together stays. Tests are at the level and margin of a report with four tests.
    """
    rng = np.random.default_rng([number, 80])
    level, margin, rate = 0.05 / 4, 0.005, rng.uniform(0.1, 0.5)
    group = rng.choice(["a", "b"], N_DRAWN, p=rng.dirichlet([5, 5]))

    def gap(rates):
        table = pd.DataFrame({"decision": rng.random(N_DRAWN) < np.where(group == "a", *rates), "group": group})
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
    "a fair model raises no alarm in the whole audit": (lambda number: not is_accused(number, 0.0), 300, 0.95),
    "a model with a clear rule raises one": (lambda number: is_accused(number, 2.0), 100, 0.95),
    "the interval of a changed gap holds the true change": (holds_the_change, 300, 0.95),
    "a noisy model that treats groups alike has no flip rate beyond its noise": (
        lambda number: not beyond_noise(number, effect=False)[0],
        300,
        0.95,
    ),
    "the interval of a flip rate beyond noise holds the true one": (
        lambda number: beyond_noise(number, effect=True)[1],
        300,
        0.95,
    ),
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


# Effects that are exactly at the margin are accused, and said to be within it, as seldom as stated, by every measure.
# The truth is known by construction: a ticket decides, whose place between 0 and 1 has to do with nothing else, and the
# groups need places that lie as far apart as the margin. What goes by the group and by tickets alone is the same in
# every subgroup.

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
    options |= {"sensitive_features": "group", "pos_label": True}
    return Case(lambda rows: place(rows) > 0.5 + difference * ((rows["group"] == "b") - 0.5), people(places), **options)


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
    with warnings.catch_warnings(action="ignore"):  # that it is a regression, or not deterministic
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


# Within: tables of decisions that are drawn with an effect of exactly the margin.

N_AUDITS, AT = 300, 0.2
DESIGNS = ("plain", "weights", "persons", "weights and persons", "small groups")


def surveyed(rng, design, n, *, share=0.5):
    """Return rows of people: a sensitive group, points, a weight, a person, and each person's own odds.

    `odds` has to be multiplied with a chance of 1/2 at most. By design the people of an upper stratum, whose odds are
    higher, were sampled a fifth as often and stand for five times as many; a person has one to six rows, which are
    alike; or a group has 80 people. Weighted odds are 1 on average.
    """
    share = 80 / n if "small" in design else share
    upper = rng.random(n) < 1 / 6 if "weights" in design else np.zeros(n, dtype=bool)
    odds = np.where(upper, 1.4, 0.6) if "weights" in design else np.ones(n)
    rows = np.repeat(np.arange(n), rng.choice([1, 2, 6], n) if "persons" in design else 1)
    columns = {"group": np.where(rng.random(n) < share, "a", "b"), "points": rng.integers(0, 40, n), "odds": odds}
    return (
        pd.DataFrame(columns | {"weight": np.where(upper, 5.0, 1.0), "person": np.arange(n)})
        .iloc[rows]
        .reset_index(drop=True)
    )


def drawn(rng, chance, people):
    """Return what happens to rows with chances, in half of the cases by one draw for all rows of a person."""
    codes = people["person"].to_numpy()
    common, own = rng.random(codes.max() + 1), rng.random(len(people))
    return np.where(rng.random(codes.max() + 1)[codes] < 0.5, common[codes], own) < chance


def audited(design, people, decisions, methods, **options):
    """Return the audit of decisions of a design, whose margin is the effect."""
    own = {"weights": "weight"} if "weights" in design else {}
    own |= {"person": "person"} if "persons" in design else {}
    used = people.drop(columns={"odds", "weight", "person"} - set(own.values()))
    sensitive = [name for name in ("group", "race", "age") if name in used]
    with warnings.catch_warnings(action="ignore"):
        case = Case.from_decisions(used, decisions, sensitive_features=sensitive, **own, **options)
    return audit(case, methods=methods, margin=AT / 2, within=AT, progress=False)


def selected(rng, design, methods=("rates",), n=1_000):
    """Selection and error rates, of everyone and in subgroups; the true label has to do with nothing."""
    people = surveyed(rng, design, n)
    chance = people["odds"] * (0.4 + AT * ((people["group"] == "a") - 0.5))
    label = drawn(rng, 0.5, people)
    return audited(design, people, drawn(rng, chance, people), methods, y_true=label)


def intersecting(rng, design, n=1_500):
    """One of six intersections is selected more often than everyone else."""
    people = surveyed(rng, design, n).assign(race=lambda rows: np.array(list("uvw"))[rows["person"] % 3])
    chance = people["odds"] * (0.3 + AT * ((people["group"] == "a") & (people["race"] == "u")))
    return audited(design, people, drawn(rng, chance, people), ["rates"])


def mistaken(rng, design, n=1_000):
    """Decisions are wrong more often in one group, whichever the label is."""
    people = surveyed(rng, design, n)
    label, wrong = (drawn(rng, chance, people) for chance in (0.5, 0.3 + AT * ((people["group"] == "a") - 0.5)))
    return audited(design, people, label ^ wrong, ["fairtest"], y_true=label)


def calibrated(rng, design, n=1_000):
    """At equal scores labels are favourable more often in one group."""
    people = surveyed(rng, design, n)
    scores = rng.integers(0, 5, people["person"].max() + 1)[people["person"]] / 5
    label = drawn(rng, people["odds"] * (0.15 + 0.3 * scores + AT * (people["group"] == "a")), people)
    return audited(design, people, scores > 0.3, [GroupRates(rates=["calibration"])], y_true=label, scores=scores)


def meant(rng, design, n=1_000):
    """Numbers differ in their means."""
    people = surveyed(rng, design, n)
    own = rng.normal(size=(people["person"].max() + 1)) + rng.exponential(size=(people["person"].max() + 1))
    numbers = 0.3 * (own[people["person"]] + rng.normal(size=len(people)) + people["odds"])
    return audited(design, people, numbers + AT * (people["group"] == "a"), [GroupRates(mean_margin=AT)])


def correlated(rng, design, n=1_000):
    """Numbers are correlated with the group, and as much with an age."""
    people = surveyed(rng, design, n).assign(age=lambda rows: rng.normal(size=n)[rows["person"]])
    rest = np.sqrt(1 - 2 * AT**2)
    numbers = AT * (2 * (people["group"] == "a") - 1 + people["age"]) + rest * rng.normal(size=len(people))
    return audited(design, people, numbers, ["fairtest"])


def matched(rng, design, n=600):
    """Matched people are decided otherwise beyond chance: the square of the difference."""
    people = surveyed(rng, design, n)
    chance = 0.5 + np.sqrt(AT) * ((people["group"] == "a") - 0.5)
    return audited(design, people, drawn(rng, chance, people), ["fliptest"])


def shown_to_model(rng, design, n=400):
    """Decisions of a model change with the group, of people and of generated inputs."""
    case = deciding((rng.permutation(n) + 0.5) / n, AT)
    return audit(case, methods=["themis"], margin=AT / 2, within=AT, verdict_on="all", budget=BUDGET, progress=False)


def selected_in_subgroups(rng, design):
    """Selection rates as above, in subgroups."""
    return selected(rng, design, ["fairtest"])


# How tables are drawn and audited: the designs, and which findings are at the margin.
AT_MARGIN = {
    selected: (
        DESIGNS,
        {
            f"{rate} rate": lambda each, rate=rate: each.measure == f"{rate.replace(' ', '_')}_rate_difference"
            for rate in ("selection", "true positive", "false positive")
        },
    ),
    intersecting: (DESIGNS[:4], {"intersection": lambda each: "difference, a, u minus" in each.effect}),
    calibrated: (DESIGNS, {"calibration": lambda each: True}),
    meant: (DESIGNS, {"mean": lambda each: True}),
    mistaken: (("plain", "persons"), {"error rate, subgroup": lambda each: each.measure == "error_rate_difference"}),
    selected_in_subgroups: (
        ("plain", "persons", "small groups"),
        {"selection rate, subgroup": lambda each: each.measure == "selection_rate_difference"},
    ),
    correlated: (
        ("plain", "persons"),
        {
            "correlation": lambda each: each.where == "everyone",
            "correlation, subgroup": lambda each: each.where != "everyone",
        },
    ),
    matched: (("plain", "persons", "small groups"), {"excess flips of matched people": lambda each: True}),
    shown_to_model: (("plain",), {"flips by a model": lambda each: True}),
}
WORLDS_AT = [(make, design) for make, (designs, _) in AT_MARGIN.items() for design in designs]


def said_within(number, make, design):
    """Yield of each measure whether a comparison at the margin is ruled out by itself, and whether an audit says so."""
    rng = np.random.default_rng([number, 55, *map(ord, make.__name__ + design)])
    report = make(rng, design)
    for measure, is_at in AT_MARGIN[make][1].items():
        at = report.frame[[is_at(each) for each in report.findings]]
        if len(at):
            one = at["p_value_within"].iloc[rng.integers(len(at))]
            yield f"{measure}, {design}: a comparison at the margin is not ruled out by itself", one > 0.05, 0.95
            wrong = report.is_within or (at["answer"] == "ruled out").any()
            yield f"{measure}, {design}: an audit does not rule out one at the margin", not wrong, 0.95


def count_within(n_audits=N_AUDITS):
    """Return how often within is not said of what is at the margin, with binomial intervals, by measure and design."""
    table = tabulate(
        answer for world in WORLDS_AT for number in range(n_audits) for answer in said_within(number, *world)
    )
    low, high = exact_interval(table["held"].to_numpy(), table["models"].to_numpy(), alpha=0.05)
    return table.assign(low=low, high=high).round(4)


@pytest.mark.parametrize(("make", "design"), WORLDS_AT)
def test_a_few_effects_at_the_margin_are_not_said_to_be_within(make, design):
    table = tabulate(answer for number in range(4) for answer in said_within(number, make, design))
    check(table)
    assert len(table) == 2 * len(AT_MARGIN[make][1]), "each measure has a comparison at the margin"


@pytest.mark.slow
def test_effects_at_the_margin_are_said_to_be_within_as_seldom_as_stated():
    check_committed("margins_within", count_within())


if __name__ == "__main__":
    main("auditing", lambda: tabulate(row for statement in STATEMENTS for row in counted(statement)))
    main("margins", counts)
    main("margins_within", count_within)
