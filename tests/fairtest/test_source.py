import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab.fairtest import BudgetError, DataSource

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
    assert DataSource(PEOPLE, budget=2, conf=0.95).conf_ == pytest.approx(np.sqrt(0.95))


def test_a_spent_budget_is_an_error():
    source = DataSource(PEOPLE)
    with source.lend_test_set():
        pass
    with pytest.raises(BudgetError, match="the budget of 1 test set is spent"), source.lend_test_set():
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
        (PEOPLE, {"budget": 0}, "budget: expected a whole number of at least 1, found 0"),
        (PEOPLE, {"budget": 1.5}, "budget"),
        (PEOPLE, {"conf": 95}, "conf: expected a number between 0 and 1, found 95"),
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
    assert source.notes == {"race": "3 different whole numbers"}
    assert DataSource(data, categories=["race", "loan"]).notes == {}
    published = DataSource(data, reading="as_published")
    assert not published.training_set(["race"])["race"].is_categorical
    assert published.notes == {}


def test_a_table_that_changes_later_changes_nothing():
    data = pd.DataFrame({"number": np.arange(101.0), "word": ["a"] * 101})
    source = DataSource(data)
    data["number"] = 0.0
    data.iloc[:, 0] = 1.0
    assert len(np.unique(rows(source.training_set(["number"])))) == 50


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"conf": "0.95"}, ValueError, "conf: expected a number between 0 and 1, found '0.95'"),
        ({"random_state": -1}, ValueError, "random_state: expected a whole number of at least 0, found -1"),
        ({"random_state": None}, ValueError, "random_state"),
        ({"budget": True}, ValueError, "budget"),
        ({"reading": "paper"}, ValueError, "reading: expected one of sound, as_published"),
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
