"""Bar chart of verdicts, one bar per paper, for the README and the site."""

import textwrap
from collections import Counter
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairlab import plotting
from fairlab.paths import FIGURES
from fairlab.suite.comparison import COLOUR_OF, COLOURS, Comparison, label_of

HATCHING = "//////"
NARROWEST = 3.5  # percent of a bar, the least that shows a count
LONGEST_LINE = 110  # characters, of the text below the bars


def segments(card: Comparison) -> dict[tuple[str, bool], int]:
    """Count the rows in each segment of a bar, by colour and whether they are inferred."""
    counts = Counter((COLOUR_OF[row.verdict], row.is_inferred) for row in card.rows)
    return {key: counts[key] for colour in COLOURS for key in ((colour, False), (colour, True)) if counts[key]}


@mpl.rc_context({"font.size": 8})
def verdict_bars(card: Comparison, names: dict[str, str]) -> Figure:
    """Draw a bar for each paper of the rows, with a segment for each colour of verdicts; inferred rows are hatched."""
    keys = list(dict.fromkeys(row.paper for row in card.rows))
    figure, [axis] = plotting.panels(1, 1, width=6.7, height=1.1 + 0.32 * len(keys))
    for key in keys:
        own, left = card.of(key), 0.0
        label = f"{names[key]} ({len(own.rows)})"
        for segment, count in segments(own).items():
            width = 100 * count / len(own.rows)
            axis.barh(label, width, left=left, **_look(*segment))
            if width >= NARROWEST:
                colour = "white" if segment == ("blue", False) else "black"
                box = {"facecolor": "white", "linewidth": 0, "pad": 1.5} if segment[1] else None
                axis.text(left + width / 2, label, count, ha="center", va="center", color=colour, bbox=box)
            left += width
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="share of the paper's published numbers and claims (%)")
    shown = {row.verdict for row in card.rows}
    drawn = [colour for colour in COLOURS if shown.intersection(COLOURS[colour])]
    handles = [
        Patch(
            label=", ".join(label_of(verdict) for verdict in COLOURS[colour] if verdict in shown),
            **_look(colour, False),
        )
        for colour in drawn
    ]
    if any(row.is_inferred for row in card.rows):
        handles.append(Patch(label="hatched: protocol inferred from the published values", **_look("grey", True)))
    plotting.legend_above(figure, handles=handles, n_columns=2)
    return figure


def write_bars(card: Comparison, names: dict[str, str]) -> Path:
    """Write the bars with the headline below them to ``figures/verdicts.svg`` and return the file."""
    headline = card.headline()
    lines = textwrap.wrap(headline, LONGEST_LINE)
    figure, stem = verdict_bars(card, names), FIGURES / "verdicts"
    return plotting.save(figure, stem, marks=lines, title=headline, formats=["svg"])[0]


def bars_as_html(card: Comparison, names: dict[str, str]) -> str:
    """Return the bars of some rows and their headline as HTML."""
    headline = f"{card.headline()}."
    return f"<p>{headline}</p>{plotting.as_html(verdict_bars(card, names), headline)}"


def _look(colour: str, inferred: bool) -> dict:
    if not inferred:
        return {"facecolor": plotting.COLOURS[colour], "edgecolor": "white"}
    return {"facecolor": plotting.TINTS[colour], "edgecolor": plotting.COLOURS[colour], "hatch": HATCHING}
