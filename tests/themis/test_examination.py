import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from fairlab.auditing import audit, run
from fairlab.cases import Case
from fairlab.themis.draws import INPUTS, Comparison, from_people, from_table
from fairlab.themis.estimation import EFFECTS, count_flips, paired_p_value, paired_spread
from fairlab.themis.examination import changed_pairs, favoured_pairs
from fairlab.themis.noisy import RepeatedPairs
from fairlab.themis.stopping import Fixed

FLIPS, GROUP = EFFECTS["causal"], EFFECTS["group"]


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


CASE = Case(
    lambda rows: (rows["income"] > 30_000) & ~((rows["sex"] == "f") & (rows["job"] == "x")),
    people(),
    sensitive_features=["sex", "race"],
)


def examined(model, table=None, budget=20_000, sensitive_features=("sex", "race"), features=None, **options):
    table = people() if table is None else table
    case = Case(model, table, sensitive_features=list(sensitive_features), features=features)
    return run("themis", case, budget=budget, **options)


def test_three_findings_for_each_column_and_for_all_together():
    case, found = CASE, run("themis", CASE, budget=20_000, confidence_level=0.999)
    keys, names = ["who", "population", "effect"], ["sex", "race", "sex and race"]
    kinds = [("people", FLIPS), (INPUTS, FLIPS), (INPUTS, GROUP)]
    table = found.to_frame().assign(who=[each.who for each in found.findings]).set_index(keys)
    assert (table.index.tolist(), found.skipped) == ([(name, *kind) for name in names for kind in kinds], ())
    # Incomes above the threshold and one of three jobs, drawn one by one from the table.
    above, is_x = case.table["income"] > 30_000, case.table["job"] == "x"
    concerned = table.loc[["sex", "sex and race"]]
    assert (concerned["p_value"] < 1e-9).all()
    assert concerned.xs((INPUTS, FLIPS), level=(1, 2)).eval(f"low < {above.mean() * is_x.mean()} < high").all()
    assert (table.loc["race", ["estimate", "p_value"]] == [0, 1]).all(axis=None)
    refused, women, finding = above & is_x, case.table["sex"] == "f", found.findings[0]
    assert (finding.estimate, finding.n) == (refused.mean(), 600), "all people are counted"
    assert f"({refused.sum()} of 600)" in finding.sentence
    assert finding.by_group.to_dict("index") == {
        "f": {"people": women.sum(), "lose": (refused & women).sum(), "gain": 0},
        "m": {"people": (~women).sum(), "lose": 0, "gain": (refused & ~women).sum()},
    }
    assert finding.evidence.index.isin(case.table.index[refused]).all()
    assert not finding.evidence["favourable"].iloc[0], "those who lose come first"
    assert len(found.findings[3].evidence) == 0


@pytest.mark.parametrize("share", [0.0105, 0.0345, 0.069])
def test_a_rule_for_a_few_people_is_reported_with_its_share_of_them_before_generated_inputs(share):
    n, few = 6_000, round(6_000 * share)
    points = np.random.default_rng(0).permutation(n)
    table = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "points": np.where(points < few, 3_000 + points, 9_000)})

    case = Case(
        lambda rows: (rows["points"] >= few + 3_000 * (rows["sex"] == "f")) | (rows["points"] >= few + 3_000),
        table,
        sensitive_features="sex",
    )
    report = audit(case, progress=False)
    flips = [finding for finding in report.findings if finding.effect == FLIPS]
    assert (flips[0] in report.significant, flips[0].estimate) == (True, pytest.approx(share))
    assert [finding.population for finding in flips] == ["people", INPUTS]
    assert report.to_frame()["population"].is_monotonic_decreasing


def test_a_rule_that_next_to_nobody_is_concerned_by_decides_no_verdict():
    table = pd.DataFrame({"sex": ["f", "m"] * 1_000, "a": np.arange(2_000) % 50, "b": (np.arange(2_000) * 7) % 40})
    rule = lambda rows: (rows["a"] == 3) & (rows["b"] == 9) & (rows["sex"] == "f")  # noqa: E731
    report = audit(Case(rule, table, sensitive_features="sex"), methods=["themis"], progress=False)
    assert [finding.estimate < 0.005 for finding in report.findings if finding.effect == FLIPS] == [True, True]
    assert (report.verdict, report.frame["significant"].any()) == ("large differences ruled out", False)
    assert (report.to_frame()["p_value"] > 0).all()


def test_people_are_sampled_where_the_budget_does_not_count_all_and_what_is_left_out_is_said():
    found = [finding for finding in run("themis", CASE, budget=1_200).findings if finding.population == "people"]
    assert [finding.n for finding in found] == [300, 150, 60] and ", a random sample of the 600)" in found[0].sentence
    nothing = run("themis", CASE, budget=0)
    assert (nothing.findings, nothing.n_queries, len(nothing.skipped)) == ((), 0, 3)
    assert "20 inputs and people are more than" in nothing.skipped[0]


def is_woman_of_a(rows):
    return (rows["sex"] == "f") & (rows["race"] == "a")


@pytest.mark.parametrize(
    ("model", "options", "between"),
    [
        # Each column alone changes few decisions but is above the threshold; sex and race together change many.
        (lambda rows: (rows["income"] > np.where(is_woman_of_a(rows), 60_000, 10_000)) & ~rows["old"], {}, []),
        (lambda rows: rows["income"] > 30_000, {}, []),  # all together are below it
        (
            lambda rows: is_woman_of_a(rows) & rows["old"],
            {"min_score": 0.7},
            ["sex and race", "sex and old", "race and old"],
        ),
        # Sex alone decides a quarter, and what contains it needs no look.
        (is_woman_of_a, {"min_score": 0.4}, ["sex and old"]),
    ],
)
def test_sets_in_between_are_looked_at_unless_a_part_of_them_suffices(model, options, between):
    found = examined(model, budget=60_000, sensitive_features=["sex", "race", "old"], **options).findings
    assert list(dict.fromkeys(each.who for each in found)) == ["sex", "race", "old", "sex, race and old", *between]


def test_unseen_columns_have_no_direct_effect_and_proxies_are_varied_where_asked_for():
    table = people().assign(height=lambda rows: 165 + 20 * (rows["sex"] == "m") + np.arange(len(rows)) % 7)
    plain, found, named = (
        examined(lambda rows: rows["height"] > 175, table, 5_000, features=["height", "job"], proxies=proxies)
        for proxies in (False, True, {"race": ["job"]})
    )
    assert (plain.findings, [line.split(":")[0] for line in plain.skipped]) == ((), ["sex", "race"])
    assert "its direct effect is 0 by construction; proxies= varies" in plain.skipped[0]
    said = "the model does not get it, so its direct effect is 0 by construction; no feature predicts it well."
    assert ({each.who for each in found.findings}, found.skipped) == ({"sex (through height)"}, (f"race: {said}",))
    assert {(each.sensitive_features, each.through) for each in named.findings} == {(("race",), ("job",))}
    assert (set(named.to_frame()["p_value"]), len(named.skipped)) == ({1}, 1)
    with pytest.raises(ValueError, match=r"proxies\['sex'\]: no other feature of the model 'sex'"):
        examined(lambda rows: rows["height"] > 175, table, 5_000, proxies={"sex": ["sex"]})


def test_a_model_that_fails_on_other_values_is_said_not_raised():
    table = people().assign(job=lambda rows: np.where(rows["sex"] == "f", "x", rows["job"]))

    def brittle(rows):
        if ((rows["sex"] == "f") & (rows["job"] != "x")).any():
            raise RuntimeError("no woman has this job")
        return rows["income"] > 30_000

    found = examined(brittle, table)
    said = "the model cannot be queried with other values.*no woman has this job"
    assert (found.findings, [bool(re.search(said, line)) for line in found.skipped]) == ((), [True] * 3)
    case = Case(brittle, table, sensitive_features="sex")
    report = audit(case, methods=["rates", "aequitas"], budget=5_000)
    assert len(report.findings) > 0 and "no woman has this job" in dict(report.skipped)["AEQUITAS"]


@pytest.mark.filterwarnings("ignore:Queried again")
@pytest.mark.parametrize("margin", [0.1, 0.2])
def test_the_p_value_of_repeated_pairs_is_where_their_interval_reaches_the_margin(margin, rng):
    case = Case(
        lambda rows: rng.random(len(rows)) < np.where(rows["sex"] == "f", 0.2, 0.7), people(), sensitive_features="sex"
    )
    pairs = RepeatedPairs(case, ("sex",), np.arange(600), rng, 0.05)
    at_margin = pairs.bounds(1 - pairs.p_value(margin))[0]
    assert (at_margin, pairs.p_value(pairs.estimate)) == (pytest.approx(margin, abs=1e-6), 1)


@pytest.mark.filterwarnings("ignore:Queried again")
def test_a_noisy_model_is_asked_twice_about_everybody():
    rng, seen = np.random.default_rng(0), []

    def noisy(rows):
        seen.append((len(rows), len(rows.drop_duplicates())))
        return rng.random(len(rows)) < np.where(rows["sex"] == "f", 0.1, 0.9)

    case = Case(noisy, people(), sensitive_features=["sex", "race"])
    seen.clear()
    sex, race, both = run("themis", case, budget=100_000).findings
    assert (seen, [sex.who, race.who, both.who]) == ([(2_400, 1_200)] * 3, ["sex", "race", "sex and race"])
    assert sex.low < 0.64 < sex.high, "(.1 - .9)²"
    assert (race.low, race.p_value > 0.05, len(race.evidence)) == (0, True, 0)
    assert (sex.by_group.loc["f", "lose"] > 300 * 0.5, sex.by_group.loc["m", "lose"] < 20) == (True, True)
    few = run("themis", case, budget=100)
    assert (len(few.findings), few.skipped[0]) == (0, "sex: 8 people are too few; a larger budget would do.")


# draws from a table


def varied(decisions):
    """Return rows whose values have these decisions, the first being their own, and the values."""
    decisions = np.asarray(decisions, dtype=bool)
    n, n_values = decisions.shape
    rows = pd.DataFrame({"sex": ["f"] * n, "k": range(n)}, index=range(100, 100 + n))
    differs, values = decisions != decisions[:, :1], pd.DataFrame({"sex": list("fmx")[:n_values]})
    return Comparison(rows, decisions[:, 0], differs.any(axis=1), differs.argmax(axis=1), decisions=decisions), values


def test_sampled_scores_have_exact_intervals_and_tests():
    drawn, _ = varied(np.repeat([[1, 0], [0, 1], [0, 0]], [30, 10, 160], axis=0))
    [count], [counted] = count_flips(Fixed(200), 1, lambda new: drawn.take(new + np.arange(len(new))))
    assert (count, counted.changed.tolist()) == (40, [True] * 40 + [False] * 160)
    first, second = (binomtest(k, 200).proportion_ci(0.975) for k in (30, 10))
    score, *interval = paired_spread(drawn.decisions, 0.05, np.random.default_rng(0))
    assert interval == pytest.approx([max(first.low - second.high, 0), first.high - second.low])
    assert score == pytest.approx(0.1, abs=0.01)
    # Without a margin about McNemar's exact test; with three values there are three pairs.
    p_values = [paired_p_value(drawn.decisions, margin) for margin in (0, 0.05, 0.1)]
    assert p_values[0] == pytest.approx(binomtest(30, 40).pvalue, rel=0.3)
    assert p_values[0] < p_values[1] < p_values[2] == 1
    third = np.column_stack([drawn.decisions, np.zeros(200, dtype=bool)])
    assert paired_p_value(third) == pytest.approx(3 * paired_p_value(third[:, [0, 2]]))


def test_noise_is_taken_out_of_a_group_score(rng):
    noise = [rng.random((100, 3)) < 0.5 for _ in range(100)]
    spreads = [np.ptp(decisions.mean(axis=0)) for decisions in noise]
    assert np.mean([paired_spread(decisions, 0.05, rng)[0] for decisions in noise]) < 0.7 * np.mean(spreads)


def test_evidence_is_pairs_of_rows():
    some = varied([[1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]])
    expected = {"sex": ["f"] * 3, "k": [2, 0, 3], "other sex": ["m"] * 3, "favourable": [False, True, True]}
    pairs = changed_pairs(*some, generated=True)
    assert (pairs.to_dict("list"), pairs.attrs["generated"]) == (expected, True)
    # Rates 3/4, 2/4 and 2/4: f is favoured where m is not in rows 0 and 3.
    expected = {"sex": ["f"] * 2, "k": [0, 3], "other sex": ["m"] * 2, "favourable": [True, True]}
    assert favoured_pairs(*some).to_dict("list") == expected


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64"])
def test_inputs_are_drawn_column_by_column_from_the_table(dtype):
    table = pd.DataFrame(
        {
            "sex": list("fffm") * 250,
            "income": pd.Series(np.arange(1000) ** 2).astype(dtype),
            "double": 2 * np.arange(1000),
        }
    )
    if dtype != "int64":
        table.loc[:99, "income"] = pd.NA
    drawn_case = Case(lambda rows: rows["income"].fillna(0) > 250_000, table, sensitive_features="sex")
    some = from_table(drawn_case, ("sex",), 5_000, np.random.default_rng(0))
    rows, income = some.inputs, some.inputs["income"]
    pd.testing.assert_series_equal(rows.dtypes, table.dtypes)
    assert (income.dropna().isin(table["income"]).all(), income.nunique() > 800) == (True, True)
    shares = income.isna().mean(), (rows["sex"] == "f").mean()
    assert shares == pytest.approx((table["income"].isna().mean(), 0.75), abs=0.02), "as often as in the table"
    assert abs(income.astype(float).corr(rows["double"])) < 0.05, "each by itself"
    assert ((some.own == drawn_case.decide(rows)).all(), some.decisions.shape) == (True, (5_000, 2))


def test_some_people_are_those_that_were_asked_for_also_in_batches(monkeypatch):
    monkeypatch.setattr("fairlab.cases.case.ROWS_AT_ONCE", 7)
    asked, some = CASE.table[::6], from_people(CASE, ("sex",), np.arange(0, 600, 6))
    pd.testing.assert_frame_equal(some.inputs, asked)
    assert (some.changed == (asked["income"] > 30_000) & (asked["job"] == "x")).all()
