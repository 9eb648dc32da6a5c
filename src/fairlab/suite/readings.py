"""Summary of a paper: how the numbers of its runs come out in both readings, as published and as specified."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from fairlab.suite.comparison import INFERRED, compare
from fairlab.suite.run import Run, run_folder
from fairlab.suite.verdicts import VERDICTS

READINGS = ["as published", "as specified"]


def numbers_by_reading(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the numbers of some runs in both readings; one that was recorded once is in both.

    Columns: ``reading``, ``artefact``, ``id``, ``ours`` and ``verdict``, of which *inferred* is one, as published.
    """
    rows = []
    for run in runs:
        described = {(each["artefact"], each["id"]) for each in run.records if each["reading"] == "as_specified"}
        for row in compare(run).rows:
            rows.append([READINGS[0], row, row.column])
        for row in compare(_as_specified(run, described)).rows:
            # Claims are judged as published, and say nothing of a number of its own.
            has_own = (row.artefact, row.id) in described and row.verdict == "same conclusion"
            rows.append([READINGS[1], row, "differs" if has_own else row.verdict])
    found = [[key, row.artefact, row.id, row.ours, verdict] for key, row, verdict in rows if row.kind == "number"]
    return pd.DataFrame(found, columns=["reading", "artefact", "id", "ours", "verdict"])


def count_by_reading(runs: Iterable[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by verdict, one column a reading, inferred ones apart; the last row has sums."""
    numbers = numbers_by_reading(runs)
    counts = pd.crosstab(numbers["verdict"], numbers["reading"])
    table = counts.reindex(index=[*VERDICTS, INFERRED], columns=READINGS).dropna(how="all").fillna(0).astype(int)
    table.loc["all numbers"] = table.sum()
    return table


def count_by_artefact(runs: Iterable[Run]) -> pd.DataFrame:
    """Count the numbers of some runs by reading and artefact (rows) and verdict (columns)."""
    numbers = numbers_by_reading(runs)
    return pd.crosstab([numbers["reading"], numbers["artefact"]], numbers["verdict"]).reindex(READINGS, level="reading")


def claims_of(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the claims of some runs with their verdicts and what these rest on, one row a claim."""
    rows = pd.concat([compare(run).to_frame() for run in runs])
    columns = {"artefact": "artefact", "id": "claim", "verdict": "verdict", "reason": "on what"}
    return rows.loc[rows["kind"] == "claim", [*columns]].rename(columns=columns).reset_index(drop=True)


def runs_of_paper(exp) -> list[Run]:
    """Return the runs of the experiments that an experiment comes after, at its profile and seed, and its own."""
    folders = [run_folder(name, exp.run.profile, exp.run.seed) for name in exp.specification.after]
    return [*(Run.read(folder) for folder in folders if (folder / "run.json").exists()), exp.run]


def _as_specified(run: Run, described) -> Run:
    """Return a run that has as published what it has as specified, where it has that."""
    kept = [
        record | {"reading": "as_published"}
        for record in run.records
        if record["reading"] == "as_specified" or (record["artefact"], record["id"]) not in described
    ]
    return replace(run, records=kept)
