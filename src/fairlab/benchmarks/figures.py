"""The one figure that the benchmarks draw, as an experiment draws its own."""

import pandas as pd
from matplotlib.figure import Figure

from fairlab.plotting import LINES, panels


def line(frame: pd.DataFrame) -> Figure:
    """Draw the column ``y`` over ``x``.

    Examples
    --------
    >>> from fairlab.benchmarks.figures import line
    >>> len(line(pd.DataFrame({"x": [0, 1], "y": [0, 1]})).axes)
    1
    """
    figure, [axis] = panels(1, 1, width=4, height=2.5)
    axis.plot(frame["x"], frame["y"], **LINES[0])
    axis.set(xlabel="x", ylabel="y")
    return figure
