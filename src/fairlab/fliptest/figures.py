"""The figures of FlipTest: flipset marginals, transport lines, predictions before and after, transparency reports.

Colours are of Okabe and Ito's palette, and every distinction is also one of line style, marker or hatching. Figures are
closed for pyplot, so that a notebook shows them once.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from scipy.stats import gaussian_kde

from fairlab.checks import check_features
from fairlab.fliptest.flipsets import Flipset, check_pairs
from fairlab.fliptest.transparency import TransparencyReport

GREY, BLUE, VERMILION, GREEN, ORANGE = "#999999", "#0072B2", "#D55E00", "#009E73", "#E69F00"
_SIGNS = {
    "positive": {"color": BLUE, "linestyle": "-", "marker": "o", "symbol": "$F^+$"},
    "negative": {"color": VERMILION, "linestyle": "--", "marker": "^", "symbol": "$F^-$"},
}


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
    figure, axes = _panels(-(-len(names) // n_columns), n_columns, width=4.2, height=3.2, sharey=False)
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
    _legend_above(figure, axes[0])
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
    figure, (top, bottom) = _panels(2, 1, width=6.4, height=3.6, sharex=True, sharey=True)
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
        axis.plot([], [], color="black", marker="x", linestyle="", markersize=4, label="images")
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def prediction_densities(
    predictions: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    xlabel: str,
    before: str = "as observed",
    after: str = "after the map",
) -> Figure:
    """Draw the density of a model's predictions before and after a map, one panel per map (figure 6).

    Parameters
    ----------
    predictions : dict of str to (array, array)
        Per map, its title, and the predictions for people and for their images.
    xlabel : str
        What is predicted, with its unit.
    before, after : str
        What to call both in the legend.

    Raises
    ------
    ValueError
        If predictions are missing, or all equal so that they have no density.
    """
    figure, axes = _panels(1, len(predictions), width=4.2, height=3.2, sharex=True, sharey=True)
    pooled = np.concatenate([np.concatenate(pair) for pair in predictions.values()])
    grid = np.linspace(*_padded(pooled), 400)
    for axis, (title, pair) in zip(axes, predictions.items(), strict=True):
        for values, label, color, style in zip(pair, (before, after), (BLUE, VERMILION), ("-", "--"), strict=True):
            checked, _ = check_features(np.reshape(values, (-1, 1)), f"predictions {label}", min_rows=2, varying=True)
            density = gaussian_kde(checked[:, 0])(grid)
            axis.plot(grid, density, color=color, linestyle=style, linewidth=1.8, label=label)
            axis.fill_between(grid, density, color=color, alpha=0.15, linewidth=0)
        axis.set(title=title, xlabel=xlabel)
    axes[0].set(ylabel="density", ylim=(0, None))
    _legend_above(figure, axes[0])
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
    figure, axes = _panels(1, 2, width=4.4, height=1.4 + 0.3 * len(features) * len(tables))
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
        _legend_above(figure, axes[0])
    return figure


def by_dimension(
    tables: Mapping[str, pd.DataFrame],
    *,
    quantity: str,
    ylabel: str,
    log: bool = False,
    reference: float | None = None,
) -> Figure:
    """Draw a quantity of every coordinate against the dimension, one panel per table, one colour per map (figure 2).

    Parameters
    ----------
    tables : dict of str to DataFrame
        Per panel, its title, and a table with columns ``map``, ``dimension`` and `quantity`, one row per point.
    quantity : str
    ylabel : str
        What it is, with its unit.
    log : bool
        Whether its axis is logarithmic; that of the dimension always is.
    reference : float, optional
        Where to draw a thin line across: the value of a map that moves nobody.

    Raises
    ------
    ValueError
        If there is no table, or a column is missing.
    """
    if not tables:
        raise ValueError("tables: expected at least one, found none")
    for title, table in tables.items():
        if missing := {"map", "dimension", quantity} - {*table.columns}:
            raise ValueError(f"tables[{title!r}]: no column {', '.join(sorted(missing))}")
    maps = list(dict.fromkeys(name for table in tables.values() for name in table["map"]))
    dimensions = sorted({dimension for table in tables.values() for dimension in table["dimension"]})
    figure, axes = _panels(1, len(tables), width=4.4, height=3.4, sharex=True, sharey=True)
    looks = list(zip((VERMILION, GREEN, BLUE, ORANGE), "^sox", strict=True))
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        if reference is not None:
            axis.axhline(reference, color="black", linewidth=0.8, linestyle=":")
        for i, (name, (color, marker)) in enumerate(zip(maps, looks, strict=False)):
            points = table[table["map"] == name]
            beside = 1.12 ** (i - (len(maps) - 1) / 2)  # so that the maps of one dimension do not hide each other
            place = points["dimension"] * beside
            look = {"color": color, "marker": marker, "linestyle": "", "markersize": 5, "alpha": 0.7}
            axis.plot(place, points[quantity], **look, markerfacecolor="none", label=name)
        axis.set(title=title, xlabel="dimensions (number of features)", xscale="log")
        axis.set_xticks(dimensions, [str(dimension) for dimension in dimensions])
        axis.xaxis.set_minor_locator(NullLocator())
    axes[0].set(ylabel=ylabel, yscale="log" if log else "linear")
    _legend_above(figure, axes[0])
    return figure


def maps_of_one_feature(
    x, exact, learnt: Mapping[str, np.ndarray], *, xlabel: str, ylabel: str, most: float = np.inf
) -> Figure:
    """Draw where maps send the values of a single feature: the exact map's pairs as dots, learnt maps as lines.

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature of one group.
    exact : array-like of shape (n,)
        Its image under the exact map; the area of a dot is the number of people with that pair.
    learnt : dict of str to array-like of shape (n,)
        Per map, its name and its images, which depend on `x` alone.
    xlabel, ylabel : str
        What to call the axes, with units.
    most : float
        Largest value of `x` that is drawn.

    Raises
    ------
    ValueError
        If an image has not one value per value of `x`.
    """
    x = np.asarray(x, dtype=float)
    for name, image in {"exact": exact, **learnt}.items():
        if np.shape(image) != x.shape:
            raise ValueError(f"{name}: has shape {np.shape(image)}, expected that of x, {x.shape}")
    figure, (axis,) = _panels(1, 1, width=6.4, height=4)
    pairs, counts = np.unique(np.column_stack([x, exact])[x <= most], axis=0, return_counts=True)
    areas = 400 * counts / counts.max()
    axis.scatter(*pairs.T, areas, color=GREY, alpha=0.6, linewidths=0, label="exact, area: people")
    values, rows = np.unique(x, return_index=True)
    values, rows = values[values <= most], rows[values <= most]
    looks = zip(cycle((BLUE, VERMILION, GREEN, ORANGE, "black")), cycle(("-", "--", "-.", ":")), strict=False)
    for (name, image), (color, style) in zip(learnt.items(), looks, strict=False):
        axis.plot(values, np.asarray(image)[rows], color=color, linestyle=style, linewidth=1.5, label=name)
    axis.plot(values, values, color="black", linewidth=0.8, linestyle=(0, (1, 3)), label="nobody moves")
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(None, values.max() * 1.05))
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _panels(n_rows: int, n_columns: int, *, width: float, height: float, **share) -> tuple[Figure, np.ndarray]:
    size = (width * n_columns, height * n_rows)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **share)
    plt.close(figure)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes.ravel()


def _legend_above(figure: Figure, axis) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)


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


def _padded(values: np.ndarray) -> tuple[float, float]:
    margin = 0.08 * np.ptp(values)
    return values.min() - margin, values.max() + margin


def _some(rng: np.random.Generator, rows: np.ndarray, n_most: int) -> np.ndarray:
    return rows if len(rows) <= n_most else rng.choice(rows, n_most, replace=False)


def _draw_pairs(axis, points, images, *, color, marker, label, linestyle="-") -> None:
    lines = LineCollection(np.stack([points, images], axis=1), colors=color, linestyles=linestyle, linewidths=0.5)
    axis.add_collection(lines)
    axis.plot(*points.T, color=color, marker=marker, linestyle="", markersize=3, label=label)
    axis.plot(*images.T, color="black", marker="x", linestyle="", markersize=3, alpha=0.7)


def _draw_boundary(axis, coef, intercept: float) -> None:
    first, second = np.asarray(coef, dtype=float)
    look = {"color": "black", "linestyle": "-.", "linewidth": 1.5, "label": "decision boundary"}
    if second == 0:
        axis.axvline(-intercept / first, **look)
    else:
        axis.axline((0, -intercept / second), slope=-first / second, **look)


def _draw_bars(axis, values: dict) -> None:
    height = 0.8 / len(values)
    looks = cycle(zip((BLUE, ORANGE, GREEN, GREY), ("", "///", "...", "xx"), strict=True))
    for i, ((name, column), (color, hatch)) in enumerate(zip(values.items(), looks, strict=False)):
        position = np.arange(len(column)) + 0.4 - height * (i + 0.5)
        axis.barh(position, column, height, color=color, hatch=hatch, edgecolor="white", label=name)
    axis.axvline(0, color="black", linewidth=0.8)
