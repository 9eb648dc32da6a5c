import numpy as np
import pandas as pd
import pytest

from fairlab import audit
from fairlab.auditing import run
from fairlab.auditing.noisy import RepeatedPairs
from fairlab.auditing.probes.themis import FLIPS, GROUP, INPUTS
from fairlab.cases.case import Case


def people(n=600):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", None], n),
            "old": rng.random(n) < 0.3,
            "income": rng.normal(30_000, 9_000, n).round(),
            "job": pd.Categorical(rng.choice(["x", "y", "z"], n)),
        },
        index=[f"p{k}" for k in range(n)],
    )


def unfair(rows):
    return (rows["income"] > 30_000) & ~((rows["sex"] == "f") & (rows["job"] == "x"))


def fair(rows):
    return rows["income"] > 30_000


def test_three_findings_for_each_column_and_for_all_together():
    case = Case(unfair, people(), sensitive_features=["sex", "race"])
    found = run("themis", case, budget=20_000, confidence_level=0.999)
    table = found.to_frame()
    assert list(zip(table["sensitive_features"], table["effect"], table["population"], strict=True)) == [
        (name, effect, population)
        for name in ("sex", "race", "sex and race")
        for effect, population in ((FLIPS, "people"), (FLIPS, INPUTS), (GROUP, INPUTS))
    ]
    assert found.skipped == ()
    by = table.set_index(["sensitive_features", "population", "effect"]).sort_index()
    # Incomes above the threshold and one of three jobs, drawn one by one from the table.
    truth = (case.table["income"] > 30_000).mean() * (case.table["job"] == "x").mean()
    for name in ("sex", "sex and race"):
        assert (by.loc[name, "p_value"] < 1e-9).all()
        assert by.loc[(name, INPUTS, FLIPS), "low"] < truth < by.loc[(name, INPUTS, FLIPS), "high"]
    race = by.loc["race"]
    assert (race["estimate"] == 0).all()
    assert (race["p_value"] == 1).all()
    refused = (case.table["income"] > 30_000) & (case.table["job"] == "x")
    finding = found.findings[0]
    assert (finding.estimate, finding.n) == (refused.mean(), 600), "all people are counted"
    assert f"({refused.sum()} of 600)" in finding.sentence
    women = case.table["sex"] == "f"
    assert finding.by_group.to_dict("index") == {
        "f": {"people": women.sum(), "lose": (refused & women).sum(), "gain": 0},
        "m": {"people": (~women).sum(), "lose": 0, "gain": (refused & ~women).sum()},
    }
    evidence = finding.evidence
    assert evidence.index.isin(case.table.index[refused]).all()
    assert not evidence["favourable"].iloc[0], "those who lose come first"
    assert len(found.findings[3].evidence) == 0


@pytest.mark.parametrize("share", [0.0105, 0.0345, 0.069])
def test_a_rule_for_a_few_people_is_reported_with_its_share_of_them_before_generated_inputs(share):
    n = 6_000
    table = pd.DataFrame({"sex": np.tile(["f", "m"], n // 2), "points": np.random.default_rng(0).permutation(n)})
    few = round(share * n)
    case = Case(
        lambda rows: (rows["points"] >= few + 3_000 * (rows["sex"] == "f")) | (rows["points"] >= few + 3_000),
        table.assign(points=np.where(table["points"] < few, 3_000 + table["points"], 9_000)),
        sensitive_features="sex",
    )
    report = audit(case, progress=False)
    flips = [finding for finding in report.findings if finding.effect == FLIPS]
    assert [finding.population for finding in flips] == ["people", INPUTS]
    assert flips[0].estimate == pytest.approx(share)
    assert [finding.population for finding in report.findings] == sorted(
        (finding.population for finding in report.findings), reverse=True
    )
    assert flips[0] in report.significant


def test_a_rule_that_next_to_nobody_is_concerned_by_decides_no_verdict():
    n = 2_000
    table = pd.DataFrame({"sex": np.tile(["f", "m"], n // 2), "a": np.arange(n) % 50, "b": (np.arange(n) * 7) % 40})
    case = Case(
        lambda rows: (rows["a"] == 3) & (rows["b"] == 9) & (rows["sex"] == "f"), table, sensitive_features="sex"
    )
    report = audit(case, methods=["themis"], progress=False)
    flips = [finding for finding in report.findings if finding.effect == FLIPS]
    assert [finding.estimate < 0.005 for finding in flips] == [True, True]
    assert (report.verdict, report.is_significant.any()) == ("no difference found", False)
    assert (report.to_frame()["p_value"] > 0).all()


def test_intervals_about_generated_inputs_hold_what_enumeration_gives():
    table = people().drop(columns=["race", "old"])
    case = Case(unfair, table, sensitive_features="sex")
    truth = (table["income"] > 30_000).mean() * (table["job"] == "x").mean()
    held = []
    for seed in range(40):
        of_inputs = run("themis", case, budget=3_000, random_state=seed).to_frame().query("population != 'people'")
        held += [row.low <= truth <= row.high for row in of_inputs.itertuples()]
        assert (of_inputs["low"] < of_inputs["high"]).all()
    assert np.mean(held) >= 0.95


def test_people_are_sampled_where_the_budget_does_not_count_all():
    found = run("themis", Case(unfair, people(), sensitive_features=["sex", "race"]), budget=1_200).findings
    of_people = [finding for finding in found if finding.population == "people"]
    assert [finding.n for finding in of_people] == [300, 150, 60]
    assert ", a random sample of the 600)" in of_people[0].sentence


def test_what_a_small_budget_leaves_out_is_said():
    case = Case(unfair, people(), sensitive_features=["sex", "race"])
    nothing = run("themis", case, budget=0)
    assert nothing.findings == ()
    assert nothing.n_queries == 0
    assert len(nothing.skipped) == 3
    assert "sex: 2 combinations of values on 20 inputs and people are more than" in nothing.skipped[0]
    assert "its part of the budget, 0 rows" in nothing.skipped[0]


def test_sets_in_between_are_looked_at_unless_a_part_of_them_suffices():
    def rarely_alone(rows):  # each column alone changes few decisions, sex and race together many
        first, second = rows["sex"] == "f", rows["race"] == "a"
        return np.where(first & second, rows["income"] > 60_000, rows["income"] > 10_000) & ~rows["old"]

    def names(model, **options):
        case = Case(model, people(), sensitive_features=["sex", "race", "old"])
        return run("themis", case, budget=60_000, **options).to_frame()["sensitive_features"].unique().tolist()

    ends = ["sex", "race", "old", "sex, race and old"]
    assert names(rarely_alone) == ends, "each column alone is above the threshold"
    assert names(fair) == ends, "all together are below it"
    between = names(lambda rows: (rows["sex"] == "f") & (rows["race"] == "a") & rows["old"], min_score=0.7)
    assert between == [*ends, "sex and race", "sex and old", "race and old"]
    # Sex alone decides a quarter, and what contains it needs no look.
    assert names(lambda rows: (rows["sex"] == "f") & (rows["race"] == "a"), min_score=0.4) == [
        *ends[:4],
        "sex and old",
    ]


def test_unseen_columns_have_no_direct_effect_and_proxies_are_varied_where_asked_for():
    table = people()
    table["height"] = 165 + 20 * (table["sex"] == "m") + np.arange(len(table)) % 7
    case = Case(
        lambda rows: rows["height"] > 175, table, sensitive_features=["sex", "race"], features=["height", "job"]
    )
    plain = run("themis", case, budget=5_000)
    assert plain.findings == ()
    assert [line.split(":")[0] for line in plain.skipped] == ["sex", "race"]
    assert "its direct effect is 0 by construction; proxies= varies" in plain.skipped[0]
    found = run("themis", case, budget=5_000, proxies=True)
    assert {finding.sensitive_features for finding in found.findings} == {"sex (through height)"}
    assert found.skipped == (
        "race: the model does not get it, so that its direct effect is 0 by construction; no feature predicts it well.",
    )
    named = run("themis", case, budget=5_000, proxies={"race": ["job"]})
    assert {finding.sensitive_features for finding in named.findings} == {"race (through job)"}
    assert all(finding.p_value == 1 for finding in named.findings)
    assert len(named.skipped) == 1


def test_a_model_that_fails_on_other_values_is_said_not_raised():
    table = people()
    table.loc[table["sex"] == "f", "job"] = "x"

    def brittle(rows):
        if ((rows["sex"] == "f") & (rows["job"] != "x")).any():
            raise RuntimeError("no woman has this job")
        return fair(rows)

    found = run("themis", Case(brittle, table, sensitive_features=["sex", "race"]), budget=20_000)
    assert {finding.sensitive_features for finding in found.findings} == set()
    assert all("the model cannot be queried with other values" in line for line in found.skipped)
    assert "no woman has this job" in found.skipped[0]


def test_repeated_pairs_of_a_model_without_noise_count_flips():
    case = Case(unfair, people(), sensitive_features=["sex", "race"])
    counted = run("themis", case, budget=20_000).findings[0]
    rng = np.random.default_rng(0)
    pairs = RepeatedPairs(case, ("sex",), np.arange(600), rng, 0.05)
    assert (pairs.estimate, pairs.hits.sum()) == (counted.estimate, counted.estimate * 600)
    assert pairs.low < counted.estimate < pairs.high
    assert not RepeatedPairs(case, ("race",), np.arange(600), rng, 0.05).signs.any()
    others = pairs.evidence(1_000)
    assert (others["sex"] != others["other sex"]).all()
    assert others.index.tolist()[: (~others["favourable"]).sum()] == others.index[~others["favourable"]].tolist()


def test_a_noisy_model_is_asked_twice_about_everybody(recwarn):
    rng = np.random.default_rng(0)
    seen = []

    def noisy(rows):
        seen.append(rows)
        return rng.random(len(rows)) < np.where(rows["sex"] == "f", 0.1, 0.9)

    case = Case(noisy, people(), sensitive_features=["sex", "race"])
    seen.clear()
    found = run("themis", case, budget=100_000)
    assert [f.sensitive_features for f in found.findings] == ["sex", "race", "sex and race"]
    assert [(len(rows), len(rows.drop_duplicates())) for rows in seen] == [(2_400, 1_200)] * 3
    sex, race, _ = found.findings
    assert sex.low < 0.64 < sex.high, "(.1 - .9)²"
    assert (race.low, race.estimate < 0.01, race.p_value > 0.05, len(race.evidence)) == (0, True, True, 0)
    assert (sex.by_group.loc["f", "lose"] > 300 * 0.5, sex.by_group.loc["m", "lose"] < 20) == (True, True)
    few = run("themis", case, budget=100)
    assert (len(few.findings), few.skipped[0]) == (0, "sex: 8 people are too few; a larger budget would do.")
