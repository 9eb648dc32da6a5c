import datetime

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import CaseError, Encoding
from fairlab.cases.table import check_table, in_dtypes, level_names, levels_of

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
        (pd.DataFrame([[1], [2]]), r"expected texts as names of columns, found 0; table\.columns = "),
        (pd.concat([GOOD, GOOD[["flag"]]], axis=1), "table: columns occur twice: flag"),
        (GOOD[[]], "table: has no columns"),
        (GOOD[:1], "table: expected at least 2 rows, found 1"),
        (GOOD[:0], "table: expected at least 2 rows, found 0"),
        (GOOD.assign(d=pd.Timestamp("2020-01-01")), "column 'd' has type datetime64.*make it a number, as the age"),
        (GOOD.assign(d=pd.Timestamp("2020-01-01", tz="UTC")), "column 'd' has type datetime64"),
        (GOOD.assign(d=pd.Timedelta("1 day")), r"column 'd' has type timedelta64.*total_seconds"),
        (GOOD.assign(d=pd.Period("2020-01")), "column 'd' has type period"),
        (GOOD.assign(d=datetime.date(2020, 1, 1)), "column 'd' holds dates"),
        (GOOD.assign(d=[[1], [2]]), "column 'd': expected texts, truth values or numbers, found a list"),
        (GOOD.assign(d=[{}, None]), "column 'd': expected texts, truth values or numbers, found a dict"),
        (GOOD.assign(d=1j), "column 'd' has type complex128; make it real"),
        (GOOD.assign(d=[1.0, np.inf]), "column 'd' holds infinite values"),
        (GOOD.assign(d=pd.arrays.SparseArray([0, 1])), "column 'd' has type Sparse.*make it dense"),
        (GOOD.assign(d=pd.Categorical(pd.to_datetime(["2020", "2021"]))), "column 'd' has type datetime64"),
    ],
)
def test_tables_that_are_refused(table, message):
    with pytest.raises(CaseError, match=message):
        check_table(table)


def test_unknown_columns_are_named_with_the_nearest():
    with pytest.raises(CaseError, match="table: has no column 'flg'; did you mean 'flag'"):
        check_table(GOOD, ["flg"])


def test_columns_that_are_not_used_may_hold_anything():
    assert check_table(GOOD.assign(d=[[1], [2]]), ["flag"]).columns.tolist() == ["flag"]


def test_rows_get_the_types_of_the_table():
    loose = pd.DataFrame({name: GOOD[name].astype(object).to_numpy() for name in reversed(GOOD.columns)})
    pd.testing.assert_frame_equal(in_dtypes(loose, GOOD.dtypes), GOOD.reset_index(drop=True))
    pd.testing.assert_frame_equal(in_dtypes(GOOD.assign(count=[1.0, 2.0]), GOOD.dtypes), GOOD)
    assert in_dtypes(GOOD, GOOD.dtypes)["group"].dtype == GOOD["group"].dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": [0.5, 1]}, "column 'count' holds fractions, expected int64"),
        ({"count": [None, 1]}, "column 'count' misses values, which its type int64 has not"),
        ({"count": ["1", "2"]}, "column 'count' has type (str|object), expected int64"),
        ({"small": [300, 1]}, "column 'small' holds numbers that are too large for int8"),
        ({"flag": [2, 1]}, "column 'flag' has type int64, expected bool"),
        ({"group": ["low", "huge"]}, "column 'group' holds 'huge', which is none of its categories"),
        ({"text": [1, 2]}, "column 'text' has type int64, expected str"),
        ({"count": [np.inf, 1]}, "column 'count' holds infinite values, expected int64"),
        ({"nullable": [0.5, None]}, "column 'nullable' holds fractions"),
    ],
)
def test_values_that_do_not_fit(change, message):
    with pytest.raises(CaseError, match=message):
        in_dtypes(GOOD.assign(**change), GOOD.dtypes)


def test_rows_need_all_columns():
    with pytest.raises(CaseError, match="rows: lack the columns text, flag"):
        in_dtypes(GOOD.drop(columns=["text", "flag"]), GOOD.dtypes)
    with pytest.raises(CaseError, match="rows: columns occur twice: text"):
        in_dtypes(pd.concat([GOOD, GOOD[["text"]]], axis=1), GOOD.dtypes)
    with pytest.raises(CaseError, match="rows: expected a DataFrame, found ndarray"):
        in_dtypes(np.zeros((1, 1)), GOOD.dtypes)


def levels(values):
    column = levels_of(pd.Series(values))
    return column.tolist(), column.cat.categories.tolist()


def test_names_of_groups():
    assert levels(["b", None, "a"]) == (["b", "(missing)", "a"], ["a", "b", "(missing)"])
    assert levels(["(missing)", None]) == (["(missing)", "((missing))"], ["(missing)", "((missing))"])
    assert levels([10, 9, 10]) == (["10", "9", "10"], ["9", "10"])
    assert levels([True, False]) == (["True", "False"], ["False", "True"])
    assert levels([1, "1"]) == (["1", "'1'"], ["1", "'1'"])
    assert levels(pd.array([2, None], dtype="Int64")) == (["2", "(missing)"], ["2", "(missing)"])
    ordered = pd.Categorical(["mid", "low", None], categories=["low", "mid", "high"], ordered=True)
    assert levels(ordered) == (["mid", "low", "(missing)"], ["low", "mid", "(missing)"])
    assert level_names([], True) == ["(missing)"]


def test_many_numbers_make_four_groups_or_those_of_given_edges():
    ages = pd.Series(np.arange(20, 60), index=np.arange(100, 140), name="age")
    groups = levels_of(ages)
    assert groups.cat.categories.tolist() == ["up to 29", "29 to 39", "39 to 49", "above 49"]
    assert groups.value_counts(sort=False).tolist() == [10, 10, 10, 10]
    assert groups.index.equals(ages.index)
    assert levels_of(ages, [24, 39]).value_counts(sort=False).to_dict() == {
        "up to 24": 5,
        "24 to 39": 15,
        "above 39": 20,
    }
    assert levels_of(ages, [10, 24.5, 90]).cat.categories.tolist() == ["10 to 24.5", "24.5 to 90"]
    assert levels_of(ages.where(ages > 25)).cat.categories[-1] == "(missing)"


def numbers_of(name):
    return [float(word.replace(",", "")) for word in name.split() if word[0] in "-0123456789"]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_groups_of_numbers_have_round_names_that_are_true_and_nobodys_value(unit):
    pay = pd.Series(unit * np.random.default_rng(0).normal(3, 2, 400))
    groups = levels_of(pay)
    assert groups.value_counts().between(90, 110).all()
    for name in groups.cat.categories:
        members, ends = pay[groups == name], numbers_of(name)
        assert not set(ends) & set(pay), "no end is the number of anybody"
        assert all(end == float(f"{end:.2e}") for end in ends)
        assert name.startswith("above ") or members.max() <= ends[-1]
        assert name.startswith("up to ") or members.min() > ends[0]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.arange(100_001, 100_041), ["up to 100,010", "100,010 to 100,020", "100,020 to 100,030", "above 100,030"]),
        (np.r_[np.zeros(90), np.arange(1, 21)], ["up to 0", "above 0"]),
        (np.r_[np.full(90, 731.25), np.arange(20)], ["any number"]),
        (np.r_[np.arange(20), np.full(20, 731.25)], ["up to 9", "9 to 19", "above 19"]),
    ],
)
def test_names_of_groups_of_crowded_numbers(values, names):
    assert levels_of(pd.Series(values)).cat.categories.tolist() == names


def test_groups_of_close_edges_have_names_of_their_own():
    edges = [1.0000001, 1.0000002, 1.0000003]
    names = levels_of(pd.Series([1.0, *edges, 2.0]), edges).cat.categories.tolist()
    assert names == ["up to 1.0000001", "1.0000001 to 1.0000002", "1.0000002 to 1.0000003", "above 1.0000003"]


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
