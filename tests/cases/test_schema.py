import datetime
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest

from fairlab.cases import CaseError, Encoding, Feature, Schema
from fairlab.cases.queries import Answers
from fairlab.cases.table import check_table, in_dtypes


def feature(values, **options):
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
        ([0, 1, 3, 5], range(6)),
        ([1, 2, 9], (1, 2, 9)),  # codes, of which those between stand for nothing
        (range(0, 99, 2), range(99)),
        (range(0, 102, 2), tuple(range(0, 102, 2))),  # too far apart for all between
        (range(0, 300, 3), tuple(range(0, 300, 3))),  # a hundred values are not binned
        (np.array(["b", 1, "a"], dtype=object), (1, "a", "b")),
    ],
)
def test_values_of_a_column(values, expected):
    assert feature(values).values == expected


@pytest.mark.parametrize(
    ("known", "column", "codes"),
    [
        (["(missing)", None, "a"], ["(missing)", None, "a"], [0, 2, 1]),
        ([1.0, np.nan], [np.nan, 1.0, 2.0], [1, 0, -1]),
        (["a"], [None, "a"], [-1, 0]),
        ([None, "a", "b"], ["b", None, "c", "a"], [1, 2, -1, 0]),
    ],
)
def test_a_missing_value_is_the_last_one_and_no_text(known, column, codes):
    found = feature(known)
    assert found.find(pd.Series(column)).tolist() == codes
    decoded = pd.Series(found.decode(np.array([code for code in codes if code >= 0])), dtype=object)
    kept = pd.Series(column, dtype=object)[np.array(codes) >= 0].reset_index(drop=True)
    assert decoded.fillna("missing").tolist() == kept.fillna("missing").tolist()


def test_wide_numbers_are_binned_by_quantiles():
    column = pd.Series(np.arange(1000) * 7)
    binned = feature(column)
    assert binned.edges == tuple(99 * 7 + 700 * k for k in range(9))
    assert np.bincount(binned.find(column)).tolist() == [100] * 10
    assert set(binned.values) <= set(column), "values that stand for bins occur"
    assert binned.find(pd.Series([*binned.values, -5, 10**6])).tolist() == [*range(10), 0, 9]
    assert feature(column, bins=None).values == range(0, 6994)
    # A mass at one number is a bin of its own.
    assert feature([0] * 920 + list(range(1000, 1120)) + [99_999] + [None] * 5).edges[0] == 0


def groups_of(column, edges=None):
    return Feature.groups("x", column, edges=edges).categories(column)


ORDERED = pd.Categorical(["mid", "low", None], categories=["low", "mid", "high"], ordered=True)


@pytest.mark.parametrize(
    ("values", "names", "categories"),
    [
        (["b", None, "a"], ["b", "(missing)", "a"], ["a", "b", "(missing)"]),
        (["(missing)", None], ["(missing)", "((missing))"], ["(missing)", "((missing))"]),
        ([10, 9, 10], ["10", "9", "10"], ["9", "10"]),
        ([True, False], ["True", "False"], ["False", "True"]),
        ([1, "1"], ["1", "'1'"], ["1", "'1'"]),
        (pd.array([2, None], dtype="Int64"), ["2", "(missing)"], ["2", "(missing)"]),
        (ORDERED, ["mid", "low", "(missing)"], ["low", "mid", "(missing)"]),
    ],
)
def test_names_of_groups(values, names, categories):
    column = groups_of(pd.Series(values))
    assert (column.tolist(), column.cat.categories.tolist()) == (names, categories)


AGES = pd.Series(np.arange(20, 60), index=np.arange(100, 140), name="age")


@pytest.mark.parametrize(
    ("edges", "sizes"),
    [
        (None, {"up to 29": 10, "29 to 39": 10, "39 to 49": 10, "above 49": 10}),
        ([24, 39], {"up to 24": 5, "24 to 39": 15, "above 39": 20}),
        ([10, 24.5, 90], {"10 to 24.5": 5, "24.5 to 90": 35}),
    ],
)
def test_many_numbers_make_four_groups_or_those_of_given_edges(edges, sizes):
    groups = groups_of(AGES, edges)
    assert list(groups.value_counts(sort=False).items()) == list(sizes.items())
    assert groups.index.equals(AGES.index)
    assert groups_of(AGES.where(AGES > 25), edges).cat.categories[-1] == "(missing)"


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_groups_of_numbers_have_round_names_that_are_true_and_nobodys_value(unit):
    pay = pd.Series(unit * np.random.default_rng(0).normal(3, 2, 400))
    groups = groups_of(pay)
    assert groups.value_counts().between(90, 110).all()
    for name in groups.cat.categories:
        members = pay[groups == name]
        ends = [float(word.replace(",", "")) for word in name.split() if word[0] in "-0123456789"]
        assert not set(ends) & set(pay), "no end is the number of anybody"
        assert ends == [float(f"{end:.2e}") for end in ends]
        assert name.startswith("above ") or members.max() <= ends[-1]
        assert name.startswith("up to ") or members.min() > ends[0]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.arange(100_001, 100_041), ["up to 100,010", "100,010 to 100,020", "100,020 to 100,030", "above 100,030"]),
        (np.arange(20_089, 20_454), ["up to 20,180", "20,180 to 20,270", "20,270 to 20,360", "above 20,360"]),
        (np.r_[np.zeros(90), np.arange(1, 21)], ["up to 0", "above 0"]),
        (np.r_[np.full(90, 731.25), np.arange(20)], ["any number"]),
        (np.r_[np.arange(20), np.full(20, 731.25)], ["up to 9", "9 to 19", "above 19"]),
    ],
)
def test_names_of_groups_of_crowded_numbers(values, names):
    assert groups_of(pd.Series(values)).cat.categories.tolist() == names


LOAN = {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}
MIXED = Schema.from_dict(LOAN)


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_numbers_of_32_bits_are_in_the_groups_that_their_text_says(dtype):
    wide = pd.Series(np.random.default_rng(0).integers(1, 600, 1_500) / 10)
    groups = [Feature.groups("income", column) for column in (wide, wide.astype(dtype))]
    assert groups[0].labels == groups[1].labels
    assert (groups[0].categories(wide).to_numpy() == groups[1].categories(wide.astype(dtype)).to_numpy()).all()


def test_descriptions_of_one_domain():
    described = (
        Schema.from_dict({"sex": ("Male", "Female"), "age": [18, 19, 20]}),
        Schema((Feature("sex", ["Male", "Female"]), Feature.between("age", 18, np.int64(20)))),
        Schema.from_dict(MIXED.to_dict()),
    )
    assert described == (MIXED,) * 3
    assert Schema.from_bounds({"age": (18, 20)}) == Schema.from_dict({"age": range(18, 21)})
    assert (MIXED.to_dict(), MIXED.names, MIXED.sizes, MIXED.n_inputs) == (LOAN, ["sex", "age"], (2, 3), 6)


def test_yaml(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("repaid: [yes, no]\nmail: [on, off]\nflag: [true, false]\nmixed: [Yes, 1, 1.5, null]\n")
    content = {"repaid": ["yes", "no"], "mail": ["on", "off"], "flag": [True, False], "mixed": ["Yes", 1, 1.5, None]}
    assert Schema.from_yaml(path).to_dict() == content


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "expected YAML, found"), ("- sex\n- age\n", "expected names and values, found list")],
)
def test_bad_yaml(tmp_path, text, message):
    (tmp_path / "schema.yaml").write_text(text)
    with pytest.raises(CaseError, match=message):
        Schema.from_yaml(tmp_path / "schema.yaml")


def test_wide_numbers_of_a_frame_are_binned_and_the_rest_is_not():
    table = pd.DataFrame({"income": np.arange(200) * 100, "age": np.arange(200) % 80, "code": [7, 5000] * 100})
    schemas = {bins: Schema.from_frame(table, bins=bins) for bins in (10, 4, None)}
    sizes = {10: (10, 80, 2), 4: (4, 80, 2), None: (19_901, 80, 4994)}
    assert {bins: schema.sizes for bins, schema in schemas.items()} == sizes
    assert Schema.from_dict(schemas[10].to_dict()) == schemas[10]
    codes = schemas[10].encode(table)
    assert (schemas[10].encode(schemas[10].decode(codes)) == codes).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # edges that do not fit
        (lambda: feature([1.0, 40.0], edges=[10, 2]), "expected increasing numbers as edges"),
        (lambda: feature([1.0, 40.0], edges=[100]), "has no value above 100 and up to inf"),
        (lambda: feature(["a", "b"], edges=[1]), "edges: column 'x' has type (str|object), expected numbers"),
        # positions of nothing
        (lambda: Schema.from_dict(LOAN).positions([]), "at least one feature of the schema, found none"),
        (
            lambda: Schema.from_dict(LOAN).positions(["sexe"]),
            r"no feature 'sexe'; did you mean 'sex'\? \(known: sex, age\)",
        ),
        (lambda: Schema.from_dict(LOAN).positions(["age"] * 2), "'age' is named twice"),
        (
            lambda: Schema.from_dict({"a": [1], "b": [1, 2]}).positions(["a", "b"]),
            "'a': expected at least two values to vary, found one",
        ),
        # inputs that are not in the domain
        (lambda: MIXED.encode(pd.DataFrame({"sex": ["Male"], "age": [21]})), "column 'age' holds 21"),
        (lambda: MIXED.encode(pd.DataFrame({"sex": ["Male"], "age": [18.5]})), "column 'age' holds 18.5"),
        (lambda: MIXED.encode(pd.DataFrame({"sex": ["Male"]})), "inputs lack the columns age"),
        # values that a table never held
        (lambda: ENCODING.transform(with_value("job", "king")), "column 'job' holds 'king', not among its values"),
        (lambda: ENCODING.transform(with_value("class", None)), "column 'class' holds nan, not among its values"),
        # descriptions of no domain
        (lambda: Schema.from_dict({}), "at least one feature, found none"),
        (lambda: Schema.from_dict({"sex": []}), "'sex': expected at least one value, found none"),
        (lambda: Schema.from_dict({"sex": range(5, 5)}), "'sex': expected at least one value, found none"),
        (lambda: Schema.from_dict({"sex": ["Male", "Male"]}), "'sex': a value is listed twice"),
        (lambda: Schema.from_dict({"sex": "Male"}), "'sex': expected a list of values, found 'Male'"),
        (lambda: Schema.from_dict({"sex": 3}), "'sex': expected a list of values, found 3"),
        (lambda: Schema.from_dict({"age": {"low": 1}}), "'age': expected low and high, or values and edges, found low"),
        (
            lambda: Schema.from_dict({"age": {"low": 0.5, "high": 2}}),
            "'age': expected whole numbers as low and high, found 0.5 and 2",
        ),
        (
            lambda: Schema.from_dict({"age": {"low": "0", "high": "9"}}),
            "'age': expected whole numbers as low and high, found '0' and '9'",
        ),
        (lambda: Schema.from_dict({"age": {"low": False, "high": 9}}), "expected whole numbers"),
        (lambda: Schema.from_dict({"age": {"low": 3, "high": 1}}), "'age': low 3 is above high 1"),
        (lambda: Schema.from_dict({"age": {"low": 0, "high": 2**63}}), "does not fit into 64 bits"),
        (lambda: Schema.from_dict({"age": {"low": -(2**62), "high": 2**62}}), "does not fit into 64 bits"),
        (lambda: Schema.from_dict({"age": {"low": -(2**63), "high": 0}}), "does not fit into 64 bits"),
        # tables
        (lambda: check_table(GOOD[:1]), "table: expected at least 2 rows, found 1"),
        (lambda: check_table(GOOD[:0]), "table: expected at least 2 rows, found 0"),
        (
            lambda: check_table(GOOD.assign(d=pd.Timestamp("2020-01-01"))),
            "column 'd' has type datetime64.*make it a number, as the age",
        ),
        (lambda: check_table(GOOD.assign(d=pd.Timestamp("2020-01-01", tz="UTC"))), "column 'd' has type datetime64"),
        (lambda: check_table(GOOD.assign(d=pd.Timedelta("1 day"))), r"column 'd' has type timedelta64.*total_seconds"),
        (lambda: check_table(GOOD.assign(d=pd.Period("2020-01"))), "column 'd' has type period"),
        (
            lambda: check_table(GOOD.assign(d=datetime.date(2020, 1, 1))),
            "column 'd': expected strings, .*, found a date; make it a number",
        ),
        (
            lambda: check_table(GOOD.assign(d=[[1], [2]])),
            "column 'd': expected strings, booleans or numbers, found a list",
        ),
        (
            lambda: check_table(GOOD.assign(d=[{}, None])),
            "column 'd': expected strings, booleans or numbers, found a dict",
        ),
        (lambda: check_table(GOOD.assign(d=1j)), "column 'd' has type complex128; make it real"),
        (lambda: check_table(GOOD.assign(d=[1.0, np.inf])), "column 'd' holds infinite values"),
        (
            lambda: check_table(GOOD.assign(d=np.array([1, 2], dtype=np.float16))),
            "column 'd' has type float16; make it wider",
        ),
        (
            lambda: check_table(GOOD.assign(d=pd.Series([True, 2], dtype=object, index=GOOD.index))),
            "column 'd' mixes booleans with numbers",
        ),
        (
            lambda: check_table(GOOD.assign(d=pd.Series([0.5, np.True_], dtype=object, index=GOOD.index))),
            "column 'd' mixes booleans with n",
        ),
        (
            lambda: check_table(GOOD.assign(d=pd.arrays.SparseArray([0, 1]))),
            "column 'd' has type Sparse.*make it dense",
        ),
        (
            lambda: check_table(GOOD.assign(d=pd.Categorical(pd.to_datetime(["2020", "2021"])))),
            "column 'd' has type datetime64",
        ),
        # values of another type
        (lambda: in_dtypes(GOOD.drop(columns=["count", "flag"]), GOOD.dtypes), "rows: lack the columns count, flag"),
        (
            lambda: in_dtypes(GOOD.assign(**{"count": [0.5, 1]}), GOOD.dtypes),
            r"column 'count' holds 0\.5, expected int64",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"count": [None, 1]}), GOOD.dtypes),
            "column 'count': expected int64, found (float64|object)",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"count": ["1", "2"]}), GOOD.dtypes),
            "column 'count' holds '1', expected int64",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"count": ["one", "2"]}), GOOD.dtypes),
            "column 'count': expected int64, found (str|object)",
        ),
        (lambda: in_dtypes(GOOD.assign(**{"small": [300, 1]}), GOOD.dtypes), "column 'small' holds 300, expected int8"),
        (lambda: in_dtypes(GOOD.assign(**{"flag": [2, 1]}), GOOD.dtypes), "column 'flag' holds 2, expected bool"),
        (
            lambda: in_dtypes(GOOD.assign(**{"flag": ["yes", "no"]}), GOOD.dtypes),
            "column 'flag' holds 'yes', expected bool",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"number": ["0.5", "1"]}), GOOD.dtypes),
            r"column 'number' holds '0\.5', expected float64",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"group": ["low", "huge"]}), GOOD.dtypes),
            "column 'group' holds 'huge', expected category",
        ),
        (lambda: in_dtypes(GOOD.assign(**{"text": [1, 2]}), GOOD.dtypes), "column 'text' holds 1, expected str"),
        (
            lambda: in_dtypes(GOOD.assign(**{"count": [np.inf, 1]}), GOOD.dtypes),
            "column 'count': expected int64, found float64",
        ),
        (
            lambda: in_dtypes(GOOD.assign(**{"nullable": [0.5, None]}), GOOD.dtypes),
            "column 'nullable': expected Int64, found float64",
        ),
    ],
)
def test_domains_tables_and_values_that_are_refused(call, message):
    with pytest.raises(CaseError, match=message):
        call()


def test_encoding_undoes_decoding():
    codes = MIXED.assignments((0, 1))
    assert codes.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], "the last varies fastest"
    inputs = MIXED.decode(codes)
    assert inputs.iloc[3].tolist() == ["Female", 18]
    assert (MIXED.encode(inputs[["age", "sex"]]) == codes).all()


def test_inputs_as_integers_are_codes_where_values_are_none():
    assert MIXED.bounds == {"sex": (0, 1), "age": (18, 20)}
    assert (MIXED.sample(100, random_state=0) - MIXED.low == MIXED.sample_codes(100, random_state=0)).all()
    assert MIXED.clip([[2, 17.9]]).tolist() == [[1, 18]]
    assert MIXED.outside([[0, 17], [1, 18], [2, 21]]).to_dict() == {"sex": 1, "age": 2}
    whole = Schema.from_bounds({"group": (1, 3), "b": (-5, 5), "sex": (0, 1)})
    assert whole.values(["sex", "group"]).tolist() == [[1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]]


def test_a_schema_keeps_its_hash_when_it_has_been_used():
    before, stored = joblib.hash(MIXED), pickle.loads(pickle.dumps(MIXED))
    MIXED.sample(3)
    assert (joblib.hash(MIXED), joblib.hash(stored), stored) == (before, before, MIXED)


def test_a_schema_of_integers_decodes_as_any_other():
    content = {"a": {"low": 5, "high": 9}, "b": range(0, 30, 10)}
    whole, mixed = Schema.from_dict(content), Schema.from_dict(content | {"c": ["x", "y"]})
    codes = mixed.assignments(range(3))
    given = codes[:, :2].copy()
    decoded = whole.decode(given)
    pd.testing.assert_frame_equal(decoded, mixed.decode(codes)[["a", "b"]])
    decoded["a"] = -1
    decoded.to_numpy()[:] = -1  # a program may do with its inputs what it likes
    assert (given == codes[:, :2]).all()
    assert whole.decode(given[:0]).shape == (0, 2)


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
    given, copy = GOOD.copy(), check_table(GOOD)
    pd.testing.assert_frame_equal(copy, given)
    copy.loc["x", "count"] = 9
    pd.testing.assert_frame_equal(GOOD, given)


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


def with_value(name, value):
    return TABLE.assign(**{name: pd.Series([value] * 3, dtype=TABLE[name].dtype)})


def test_numbers_are_standardised_and_the_rest_is_zero_or_one():
    step = np.sqrt(1.5)  # 20, 40, 60 have a standard deviation of 20 / sqrt(1.5)
    matrix = ENCODING.transform(TABLE)[:, [0, 1, 2, 3, 5, 6, 7, 8, 9]]
    np.testing.assert_allclose(
        matrix, [[-step, 0, 1, 0, -1, 0, 1, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1], [step, 1, 0, 0, 1, 0, 1, 0, 0]]
    )


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        pd.DataFrame({"x": np.array([1, "1", None, 2], dtype=object), "id": np.arange(4) * 10**12 + 36}),
    ],
)
def test_the_way_back_is_exact(table):
    encoding, rows = Encoding(table), table[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(encoding.inverse_transform(encoding.transform(rows)), rows)


def test_what_lies_between_goes_to_the_nearest():
    matrix = ENCODING.transform(TABLE)[[0]]
    matrix[0, [0, 1, 2, 3, 7, 8, 9]] = matrix[0, 0] + 0.01, 0.2, 0.3, 0.4, 0.1, 0.9, 0.8
    row = ENCODING.inverse_transform(matrix).iloc[0]
    assert (row["age"], pd.isna(row["job"]), row["class"]) == (20, True, "mid")


# numbers that floats or 64 bits do not hold

WIDE_BOUNDS = [(0, 2**40 - 1), (-(2**61), 2**61 - 1), (0, 2**32 + 5), (5, 5)]


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_keys_of_wide_domains_are_different_and_lead_back(n_features):
    schema = Schema.from_bounds({f"x{k}": pair for k, pair in enumerate(WIDE_BOUNDS[:n_features])})
    steps = np.array([[0], [1], [5], [2**32], [2**32 + 5], [2**40 - 1], [2**61]])
    by_feature = [np.where(np.arange(n_features) == k, steps, 0) for k in range(n_features)]
    codes = np.unique(np.minimum(np.concatenate(by_feature), np.array(schema.sizes) - 1), axis=0)
    for given in (codes, codes.astype(np.uint64), np.asfortranarray(codes)):
        answers = Answers(schema.sizes, lambda new: new[:, 0])
        np.testing.assert_array_equal(answers(given), codes[:, 0])
        assert len(answers) == len(np.unique(answers.keys)) == len(codes)
        np.testing.assert_array_equal(answers.inputs, codes)
    np.testing.assert_array_equal(schema.encode(schema.decode(codes)), codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_narrow_codes_do_not_wrap(dtype):
    whole = Schema.from_dict({"a": range(100, 200), "b": range(2**31 - 10, 2**31 + 90)})
    mixed = Schema((*whole.features, Feature("c", ["x", "y"])))
    codes = np.array([[0, 0, 0], [99, 99, 1]], dtype=dtype)
    for schema in (whole, mixed):
        decoded = schema.decode(codes[:, : len(schema.features)])
        assert decoded[["a", "b"]].to_numpy().tolist() == [[100, 2**31 - 10], [199, 2**31 + 89]]


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**64 - 1, 5, 2**63], dtype=np.uint64),
        np.uint64(2**64 - 1) - np.arange(300, dtype=np.uint64),
        2**60 + np.arange(300),
        2**63 - 1 - np.arange(300),
        [2**63 - 1 - k for k in range(20)],
        [-(2**63), 2**63 - 1],
        pd.array([2**64 - 1 - k for k in range(300)], dtype="UInt64"),
        pd.Series([10**25 + k for k in range(300)], dtype=object),
        pd.Series([2**63, -1, 3], dtype=object),
        pd.Series([1, 2, np.nan], dtype=object),
    ],
)
def test_large_integers_stay_what_they_are(values):
    column = pd.Series(values)
    found = Feature.from_column("x", column)
    counts = np.bincount(found.encode(column), minlength=len(found.values))
    assert counts.min() >= min(30, len(column) // len(found.values))
    shown = pd.Series(found.decode(np.arange(len(found.values))), dtype=object)
    assert [type(value)(value) for value in shown.dropna()] == [
        value for value in shown.dropna() if (column == value).any()
    ]
    cast = in_dtypes(pd.DataFrame({"x": shown}), pd.Series({"x": column.dtype}))["x"]
    assert cast.dropna().isin(column).all()
    assert found.encode(cast).tolist() == list(range(len(found.values)))


def test_numbers_of_an_encoding_stay_within_their_dtype():
    table = pd.DataFrame(
        {
            "small": np.array([-128, 127, 0], dtype=np.int8),
            "large": np.array([2**64 - 1, 5, 7], dtype=np.uint64),
            "nullable": pd.array([2**63 - 1, None, -(2**63)], dtype="Int64"),
        }
    )
    encoding = Encoding(table)
    back = encoding.inverse_transform(3 * encoding.transform(table))
    assert back.dtypes.equals(table.dtypes)
    assert (back["small"].tolist(), back["large"].iloc[0] > 2**63) == ([-128, 127, 1], True)


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]"])
@pytest.mark.parametrize("last", [True, None])
def test_booleans_of_an_encoding_are_numbers_whatever_holds_them(dtype, last):
    table = pd.DataFrame({"flag": pd.array([True, False, False, last], dtype=dtype)})
    encoding = Encoding(table)
    assert encoding.names == ("flag", "flag is missing")[: 1 + (last is None)]
    pd.testing.assert_frame_equal(encoding.inverse_transform(encoding.transform(table)), table)


def test_numbers_that_floats_do_not_hold_are_refused():
    schema = Schema.from_bounds({"x": (0, 2**60)})
    assert schema.check(np.array([[2**53 - 1]])).tolist() == [[2**53 - 1]]
    with pytest.raises(ValueError, match=r"column 'x' holds values of 2\*\*53 or more"):
        schema.check(np.array([[2**53 + 1]]))
