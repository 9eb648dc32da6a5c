"""Numbers in the text of notebooks: links to rows of the scorecard, whose texts are our results.

A link ``[1,086](../../experiments/fliptest/published.yaml#section-5.3:women_to_men.f_plus)`` has as its text what we
found, in the digits of the text that stands there; ``:as_specified`` at the end of an address asks for our result by
that protocol variant, other words for the number that follows them in the row's reason, which has the detail of a claim
and the note of a record: ``#figure-1:delta-to-one:smallest-bound``. ``fairlab scorecard --write`` sets all of them.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairlab.data.project import project
from fairlab.suite.catalogue import PROFILES
from fairlab.suite.comparison import BY_CHANCE, Numbers, Row
from fairlab.suite.published import load_paper
from fairlab.suite.verdicts import label_of

LINK = re.compile(
    r"\[(?P<text>[^\[\]\n]+)\]\((?P<up>(?:\.\./)*)experiments/(?P<paper>[\w-]+)/published\.yaml#"
    r"(?P<artefact>[\w.-]+):(?P<id>[\w.-]+)(?::(?P<asked>[\w.-]+))?\)"
)
# A number in text: its sign, its digits, what follows it, and the other end of an interval.
NUMBER = re.compile(r"(?P<sign>[−+]?)[\d,]+(?:\.(?P<decimals>\d+))?(?P<unit>%?)(?P<end> to .+)?")
# One in a reason, such as 1,285,490, 30%, 5.0% to 6.1% or 18 of 24.
ONE = r"[−+-]?\d+(?:,\d{3})*(?:\.\d+)?%?"
STATED = f"({ONE}(?: (?:to|of) {ONE})?)"
SIZE = re.compile(
    r"(?<=committed scorecard \(profile )`\w+`(?: and `\w+`)*"
)  # in the sentence that says whose these are


def set_links(text: str, rows: Iterable[Row]) -> str:
    """Return a text whose links to rows have our results as their texts, and the profile that it names is theirs.

    Raises
    ------
    KeyError
        If a link leads to no row, or asks for what a row does not have.
    """
    known = {row.place: row for row in rows}

    def write(link):
        row, asked = known.get((link["paper"], link["artefact"], link["id"])), link["asked"]
        if row is None or (asked == "as_specified" and row.as_specified is None):
            raise KeyError(f"expected a link to a row of the scorecard, found {link[0]}")
        if asked in (None, "as_specified"):
            number = in_digits_of(link["text"], row, row.as_specified if asked else row.ours)
        else:
            number = number_after(asked, row)
        return f"[{number}]{link[0][len(link['text']) + 2 :]}"

    text = LINK.sub(write, text)
    profiles = {known[link["paper"], link["artefact"], link["id"]].profile for link in LINK.finditer(text)}
    if sizes := " and ".join(f"`{profile}`" for profile in PROFILES if profile in profiles):
        text = SIZE.sub(sizes, text)
    return text


def number_after(words: str, row: Row) -> str:
    """Return the one number that follows words in the reason of a row; a hyphen stands for a space and punctuation."""
    pattern = re.escape(words).replace(r"\-", r"\W{1,3}")
    found = re.findall(rf"(?<!\w){pattern}\W{{1,3}}(?<![−+-]){STATED}", row.reason or "")
    if len(found) != 1:
        raise KeyError(
            f"expected one number after {words!r} in the reason of {row.address}, found {found} in {row.reason!r}"
        )
    return found[0].replace("-", "−")


def in_digits_of(text: str, row: Row, ours: Numbers | str | None) -> str:
    """Return our result for a row in the form of a text, such as ``30%``, ``−1.37`` or ``1,086``; a claim's verdict."""
    if row.kind == "claim" or ours is None:
        return label_of(row.verdict) + (f", {BY_CHANCE}" if row.kind == "claim" and row.is_unsettled else "")
    form = NUMBER.fullmatch(text)
    if form is None:
        raise ValueError(f"{row.artefact}:{row.id}: expected a number such as 30%, −1.37 or 1,086, found {text!r}")
    kind = load_paper(row.paper).artefact(row.artefact).values[row.id].kind
    factor = 100 if form["unit"] and kind != "percent" else 1
    digits = f"{form['sign'].replace('−', '')}z,.{len(form['decimals'] or '')}f"  # z: no sign of a zero
    ends = ours if isinstance(ours, tuple) else (ours,)
    return " to ".join(f"{factor * end:{digits}}{form['unit']}" for end in ends).replace("-", "−")


def changed_notebooks(rows: Sequence[Row]) -> dict[Path, str]:
    """Return the notebooks of the papers in which a link has another text than its row, with the links set."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(project().notebooks.glob("[!.]*/*.ipynb"))}
    return {file: new for file, text in texts.items() if (new := set_links(text, rows)) != text}
