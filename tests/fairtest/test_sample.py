import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab.cases import BudgetSpentError
from fairlab.fairtest import Column, DataSource, Sample
from fairlab.fairtest.sample import column_names, encode

MISSING = "(missing)"


@pytest.mark.parametrize(("given", "names"), [("age", ["age"]), (("age", 3), ["age", "3"]), (3, ["3"]), (None, [])])
def test_one_name_or_several(given, names):
    assert column_names(given, "explanatory", ["age", "3"]) == names


PEOPLE = pd.DataFrame({"number": np.arange(101)})


def split(source):
    """Return the people for training and those of each test set, as they are handed out."""
    parts = [source.training_set(["number"])["number"].values]
    while source.remaining_:
        with source.lend_test_set() as columns:
            parts.append(columns["number"].values)
    return [part.astype(int).tolist() for part in parts]


def test_the_split_is_that_of_scikit_learn_in_its_order_and_a_budget_hands_out_the_last_slice_first():
    train, test = (part.tolist() for part in train_test_split(np.arange(101), train_size=0.5, random_state=0))
    source = DataSource(PEOPLE, budget=3)
    assert split(DataSource(PEOPLE)) == [train, test]
    assert split(source) == [train, test[34:], test[17:34], test[:17]]
    assert (source.n_train, source.confidence_level_) == (50, pytest.approx(0.95 ** (1 / 3)))
    with pytest.raises(BudgetSpentError, match="the budget of 3 test sets is spent"):
        source.lend_test_set().__enter__()
    assert DataSource(PEOPLE, budget=2, train_size=1 / 3).n_train == 33


def test_rows_for_training_may_be_given():
    train = np.arange(101) % 3 == 0
    test = np.flatnonzero(~train).tolist()
    assert split(DataSource(PEOPLE, budget=2, train=train)) == [[*range(0, 101, 3)], test[33:66], test[:33]]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (np.zeros(101, dtype=bool), "101 rows are too few"),
        ([True], "train: expected true or false for each of 101 rows, found"),
        (np.zeros(101), "train: expected true or false for each of 101 rows, found"),
        ("all", "train: expected true or false for each of 101 rows, found"),
    ],
)
def test_rows_for_training_that_are_no_split(train, message):
    with pytest.raises(ValueError, match=message):
        DataSource(PEOPLE, train=train)


def test_a_failed_test_gives_its_slice_back():
    source = DataSource(PEOPLE)
    with pytest.raises(ZeroDivisionError), source.lend_test_set():
        1 / 0  # noqa: B018
    assert split(source) == split(DataSource(PEOPLE))


def test_few_whole_numbers_are_categories_and_the_source_says_so():
    data = pd.DataFrame({"race": [1, 2, 3, 1] * 5, "age": range(20), "loan": [0, 1] * 10, "name": ["a", "b"] * 10})
    source = DataSource(data, numbers="loan")
    kinds = {name: column.is_categorical for name, column in source.training_set(data.columns).items()}
    assert kinds == {"race": True, "age": False, "loan": False, "name": True}
    assert source.warnings == {"race": "3 different whole numbers"}
    assert DataSource(data, categories=["race", "loan"]).warnings == {}


def test_a_table_that_changes_later_changes_nothing():
    data = PEOPLE.copy()
    source = DataSource(data)
    data["number"] = 1
    assert split(source) == split(DataSource(PEOPLE))


ORDERED = pd.CategoricalDtype(["low", "high", "never"], ordered=True)
DECLARED = pd.CategoricalDtype(["c", "unused", "b", "a"])
PUBLISHED = {"most_codes": 0}


@pytest.mark.parametrize(
    ("values", "options", "categories", "codes"),
    [
        (["pear", "Fig", "apple", "pear"], {}, ("Fig", "apple", "pear"), [2, 0, 1, 2]),
        *((pd.array(["b", None, "a"], kind), {}, (MISSING, "a", "b"), [2, 0, 1]) for kind in ("string", "category")),
        (["b", None, "a"], {}, (MISSING, "a", "b"), [2, 0, 1]),
        (pd.Categorical(["low", "high"], dtype=ORDERED), {}, ("low", "high"), [0, 1]),
        (pd.Categorical(["low", "high"], dtype=ORDERED), PUBLISHED, ("high", "low"), [1, 0]),
        *((["b", "a", None, "c"], options, (MISSING, "a", "b", "c"), [2, 1, 0, 3]) for options in ({}, PUBLISHED)),
        (pd.Categorical(["b", "a", None, "c"], dtype=DECLARED), {}, (MISSING, "a", "b", "c"), [2, 1, 0, 3]),
        ([10, 9, 2, 9], {}, ("2", "9", "10"), [2, 1, 0, 1]),
        ([10.0, 9.0, 2.0, 9.0], {}, ("2", "9", "10"), [2, 1, 0, 1]),
        (pd.array([10, 9, 2, 9], dtype="Int64"), {}, ("2", "9", "10"), [2, 1, 0, 1]),
        ([10, 9, 2, 9], {"kind": "numbers"}, None, [10, 9, 2, 9]),
        ([10, 9, 2, 9], PUBLISHED, None, [10, 9, 2, 9]),
        (range(10), {}, tuple("0123456789"), [*range(10)]),
        (range(11), {}, None, [*range(11)]),
        (range(11), {"kind": "categories"}, (*"0123456789", "10"), [*range(11)]),
        ([1.0, np.nan, 0.0], {}, (MISSING, "0", "1"), [2, 0, 1]),
        ([1.5, np.nan], {"kind": "categories"}, (MISSING, "1.5"), [1, 0]),
        (pd.array([True, None, False], dtype="boolean"), {}, (MISSING, "False", "True"), [2, 0, 1]),
        ([True, True], {}, ("False", "True"), [1, 1]),
        (["(missing)", None, "a"], {}, ("((missing))", "(missing)", "a"), [1, 0, 2]),
        ([1, "1", "a", 1], {}, ("1", "'1'", "a"), [0, 1, 2, 0]),  # a number and its text are two categories
        (pd.Categorical(["10", "9"]), {}, ("10", "9"), [0, 1]),  # as text, since they are declared so
        (pd.Categorical([10, 9]), {}, ("9", "10"), [1, 0]),
        (pd.Categorical([10, 9]), PUBLISHED, ("10", "9"), [0, 1]),
    ],
)
def test_codes_of_a_column(values, options, categories, codes):
    column = encode(pd.Series(values, name="x"), **options)
    assert (column.categories, column.values.tolist()) == (categories, codes)


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


def test_strata_part_the_people_and_name_those_that_are_empty():
    column = Column("s", np.array([0, 1, 1]), ("f", "m"))
    explanatory = Column("e", np.array([2, 0, 2]), ("a", "b", "c"))
    strata = Sample(column, Column("o", np.array([5.0, 6.0, 7.0])), explanatory).strata()
    assert {name: part.output.values.tolist() for name, part in strata.items()} == {"a": [6], "b": [], "c": [5, 7]}
