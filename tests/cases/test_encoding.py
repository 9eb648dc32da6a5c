import numpy as np
import pandas as pd
import pytest

from fairlab.cases import CaseError, Encoding

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


def test_columns_and_where_they_come_from():
    assert dict(zip(ENCODING.names, ENCODING.source, strict=True)) == {
        "age": "age",
        "job = baker": "job",
        "job = clerk": "job",
        "job = (missing)": "job",
        "flag": "flag",
        "share": "share",
        "share is missing": "share",
        "class = low": "class",
        "class = mid": "class",
        "class = high": "class",
        "count": "count",
        "count is missing": "count",
        "maybe": "maybe",
        "maybe is missing": "maybe",
    }
    assert np.flatnonzero(ENCODING.is_number).tolist() == [0, 4, 5, 10, 12]


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
    with pytest.raises(CaseError, match="column 'job': 'king' is not in the table"):
        ENCODING.transform(TABLE.assign(job="king"))
    complete = Encoding(TABLE[["age", "class"]])
    with pytest.raises(CaseError, match="column 'class': misses values, which the table does not"):
        complete.transform(TABLE.assign(**{"class": pd.Categorical([None] * 3, dtype=TABLE["class"].dtype)}))


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.zeros(14), "a", None, np.full((1, 14), np.nan)])
def test_what_is_no_matrix_of_the_encoding(matrix):
    with pytest.raises(CaseError, match="matrix: expected "):
        ENCODING.inverse_transform(matrix)


def test_constants_stay_what_they_are():
    table = pd.DataFrame({"a": [7, 7], "b": [np.nan, np.nan]})
    encoding = Encoding(table)
    assert encoding.scale.tolist() == [1, 1, 1]
    pd.testing.assert_frame_equal(encoding.inverse_transform(encoding.transform(table)), table)
