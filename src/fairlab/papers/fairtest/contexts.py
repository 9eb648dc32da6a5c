"""The numbers that figures 2, 4, 10 and 11 of the paper report of a context, by their ids."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def context_values(
    test: Mapping, prefix: str, interval: str, *, outputs: Mapping[str, str], groups: Mapping[str, str]
) -> dict[str, object]:
    """Return the numbers of one row of a report by their ids: p-value, ``interval``, and those of `table_values`."""
    tests = {"p": test["p_value"], interval: (test["low"], test["high"])}
    values = tests | table_values(test["counts"], outputs=outputs, groups=groups)
    return {f"{prefix}.{id}": value for id, value in values.items()}


def table_values(table: pd.DataFrame, *, outputs: Mapping[str, str], groups: Mapping[str, str]) -> dict[str, float]:
    """Return size, counts and percentages of a table with totals, by the last parts of their ids.

    In the body of the table, percentages are of the column; in its totals, of all people. Percentages of no people are
    nan. `outputs` and `groups` give the table's rows and columns by their ids.
    """
    values = {"size": table.loc["Total", "Total"]}
    for row, output in {**outputs, "total": "Total"}.items():
        for column, group in {**groups, "total": "Total"}.items():
            count, share_of = table.loc[output, group], "Total" if "total" in (row, column) else group
            values[f"{row}.{column}"] = count
            if (row, column) != ("total", "total"):
                values[f"{row}.{column}.pct"] = 100 * count / (table.loc["Total", share_of] or np.nan)
    return values
