"""The picture of all verdicts as one file, which the project's README shows."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from fairlab.paths import FIGURES, write_text
from fairlab.suite.comparison import INFERRED, Row
from fairlab.suite.site.papers import names as paper_names
from fairlab.suite.site.picture import SHAPES
from fairlab.suite.site.wording import MEANINGS, Shown, slug

PER_LINE, STEP, LINE, MARGIN = 92, 11, 13, 12
WIDTH = PER_LINE * STEP + 2 * MARGIN
COLOURS = {
    "#0072b2": ("exact", "agrees", "holds"),
    "#007a59": ("near", "compatible", "same conclusion"),
    "#c04f00": ("differs", "fails"),
    "#a3507f": ("impossible",),
    "#946200": ("surrogate",),
    "#6f6f6f": ("setting", "not comparable", "not run"),
}
COLOUR_OF = {verdict: colour for colour, verdicts in COLOURS.items() for verdict in verdicts}


def write_poster(rows: Sequence[Row]) -> Path:
    """Write the picture of all verdicts to ``figures/verdicts.svg`` and return the file."""
    write_text(FIGURES / "verdicts.svg", poster(rows, paper_names()))
    return FIGURES / "verdicts.svg"


def poster(rows: Sequence[Row], names: dict[str, str]) -> str:
    """Return all rows as marks in one SVG: papers one below the other, the legend at the foot."""
    parts, y = [], MARGIN
    for key in dict.fromkeys(row.paper for row in rows):
        own = [row for row in rows if row.paper == key]
        y += LINE
        parts.append(_text(MARGIN, y, names[key], weight="bold"))
        y += LINE // 2
        for i, row in enumerate(own):
            place = MARGIN + STEP * (i % PER_LINE), y + LINE * (i // PER_LINE)
            parts.append(_mark(row.verdict, *place, hollow=Shown(row).is_inferred))
        y += LINE * (1 + (len(own) - 1) // PER_LINE) + LINE // 2
    counts, x = Counter(row.column for row in rows), MARGIN
    y += LINE
    for column in (column for column in (*MEANINGS, INFERRED) if counts[column]):
        label = f"{column} {counts[column]}"
        if x + STEP + 7 * len(label) > WIDTH - MARGIN:
            x, y = MARGIN, y + LINE + 3
        hollow = column == INFERRED
        parts += [_mark("agrees" if hollow else column, x, y - 9, hollow=hollow), _text(x + 14, y, label)]
        x += 28 + 7 * len(label)
    y += MARGIN
    shapes = "".join(
        f'<symbol id="{slug(name)}" viewBox="-1 -1 14 14">{shape}</symbol>' for name, shape in SHAPES.items()
    )
    title = f"{len(rows)} published numbers and claims of {len(names)} papers, each a mark by how ours stands to it"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title>{shapes}'
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _mark(verdict, x, y, hollow=False) -> str:
    colour = COLOUR_OF[verdict]
    paint = (
        f'fill="none" stroke="{colour}" stroke-width="1.6"' if hollow or verdict == "not run" else f'fill="{colour}"'
    )
    return f'<use href="#{slug(verdict)}" x="{x}" y="{y}" width="10" height="10" {paint}/>'


def _text(x, y, words, weight="normal") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="#222">{escape(words)}</text>'
