import pandas as pd
from fit_surrogates import count_cells
from hypothesis import given
from hypothesis import strategies as st

TABLE = pd.DataFrame({"a": ["x", "y", "y", "x", "y"], "b": ["1", "3", "3", "2", "1"]})


def test_counts_by_hand():
    cells = count_cells(TABLE)
    assert cells.levels == {"a": ("x", "y"), "b": ("1", "2", "3")}
    assert cells.counts == (1, 1, 0, 1, 0, 2)


@given(rows=st.lists(st.tuples(*[st.sampled_from("pqr")] * 3), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_all_records_come_back_in_another_order(rows, seed):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    cells = count_cells(table)
    drawn = cells.sample(len(table), random_state=seed)
    assert sorted(drawn.itertuples(index=False, name=None)) == sorted(rows)


def test_fewer_rows_are_drawn_without_replacement():
    drawn = count_cells(TABLE.iloc[:3]).sample(2, random_state=0)
    assert drawn.value_counts().max() <= 2
    assert drawn.value_counts().get(("x", "1"), 0) <= 1
