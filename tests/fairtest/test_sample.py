import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab.cases import BudgetSpentError
from fairlab.fairtest import Column, DataSource, Sample
from fairlab.fairtest.sample import column_names, encode

MISSING = "(missing)"


def test_one_name_or_several():
    known = ["age", "3"]
    assert column_names("age", "sensitive_features", known) == ["age"]
    assert column_names(("age", 3), "sensitive_features", known) == ["age", "3"]
    assert column_names(3, "sensitive_features", known) == ["3"]
    assert column_names(None, "explanatory", known) == []


@pytest.mark.parametrize("names", [2.5, True, [["age"]], [None]])
def test_what_is_no_name(names):
    with pytest.raises(TypeError, match="sensitive_features: expected the name of a column or a list of names, found"):
        column_names(names, "sensitive_features", ["age"])


PEOPLE = pd.DataFrame({"number": np.arange(101)})


def rows(columns):
    return columns["number"].values.astype(int)


def test_the_split_is_that_of_scikit_learn_in_its_order():
    source = DataSource(PEOPLE)
    train, test = train_test_split(np.arange(101), train_size=0.5, random_state=0)
    assert len(train) == 50
    np.testing.assert_array_equal(rows(source.training_set(["number"])), train)
    with source.lend_test_set() as columns:
        np.testing.assert_array_equal(rows(columns), test)


def test_budget_cuts_the_test_part_only_and_hands_out_the_last_slice_first():
    source = DataSource(PEOPLE, budget=3)
    _, test = train_test_split(np.arange(101), train_size=0.5, random_state=0)
    assert source.n_train == 50
    for i in (2, 1, 0):
        with source.lend_test_set() as columns:
            np.testing.assert_array_equal(rows(columns), test[17 * i : 17 * (i + 1)])
    assert source.remaining_ == 0


def test_train_size_for_equal_parts():
    source = DataSource(PEOPLE, budget=2, train_size=1 / 3)
    assert source.n_train == 33
    with source.lend_test_set() as columns:
        assert len(rows(columns)) == 34


def test_confidence_of_a_slice():
    assert DataSource(PEOPLE, budget=2, confidence_level=0.95).confidence_level_ == pytest.approx(np.sqrt(0.95))


def test_a_spent_budget_is_an_error():
    source = DataSource(PEOPLE)
    with source.lend_test_set():
        pass
    with pytest.raises(BudgetSpentError, match="the budget of 1 test set is spent"), source.lend_test_set():
        pass


def test_a_failed_test_gives_its_slice_back():
    source = DataSource(PEOPLE)
    with pytest.raises(RuntimeError, match="broken"), source.lend_test_set() as lost:
        raise RuntimeError("broken")
    with source.lend_test_set() as again:
        np.testing.assert_array_equal(rows(again), rows(lost))


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (PEOPLE, {"budget": 0}, "budget: expected a positive integer, found 0"),
        (PEOPLE, {"budget": 1.5}, "budget"),
        (PEOPLE, {"confidence_level": 95}, "confidence_level: expected a number between 0 and 1, found 95"),
        (PEOPLE, {"train_size": 1}, "train_size: expected a number between 0 and 1, found 1"),
        (PEOPLE.head(3), {"budget": 3}, "3 rows are too few for a training set and 3 test sets"),
        (PEOPLE.head(0), {}, "0 rows are too few"),
        (pd.concat([PEOPLE, PEOPLE], axis=1), {}, "columns occur twice: number"),
    ],
)
def test_bad_input(data, options, message):
    with pytest.raises(ValueError, match=message):
        DataSource(data, **options)


def test_data_must_be_a_table():
    with pytest.raises(TypeError, match="expected a DataFrame, found ndarray"):
        DataSource(np.ones((3, 3)))


def test_few_whole_numbers_are_categories_and_the_source_says_so():
    data = pd.DataFrame({"race": [1, 2, 3, 1] * 5, "age": range(20), "loan": [0, 1] * 10, "name": ["a", "b"] * 10})
    source = DataSource(data, numbers="loan")
    columns = source.training_set(data.columns)
    assert {name: column.is_categorical for name, column in columns.items()} == {
        "race": True, "age": False, "loan": False, "name": True
    }  # fmt: skip
    assert source.warnings == {"race": "3 different whole numbers"}
    assert DataSource(data, categories=["race", "loan"]).warnings == {}
    published = DataSource(data, variant="published")
    assert not published.training_set(["race"])["race"].is_categorical
    assert published.warnings == {}


def test_a_table_that_changes_later_changes_nothing():
    data = pd.DataFrame({"number": np.arange(101.0), "word": ["a"] * 101})
    source = DataSource(data)
    data["number"] = 0.0
    data.iloc[:, 0] = 1.0
    assert len(np.unique(rows(source.training_set(["number"])))) == 50


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence_level": "0.95"}, ValueError, "confidence_level: expected a number between 0 and 1, found '0.95'"),
        ({"random_state": -1}, ValueError, "random_state: expected an integer, at least 0, found -1"),
        ({"random_state": None}, ValueError, "random_state"),
        ({"budget": True}, ValueError, "budget"),
        ({"variant": "paper"}, ValueError, "variant: expected one of sound, published"),
        ({"numbers": "age"}, ValueError, "numbers: no column 'age'; there are number"),
        ({"numbers": ["number"], "categories": ["number"]}, ValueError, "'number' is among numbers, too"),
        ({"categories": 2.5}, TypeError, "categories: expected the name of a column"),
    ],
)
def test_other_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        DataSource(PEOPLE, **options)


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="names: no column 'age'; there are number"):
        DataSource(PEOPLE).training_set(["age"])


def test_text_becomes_codes_in_sorted_order_whatever_the_order_of_the_rows():
    column = encode(pd.Series(["pear", "Fig", "apple", "pear"], name="fruit"))
    assert column.categories == ("Fig", "apple", "pear")
    assert column.values.tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize("dtype", ["object", "string", "str", "category"])
def test_every_kind_of_text_has_the_same_codes(dtype):
    column = encode(pd.Series(["b", None, "a"], name="x").astype(dtype))
    assert column.categories == (MISSING, "a", "b")
    assert column.values.tolist() == [2, 0, 1]


def test_an_ordered_category_keeps_its_order_and_as_published_none_does():
    ordered = pd.Series(pd.Categorical(["low", "high"], categories=["low", "high", "never"], ordered=True), name="x")
    assert encode(ordered).categories == ("low", "high")
    assert encode(ordered).values.tolist() == [0, 1]
    assert encode(ordered.cat.as_unordered()).categories == ("high", "low")
    assert encode(ordered, most_codes=0).categories == ("high", "low")


@pytest.mark.parametrize("values", [[10, 9, 2, 9], [10.0, 9.0, 2.0, 9.0], pd.array([10, 9, 2, 9], dtype="Int64")])
def test_few_whole_numbers_are_categories_in_the_order_of_numbers(values):
    column = encode(pd.Series(values, name="x"))
    assert column.categories == ("2", "9", "10")
    assert column.values.tolist() == [2, 1, 0, 1]
    assert encode(pd.Series(values, name="x"), kind="numbers").values.tolist() == [10, 9, 2, 9]
    assert not encode(pd.Series(values, name="x"), most_codes=0).is_categorical


def test_a_missing_code_is_a_category_and_a_missing_number_is_none():
    assert encode(pd.Series([1.0, np.nan, 0.0], name="x")).categories == (MISSING, "0", "1")
    truth = pd.Series(pd.array([True, None, False], dtype="boolean"), name="x")
    assert encode(truth).categories == (MISSING, "False", "True")
    assert encode(pd.Series([1.5, np.nan], name="x"), kind="categories").categories == (MISSING, "1.5")


def test_many_whole_numbers_are_continuous_unless_said_otherwise():
    ages = pd.Series(range(11), name="age")
    assert not encode(ages).is_categorical
    assert encode(ages, kind="categories").categories[-1] == "10"
    assert encode(ages.head(10)).is_categorical


def test_a_number_and_its_text_are_two_categories_with_two_names():
    column = encode(pd.Series([1, "1", "a", 1], name="x"))
    assert sorted(column.categories) == ["'1'", "1", "a"]
    assert [column.categories[code] for code in column.values] == ["1", "'1'", "a", "1"]


def test_missing_is_not_the_text_that_stands_for_it():
    column = encode(pd.Series(["(missing)", None, "a"], name="x"))
    assert [column.categories[code] for code in column.values] == ["(missing)", "((missing))", "a"]


def test_a_column_is_a_copy():
    table = pd.DataFrame({"x": np.arange(20.0)})
    column = encode(table["x"])
    table.loc[:, "x"] = 0.0
    assert column.values[-1] == 19


def test_booleans_have_two_categories_even_if_one_occurs():
    column = encode(pd.Series([True, True], name="x"))
    assert column.is_binary
    assert column.values.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.5, np.nan], "column 'x': 1 values are missing; fill them or drop the rows"),
        ([1.0, np.inf], "column 'x' holds infinite values; expected finite or missing ones"),
        (["10", "9", "100"], "column 'x' holds numbers as text, such as '10'"),
        ([1j, 2], "column 'x' has type complex128; make it real numbers"),
        ([[1], [2]], "column 'x': expected strings, booleans or numbers, found a list"),
        ([True, 1, "a"], "column 'x' mixes booleans with numbers"),
        (pd.to_datetime(["2020-01-01"]), "column 'x' has type datetime64"),
    ],
)
def test_what_cannot_be_coded_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        encode(pd.Series(values, name="x"))


def test_numbers_as_text_may_be_declared_categories():
    assert encode(pd.Series(["10", "9"], name="x").astype("category")).categories == ("10", "9")
    assert encode(pd.Series([10, 9], name="x").astype("category")).categories == ("9", "10")
    assert encode(pd.Series([10, 9], name="x").astype("category"), most_codes=0).categories == ("10", "9")


def test_strata_part_the_people_and_name_those_that_are_empty():
    column = Column("s", np.array([0, 1, 1]), ("f", "m"))
    explanatory = Column("e", np.array([2, 0, 2]), ("a", "b", "c"))
    strata = Sample(column, Column("o", np.array([5.0, 6.0, 7.0])), explanatory).strata()
    assert {name: part.output.values.tolist() for name, part in strata.items()} == {"a": [6], "b": [], "c": [5, 7]}


def test_the_columns_of_a_sample_are_of_the_same_people():
    with pytest.raises(ValueError, match="column 'o' has 2 rows, 's' has 3; expected the same people"):
        Sample(Column("s", np.zeros(3)), Column("o", np.zeros(2)))


@pytest.mark.parametrize("values", [np.array(3), np.zeros((2, 2))])
def test_a_column_has_one_value_for_each_person(values):
    with pytest.raises(ValueError, match="values: expected one for each person of column 'x'"):
        Column("x", values)


@pytest.mark.parametrize("codes", [[0, 2], [-1, 0]])
def test_codes_are_of_categories(codes):
    with pytest.raises(ValueError, match="values: expected codes of 2 categories of column 'x', found"):
        Column("x", np.array(codes), ("a", "b"))


def test_declared_categories_are_coded_like_their_text():
    texts = pd.Series(["b", "a", None, "c", "a"], name="x", dtype=object)
    declared = texts.astype(pd.CategoricalDtype(["c", "unused", "b", "a"]))
    for most_codes in (0, 10):
        plain, coded = (encode(column, most_codes=most_codes) for column in (texts, declared))
        assert coded.categories == plain.categories
        assert coded.values.tolist() == plain.values.tolist()
