"""Published numbers and claims, and in one line each why ours differ: ``experiments/<paper>/published.yaml``.

Numbers keep their text, because the digits show the published precision.
"""

import fnmatch
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, Strict, model_validator

from fairlab.data.documents import DecimalLoader, Entry, EntryError, Several, read_document
from fairlab.data.project import project


def _by_id(items) -> dict:
    """Return the entries of a list by their ids, of which none occurs twice."""
    found = {}
    for number, item in enumerate(items):
        if item.id in found:
            raise EntryError(f"the id {item.id!r} occurs twice", number)
        found[item.id] = item
    return found


T = TypeVar("T")
ById = Annotated[tuple[T, ...], Strict(False), AfterValidator(_by_id)]
"""A YAML list of entries that becomes a dictionary by their ids."""

NOTEBOOK = r"[\w-]+/[\w-]+"  # somewhere in the text
Kind = Literal["count", "statistic", "coefficient", "proportion", "percent", "interval", "p-value", "seconds", "std"]


class Value(Entry):
    """One published number.

    Attributes
    ----------
    id : str
        Its name within its artefact, such as ``lipton.hair_length.ks``.
    kind : str
        Determines the rule by which our result is judged.
    value : float, int or None
        The number; None for an interval. It and the next three are for computing; `printed_value` and so on are
        `Decimal`, with the published digits.
    low, high : float, int or None
        Ends of an interval.
    std : float, int or None
        Published standard deviation.
    n : int or None
        Published number of repetitions; needed of a number that is itself a standard deviation (kind ``std``, with
        the id of what it is of and ``.std``).
    exact : bool
        Whether the number is deterministic, so that an exact rerun gives the same published digits.
    less_than : bool
        Whether ``<value`` was published.
    setting : bool
        Whether it is a fixed parameter of the protocol, not a result; checked to be equal, counted separately.
    impossible : str
        Why the number is internally inconsistent (contradicts the paper's own method or its other numbers), and which
        notebook computes the bound that it violates; empty for all others.
    single_run : bool
        Whether it is the result of a single run of a random process.
    inferred : str or bool
        How the protocol was inferred, if from published values only; such rows are counted separately.
    verified : bool
        False if the published number itself is in doubt; `note` says why.
    source, resolution, note : str, float, str or None
        Source of the number if not the paper's text, resolution of a digitised figure, remark.
    """

    id: str
    kind: Kind
    printed_value: Decimal | int | None = Field(None, alias="value")
    printed_low: Decimal | int | None = Field(None, alias="low")
    printed_high: Decimal | int | None = Field(None, alias="high")
    printed_std: Decimal | int | None = Field(None, alias="std")
    n: int | None = None
    exact: bool = False
    less_than: bool = False
    setting: bool = False
    impossible: str = Field("", pattern=NOTEBOOK)
    single_run: bool = False
    inferred: str | bool = False
    verified: bool = True
    source: str | None = None
    resolution: Decimal | int | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _fits_together(self):
        ends = {"low": self.low, "high": self.high} if self.kind == "interval" else {"value": self.value}
        if None in ends.values():
            raise EntryError(f"{self.id}: expected {' and '.join(ends)}, found {', '.join(map(str, ends.values()))}")
        if self.kind == "interval" and self.low > self.high:
            raise EntryError(f"{self.id}: low {self.low} above high {self.high}")
        if self.kind == "std" and not (self.id.endswith(".std") and (self.n or 0) > 1):
            raise EntryError(f"{self.id}: expected an id that ends in .std, and n of 2 or more, found n {self.n}", "n")
        if self.setting and (self.impossible or self.single_run or self.inferred):
            raise EntryError(
                f"{self.id}: a fixed parameter cannot be impossible, single_run or inferred, too", "setting"
            )
        if self.single_run and (self.std is not None or self.kind == "interval"):
            raise EntryError(f"{self.id}: expected one number without std of a single run", "single_run")
        return self

    value, low, high, std = (
        property(lambda self, name=f"printed_{name}": _plain(getattr(self, name)))
        for name in ("value", "low", "high", "std")
    )

    @property
    def printed(self) -> str:
        """The number as published."""
        if self.kind == "interval":
            return f"[{self.printed_low}, {self.printed_high}]"
        spread = "" if self.printed_std is None else f" ± {self.printed_std}"
        return f"{'<' * self.less_than}{self.printed_value}{spread}".lower()

    @property
    def number(self) -> float | tuple[float, float]:
        """The number, or the ends of an interval."""
        return (float(self.low), float(self.high)) if self.kind == "interval" else float(self.value)

    @property
    def centre(self) -> float:
        """The number, or the middle of an interval."""
        return (self.low + self.high) / 2 if self.kind == "interval" else self.number


class Claim(Entry):
    """One statement of a paper that a program can check.

    Attributes
    ----------
    id, text : str
    rows : tuple of str
        Patterns of the numbers of its table or figure from whose recorded values it is judged; only these may have the
        verdict *same conclusion*.
    inferred, impossible : str
        As for a value; a claim is impossible that the paper's own numbers contradict.
    """

    id: str
    text: str
    rows: Several[str] = ()
    inferred: str = ""
    impossible: str = Field("", pattern=NOTEBOOK)


class Difference(Entry):
    """Why some numbers of a table or figure differ, or claims fail.

    Attributes
    ----------
    rows : tuple of str
        Their ids, possibly with wildcards (``aequitas.*``).
    why : str
        One or two sentences for a line of ``REPRODUCTION.md``; the notebook explains at length.
    """

    rows: Several[str] = Field(min_length=1)
    why: str


class Artefact(Entry):
    """A table, figure or stated result of a paper, with all its numbers and claims.

    Attributes
    ----------
    id, title : str
    data : tuple of str
        Data variants that it rests on.
    protocol : str
        How the numbers were obtained.
    inferred : str
        As for a value, for all numbers and claims.
    differs : tuple of Difference
        Why some differ.
    follows : tuple of str
        Patterns of the numbers that follow from others of the paper: percentages, totals and means of a table, further
        points of a curve or components of a vector, numbers that are printed twice. A summary by origin leaves them
        out.
    values : dict of str to Value
        The numbers by id.
    claims : dict of str to Claim
    no_rows : str
        Why there is neither a number nor a claim.
    """

    id: str
    title: str
    data: Several[str]
    protocol: str
    inferred: str = ""
    differs: Several[Difference] = ()
    follows: Several[str] = ()
    values: ById[Value] = Field(default_factory=dict)
    claims: ById[Claim] = Field(default_factory=dict)
    no_rows: str = ""

    @model_validator(mode="after")
    def _names_its_own_rows(self):
        claims = self.claims.values()
        for key, entries, ids in ("differs", self.differs, self.values | self.claims), ("claims", claims, self.values):
            for number, entry in enumerate(entries):
                if strange := [pattern for pattern in entry.rows if not fnmatch.filter(ids, pattern)]:
                    raise EntryError(f"{self.id} has no {strange[0]}", key, number, "rows")
        if self.no_rows and (self.values or self.claims):
            raise EntryError(f"{self.id}: expected no values and claims beside a reason why there are none", "no_rows")
        if strange := [pattern for pattern in self.follows if not fnmatch.filter(self.values, pattern)]:
            raise EntryError(f"{self.id} has no {strange[0]}", "follows")
        return self

    def is_derived(self, id: str) -> bool:
        """Return whether a number follows from others of the paper."""
        return any(fnmatch.fnmatchcase(id, pattern) for pattern in self.follows)

    @property
    def judged(self) -> set[str]:
        """Ids of the numbers from our values of which a claim is judged."""
        patterns = [pattern for claim in self.claims.values() for pattern in claim.rows]
        return {id for pattern in patterns for id in fnmatch.filter(self.values, pattern)}

    def reasons(self, ids: Sequence[str]) -> list[str]:
        """Return why rows with these ids differ, one sentence for each entry that explains any of them."""
        return [each.why for each in self.differs if any(fnmatch.filter(ids, pattern) for pattern in each.rows)]


class About(Entry):
    """Bibliographic data of a paper."""

    key: str
    title: str
    authors: str
    venue: str
    doi: str


class Paper(Entry):
    """One paper and everything to be reproduced from it."""

    about: About = Field(alias="paper")
    artefacts: ById[Artefact]

    def artefact(self, id: str) -> Artefact:
        """Return one artefact; a KeyError lists the known ids."""
        if id not in self.artefacts:
            raise KeyError(f"{self.about.key} has no table or figure {id!r}; it has {', '.join(self.artefacts)}")
        return self.artefacts[id]


def load_paper(key: str) -> Paper:
    """Return the published numbers of the paper `key`, as in ``experiments/<key>/published.yaml``.

    Raises
    ------
    KeyError
        If there is no such paper.
    ValueError
        If the file has an unknown key, an id twice, or a number that its kind forbids; the message says in which line.
    """
    path = project().experiments / key / "published.yaml"
    if not path.exists():
        raise KeyError(f"unknown paper {key!r}; there are {', '.join(paper_keys())}")
    return read_paper(path, path.stat().st_mtime_ns)


@cache
def read_paper(path: Path, changed_ns: int | None = None) -> Paper:
    """Read and check a file of published numbers, once for each time at which it was changed; see `load_paper`."""
    return read_document(path, Paper, loader=DecimalLoader)


def paper_keys() -> list[str]:
    """Return the keys of all papers with published numbers, sorted.

    Raises
    ------
    FileNotFoundError
        Where the library is installed without its project.
    """
    project().check()
    return sorted(path.parent.name for path in project().experiments.glob("*/published.yaml"))


def half_step(number: Decimal | int) -> float:
    """Return half a unit of the last published digit of a number."""
    return 0.5 * 10.0 ** Decimal(number).as_tuple().exponent


def _plain(number):
    return float(number) if isinstance(number, Decimal) else number
