import time

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import AnswerCache, BudgetSpentError, Queries
from fairlab.cases.queries import BATCH, row_keys

ROWS = pd.DataFrame({"x": [3, 1, 3, 2], "name": ["a", "b", "a", None]})


class Doubler:
    """Doubles x, and remembers what it was sent."""

    def __init__(self):
        self.sent = []

    def __call__(self, rows):
        self.sent.append(rows)
        return 2.0 * rows["x"].to_numpy()


def test_a_row_is_asked_once_and_rows_are_sent_in_their_order():
    queries, double = Queries(), Doubler()
    assert queries.answers("double", double, ROWS).tolist() == [6, 2, 6, 4]
    assert double.sent[0]["x"].tolist() == [3, 1, 2]
    assert double.sent[0].index.tolist() == [0, 1, 2]
    assert (queries.n_queries, queries.n_cached) == (3, 1)
    more = pd.concat([ROWS, ROWS.assign(x=9)])
    assert queries.answers("double", double, more).tolist() == [6, 2, 6, 4, 18, 18, 18, 18]
    assert double.sent[1]["name"].isna().tolist() == [False, False, True]
    assert (queries.n_queries, queries.n_cached) == (6, 6)
    assert queries.answers("other", double, ROWS).tolist() == [6, 2, 6, 4]
    assert queries.n_queries == 9, "answers to different questions are kept apart"


def test_a_limit_is_never_exceeded_and_inner_ones_count_for_outer_ones():
    queries, double = Queries(), Doubler()
    with queries.limit(10):
        queries.answers("double", double, ROWS)
        with queries.limit(100):
            assert queries.left == 7
        with queries.limit(2):
            with pytest.raises(BudgetSpentError, match="expected at most 2 more model queries, found 3"):
                queries.answers("double", double, ROWS.assign(x=[5, 6, 7, 7], name="c"))
            queries.answers("double", double, ROWS.iloc[:2])
            assert queries.left == 2, "rows from memory are free"
            queries.answers("double", double, ROWS.assign(x=8).iloc[:2])
            assert queries.left == 0
        assert queries.left == 5
    assert queries.left == np.inf
    assert queries.n_queries == sum(map(len, double.sent)) == 5


def test_large_questions_come_in_batches():
    rows = pd.DataFrame({"x": np.arange(BATCH + 5)})
    queries, double = Queries(), Doubler()
    assert (queries.answers("double", double, rows) == 2 * rows["x"]).all()
    assert [len(sent) for sent in double.sent] == [BATCH, 5]


@pytest.mark.parametrize("length", [5, 2_000_000])
def test_an_answer_is_asked_for_once_and_kept_in_order(length):
    rng, cache, truth = np.random.default_rng(0), AnswerCache(), {}
    for _ in range(50):
        keys = rng.integers(0, length, rng.integers(0, 200))
        values, is_new = cache(keys, lambda new, keys=keys: keys[new] * 1.5)
        assert is_new.tolist() == [key not in truth and key not in keys[:n] for n, key in enumerate(keys.tolist())]
        assert (values == keys * 1.5).all()
        truth |= dict.fromkeys(keys.tolist())
    assert cache.keys.tolist() == list(truth)
    assert (cache.values == cache.keys * 1.5).all()


@pytest.mark.parametrize(
    "values",
    [
        [1, "1", True, 1.0, None, "None", "nan", "(missing)", "", "True"],
        ["a", None, "nan", "None", "(missing)", ""],
        pd.array([0, 1, None, -1], dtype="Int64"),
        pd.array([True, False, None], dtype="boolean"),
        pd.array([0.5, None, 0.0], dtype="Float64"),
        pd.Categorical(["b", None, "a"]),
        [0.0, 1.0, np.nan, 1e-300, -1.0, 2.0**53],
        [2**62, 2**62 + 1, -1, 0],
        np.array([2**63, 2**63 + 1, 0], dtype=np.uint64),
        [True, False],
        pd.array(["x", None, "y"], dtype="string"),
    ],
)
def test_different_values_have_different_keys_and_the_same_have_the_same(values):
    column = pd.Series(values)
    first = row_keys(pd.DataFrame({"a": column, "b": 1}))
    assert len(set(first.tolist())) == len(column)
    again = row_keys(pd.DataFrame({"a": column.iloc[::-1], "b": 1}))
    assert again.tolist() == first.tolist()[::-1]


def test_keys_spread_over_all_bits():
    keys = row_keys(pd.DataFrame({"a": np.repeat(np.arange(300), 1000), "b": np.tile(np.arange(1000), 300)}))
    assert len(np.unique(keys)) == 300_000
    ones = np.unpackbits(keys[:100_000].view(np.uint8)).mean()
    assert ones == pytest.approx(0.5, abs=0.002)


def test_more_than_100_000_rows_a_second():
    rng = np.random.default_rng(0)
    n = 48_842
    texts = {f"text{k}": rng.choice([f"value {v}" for v in range(16)], n) for k in range(8)}
    rows = pd.DataFrame({"id": np.arange(n)} | texts | {f"number{k}": rng.integers(0, 99, n) for k in range(5)})
    queries = Queries()
    start = time.perf_counter()
    queries.answers("zero", lambda rows: np.zeros(len(rows)), rows)
    queries.answers("zero", lambda rows: np.zeros(len(rows)), rows)
    assert 2 * n / (time.perf_counter() - start) > 100_000
