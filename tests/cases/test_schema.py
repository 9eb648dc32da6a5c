import datetime
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.cases import CaseError, Encoding, Feature, Schema
from fairlab.cases.schema import codes_of
from fairlab.cases.table import check_table, in_dtypes


def feature(values, **options):
    options = {"bins": 10, "wide": 100} | options
    return Feature.from_column("x", pd.Series(values), **options)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([True, False], (False, True)),
        ([2.5, 0.5], (0.5, 2.5)),
        ([3, 1], range(1, 4)),
        (pd.array([3, 1], dtype="Int64"), range(1, 4)),
        (pd.Categorical(["mid", "low"], categories=["low", "mid", "high"]), ("low", "mid")),
        ([0, 5000, 9999], (0, 5000, 9999)),
        (np.array(["b", 1, "a"], dtype=object), (1, "a", "b")),
    ],
)
def test_values_of_a_column(values, expected):
    assert feature(values).values == expected


def test_a_missing_value_is_the_last_one_and_no_text():
    column = pd.Series(["(missing)", None, "a"])
    known = feature(column)
    assert known.values[:2] == ("(missing)", "a")
    assert known.has_missing
    assert known.find(column).tolist() == [0, 2, 1]
    assert pd.Series(known.decode(np.array([0, 2, 1]))).isna().tolist() == [False, True, False]
    assert feature([1.0, np.nan]).find(pd.Series([np.nan, 1.0, 2.0])).tolist() == [1, 0, -1]
    assert feature(["a"]).find(pd.Series([None, "a"], dtype=object)).tolist() == [-1, 0]
    assert Feature("x", [None, "a", "b"]).find(pd.Series(["b", None, "c", "a"])).tolist() == [2, 0, -1, 1]


def test_wide_numbers_are_binned_by_quantiles():
    column = pd.Series(np.arange(1000) * 7)
    binned = feature(column)
    assert binned.edges == tuple(99 * 7 + 700 * k for k in range(9))
    assert np.bincount(binned.find(column)).tolist() == [100] * 10
    assert set(binned.values) <= set(column), "values that stand for bins occur"
    assert (binned.find(pd.Series(binned.values)) == np.arange(10)).all()
    assert binned.find(pd.Series([-5, 10**6])).tolist() == [0, 9]
    assert feature(column, bins=None).values == range(0, 6994)
    gains = pd.Series([0] * 920 + list(range(1000, 1080)) + [99_999] + [None] * 5)
    assert feature(gains, wide=50).edges[0] == 0, "a mass at one number is a bin of its own"


def test_edges_of_ones_own():
    column = pd.Series([1.0, 2.0, 3.0, 40.0])
    binned = feature(column, edges=[2, 10])
    assert binned.values == (1, 3, 40)
    assert binned.find(column).tolist() == [0, 0, 1, 2]
    assert Feature.from_description("x", binned.describe()) == binned
    for values, edges, message in (
        (column, [10, 2], "expected increasing numbers as edges"),
        (column, [100], "has no value above 100 and up to inf"),
        (["a", "b"], [1], r"edges: column 'x' has type (str|object), expected numbers"),
    ):
        with pytest.raises(CaseError, match=message):
            feature(values, edges=edges)


def groups_of(column, edges=None):
    return Feature.groups("x", column, edges=edges).categories(column)


def levels(values):
    column = groups_of(pd.Series(values))
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
    assert Feature("x", [None]).labels == ["(missing)"]


def test_many_numbers_make_four_groups_or_those_of_given_edges():
    ages = pd.Series(np.arange(20, 60), index=np.arange(100, 140), name="age")
    groups = groups_of(ages)
    assert groups.cat.categories.tolist() == ["up to 29", "29 to 39", "39 to 49", "above 49"]
    assert groups.value_counts(sort=False).tolist() == [10, 10, 10, 10]
    assert groups.index.equals(ages.index)
    assert groups_of(ages, [24, 39]).value_counts(sort=False).to_dict() == {
        "up to 24": 5,
        "24 to 39": 15,
        "above 39": 20,
    }
    assert groups_of(ages, [10, 24.5, 90]).cat.categories.tolist() == ["10 to 24.5", "24.5 to 90"]
    assert groups_of(ages.where(ages > 25)).cat.categories[-1] == "(missing)"


def numbers_of(name):
    return [float(word.replace(",", "")) for word in name.split() if word[0] in "-0123456789"]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_groups_of_numbers_have_round_names_that_are_true_and_nobodys_value(unit):
    pay = pd.Series(unit * np.random.default_rng(0).normal(3, 2, 400))
    groups = groups_of(pay)
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
    assert groups_of(pd.Series(values)).cat.categories.tolist() == names


LOAN = {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}
MIXED = Schema.from_dict(LOAN)
INTEGERS = Schema.from_bounds({"a": (0, 9), "group": (1, 3), "b": (-5, 5), "sex": (0, 1), "c": (0, 4)})


def test_descriptions_of_one_domain():
    assert Schema.from_dict({"sex": ("Male", "Female"), "age": [18, 19, 20]}) == MIXED
    assert Schema((Feature("sex", ["Male", "Female"]), Feature.between("age", 18, np.int64(20)))) == MIXED
    assert Schema.from_bounds({"age": (18, 20)}) == Schema.from_dict({"age": range(18, 21)})
    assert MIXED.to_dict() == LOAN
    assert Schema.from_dict(MIXED.to_dict()) == MIXED
    assert (MIXED.names, MIXED.sizes, MIXED.n_inputs) == (["sex", "age"], (2, 3), 6)


def test_consecutive_integers_are_an_interval_and_nothing_else_is():
    features = Schema.from_dict({"a": [4, 5, 6], "one": [7], "b": [5, 4], "c": [0, 2], "d": [False, True], "e": [0.0]})
    assert [feature.is_interval for feature in features.features] == [True, True, False, False, False, False]
    assert features.features[0].values == range(4, 7)


def test_yaml(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("repaid: [yes, no]\nmail: [on, off]\nflag: [true, false]\nmixed: [Yes, 1, 1.5, null]\n")
    content = {"repaid": ["yes", "no"], "mail": ["on", "off"], "flag": [True, False], "mixed": ["Yes", 1, 1.5, None]}
    assert Schema.from_yaml(path).to_dict() == content
    for text, message in (
        ("a: [", "expected YAML, found"),
        ("- sex\n- age\n", "expected names and values, found list"),
    ):
        path.write_text(text)
        with pytest.raises(CaseError, match=message):
            Schema.from_yaml(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "at least one feature, found none"),
        ({"sex": []}, "'sex': expected at least one value, found none"),
        ({"sex": range(5, 5)}, "'sex': expected at least one value, found none"),
        ({"sex": ["Male", "Male"]}, "'sex': a value is listed twice"),
        ({"sex": "Male"}, "'sex': expected a list of values, found 'Male'"),
        ({"sex": 3}, "'sex': expected a list of values, found 3"),
        ({"age": {"low": 1}}, "'age': expected low and high, or values and edges, found low"),
        ({"age": {"low": 0.5, "high": 2}}, "'age': expected whole numbers as low and high, found 0.5 and 2"),
        ({"age": {"low": "0", "high": "9"}}, "'age': expected whole numbers as low and high, found '0' and '9'"),
        ({"age": {"low": False, "high": 9}}, "expected whole numbers"),
        ({"age": {"low": 3, "high": 1}}, "'age': low 3 is above high 1"),
        ({"age": {"low": 0, "high": 2**63}}, "does not fit into 64 bits"),
    ],
)
def test_bad_descriptions(content, message):
    with pytest.raises(CaseError, match=message):
        Schema.from_dict(content)


def test_wide_numbers_of_a_frame_are_binned_and_the_rest_is_not():
    table = pd.DataFrame({"income": np.arange(200) * 100, "age": np.arange(200) % 80, "code": [7, 5000] * 100})
    sizes = {bins: Schema.from_frame(table, bins=bins).sizes for bins in (10, 4, None)}
    assert sizes == {10: (10, 80, 2), 4: (4, 80, 2), None: (19_901, 80, 4994)}
    binned = Schema.from_frame(table)
    assert Schema.from_dict(binned.to_dict()) == binned
    codes = binned.encode(table)
    assert (binned.encode(binned.decode(codes)) == codes).all()


def test_positions_are_in_the_order_of_the_schema():
    assert MIXED.positions(["age", "sex"]) == [0, 1]
    assert MIXED.positions("age") == [1]
    constant = Schema.from_dict({"a": [1], "b": [1, 2]})
    for schema, names, message in (
        (MIXED, [], "at least one feature of the schema, found none"),
        (MIXED, ["sexe"], "'sexe' is not in the schema; it has sex, age"),
        (MIXED, ["age"] * 2, "each once, found age, age"),
        (constant, ["a", "b"], "'a': expected at least two values to vary, found one"),
    ):
        with pytest.raises(CaseError, match=message):
            schema.positions(names)


def test_samples_are_uniform():
    _, counts = np.unique(MIXED.sample_codes(60_000, random_state=0), axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(60_000 / 6 * 5 / 6)


@given(
    bounds=st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 10**9)), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_integers_are_the_same_draws_as_codes(bounds, seed):
    schema = Schema.from_bounds({f"x{k}": (low, low + width) for k, (low, width) in enumerate(bounds)})
    drawn = schema.sample(20, random_state=seed)
    assert (drawn == schema.decode(schema.sample_codes(20, random_state=seed)).to_numpy()).all()
    directly = np.random.default_rng(seed).integers(schema.low, schema.high + 1, size=drawn.shape)
    assert (drawn == directly).all()


def test_encoding_undoes_decoding():
    codes = MIXED.assignments((0, 1))
    assert codes.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], "the last varies fastest"
    inputs = MIXED.decode(codes)
    assert inputs.iloc[3].tolist() == ["Female", 18]
    assert (MIXED.encode(inputs[["age", "sex"]]) == codes).all()
    for strange in (21, 18.5):
        with pytest.raises(CaseError, match=f"column 'age' holds {strange}"):
            MIXED.encode(inputs.assign(age=strange))


def test_values_come_back_in_their_own_type():
    schema = Schema.from_dict(
        {"flag": [False, True], "share": [0.0, 1.0], "half": [0, 0.5], "mixed": [1, "a", None], "steps": range(0, 9, 4)}
    )
    codes = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 2, 2]])
    inputs = schema.decode(codes)
    assert [inputs[name].dtype.kind for name in schema.names] == list("bffOi")
    assert inputs["mixed"].tolist() == [1, "a", None]
    assert inputs["steps"].tolist() == [0, 4, 8]
    assert (~inputs["flag"]).tolist() == [True, False, True]
    assert (schema.encode(inputs) == codes).all()


def test_inputs_as_integers_are_codes_where_values_are_none():
    assert MIXED.bounds == {"sex": (0, 1), "age": (18, 20)}
    drawn = MIXED.sample(100, random_state=0)
    assert (drawn - MIXED.low == MIXED.sample_codes(100, random_state=0)).all()
    assert MIXED.clip([[2, 17.9]]).tolist() == [[1, 18]]
    assert MIXED.outside([[0, 17], [1, 18], [2, 21]]).to_dict() == {"sex": 1, "age": 2}
    assert INTEGERS.values(["sex", "group"]).tolist() == [[1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]]


def test_a_schema_keeps_its_hash_when_it_has_been_used():
    before, stored = joblib.hash(INTEGERS), pickle.loads(pickle.dumps(INTEGERS))
    INTEGERS.sample(3)
    assert joblib.hash(INTEGERS) == before == joblib.hash(stored)
    assert stored == INTEGERS


def test_a_schema_of_integers_decodes_as_any_other():
    whole = Schema.from_dict({"a": {"low": 5, "high": 9}, "b": range(0, 30, 10)})
    mixed = Schema.from_dict({"a": {"low": 5, "high": 9}, "b": range(0, 30, 10), "c": ["x", "y"]})
    codes = mixed.assignments(range(3))
    given = codes[:, :2].copy()
    decoded = whole.decode(given)
    pd.testing.assert_frame_equal(decoded, mixed.decode(codes)[["a", "b"]])
    decoded["a"] = -1
    decoded.to_numpy()[:] = -1  # a program may do with its inputs what it likes
    assert (given == codes[:, :2]).all()
    assert whole.decode(given[:0]).shape == (0, 2)


@pytest.mark.parametrize("sizes", [(10, 8, 70, 2), (2, 64), (2, 60_000, 65_535), (65_536, 2), (1, 5), (70_000, 3)])
@pytest.mark.parametrize("loaded", [True, False])
def test_inputs_are_drawn_as_numpy_draws_them(sizes, loaded, monkeypatch):
    pytest.importorskip("numba")
    if not loaded:
        monkeypatch.delitem(sys.modules, "numba")
    schema = Schema.from_dict({f"x{j}": range(size) for j, size in enumerate(sizes)})
    ours, numpys = np.random.default_rng(5), np.random.default_rng(5)
    for n in (1, 3, 0, 4_999, 5_000, 5_001, 100_001, 7):  # an odd number leaves half of a 64-bit number for the next
        expected = numpys.integers(sizes, size=(n, len(sizes)))
        assert (schema.sample_codes(n, random_state=ours) == expected).all()


@pytest.mark.parametrize(("number", "size", "is_doubtful"), [(2**31 + 1, 2, False), (2**31, 2, True), (0, 2, True)])
def test_a_number_at_the_beginning_of_a_code_may_need_another(number, size, is_doubtful):
    assert codes_of(np.array([number], dtype=np.uint32), np.array([size]))[1] == is_doubtful


# table

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
