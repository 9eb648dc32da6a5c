"""Data set management (section 4.7): one training set, and a budget of test sets that are used once each."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.fairtest.arguments import check_whole, column_names
from fairlab.fairtest.metric import SOUND, check_reading
from fairlab.fairtest.sample import MOST_CODES, Column, encode

CONFIDENCE = 0.95  # over all test sets


class BudgetError(RuntimeError):
    """Raised when every test set of a `DataSource` has been used.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes", "yes"] * 200})
    >>> source = DataSource(people, budget=1)
    >>> found = investigate(Testing(source, "sex", "offer"))
    >>> investigate(Testing(source, "sex", "offer"))
    Traceback (most recent call last):
    ...
    fairlab.fairtest.source.BudgetError: the budget of 1 test set is spent; ...
    """


class DataSource:
    """People whose data is split once into a training set and `budget` test sets.

    Text, categories and booleans are categorical attributes, coded before the split in their own order or a sorted one;
    a missing one is a category that comes first. Numbers are continuous attributes, unless they are whole and there are
    at most 10 different ones: such codes are categories, too, and `notes` and every report say so.

    Parameters
    ----------
    data : DataFrame of shape (n_rows, n_columns)
        One row per person: protected, context and explanatory attributes, and outputs.
    budget : int
        How many adaptive investigations are planned. The rows that are not for training are cut into so many test sets
        of equal size. The training share does not depend on it.
    conf : float
        Confidence over all test sets together, between 0 and 1; each has ``conf ** (1 / budget)``.
    train_size : float
        Share of the rows for training, between 0 and 1. For a training set as large as a test set, as in section
        4.7, it is ``1 / (budget + 1)``.
    random_state : int
        Of the split.
    numbers, categories : str or list of str
        Columns of numbers that are to be taken as continuous, or as categories, whatever they hold.
    reading : {"sound", "as_published"}
        "as_published": all numbers are continuous unless named in `categories`, categories stand in the order of their
        text, and investigations use the authors' intervals unless they are given a metric.

    Attributes
    ----------
    notes : dict of str to str
        For each column of numbers that was taken as categories unasked, what it holds.
    conf_ : float
        Confidence of each test set, and of training.
    remaining_ : int
        Number of test sets that are still unused.

    Raises
    ------
    TypeError
        If `data` is no DataFrame, or columns are not given by name.
    ValueError
        If a parameter is out of range, a column occurs twice or cannot be coded, or there are too few rows.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes", "yes"] * 200})
    >>> source = DataSource(people, budget=2)
    >>> source.n_train, source.budget
    (300, 2)
    """

    def __init__(
        self,
        data: pd.DataFrame,
        *,
        budget=1,
        conf=CONFIDENCE,
        train_size=0.5,
        random_state=0,
        numbers=(),
        categories=(),
        reading=SOUND,
    ):
        if not isinstance(data, pd.DataFrame):
            raise TypeError(f"data: expected a DataFrame, found {type(data).__name__}")
        names = [str(name) for name in data.columns]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"data: columns occur twice: {', '.join(doubled)}")
        check_whole("budget", budget, least=1)
        check_whole("random_state", random_state, least=0)
        for argument, value in (("conf", conf), ("train_size", train_size)):
            if not (isinstance(value, Real) and 0 < value < 1):
                raise ValueError(f"{argument}: expected a number between 0 and 1, found {value!r}")
        self.reading = check_reading(reading)
        kinds = _kinds(names, numbers=numbers, categories=categories)
        n_train = int(train_size * len(data))
        if n_train < 1 or len(data) - n_train < budget:
            raise ValueError(f"data: {len(data)} rows are too few for a training set and {budget} test sets")
        self.budget = budget
        self.conf_ = conf ** (1 / budget)
        self.remaining_ = budget
        most_codes = MOST_CODES if self.reading == SOUND else 0
        self._columns = {
            name: encode(data.iloc[:, i].rename(name), kind=kinds.get(name), most_codes=most_codes)
            for i, name in enumerate(names)
        }
        self.notes = {
            name: f"{len(column.categories)} different whole numbers"
            for i, (name, column) in enumerate(self._columns.items())
            if column.is_categorical and name not in kinds and _holds_numbers(data.iloc[:, i])
        }
        self._train_rows, test_rows = train_test_split(
            np.arange(len(data)), train_size=n_train, random_state=random_state
        )
        size = len(test_rows) // budget
        self._slices = [test_rows[i * size : (i + 1) * size] for i in range(budget)]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def n_train(self) -> int:
        """Number of rows of the training set."""
        return len(self._train_rows)

    def training_set(self, names) -> dict[str, Column]:
        """Return some columns of the training set; a ValueError names one that does not exist."""
        if unknown := [name for name in names if name not in self._columns]:
            raise ValueError(f"names: no column {unknown[0]!r}; there are {', '.join(self.names)}")
        return {name: self._columns[name].take(self._train_rows) for name in names}

    def check_budget(self) -> None:
        """Raise a BudgetError if no test set is left."""
        if self.remaining_ == 0:
            raise BudgetError(
                f"the budget of {self.budget} test set{'s' * (self.budget > 1)} is spent; a further test needs new "
                "data, or a DataSource with a larger budget from the start"
            )

    @contextmanager
    def lend_test_set(self) -> Iterator[dict[str, Column]]:
        """Lend the columns of an unused test set, the last first; an error inside the block gives the set back.

        Raises
        ------
        BudgetError
            If no test set is left.
        """
        self.check_budget()
        self.remaining_ -= 1
        rows = self._slices[self.remaining_]
        try:
            yield {name: self._columns[name].take(rows) for name in self.names}
        except BaseException:
            self.remaining_ += 1
            raise


def _kinds(names, **kinds) -> dict[str, str]:
    """Return the kind of each column that the user named one for."""
    chosen = {}
    for kind, columns in kinds.items():
        for name in column_names(columns, kind):
            if name not in names:
                raise ValueError(f"{kind}: no column {name!r}; there are {', '.join(names)}")
            if chosen.setdefault(name, kind) != kind:
                raise ValueError(f"categories: {name!r} is among numbers, too; expected one of the two")
    return chosen


def _holds_numbers(values: pd.Series) -> bool:
    if values.dtype == object:
        return pd.api.types.infer_dtype(values) in ("integer", "floating", "mixed-integer-float")
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
