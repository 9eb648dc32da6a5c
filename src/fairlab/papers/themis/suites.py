"""The stored test suites behind figures 1 and 2, scored as the paper's scripts score them.

A suite is a text file with one input per line: the codes of its characteristics, then the output. Suites are not
uniform samples of the input space, so their scores say what was printed and not how much a system discriminates.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, SENSITIVE, Instance
from fairlab.themis.score import MEASURES, expect_measure

FLOOR = 0.01  # percent; the scripts print no less


class SuiteError(ValueError):
    """A file that is no test suite of the schema."""


@dataclass(frozen=True)
class SuiteScore:
    """The score of a stored suite.

    Attributes
    ----------
    measure : {"group", "causal"}
    characteristics : tuple of str
    score : float
        Between 0 and 1.
    samples : int
        Group: lines. Causal: base inputs, each a block of lines with all values of the characteristics.
    dropped : int
        Lines after the last whole block.
    stretches : int or None
        Causal: how many uninterrupted stretches the base inputs whose output changes form. In a random sample there
        are nearly as many as such inputs.
    """

    measure: str
    characteristics: tuple[str, ...]
    score: float
    samples: int
    dropped: int = 0
    stretches: int | None = None

    @property
    def percent(self) -> float:
        """The score as the scripts print it, in percent and not below `FLOOR`."""
        return max(100 * self.score, FLOOR)

    def to_frame(self) -> pd.DataFrame:
        """Return one row."""
        return pd.DataFrame([vars(self) | {"percent": self.percent}])


@dataclass(frozen=True)
class StoredSuite:
    """Where the suite of a printed score is and what it tests.

    Attributes
    ----------
    artefact, id : str
        Of the printed score.
    path : str
        In the registry of data.
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

    def score(self, file: Path | str) -> SuiteScore:
        """Score a copy of the suite."""
        return score_suite(file, INPUT_SPACES[self.data], self.characteristics, measure=self.measure)


def score_suite(file: Path | str, schema: Schema, characteristics: str | Iterable[str], *, measure: str) -> SuiteScore:
    """Score a stored suite as the paper's figures do.

    Group: the largest difference of the shares of positive outputs between values of the characteristics. Causal: the
    share of blocks with both outputs, a block being as many lines as the characteristics have combinations of values,
    counted from the top. What a block's lines have in common is not checked, since the scripts do not either.

    Parameters
    ----------
    file : Path or str
        Numbers parted by commas or blanks, empty fields allowed; the output comes last, positive or not.
    schema : Schema
    characteristics : str or iterable of str
    measure : {"group", "causal"}

    Raises
    ------
    SuiteError
        If the file is empty, a line has another number of fields than the schema or is not numeric, or there is no
        whole block.
    SchemaError
        If a characteristic is unknown.
    ValueError
        If the measure is none.
    """
    expect_measure(measure)
    positions = schema.positions(characteristics)
    names = tuple(schema.names[position] for position in positions)
    numbers = _read(Path(file), n_fields=len(schema.names) + 1)
    positive = numbers[:, -1] > 0
    if measure == "group":
        shares = pd.Series(positive).groupby([numbers[:, position] for position in positions]).mean()
        return SuiteScore(measure, names, float(shares.max() - shares.min()), len(numbers))
    n_blocks, dropped = divmod(len(numbers), schema.n_assignments(positions))
    if n_blocks == 0:
        raise SuiteError(
            f"{file}: {len(numbers)} lines, a block of {', '.join(names)} has {schema.n_assignments(positions)}"
        )
    blocks = positive[: len(numbers) - dropped].reshape(n_blocks, -1)
    changed = blocks.any(axis=1) & ~blocks.all(axis=1)
    stretches = int((np.diff(changed.astype(int), prepend=0) == 1).sum())
    return SuiteScore(measure, names, float(changed.mean()), n_blocks, dropped, stretches)


def stored_suites() -> list[StoredSuite]:
    """Return all suites whose printed score is known, in the order of figures 1 and 2."""
    suites = [
        _figure_1(instance, tested, measure)
        for instance in INSTANCES
        for tested in instance.tested
        for measure in MEASURES
    ]
    suites += [_figure_2(id, name) for id, name in _FIGURE_2.items()]
    return [suite for suite in suites if suite.path not in _LOST]


# Not in the public copy.
_LOST = {f"themis_suites/figure1/{name}" for name in ("B98causal", "B99causal", "D98causal", "D99causal", "F9causal")}
_COLUMNS = {"race": "8", "gender": "9", "unaware": ""}  # as the scripts number them, from 1
_FIGURE_2 = {
    "a.census.race.gender_race": "Acausal88",
    "b.census.gender.gender_marital_race": "Bcausalmrg.txt",
    "b.census.gender.gender_race": "Bcausalrg.txt",
    "b.census.gender.marital": "Bcausalmarital.txt",
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
        raise SuiteError(f"{file}: no line")
    for number, row in enumerate(rows, start=1):
        if len(row) != n_fields:
            raise SuiteError(f"{file}: line {number} has {len(row)} fields, expected {n_fields}")
    try:
        return np.array(rows, dtype=float)
    except ValueError as error:
        raise SuiteError(f"{file}: expected numbers ({error})") from error
