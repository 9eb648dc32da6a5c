import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, Aequitas, discriminatory
from fairlab.adf.discrimination import Trace
from fairlab.cases import Schema
from fairlab.networks import FeedForward
from fairlab.papers.adf import courses
from fairlab.papers.adf.symbolic import SymbolicGeneration

SCHEMA = Schema.from_bounds({"a": (0, 9), "b": (-9, 9), "group": (1, 4)})
# Class 1 where a + group > 8: the group matters to a from 4 to 7.
NETWORK = FeedForward([np.array([[0.0, 1], [0, 0], [0, 1]]), np.array([0, -8.5])])
COLUMNS = ["rows", "inputs", "found", "seed"]


@pytest.fixture
def adf():
    return ADF(NETWORK, SCHEMA, "group", n_local=30, variant="published", random_state=0)


class Counting:
    """Checks as the authors' program does, one row per call; counts the rows."""

    def __init__(self):
        self.rows = 0

    def __call__(self, x) -> int:
        own = self.predict(x)
        for number, value in enumerate(range(1, 5)):
            if value != x[2] and self.predict([*x[:2], value]) != own:
                return number
        return -1

    def predict(self, x) -> int:
        self.rows += 1
        return int(NETWORK.predict([x])[0])


def test_rows_of_a_check_are_those_of_the_authors_loop(adf):
    inputs = SCHEMA.sample(200, random_state=1)
    asked, partners = [], []
    for x in inputs:
        one = Counting()
        partners.append(one(x.tolist()))
        asked.append(one.rows)
    trace = Trace(inputs, np.array(partners), np.zeros(200, dtype=int))
    assert courses.rows_to_check(trace, adf).tolist() == asked
    assert set(asked) == {2, 3, 4}


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
    empty = courses.course([], [], np.array([7, 9]), adf)
    assert empty[COLUMNS].to_numpy().tolist() == [[9, 0, 0, 1]]


def test_walks_of_adf_in_turn_are_those_of_its_search(adf):
    X = SCHEMA.sample(60, random_state=2)
    course = courses.course_of_adf(adf, X, n_seeds=20, rng=np.random.default_rng(0), n_found=10**6)
    phase = adf.global_search(adf.seeds(X, 20))
    assert sorted(set(course["seed"])) == phase.seed.tolist()
    # Walks of 30 steps, each move with gradients and with checks of 2 to 4 rows, once more for each of 3 attributes.
    walks = course.groupby("seed")["rows"].agg(lambda rows: rows.iloc[-1] - rows.iloc[0])
    assert walks.between(30 * (2 + 4 * 2), 30 * (2 + 4 * 4)).all()
    assert (course[["rows", "inputs", "found"]].diff().iloc[1:] >= 0).all(axis=None)
    short = courses.course_of_adf(adf, X, n_seeds=20, rng=np.random.default_rng(0), n_rows=500)
    assert short.equals(course[: len(short)])


def test_neighbours_of_negative_values_are_counted_as_inputs_and_not_as_rows(adf):
    X = np.array([[3, -9, 1], [5, -8, 2]] * 5)
    course = courses.course_of_adf(adf, X, n_seeds=8, rng=np.random.default_rng(0), n_found=10**6)
    asked = course.groupby("seed")["rows"].diff()
    assert (asked == 0).any()
    assert (course["inputs"].diff()[asked == 0] == 1).any()


def test_aequitas_stops_at_the_walk_that_found_enough():
    aequitas = Aequitas(NETWORK, SCHEMA, "group", n_local=20, in_flight=1, variant="published", random_state=0)
    draws = SCHEMA.sample(50, random_state=3)
    hits = np.flatnonzero(discriminatory(NETWORK, draws, "group", schema=SCHEMA))
    course = courses.course_of_aequitas(aequitas, draws, n_found=25)
    assert course["found"].iloc[-1] >= 25
    assert course["seed"].iloc[-1] < hits[-1]
    check = Counting()
    check(draws[hits[0]].tolist())
    assert course["rows"].iloc[0] == 4 * (hits[0] + 1) + 4 * check.rows, "draws of 4 rows, then one start"
    steps = course[course["seed"] == hits[0]]["rows"].diff().iloc[1:]
    assert set(steps) <= {0, 10, 15, 20}, "five checks of 2 to 4 rows"
    nothing = courses.course_of_aequitas(aequitas, np.array([[0, 0, 1], [1, 0, 1]]), n_found=5)
    assert nothing[COLUMNS].to_numpy().tolist() == [[8, 0, 0, 1]]


def test_symbolic_generation_pays_for_its_trees():
    sg = SymbolicGeneration(NETWORK, SCHEMA, "group", n_neighbours=100, random_state=0)
    X = SCHEMA.sample(80, random_state=4)
    course = courses.course_of_sg(sg, X, X[:10], n_inputs=25)
    assert course["inputs"].iloc[-1] == 25
    assert course["rows"].diff().iloc[1:].between(102, 104).all()
    assert (course["seconds"].diff().iloc[1:] > 0).all()


def test_lines_of_a_course():
    course = pd.DataFrame({"rows": [5, 9, 14], "inputs": [1, 2, 2], "found": [0, 1, 1], "seed": 0})
    assert courses.within(course, 13)["rows"] == 9
    assert courses.within(course, 4).tolist() == [0, 0, 0, 0]
    assert courses.at_inputs(course, 2)["rows"] == 9
    assert courses.at_inputs(course, 7)["rows"] == 14
    assert courses.to_find(course, "rows", 1) == 9
    assert courses.to_find(course, "rows", 3) == 42
