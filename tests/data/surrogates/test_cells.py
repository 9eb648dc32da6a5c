import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlab.data import DataError
from fairlab.data.surrogates.cells import Cells, count_cells

TABLE = pd.DataFrame({"a": ["x", "y", "y", "x", "y"], "b": ["1", "3", "3", "2", "1"]})


def test_counts_by_hand():
    cells = count_cells(TABLE)
    assert cells.levels == {"a": ("x", "y"), "b": ("1", "2", "3")}
    assert cells.counts.tolist() == [[1, 1, 0], [1, 0, 2]]


@given(rows=st.lists(st.tuples(*[st.sampled_from("pqr")] * 3), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_all_records_come_back_in_another_order(rows, seed):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    cells = count_cells(table)
    drawn = cells.sample(len(table), random_state=seed)
    assert sorted(drawn.itertuples(index=False, name=None)) == sorted(rows)
    again = Cells.from_dict(yaml.safe_load(yaml.safe_dump(cells.to_dict())))
    assert again.sample(len(table), random_state=seed).equals(drawn)


def test_fewer_rows_are_drawn_without_replacement():
    drawn = count_cells(TABLE.iloc[:3]).sample(2, random_state=0)
    assert drawn.value_counts().max() <= 2
    assert drawn.value_counts().get(("x", "1"), 0) <= 1


def test_parameters_that_do_not_fit_are_errors():
    with pytest.raises(DataError, match="5 rows requested, 3 counted"):
        count_cells(TABLE.iloc[:3]).sample(5)
    with pytest.raises(DataError, match=r"counts have shape \(3,\), levels \(2, 2\)"):
        Cells.from_dict({"levels": {"a": ["x", "y"], "b": ["1", "2"]}, "counts": [1, 2, 3]})
    with pytest.raises(DataError, match="a count is -1"):
        Cells({"a": ("x", "y")}, np.array([2, -1]))
