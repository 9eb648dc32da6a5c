"""What all figures share: one palette, one style, panels, a legend above them, and how a figure is saved.

Colours are Okabe and Ito's, told apart without full colour vision; every distinction of a few kinds is also one of
marker, line style or hatching. Figures are closed for pyplot, so that a notebook shows them once.
"""

import base64
import io
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

GREY, BLUE, VERMILION, GREEN, ORANGE = "#999999", "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"

# The same, lightened, for what lies behind text.
TINTS = {"blue": "#b3d4ea", "green": "#b3e3d6", "vermilion": "#f3c9b0", "yellow": "#f7ecb0", "grey": "#e6e6e6"}

# For lines of a few kinds, in this order.
LINES = (
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": "--", "marker": "^"},
    {"color": GREEN, "linestyle": "-.", "marker": "s"},
    {"color": ORANGE, "linestyle": ":", "marker": "D"},
)
# For bars of a few kinds: colour and hatching.
BARS = ((BLUE, ""), (ORANGE, "///"), (GREEN, "..."), (GREY, "xx"))
SEQUENTIAL = "cividis"  # a colour map that grows in lightness
FORMATS = ("png", "svg")
DOTS_PER_INCH = 150


def panels(
    n_rows: int, n_columns: int, *, width: float, height: float, extra_width: float = 0.0, **options
) -> tuple[Figure, np.ndarray]:
    """Return a figure of equal panels and its axes, shape (n_rows * n_columns,), row by row.

    Parameters
    ----------
    n_rows, n_columns : int
    width, height : float
        Of one panel, in inches.
    extra_width : float
        Of the whole figure, for what stands beside the panels.
    **options
        Of `matplotlib.pyplot.subplots`, such as ``sharey``.
    """
    size = (width * n_columns + extra_width, height * n_rows)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options)
    plt.close(figure)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes.ravel()


def legend_above(figure: Figure, axis=None, *, handles=None, n_columns: int | None = None) -> None:
    """Put one legend above all panels: that of `axis`, or of `handles`."""
    if handles is None:
        handles, labels = axis.get_legend_handles_labels()
    else:
        labels = [handle.get_label() for handle in handles]
    columns = n_columns or len(labels)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)


def legend_beside(axis, **options) -> None:
    """Put the legend of `axis` to its right, where it covers nothing."""
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, **options)


def save(figure: Figure, stem: Path, *, salt: str = "fairlab") -> list[Path]:
    """Write ``<stem>.png`` and ``<stem>.svg``, the same bytes for a figure drawn in the same way, and return both.

    Parameters
    ----------
    figure : Figure
    stem : Path
        Without a suffix.
    salt : str
        Makes the ids inside the SVG; without one, and with a date, every run would write another file.
    """
    files = []
    with mpl.rc_context({"svg.hashsalt": salt}):
        for suffix in FORMATS:
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            files.append(stem.with_name(f"{stem.name}.{suffix}"))
            figure.savefig(files[-1], dpi=DOTS_PER_INCH, bbox_inches="tight", metadata=metadata)
    return files


def as_html(figure: Figure, alt: str = "") -> str:
    """Return a figure as an ``<img>`` element that needs no other file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    code = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{alt}" src="data:image/png;base64,{code}">'
