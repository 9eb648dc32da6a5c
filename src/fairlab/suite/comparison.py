"""Comparison of published and reproduced numbers: one row per published value or claim, each with its verdict."""

import json
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import PlainSerializer, Strict, TypeAdapter

from fairlab.checks import optional
from fairlab.data.dataset import SOURCES
from fairlab.data.documents import Entry
from fairlab.plotting import TINTS
from fairlab.suite.catalogue import EVIDENCE, PROFILES
from fairlab.suite.published import Artefact, Claim, Value
from fairlab.suite.run import Run
from fairlab.suite.tables import grouped, words
from fairlab.suite.verdicts import (
    AGREEING,
    CLAIM_VERDICTS,
    JUDGED,
    LOOKS,
    OPEN,
    UNSETTLED,
    judge,
    judge_claim,
    label_of,
    relative_difference,
    unsettled,
)

jinja2 = optional("jinja2")

INFERRED = "inferred"  # `reading` of a row whose protocol was inferred from the published values
BY_CHANCE = "unsettled"  # column of rows whose verdict changes if our trials are resampled
QUICK = "quick"  # the profile that most people run
MULTIPLES = 10  # relative differences from here on are shown as multiples
DIGITS = 6  # significant digits of written fractions

# Counts in the order in which they are shown: numbers, claims, and what is counted separately.
COLUMNS = [*LOOKS]
for apart in (INFERRED, BY_CHANCE):
    COLUMNS.insert(COLUMNS.index("not comparable"), apart)

# What a number rests on, and the words for it.
BASES = {
    "real": "run here on real data",
    "generated": "run here on generated people",
    "reconstructed": "run here on reconstructed people",
    "stored models": "rest on models that the authors stored",
    "stored outputs": "rest on outputs that the authors stored",
    "counted data": "only count rows or columns of a data set",
}

# Where a number comes from: our own runs on real data first.
ORIGINS = {
    "own runs on real data": ("real",),
    "models and outputs that the authors stored": ("stored models", "stored outputs"),
    "reconstructed or generated people": ("reconstructed", "generated"),
    "rows and columns of data sets, only counted": ("counted data",),
}

# What an interval of a mean is cut at.
SMALLEST_BASE, ROUNDING_ERROR = 1e-12, 1e-5  # of what a change is relative to; of a number in ``REPRODUCTION.json``
RANGES = {"count": (0, np.inf), "seconds": (0, np.inf), "proportion": (0, 1)}


# A number as it is written to the file.
Number = Annotated[float, PlainSerializer(lambda x: int(x) if x.is_integer() else float(f"{x:.{DIGITS}g}"))]
Numbers = Number | Annotated[tuple[Number, Number], Strict(False)]


# What a row has of our result, and of the one at another profile beside it.
OUTCOME = {"ours", "low", "high", "n_trials", "relative_difference", "unsettled", "verdict", "commit"}


class Row(Entry):
    """Comparison of our result with one published value or claim: one row of ``REPRODUCTION.json``.

    Attributes
    ----------
    paper, artefact, id : str
        Where it is published.
    kind : {"number", "claim"}
    published : float, pair of float or str
        The number, the ends of an interval, or what the claim says.
    ours : float, pair of float, str or None
        Mean over trials; for a claim ``holds`` or ``fails``. None if there is none.
    as_specified : float, pair of float or None
        The same by the protocol as specified, where a number has one of its own.
    low, high : float or None
        95% interval of our mean, or the ends of our interval.
    n_trials : int or None
    relative_difference : float or None
        Of ours to published, with its sign; see `fairlab.suite.verdicts.relative_difference`.
    unsettled : float or None
        Share of resamples of our trials with another verdict; see `fairlab.suite.verdicts.unsettled` and
        `judge_trials`. None where trials are not drawn.
    verdict : str
    reading : {"as_published", "inferred"} or None
        Protocol variant of a number; ``inferred``, for claims too, if it was inferred from the published values.
    data : {"real", "generated", "reconstructed", "surrogate"} or None
        The weakest provenance of the data behind our result; see `fairlab.data.dataset.SOURCES`.
    evidence : {"run", "stored models", "stored outputs", "counted data"} or None
        Whether a number or claim comes from a run of ours, scores what the authors stored, or only counts a data set.
    profile, seed, commit : str, int, str or None
        Of the run.
    at_quick : dict or None
        The fields `OUTCOME` of the result of a run of profile ``quick``, where the row is of a larger one.
    reason : str or None
    printed : str
        The published number with its digits, its standard deviation and ``<``.
    source : str or None
        Where the number is from, if not from the paper's text.
    derived : bool
        Whether the number follows from others of the paper, such as a percentage from counts.
    """

    paper: str
    artefact: str
    id: str
    kind: Literal["number", "claim"]
    published: Numbers | str
    printed: str = ""
    source: str | None = None
    derived: bool = False
    ours: Numbers | str | None = None
    as_specified: Numbers | None = None
    low: Number | None = None
    high: Number | None = None
    n_trials: int | None = None
    relative_difference: Number | None = None
    unsettled: Number | None = None
    verdict: Literal[tuple(LOOKS)] = "not run"
    reading: Literal["as_published", "inferred"] | None = None
    data: Literal[SOURCES] | None = None
    evidence: Literal[EVIDENCE] | None = None
    profile: str | None = None
    seed: int | None = None
    commit: str | None = None
    at_quick: dict[str, Any] | None = None
    reason: str | None = None

    @property
    def place(self) -> tuple[str, str, str]:
        """What names the row: paper, table or figure, and id."""
        return self.paper, self.artefact, self.id

    @property
    def address(self) -> str:
        """The same as text, the row's anchor on the site: ``adf:table-4:census.age.adf.id``."""
        return ":".join(self.place)

    @property
    def outcome(self) -> dict[str, Any]:
        """Our result alone, as it is written."""
        return self.model_dump(include=OUTCOME)

    def of_profile(self, profile: str | None) -> "Row":
        """Return the row as it is at ``quick``, where that is asked for and known."""
        if profile != QUICK or self.at_quick is None:
            return self
        return Row.model_validate(self.model_dump() | self.at_quick | {"profile": QUICK, "at_quick": None})

    @property
    def is_inferred(self) -> bool:
        """Whether the row was judged by a protocol that was inferred from the published values."""
        return self.reading == INFERRED and self.verdict in JUDGED + CLAIM_VERDICTS

    @property
    def is_unsettled(self) -> bool:
        """Whether another draw of our trials might well have another verdict."""
        return self.unsettled is not None and self.unsettled > UNSETTLED

    @property
    def apart(self) -> str | None:
        """Why the row is not counted plainly: it is unsettled, or else its protocol was inferred."""
        return BY_CHANCE if self.is_unsettled else INFERRED if self.is_inferred else None

    @property
    def column(self) -> str:
        """Column in which the row is counted: unsettled rows have their own, and inferred ones that do not differ."""
        return self.verdict if self.apart is None or (self.apart == INFERRED and self.verdict in OPEN) else self.apart

    @property
    def is_counted(self) -> bool:
        """Whether it is a judged number that follows from no other: `inferred` ones only where they differ."""
        is_supported = not self.is_inferred or self.verdict in OPEN
        return self.kind == "number" and not self.derived and self.verdict in JUDGED and is_supported

    @property
    def basis(self) -> str:
        """What a number rests on, a word of `BASES`: stored outputs and models before the kind of data."""
        return self.evidence if self.evidence in EVIDENCE[1:] else self.data

    @property
    def relative_width(self) -> float:
        """Width of our 95% interval of a number, relative to the published one; 0 where either is not known."""
        is_known = isinstance(self.published, float) and self.published and self.low is not None
        return (self.high - self.low) / abs(self.published) if is_known else 0.0

    @property
    def shown(self) -> str:
        """Our result as text, with its interval."""
        if self.ours is None or isinstance(self.ours, str):
            return self.ours or ""
        mean = [] if isinstance(self.ours, tuple) else [_digits(self.ours)]
        interval = [] if self.low is None else [f"[{_digits(self.low)}, {_digits(self.high)}]"]
        return " ".join(mean + interval)

    @property
    def result(self) -> str:
        """Our result and its verdict as text, once where they are the same, as of claims."""
        shown, verdict = self.shown or "no result", label_of(self.verdict)
        return verdict if shown == verdict else f"{shown} ({verdict})"

    @property
    def difference(self) -> str:
        """The relative difference as text: with its sign, large ones as multiples."""
        share = self.relative_difference
        if share is None or share >= MULTIPLES:
            return "" if share is None else f"{1 + share:,.0f} times"
        return "0%" if share == 0 else f"{100 * share:+.2g}%" if abs(share) < 0.1 else f"{share:+.0%}"

    def to_text(self, committed: "Row | None" = None) -> str:
        """Return the row in one line; if it was not run here, with the committed result."""
        claim, ours = self.kind == "claim", f", our result {self.shown}" if self.shown else ""
        sides = self.published if claim else f"{self.printed or self.published}{ours}"
        more = self.reason if claim or self.ours is None else self.difference
        if self.ours is None and committed and committed.ours is not None:
            more = f"{more}; committed: {committed.result}"
        return f"{self.paper} {self.artefact}:{self.id}  {label_of(self.verdict)}: {sides}" + (
            f" ({more})" if more else ""
        )


class Comparison:
    """Rows of a comparison, for one run or for the whole project.

    Parameters
    ----------
    rows : sequence of Row
    remarks : sequence of str
        Lines that a notebook shows first.
    """

    def __init__(self, rows: Iterable[Row], remarks: Iterable[str] = ()):
        self.rows, self.remarks = tuple(rows), tuple(remarks)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Comparison":
        """Return the rows of a text that `to_json` made, with its digits.

        Raises
        ------
        ValueError
            If it is not a list of rows.
        """
        return cls(TypeAdapter(list[Row]).validate_json(text))

    def to_json(self) -> str:
        """Return the rows as the text of ``REPRODUCTION.json``: a list, one row a line."""
        rows = ",\n".join(json.dumps(row.model_dump(), ensure_ascii=False, allow_nan=False) for row in self.rows)
        return f"[\n{rows}\n]\n" if rows else "[]\n"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per published value or claim, with the numbers as they are shown."""
        texts = [
            {"published": row.printed or str(row.published), "ours": row.shown, "difference": row.difference}
            for row in self.rows
        ]
        rows = [dict(row) | own for row, own in zip(self.rows, texts, strict=True)]
        return pd.DataFrame(rows, columns=[*Row.model_fields, "difference"])

    def of(self, paper: str) -> "Comparison":
        """Return the rows of one paper."""
        return Comparison(row for row in self.rows if row.paper == paper)

    def counts(self) -> Counter:
        """Count the rows by their `column`; every row counts once."""
        return Counter(row.column for row in self.rows)

    def median_difference(self, columns: Iterable[str] = JUDGED) -> float | None:
        """Return the median absolute relative difference of the numbers in some columns, None if there are none.

        Those that follow from others are left out, and those that only count a data set.
        """
        rows = (row for row in self.rows if row.is_counted and row.column in columns and row.basis != EVIDENCE[-1])
        judged = [row.relative_difference for row in rows]
        median = pd.Series(judged, dtype=float).abs().median()
        return None if np.isnan(median) else float(median)

    def __repr__(self) -> str:
        return "\n".join([*self.remarks, self.headline()])

    def _repr_html_(self) -> str:
        """Return the counts, then the rows that differ or fail, then all others folded."""
        return render(
            "comparison.html",
            card=self,
            off=[row for row in self.rows if row.verdict in OPEN],
            rest=[row for row in self.rows if row.verdict not in OPEN],
            looks=LOOKS,
            tints=TINTS,
            label_of=label_of,
            grouped=grouped,
            words=words,
        )

    def verdicts(self) -> str:
        """Return the counts of all verdicts in words; they add up to the number of rows."""
        counts = self.counts()
        inferred = Counter(row.column for row in self.rows if row.is_inferred and row.column in OPEN)
        off = sum(row.verdict in OPEN for row in self.rows if row.is_unsettled)
        further = {column: f" ({n} inferred)" for column, n in inferred.items()}
        further |= {BY_CHANCE: f" ({off} differ or fail in this run)"} if off else {}
        return ", ".join(
            f"{counts[column]} {_counted(column, counts[column])}{further.get(column, '')}"
            for column in COLUMNS
            if counts[column]
        )

    def headline(self) -> str:
        """Return the counts of all verdicts, which add up to the number of rows, and what the exact numbers rest on.

        README, site, notebooks and ``REPRODUCTION.md`` show this sentence.
        """
        if not self.rows:
            return "nothing published"
        bases, median = Counter(row.basis for row in self.rows if row.column == "exact"), self.median_difference()
        rest = [f"{bases[basis]} {words}" for basis, words in BASES.items() if bases[basis]]
        parts = [
            f"{len(self.rows):,} published numbers and claims: {self.verdicts()}",
            "" if median is None else f"median difference {median:.1%}",
            f"of the exact numbers {', '.join(rest)}" if rest else "",
        ]
        return "; ".join(filter(None, parts))


def short_line(comparison: Comparison) -> str:
    """Return a short summary of a run: ``59 of 62 numbers agree``.

    Numbers that agree are those with the verdict exact or agrees; all are those that were judged at all, so that
    fixed parameters, surrogates and internally inconsistent rows are left out, and inferred rows unless they differ.
    Without any such number, the claims are counted.
    """
    counts = comparison.counts()
    agreeing, judged = (sum(counts[verdict] for verdict in verdicts) for verdicts in (AGREEING, JUDGED))
    if judged:
        return f"{agreeing} of {judged} numbers agree"
    if claims := counts["holds"] + counts["fails"]:
        return f"{counts['holds']} of {claims} claims hold"
    return "surrogate data: nothing judged" if counts["surrogate"] else "nothing judged"


def off_most(rows: Iterable[Row]) -> Row | None:
    """Return the number with the largest relative difference among rows that differ."""
    off = [row for row in rows if row.verdict == "differs" and row.kind == "number"]
    return max(off, key=lambda row: abs(row.relative_difference or 0), default=None)


def beside(
    rows: Iterable[Row],
    others: Iterable[Row],
    most: int | None = None,
    *,
    before: str = "committed",
    of: str = "the committed scorecard",
) -> list[str]:
    """Return a line for every row that is other than among `others`, and one that counts them.

    Numbers and claims come first, those with another verdict before the largest changes, then rows that have a result
    on one side only; at most so many rows. Rows with the same result that are not comparable for a size that is other
    than the paper's are counted alone. `before` and `of` say whose rows the others are.
    """
    rows, known = list(rows), {row.place: row for row in others}
    pairs = [(row, known[row.place]) for row in rows if row.place in known]
    moved = [(row, old) for row, old in pairs if any(_moved(row, old))]
    moved.sort(key=lambda pair: (all(row.ours is not None for row in pair), *_moved(*pair)), reverse=True)
    lines = [
        f"{row.artefact}:{row.id}  {'claim' if row.kind == 'claim' else f'published {row.printed}'}, "
        f"{before} {old.result}, here {row.result}" + (f": {row.reason}" if row.ours is None and row.reason else "")
        for row, old in moved[:most]
    ]
    profiles = Counter((old.profile, row.profile) for row, old in pairs if {old.profile, row.profile} <= {*PROFILES})
    sizes = [
        f"{', which is' if n == len(pairs) else f'; {n} there are'} of another size (profile {old}; here {own})"
        for (old, own), n in sorted(profiles.items())
        if old != own
    ]
    kept = sum(row.verdict != old.verdict for row, old in pairs if not any(_moved(row, old)))
    same = f"; same result, but not comparable because of the size of the run: {kept}" if kept else ""
    new = f"; not in it: {len(rows) - len(pairs)}" if len(rows) > len(pairs) else ""
    return [*lines, f"{len(moved)} of {len(pairs)} rows are other than in {of}{''.join(sizes)}{same}{new}"]


def _moved(row, old) -> tuple[bool, float]:
    """Return whether the verdict is another, and by how much the number changed, relative to the old one.

    That a row is not comparable, for the size of its run, is no other verdict on its number.
    """
    change = 0.0 if row.ours == old.ours else np.inf
    if change and {type(row.ours), type(old.ours)} in ({float}, {tuple}):
        ours, before = np.asarray(row.ours), np.asarray(old.ours)
        change = float((np.abs(ours - before) / np.maximum(np.abs(before), SMALLEST_BASE)).max())
    is_other = row.verdict not in (old.verdict, "not comparable")
    return is_other, change if change > ROUNDING_ERROR else 0.0  # the committed ones are rounded


def compare(run: Run) -> Comparison:
    """Compare a run with all published values and claims of its tables and figures."""
    artefacts = map(run.specification.published.artefact, run.specification.artefacts)
    return Comparison(row for artefact in artefacts for row in _rows_of(artefact, run))


def published_row(paper: str, artefact: Artefact, item: Value | Claim, **found) -> Row:
    """Return the row of a published number or claim: not run, unless `found` has more of its fields."""
    if isinstance(item, Claim):
        published = {"kind": "claim", "published": item.text}
    else:
        published = {
            "kind": "number",
            "published": item.number,
            "printed": item.printed,
            "source": item.source,
            "derived": artefact.is_derived(item.id),
        }
    return Row(paper=paper, artefact=artefact.id, id=item.id, **published, **found)


def _rows_of(artefact, run) -> Iterable[Row]:
    """Yield the rows of one table or figure of a run: its numbers, then its claims."""
    claims = [_row_of(artefact, claim, run) for claim in artefact.claims.values()]
    # A claim from surrogate data or a smaller run supports no number.
    all_hold = all(row.verdict == "holds" and not row.is_unsettled for row in claims)
    for value in artefact.values.values():
        yield _row_of(artefact, value, run, claims_hold=all_hold and value.id in artefact.judged)
    yield from claims


def _row_of(artefact, item, run, *, claims_hold=False) -> Row:
    """Return the row of a published number or claim in a run; `claims_hold` is that of `judge`."""
    is_claim = isinstance(item, Claim)
    entry = run.find("claims" if is_claim else "records", artefact.id, item.id)
    missing = " ".join(run.missing(entry and entry["data"]))
    surrogate = missing and f"surrogate data: fairlab data fetch {missing} gets the real data or explains how"
    if entry is None:
        left_out = run.find("skipped", artefact.id, item.id) or {"reason": f"{run.name} does not record it"}
        found, reasons = {}, [left_out["reason"], surrogate]
    else:
        size = run.specification.other_size(run.parameters, artefact.id, item.id)
        judge_entry = _judged_claim if is_claim else partial(_judged_number, run=run, claims_hold=claims_hold)
        found, reasons = judge_entry(artefact, item, entry, surrogate=surrogate, size=size)
        found |= {
            "profile": run.profile,
            "seed": run.seed,
            "commit": run.about.get("commit"),
            "data": run.source(entry["data"]),
            "evidence": run.specification.evidence(artefact.id, item.id),
        }
    return published_row(
        run.specification.paper, artefact, item, reason="; ".join(filter(None, reasons)) or None, **found
    )


def _judged_number(artefact, value, record, *, run, claims_hold, **limits) -> tuple[dict, list]:
    """Return the fields of the row of a number that a run has recorded, and the parts of its reason."""
    ours, specified = run.ours(artefact.id, value.id), run.ours(artefact.id, value.id, "as_specified")
    inferred = value.inferred or artefact.inferred or not value.verified
    claims_hold = claims_hold and not inferred
    verdict, reason = judge(value, ours, claims_hold=claims_hold, **limits)
    is_chance = ours.n > 1 and not value.exact and run.specification.is_drawn(artefact.id, value.id)
    share = unsettled(value, ours, claims_hold=claims_hold) if is_chance and verdict in JUDGED else None
    as_specified = specified and published_row(run.specification.paper, artefact, value, **_numbers(specified))
    reasons = [
        reason,
        record["note"],
        as_specified and f"as specified: {as_specified.shown}",
        _chance(share),
        value.exact and verdict in JUDGED[1:] and "deterministic: an exact rerun gives the published digits",
        isinstance(inferred, str) and f"the protocol was inferred: {inferred}",
        not value.verified and f"the published number is in doubt: {value.note}",
    ]
    return {
        "as_specified": as_specified and as_specified.ours,
        "relative_difference": relative_difference(value, ours),
        "verdict": verdict,
        "reading": INFERRED if inferred else "as_published",
        "unsettled": share,
        **_numbers(ours),
    }, reasons


def _judged_claim(artefact, claim, entry, **limits) -> tuple[dict, list]:
    """Return the fields of the row of a claim that a run has judged, and the parts of its reason."""
    verdict, reason = judge_claim(entry["holds"], impossible=claim.impossible, **limits)
    inferred = claim.inferred or artefact.inferred
    share = entry.get("unsettled") if verdict in CLAIM_VERDICTS else None
    reasons = [reason, entry["detail"], _chance(share), inferred and f"the protocol was inferred: {inferred}"]
    reading, ours = INFERRED if inferred else None, "holds" if entry["holds"] else "fails"
    return {"ours": ours, "verdict": verdict, "unsettled": share, "reading": reading}, reasons


def _chance(share) -> str:
    is_chance = share is not None and share > UNSETTLED
    return f"unsettled: {share:.0%} of resamples of our trials have another verdict" if is_chance else ""


def _numbers(ours) -> dict:
    """Return our result for a row, its interval cut at what the quantity can be."""
    low, high = (None, None) if ours.kind == "p-value" else ours.interval or (None, None)
    least, most = RANGES.get(ours.kind, (-np.inf, np.inf))
    if low is not None and least <= ours.centre <= most:
        low, high = max(low, least), min(high, most)
    number = (low, high) if ours.kind == "interval" else float(ours.number)
    return {"ours": number, "low": low, "high": high, "n_trials": ours.n}


def render(template: str, folder: Path = Path(__file__).parent, **content) -> str:
    """Return the text that a template gives, by default one beside this module; what goes into HTML is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(content)


def _counted(column, n) -> str:
    """Return the words for `n` rows of a column: 1 agrees, 2 agree."""
    label = "inferred and not differing" if column == INFERRED else label_of(column)
    if n == 1:
        return label
    return f"{label}s" if column == "setting" else label.removesuffix("s")


def _digits(number) -> str:
    """Return a number with four significant digits, integers up to a billion in full."""
    if float(number).is_integer() and abs(number) < 1e9:
        return str(int(number))
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:.1f}"
