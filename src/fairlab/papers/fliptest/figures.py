"""Figures of the paper alone: fixed points, predictions before and after, a single feature, flips by features."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.stats import gaussian_kde

from fairlab.checks import check_features
from fairlab.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, legend_above, legend_beside, panels


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
    figure, axes = panels(1, len(tables), width=4.4, height=3.4, sharex=True, sharey=True)
    looks = list(zip((VERMILION, GREEN, BLUE, ORANGE), "^sox", strict=True))
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        if reference is not None:
            axis.axhline(reference, color=BLACK, linewidth=0.8, linestyle=":")
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
    legend_above(figure, axes[0])
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
    figure, axes = panels(1, len(predictions), width=4.2, height=3.2, sharex=True, sharey=True)
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
    legend_above(figure, axes[0])
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
    figure, (axis,) = panels(1, 1, width=6.4, height=4)
    pairs, counts = np.unique(np.column_stack([x, exact])[x <= most], axis=0, return_counts=True)
    areas = 400 * counts / counts.max()
    axis.scatter(*pairs.T, areas, color=GREY, alpha=0.6, linewidths=0, label="exact, area: people")
    values, rows = np.unique(x, return_index=True)
    values, rows = values[values <= most], rows[values <= most]
    looks = zip(cycle((BLUE, VERMILION, GREEN, ORANGE, BLACK)), cycle(("-", "--", "-.", ":")), strict=False)
    for (name, image), (color, style) in zip(learnt.items(), looks, strict=False):
        axis.plot(values, np.asarray(image)[rows], color=color, linestyle=style, linewidth=1.5, label=name)
    axis.plot(values, values, color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)), label="nobody moves")
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(None, values.max() * 1.05))
    legend_beside(axis)
    return figure


def flips_by_features(series: pd.DataFrame, printed: Mapping[str, float]) -> Figure:
    """Draw which share of the people a map flips, against the number of features (section 5.1).

    Parameters
    ----------
    series : DataFrame
        One row per trial: columns ``features``, ``model``, and shares ``F+`` and ``F−``.
    printed : dict of str to float
        The published shares, dotted lines across.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    if missing := {"features", "model", "F+", "F−"} - {*series.columns}:
        raise ValueError(f"series: no column {', '.join(sorted(missing))}")
    figure, axes = panels(1, 2, width=4.2, height=3.4, sharex=True, sharey=True)
    for axis, sign in zip(axes, ("F+", "F−"), strict=True):
        axis.axhline(100 * printed[sign], color=BLACK, linewidth=0.8, linestyle=":", label="printed")
        looks = zip(series.groupby("model", sort=False), (BLUE, VERMILION, GREEN, ORANGE), "osx^", strict=False)
        for (name, of_model), color, marker in looks:
            mean = 100 * of_model.groupby("features")[sign].mean()
            axis.plot(mean.index, mean, color=color, linewidth=1.2, marker=marker, markersize=5, label=name)
            look = {"color": color, "marker": marker, "markersize": 3, "linestyle": "", "alpha": 0.5}
            axis.plot(of_model["features"], 100 * of_model[sign], **look)
        axis.set(title=sign, xlabel="number of features")
    axes[0].set(ylabel="share of the people (%)", ylim=(0, None))
    legend_above(figure, axes[0])
    return figure


def _padded(values: np.ndarray) -> tuple[float, float]:
    margin = 0.08 * np.ptp(values)
    return values.min() - margin, values.max() + margin
