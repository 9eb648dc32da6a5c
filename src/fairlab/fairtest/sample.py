"""People as FairTest sees them: columns of codes or numbers, and the three columns that a metric looks at."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

MISSING = "(missing)"
MOST_CODES = 10  # different whole numbers that still count as categories


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of many people.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_rows,)
        Codes from 0 if the attribute is categorical, else numbers.
    categories : tuple of str or None
        What the codes stand for, in order; None for a continuous attribute.

    Examples
    --------
    >>> from fairlab.fairtest import Column
    >>> column = Column("sex", np.array([0, 1, 1]), ("f", "m"))
    >>> column.is_categorical, column.is_binary, column.take([0]).values.tolist()
    (True, True, [0])
    """

    name: str
    values: np.ndarray
    categories: tuple[str, ...] | None = None

    def __post_init__(self):
        if np.ndim(self.values) != 1:
            raise ValueError(f"values: expected one for each person of column {self.name!r}, found {self.values!r}")
        if np.asarray(self.values).dtype.kind not in "iufb":
            found = np.asarray(self.values).dtype
            raise ValueError(f"values: expected numbers or codes of column {self.name!r}, found {found}")
        n = None if self.categories is None else len(self.categories)
        if n is not None and len(self.values) and not (self.values.min() >= 0 and self.values.max() < n):
            found = f"{self.values.min()} to {self.values.max()}"
            raise ValueError(f"values: expected codes of {n} categories of column {self.name!r}, found {found}")

    @property
    def is_categorical(self) -> bool:
        """Whether the values are codes."""
        return self.categories is not None

    @property
    def is_binary(self) -> bool:
        """Whether there are exactly two categories."""
        return self.is_categorical and len(self.categories) == 2

    def take(self, rows) -> "Column":
        """Return the column of some rows."""
        return Column(self.name, self.values[rows], self.categories)


@dataclass(frozen=True, eq=False)
class Sample:
    """What a metric is computed from: protected attribute S, output O and explanatory attribute E of the same people.

    Attributes
    ----------
    protected : Column
    output : Column, or tuple of Column
        Several for a `Discovery`, one per label.
    explanatory : Column or None

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
    """

    protected: Column
    output: Column | tuple[Column, ...]
    explanatory: Column | None = None

    def __post_init__(self):
        several = self.output if isinstance(self.output, tuple) else (self.output,)
        parts = [
            ("protected", self.protected),
            *(("output", one) for one in several),
            ("explanatory", self.explanatory),
        ]
        for name, column in parts:
            if not (isinstance(column, Column) or (name == "explanatory" and column is None)):
                raise TypeError(f"{name}: expected a Column, found {type(column).__name__}")
        outputs = [self.output] if isinstance(self.output, Column) else self.output
        for column in [*outputs, *([self.explanatory] if self.explanatory else [])]:
            if len(column.values) != len(self.protected.values):
                raise ValueError(
                    f"column {column.name!r} has {len(column.values)} rows, {self.protected.name!r} has "
                    f"{len(self.protected.values)}; expected the same people"
                )

    def __len__(self):
        return len(self.protected.values)

    def take(self, rows) -> "Sample":
        """Return the sample of some rows, given as a mask or by their numbers."""
        output = self.output.take(rows) if isinstance(self.output, Column) else tuple(o.take(rows) for o in self.output)
        explanatory = self.explanatory and self.explanatory.take(rows)
        return Sample(self.protected.take(rows), output, explanatory)

    def strata(self) -> dict[str, "Sample"]:
        """Return one sample, without explanatory attribute, for each of that attribute's categories."""
        plain = Sample(self.protected, self.output)
        return {
            category: plain.take(self.explanatory.values == code)
            for code, category in enumerate(self.explanatory.categories)
        }


def encode(values: pd.Series, *, kind: str | None = None, most_codes: int = MOST_CODES) -> Column:
    """Return a column of a table as codes or as numbers.

    Parameters
    ----------
    values : Series
    kind : {"numbers", "categories"} or None
        What numbers are. None: categories if all are whole and there are at most `most_codes` different ones.
    most_codes : int
        0 for the authors' way: all numbers are continuous, and categories stand in the order of their text.

    Returns
    -------
    Column
        Its own copy. Categories stand in the order that an ordered type gives them, else in that of numbers or text. A
        missing one is a category of its own, which comes first, and is never mistaken for a text.

    Raises
    ------
    ValueError
        If a continuous number is missing or infinite, if text holds nothing but numbers, for complex numbers, for
        lists and the like, and for any other type of column.
    """
    name = str(values.name)
    if pd.api.types.is_complex_dtype(values):
        raise ValueError(f"column {name!r} holds complex numbers, expected real ones, text, categories or booleans")
    if pd.api.types.is_bool_dtype(values) and not values.isna().any():
        return Column(name, values.to_numpy(dtype=np.intp), ("False", "True"))
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return _encode_numbers(name, values.to_numpy(dtype=float, na_value=np.nan, copy=True), kind, most_codes)
    is_text = pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values)
    declared = isinstance(values.dtype, pd.CategoricalDtype)
    if not (is_text or declared or pd.api.types.is_bool_dtype(values)):
        raise ValueError(f"column {name!r} has type {values.dtype}, expected numbers, text, categories or booleans")
    if declared:
        codes, found = pd.factorize(values)
        found = found.astype(object)
        _factorize(name, found)  # refuses what cannot be told apart
    else:
        objects = values.astype(object)
        if pd.api.types.infer_dtype(objects) in ("integer", "floating", "mixed-integer-float"):
            return _encode_numbers(name, objects.to_numpy(dtype=float, na_value=np.nan), kind, most_codes)
        codes, found = _factorize(name, objects)
    texts = found.astype(str)
    if not declared and len(found) and pd.to_numeric(pd.Series(texts), errors="coerce").notna().all():
        raise ValueError(
            f"column {name!r} holds numbers as text, such as {texts[0]!r}; make it numbers with pandas.to_numeric, or "
            "categories with astype('category')"
        )
    if most_codes and declared and values.cat.ordered:
        order = np.argsort(values.cat.categories.get_indexer(found), kind="stable")
    elif most_codes and all(isinstance(value, Real) for value in found):
        order = np.argsort(found.astype(float), kind="stable")
    else:
        order = np.argsort(texts, kind="stable")
    return _coded(name, codes, [found[i] for i in order], order)


def _encode_numbers(name, numbers, kind, most_codes) -> Column:
    known = numbers[~np.isnan(numbers)]
    if bad := int(np.isinf(known).sum()):
        raise ValueError(f"column {name!r}: {bad} values are missing or infinite; fill them or drop the rows")
    if kind is None and most_codes and len(known) and not (known % 1).any():
        kind = "categories" if len(np.unique(known)) <= most_codes else "numbers"
    if kind == "categories":
        codes, found = pd.factorize(numbers)
        order = np.argsort(found, kind="stable")
        return _coded(name, codes, [int(v) if v == int(v) else float(v) for v in found[order]], order)
    if bad := len(numbers) - len(known):
        raise ValueError(f"column {name!r}: {bad} values are missing or infinite; fill them or drop the rows")
    return Column(name, numbers)


def _factorize(name, objects):
    kinds = {type(value) for value in objects} if pd.api.types.infer_dtype(objects).startswith("mixed") else set()
    if bool in kinds and kinds & {int, float}:
        raise ValueError(f"column {name!r} mixes truth values with numbers, which cannot be told apart; make them text")
    try:
        return pd.factorize(objects)
    except TypeError:
        odd = next(value for value in objects if not pd.api.types.is_hashable(value))
        raise ValueError(f"column {name!r} holds {odd!r}, expected numbers, text, categories or booleans") from None


def _coded(name, codes, values, order) -> Column:
    """Return a column of categories, from codes by first occurrence, values in order, and where each occurred."""
    has_missing = bool((codes < 0).any())
    rank = np.empty(len(values) + 1, dtype=np.intp)
    rank[order] = np.arange(len(values)) + has_missing
    rank[-1] = 0  # the code of a missing value is -1
    names = [MISSING] * has_missing + [str(value) for value in values]
    clash = {text for text in names if names.count(text) > 1}
    names[has_missing:] = [repr(value) if str(value) in clash else str(value) for value in values]
    return Column(name, rank[codes], tuple(names))
