"""The data of an investigation: columns of codes or numbers, samples, and a training set with a budget of test sets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from fairlab.cases import Case
from fairlab.cases.queries import BudgetSpentError
from fairlab.cases.schema import Feature, is_number, values_of
from fairlab.cases.tables import Column, Cut, Hash, InMemory, Table, engine_table, tabulate
from fairlab.cases.tables.keys import PRIME, key_numbers
from fairlab.cases.tables.table import StoredTable
from fairlab.checks import COUNT_OR_ZERO, FRACTION, VARIANT, check_count, check_kind, check_names, checked, one_of

MOST_CODES = 10  # different whole numbers that still count as categories
CONFIDENCE_LEVEL = 0.95  # over all test sets
SOUND, PUBLISHED = "sound", "published"  # variants
RANDOM, HASH = SPLITS = ("random", "hash")
MOST_IN_MEMORY = 100_000  # people sampled from a set of an engine table, where counts are not enough


@dataclass(frozen=True, eq=False)
class Sample:
    """The input of a metric: sensitive feature S, output O and explanatory attribute E of the same people.

    Attributes
    ----------
    sensitive_features : Column
        One feature; the paper calls it the protected attribute.
    output : Column, or tuple of Column
        Several in a discovery, one per label.
    explanatory : Column or None
        Held fixed: metrics are then means over its categories.
    tables : ndarray of shape (n_strata, n_groups, n_outputs) or (n_strata, n_sums), or None
        For data counted inside its engine, all that the sample holds: counts, or the number of people and sums.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Sample
    >>> sex, offer = (
    ...     Column("sex", np.array([0, 1, 1]), ("f", "m")),
    ...     Column("offer", np.array([0, 1, 0]), ("no", "yes")),
    ... )
    >>> sample = Sample(sex, offer)
    >>> len(sample), len(sample.take([True, False, True]))
    (3, 2)
    >>> sample.counts().loc["no"].to_dict()
    {'f': 1, 'm': 1, 'Total': 2}
    >>> sample.shares().loc["yes"].round(2).to_dict()
    {'f': 0.0, 'm': 0.5, 'Total': 0.33}
    """

    sensitive_features: Column
    output: Column | tuple[Column, ...]
    explanatory: Column | None = None
    tables: np.ndarray | None = None

    def __post_init__(self):
        outputs = self.output if isinstance(self.output, tuple) else (self.output,)
        given = () if self.explanatory is None else (self.explanatory,)
        parts = {"sensitive_features": (self.sensitive_features,), "output": outputs, "explanatory": given}
        for name, columns in parts.items():
            for column in columns:
                check_kind(column, name, Column)
                if column.values is not None and len(column.values) != len(self):
                    raise ValueError(
                        f"column {column.name!r} has {len(column.values)} rows, {self.sensitive_features.name!r} has "
                        f"{len(self)}; expected the same people"
                    )

    def __len__(self):
        if self.tables is None:
            return len(self.sensitive_features.values)
        return int((self.tables if self.tables.ndim == 3 else self.tables[:, 0]).sum())

    def counted(self, tables: np.ndarray) -> "Sample":
        """Return a sample of some people that holds no values, only their counts or sums."""
        columns = (self.sensitive_features, self.output, self.explanatory)
        return Sample(*(column and replace(column, values=None) for column in columns), tables)

    def take(self, rows: ArrayLike) -> "Sample":
        """Return the sample of some rows, given as a mask or by their numbers."""
        output = self.output.take(rows) if isinstance(self.output, Column) else tuple(o.take(rows) for o in self.output)
        explanatory = self.explanatory and self.explanatory.take(rows)
        return Sample(self.sensitive_features.take(rows), output, explanatory)

    def strata(self) -> dict[str, "Sample"]:
        """Return one sample, without explanatory attribute, for each of that attribute's categories."""
        plain = Sample(self.sensitive_features, self.output)
        if self.tables is not None:
            names = self.explanatory.categories
            return {name: plain.counted(self.tables[code : code + 1]) for code, name in enumerate(names)}
        return {
            category: plain.take(self.explanatory.values == code)
            for code, category in enumerate(self.explanatory.categories)
        }

    def counts(self) -> pd.DataFrame:
        """Return numbers of people by output (rows) and group (columns), with totals.

        Raises
        ------
        ValueError
            If output or sensitive feature is continuous.
        """
        sides = (self.output, self.sensitive_features)
        for column in sides:
            if not column.is_categorical:
                raise ValueError(f"column {column.name!r} holds numbers, a contingency table needs categories")
        if self.tables is None:
            codes = {axis: column.values for axis, column in enumerate(sides)}
            counted = tabulate(codes, {axis: len(column.categories) for axis, column in enumerate(sides)})
        else:
            counted = self.tables.sum(axis=0).T
        for axis in (0, 1):
            counted = np.concatenate([counted, counted.sum(axis=axis, keepdims=True)], axis=axis)
        return pd.DataFrame(counted, *(pd.Index([*side.categories, "Total"], name=side.name) for side in sides))

    def shares(self) -> pd.DataFrame:
        """Return the share of each output (rows) in each group and among all (columns), from 0 to 1; see `counts`."""
        table = self.counts()
        return (table / table.loc["Total"]).drop(index="Total")


class People(dict):
    """Columns of some people by name, and the `table` where they are counted.

    Parameters
    ----------
    columns : dict of str to Column
    table : Table or None
        None if the columns have everybody's values.
    draw : callable or None
        Maps names of columns to these columns of a sample in memory.
    """

    def __init__(self, columns: Mapping, table: Table | None = None, draw: Callable | None = None):
        super().__init__(columns)
        self.table = InMemory(self) if table is None else table
        self._draw = draw

    def of(self, names: Iterable[str]) -> "People":
        """Return some of the columns."""
        return People({name: self[name] for name in names}, self.table if self._draw else None, self._draw)

    def in_memory(self, names: Iterable[str]) -> "People":
        """Return columns with values; if the data is not in memory, those of a sample."""
        return self if self._draw is None else People(self._draw(list(dict.fromkeys(names))))


class DataSource:
    """People whose data is split once into a training set and `budget` test sets.

    Text, categories and booleans are categorical attributes, coded before the split in the order of an ordered type,
    else sorted; missing values are a category, which comes first. Numbers are continuous attributes, except columns of
    at most 10 different whole numbers: these are categories, too, and `warnings` and every report list them.

    Parameters
    ----------
    data : DataFrame of shape (n_rows, n_columns), Case, table of an engine, or path
        One row per person: sensitive features, context and explanatory attributes, and outputs. A case supplies its
        table, with one decision per person, and its outcomes: ``favourable``, whether the decision is, and, if all true
        labels are known, ``error``, whether the decision is wrong; for a regression ``model's number`` and ``error of
        the model's number``. Tables of Polars, Arrow, DuckDB and Spark, Parquet and CSV files
        (``"decisions/*.parquet"``), and codes that `fairlab.cases.tables.encode` made of files, are counted inside
        their engine: they need ``split="hash"``, and text columns of at most 255 different values. Where counts and
        sums are not enough (choosing the labels of a discovery, published correlations), about 100,000 people of a set
        are sampled by hash, and every report says so.
    budget : int
        Number of planned adaptive investigations. The rows not used for training are cut into this many test sets of
        equal size. The training share does not depend on it.
    confidence_level : float
        Over all test sets together, between 0 and 1; each has ``confidence_level ** (1 / budget)``.
    train_size : float
        Share of the rows for training, between 0 and 1. For a training set as large as a test set, as in section
        6.1, it is ``1 / (budget + 1)``.
    train : array-like of bool of shape (n_rows,), or None
        Mask of the training rows; the others become test sets in their order. None: a random share `train_size`.
    random_state : int
        Seed of the split.
    split : {"random", "hash"}
        "hash": by a hash of `key`, which gives the same split in every engine; the sets are then of nearly equal size.
    key : str or None
        Column with a unique whole number or string for each person; it is not an attribute.
    numbers, categories : str or list of str
        Columns of numbers to treat as continuous, or as categories, whatever their values. Numbers stored as text, such
        as ``"01"``, can only be categories.
    variant : {"sound", "published"}
        "published": all numbers are continuous unless named in `categories`, categories are sorted as text, and
        investigations use the authors' intervals unless they are given a metric.

    Attributes
    ----------
    outcomes : dict of str to Column
        Outcomes of a case, by name.
    warnings : dict of str to str
        For each column of numbers treated as categories by default, how many values it has.
    n_train : int
        Number of rows of the training set.
    confidence_level_ : float
        Level of each test set, and of training.
    remaining_ : int
        Number of test sets that are still unused.

    Raises
    ------
    TypeError
        If `data` is neither a table nor a case, or columns are not given by name.
    ValueError
        If a parameter is out of range, a column occurs twice or cannot be coded, there are too few rows, a case has
        weights, or a key is missing or duplicated.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes", "yes"] * 200})
    >>> source = DataSource(people, budget=2)
    >>> source.n_train, source.budget
    (300, 2)

    Decisions of a model:

    >>> import fairlab
    >>> case = fairlab.Case(lambda rows: rows["offer"] == "yes", people, sensitive_features="sex")
    >>> DataSource(case).names
    ['sex', 'offer', 'favourable']
    """

    @checked(
        budget=check_count,
        confidence_level=FRACTION,
        train_size=FRACTION,
        random_state=COUNT_OR_ZERO,
        split=one_of(*SPLITS),
        variant=VARIANT,
    )
    def __init__(
        self,
        data: pd.DataFrame | Case | Any,
        *,
        budget: int = 1,
        confidence_level: float = CONFIDENCE_LEVEL,
        train_size: float = 0.5,
        train: ArrayLike | None = None,
        random_state: int = 0,
        split: str = RANDOM,
        key: str | None = None,
        numbers: str | Sequence[str] = (),
        categories: str | Sequence[str] = (),
        variant: str = SOUND,
    ):
        self.outcomes = {}
        if isinstance(data, Case):
            if data.weights is not None:
                raise ValueError("data: people are counted, expected a case without weights")
            case = data.one_decision_each(random_state=random_state)
            self.outcomes = {column.name: column for column, known in outcomes(case) if known.all()}
            data = case.table
        if not isinstance(data, pd.DataFrame):
            data = engine_table(data, "data")
            if split != HASH:
                raise ValueError(f"split: expected {HASH!r}, and a key, for a table outside of pandas, found {split!r}")
        known = list(map(str, data.columns if isinstance(data, pd.DataFrame) else data.names))
        names = [*known, *self.outcomes]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"data: columns occur twice: {', '.join(doubled)}")
        if (key is None) == (split == HASH) or (key is not None and train is not None):
            raise ValueError(f"key: expected a column with split={HASH!r}, without train, and else none, found {key!r}")
        self._names = [name for name in names if name not in check_names(key, "key", known)]
        kinds = _kinds(self._names, numbers=numbers, categories=categories)
        self.variant = variant
        self.budget = budget
        self.confidence_level_ = confidence_level ** (1 / budget)
        self.remaining_ = budget
        most_codes = MOST_CODES if variant == SOUND else 0
        codes = {
            name: partial(encode, kind=kinds.get(name), most_codes=most_codes)
            for name in self._names
            if name not in self.outcomes
        }
        if isinstance(data, pd.DataFrame):
            data = data.set_axis(known, axis=1)
            if split == HASH:
                rows = _rows_by_hash(key_numbers(data.pop(key)), _sets_by_hash(key, train_size, budget, random_state))
            else:
                rows = _rows_at_random(len(data), budget, train_size, train, random_state)
            numeric = [name for name in codes if _holds_numbers(data[name])]
            columns = {name: code(data[name]) for name, code in codes.items()} | self.outcomes
            self._sets = [People({name: each.take(some) for name, each in columns.items()}) for some in rows]
            self.n_train = len(rows[0])
        else:
            numeric = list(filter(data.is_number, codes))
            key_cut = _sets_by_hash(data.key_column(key), train_size, budget, random_state)
            self._sets, self.n_train = _counted_sets(data, codes, key_cut)
            columns = self._sets[0]
        self.warnings = {
            name: f"{len(columns[name].categories)} different whole numbers"
            for name in numeric
            if columns[name].is_categorical and name not in kinds
        }

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._names)

    def training_set(self, names: Iterable[str]) -> People:
        """Return some columns of the training set; a ValueError names one that does not exist."""
        return self._sets[0].of(check_names(names, "names", self.names))

    def check_budget(self) -> None:
        """Raise a BudgetSpentError if no test set is left."""
        if self.remaining_ == 0:
            raise BudgetSpentError(
                f"the budget of {self.budget} test set{'s' * (self.budget > 1)} is spent; a further test needs new "
                "data, or a DataSource with a larger budget from the start"
            )

    @contextmanager
    def lend_test_set(self) -> Iterator[dict[str, Column]]:
        """Lend the columns of an unused test set, the last first; an error inside the block gives the set back.

        Raises
        ------
        BudgetSpentError
            If no test set is left.
        """
        self.check_budget()
        self.remaining_ -= 1
        try:
            yield self._sets[1 + self.remaining_]
        except BaseException:
            self.remaining_ += 1
            raise


def _counted_sets(table: StoredTable, codes: Mapping[str, Callable], sets: Cut) -> tuple[list[People], int]:
    """Return the people of each set of a table, with columns without values, and the size of the first set."""
    parts = [table.among(sets, number) for number in range(sets.size)]
    sizes = [part.n_rows for part in parts]
    _check_sizes(sizes)
    for name, code in codes.items():
        table.add(*described(table, name, code))
    columns = {name: table.columns[name] for name in codes}
    other = Hash(sets.number.column, sets.number.coefficients[::-1])  # by which a part is sampled
    draws = [partial(part.sample, other, min(1.0, MOST_IN_MEMORY / n)) for part, n in zip(parts, sizes, strict=True)]
    return [People(columns, *each) for each in zip(parts, draws, strict=True)], sizes[0]


def described(table: StoredTable, name: str, code: Callable) -> tuple[Column, dict | None]:
    """Return a column of an engine, and the codes of its values, from its distinct values alone."""
    values = table.values(name)
    if values is not None:
        # Integers beside a missing value stay integers, as floats do not tell all of them apart.
        is_whole = None in values and any(isinstance(value, int) for value in values)
        try:
            column = code(pd.Series(values, name=name, dtype=object if is_whole else table.categories(name)))
        except ValueError:
            if table.is_number(name):
                table.check_numbers(name)  # which counts the rows
            raise
        return replace(column, values=None), dict(zip(values, column.values.tolist(), strict=True))
    table.check_numbers(name)
    return Column(name, None), None


def _sets_by_hash(key: str, train_size: float, budget: int, random_state: int) -> Cut:
    """Return the key that puts people into the training set, or into one of the test sets."""
    first = Hash.below(train_size)
    last = [first + k * (PRIME - first) // budget - 1.0 for k in range(budget)]
    return Cut(Hash.keyed(key, random_state), tuple(last))


def _rows_by_hash(keys: np.ndarray, sets: Cut) -> list[np.ndarray]:
    """Return the rows of each set, in the order of their keys."""
    order = np.argsort(keys, kind="stable")
    number = InMemory({sets.number.column: Column("key", keys[order])}).codes(sets)
    rows = [order[number == each] for each in range(sets.size)]
    _check_sizes([len(some) for some in rows])
    return rows


def _rows_at_random(n_rows, budget, train_size, train, random_state) -> list[np.ndarray]:
    """Return the rows of the training set, and of test sets of equal size."""
    given = None if train is None else np.asarray(train)
    if given is not None and (given.dtype, given.shape) != (bool, (n_rows,)):
        found = f"{given.dtype} of shape {given.shape}"
        raise ValueError(f"train: expected true or false for each of {n_rows} rows, found {found}")
    n_train = int(train_size * n_rows) if given is None else int(given.sum())
    size = (n_rows - n_train) // budget
    _check_sizes([n_train, *[size] * budget], n_rows)
    if given is None:
        training, test = train_test_split(np.arange(n_rows), train_size=n_train, random_state=random_state)
    else:
        training, test = np.flatnonzero(given), np.flatnonzero(~given)
    return [training, *(test[i * size : (i + 1) * size] for i in range(budget))]


def _check_sizes(sizes: list[int], n_rows: int | None = None) -> None:
    if min(sizes) < 1:
        n_rows = sum(sizes) if n_rows is None else n_rows
        raise ValueError(f"data: {n_rows} rows are too few for a training set and {len(sizes) - 1} test sets")


def outcomes(case: Case) -> Iterator[tuple[Column, np.ndarray]]:
    """Yield decisions or numbers of the model, then their errors, each with the mask of people for whom it is known."""
    everyone, labelled = np.ones(len(case.table), dtype=bool), case.labelled
    is_regression = case.task == "numbers"
    values = case.number() if is_regression else case.decide()
    name = "model's number" if is_regression else "favourable"
    yield _outcome(name, values), everyone
    if labelled.any() and is_regression:
        yield _outcome(f"error of the {name}", np.abs(values - np.where(labelled, case.y_true, values))), labelled
    elif labelled.any():
        yield _outcome("error", labelled & (values != case.y_true)), labelled


def _outcome(name, values) -> Column:
    """Return numbers or booleans as a column."""
    if values.dtype == bool:
        return Column(name, values.astype(np.intp), ("no", "yes"))
    return Column(name, values.astype(float))


def encode(values: pd.Series, *, kind: str | None = None, most_codes: int = MOST_CODES) -> Column:
    """Return a column of a table as codes or as numbers.

    Parameters
    ----------
    values : Series
    kind : {"numbers", "categories"} or None
        How to treat numbers; stored as text, they can only be "categories". None: categories if there are at most
        `most_codes` different numbers, all whole.
    most_codes : int
        0 for the authors' rule: all numbers are continuous, and categories are sorted as text.

    Returns
    -------
    Column
        A copy. Categories keep the order of an ordered type, else they are sorted as numbers or text. Missing values
        are a category of their own, which comes first and is distinct from every string.

    Raises
    ------
    ValueError
        If a continuous number is missing or infinite, if a text column holds nothing but numbers, or if values are
        complex numbers, lists or of another unsupported type.
    """
    name = str(values.name)
    found, missing = values_of(name, values)
    if _holds_numbers(values):
        found = sorted(int(value) if value % 1 == 0 else float(value) for value in found)
        if kind is None and 0 < len(found) <= most_codes and all(isinstance(value, int) for value in found):
            kind = "categories"
        if kind != "categories":
            if missing:
                raise ValueError(
                    f"column {name!r}: {values.isna().sum()} values are missing; fill them or drop the rows"
                )
            return Column(name, values.to_numpy(dtype=float, copy=True))
    elif pd.api.types.is_bool_dtype(values) and not missing:
        found = [False, True]
    else:
        found = _ordered(name, values, found, as_text=not most_codes, as_categories=kind == "categories")
    feature = Feature(name, [*missing, *found])
    codes = feature.find(values).astype(np.intp)  # the type that counting needs, also on 32 bits, as in a browser
    return Column(name, codes, tuple(feature.labels))


def _ordered(name, values, found, *, as_text, as_categories) -> list:
    """Return categories in their declared order, or sorted as numbers or text."""
    declared = isinstance(values.dtype, pd.CategoricalDtype)
    numbers = pd.to_numeric(pd.Series(found, dtype=object).astype(str), errors="coerce")
    if not (declared or as_categories) and found and numbers.notna().all():
        raise ValueError(
            f"column {name!r} holds numbers as text, such as {str(found[0])!r}; make it numbers with "
            "pandas.to_numeric, or categories with astype('category') or categories=[...]"
        )
    if not as_text and declared and values.cat.ordered:
        return found
    is_number = all(isinstance(value, Real) for value in found) and not as_text
    return sorted(found, key=float if is_number else str)


def _kinds(known, **kinds) -> dict[str, str]:
    """Return the kind of each column for which the user named one."""
    named = {kind: check_names(columns, kind, known) for kind, columns in kinds.items()}
    if both := set(named["numbers"]) & set(named["categories"]):
        raise ValueError(f"categories: {both.pop()!r} is among numbers, too; expected one of the two")
    return {name: kind for kind, columns in named.items() for name in columns}


def _holds_numbers(values: pd.Series) -> bool:
    kinds = ("integer", "floating", "mixed-integer-float")
    return is_number(values) or (values.dtype == object and pd.api.types.infer_dtype(values) in kinds)
