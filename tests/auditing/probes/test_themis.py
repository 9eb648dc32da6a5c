import numpy as np
import pandas as pd
import pytest

from fairlab.auditing import run
from fairlab.auditing.probes.themis import ALL, CAUSAL, DRAWN, GROUP, PEOPLE
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
    found = run("themis", case, budget=20_000)
    table = found.to_frame()
    assert list(zip(table["sensitive_features"], table["effect"], strict=True)) == [
        (name, effect) for name in ("sex", "race", "sex and race") for effect in (CAUSAL, GROUP, PEOPLE)
    ]
    assert table["where"].tolist() == [DRAWN, DRAWN, "everyone"] * 3
    assert found.skipped == ()
    by = table.set_index(["sensitive_features", "effect"])
    # Half of the bins of income and one of three jobs.
    for name in ("sex", "sex and race"):
        assert (by.loc[name, "p_value"] < 1e-9).all()
        assert by.loc[(name, CAUSAL), "low"] < 1 / 6 < by.loc[(name, CAUSAL), "high"]
    race = by.loc["race"]
    assert (race["estimate"] == 0).all()
    assert (race["low"] == 0).all()
    assert (race["p_value"] == 1).all()
    refused = (case.table["income"] > 30_000) & (case.table["job"] == "x")
    assert by.loc[("sex", PEOPLE), "estimate"] == refused.mean()
    evidence = found.findings[2].evidence
    assert evidence.index.isin(case.table.index[refused]).all()
    assert len(found.findings[5].evidence) == 0


@pytest.mark.parametrize("limit", [31_500, 26_000])
def test_intervals_about_generated_inputs_hold_what_enumeration_gives(limit):
    """The threshold lies inside a bin of income, so that no grid of one income a bin has the share right."""
    table = people().drop(columns=["race", "old"])

    def program(rows):
        return (rows["income"] > limit) & ~((rows["sex"] == "f") & (rows["job"] == "x"))

    case = Case(program, table, sensitive_features="sex")
    bins = case.schema.features[1].encode(table["income"])
    share = (table["income"] > limit).groupby(bins).mean().mean()  # bins alike, and the people of a bin alike
    truth = {CAUSAL: share / 3, GROUP: share / 3}
    held = []
    for seed in range(40):
        found = run("themis", case, budget=2_000, random_state=seed).to_frame()
        assert found["where"].tolist() == [DRAWN, DRAWN, "everyone"]
        held += [row.low <= truth[row.effect] <= row.high for row in found[:2].itertuples()]
        assert (found["low"] < found["high"]).all()
    assert np.mean(held) >= 0.95


def test_combinations_of_values_are_enumerated_where_no_number_is_in_bins():
    table = people().drop(columns="income")
    found = run(
        "themis",
        Case(lambda rows: rows["job"].eq("x") & rows["sex"].eq("f"), table, sensitive_features="sex"),
        budget=5_000,
    )
    assert [finding.where for finding in found.findings] == [ALL, ALL, "everyone"]
    exact = found.findings[0]
    assert exact.low == exact.estimate == exact.high == pytest.approx(1 / 3)


def test_what_a_small_budget_leaves_out_is_said():
    case = Case(unfair, people(), sensitive_features=["sex", "race"])
    nothing = run("themis", case, budget=0)
    assert nothing.findings == ()
    assert nothing.n_queries == 0
    assert len(nothing.skipped) == 3
    assert nothing.skipped[0].startswith("sex: 2 combinations of values on 20 inputs and people are more than 0 rows")


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
    assert names(lambda rows: (rows["sex"] == "f") & (rows["race"] == "a"), min_score=0.45) == [
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
