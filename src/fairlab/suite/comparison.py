"""Published beside ours, one row per published value or claim, each with its verdict."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd

from fairlab.plotting import TINTS
from fairlab.suite.published import Artefact, Claim, Value
from fairlab.suite.run import Run
from fairlab.suite.verdicts import judge

# The words stand in the cells anyway.
COLOURS = {
    "exact": TINTS["blue"],
    "agrees": TINTS["blue"],
    "holds": TINTS["blue"],
    "same conclusion": TINTS["green"],
    "differs": TINTS["vermilion"],
    "fails": TINTS["vermilion"],
    "surrogate": TINTS["yellow"],
    "not comparable": TINTS["grey"],
    "not run": TINTS["grey"],
}


@dataclass(frozen=True)
class Row:
    """How our number or check stands to one published value or claim.

    Attributes
    ----------
    paper, artefact, id, kind : str
        Where it is published; `kind` is ``claim`` or the kind of the value.
    published, ours : str
        Both sides as text; `ours` is empty if there is none.
    verdict, reason : str
    profile, data : str or None
        Profile of the run and "real" or "surrogate"; None if there is no run.
    experiment : str or None
    seed, n_trials : int or None
    commit : str or None
    as_described : str
        Our number in the paper's own description, where that is another one than `ours`.
    """

    paper: str
    artefact: str
    id: str
    kind: str
    published: str
    ours: str = ""
    verdict: str = "not run"
    reason: str = ""
    profile: str | None = None
    data: str | None = None
    experiment: str | None = None
    seed: int | None = None
    n_trials: int | None = None
    commit: str | None = None
    as_described: str = ""


@dataclass(frozen=True)
class Comparison:
    """Rows of a comparison, for one run or for the whole project."""

    rows: tuple[Row, ...]

    def counts(self) -> Counter:
        """Return how often each verdict was given."""
        return Counter(row.verdict for row in self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per published value or claim."""
        return pd.DataFrame([asdict(row) for row in self.rows], columns=[field.name for field in fields(Row)])

    def to_records(self) -> list[dict]:
        """Return the rows as plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(f"{row.artefact}:{row.id} {row.verdict}" for row in self._open())])

    def _repr_html_(self) -> str:
        """Return counts first, then what differs or fails, then everything else folded away."""
        rows = self._open()
        rest = [row for row in self.rows if row not in rows]
        parts = [f"<p>{self._headline()}</p>"]
        parts += [_html(rows)] if rows else []
        parts += [f"<details><summary>the other {len(rest)} rows</summary>{_html(rest)}</details>"] if rest else []
        return "\n".join(parts)

    def _headline(self) -> str:
        counts = self.counts()
        return (
            ", ".join(f"{counts[verdict]} {verdict}" for verdict in COLOURS if counts[verdict]) or "nothing published"
        )

    def _open(self) -> list[Row]:
        return [row for row in self.rows if row.verdict in ("differs", "fails")]


def _html(rows) -> str:
    """Return rows as a table: published, ours, verdict with its colour, reason."""
    frame = Comparison(tuple(rows)).to_frame()
    columns = ["artefact", "id", "published", "ours", "as_described", "verdict", "reason"]
    frame = frame[columns if frame["as_described"].any() else [name for name in columns if name != "as_described"]]
    colour = {verdict: f"background-color: {value}; color: black" for verdict, value in COLOURS.items()}
    left = [{"selector": "th", "props": [("text-align", "left")]}]
    styled = frame.style.hide(axis="index").format(escape="html").map(colour.get, subset=["verdict"])
    return styled.set_properties(**{"text-align": "left"}).set_table_styles(left).to_html()


def compare(run: Run) -> Comparison:
    """Return how a run stands to everything that is published of its artefacts."""
    specification = run.specification
    artefacts = [specification.published.artefact(id) for id in specification.artefacts]
    return Comparison(tuple(row for artefact in artefacts for row in compare_artefact(artefact, run)))


def compare_artefact(artefact: Artefact, run: Run) -> Iterable[Row]:
    """Yield the rows of one artefact from the run that writes it."""
    claims = {claim["id"]: claim for claim in run.claims if claim["artefact"] == artefact.id}
    checked = [claims[id]["holds"] for id in artefact.claims if id in claims]
    claims_hold = all(checked) if artefact.claims and len(checked) == len(artefact.claims) else None
    for value in artefact.values.values():
        yield _value_row(artefact, value, run, claims_hold)
    for claim in artefact.claims.values():
        yield _claim_row(artefact, claim, run, claims.get(claim.id))


def not_run(paper: str, artefact: Artefact, reason: str, experiment: str | None = None) -> Iterable[Row]:
    """Yield the rows of an artefact that no run has written."""
    for item in [*artefact.values.values(), *artefact.claims.values()]:
        yield Row(**_published(paper, artefact, item), reason=reason, experiment=experiment)


def _published(paper, artefact, item: Value | Claim):
    value = isinstance(item, Value)
    return {
        "paper": paper,
        "artefact": artefact.id,
        "id": item.id,
        "kind": item.kind if value else "claim",
        "published": item.printed if value else item.text,
    }


def _about(run, data):
    return {
        "profile": run.profile,
        "data": run.source(data),
        "experiment": run.name,
        "seed": run.seed,
        "commit": run.about.get("commit"),
    }


def _value_row(artefact, value, run, claims_hold):
    row = _published(run.paper, artefact, value)
    ours = run.ours(artefact.id, value.id)
    if ours is None:
        return Row(**row, reason=_reason_left_out(run, artefact, value), experiment=run.name)
    (record,) = (
        r for r in run.records if (r["artefact"], r["id"], r["reading"]) == (artefact.id, value.id, "as_published")
    )
    row |= _about(run, record["data"]) | {"ours": _number(ours), "n_trials": ours.n}
    described = run.ours(artefact.id, value.id, "as_described")
    row["as_described"] = "" if described is None else _number(described)
    verdict, reason = _not_judged(run, row["data"]) or judge(value, ours, claims_hold=claims_hold)
    doubt = "" if value.verified else f"the printed number is in doubt: {value.note}"
    return Row(**row, verdict=verdict, reason="; ".join(filter(None, [reason, record["note"], doubt])))


def _claim_row(artefact, claim, run, entry):
    row = _published(run.paper, artefact, claim)
    if entry is None:
        return Row(**row, reason=_reason_left_out(run, artefact, claim), experiment=run.name)
    row |= _about(run, entry["data"]) | {"ours": "holds" if entry["holds"] else "fails"}
    verdict, reason = _not_judged(run, row["data"]) or (row["ours"], "")
    return Row(**row, verdict=verdict, reason="; ".join(filter(None, [reason, entry["detail"]])))


def _not_judged(run, data) -> tuple[str, str] | None:
    """Return the verdict and the reason for what cannot be judged: from a surrogate, or of another size."""
    if data == "surrogate":
        return "surrogate", "surrogate data"
    size = run.specification.other_size(run.parameters)
    return ("not comparable", f"not the size of the published protocol: {size}") if size else None


def _reason_left_out(run, artefact, item):
    reasons = [s["reason"] for s in run.skipped if (s["artefact"], s["id"]) == (artefact.id, item.id)]
    return reasons[0] if reasons else f"{run.name} does not record it"


def _number(ours) -> str:
    if ours.values.ndim == 2:
        low, high = np.asarray(ours.mean)
        return f"[{_digits(low)}, {_digits(high)}]"
    if ours.interval is None:
        return _digits(ours.mean)
    low, high = ours.interval
    return f"{_digits(ours.mean)} [{_digits(low)}, {_digits(high)}]"


def _digits(number) -> str:
    """Return a number with four significant digits, integers up to a million in full."""
    if float(number).is_integer() and abs(number) < 1e6:
        return str(int(number))
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:.1f}"
