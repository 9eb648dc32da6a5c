import numpy as np
import pandas as pd
import pytest

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.cases.groups import group_codes, losers_in_words, who_loses
from fairlab.fairtest.rates import group_counts
from fairlab.statistics import difference_bounds

RNG, N = np.random.default_rng(0), 1_200
COLUMNS = {name: RNG.choice(list(values), N) for name, values in (("sex", "fm"), ("race", "abc"), ("job", "xy"))}
PEOPLE = pd.DataFrame(COLUMNS).assign(points=RNG.integers(0, 100, N))


def case_of(sensitive_features="sex", table=PEOPLE, **options):
    return Case(lambda rows: rows["points"] > 50, table, sensitive_features=sensitive_features, **options)


def test_counts_by_group_and_by_two_as_pandas_counts_them():
    truth = np.where(PEOPLE["points"] % 3 == 0, np.nan, PEOPLE["points"] > 40)
    counts = group_counts(case_of(["sex", "race"], y_true=truth))
    known = PEOPLE.assign(decided=PEOPLE["points"] > 50, truth=truth)
    cells = {("true positives", 1, 1), ("false negatives", 1, 0), ("false positives", 0, 1), ("true negatives", 0, 0)}
    for names in (["sex"], ["race"], ["sex", "race"]):
        groups = known.groupby(names)
        expected = {"people": groups.size(), "selected": groups["decided"].sum(), "labelled": groups["truth"].count()}
        for cell, label, decision in cells:
            is_in = (known["truth"] == label) & (known["decided"] == decision)
            expected[cell] = is_in.groupby([known[name] for name in names]).sum()
        found = counts.loc[" and ".join(names), list(expected)]
        assert found.index.tolist() == [", ".join(np.atleast_1d(key)) for key in groups.groups]
        assert (found.to_numpy() == pd.DataFrame(expected).to_numpy()).all()


def test_two_groups_are_compared_and_of_more_each_with_everyone_else():
    found = [[each.who, each.effect] for each in run("rates", case_of(["sex", "race"])).findings]
    several = [f"{sex}, {race}" for sex in "fm" for race in "abc"]
    assert found == [
        ["sex", "selection rate difference, f minus m"],
        *(["race", f"selection rate difference, {race} minus everyone else"] for race in "abc"),
        *(["sex and race", f"selection rate difference, {both} minus everyone else"] for both in several),
    ]


def test_a_difference_by_hand():
    model = lambda rows: rows["points"] > np.where(rows["sex"] == "f", 60, 40)  # noqa: E731
    [finding] = run("rates", Case(model, PEOPLE, sensitive_features="sex")).findings
    by_sex = model(PEOPLE).groupby(PEOPLE["sex"])
    interval = difference_bounds(by_sex.sum(), by_sex.size(), confidence_level=0.95)
    estimate = by_sex.mean()["f"] - by_sex.mean()["m"]
    assert (finding.estimate, finding.low, finding.high) == pytest.approx((estimate, *map(float, interval)))
    assert finding.p_value < 1e-6
    assert (finding.measure, finding.population, finding.n) == ("selection_rate_difference", "people", N)


def test_people_without_a_true_label_count_for_selection_alone():
    truth = pd.Series(np.where(PEOPLE["points"] > 50, 1.0, np.nan))  # known of those who were selected
    truth[PEOPLE["points"] > 80] = 0.0
    found = {finding.measure: finding.n for finding in run("rates", case_of(y_true=truth)).findings}
    assert found == {
        "selection_rate_difference": N,
        "true_positive_rate_difference": (truth == 1).sum(),
        "false_positive_rate_difference": (truth == 0).sum(),
    }
    none = run("rates", case_of())
    assert ([finding.measure for finding in none.findings], none.skipped) == (["selection_rate_difference"], ())


def test_small_groups_are_said():
    found = run("rates", case_of("race", PEOPLE.assign(race=["z"] * 3 + ["a"] * 597 + ["b"] * 600)))
    assert found.skipped == ("race: fewer than 30 people are z (3).",)
    compared = [finding.effect.split(", ")[1] for finding in found.findings]
    assert compared == ["a minus everyone else", "b minus everyone else"]


def test_who_loses_and_who_gains_by_hand():
    codes, hits, own = np.array([[0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 0], [0, 0, 1, 1, 1, 0]])
    frame = who_loses(codes, ["f", "m", "nobody"], hits.astype(bool), own.astype(bool))
    expected = {"f": {"people": 4, "lose": 2, "gain": 1}, "m": {"people": 2, "lose": 0, "gain": 1}}
    assert frame.to_dict("index") == expected
    assert losers_in_words(frame, "their sex") == (
        "50.0% of f lose by their sex (decision unfavourable, otherwise favourable); "
        "50.0% of m gain by their sex (decision favourable, otherwise unfavourable)"
    )
    assert losers_in_words(frame.assign(lose=0, gain=0), "it") == ""


def test_only_groups_that_occur_are_listed_in_the_order_of_their_values():
    columns = {f"c{k}": [f"v{row}" for row in range(30)] for k in range(12)}  # 30**12 combinations, 30 of them here
    codes, groups = group_codes(case_of(list(columns), PEOPLE.head(30).assign(**columns)), list(columns))
    assert [groups[code] for code in codes] == [", ".join([f"v{row}"] * 12) for row in range(30)]
    assert groups == sorted(groups)


def test_intersections_whose_values_hold_commas_are_told_apart():
    people = pd.DataFrame({"a": ["u", "u, v"] * 20, "b": ["v, w", "v, w", "w", "w"] * 10, "points": range(40)})
    _, groups = group_codes(case_of(["a", "b"], people), ["a", "b"])
    assert groups == ["u, 'v, w'", "u, w", "'u, v', 'v, w'", "'u, v', w"]
    assert group_codes(case_of(["a"], people), ["a"])[1] == ["u", "u, v"]
