"""What the paper's systems are trained with, the systems themselves, and one trial of each experiment on them."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from fairlab.cases import Schema
from fairlab.data import load
from fairlab.papers.themis import learners, programs, searches, systems, trials
from fairlab.papers.themis.instances import INSTANCES, instance_table
from fairlab.seeds import Trial
from fairlab.suite.published import load_paper
from fairlab.themis import Themis, causal_score, group_score, output_table

BY_ID = {instance.id: instance for instance in INSTANCES}
EVERY_INSTANCE = pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)


def table(seed, n_rows=60, n_columns=4, n_values=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(n_values, size=(n_rows, n_columns)), columns=list("abcdefg")[:n_columns])
    return X, rng.integers(2, size=n_rows)


def entropy_within(rows, column, target):
    """Return the mean entropy of the target among rows that are alike in a column."""
    total = 0.0
    for value in {row[column] for row in rows}:
        counts = Counter(row[target] for row in rows if row[column] == value)
        total -= sum(n * np.log2(n / counts.total()) for n in counts.values())
    return total / len(rows)


def grow(rows, columns, purity):
    """Return the tree as the recursion that the source describes: a label, or a column and the tree of each value."""
    labels = [row["label"] for row in rows]
    if len(set(labels)) == 1 or not columns:
        return int(2 * sum(labels) >= len(labels))
    rests = {column: [name for name in columns if name != column] for column in columns}
    costs = {}
    for column, rest in rests.items():
        entry = next((e for e in purity if e == "class" or (e == "first" and rest) or e in rest), "class")
        target = "label" if entry == "class" else rest[0] if entry == "first" else entry
        costs[column] = entropy_within(rows, column, target)
    best = [column for column in columns if costs[column] <= min(costs.values()) + 1e-12][-1]
    parts = {value: [row for row in rows if row[best] == value] for value in {row[best] for row in rows}}
    return best, {value: grow(part, rests[best], purity) for value, part in parts.items()}


def answer(tree, row, default):
    while isinstance(tree, tuple):
        column, branches = tree
        tree = branches.get(row[column], default)
    return tree


@pytest.mark.parametrize(
    "options",
    [{}, {"purity": ("first",)}, {"purity": ("b", "class")}, {"purity": ("c", "first")}],
    ids=lambda options: "-".join(options.get("purity", ("usual",))),
)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_the_tree_is_that_of_the_recursion(options, seed):
    X, y = table(seed)
    other, _ = table(seed + 1, n_values=5)  # with values never seen
    model = learners.MultiwayTree(**options).fit(X, y)
    tree = grow(X.assign(label=y).to_dict("records"), list(X), options.get("purity", ("class",)))
    for asked in (X, other):
        expected = [answer(tree, row, default=int(2 * y.sum() >= len(y))) for row in asked.to_dict("records")]
        assert model.predict(asked).tolist() == expected


@pytest.mark.parametrize(
    ("rows", "labels", "asked", "expected"),
    [
        # An "and" is learned, and the rest gets the default.
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1], [[1, 1], [0, 1], [7, 1]], [1, 0, 0]),
        ([[0, 0], [1, 1]], [0, 1], [[0, 1], [1, 0]], [1, 0]),  # the last column wins ties
        ([[0], [0], [0], [1]], [0, 0, 1, 1], [[0], [1]], [0, 1]),  # the majority of rows that are alike
        ([[0], [0]], [0, 1], [[0]], [1]),
        ([[0], [1]], [1, 1], [[5]], [1]),
    ],
)
def test_trees_by_hand(rows, labels, asked, expected):
    X, other = (pd.DataFrame(of, columns=list("ab")[: len(rows[0])]) for of in (rows, asked))
    assert learners.MultiwayTree().fit(X, labels).predict(other).tolist() == expected


def test_a_discounted_column_and_its_proxy_are_not_split_by():
    rng = np.random.default_rng(0)
    sex, merit = rng.integers(2, size=(2, 400))
    X = pd.DataFrame({"merit": merit, "sex": sex, "hair": sex})
    y = np.where(rng.random(400) < 0.7, sex, merit)
    roots = [X.columns[learners.MultiwayTree(discount=name).fit(X, y)._column[0]] for name in (None, "sex")]
    assert roots == ["hair", "merit"]


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    X = pd.DataFrame({"merit": rng.normal(size=600), "proxy": group + rng.normal(size=600), "code": 1 + group})
    y = (X["merit"] + X["proxy"] - 1 + rng.logistic(size=600) > 0).astype(int)
    return X, y.to_numpy(), group


@pytest.mark.parametrize("bound", [0.0, 0.05])
def test_covariances_stay_within_the_bound(groups, bound):
    X, y, group = groups
    model = learners.BoundedCovarianceLogistic(bound).fit(X, y, sensitive_features=group)
    members = np.eye(3)[group]
    reached = np.abs((members - members.mean(axis=0)).T @ (X.to_numpy() @ model.coef_ + model.intercept_)) / len(X)
    assert reached.max() == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_bound_it_is_logistic_regression(groups, intercept):
    X, y, group = groups
    model = learners.BoundedCovarianceLogistic(1e6, fit_intercept=intercept).fit(X, y, sensitive_features=group)
    plain = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-8).fit(X, y)
    assert model.coef_ == pytest.approx(plain.coef_[0], abs=2e-3)


def test_least_squares_decide_at_0():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    # The line is 0.4 x - 0.1.
    assert learners.LeastSquaresClassifier().fit(X, y).predict(X).tolist() == [0, 1, 1, 1]


def test_nearby_support_vectors_decide_as_all_of_them():
    rng = np.random.default_rng(0)
    X, far = rng.integers(12, size=(400, 5)).astype(float), rng.integers(100, size=(3000, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 11).astype(int)
    model, plain = learners.NearbySVC().fit(X, y), SVC(gamma="auto").fit(X, y)
    for inputs in (X, far):
        assert model.decision_function(inputs) == pytest.approx(plain.decision_function(inputs), abs=1e-6)
        assert (model.predict(inputs) == plain.predict(inputs)).all()


# Four women, of whom one is positive, and four men, of whom three are.
WOMEN = np.array([True] * 4 + [False] * 4)
LABELS = np.array([1, 0, 0, 0, 1, 1, 1, 0])
RANKS = np.array([0.9, 0.1, 0.4, 0.3, 0.9, 0.2, 0.6, 0.1])


@pytest.mark.parametrize(
    ("disadvantaged", "options", "expected"),
    [
        # One change in each group makes the shares equal: the woman with 0.4, the man with 0.2.
        (WOMEN, {}, [1, 0, 1, 0, 1, 0, 1, 0]),
        (WOMEN, {"n_promoted": 2, "n_demoted": 0}, [1, 0, 1, 1, 1, 1, 1, 0]),
        (~WOMEN, {}, LABELS.tolist()),  # the disadvantaged do better
    ],
)
def test_the_nearest_labels_are_changed(disadvantaged, options, expected):
    assert learners.massage(LABELS, disadvantaged, RANKS, **options).tolist() == expected
    assert learners.changes_for_equal_shares(LABELS, disadvantaged) == disadvantaged[0]


def test_weights_by_hand():
    # P(positive) P(woman) / P(positive woman) = 1/2 * 1/2 / (1/8).
    assert learners.balancing_weights(LABELS, WOMEN).tolist() == pytest.approx([2, *[2 / 3] * 6, 2])


@pytest.fixture(scope="module")
def people():
    """Surrogates, cut to a size that all systems learn from within a second."""
    return {
        data: systems.sample_people(load(variant), 300, random_state=0) for data, variant in systems.VARIANTS.items()
    }


def inputs_of(instance, n):
    return instance.schema.decode(instance.schema.sample_codes(n, random_state=0))


@EVERY_INSTANCE
def test_what_is_not_trained_again_would_decide_alike(people, instance):
    inputs = inputs_of(instance, 1000)
    for reading in systems.READINGS:
        for behind in systems.BEHIND:
            fresh = systems._trained.__wrapped__(systems._Training(instance, people[instance.data], reading, behind))
            kept = systems.train(instance, people[instance.data], reading=reading, behind=behind)(inputs)
            assert (fresh.predict(inputs) == kept).all()
            assert set(np.unique(kept)) <= {0, 1}
    fewer = systems.sample_people(people[instance.data], 200, random_state=0)
    assert systems.train(instance, fewer) is not systems.train(instance, people[instance.data])


@EVERY_INSTANCE
def test_readings_differ_but_for_two_systems(people, instance):
    inputs = inputs_of(instance, 2000)
    published, described = (
        systems.train(instance, people[instance.data], reading=reading)(inputs) for reading in systems.READINGS
    )
    assert (published == described).all() == (instance.system in "eh")


def test_system_g_as_published_is_positive_far_more_often_than_the_labels(people):
    census = people["census"]
    decisions = systems.train(BY_ID["g.census.unaware"], census)(census.features.astype(int))
    assert decisions.mean() > (census.target == census.positive_label).mean() + 0.3


def test_changed_labels_by_hand():
    X = pd.DataFrame({"race": [0] * 20 + [4] * 40, "sex": [0, 1] * 30})
    y = np.array([1] * 20 + [1, 1] + [0] * 38)

    def labels(id, column, privileged, behind):
        return systems._changed_labels(BY_ID[id], X, y, (X[column] != privileged).to_numpy(), behind).tolist()

    # No white person keeps a positive label.
    no_white = [0] * 20 + [1, 1] + [0] * 38
    assert [labels("c.census.race", "race", 0, behind) for behind in systems.BEHIND] == [no_white] * 3
    assert labels("d.census.race", "race", 0, "figure-1 causal") == no_white
    # Twelve of either side change.
    changed = labels("d.census.race", "race", 0, "figure-2") != y
    assert changed[:20].sum() == changed[20:].sum() == 12
    # Of the 19 women of race 4 with a negative label, all keep it; a twentieth would be promoted.
    assert labels("c.census.gender", "sex", 1, "figure-2") == y.tolist()


def test_trials_run_through_the_instances_and_search_all_sets(people):
    options = {"people": people, "reading": "as_published", "max_values": 3, "max_samples": 20}
    search = trials.search_all_sets(Trial("test", len(INSTANCES)), **options)  # of the first instance, on credit
    assert {name for names in search["sensitive_features"] for name in names} == {"sex", "housing", "liable", "foreign"}
    group = search[search["measure"] == "group"]
    tested, minimal = programs.pruned_sets(group["sensitive_features"], group["score"], 0.0)
    assert minimal.tolist() == tested.tolist() == [True] * 4 + [False] * 11, "any score reaches a threshold of 0"


def test_a_search_twice_agrees_and_needs_no_more_tests():
    rows = pd.DataFrame([trials.search_twice(Trial("test", index), threshold=0.3) for index in range(4)])
    for measure in ("group", "causal"):
        assert rows[f"{measure} agree"].all()
        assert (rows[f"{measure} tests with"] <= rows[f"{measure} tests without"]).all()


@pytest.mark.parametrize(
    ("max_values", "there"), [(np.inf, True), (40, True), (39, False), ({"census": 39, "credit": 40}, False)]
)
def test_characteristics_with_many_values_are_left_out(max_values, there):
    names = trials.searched_characteristics(BY_ID["a.census.race"], max_values=max_values)
    assert ("native-country" in names) == there


def test_sampled_people_belong_together(people):
    sampled, whole = people["census"], load(systems.VARIANTS["census"])
    assert len(sampled.target) == 300
    assert sampled.features.equals(whole.features.loc[sampled.target.index])


# Small programs that check definitions and theorems, and the searches with and without pruning of figure 3.

LOAN = Schema.from_dict(
    {"age": ["under40", "over40"], "race": ["green", "purple"], "name": range(10), "savings": range(10)}
)


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
    some = programs.random_programs((3, 2, 4), 20, np.random.default_rng(0))
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
    assert (len(table), len(BY_ID), table["aware"].sum()) == (20, 20, 12)
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
