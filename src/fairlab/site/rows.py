"""The scorecard on the site: its rows as text, bars and sentences, and the HTML and Markdown made from them."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import jinja2
import numpy as np
import yaml
from markdown_it import MarkdownIt
from markupsafe import Markup

from fairlab import __version__, plotting
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.site.places import ADDRESSES, MIN_FIGURE_WIDTH
from fairlab.suite.catalogue import PROFILES
from fairlab.suite.comparison import BY_CHANCE, INFERRED, Comparison, Row, off_most, short_line
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.scorecard import origins, what_is_counted
from fairlab.suite.tables import grouped
from fairlab.suite.verdicts import LABELS, LOOKS, OPEN, label_of

UNITS = {"percent": "%", "seconds": "s"}
FILTERS = ("paper", "artefact", "verdict", "data", "profile", "apart")
# Labels of the filters and of their values, where they are not the keys.
FILTER_LABELS = {
    "artefact": "table or figure",
    "apart": "counted apart",
    "inferred": "protocol inferred from published values",
    "none": "not applicable",
}
# What readers see of rows that are not counted plainly.
APART = {
    INFERRED: "protocol inferred from the published values",
    BY_CHANCE: "unsettled: other runs of ours might have another verdict",
}
DECADES = (-4, 8)  # of the plot of all numbers


def artefact_name(artefact: str) -> str:
    """Return the name of a table or figure from its id: ``table-4`` is Table 4, ``appendix-a.2`` Appendix A.2."""
    kind, _, rest = artefact.partition("-")
    number, _, part = rest.partition("-")
    number = re.sub(r"^[a-z](?=\.|$)", lambda letter: letter[0].upper(), number)
    return f"{kind.capitalize()} {number}" + (f", {part}" if part else "")


def anchor(row: Row) -> str:
    """Return the anchor of a row: ``adf:table-4:census.age.adf.id``."""
    return f"{row.paper}:{row.artefact}:{row.id}"


def published(row: Row) -> str:
    """Return the published number with its unit and digits, or the claim."""
    value = load_paper(row.paper).artefact(row.artefact).values.get(row.id)
    return f"{row.printed or row.published} {UNITS.get(value.kind, '') if value else ''}".strip()


def page_text(key: str) -> dict:
    """Return the front matter of ``docs/papers/<key>.md`` and the `text` below it; of a paper without one its key."""
    page, file = {"name": key, "text": "", "figure": "", "ids": {}}, project().docs / "papers" / f"{key}.md"
    if not file.exists():
        return page
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    return page | yaml.safe_load(head) | {"text": text}


def bar(card: Comparison) -> list[dict]:
    """Return the segments of a bar of all rows, which are counted as in the headline.

    There is one for each colour of verdicts, with the inferred rows of that colour apart, and one of unsettled rows.
    """
    counts, segments = Counter((bar_colour(row), row.apart) for row in card.rows), []
    for colour, apart in filter(counts.get, product((*plotting.COLOURS, BY_CHANCE), (None, INFERRED, BY_CHANCE))):
        n, found = counts[colour, apart], {row.verdict for row in card.rows if bar_colour(row) == colour}
        words = ", ".join(label_of(verdict) for verdict in LOOKS if verdict in found) + f" ({apart})" * bool(apart)
        words = apart if apart == BY_CHANCE else words
        segments.append({"colour": colour, "apart": apart, "n": n, "words": words, "width": 100 * n / len(card.rows)})
    return segments


def bar_colour(row: Row) -> str:
    """Return the colour of a row's segment: that of its verdict; unsettled rows have their own."""
    return BY_CHANCE if row.is_unsettled else LOOKS[row.verdict].colour


def write_bars(card: Comparison) -> Path:
    """Write the bars of all papers with the headline below them to ``figures/verdicts.svg`` and return the file."""
    file, names = project().figures / "verdicts.svg", {key: page_text(key)["name"] for key in paper_keys()}
    write_text(file, ENVIRONMENT.get_template("verdicts.svg").render(card=card, names=names))
    return file


def place(number: float) -> float:
    """Return where the size of a number lies on a logarithmic axis from 0 to 100; what is smaller lies at 0."""
    return round(float(np.interp(math.log10(max(abs(number), 10.0 ** DECADES[0])), DECADES, (0, 100))), 1)


def points(rows: Sequence[Row]) -> list[tuple[Row, float, float]]:
    """Return the rows with a published number and ours, and where these lie; those that differ come last, on top."""
    both = [row for row in rows if isinstance(row.published, float) and isinstance(row.ours, float)]
    both.sort(key=lambda row: row.verdict in ("impossible", *OPEN))
    return [(row, place(row.published), place(row.ours)) for row in both]


def raw(html: str) -> str:
    """Return HTML as a part of a page in Markdown, which itself is returned as it is."""
    return html if not html or html.startswith("```") else f"```{{raw}} html\n{html}\n```"


CAPTION = MarkdownIt("zero").enable(["emphasis", "backticks"])
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,
    autoescape=True,
    trim_blocks=True,
)
ENVIRONMENT.filters |= {
    "artefact_name": artefact_name,
    "grouped": grouped,
    "inline": lambda caption: Markup(CAPTION.renderInline(caption)),
    "slug": lambda words: words.replace(" ", "-"),
    "year": lambda venue: "".join(re.findall(r"\d{4}", venue)[:1]),
}
ENVIRONMENT.globals |= {
    "addresses": ADDRESSES,
    "anchor": anchor,
    "apart": APART,
    "artefact_name": artefact_name,
    "bar": bar,
    "decades": range(DECADES[0], DECADES[1] + 1, 2),
    "colours": plotting.COLOURS,
    "filters": FILTERS,
    "label": label_of,
    "least": MIN_FIGURE_WIDTH,
    "labels": json.dumps(LABELS | FILTER_LABELS),
    "load_paper": load_paper,
    "looks": LOOKS,
    "off_most": off_most,
    "open": OPEN,
    "origins_of": origins,
    "place": place,
    "points": points,
    "profiles": PROFILES,
    "published": published,
    "raw": raw,
    "short_line": short_line,
    "tints": plotting.TINTS,
    "version": __version__,
    "what_is_counted": what_is_counted,
}
# The macros of ``macros.html`` as functions; what they are given is escaped.
HTML = ENVIRONMENT.get_template("macros.html").module
ENVIRONMENT.globals["HTML"] = HTML
# Those of ``macros.md``, and the pages of papers, are Markdown, in which nothing is escaped.
MARKDOWN = ENVIRONMENT.overlay(autoescape=False, keep_trailing_newline=True)
PAGES = MARKDOWN.get_template("macros.md").module
