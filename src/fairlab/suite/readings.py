"""Summary of a paper: how the numbers of its runs come out in both readings, as published and as described."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from fairlab.suite.comparison import INFERRED, Row, compare
from fairlab.suite.run import Run, run_folder
from fairlab.suite.verdicts import VERDICTS


def rows_by_reading(runs: Iterable[Run]) -> dict[str, list[Row]]:
    """Return the rows of all numbers of some runs by reading; one that was recorded once counts in both."""
    runs = list(runs)
    return {
        "as published": [row for run in runs for row in _numbers(run)],
        "as described": [_apart(row, run) for run in runs for row in _numbers(_described(run))],
    }


def count_by_reading(runs: Iterable[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by verdict, one column a reading, inferred ones apart; the last row has sums."""
    counts = {
        reading: pd.Series([row.column for row in rows], dtype=object).value_counts()
        for reading, rows in rows_by_reading(runs).items()
    }
    table = pd.DataFrame(counts).reindex([*VERDICTS, INFERRED]).dropna(how="all").fillna(0).astype(int)
    table.loc["all numbers"] = table.sum()
    return table.rename_axis("verdict")


def count_by_artefact(runs: Iterable[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by reading and artefact (rows) and verdict (columns)."""
    tables = {
        reading: pd.crosstab([row.artefact for row in rows], [row.column for row in rows])
        for reading, rows in rows_by_reading(runs).items()
        if rows
    }
    return pd.concat(tables, names=["reading", "artefact"]).fillna(0).astype(int)


def claims_of(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the claims of some runs with their verdicts and what these rest on, one row a claim."""
    rows = [row for run in runs for row in compare(run).rows if row.kind == "claim"]
    columns = {"artefact": "artefact", "id": "claim", "verdict": "verdict", "reason": "on what"}
    found = [{name: getattr(row, field) for field, name in columns.items()} for row in rows]
    return pd.DataFrame(found, columns=list(columns.values()))


def runs_of_paper(exp) -> list[Run]:
    """Return the runs of the experiments that an experiment comes after, at its profile and seed, and its own."""
    folders = [run_folder(name, exp.run.profile, exp.run.seed) for name in exp.specification.after]
    return [*(Run.read(folder) for folder in folders if (folder / "run.json").exists()), exp.run]


def _numbers(run: Run) -> list[Row]:
    return [row for row in compare(run).rows if row.kind == "number"]


def _apart(row: Row, run: Run) -> Row:
    """Return a row as described without what holds of the other reading: what that was inferred from, its claims."""
    has_own = run.ours(row.artefact, row.id, "as_described") is not None
    verdict = "differs" if has_own and row.verdict == "same conclusion" else row.verdict
    return row.model_copy(update={"reading": None, "verdict": verdict})


def _described(run: Run) -> Run:
    """Return a run that has as published what it has as described, where it has that."""
    described = {(r["artefact"], r["id"]) for r in run.records if r["reading"] == "as_described"}
    kept = [
        record | {"reading": "as_published"}
        for record in run.records
        if record["reading"] == "as_described" or (record["artefact"], record["id"]) not in described
    ]
    return replace(run, records=kept)
