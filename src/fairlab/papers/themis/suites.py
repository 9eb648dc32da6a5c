"""The stored test suites behind figures 1 and 2, scored as the paper's scripts score them.

A suite is a text file with one input per line: the codes of its characteristics, then the output. Suites are not
uniform samples of the input space, so their scores are the published ones and do not measure how much a system
discriminates.

The files may be used for academic work only and are not part of the project. Each score follows from a few counts,
which are in ``data_scripts/themis_suites.csv``; ``data_scripts/count_themis_suites.py`` makes them from the files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.cases.model import wrap_model
from fairlab.cases.schema import Schema
from fairlab.checks import check_choice
from fairlab.data.files import find_fault, local_copy
from fairlab.data.project import project
from fairlab.data.registry import File, project_registry
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, SENSITIVE, Instance
from fairlab.themis.themis import MEASURES

TABLE = project().data_scripts / "themis_suites.csv"


@dataclass(frozen=True)
class SuiteCounts:
    """Counts that determine the score of a stored suite.

    Attributes
    ----------
    measure : {"group", "causal"}
    characteristics : tuple of str
    lines : int
    n, hits : tuple of int
        Group: lines with each value of the characteristics, and how many of them have a positive output. Causal, one
        number each: base inputs (blocks of lines with all values of the characteristics), and how many change output.
    dropped : int
        Lines after the last whole block.
    stretches : int or None
        Causal: number of runs of consecutive base inputs whose output changes. A random sample has nearly as many runs
        as such inputs.
    """

    measure: str
    characteristics: tuple[str, ...]
    lines: int
    n: tuple[int, ...]
    hits: tuple[int, ...]
    dropped: int = 0
    stretches: int | None = None


@dataclass(frozen=True)
class StoredSuite:
    """The suite behind a published score: its file, and what it tests.

    Attributes
    ----------
    artefact, id : str
        Artefact and id of the published score.
    path : str
        Path of the file in the registry of data.
    data : {"census", "credit"}
    characteristics : tuple of str
    measure : {"group", "causal"}
    """

    artefact: str
    id: str
    path: str
    data: str
    characteristics: tuple[str, ...]
    measure: str

    @property
    def file(self) -> File:
        """Its entry in the registry."""
        return project_registry().file(self.path)

    def counts(self) -> SuiteCounts | None:
        """Return its counts from the table or from a fetched copy; None if there is neither."""
        if self.path in _table():
            return _table()[self.path]
        copy = local_copy(self.file)
        return None if copy is None or find_fault(self.file, copy) else self.count(copy)

    def count(self, file: Path | str) -> SuiteCounts:
        """Count a copy of the suite."""
        return count_suite(file, INPUT_SPACES[self.data], self.characteristics, measure=self.measure)


def score_suite(counts: SuiteCounts) -> float:
    """Return the score of a stored suite, between 0 and 1, as in the paper's figures.

    Group: the largest difference of the shares of positive outputs between values of the characteristics. Causal: the
    share of blocks with both outputs.
    """
    shares = np.divide(counts.hits, counts.n)
    return float(np.ptp(shares) if counts.measure == "group" else shares[0])


def apparent_score(model, inputs: pd.DataFrame, sensitive_features: str | Iterable[str], *, measure: str) -> float:
    """Return the score of a model on the inputs of a test suite or of an operational profile (definition 3.8).

    Parameters
    ----------
    model : callable, or object with ``predict``
        See `fairlab.cases.wrap_model`; its outputs are false and true.
    inputs : DataFrame
        One row for each input, as often as it occurs. Counterparts are looked up among these rows only.
    sensitive_features : str or iterable of str
    measure : {"group", "causal"}

    Raises
    ------
    KeyError
        If there is no such column.
    ValueError
        If the measure is unknown, or there is no input.
    """
    check_choice(measure, "measure", MEASURES)
    names = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)
    if len(inputs) == 0:
        raise ValueError("inputs: expected at least one, found none")
    kept = inputs[names] if measure == "group" else inputs.drop(columns=names)
    groups = [np.zeros(len(inputs)), *(column for _, column in kept.items())]  # a single group if no column is kept
    outputs = pd.Series(wrap_model(model).binary_of(inputs), inputs.index).groupby(groups, dropna=False, observed=True)
    if measure == "group":
        return float(np.ptp(outputs.mean()))
    return float((outputs.transform("any") != outputs.transform("all")).mean())


def count_suite(file: Path | str, schema: Schema, characteristics: str | Iterable[str], *, measure: str) -> SuiteCounts:
    """Count the lines or blocks of a stored suite that determine its score.

    A block has a line for each combination of the characteristics' values; blocks are counted from the top. As in the
    authors' scripts, it is not checked what the lines of a block have in common.

    Parameters
    ----------
    file : Path or str
        Numbers separated by commas or blanks, empty fields allowed; the output comes last, positive or not.
    schema : Schema
    characteristics : str or iterable of str
    measure : {"group", "causal"}

    Raises
    ------
    CaseError
        If a characteristic is unknown.
    ValueError
        If the measure is unknown, the file is empty, a line has another number of fields than the schema or is not
        numeric, or there is no whole block.
    """
    check_choice(measure, "measure", MEASURES)
    positions = schema.positions(characteristics)
    names = tuple(schema.names[position] for position in positions)
    numbers = _read(Path(file), n_fields=len(schema.names) + 1)
    positive = numbers[:, -1] > 0
    if measure == "group":
        groups = pd.Series(positive).groupby([numbers[:, position] for position in positions])
        return SuiteCounts(measure, names, len(numbers), tuple(groups.size()), tuple(groups.sum()))
    n_blocks, dropped = divmod(len(numbers), schema.n_assignments(positions))
    if n_blocks == 0:
        raise ValueError(
            f"{file}: {len(numbers)} lines, a block of {', '.join(names)} has {schema.n_assignments(positions)}"
        )
    blocks = positive[: len(numbers) - dropped].reshape(n_blocks, -1)
    changed = blocks.any(axis=1) & ~blocks.all(axis=1)
    stretches = int((np.diff(changed.astype(int), prepend=0) == 1).sum())
    return SuiteCounts(measure, names, len(numbers), (n_blocks,), (int(changed.sum()),), dropped, stretches)


def as_table(suites: dict[str, SuiteCounts], hashes: dict[str, str]) -> pd.DataFrame:
    """Return counts in the form of the table, one row for each value (group) or suite (causal).

    Parameters
    ----------
    suites : dict of str to SuiteCounts
        By path.
    hashes : dict of str to str
        SHA-256 of the files that were counted, by path.
    """
    rows = [
        (path, hashes[path], counts.lines, counts.measure, " ".join(counts.characteristics), *pair, *rest)
        for path, counts in suites.items()
        for rest in [(counts.dropped, counts.stretches)]
        for pair in zip(counts.n, counts.hits, strict=True)
    ]
    names = ("path", "sha256", "lines", "measure", "characteristics", "n", "hits", "dropped", "stretches")
    return pd.DataFrame(rows, columns=names).astype({"stretches": "Int64"})


@cache
def _table() -> dict[str, SuiteCounts]:
    """Return the counts of the table by path."""
    found = {}
    for path, rows in pd.read_csv(TABLE).groupby("path", sort=False):
        first = rows.iloc[0]
        stretches = None if pd.isna(first["stretches"]) else int(first["stretches"])
        counted = tuple(map(int, rows["n"])), tuple(map(int, rows["hits"]))
        names = tuple(first["characteristics"].split())
        dropped = int(first["dropped"])
        found[path] = SuiteCounts(first["measure"], names, int(first["lines"]), *counted, dropped, stretches)
    return found


def stored_suites() -> list[StoredSuite]:
    """Return the suites of all published scores, in the order of figures 1 and 2."""
    suites = [
        _figure_1(instance, tested, measure)
        for instance in INSTANCES
        for tested in instance.tested
        for measure in MEASURES
    ]
    return suites + [_figure_2(id, name) for id, name in _FIGURE_2.items()]


def scores_of_suites(artefact: str) -> pd.DataFrame:
    """Return the scores of the stored suites of a figure, one row for each published cell.

    Returns
    -------
    DataFrame
        By id: ``measure``; ``score`` in percent; ``samples``; for causal scores, how many base inputs have ``changed``
        output, how many ``stretches`` they form, and the mean number of stretches ``in random order``; ``path``.
        Numbers are missing if the suite is not in the table of counts and was not fetched.
    """
    rows = []
    for suite in stored_suites():
        if suite.artefact != artefact:
            continue
        row = {"cell": suite.id, "measure": suite.measure, "path": suite.path}
        if counts := suite.counts():
            row |= {"score": 100 * score_suite(counts), "samples": sum(counts.n)}
            if suite.measure == "causal":
                [n], [hits] = counts.n, counts.hits
                row |= {"changed": hits, "stretches": counts.stretches, "in random order": hits * (n - hits + 1) / n}
        rows.append(row)
    columns = ["cell", "measure", "score", "samples", "changed", "stretches", "in random order", "path"]
    table = pd.DataFrame(rows, columns=columns).set_index("cell")
    return table.astype({"samples": "Int64", "changed": "Int64", "stretches": "Int64"})


_COLUMNS = {"race": "8", "gender": "9", "unaware": ""}  # their numbers in the scripts, from 1
_FIGURE_2 = {
    "a.census.race.gender_race": "Acausal88",
    "b.census.gender.gender_marital_race": "Bcausalmrg.txt",
    "b.census.gender.gender_race": "Bcausalrg.txt",
    "b.census.gender.gender": "B99causal",
    "b.census.gender.marital": "Bcausalmarital.txt",
    "b.census.gender.race": "B98causal",
    "b.census.race.gender": "B89causal",
    "c.credit.gender.age": "Ccreditcausal99.txt",
    "c.census.race.age": "Ccausalage.txt",
    "c.census.race.gender": "C89causal",
    "c.census.race.gender_race": "Ccausalrg.txt",
    "c.census.gender.marital": "Ccausalmarital",
    "d.census.gender.marital": "Dcausalmarital.txt",
    "d.census.gender.country": "Dcausalrc.txt",
    "d.census.race.marital": "Dcausalrmarital.txt",
    "d.census.race.marital_race": "Dcausalmr.txt",
    "e.census.unaware.marital": "Ecausalmarital",
    "f.census.unaware.country_race": "Fcausalcr.txt",
    "f.census.unaware.race_relation": "Fcausalrr.txt",
    "g.census.unaware.relation": "Gcausalrelation.txt",
}


def _figure_1(instance: Instance, tested: str, measure: str) -> StoredSuite:
    causal = "causal" if measure == "causal" else ""
    if instance.data == "credit":
        name = f"{causal}credit"
    else:
        name = f"{_COLUMNS[instance.trained_for]}{_COLUMNS[tested]}{causal}"
    path = f"themis_suites/figure1/{instance.system.upper()}{name}"
    characteristics = (SENSITIVE[tested],)
    return StoredSuite("figure-1", f"{instance.id}.{tested}.{measure}", path, instance.data, characteristics, measure)


def _figure_2(id: str, name: str) -> StoredSuite:
    _, data, _, words = id.split(".")
    characteristics = tuple(SENSITIVE[word] for word in words.split("_"))
    return StoredSuite("figure-2", id, f"themis_suites/figure2/{name}", data, characteristics, "causal")


def _read(file: Path, n_fields: int) -> np.ndarray:
    # Some suites have a blank or an empty field before the output.
    rows = [line.replace(",", " ").split() for line in file.read_text(encoding="utf-8").splitlines()]
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise ValueError(f"{file}: no line")
    for number, row in enumerate(rows, start=1):
        if len(row) != n_fields:
            raise ValueError(f"{file}: line {number} has {len(row)} fields, expected {n_fields}")
    try:
        return np.array(rows, dtype=float)
    except ValueError as error:
        raise ValueError(f"{file}: expected numbers ({error})") from error
