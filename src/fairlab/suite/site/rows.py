"""The scorecard on the site: its rows as text, its bars, and the HTML that ``macros.html`` makes from them."""

import json
import re
import textwrap
from collections import Counter
from itertools import product
from pathlib import Path

import jinja2
import matplotlib as mpl
import numpy as np
from markdown_it import MarkdownIt
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairlab import __version__, plotting
from fairlab.paths import project
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.published import load_paper
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
HATCHING = "//////"
NARROWEST = 3.5  # percent of a bar, the least that shows a count
LONGEST_LINE = 110  # characters, of the text below the bars


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


@mpl.rc_context({"font.size": 8})
def verdict_bars(card: Comparison, names: dict[str, str]) -> Figure:
    """Draw a bar for each paper of the rows, with a segment for each colour of verdicts; inferred rows are hatched."""
    keys = list(dict.fromkeys(row.paper for row in card.rows))
    figure, [axis] = plotting.panels(1, 1, width=6.7, height=1.1 + 0.32 * len(keys))
    counts = Counter((row.paper, LOOKS[row.verdict].colour, row.is_inferred) for row in card.rows)
    sizes, left = np.array([len(card.of(key).rows) for key in keys]), np.zeros(len(keys))
    labels = [f"{names[key]} ({size})" for key, size in zip(keys, sizes, strict=True)]
    for colour, inferred in product(plotting.COLOURS, (False, True)):
        of_colour = np.array([counts[key, colour, inferred] for key in keys])
        widths = 100 * of_colour / sizes
        if of_colour.any():
            segments = axis.barh(labels, widths, left=left, **_style(colour, inferred))
            ink = "white" if colour == "blue" and not inferred else "black"
            box = {"facecolor": "white", "linewidth": 0, "pad": 1.5} if inferred else None
            shown = np.where(widths >= NARROWEST, of_colour.astype(str), "")
            axis.bar_label(segments, shown, label_type="center", color=ink, bbox=box)
        left += widths
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="share of the paper's published numbers and claims (%)")
    verdicts = [verdict for verdict in LOOKS if any(row.verdict == verdict for row in card.rows)]
    groups = {name: [label_of(one) for one in verdicts if LOOKS[one].colour == name] for name in plotting.COLOURS}
    handles = [Patch(label=", ".join(group), **_style(colour)) for colour, group in groups.items() if group]
    if any(row.is_inferred for row in card.rows):
        handles.append(Patch(label="hatched: protocol inferred from the published values", **_style("grey", True)))
    plotting.legend_above(figure, handles=handles, n_columns=2)
    return figure


def write_bars(card: Comparison, names: dict[str, str]) -> Path:
    """Write the bars with the headline below them to ``figures/verdicts.svg`` and return the file."""
    headline = card.headline()
    lines = textwrap.wrap(headline, LONGEST_LINE)
    figure, stem = verdict_bars(card, names), project().figures / "verdicts"
    return plotting.save(figure, stem, marks=lines, title=headline, formats=["svg"])[0]


def bars_as_html(card: Comparison, names: dict[str, str]) -> str:
    """Return the bars of some rows and their headline as HTML."""
    headline = f"{card.headline()}."
    return f"<p>{headline}</p>{plotting.as_html(verdict_bars(card, names), headline)}"


def _style(colour: str, inferred: bool = False) -> dict:
    if not inferred:
        return {"facecolor": plotting.COLOURS[colour], "edgecolor": "white"}
    return {"facecolor": plotting.TINTS[colour], "edgecolor": plotting.COLOURS[colour], "hatch": HATCHING}


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
