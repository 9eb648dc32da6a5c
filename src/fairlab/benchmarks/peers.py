"""Libraries that search a table for subgroups with unusual outcomes, beside FairTest (extra ``peers``)."""

from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd

from fairlab.benchmarks import Measurement, missing, speed_up, timed

MOST_CONDITIONS = 3
LEAST_SUPPORT = 0.05  # of all rows
PATTERNS_SHOWN = 10  # patterns of a search for the best
PARTS = 5  # quantile bins of a numeric column
INSTALL = "pip install 'fairlab[peers]'"


def against_peers(data: pd.DataFrame, output: str, *, positive: str, ours: float, what: str) -> list[Measurement]:
    """Return how much faster FairTest is than each peer on the same table, and the results of each.

    Parameters
    ----------
    data : DataFrame
    output : str
    positive : str
        The output value that peers search for. To them, a sensitive feature is a column like any other.
    ours : float
        Seconds of FairTest.
    what : str
        What FairTest does in these seconds.
    """
    table = in_parts(data.drop(columns=output))
    hits = (data[output] == positive).to_numpy().astype(int)
    rows = []
    for module, (search, gives) in PEERS.items():
        name = f"fairtest_adult_vs_{module}"
        try:
            import_module(module)
        except ImportError:
            rows.append(missing(name, "times as fast", f"{module} is not installed: {INSTALL}"))
            continue
        seconds, found = timed(partial(search, table, hits))
        work = f"patterns of up to {MOST_CONDITIONS} columns with {LEAST_SUPPORT:.0%} of {len(table):,} rows"
        note = f"{what}; {module}: {work}, numbers in {PARTS} parts: {found:,} {gives}"
        rows.append(speed_up(name, baseline=seconds, ours=ours, note=note))
    return rows


def in_parts(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of strings; numbers are replaced by their quantile bin of the column."""
    parts = {}
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column):
            column = pd.qcut(column, PARTS, duplicates="drop")
        parts[name] = column.astype(object).where(column.notna(), "(missing)").astype(str).astype(object)
    return pd.DataFrame(parts)


def slices(table: pd.DataFrame, hits: np.ndarray) -> int:
    """Return how many slices SliceLine finds; errors are those of predicting the mean."""
    from sliceline.slicefinder import Slicefinder

    support = int(LEAST_SUPPORT * len(table))
    finder = Slicefinder(alpha=0.95, k=PATTERNS_SHOWN, max_l=MOST_CONDITIONS, min_sup=support, verbose=False)
    finder.fit(table.to_numpy(), np.abs(hits - hits.mean()))
    return len(finder.top_slices_)


def divergent_patterns(table: pd.DataFrame, hits: np.ndarray) -> int:
    """Return how many patterns DivExplorer lists with the divergence of their rate."""
    from divexplorer import DivergenceExplorer

    explorer = DivergenceExplorer(table.assign(hit=hits))
    found = explorer.get_pattern_divergence(min_support=LEAST_SUPPORT, boolean_outcomes=["hit"])
    return int((found["length"] <= MOST_CONDITIONS).sum())


PEERS = {
    "sliceline": (slices, "with the largest errors; no p-values, no held-out test"),
    "divexplorer": (divergent_patterns, "with t statistics, not corrected for their number; no held-out test"),
}
