"""Small programs that check definitions and theorems, and the searches with and without pruning of figure 3."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.cases import Schema
from fairlab.papers.themis import programs, searches
from fairlab.papers.themis.instances import INSTANCES, instance_table
from fairlab.suite.published import load_paper
from fairlab.themis import Themis, causal_score, group_score, output_table

LOAN = Schema.from_dict(
    {"age": ["under40", "over40"], "race": ["green", "purple"], "name": range(10), "savings": range(10)}
)
RNG = np.random.default_rng(0)
BY_ID = {instance.id: instance for instance in INSTANCES}


def test_loan_is_fair_by_shares_and_not_by_person():
    table = output_table(programs.loan, LOAN)
    assert group_score(table, (1,)) == group_score(table, (0,)) == 0
    # Green 30% by savings, purple 30% by name: they differ for 0.3 * 0.7 + 0.7 * 0.3.
    assert causal_score(table, (1,)) == pytest.approx(0.42)
    assert causal_score(output_table(programs.unfair_to_one_in_twenty, programs.PEOPLE_OF_RARE), (0,)) == 0.05


def test_pairs_differ_in_one_characteristic_and_in_output():
    suite = pd.DataFrame({"sex": list("fmfm"), "age": [1, 1, 2, 2], "output": [False, True, True, True]})
    [pair] = programs.pairs_by(suite, "sex").to_dict("records")
    assert (pair["sex"], pair["sex of the counterpart"], pair["age"]) == ("f", "m", 1)


@pytest.mark.parametrize(("shares", "n_people", "expected"), [((0.3, 0.4), 10, 0.1), ((0.23, 0.65), 100, 0.42)])
def test_group_scores_of_section_3(shares, n_people, expected):
    assert programs.group_score_of_shares(shares, n_people) == pytest.approx(expected)


def test_stopping_rules_by_hand():
    scores = pd.DataFrame({"samples": [10, 30], "score": [0.0, 0.2], "low": [0.0, 0.1], "high": [0.1, 0.3]})
    [row] = programs.stopping_rules({"normal": scores}, truth=0.05, error_bound=0.1).to_dict("records")
    expected = {"mean samples": 20, "mean score": 0.1, "scores of exactly 0": 0.5}
    assert row == {"rule": "normal", **expected, "off by more than the bound": 0.5, "interval covers 5%": 0.5}


def test_a_laptop_makes_a_stay_dearer_by_one_eleventh_of_the_higher_price():
    options = {"output_distance": programs.relative_difference, "max_samples": 50}
    score = Themis(programs.price_of_stay, programs.STAYS, **options).causal_score("device")
    assert score.score == pytest.approx(1 / 11)


@pytest.mark.parametrize(("measure", "exact"), [("group", group_score), ("causal", causal_score)])
def test_scores_of_many_programs_are_those_of_each(measure, exact):
    some = programs.random_programs((3, 2, 4), 20, RNG)
    expected = [[exact(program, positions) for positions in programs.subsets(range(3))] for program in some]
    np.testing.assert_allclose(programs.scores_of_sets(some)[measure], expected)


def test_what_is_prunable_by_hand():
    assert programs.proper_subsets(2) == [(0, 2), (1, 2)]  # of the sets {0}, {1}, {0, 1}
    scores = np.array([[0.5, 0.1, 0.5], [0.2, 0.3, 0.9]])
    assert programs.prunable(scores, 0.5).tolist() == [[False, False, True], [False, False, False]]
    assert programs.prunable(scores, 0.3).tolist() == [[False, False, True], [False, False, True]]


def test_violations_are_counted():
    scores = {"group": np.array([[0.5, 0, 0.4], [0, 0, 0]]), "causal": np.array([[0.1, 0, 0.4], [0, 0, 0]])}
    [row] = programs.count_violations({"two": np.zeros((2, 2, 2), dtype=bool)}, {"two": scores}).to_dict("records")
    counts = {"group: subset higher": 1, "causal: subset higher": 0, "group above causal": 1}
    assert row == {"programs": "two", "comparisons": 2 * 2, **counts, "group equals causal": 5 / 6}


@pytest.mark.parametrize(
    ("scores", "ordered", "violations"),
    [
        ([[0.5, 0.1, 0.5], [0.2, 0.0, 0.2]], 3, 0),  # each program with itself, and the first above the second
        ([[0.5, 0.1, 0.5], [0.6, 0.0, 0.2]], 2, 0),
    ],
)
def test_ordered_pairs_and_what_breaks_theorem_5_1(scores, ordered, violations):
    [row] = programs.count_ordered_pairs({"two": {"group": np.array(scores)}}).to_dict("records")
    assert (row["ordered pairs"], row["violations"]) == (ordered, violations)


def test_twenty_instances_of_eight_systems_and_what_they_are_tested_for():
    table = instance_table()
    assert len(table) == len(BY_ID) == 20
    assert table["aware"].sum() == 12
    assert BY_ID["b.census.race"].tested == ("race", "gender")


SETS = [("sex",), ("race",), ("sex", "race")]


def search(group, causal, tests=(10, 20, 100)):
    """Return a table of three scores by both measures."""
    measures = ["group"] * 3 + ["causal"] * 3
    scores = {"score": [*group, *causal], "tests": [*tests, *tests]}
    return pd.DataFrame({"measure": measures, "sensitive_features": SETS * 2, **scores})


FIRST, SEARCH = INSTANCES[0], search([0.8, 0.1, 0.9], [0.1, 0.2, 0.9])
PAPER = load_paper("themis")
FIGURE_3, TEXT = PAPER.artefact("figure-3").values, PAPER.artefact("section-5.4").values
VALUES = pd.DataFrame({"value": {id: float(value.value) for id, value in FIGURE_3.items()}})


def test_figure_3_has_a_row_for_sixteen_instances():
    rows = searches.printed_rows()
    assert len(rows) == 16
    assert {f"group.{row}.without" for row in rows.values()} <= set(FIGURE_3)


def test_what_is_searched():
    table = searches.count_searched(VALUES, max_values=5)
    assert table.loc["groups", "census"] == 11 * 41 * 3 * 8 * 6 * 7 - 1


def test_tests_and_minimal_sets_by_hand():
    # Group: sex is found, so both together are left out. Causal: nothing is found before both together.
    counts = searches.count_tests({FIRST: SEARCH}, 0.75)
    columns = ["measure", "without", "with", "minimal sets", "factor", "mean score"]
    group, causal = counts[columns].to_numpy().tolist()
    assert group == ["group", 130, 30, 1, pytest.approx(130 / 30), pytest.approx(0.6)]
    assert causal == ["causal", 130, 130, 1, 1, pytest.approx(0.4)]
    assert searches.minimal_sets({FIRST: SEARCH})["set"].tolist() == ["sex", "sex, race"]


def test_counts_beside_the_print():
    census, race = BY_ID["a.census.gender"], BY_ID["a.census.race"]
    repetitions = [dict.fromkeys((census, race), search([score, 0.1, 0.9], [0.1, 0.2, 0.3])) for score in (0.8, 0.2)]
    table = searches.beside_printed(repetitions, VALUES).set_index(["measure", "instance"])
    assert table.loc[("group", census.id), "with"] == (30 + 130) / 2
    assert table.loc[("group", census.id), "printed with"] == FIGURE_3["group.a.census.with"].value
    assert table.loc[("causal", census.id), "printed factor"] == FIGURE_3["causal.a.census.factor"].value
    assert table.loc[("group", race.id), ["printed with", "printed without", "printed factor"]].isna().all()


def test_means_of_factors():
    counts = pd.DataFrame({"measure": ["group", "group", "causal"], "factor": [1.0, 4.0, 3.0]})
    group = searches.mean_factors({"rows": counts}).loc["rows"].filter(like="group").to_dict()
    assert group == pytest.approx({"group, arithmetic": 2.5, "group, geometric": 2, "group, largest": 4})


def test_few_samples_against_many():
    rough = {FIRST: search([0.8, 0.9, 0.9], [0.1, 0.7, 0.9])}
    precise = {FIRST: search([0.6, 0.8, 0.9], [0.1, 0.8, 0.9]).query("sensitive_features != @SETS[2]")}
    columns = ["sets", "at the threshold", "still there", "missed", "mean change"]
    found = searches.check_few_samples(rough, precise)[columns].to_numpy().tolist()
    assert found == [[2, 2, 1, 0, pytest.approx(0.15)], [2, 0, 0, 1, pytest.approx(-0.05)]]


def test_groups_left():
    found = [{"group": (), "causal": ((instance.schema.names[0],),)} for instance in INSTANCES]
    table = searches.count_groups(found).set_index(["instance", "measure"]).loc[FIRST.id]
    every, rest = (np.prod(np.array(sizes) + 1.0) - 1 for sizes in (FIRST.schema.sizes, FIRST.schema.sizes[1:]))
    assert table.loc["group", ["factor", "groups"]].tolist() == pytest.approx([1, every])
    assert table.loc["causal", "groups left"] == pytest.approx(rest + FIRST.schema.sizes[0])


def test_thresholds_systems_and_ranks():
    tables = {i: search([0.55 if i.system == "a" else 0.2, 0.1, 0.9], [0.1, 0.2, 0.9]) for i in INSTANCES[:4]}
    shares = searches.share_by_system(searches.count_by_threshold(tables)).set_index(["measure", "system", "threshold"])
    of_group = shares.sort_index().loc["group", "share"]
    assert of_group["A", 0.5] == pytest.approx(30 / 130)
    assert of_group["A", 0.6] == of_group["B", 0.5] == 1
    table = pd.DataFrame({"measure": "group", "mean score": [0.1, 0.2, 0.3], "factor": [1, 5, 9]})
    assert searches.rank_correlations(table).to_dict() == {"group": 1}


def test_rules_behind_the_counts_without_pruning():
    n_sets = sum(len(list(combinations(range(13), size))) for size in (1, 2, 3))
    causal = searches.inferred_without(BY_ID["c.census.gender"], "causal")
    assert causal == n_sets * 625 == FIGURE_3["causal.c.census.without"].value
    census, credit = (10, 40, 2, 7, 5, 6), (2, 75, 3, 4, 3, 2)
    for id, sizes, tests in (("c.census.gender", census, 7_728_319), ("f.credit.unaware", credit, 930_223)):
        groups = sum(np.prod(some) for n in range(1, 7) for some in combinations(sizes, n))
        assert searches.inferred_without(BY_ID[id], "group") == 17 * groups == tests


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_neither_pruning_nor_a_lower_threshold_adds_tests(shares):
    """Both follow from how tests are counted, whatever the scores, and are no results."""
    by_threshold = searches.count_by_threshold({FIRST: search(shares[:3], shares[3:])})
    assert (by_threshold["factor"] >= 1).all()
    assert (by_threshold.groupby("measure")["with"].diff().dropna() >= 0).all()


def test_impossible_are_the_printed_counts_below_the_least_and_their_factors():
    pairs = [(data, measure) for data in ("census", "credit") for measure in ("group", "causal")]
    assert [searches.least_tests(*pair) for pair in pairs] == [100, 1 + 13, 200, 1 + 20]
    bounds = searches.beside_bounds(VALUES)
    for (measure, row), impossible in bounds["impossible"].items():
        without, *others = (FIGURE_3[f"{measure}.{row}.{part}"] for part in ("without", "with", "factor"))
        assert [bool(value.impossible) for value in others] == [impossible] * 2
        assert without.inferred
        assert not without.impossible
    assert bounds["impossible"].groupby(level="measure").sum().to_dict() == {"group": 2, "causal": 0}
    counts = {id: value for id, value in TEXT.items() if id.endswith(".tests")}
    assert all(bool(value.impossible) == (value.value < 200) for value in counts.values())


@pytest.mark.parametrize("measure", ["group", "causal"])
@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_impossible_are_the_means_above_what_the_least_allows(measure, mean):
    limits = searches.largest_means(searches.beside_bounds(VALUES)).loc[measure]
    printed = FIGURE_3[f"{measure}.{mean}_mean"]
    assert limits[f"{mean}, of the printed factors"] == pytest.approx(float(printed.value), rel=0.006)
    lower = limits[f"{mean}, at most"] < limits[f"{mean}, of the printed factors"]
    assert lower == bool(printed.impossible) == bool(TEXT[f"mean_factor.{measure}"].impossible) == (measure == "group")
