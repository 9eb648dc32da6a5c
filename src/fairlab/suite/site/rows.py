"""Rows of the scorecard as text, and the HTML of the site, which ``macros.html`` makes from them."""

import json
import re
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from fairlab import __version__, plotting
from fairlab.suite.comparison import Row
from fairlab.suite.published import load_paper
from fairlab.suite.site.bars import bars_as_html
from fairlab.suite.verdicts import LABELS, LOOKS, OPEN, label_of

UNITS = {"percent": "%", "seconds": "s"}
FILTERS = ("paper", "artefact", "verdict", "data", "profile", "reading")
# Labels of the filters and of their values, where they are not the keys.
FILTER_LABELS = {
    "artefact": "table or figure",
    "reading": "protocol variant",
    "as_published": "as published",
    "inferred": "inferred from published values",
    "none": "not applicable",
}


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
    value = _value(row)
    if value is None:
        return plain(row.published)
    numbers = (value.low, value.high) if value.kind == "interval" else value.value
    text = value.printed if numbers == row.published else plain(row.published)
    return f"{text} {UNITS.get(value.kind, '')}".strip()


def source(row: Row) -> str:
    """Return where a number is published, and its source if that is not the text."""
    value = _value(row)
    extra = f" ({value.source.replace('_', ' ')})" if value and value.source else ""
    return artefact_name(row.artefact) + extra


def _value(row):
    return load_paper(row.paper).artefact(row.artefact).values.get(row.id)


def plain(number) -> str:
    """Return a number, a pair of them or text as text: whole numbers without a point."""
    if isinstance(number, tuple):
        return f"[{', '.join(map(plain, number))}]"
    return f"{int(number)}" if isinstance(number, float) and number.is_integer() else str(number)


CAPTION = MarkdownIt("zero").enable(["emphasis", "backticks"])
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,
    autoescape=True,
    trim_blocks=True,
)
ENVIRONMENT.filters |= {
    "inline": lambda caption: Markup(CAPTION.renderInline(caption)),
    "slug": lambda words: words.replace(" ", "-"),
}
ENVIRONMENT.globals |= {
    "anchor": anchor,
    "artefact_name": artefact_name,
    "bars": lambda card, names: Markup(bars_as_html(card, names)),
    "colours": plotting.COLOURS,
    "filters": FILTERS,
    "label": label_of,
    "labels": json.dumps(LABELS | FILTER_LABELS),
    "load_paper": load_paper,
    "looks": LOOKS,
    "open": OPEN,
    "published": published,
    "source": source,
    "version": __version__,
}
# The macros of ``macros.html`` as functions; what they are given is escaped.
HTML = ENVIRONMENT.get_template("macros.html").module


def raw(html: str) -> str:
    """Return HTML as a part of a page in Markdown."""
    return f"```{{raw}} html\n{html}\n```" if html else ""
