"""Bar chart of verdicts, one bar per paper, for the README and the site."""

import textwrap
from collections import Counter
from itertools import product
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairlab import plotting
from fairlab.paths import project
from fairlab.suite.comparison import Comparison
from fairlab.suite.verdicts import LOOKS, label_of

HATCHING = "//////"
NARROWEST = 3.5  # percent of a bar, the least that shows a count
LONGEST_LINE = 110  # characters, of the text below the bars


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
