"""Rows drawn from tables that are not in memory.

Separate from `fairlab.cases.foreign`, so that code that queries models does not depend on engines.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.cases.foreign import as_pandas, in_pandas
from fairlab.cases.schema import CaseError, case_errors
from fairlab.cases.tables import EngineTable, Hash, Table, engine_table
from fairlab.cases.tables.keys import key_numbers


def drawn_rows(table, key: str | None, most: int, random_state: int) -> tuple[pd.DataFrame, int]:
    """Return about `most` rows of an engine's table, drawn by a hash of a key and without it, and the total number.

    Raises
    ------
    CaseError
        If the key is not a column of unique whole numbers or strings, or the engine fails.
    """
    with case_errors():
        rows = engine_table(table, "table")
        if not isinstance(rows, EngineTable):
            raise CaseError("table: a folder of codes has no rows; expected the files that it was made of")
        if key not in rows.names:
            expected = "a column with another whole number or text for each row of a table that is not in memory"
            raise CaseError(f"key: expected {expected}, found {key!r}; there are {', '.join(rows.names)}")
        drawn, n_rows = Hash.keyed(rows.key_column(key), random_state), rows.n_rows
        share = min(1.0, most / max(n_rows, 1))
        if lies_elsewhere(table):
            names = [name for name in rows.names if name != key]
            categories = {name: dtype for name in names if (dtype := rows.categories(name)) is not None}
            return in_pandas(rows.draw(drawn, share, names)).astype(categories), n_rows
    frame = as_pandas(table)
    keys = key_numbers(frame[key])
    order = np.argsort(keys, kind="stable")
    return frame.drop(columns=key).iloc[order[drawn.of(keys[order]) < drawn.below(share)]], n_rows


def lies_elsewhere(table) -> bool:
    """Return whether a table is files, or a query of an engine such as DuckDB, Spark or Polars' lazy frames."""
    import narwhals

    is_query = isinstance(narwhals.from_native(table, pass_through=True), narwhals.LazyFrame)
    return is_query or isinstance(table, str | Path | Table)
