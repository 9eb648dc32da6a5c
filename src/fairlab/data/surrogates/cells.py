"""Surrogates of synthetic populations: the counts of all cells of a few categorical columns."""

import numpy as np
import pandas as pd

from fairlab.data.documents import Entry, Several


class Cells(Entry):
    """How many records have each combination of values.

    Only for data that is about nobody: cells may be small.

    Attributes
    ----------
    levels : dict of str to tuple of str
        The values of every column, in the order of the table.
    counts : tuple of int
        The last column's level changes fastest.
    """

    levels: dict[str, Several[str]]
    counts: Several[int]

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw records without replacement: all of them, in random order, if `n_rows` is their number.

        Parameters
        ----------
        n_rows : int
            At most the number of records.
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
        """
        records = np.repeat(np.arange(len(self.counts)), self.counts)
        drawn = np.random.default_rng(random_state).choice(records, n_rows, replace=False)
        codes = np.unravel_index(drawn, tuple(map(len, self.levels.values())))
        columns = zip(self.levels.items(), codes, strict=True)
        return pd.DataFrame({name: np.array(levels)[code] for (name, levels), code in columns})
