import datetime

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import CaseError, Encoding
from fairlab.cases.table import check_table, in_dtypes

GOOD = pd.DataFrame(
    {
        "text": ["a", None],
        "object": np.array(["a", 1], dtype=object),
        "number": [1.5, np.nan],
        "count": [1, 2],
        "small": np.array([1, 2], dtype=np.int8),
        "flag": [True, False],
        "nullable": pd.array([1, None], dtype="Int64"),
        "maybe": pd.array([True, None], dtype="boolean"),
        "group": pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True),
    },
    index=["x", "y"],
)


def test_a_table_is_copied_with_its_types_and_labels():
    copy = check_table(GOOD)
    pd.testing.assert_frame_equal(copy, GOOD)
    copy.loc["x", "count"] = 9
    assert GOOD.loc["x", "count"] == 1
    assert check_table(GOOD, ["flag", "text"]).columns.tolist() == ["flag", "text"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1]], "table: expected a DataFrame, found list"),
        (pd.DataFrame([[1], [2]]), r"expected strings as names of columns, found 0; table\.columns = "),
        (pd.concat([GOOD, GOOD[["flag"]]], axis=1), "table: columns occur twice: flag"),
        (GOOD[[]], "table: has no columns"),
        (GOOD[:1], "table: expected at least 2 rows, found 1"),
        (GOOD[:0], "table: expected at least 2 rows, found 0"),
        (GOOD.assign(d=pd.Timestamp("2020-01-01")), "column 'd' has type datetime64.*make it a number, as the age"),
        (GOOD.assign(d=pd.Timestamp("2020-01-01", tz="UTC")), "column 'd' has type datetime64"),
        (GOOD.assign(d=pd.Timedelta("1 day")), r"column 'd' has type timedelta64.*total_seconds"),
        (GOOD.assign(d=pd.Period("2020-01")), "column 'd' has type period"),
        (GOOD.assign(d=datetime.date(2020, 1, 1)), "column 'd': expected strings, .*, found a date; make it a number"),
        (GOOD.assign(d=[[1], [2]]), "column 'd': expected strings, booleans or numbers, found a list"),
        (GOOD.assign(d=[{}, None]), "column 'd': expected strings, booleans or numbers, found a dict"),
        (GOOD.assign(d=1j), "column 'd' has type complex128; make it real"),
        (GOOD.assign(d=[1.0, np.inf]), "column 'd' holds infinite values"),
        (GOOD.assign(d=pd.arrays.SparseArray([0, 1])), "column 'd' has type Sparse.*make it dense"),
        (GOOD.assign(d=pd.Categorical(pd.to_datetime(["2020", "2021"]))), "column 'd' has type datetime64"),
    ],
)
def test_tables_that_are_refused(table, message):
    with pytest.raises(CaseError, match=message):
        check_table(table)


def test_rows_get_the_types_of_the_table():
    loose = pd.DataFrame({name: GOOD[name].astype(object).to_numpy() for name in reversed(GOOD.columns)})
    pd.testing.assert_frame_equal(in_dtypes(loose, GOOD.dtypes), GOOD.reset_index(drop=True))
    pd.testing.assert_frame_equal(in_dtypes(GOOD.assign(count=[1.0, 2.0]), GOOD.dtypes), GOOD)
    assert in_dtypes(GOOD, GOOD.dtypes)["group"].dtype == GOOD["group"].dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": [0.5, 1]}, r"column 'count' holds 0\.5, expected int64"),
        ({"count": [None, 1]}, "column 'count': expected int64, found (float64|object)"),
        ({"count": ["1", "2"]}, "column 'count' holds '1', expected int64"),
        ({"count": ["one", "2"]}, "column 'count': expected int64, found (str|object)"),
        ({"small": [300, 1]}, "column 'small' holds 300, expected int8"),
        ({"flag": [2, 1]}, "column 'flag' holds 2, expected bool"),
        ({"flag": ["yes", "no"]}, "column 'flag' holds 'yes', expected bool"),
        ({"number": ["0.5", "1"]}, r"column 'number' holds '0\.5', expected float64"),
        ({"group": ["low", "huge"]}, "column 'group' holds 'huge', expected category"),
        ({"text": [1, 2]}, "column 'text' holds 1, expected str"),
        ({"count": [np.inf, 1]}, "column 'count': expected int64, found float64"),
        ({"nullable": [0.5, None]}, "column 'nullable': expected Int64, found float64"),
    ],
)
def test_values_that_do_not_fit(change, message):
    with pytest.raises(CaseError, match=message):
        in_dtypes(GOOD.assign(**change), GOOD.dtypes)


TABLE = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "job": ["clerk", None, "baker"],
        "flag": [True, False, True],
        "share": [0.5, np.nan, 1.5],
        "class": pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "maybe": pd.array([True, None, False], dtype="boolean"),
    }
)
ENCODING = Encoding(TABLE)


def test_numbers_are_standardised_and_the_rest_is_zero_or_one():
    matrix = ENCODING.transform(TABLE)
    step = np.sqrt(1.5)  # 20, 40, 60 have a standard deviation of 20 / sqrt(1.5)
    np.testing.assert_allclose(matrix[:, 0], [-step, 0, step])
    assert matrix[:, 1:4].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_allclose(matrix[:, 5], [-1, 0, 1])
    assert matrix[:, 6].tolist() == [0, 1, 0]
    assert matrix[:, 7:10].tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_the_way_back_is_exact():
    again = ENCODING.inverse_transform(ENCODING.transform(TABLE.iloc[::-1]))
    pd.testing.assert_frame_equal(again, TABLE.iloc[::-1].reset_index(drop=True))
    odd = pd.DataFrame({"x": np.array([1, "1", None, True], dtype=object), "id": np.arange(4) * 10**12 + 36})
    encoding = Encoding(odd)
    pd.testing.assert_frame_equal(encoding.inverse_transform(encoding.transform(odd)), odd)


def test_what_lies_between_goes_to_the_nearest():
    matrix = ENCODING.transform(TABLE)[[0]]
    matrix[0, 0] += 0.01
    matrix[0, 1:4] = [0.2, 0.3, 0.4]
    matrix[0, 7:10] = [0.1, 0.9, 0.8]
    row = ENCODING.inverse_transform(matrix).iloc[0]
    assert row["age"] == 20
    assert pd.isna(row["job"])
    assert row["class"] == "mid"


def test_what_the_table_never_held_is_refused():
    with pytest.raises(CaseError, match="column 'job' holds 'king', not among its values"):
        ENCODING.transform(TABLE.assign(job="king"))
    complete = Encoding(TABLE[["age", "class"]])
    with pytest.raises(CaseError, match="column 'class' holds nan, not among its values"):
        complete.transform(TABLE.assign(**{"class": pd.Categorical([None] * 3, dtype=TABLE["class"].dtype)}))
