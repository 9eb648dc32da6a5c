import numpy as np
import pandas as pd
import pytest

from fairlab import audit
from fairlab.auditing import run
from fairlab.auditing.rates import group_counts, losers_in_words, who_loses
from fairlab.cases import Case
from fairlab.statistics import difference_bounds


def people(n=1_200):
    rng = np.random.default_rng(0)
    columns = {"sex": ["f", "m"], "race": ["a", "b", "c"], "job": ["x", "y"]}
    table = pd.DataFrame({name: rng.choice(values, n) for name, values in columns.items()})
    return table.assign(points=rng.integers(0, 100, n))


def test_counts_by_group_and_by_two_as_pandas_counts_them():
    table = people()
    truth = np.where(table["points"] % 3 == 0, np.nan, table["points"] > 40)
    case = Case(lambda rows: rows["points"] > 50, table, sensitive_features=["sex", "race"], y_true=truth)
    counts = group_counts(case)
    assert counts.index.get_level_values(0).unique().tolist() == ["sex", "race", "sex and race"]
    known = table.assign(decided=table["points"] > 50, truth=truth)
    for (features, group), row in counts.iterrows():
        names = features.split(" and ")
        here = known[(known[names] == group.split(", ")).all(axis=1)]
        labelled = here.dropna(subset="truth")
        assert row["people"] == len(here)
        assert row["selected"] == here["decided"].sum()
        assert row["labelled"] == len(labelled)
        table_of = pd.crosstab(labelled["truth"], labelled["decided"]).reindex(
            index=[0.0, 1.0], columns=[False, True], fill_value=0
        )
        names = [["true negatives", "false positives"], ["false negatives", "true positives"]]
        assert [row[name].tolist() for name in names] == table_of.to_numpy().tolist()


def test_two_groups_are_compared_and_of_more_each_with_everyone_else():
    case = Case(lambda rows: rows["points"] > 50, people(), sensitive_features=["sex", "race"])
    effects = [(finding.sensitive_features, finding.effect) for finding in run("rates", case).findings]
    several = [f"{sex}, {race}" for sex in "fm" for race in "abc"]
    assert effects == [
        ("sex", "selection rate difference, f minus m"),
        *(("race", f"selection rate difference, {race} minus everyone else") for race in "abc"),
        *(("sex and race", f"selection rate difference, {both} minus everyone else") for both in several),
    ]


def test_a_difference_by_hand():
    table = people()
    case = Case(lambda rows: rows["points"] > np.where(rows["sex"] == "f", 60, 40), table, sensitive_features="sex")
    [finding] = run("rates", case).findings
    hits, totals = case.decide().astype(int), table["sex"] == "f"
    counts = [hits[totals].sum(), hits[~totals].sum()], [totals.sum(), (~totals).sum()]
    low, high = difference_bounds(*counts, confidence_level=0.95)
    assert (finding.estimate, finding.low, finding.high) == (
        pytest.approx(counts[0][0] / counts[1][0] - counts[0][1] / counts[1][1]), low, high
    )  # fmt: skip
    assert finding.p_value < 1e-6
    assert (finding.measure, finding.population, finding.n) == ("selection_rate_difference", "people", 1_200)


def test_equal_selection_and_unequal_errors_are_named_first_for_what_they_are():
    rng = np.random.default_rng(1)
    n = 4_000
    sex, truth = rng.choice(["f", "m"], n), rng.random(n) < 0.5
    wrong = rng.random(n) < np.where(sex == "f", 0.25, 0.12)  # as often in both directions
    table = pd.DataFrame({"sex": sex, "answer": truth ^ wrong})
    report = audit(Case(lambda rows: rows["answer"], table, sensitive_features="sex", y_true=truth), progress=False)
    measures = [finding.measure for finding in report.significant[:2]]
    assert sorted(measures) == ["false_positive_rate_difference", "true_positive_rate_difference"]
    assert all(finding.measure != "selection_rate_difference" for finding in report.significant)


def test_people_without_a_true_label_count_for_selection_alone():
    table = people()
    truth = pd.Series(np.where(table["points"] > 50, 1.0, np.nan))  # known of those who were selected
    truth[table["points"] > 80] = 0.0
    case = Case(lambda rows: rows["points"] > 50, table, sensitive_features="sex", y_true=truth)
    found = {finding.measure: finding.n for finding in run("rates", case).findings}
    assert found == {
        "selection_rate_difference": 1_200,
        "true_positive_rate_difference": int((truth == 1).sum()),
        "false_positive_rate_difference": int((truth == 0).sum()),
    }
    none = run("rates", Case(lambda rows: rows["points"] > 50, table, sensitive_features="sex"))
    assert [finding.measure for finding in none.findings] == ["selection_rate_difference"]
    assert none.skipped == ()


def test_small_groups_are_said():
    table = people().assign(race=["z"] * 3 + ["a"] * 597 + ["b"] * 600)
    found = run("rates", Case(lambda rows: rows["points"] > 50, table, sensitive_features="race"))
    assert found.skipped == ("race: fewer than 30 people are z (3).",)
    assert [finding.effect.split(", ")[1] for finding in found.findings] == [
        "a minus everyone else",
        "b minus everyone else",
    ]


def test_who_loses_and_who_gains_by_hand():
    codes, hits = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 1, 1, 0, 1, 0], dtype=bool)
    own = np.array([0, 0, 1, 1, 1, 0], dtype=bool)
    frame = who_loses(codes, ["f", "m", "nobody"], hits, own)
    assert frame.to_dict("index") == {
        "f": {"people": 4, "lose": 2, "gain": 1},
        "m": {"people": 2, "lose": 0, "gain": 1},
    }
    assert losers_in_words(frame, "their sex") == (
        "50.0% of f lose by their sex (decision unfavourable, otherwise favourable); "
        "50.0% of m gain by their sex (decision favourable, otherwise unfavourable)"
    )
    assert losers_in_words(frame.assign(lose=0, gain=0), "it") == ""
