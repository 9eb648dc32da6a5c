"""Surrogates of synthetic populations: the counts of all cells of a few categorical columns."""

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from fairlab.data.errors import DataError


@dataclass(frozen=True, eq=False)
class Cells:
    """How many records have each combination of values.

    Only for data that is about nobody: cells may be small.

    Attributes
    ----------
    levels : dict of str to tuple of str
        The values of every column, in the order of the table.
    counts : ndarray of shape (n_levels_0, n_levels_1, ...)
    """

    levels: dict[str, tuple[str, ...]]
    counts: np.ndarray

    def __post_init__(self):
        shape = tuple(map(len, self.levels.values()))
        if self.counts.shape != shape:
            raise DataError(f"cells: counts have shape {self.counts.shape}, levels {shape}")
        if self.counts.min() < 0:
            raise DataError(f"cells: a count is {self.counts.min()}, expected none below 0")

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw records without replacement: all of them, in random order, if `n_rows` is their number.

        Parameters
        ----------
        n_rows : int
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)

        Raises
        ------
        DataError
            If there are fewer records.
        """
        if n_rows > self.counts.sum():
            raise DataError(f"cells: {n_rows:,} rows requested, {self.counts.sum():,} counted")
        records = np.repeat(np.arange(self.counts.size), self.counts.ravel())
        drawn = np.random.default_rng(random_state).choice(records, n_rows, replace=False)
        codes = np.unravel_index(drawn, self.counts.shape)
        columns = zip(self.levels.items(), codes, strict=True)
        return pd.DataFrame({name: np.array(levels)[code] for (name, levels), code in columns})

    def to_dict(self) -> dict:
        """Return plain values for a YAML file; the last column's level changes fastest."""
        levels = {name: list(levels) for name, levels in self.levels.items()}
        return {"levels": levels, "counts": self.counts.ravel().tolist()}

    @classmethod
    def from_dict(cls, content: dict) -> "Cells":
        """Return the cells that `to_dict` described."""
        levels = {name: tuple(levels) for name, levels in content["levels"].items()}
        counts = np.array(content["counts"])
        shape = tuple(map(len, levels.values()))
        return cls(levels, counts.reshape(shape) if counts.size == prod(shape) else counts)


def count_cells(table: pd.DataFrame) -> Cells:
    """Count the cells of a table of text or categories."""
    coded = table.astype("category")
    levels = {name: tuple(column.cat.categories) for name, column in coded.items()}
    shape = tuple(map(len, levels.values()))
    codes = np.ravel_multi_index([column.cat.codes for _, column in coded.items()], shape)
    return Cells(levels, np.bincount(codes, minlength=prod(shape)).reshape(shape))
