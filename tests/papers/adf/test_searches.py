"""What the notebooks share: published variants, the check of a search, courses, symbolic generation, benchmarks."""

import os
from itertools import pairwise
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import small_network
from sklearn.tree import DecisionTreeClassifier

from fairlab.adf import ADF, Aequitas, SearchResult, discriminatory
from fairlab.adf.discrimination import Trace
from fairlab.cases import Schema
from fairlab.data import DataUnavailableError, SurrogateWarning, load
from fairlab.networks import FeedForward
from fairlab.papers.adf import benchmarks, courses
from fairlab.papers.adf.benchmarks import SCHEMAS, subject_under_test
from fairlab.papers.adf.searches import ADFOnCredit, tally
from fairlab.papers.adf.symbolic import Explainer, NodeCounts, PathCondition, SymbolicGeneration, grow_path, solve
from fairlab.suite.seeds import Trial

CREDIT = SCHEMAS["credit"]


# Class 1 where the first attribute is at least 5 and the second is 1.
RULE = [np.array([[0.0, 1], [0, 10]]), np.array([0, -14.5])]


@pytest.mark.parametrize(
    ("inputs", "partner", "expected"),
    [
        ([[5, 1], [7, 0], [3, 1]], [0, 1, -1], (3, 2, 0, 0)),
        ([[5, 1], [5, 0]], [0, 1], (2, 2, 1, 0)),  # one input twice, but for the sex
        ([[5, 1], [3, 1]], [0, 0], (2, 2, 1, 0)),  # the second is not discriminatory
        ([[5, 1], [11, 1]], [0, 0], (2, 2, 0, 1)),  # the second lies outside of the domain
        ([[5, 1]], [-1], (1, 0, 0, 0)),
    ],
)
def test_a_tally_counts_and_checks_what_a_search_reports(inputs, partner, expected):
    schema = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})
    trace = Trace(np.array(inputs), np.array(partner), np.zeros(len(inputs), dtype=int))
    result = SearchResult(schema, ("sex",), trace, np.array([0]), np.array([True]), 0.5)
    found = tally(result, RULE, Trial("adf/versus_aequitas", 0))
    counts = [found[name] for name in ("n_inputs", "n_discriminatory", "n_wrong", "n_outside", "success_rate")]
    assert counts == [*expected, pytest.approx(expected[1] / expected[0])]
    assert len(found["sample"]) == min(result.n_discriminatory, 1), "5%, rounded up"


@pytest.mark.parametrize(("method", "n_successful"), [(ADFOnCredit, 10), (ADF, 0)])
def test_credit_tries_an_age_outside_of_the_domain_as_published_only(method, n_successful):
    age = np.array([[name == "age"] for name in CREDIT.names])
    # Class 0 is age 0, which lies outside of the domain.
    needs_an_age = FeedForward([np.hstack([0 * age, age]), np.array([0, -0.5])])
    adf = method(needs_an_age, CREDIT, "age", variant="published", random_state=0)
    assert adf.global_search(adf.seeds(CREDIT.sample(80, random_state=0), 10)).successful.sum() == n_successful


SCHEMA = Schema.from_bounds({"a": (0, 9), "b": (-9, 9), "group": (1, 4)})
# Class 1 where a + group > 8: the group matters to a from 4 to 7.
NETWORK = FeedForward([np.array([[0.0, 1], [0, 0], [0, 1]]), np.array([0, -8.5])])
COLUMNS = ["rows", "inputs", "found", "seed"]


@pytest.fixture
def adf():
    return ADF(NETWORK, SCHEMA, "group", n_local=30, variant="published", random_state=0)


def checked(x):
    """Check as the authors' program does, one row per call; return the partner's number or -1, and the rows."""
    own = NETWORK.predict([x])[0]
    others = [(number, value) for number, value in enumerate(range(1, 5)) if value != x[2]]
    for n_asked, (number, value) in enumerate(others, start=2):
        if NETWORK.predict([[*x[:2], value]])[0] != own:
            return number, n_asked
    return -1, 1 + len(others)


def test_rows_of_a_check_are_those_of_the_authors_loop(adf):
    inputs = SCHEMA.sample(200, random_state=1)
    partners, asked = zip(*(checked(x) for x in inputs.tolist()), strict=True)
    trace = Trace(inputs, np.array(partners), np.zeros(200, dtype=int))
    assert courses.rows_to_check(trace, adf).tolist() == list(asked) and set(asked) == {2, 3, 4}


def test_a_course_counts_seed_by_seed(adf):
    first = Trace(np.array([[4, 0, 1], [5, 0, 1]]), np.array([1, -1]), np.array([0, 2]))
    second = Trace(np.array([[4, 1, 1], [4, 1, 3], [4, 2, 1]]), np.array([1, -1, 2]), np.array([0, 2, 0]))
    rows = [np.array([10, 20]), np.array([1, 2, 0])]
    course = courses.course([first, second], rows, np.array([100, 200, 300]), adf)
    # The fourth input is the second of seed 0 but for its group; the third is a neighbour, which asks for nothing more.
    assert course.to_numpy().tolist() == [
        [110, 1, 1, 0],
        [111, 2, 2, 0],
        [111, 3, 3, 0],
        [331, 4, 3, 2],
        [333, 4, 3, 2],
    ]
    assert courses.course([], [], np.array([7, 9]), adf)[COLUMNS].to_numpy().tolist() == [[9, 0, 0, 1]]


def test_walks_of_adf_in_turn_are_those_of_its_search(adf):
    X, options = SCHEMA.sample(60, random_state=2), {"n_seeds": 20, "n_found": 10**6}
    course = courses.course_of_adf(adf, X, rng=np.random.default_rng(0), **options)
    assert sorted(set(course["seed"])) == adf.global_search(adf.seeds(X, 20)).seed.tolist()
    # Walks of 30 steps, each move with gradients and with checks of 2 to 4 rows, once more for each of 3 attributes.
    walks = course.groupby("seed")["rows"].agg(lambda rows: rows.iloc[-1] - rows.iloc[0])
    assert walks.between(30 * (2 + 4 * 2), 30 * (2 + 4 * 4)).all()
    assert (course[["rows", "inputs", "found"]].diff().iloc[1:] >= 0).all(axis=None)


def test_aequitas_stops_at_the_walk_that_found_enough():
    aequitas = Aequitas(NETWORK, SCHEMA, "group", n_local=20, in_flight=1, variant="published", random_state=0)
    draws = SCHEMA.sample(50, random_state=3)
    hits = np.flatnonzero(discriminatory(NETWORK, draws, "group", schema=SCHEMA))
    course = courses.course_of_aequitas(aequitas, draws, n_found=25)
    assert course["found"].iloc[-1] >= 25 and course["seed"].iloc[-1] < hits[-1]
    _, n_asked = checked(draws[hits[0]].tolist())
    assert course["rows"].iloc[0] == 4 * (hits[0] + 1) + 4 * n_asked, "draws of 4 rows, then one start"
    steps = course[course["seed"] == hits[0]]["rows"].diff()
    assert set(steps[1:]) <= {0, 10, 15, 20}, "five checks of 2 to 4 rows"
    nothing = courses.course_of_aequitas(aequitas, np.array([[0, 0, 1], [1, 0, 1]]), n_found=5)
    assert nothing[COLUMNS].to_numpy().tolist() == [[8, 0, 0, 1]]


def test_rows_to_more_finds_than_there_are_are_scaled_up():
    course = pd.DataFrame({"rows": [5, 9, 14], "inputs": [1, 2, 2], "found": [0, 1, 1], "seed": 0})
    assert [courses.to_find(course, "rows", n) for n in (1, 3)] == [9, 42]


# Symbolic generation: paths of surrogate trees, and the search along their negated conditions.

network, schema, weights = small_network.network, small_network.schema, small_network.weights  # fixtures


@pytest.mark.parametrize("sensitive_features", ["group", ["group", "sex"]])
def test_every_reported_instance_is_discriminatory(network, schema, sensitive_features):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(network, schema, sensitive_features, n_neighbours=100, random_state=0)
    result = search.generate(X, X[:10], n_inputs=20)
    small_network.check_every_instance(result, network, schema, sensitive_features)
    columns = schema.positions(sensitive_features)
    assert not (result.trace.inputs != X[:10][result.trace.seed])[:, columns].any(), "protected values stay"
    steps = np.concatenate([step.inputs for step in search.steps(X, X[:10], n_inputs=20)])
    walked, kept = (np.unique(np.delete(rows, columns, axis=1), axis=0) for rows in (steps, result.trace.inputs))
    assert len(result.trace.inputs) == 20
    np.testing.assert_array_equal(walked, kept)


def test_with_room_for_all_seeds_the_successful_are_the_discriminatory_ones(schema):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(
        lambda X: (X[:, 0] > 4) & (X[:, 3] == 1), schema, "sex", n_neighbours=100, random_state=0
    )
    assert (search.generate(X, X[:6], n_inputs=200).successful == (X[:6, 0] > 4)).all()


def path_through(rows, classes) -> list[PathCondition]:
    """Return the path of the first row through the whole tree of scikit-learn."""
    model = DecisionTreeClassifier(random_state=2019).fit(rows, classes)
    nodes, size = model.decision_path(rows[:1]).indices, model.tree_.n_node_samples
    column, threshold = model.tree_.feature, np.floor(model.tree_.threshold).astype(int)
    return [
        PathCondition(column[node], rows[0, column[node]] <= threshold[node], threshold[node], size[child] / size[node])
        for node, child in pairwise(nodes)
    ]


@pytest.fixture(params=range(6))
def labelled(request, network, schema):
    rows = schema.sample(400, random_state=request.param)
    return rows, network.predict(rows) if request.param % 2 else (rows[:, 0] + rows[:, 2] > 3) + (rows[:, 4] > 2)


def test_every_split_of_the_tree_is_among_the_best_ones_and_the_path_the_same_up_to_the_first_tie(labelled):
    rows, classes = labelled
    ours, theirs = grow_path(rows, classes, np.random.default_rng(0)), path_through(rows, classes)
    known, labels = np.unique(classes, return_inverse=True)
    counts = NodeCounts(rows.min(axis=0), rows.max(axis=0), len(known))
    bins, inside, n_same = counts.bins(rows), np.arange(len(rows)), 0
    for number, condition in enumerate(theirs):
        table = counts.of(bins, labels, inside)
        splits = counts.best_splits(table)
        assert (condition.column, condition.threshold) in {
            (int(counts.column[k]), counts.threshold(table, k)) for k in splits
        }
        n_same += n_same == number and len(splits) == 1
        inside = inside[(rows[inside, condition.column] <= condition.threshold) == condition.below]
    assert not counts.best_splits(counts.of(bins, labels, inside)).size, "the tree ends where nothing is left to split"
    assert ours[:n_same] == theirs[:n_same] != []


@pytest.mark.parametrize("seed", range(20))
def test_compiled_loops_compute_what_their_docstrings_say(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(-2, 3, size=(30, 4)), rng.integers(1 + seed % 3, size=30)
    counts, some = NodeCounts(rows.min(axis=0), rows.max(axis=0) + 1, 3), rng.choice(30, 12, replace=False)
    bins, table = counts.bins(rows), np.zeros((3, len(counts.column)), dtype=int)
    np.add.at(table, (labels[some, None], bins[some]), 1)
    np.testing.assert_array_equal(counts.of(bins, labels, some), table)
    node, places, quality = table[:, counts.column == 0].sum(axis=1), np.arange(len(counts.column)), {}
    for place in places[table.any(axis=0)]:
        left = table[:, (counts.column == counts.column[place]) & (places <= place)].sum(axis=1)
        if left.sum() < 12 and node.max() < 12:
            quality[place] = sum(-side.sum() * (1 - (side**2).sum() / side.sum() ** 2) for side in (node - left, left))
    best = [place for place, its in quality.items() if its == max(quality.values())]
    first = [place for k, place in enumerate(best) if k == 0 or counts.column[place] != counts.column[best[k - 1]]]
    assert counts.best_splits(table).tolist() == first


def test_equal_splits_are_drawn_evenly_and_nothing_to_split_has_no_path():
    rng, rows = np.random.default_rng(0), np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0]])
    first = [grow_path(rows, np.array([0, 1, 0, 1]), rng)[0].column for _ in range(400)]
    np.testing.assert_allclose(np.bincount(first) / 400, [0.5, 0.5], atol=0.1)
    for rows, classes in (([[0], [1]], [1, 1]), ([[3], [3]], [0, 1])):
        assert grow_path(np.array(rows), np.array(classes), rng) == []


@pytest.mark.parametrize(
    ("conditions", "lowest", "every"),
    [
        # the lowest value above 3, and which there are
        ([(0, False, 3), (0, False, 1), (0, True, 6)], (4, 0), {(4, 0), (5, 0), (6, 0)}),
        # the only one that obeys, and the lowest of all
        ([(0, False, 3), (0, True, 4), (1, True, 0)], (4, -1), {(4, -1), (4, 0)}),
        ([(0, False, 3), (0, True, 3)], None, {None}),
    ],
)
def test_values_that_obey_conditions_by_hand(conditions, lowest, every):
    path, rng = [PathCondition(*condition, 0.5) for condition in conditions], np.random.default_rng(0)
    assert solve((9, 0), path, [(0, 9), (-1, 9)]) == lowest
    assert {solve((9, 0), path, [(0, 9), (-1, 9)], rng) for _ in range(100)} == every


def test_rows_to_pick_from_have_the_frequencies_of_each_column_and_nothing_else():
    X = np.repeat([[0, 0], [1, 7], [2, -7]], [10, 30, 60], axis=0)  # few and far values in the second column
    options = {"n_neighbours": 200, "n_pool": 20_000, "rng": np.random.default_rng(0)}
    explainer = Explainer(lambda X: (X[:, 0] + X[:, 1] > 2).astype(int), X, [(-1, 5), (-9, 9)], **options)
    rows = explainer.counts.value[explainer._bins]
    shares = [(rows == values).mean(axis=0) for values in ([0, 0], [1, 7], [2, -7])]
    np.testing.assert_allclose(shares, [[0.1] * 2, [0.3] * 2, [0.6] * 2], atol=0.015)
    assert abs(np.corrcoef(rows[:, 0], rows[:, 1] == -7)[0, 1]) < 0.03, "columns are drawn one by one"
    assert (explainer.known[explainer._labels] == explainer.classify(rows)).all()


def test_a_model_of_one_class_is_explained_by_nothing():
    X = np.array([[0, 1], [1, 0]])
    options = {"n_neighbours": 20, "n_pool": 50, "rng": np.random.default_rng(0)}
    assert Explainer(lambda X: np.zeros(len(X)), X, [(0, 1), (0, 1)], **options)([0, 0]) == []
    # An input outside of the data, of a class of its own.
    [condition] = Explainer(lambda X: X[:, 0] > 1, X, [(0, 9), (0, 1)], **options)([9, 1])
    assert (condition.column, condition.below, condition.threshold) == (0, False, 5)


# benchmarks


def test_without_the_stored_network_one_trained_here_stands_in(monkeypatch):
    table = SimpleNamespace(
        features=pd.DataFrame(CREDIT.sample(20, random_state=0), columns=CREDIT.names),
        target=pd.Series(np.repeat([0, 1], 10)),
        provenance=SimpleNamespace(variant="credit-adf"),
    )
    monkeypatch.setattr(benchmarks, "stored_weights", mock.Mock(side_effect=DataUnavailableError("credit")))
    monkeypatch.setattr(benchmarks, "FALLBACK_STEPS", 1)
    told = mock.Mock()
    with pytest.warns(SurrogateWarning, match="credit: the stored network is not available"):
        subject = subject_under_test("credit", table, told)
    told.assert_called_once_with("credit-adf", ["adf_networks/credit.index", "adf_networks/credit.data-00000-of-00001"])
    assert [len(bias) for bias in subject.weights[1::2]] == [64, 32, 16, 8, 4, 2] and not subject.stored


@pytest.mark.skipif("FAIRLAB_DATA_MIRROR" not in os.environ, reason="needs the real data")
@pytest.mark.parametrize(("name", "accuracy"), [("census", 0.8815), ("credit", 1.0), ("bank", 0.9227)])
def test_a_stored_network_has_the_published_accuracy(name, accuracy):
    subject = subject_under_test(name, load(f"{name}-adf"))
    assert (subject.stored, subject.accuracy) == (True, pytest.approx(accuracy, abs=5e-5))
