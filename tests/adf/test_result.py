import numpy as np

from fairlab.adf import SearchResult
from fairlab.adf.result import Trace, repeated
from fairlab.cases import Schema

SCHEMA = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


def result():
    trace = Trace(
        inputs=np.array([[1, 0], [2, 0], [1, 1], [3, 1], [2, 1], [4, 0]]),
        partner=np.array([1, -1, 0, 0, -1, -1]),
        seed=np.array([0, 5, 5, 5, 0, 5]),
    )
    return SearchResult.count(
        trace,
        schema=SCHEMA,
        sensitive="sex",
        iterations=np.array([0, 10, 10, 10, 10, 3]),
        successful=np.array([True, False, False, False, False, True]),
        seconds=1.0,
    )


def test_inputs_that_differ_in_protected_values_only_count_once():
    found = result()
    assert found.trace.inputs.tolist() == [[1, 0], [2, 1], [3, 1], [4, 0]], "by seed, then by time"
    assert (found.n_inputs, found.n_discriminatory, found.success_rate) == (4, 2, 0.5)
    assert found.discriminatory.tolist() == [[1, 0], [3, 1]]


def test_pairs_have_the_partners_values():
    assert result().pairs.tolist() == [[[1, 0], [1, 1]], [[3, 1], [3, 0]]]


def test_growth_accumulates_over_the_seeds_that_started():
    growth = result().growth()
    assert growth.index.tolist() == [1, 2]
    assert growth["inputs"].tolist() == [2, 4]
    assert growth["discriminatory"].tolist() == [1, 2]


def test_a_search_that_tried_nothing():
    nothing = SearchResult.count(
        Trace.join([], 2),
        schema=SCHEMA,
        sensitive="sex",
        iterations=np.array([]),
        successful=np.array([], dtype=bool),
        seconds=0.0,
    )
    assert (nothing.n_inputs, nothing.n_discriminatory, nothing.success_rate) == (0, 0, 0)
    assert nothing.pairs.shape == (0, 2, 2)
    assert nothing.growth().empty
    assert nothing.to_frame().loc[0, "successful seeds"] == 0


def test_repeated_looks_at_earlier_rows_only():
    assert repeated(np.array([[1, 0], [1, 1], [2, 0], [1, 0]]), np.array([1])).tolist() == [False, True, False, True]
