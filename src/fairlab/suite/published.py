"""Published numbers and claims, as ``experiments/<paper>/published.yaml`` has them.

The text of a number is kept, since its digits say how precisely it was printed.
"""

import math
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache
from pathlib import Path

import yaml

from fairlab.paths import EXPERIMENTS

KINDS = ("count", "statistic", "coefficient", "proportion", "percent", "interval", "p-value", "seconds")


class _Printed(float):
    """A float that remembers how it was written."""

    text: str


class _Loader(yaml.SafeLoader):
    pass


def _printed_float(loader, node):
    number = _Printed(loader.construct_yaml_float(node))
    number.text = loader.construct_scalar(node)
    return number


_Loader.add_constructor("tag:yaml.org,2002:float", _printed_float)


@dataclass(frozen=True)
class Value:
    """One published number.

    Attributes
    ----------
    artefact, id : str
        Where it is printed: ``table-1`` and, within it, ``lipton.hair_length.ks``.
    kind : str
        One of `KINDS`; fixes the rule by which ours is judged.
    value : float or None
        The number; None for an interval.
    low, high : float or None
        Ends of an interval.
    std, n : float, int or None
        Published standard deviation and number of repetitions.
    exact : bool
        Whether a faithful rerun must give the same printed digits.
    less_than : bool
        Whether ``<value`` was printed.
    verified : bool
        False where the printed number is itself in doubt; `note` says why.
    source, resolution, note : str, float, str or None
        Where the number comes from if not the paper's text, step of a digitised drawing, remark.
    """

    artefact: str
    id: str
    kind: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    std: float | None = None
    n: int | None = None
    exact: bool = False
    less_than: bool = False
    verified: bool = True
    source: str | None = None
    resolution: float | None = None
    note: str | None = None

    def __post_init__(self):
        where = f"{self.artefact}:{self.id}"
        if self.kind not in KINDS:
            raise ValueError(f"{where}: kind {self.kind!r}, expected one of {', '.join(KINDS)}")
        given = (self.low, self.high) if self.kind == "interval" else (self.value,)
        if any(number is None or not math.isfinite(number) for number in given):
            raise ValueError(
                f"{where}: expected finite {'low and high' if len(given) == 2 else 'value'}, found {given}"
            )
        if self.kind == "interval" and self.low > self.high:
            raise ValueError(f"{where}: low {self.low} above high {self.high}")

    @property
    def printed(self) -> str:
        """The number as the paper shows it."""
        if self.kind == "interval":
            return f"[{number_text(self.low)}, {number_text(self.high)}]"
        spread = "" if self.std is None else f" ± {number_text(self.std)}"
        return f"{'<' * self.less_than}{number_text(self.value)}{spread}"

    @property
    def step(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0 ** Decimal(number_text(self.value)).as_tuple().exponent


@dataclass(frozen=True)
class Claim:
    """One statement of a paper that a program can check."""

    artefact: str
    id: str
    text: str


@dataclass(frozen=True)
class Artefact:
    """A table, figure or stated result of a paper, with all its numbers and claims."""

    paper: str
    id: str
    title: str
    data: tuple[str, ...]
    protocol: str
    values: dict[str, Value]
    claims: dict[str, Claim]


@dataclass(frozen=True)
class Paper:
    """One paper and everything of it that is to be reproduced."""

    key: str
    title: str
    authors: str
    venue: str
    doi: str
    artefacts: dict[str, Artefact]

    def artefact(self, id: str) -> Artefact:
        """Return one artefact; a KeyError lists what exists."""
        if id not in self.artefacts:
            raise KeyError(f"{self.key} has no artefact {id!r}; it has {', '.join(self.artefacts)}")
        return self.artefacts[id]


@cache
def load_paper(key: str) -> Paper:
    """Return the published numbers of the paper `key`, as in ``experiments/<key>/published.yaml``.

    Raises
    ------
    KeyError
        If there is no such paper.
    ValueError
        If the file has an unknown key, an id twice, or a number that its kind forbids.
    """
    path = EXPERIMENTS / key / "published.yaml"
    if not path.exists():
        raise KeyError(f"unknown paper {key!r}; there are {', '.join(paper_keys())}")
    return read_paper(path)


def paper_keys() -> list[str]:
    """Return the keys of all papers with published numbers, sorted."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/published.yaml"))


def read_paper(path: Path) -> Paper:
    """Read and check one file of published numbers; see `load_paper`."""
    content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    about = content["paper"]
    artefacts = [_artefact(about["key"], entry, path) for entry in content["artefacts"]]
    return Paper(**about, artefacts=_by_id(artefacts, path))


def _artefact(paper, entry, path):
    where = f"{path}: {entry['id']}"
    _only(entry, {"id", "title", "data", "protocol", "values", "claims"}, where)
    known = {field.name for field in fields(Value)} - {"artefact"}
    for value in entry.get("values", ()):
        _only(value, known, f"{where}: {value.get('id')}")
    for claim in entry.get("claims", ()):
        _only(claim, {"id", "text"}, f"{where}: {claim.get('id')}")
    return Artefact(
        paper=paper,
        id=entry["id"],
        title=entry["title"],
        data=tuple(entry["data"]),
        protocol=entry["protocol"].strip(),
        values=_by_id([Value(artefact=entry["id"], **value) for value in entry.get("values", ())], where),
        claims=_by_id([Claim(artefact=entry["id"], **claim) for claim in entry.get("claims", ())], where),
    )


def _only(entry, known, where):
    if unknown := set(entry) - known:
        raise ValueError(f"{where}: unknown keys {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}")


def _by_id(items, where):
    table = {item.id: item for item in items}
    if len(table) < len(items):
        doubled = sorted({item.id for item in items if sum(other.id == item.id for other in items) > 1})
        raise ValueError(f"{where}: ids occur twice: {', '.join(doubled)}")
    return table


def number_text(number) -> str:
    """Return a number as it was printed, trailing zeros included."""
    return getattr(number, "text", None) or str(number)
