"""Comparison of published and reproduced numbers: one row per published value or claim, each with its verdict."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import PlainSerializer, Strict, TypeAdapter

from fairlab.checks import optional
from fairlab.data.dataset import SOURCES
from fairlab.data.documents import Entry
from fairlab.plotting import TINTS
from fairlab.suite.catalogue import EVIDENCE
from fairlab.suite.published import Artefact, Claim, Value
from fairlab.suite.run import Run
from fairlab.suite.verdicts import (
    AGREEING,
    CLAIM_VERDICTS,
    JUDGED,
    LABELS,
    LOOKS,
    OPEN,
    judge,
    label_of,
    relative_difference,
)

jinja2 = optional("jinja2")

INFERRED = "inferred"  # `reading` of a row whose protocol was inferred from the published values
MULTIPLES = 10  # relative differences from here on are shown as multiples
DIGITS = 6  # significant digits of written fractions

# Counts in the order in which they are shown: numbers, claims, and what is counted separately.
COLUMNS = [*LOOKS]
COLUMNS.insert(COLUMNS.index("not comparable"), INFERRED)

# What a number rests on, and the words for it.
BASES = {
    "real": "run here on real data",
    "generated": "run here on generated people",
    "reconstructed": "run here on reconstructed people",
    "stored models": "score models that the authors stored",
    "stored outputs": "score outputs that the authors stored",
}

# What an interval of a mean is cut at.
LEAST, ROUNDED = 1e-12, 1e-5  # of what a change is relative to; of a number in ``REPRODUCTION.json``
RANGES = {"count": (0, np.inf), "seconds": (0, np.inf), "proportion": (0, 1)}


def _rounded(number: float) -> float:
    """Return a number as it is written to the file."""
    return int(number) if number.is_integer() else float(f"{number:.{DIGITS}g}")


Number = Annotated[float, PlainSerializer(_rounded)]
Numbers = Number | Annotated[tuple[Number, Number], Strict(False)]


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
    verdict : str
    reading : {"as_published", "inferred"} or None
        Protocol variant of a number; ``inferred``, for claims too, if it was inferred from the published values.
    data : {"real", "generated", "reconstructed", "surrogate"} or None
        The weakest provenance of the data behind our result; see `fairlab.data.dataset.SOURCES`.
    evidence : {"run", "stored models", "stored outputs"} or None
        Whether a number comes from a run of ours or scores what the authors stored.
    profile, seed, commit : str, int, str or None
        Of the run.
    reason : str or None
    printed : str
        The published number with its digits, its standard deviation and ``<``.
    source : str or None
        Where the number is from, if not from the paper's text.
    """

    paper: str
    artefact: str
    id: str
    kind: Literal["number", "claim"]
    published: Numbers | str
    printed: str = ""
    source: str | None = None
    ours: Numbers | str | None = None
    as_specified: Numbers | None = None
    low: Number | None = None
    high: Number | None = None
    n_trials: int | None = None
    relative_difference: Number | None = None
    verdict: Literal[tuple(LOOKS)] = "not run"
    reading: Literal["as_published", "inferred"] | None = None
    data: Literal[SOURCES] | None = None
    evidence: Literal[EVIDENCE] | None = None
    profile: str | None = None
    seed: int | None = None
    commit: str | None = None
    reason: str | None = None

    @property
    def is_inferred(self) -> bool:
        """Whether the row was judged by a protocol that was inferred from the published values."""
        return self.reading == INFERRED and self.verdict in JUDGED + CLAIM_VERDICTS

    @property
    def column(self) -> str:
        """Column in which the row is counted; inferred rows have their own unless they differ or fail."""
        return INFERRED if self.is_inferred and self.verdict not in OPEN else self.verdict

    @property
    def basis(self) -> str:
        """What a number rests on, a word of `BASES`: stored outputs and models before the kind of data."""
        return self.evidence if self.evidence in EVIDENCE[1:] else self.data

    @property
    def shown(self) -> str:
        """Our result as text."""
        if self.ours is None or isinstance(self.ours, str):
            return self.ours or ""
        if isinstance(self.ours, tuple):
            return _interval_text(*self.ours)
        return _digits(self.ours) + ("" if self.low is None else f" {_interval_text(self.low, self.high)}")

    @property
    def difference(self) -> str:
        """The relative difference as text."""
        return "" if self.relative_difference is None else percent(self.relative_difference)

    def to_text(self) -> str:
        """Return the row in one line."""
        claim = self.kind == "claim"
        sides = (
            self.published if claim else f"{self.printed or self.published}, our result {self.shown or 'not available'}"
        )
        more = self.reason if claim or self.ours is None else self.difference
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
    def read(cls, path: Path | str) -> "Comparison":
        """Read a file that `to_json` wrote.

        Raises
        ------
        ValueError
            If the file is not a list of rows.
        """
        return cls(TypeAdapter(list[Row]).validate_json(Path(path).read_bytes()))

    def to_json(self) -> str:
        """Return the rows as the text of ``REPRODUCTION.json``: a list, one row a line."""
        rows = ",\n".join(json.dumps(row.model_dump(), ensure_ascii=False, allow_nan=False) for row in self.rows)
        return f"[\n{rows}\n]\n" if rows else "[]\n"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per published value or claim, with the numbers as they are shown."""
        rows = [dict(row) | {"ours": row.shown, "difference": row.difference} for row in self.rows]
        texts = [row.printed or str(row.published) for row in self.rows]
        return pd.DataFrame(rows, columns=[*Row.model_fields, "difference"]).assign(published=texts)

    def of(self, paper: str) -> "Comparison":
        """Return the rows of one paper."""
        return Comparison(row for row in self.rows if row.paper == paper)

    def counts(self) -> Counter:
        """Count the rows by verdict, inferred rows separately unless they differ or fail; every row counts once."""
        return Counter(row.column for row in self.rows)

    def bases(self, verdict: str = "exact") -> Counter:
        """Count what the numbers of a verdict rest on; inferred ones are left out."""
        return Counter(row.basis for row in self.rows if row.kind == "number" and row.column == verdict)

    def median_difference(self) -> float | None:
        """Return the median absolute relative difference of the judged numbers, None if there are none."""
        judged = (row.relative_difference for row in self.rows if row.column in JUDGED)
        sizes = [abs(difference) for difference in judged if difference is not None]
        return float(np.median(sizes)) if sizes else None

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
        )

    def headline(self) -> str:
        """Return the counts of all verdicts, which add up to the number of rows, and what the exact numbers rest on.

        README, site, notebooks and ``REPRODUCTION.md`` show this sentence.
        """
        if not self.rows:
            return "nothing published"
        counts, median, bases = self.counts(), self.median_difference(), self.bases()
        off = Counter(row.verdict for row in self.rows if row.is_inferred and row.verdict in OPEN)
        verdicts = {
            column: f"{counts[column]} {_counted(column, counts[column])}" for column in COLUMNS if counts[column]
        }
        verdicts |= {verdict: f"{verdicts[verdict]} ({n} inferred)" for verdict, n in off.items()}
        rest = [f"{bases[basis]} {words}" for basis, words in BASES.items() if bases[basis]]
        parts = [
            f"{len(self.rows):,} published numbers and claims: {', '.join(verdicts.values())}",
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


def percent(share: float) -> str:
    """Return a relative difference as text: with its sign, large ones as multiples."""
    if share >= MULTIPLES:
        return f"{1 + share:,.0f} times"
    return "0%" if share == 0 else f"{100 * share:+.2g}%" if abs(share) < 0.1 else f"{share:+.0%}"


def beside(rows: Iterable[Row], committed: Iterable[Row], most: int | None = None) -> list[str]:
    """Return a line for every row that is other than in the committed scorecard, and one that counts them.

    Other verdicts come first, then the largest changes; at most so many rows.
    """
    rows, known = list(rows), {(row.paper, row.artefact, row.id): row for row in committed}
    pairs = [(row, known[key]) for row in rows if (key := (row.paper, row.artefact, row.id)) in known]
    moved = sorted((pair for pair in pairs if any(_moved(*pair))), key=lambda pair: _moved(*pair), reverse=True)
    lines = []
    for row, old in moved[:most]:
        what = "claim" if row.kind == "claim" else f"published {row.printed}"
        sides = [f"{side.shown or 'no result'} ({label_of(side.verdict)})" for side in (old, row)]
        lines.append(f"{row.artefact}:{row.id}  {what}, committed {sides[0]}, here {sides[1]}")
    new = f"; not in it: {len(rows) - len(pairs)}" if len(rows) > len(pairs) else ""
    return [*lines, f"{len(moved)} of {len(pairs)} rows are other than in the committed scorecard{new}"]


def _moved(row, old) -> tuple[bool, float]:
    """Return whether the verdict is another, and by how much the number changed, relative to the committed one."""
    other, kinds = row.verdict != old.verdict, {type(row.ours), type(old.ours)}
    if kinds <= {str, type(None)} or len(kinds) == 2:
        return other, 0.0 if row.ours == old.ours else np.inf
    ours, before = np.asarray(row.ours), np.asarray(old.ours)
    change = float((np.abs(ours - before) / np.maximum(np.abs(before), LEAST)).max())
    return other, change if change > ROUNDED else 0.0  # the committed ones are rounded


def compare(run: Run) -> Comparison:
    """Compare a run with all published values and claims of its tables and figures."""
    artefacts = map(run.specification.published.artefact, run.specification.artefacts)
    return Comparison(row for artefact in artefacts for row in compare_artefact(artefact, run))


def compare_artefact(artefact: Artefact, run: Run) -> Iterable[Row]:
    """Yield the rows of one artefact from the run that writes it: its numbers, then its claims."""
    recorded = {claim["id"]: claim for claim in run.claims if claim["artefact"] == artefact.id}
    claims = [_claim_row(artefact, claim, run, recorded.get(id)) for id, claim in artefact.claims.items()]
    # A claim from surrogate data or a smaller run supports no number.
    all_hold = all(row.verdict == "holds" for row in claims)
    for value in artefact.values.values():
        judged_on = any(claim.is_judged_on(value) for claim in artefact.claims.values())
        yield _value_row(artefact, value, run, all_hold and judged_on)
    yield from claims


def not_run(paper: str, artefact: Artefact, reason: str) -> Iterable[Row]:
    """Yield the rows of a table or figure that no run has written."""
    for item in [*artefact.values.values(), *artefact.claims.values()]:
        yield Row(**_published(paper, artefact, item), reason=reason)


def render(template: str, **content) -> str:
    """Return the text that a template beside this module gives; what goes into HTML is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(content)


def _published(paper, artefact, item: Value | Claim):
    row = {"paper": paper, "artefact": artefact.id, "id": item.id}
    if isinstance(item, Claim):
        return row | {"kind": "claim", "published": item.text}
    number = (float(item.low), float(item.high)) if item.kind == "interval" else float(item.value)
    return row | {"kind": "number", "published": number, "printed": item.printed, "source": item.source}


def _provenance(run, data):
    return {
        "profile": run.profile,
        "seed": run.seed,
        "commit": run.about.get("commit"),
        "data": run.source(data),
    }


def _value_row(artefact, value, run, claims_hold):
    row = _published(run.paper, artefact, value)
    record, ours = run.record(artefact.id, value.id), run.ours(artefact.id, value.id)
    if ours is None:
        verdict, reason = judge(value, None, missing=_reason_left_out(run, artefact, value))
        return Row(**row, verdict=verdict, reason=reason)
    inferred = value.inferred or artefact.inferred or not value.verified
    row |= _provenance(run, record["data"]) | _numbers(ours, value.kind)
    row |= {
        "relative_difference": relative_difference(value, ours),
        "reading": INFERRED if inferred else "as_published",
        "evidence": run.specification.evidence(artefact.id, value.id),
    }
    specified = run.ours(artefact.id, value.id, "as_specified")
    if specified:
        specified = Row(**row | _numbers(specified, value.kind))
        row["as_specified"] = specified.ours
    verdict, reason = judge(
        value,
        ours,
        surrogate=row["data"] == "surrogate",
        size=run.specification.other_size(run.parameters, artefact.id, value.id),
        claims_hold=claims_hold and not inferred,
    )
    is_off = value.exact and verdict in JUDGED[1:]
    reasons = [
        _surrogate_data(run, record["data"]) if verdict == "surrogate" else reason,
        record["note"],
        specified and f"as specified: {specified.shown}",
        "deterministic: an exact rerun gives the published digits" if is_off else "",
        f"the protocol was inferred: {inferred}" if isinstance(inferred, str) else "",
        "" if value.verified else f"the published number is in doubt: {value.note}",
    ]
    return Row(**row, verdict=verdict, reason="; ".join(filter(None, reasons)))


def _claim_row(artefact, claim, run, entry):
    row = _published(run.paper, artefact, claim)
    if entry is None:
        return Row(**row, reason=_reason_left_out(run, artefact, claim))
    verdict, reason = "holds" if entry["holds"] else "fails", ""
    row |= _provenance(run, entry["data"]) | {"ours": verdict, "reading": INFERRED if artefact.inferred else None}
    size = run.specification.other_size(run.parameters, artefact.id, claim.id)
    if row["data"] == "surrogate":
        verdict, reason = "surrogate", _surrogate_data(run, entry["data"])
    elif size:
        verdict, reason = "not comparable", f"not the size of the published protocol: {size}"
    return Row(**row, verdict=verdict, reason="; ".join(filter(None, [reason, entry["detail"]])) or None)


def _surrogate_data(run, variants):
    """Return the missing real data, and how to get it."""
    return f"surrogate data: fairlab data fetch {' '.join(run.missing(variants))} gets the real data or explains how"


def _reason_left_out(run, artefact, item):
    reasons = [s["reason"] for s in run.skipped if (s["artefact"], s["id"]) == (artefact.id, item.id)]
    reason = reasons[0] if reasons else f"{run.name} does not record it"
    return f"{reason}; {_surrogate_data(run, None)}" if run.missing() else reason


def _numbers(ours, kind) -> dict:
    if ours.values.ndim == 2:
        low, high = map(float, ours.mean)
        return {"ours": (low, high), "low": low, "high": high, "n_trials": ours.n}
    low, high = (None, None) if kind == "p-value" else ours.interval or (None, None)
    least, most = RANGES.get(kind, (-np.inf, np.inf))
    if low is not None and least <= ours.mean <= most:
        low, high = max(low, least), min(high, most)
    return {"ours": float(ours.mean), "low": low, "high": high, "n_trials": ours.n}


def _counted(column, n) -> str:
    """Return the words for `n` rows of a column: 1 agrees, 2 agree."""
    if column == INFERRED:
        return "inferred and not differing"
    if column in LABELS:
        return label_of(column) + "s" * (column == "setting" and n > 1)
    return column if n == 1 else column.removesuffix("s")


def _interval_text(low, high) -> str:
    return f"[{_digits(low)}, {_digits(high)}]"


def _digits(number) -> str:
    """Return a number with four significant digits, integers up to a billion in full."""
    if float(number).is_integer() and abs(number) < 1e9:
        return str(int(number))
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:.1f}"
