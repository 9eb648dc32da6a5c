"""The figures of FlipTest: flipset marginals, transport lines, transparency reports."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairlab.checks import check_features
from fairlab.fliptest.flipsets import Flipset, check_pairs
from fairlab.fliptest.transparency import TransparencyReport
from fairlab.plotting import BARS, BLACK, GREY, LINES, legend_above, legend_beside, panels

_SIGNS = {"positive": LINES[0] | {"symbol": "$F^+$"}, "negative": LINES[1] | {"symbol": "$F^-$"}}


def flipset_marginals(
    X,
    flipset: Flipset,
    *,
    labels: Mapping[str, str] | None = None,
    everyone: str = "all",
    positive: str = "advantaged",
    negative: str = "disadvantaged",
    n_bins: int = 40,
    n_columns: int | None = None,
) -> Figure:
    """Draw the distribution of every feature in both flipsets against that of all people (figures 3, 4, 5 and 7).

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
        The people that `flipset` is of.
    flipset : Flipset
    labels : dict of str to str, optional
        What to call a feature on its axis, with its unit. Default: its name.
    everyone, positive, negative : str
        What to call all people, F+ and F- in the legend, which adds their numbers.
    n_bins : int
        Most bins of each histogram; its edges are common to the three.
    n_columns : int, optional
        Panels per row. Default: all in one row.
    """
    values, names = check_features(X, "X")
    n_columns = n_columns or len(names)
    figure, axes = panels(-(-len(names) // n_columns), n_columns, width=4.2, height=3.2, sharey=False)
    for axis in axes[len(names) :]:
        axis.remove()
    for axis, name, column in zip(axes, names, values.T, strict=False):
        bins = _bins(column, n_bins)
        axis.hist(column, bins, density=True, color=GREY, alpha=0.45, label=f"{everyone} ({len(column):,})")
        for sign, words in (("positive", positive), ("negative", negative)):
            members, style = column[getattr(flipset, sign)], _SIGNS[sign]
            label = f"{style['symbol']}, {words} ({len(members):,})"
            line = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 1.8, "label": label}
            if len(members):
                axis.hist(members, bins, density=True, histtype="step", **line)
            else:  # no density, but its place in the legend
                axis.plot([], [], **line)
        axis.set(xlabel=(labels or {}).get(name, name))
        axis.xaxis.set_major_locator(MaxNLocator("auto", integer=_is_whole(column)))
    for axis in axes[: len(names) : n_columns]:
        axis.set_ylabel("density")
    legend_above(figure, axes[0])
    return figure


def transport_lines(
    X,
    X_image,
    flipset: Flipset,
    *,
    coef,
    intercept: float,
    labels: Sequence[str] | None = None,
    n_lines: int = 150,
    random_state=0,
) -> Figure:
    """Join people to their images, everyone's above and the flipsets' below with the decision boundary (figure 1).

    Parameters
    ----------
    X, X_image : DataFrame or array of shape (n_rows, 2)
        People and their images, in the units of the model.
    flipset : Flipset
    coef : array-like of shape (2,)
        Weights of the linear model.
    intercept : float
        Its intercept: the boundary is where ``coef @ x + intercept`` is zero.
    labels : sequence of two str, optional
        What to call the axes, with units. Default: the columns' names.
    n_lines : int
        Most pairs that are drawn in each panel, chosen at random.
    random_state : int
        For that choice.

    Raises
    ------
    ValueError
        If the tables do not match or have not two columns.
    """
    values, image_values, names = check_pairs(X, X_image)
    if len(names) != 2:
        raise ValueError(f"X has {len(names)} columns, a transport figure needs 2")
    rng = np.random.default_rng(random_state)
    figure, (top, bottom) = panels(2, 1, width=6.4, height=3.6, sharex=True, sharey=True)
    chosen = _some(rng, np.arange(len(values)), n_lines)
    _draw_pairs(top, values[chosen], image_values[chosen], color=GREY, marker="o", label="people")
    for sign, style in _SIGNS.items():
        chosen = _some(rng, np.flatnonzero(getattr(flipset, sign)), n_lines)
        look = {"color": style["color"], "marker": style["marker"], "linestyle": style["linestyle"]}
        _draw_pairs(bottom, values[chosen], image_values[chosen], label=style["symbol"], **look)
    _draw_boundary(bottom, coef, intercept)
    xlabel, ylabel = labels or names
    bottom.set(xlabel=xlabel, ylabel=ylabel)
    top.set(ylabel=ylabel, title="transport")
    bottom.set(title="flipsets")
    for axis in (top, bottom):
        axis.plot([], [], color=BLACK, marker="x", linestyle="", markersize=4, label="images")
        legend_beside(axis)
    return figure


def transparency_bars(
    reports: Mapping[str, TransparencyReport],
    *,
    flipset: str = "negative",
    labels: Mapping[str, str] | None = None,
    unit: str = "units of the feature",
) -> Figure:
    """Draw both rankings of one flipset's transparency report, for one or several maps (figures 8 to 12).

    Parameters
    ----------
    reports : dict of str to TransparencyReport
        Per map, its name and its report, over the same features.
    flipset : {"positive", "negative"}
    labels : dict of str to str, optional
        What to call a feature. Default: its name.
    unit : str
        Unit of the mean differences.

    Raises
    ------
    ValueError
        For an unknown flipset, no report, or reports over different features.
    """
    if flipset not in _SIGNS:
        raise ValueError(f"flipset: expected 'positive' or 'negative', found {flipset!r}")
    if not reports:
        raise ValueError("reports: expected at least one, found none")
    tables = {name: getattr(report, flipset) for name, report in reports.items()}
    features = next(iter(tables.values())).index
    for name, table in tables.items():
        if set(table.index) != set(features):
            raise ValueError(f"reports: {name!r} is over {', '.join(table.index)}, expected {', '.join(features)}")
    figure, axes = panels(1, 2, width=4.4, height=1.4 + 0.3 * len(features) * len(tables))
    symbol = _SIGNS[flipset]["symbol"]
    for axis, quantity, words in zip(
        axes,
        ("mean_difference", "mean_sign"),
        (f"mean of x − G(x), {unit}", "mean of sign(x − G(x))"),
        strict=True,
    ):
        order = next(iter(tables.values()))[quantity].abs().sort_values(kind="stable", ascending=False).index[::-1]
        _draw_bars(axis, {name: table.loc[order, quantity] for name, table in tables.items()})
        axis.set(xlabel=words, title=f"{symbol}: {quantity.replace('_', ' ')}")
        axis.set_yticks(range(len(order)), [(labels or {}).get(feature, feature) for feature in order])
    if len(tables) > 1:
        legend_above(figure, axes[0])
    return figure


def _bins(column: np.ndarray, n_bins: int) -> np.ndarray:
    """Return bin edges with round numbers amid them, so that values on a grid of whole numbers have one bin each."""
    values = np.unique(column)
    if _is_whole(values):
        step = np.gcd.reduce(np.diff(values).astype(int)) or 1
        if np.ptp(values) / step < n_bins:
            return np.arange(values[0] - step / 2, values[-1] + step, step)
    centres = MaxNLocator(n_bins, steps=[1, 2, 5, 10]).tick_values(values[0], values[-1])
    width = centres[1] - centres[0]
    return np.append(centres, centres[-1] + width) - width / 2


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == values.round()).all())


def _some(rng: np.random.Generator, rows: np.ndarray, n_most: int) -> np.ndarray:
    return rows if len(rows) <= n_most else rng.choice(rows, n_most, replace=False)


def _draw_pairs(axis, points, images, *, color, marker, label, linestyle="-") -> None:
    lines = LineCollection(np.stack([points, images], axis=1), colors=color, linestyles=linestyle, linewidths=0.5)
    axis.add_collection(lines)
    axis.plot(*points.T, color=color, marker=marker, linestyle="", markersize=3, label=label)
    axis.plot(*images.T, color=BLACK, marker="x", linestyle="", markersize=3, alpha=0.7)


def _draw_boundary(axis, coef, intercept: float) -> None:
    first, second = np.asarray(coef, dtype=float)
    look = {"color": BLACK, "linestyle": "-.", "linewidth": 1.5, "label": "decision boundary"}
    if second == 0:
        axis.axvline(-intercept / first, **look)
    else:
        axis.axline((0, -intercept / second), slope=-first / second, **look)


def _draw_bars(axis, values: dict) -> None:
    height = 0.8 / len(values)
    for i, ((name, column), (color, hatch)) in enumerate(zip(values.items(), cycle(BARS), strict=False)):
        position = np.arange(len(column)) + 0.4 - height * (i + 0.5)
        axis.barh(position, column, height, color=color, hatch=hatch, edgecolor="white", label=name)
    axis.axvline(0, color=BLACK, linewidth=0.8)
