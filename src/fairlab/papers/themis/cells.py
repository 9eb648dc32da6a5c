"""Cells of figures 1 and 2: the paper's scores beside those of the stored suites and of fresh runs."""

import numpy as np
import pandas as pd

from fairlab.papers.themis.instances import INSTANCES
from fairlab.papers.themis.suites import score_suite, stored_suites

SUITE = "stored suite"
FRESH = {"as_published": "as released", "as_described": "as described"}  # fresh runs, by how the systems are trained
_PARTS = {"": "score", "low": "low", "high": "high"}


def scores_of_suites(artefact: str) -> pd.DataFrame:
    """Return the scores of the stored suites of a figure, one row for each printed cell.

    Returns
    -------
    DataFrame
        By id: ``measure``; ``score`` in percent; ``samples``, of which ``changed`` are base inputs whose output changes
        (causal); the ``stretches`` that these form, and how many they form on average ``in random order``. All missing
        where the suite is not among those counted and was not fetched; ``path`` is its place.
    """
    rows = []
    for suite in stored_suites():
        if suite.artefact != artefact:
            continue
        row = {"cell": suite.id, "measure": suite.measure, "path": suite.path}
        if counts := suite.counts():
            score = score_suite(counts)
            row |= {"score": 100 * score.score, "samples": score.samples}
            if suite.measure == "causal":
                [n], [hits] = counts.n, counts.hits
                row |= {"changed": hits, "stretches": counts.stretches, "in random order": hits * (n - hits + 1) / n}
        rows.append(row)
    columns = ["cell", "measure", "score", "samples", "changed", "stretches", "in random order", "path"]
    table = pd.DataFrame(rows, columns=columns).set_index("cell")
    return table.astype({"samples": "Int64", "changed": "Int64", "stretches": "Int64"})


def beside_printed(published: pd.DataFrame, suites: pd.DataFrame, fresh: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return printed scores beside ours, in percent, one row a cell.

    Parameters
    ----------
    published : DataFrame
        As `Experiment.published` returns it.
    suites : DataFrame
        Of `scores_of_suites`.
    fresh : dict of str to DataFrame
        By reading, one trial's scores with a column ``id``.

    Returns
    -------
    DataFrame
        By id: ``printed``, ``less than`` (whether the print says only that), the score of the stored suite and, for
        fresh runs by reading, the score and both ends of its interval.
    """
    columns = {"printed": published["value"], "less than": published["printed"].str.startswith("<")}
    columns[SUITE] = suites["score"].loc[published.index]
    for reading, name in FRESH.items():
        of = fresh[reading].set_index("id").loc[published.index]
        columns |= {f"{name} {part}".strip(): 100 * of[column] for part, column in _PARTS.items()}
    return pd.DataFrame(columns).rename_axis("cell")


def as_series(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `beside_printed` with one row for each cell and series, as it is drawn."""
    missing = pd.Series(np.nan, index=table.index)
    return pd.concat(
        pd.DataFrame(
            {"cell": table.index, "series": series, "score": table[series]}
            | {part: table.get(f"{series} {part}", missing) for part in ("low", "high")}
        )
        for series in ("printed", SUITE, *FRESH.values())
    ).reset_index(drop=True)


def by_measure(long: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `as_series` with the measure that ends a cell's id in a column of its own (figure 1)."""
    parts = long["cell"].str.rpartition(".")
    split = long.assign(cell=parts[0], measure=parts[2])
    return split[["cell", "measure", "series", "score", "low", "high"]]


def relation_to_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Count the cells whose printed score lies below, in or above the interval of a fresh run, one column a reading."""
    counts = {}
    for name in FRESH.values():
        low, high = table[f"{name} low"], table[f"{name} high"]
        where = np.select(
            [table["less than"], table["printed"] < low, table["printed"] > high],
            ["printed as below 0.01", "below the interval", "above it"],
            "in the interval",
        )
        counts[name] = pd.Series(where).value_counts()
    return pd.DataFrame(counts).fillna(0).astype(int).rename_axis("printed score")


def group_above_causal(table: pd.DataFrame) -> pd.Series:
    """Count the pairs of cells whose group score exceeds the causal one, in fresh runs by more than intervals allow."""
    ends = {name: (name, name) for name in ("printed", SUITE)}
    ends |= {name: (f"{name} low", f"{name} high") for name in FRESH.values()}
    cells = table.index.str.rpartition(".").get_level_values(0).unique()
    group, causal = ([f"{cell}.{measure}" for cell in cells] for measure in ("group", "causal"))
    above = {
        name: int((table.loc[group, low].to_numpy() > table.loc[causal, high].to_numpy()).sum())
        for name, (low, high) in ends.items()
    }
    return pd.Series(above, name="pairs with group above causal")


def by_characteristic(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of single characteristics in percent, instances by characteristics.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``, the singles among them.
    """
    score = 100 * scores.set_index("id")["score"]
    words = sorted({word for instance in INSTANCES for word in instance.sensitive})
    rows = {i.id: {word: score[f"{i.id}.{word}"] for word in i.sensitive} for i in INSTANCES}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=words)
    return table.rename_axis(index="instance", columns="characteristic")


def with_printed(table: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return a table of `by_characteristic` one score a row: instance, characteristic, score, printed (where it is)."""
    long = table.rename_axis(columns=None).rename_axis("instance").reset_index()
    long = long.melt("instance", var_name="characteristic", value_name="score")
    return long.assign(printed=(long["instance"] + "." + long["characteristic"]).map(published))


def beyond_parts(scores: pd.DataFrame) -> pd.DataFrame:
    """Return by how much scores of pairs exceed the sum of their parts, in percent, the largest excess first.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``, all singles and pairs among them.
    """
    score = 100 * scores.set_index("id")["score"]
    rows = []
    for instance in INSTANCES:
        for id in instance.sets(2):
            words = id.rpartition(".")[2]
            parts = sum(score[f"{instance.id}.{word}"] for word in words.split("_"))
            rows.append({"instance": instance.id, "pair": words, "score": score[id], "sum of parts": parts})
    joint = pd.DataFrame(rows)
    joint["excess"] = joint["score"] - joint["sum of parts"]
    return joint.sort_values("excess", ascending=False, ignore_index=True)


def mean_scores(trials: list[pd.DataFrame]) -> pd.DataFrame:
    """Return scores and the ends of their intervals in percent, the means over trials, by id."""
    return 100 * pd.concat(trials).groupby("id", sort=False)[list(_PARTS.values())].mean()


def supersets_below(scores: pd.DataFrame) -> tuple[int, list[tuple[str, str]]]:
    """Return how many pairs of a set and a superset were scored, and those whose superset is below by its interval.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``.
    """
    of = scores.set_index("id")
    sets = {id: (id.rpartition(".")[0], frozenset(id.rpartition(".")[2].split("_"))) for id in of.index}
    pairs = [
        (small, large)
        for small, (instance, of_small) in sets.items()
        for large, (other, of_large) in sets.items()
        if instance == other and of_small < of_large
    ]
    return len(pairs), [(small, large) for small, large in pairs if of.loc[large, "high"] < of.loc[small, "low"]]
