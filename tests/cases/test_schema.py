import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.cases import CaseError, Feature, Schema
from fairlab.cases.schema import codes_of


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
    nothing = feature([None, None])
    assert nothing.find(pd.Series([None, 1.0], dtype=object)).tolist() == [0, -1]
    assert feature(pd.array([1, None, 3], dtype="Int64")).values[:2] == (1, 3)


def test_a_missing_value_may_stand_anywhere_in_a_list():
    known = Feature("x", [None, "a", "b"])
    assert known.find(pd.Series(["b", None, "c", "a"])).tolist() == [2, 0, -1, 1]
    binned = Feature("x", [np.nan, 5, 40], [18])
    assert binned.find(pd.Series([np.nan, 18, 19])).tolist() == [0, 1, 2]
    assert binned.find(pd.Series(["18", None], dtype=object)).tolist() == [-1, 0]


def test_one_and_the_text_one_are_two_values():
    mixed = feature(np.array([1, "1", "a"], dtype=object))
    assert mixed.find(pd.Series(["1", 1, "a"], dtype=object)).tolist() != [0, 0, 2]
    codes = mixed.find(pd.Series([1, "1", "a"], dtype=object))
    assert mixed.decode(codes).tolist() == [1, "1", "a"]


def test_wide_numbers_are_binned_by_quantiles():
    column = pd.Series(np.arange(1000) * 7)
    binned = feature(column)
    assert len(binned.values) == 10
    assert binned.edges == tuple(99 * 7 + 700 * k for k in range(9))
    codes = binned.find(column)
    assert np.bincount(codes).tolist() == [100] * 10
    assert set(binned.values) <= set(column), "values that stand for bins occur"
    assert (binned.find(pd.Series(binned.values)) == np.arange(10)).all()
    assert binned.find(pd.Series([-5, 10**6])).tolist() == [0, 9]
    assert not binned.is_interval
    assert feature(column, bins=None).values == range(0, 6994)[::1]


def test_a_mass_at_one_number_is_a_bin_of_its_own():
    gains = pd.Series([0] * 920 + list(range(1000, 1080)) + [99_999] + [None] * 5)
    binned = feature(gains, wide=50)
    assert binned.values[0] == 0
    assert binned.edges[0] == 0
    assert binned.has_missing
    assert binned.find(gains)[[0, 920, -1]].tolist() == [0, 1, len(binned.values) - 1]


def test_edges_of_ones_own():
    column = pd.Series([1.0, 2.0, 3.0, 40.0])
    binned = feature(column, edges=[2, 10])
    assert binned.values == (1, 3, 40)
    assert binned.find(column).tolist() == [0, 0, 1, 2]
    assert Feature.from_description("x", binned.describe()) == binned
    for edges, message in (
        ([10, 2], "expected increasing numbers as edges"),
        (["2"], "expected increasing numbers as edges"),
        ([100], "has no value above 100 and up to inf"),
    ):
        with pytest.raises(CaseError, match=message):
            feature(column, edges=edges)
    with pytest.raises(CaseError, match=r"edges: column 'x' has type (str|object), expected numbers"):
        feature(["a", "b"], edges=[1])
    with pytest.raises(CaseError, match="expected one value in each of the 2 bins"):
        Feature("x", [1, 2], [5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1], [2]], "column 'x': expected strings, booleans or numbers, found a list"),
        ([1j, 2j], "type complex128; make it real numbers"),
        ([1.0, np.inf], "column 'x' holds infinite values"),
        (pd.to_datetime(["2020", "2021"]), "has type datetime64.*; make it a number, as the age in years"),
        ([], "expected at least one value, found none"),
    ],
)
def test_columns_that_are_no_domain(values, message):
    with pytest.raises(CaseError, match=message):
        feature(values)


def test_values_of_other_kinds_are_refused():
    with pytest.raises(CaseError, match="expected strings, booleans or numbers, found a list"):
        Feature("x", [[1], [2]])
    with pytest.raises(CaseError, match="a value is listed twice"):
        Feature("x", [None, np.nan])


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


def test_groups_of_close_edges_have_names_of_their_own():
    edges = [1.0000001, 1.0000002, 1.0000003]
    names = groups_of(pd.Series([1.0, *edges, 2.0]), edges).cat.categories.tolist()
    assert names == ["up to 1.0000001", "1.0000001 to 1.0000002", "1.0000002 to 1.0000003", "above 1.0000003"]


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


def test_large_intervals_take_no_memory():
    wide = Schema.from_bounds({"id": (0, 2**60), "sex": (0, 1)})
    codes = wide.sample_codes(100, random_state=0)
    assert codes[:, 0].max() > 2**55
    assert (wide.encode(wide.decode(codes)) == codes).all()
    assert wide.n_inputs == 2 * (2**60 + 1)


def test_yaml(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("sex: [Male, Female]\nage: {low: 18, high: 20}\n")
    assert Schema.from_yaml(path) == MIXED
    path.write_text("repaid: [yes, no]\nmail: [on, off]\nflag: [true, false]\nmixed: [Yes, 1, 1.5, null]\n")
    content = {"repaid": ["yes", "no"], "mail": ["on", "off"], "flag": [True, False], "mixed": ["Yes", 1, 1.5, None]}
    assert Schema.from_yaml(path).to_dict() == content
    path.write_text("a: [")
    with pytest.raises(CaseError, match="expected YAML, found"):
        Schema.from_yaml(path)
    path.write_text("- sex\n- age\n")
    with pytest.raises(CaseError, match="expected names and values, found list"):
        Schema.from_yaml(path)


def test_frame_with_the_integers_between():
    table = pd.DataFrame({"sex": ["Male", "Female", "Male"], "age": [20, 18, 18], "old": [False, True, False]})
    expected = {"sex": ["Female", "Male"], "age": {"low": 18, "high": 20}, "old": [False, True]}
    assert Schema.from_frame(table).to_dict() == expected
    assert Schema.from_frame(table.assign(age=7)).sizes == (2, 1, 2)
    with pytest.raises(CaseError, match="'age': expected at least one value, found none"):
        Schema.from_frame(table[["age"]][:0])
    with pytest.raises(CaseError, match="two features of the schema are named 'age'"):
        Schema.from_frame(table[["age", "sex", "age"]])


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


def test_bad_bounds():
    for bounds, message in (({}, "found none"), ({"a": (3, 1)}, "low 3 is above high 1"), ({"a": (0, 1.5)}, "whole")):
        with pytest.raises(CaseError, match=message):
            Schema.from_bounds(bounds)


def test_what_makes_no_schema():
    for make, message in (
        (lambda: Schema.from_dict([1]), "content: expected names and values, found list"),
        (lambda: Schema.from_bounds([1]), "bounds: expected names with pairs of integers, found list"),
        (lambda: Schema.from_bounds({"a": 5}), "'a': expected a pair of integers, low and high, found 5"),
        (lambda: Schema.from_bounds({"a": "09"}), "'a': expected a pair of integers, low and high, found '09'"),
        (
            lambda: Schema.from_bounds({"a": ("0", "9")}),
            "'a': expected whole numbers as low and high, found '0' and '9'",
        ),
        (lambda: Schema(["a"]), "features: expected a Feature each, found 'a'"),
        (lambda: Schema.from_frame([1]), "table: expected a DataFrame, found list"),
        (lambda: Schema.from_frame(pd.DataFrame({"a": [1]}), bins=0), "bins: expected a positive integer, found 0"),
        (lambda: MIXED.sample_codes(-1), "n: expected an integer, at least 0, found -1"),
        (lambda: MIXED.sample_codes(1.5), r"n: expected an integer, at least 0, found 1\.5"),
        (lambda: MIXED.encode(np.zeros((1, 2))), "inputs: expected a DataFrame, found ndarray"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 3]], "codes: expected 0 to 2 of feature 'age', found 3"),
        ([[-1, 0]], "codes: expected 0 to 1 of feature 'sex', found -1"),
        ([[0.0, 1.0]], r"expected integers of shape \(n_rows, 2\), found float64"),
        ([0, 1], r"found int64 of shape \(2,\)"),
        ([[0, 1, 2]], r"found int64 of shape \(1, 3\)"),
    ],
)
def test_codes_that_stand_for_nothing(codes, message):
    with pytest.raises(CaseError, match=message):
        MIXED.decode(codes)


def test_wide_numbers_of_a_frame_are_binned_and_the_rest_is_not():
    table = pd.DataFrame({"income": np.arange(200) * 100, "age": np.arange(200) % 80, "code": [7, 5000] * 100})
    assert Schema.from_frame(table).sizes == (10, 80, 2)
    assert Schema.from_frame(table, bins=4).sizes == (4, 80, 2)
    assert Schema.from_frame(table, bins=None).sizes == (19_901, 80, 4994)
    binned = Schema.from_frame(table)
    assert Schema.from_dict(binned.to_dict()) == binned
    codes = binned.encode(table)
    again = binned.encode(binned.decode(codes))
    assert (again == codes).all()


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


def test_assignments_vary_the_last_fastest():
    assert MIXED.assignments((0, 1)).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert MIXED.assignments((0, 1), start=2, stop=4).tolist() == [[0, 2], [1, 0]]
    assert MIXED.n_assignments([0, 1]) == 6


def test_values_of_one_and_of_two_features():
    assert INTEGERS.values("group").tolist() == [[1], [2], [3]]
    assert INTEGERS.values(["group", "sex"]).tolist() == [[1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]]
    assert (INTEGERS.values(["sex", "group"]) == INTEGERS.values(["group", "sex"])).all()


def test_samples_are_uniform():
    _, counts = np.unique(MIXED.sample_codes(60_000, random_state=0), axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(60_000 / 6 * 5 / 6)


def test_samples_fill_the_domain_up_to_both_bounds():
    X = INTEGERS.sample(2000, random_state=0)
    assert X.min(axis=0).tolist() == INTEGERS.low.tolist() == [0, 1, -5, 0, 0]
    assert X.max(axis=0).tolist() == INTEGERS.high.tolist() == [9, 3, 5, 1, 4]
    assert (INTEGERS.sample(2000, random_state=np.random.default_rng(0)) == X).all()


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
    inputs = MIXED.decode(codes)
    assert inputs.iloc[3].tolist() == ["Female", 18]
    assert (MIXED.encode(inputs[["age", "sex"]]) == codes).all()
    with pytest.raises(CaseError, match="inputs lack the columns age"):
        MIXED.encode(inputs[["sex"]])
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


def test_clip_keeps_the_domain_and_truncates_towards_zero():
    assert INTEGERS.clip(np.array([[10, 0, -7.9, 0.9, -0.5]])).tolist() == [[9, 1, -5, 0, 0]]


def test_outside_counts_rows_by_feature():
    X = np.array([[0, 1, 0, 0, 0], [10, 3, 0, 0, 9], [11, 3, 5, 1, 4]])
    assert INTEGERS.outside(X).to_dict() == {"a": 2, "group": 0, "b": 0, "sex": 0, "c": 1}


def test_bad_tables():
    with pytest.raises(ValueError, match="the schema has a, group, b, sex, c"):
        INTEGERS.check(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="column 'b' holds fractions"):
        INTEGERS.check(np.array([[1, 1, 0.5, 0, 0]]))
    table = pd.DataFrame(np.ones((1, 5)), columns=["a", "b", "group", "sex", "c"])
    with pytest.raises(ValueError, match="has the columns a, b, group"):
        INTEGERS.check(table)
    assert INTEGERS.check(table[INTEGERS.names]).tolist() == [[1, 1, 1, 1, 1]]


def test_inputs_as_integers_are_codes_where_values_are_none():
    assert MIXED.bounds == {"sex": (0, 1), "age": (18, 20)}
    assert MIXED.values("sex").tolist() == [[0], [1]]
    drawn = MIXED.sample(100, random_state=0)
    assert (drawn - MIXED.low == MIXED.sample_codes(100, random_state=0)).all()
    assert MIXED.clip([[2, 17]]).tolist() == [[1, 18]]
    assert MIXED.outside(drawn).sum() == 0


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
    decoded["a"] = -1  # a program may do with its inputs what it likes
    decoded.to_numpy()[:] = -1
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


def test_a_code_is_the_upper_half_of_a_product():
    numbers = np.array([0, 2**31, 2**32 - 1, 2**30], dtype=np.uint32)
    codes, _ = codes_of(numbers, np.array([2, 7]))
    assert codes.tolist() == [[0, 1], [3, 1]]  # 7 / 2 and 7 / 4, rounded down


@pytest.mark.parametrize(("number", "size", "is_doubtful"), [(2**31 + 1, 2, False), (2**31, 2, True), (0, 2, True)])
def test_a_number_at_the_beginning_of_a_code_may_need_another(number, size, is_doubtful):
    assert codes_of(np.array([number], dtype=np.uint32), np.array([size]))[1] == is_doubtful


@pytest.mark.parametrize("sizes", [(10, 8, 70, 2), (2,), (2**31 - 1, 3)])
def test_codes_are_those_that_numpy_draws(sizes):
    sizes = np.array(sizes)
    for seed in range(20):
        numbers = np.random.default_rng(seed).integers(2**32, size=50 * len(sizes), dtype=np.uint32)
        codes, is_doubtful = codes_of(numbers, sizes)
        expected = np.random.default_rng(seed).integers(sizes, size=(50, len(sizes)))
        assert is_doubtful <= (sizes.max() > 100)  # with small sizes in one of 10^6 of these
        assert is_doubtful or (expected == codes.T).all()
        assert codes.dtype == expected.dtype
