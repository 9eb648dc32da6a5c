"""Summary of a paper: how the numbers of its runs come out in both readings, as published and as specified."""

from collections.abc import Sequence

import pandas as pd

from fairlab.suite.comparison import INFERRED, compare
from fairlab.suite.run import Run, run_folder
from fairlab.suite.verdicts import VERDICTS

READINGS = {"as_published": "as published", "as_specified": "as specified"}


def numbers_by_reading(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the numbers of some runs in both readings; one that was recorded once is in both.

    Columns: ``reading``, ``artefact``, ``id``, ``ours`` and ``verdict``, of which *inferred* is one, as published.
    """
    numbers = [
        {"reading": words, "artefact": row.artefact, "id": row.id, "ours": row.ours, "verdict": row.column}
        for reading, words in READINGS.items()
        for run in runs
        for row in compare(run, reading).rows
        if row.kind == "number"
    ]
    return pd.DataFrame(numbers, columns=["reading", "artefact", "id", "ours", "verdict"])


def count_by_reading(runs: Sequence[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by verdict, one column a reading, inferred ones apart; the last row has sums."""
    numbers = numbers_by_reading(runs)
    counts = pd.crosstab(numbers["verdict"], numbers["reading"])
    order = {"index": [*VERDICTS, INFERRED], "columns": [*READINGS.values()]}
    table = counts.reindex(**order).dropna(how="all").fillna(0).astype(int)
    table.loc["all numbers"] = table.sum()
    return table


def count_by_artefact(runs: Sequence[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by reading and artefact (rows) and verdict (columns)."""
    numbers = numbers_by_reading(runs)
    counts = pd.crosstab([numbers["reading"], numbers["artefact"]], numbers["verdict"])
    return counts.reindex([*READINGS.values()], level="reading")


def claims_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the claims of some runs with their verdicts and what these rest on, one row a claim."""
    claims = [row for run in runs for row in compare(run).rows if row.kind == "claim"]
    columns = ["artefact", "claim", "verdict", "on what"]
    return pd.DataFrame([[row.artefact, row.id, row.verdict, row.reason] for row in claims], columns=columns)


def runs_of_paper(exp) -> list[Run]:
    """Return the runs of the experiments that an experiment comes after, at its profile and seed, and its own."""
    folders = [run_folder(name, exp.run.profile) for name in exp.specification.after]
    found = [Run.read(folder) for folder in folders if (folder / "run.json").exists()]
    return [*(run for run in found if run.seed == exp.run.seed), exp.run]
