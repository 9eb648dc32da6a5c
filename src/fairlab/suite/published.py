"""Published numbers and claims, and the rules that say how ours stand to them.

The rules are those of the project's design and are never tuned to results. Every number here is read from
``experiments/<paper>/published.yaml``; the text of a number is kept, since its digits say how precisely it was printed.
"""

import math
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from scipy.special import stdtrit

from fairlab.paths import EXPERIMENTS

KINDS = ("count", "statistic", "coefficient", "proportion", "percent", "interval", "p-value", "seconds")
VERDICTS = ("exact", "agrees", "same conclusion", "differs", "not comparable", "surrogate", "not run")

RELATIVE_TOLERANCE = 0.25
POINTS_TOLERANCE = {"proportion": 0.005, "percent": 0.5}  # half a percentage point
STANDARD_ERRORS = 3
SIGNIFICANCE = 0.05


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
            return f"[{_text(self.low)}, {_text(self.high)}]"
        spread = "" if self.std is None else f" ± {_text(self.std)}"
        return f"{'<' * self.less_than}{_text(self.value)}{spread}"

    @property
    def step(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0 ** Decimal(_text(self.value)).as_tuple().exponent


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


def _text(number) -> str:
    return getattr(number, "text", None) or str(number)


@dataclass(frozen=True)
class Ours:
    """Our side of one published number: one value (or interval) per trial.

    Attributes
    ----------
    values : ndarray of shape (n_trials,) or, for intervals, (n_trials, 2)
    """

    values: np.ndarray

    @property
    def n(self) -> int:
        """Number of trials."""
        return len(self.values)

    @property
    def mean(self) -> float | np.ndarray:
        """Mean over trials."""
        return self.values.mean(axis=0)

    @property
    def std(self) -> float | None:
        """Standard deviation over trials (n - 1), None for a single one."""
        return float(self.values.std(axis=0, ddof=1)) if self.n > 1 and self.values.ndim == 1 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% t-interval of the mean over trials, None for a single one."""
        if self.std is None:
            return None
        half = stdtrit(self.n - 1, 0.975) * self.std / math.sqrt(self.n)
        return float(self.mean - half), float(self.mean + half)


def judge(published: Value, ours: Ours, *, claims_hold: bool | None = None) -> tuple[str, str]:
    """Return the verdict on our number and the reason for it in a few words.

    Parameters
    ----------
    published : Value
    ours : Ours
        As recorded, from real or generated data and at a comparable size; the caller settles that.
    claims_hold : bool or None
        Whether every claim of the artefact holds; None if it has none or some were not checked.

    Returns
    -------
    verdict : {"exact", "agrees", "same conclusion", "differs", "not comparable"}
    reason : str
    """
    if published.kind == "seconds":
        return "not comparable", "seconds depend on the machine"
    if published.exact and _equals_as_printed(published, ours):
        return "exact", "equal at the printed precision"
    agrees, reason = _agrees(published, ours)
    if agrees:
        return "agrees", reason
    if claims_hold:
        return "same conclusion", f"not {reason}, but every claim of {published.artefact} holds"
    return "differs", f"not {reason}"


def _equals_as_printed(published, ours):
    if published.kind == "interval":
        ends = zip((published.low, published.high), ours.mean, strict=True)
        return all(
            _equals_as_printed(Value("", "", "statistic", value=end), Ours(np.array([own]))) for end, own in ends
        )
    return abs(ours.mean - published.value) <= published.step * (1 + 1e-9)


def _agrees(published, ours):
    if published.kind == "interval":
        low, high = ours.mean
        shorter = min(high - low, published.high - published.low)
        overlap = min(high, published.high) - max(low, published.low)
        return overlap >= shorter / 2, "overlapping by half of the shorter interval"
    if published.less_than:
        return ours.mean < published.value, f"below {_text(published.value)}"
    if published.kind == "p-value":
        side = "below" if published.value < SIGNIFICANCE else "above"
        return (ours.mean < SIGNIFICANCE) == (side == "below"), f"{side} {SIGNIFICANCE}"
    difference = abs(ours.mean - published.value)
    if published.std is not None:
        own_variance = 0.0 if ours.std is None else ours.std**2 / ours.n
        error = math.sqrt(published.std**2 / (published.n or 1) + own_variance)
        within = max(STANDARD_ERRORS * error, published.std)
        return difference <= within * (1 + 1e-9), f"within {within:.3g} (three standard errors or one published std)"
    within = max(RELATIVE_TOLERANCE * abs(published.value), POINTS_TOLERANCE.get(published.kind, 0.0))
    points = " or half a percentage point" if published.kind in POINTS_TOLERANCE else ""
    return difference <= within * (1 + 1e-9), f"within {RELATIVE_TOLERANCE:.0%}{points}"
