"""People as FairTest sees them: columns of codes or numbers, and the three columns that a metric looks at."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of many people.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_rows,)
        Codes from 0 if the attribute is categorical, else numbers.
    categories : tuple of str or None
        What the codes stand for, in sorted order; None for a continuous attribute.
    """

    name: str
    values: np.ndarray
    categories: tuple[str, ...] | None = None

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
    """

    protected: Column
    output: Column | tuple[Column, ...]
    explanatory: Column | None = None

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


def encode(values: pd.Series) -> Column:
    """Return a column of a table as codes or as numbers.

    Numbers stay numbers and count as continuous. Text, categories and booleans become codes in sorted order; a
    missing one is a category of its own, which comes first.

    Raises
    ------
    ValueError
        If a number is missing or infinite, if text holds nothing but numbers, or for any other type of column.
    """
    name = str(values.name)
    if pd.api.types.is_bool_dtype(values) and not values.isna().any():
        return Column(name, values.to_numpy(dtype=np.intp), ("False", "True"))
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        if bad := int((~np.isfinite(numbers)).sum()):
            raise ValueError(f"column {name!r}: {bad} values are missing or infinite; fill them or drop the rows")
        return Column(name, numbers)
    is_text = pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values)
    declared = isinstance(values.dtype, pd.CategoricalDtype)
    if not (is_text or declared):
        raise ValueError(f"column {name!r} has type {values.dtype}, expected numbers, text, categories or booleans")
    codes, found = pd.factorize(values.astype(object))
    found = found.astype(str)
    if not declared and len(found) and pd.to_numeric(pd.Series(found), errors="coerce").notna().all():
        raise ValueError(
            f"column {name!r} holds numbers as text, such as {found[0]!r}; make it numbers with pandas.to_numeric, or "
            "categories with astype('category')"
        )
    order = np.argsort(found, kind="stable")
    rank = np.empty(len(found) + 1, dtype=np.intp)
    has_missing = bool((codes < 0).any())
    rank[order] = np.arange(len(found)) + has_missing
    rank[-1] = 0  # the code of a missing value is -1
    labels = [str(found[i]) for i in order]
    return Column(name, rank[codes], tuple([MISSING] * has_missing + labels))
