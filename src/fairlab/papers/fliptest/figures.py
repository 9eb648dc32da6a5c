"""Figures of the paper alone: fixed points, predictions before and after, a single feature, flips by features.

Each is drawn from one table; where a study does not have it as it is, a function here makes it.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.stats import gaussian_kde

from fairlab.checks import check_features
from fairlab.fliptest.figures import FLIPSETS, map_looks
from fairlab.plotting import BLACK, GREY, PUBLISHED, SKY, TINTS, YELLOW, legend_above, panels

# Chicago's list: what its values are called, and what its predictors are counted in.
BANDS = {
    "age": {10: "under 20"} | {age: f"{age}–{age + 9}" for age in range(20, 80, 10)},
    "gang_affiliation": {0: "no", 1: "yes"},
}
LIST_LABELS = {
    "age": "age at latest arrest (years)",
    "shooting_victim": "victim of shootings (times)",
    "assault_victim": "victim of assaults (times)",
    "violent_arrests": "violent arrests (number)",
    "gang_affiliation": "gang affiliation",
    "narcotics_arrests": "narcotics arrests (number)",
    "crime_trend": "crime trend (list's scale)",
    "weapons_arrests": "weapons arrests (number)",
}
# Classifiers of section 5.1, in colours that no flipset and no map has.
CLASSIFIERS = ((SKY, "v", "-"), (GREY, "P", "--"), (YELLOW, "X", "-."), (TINTS["vermilion"], "h", ":"))


def printed_sizes(published: pd.DataFrame, prefix: str = "") -> dict[str, int]:
    """Return the printed sizes of both flipsets by the columns of `fairlab.fliptest.figures.flipset_marginals`.

    Parameters
    ----------
    published : DataFrame
        As `fairlab.Experiment.published` returns it.
    prefix : str
        Of the ids.
    """
    ids = {"positive": f"{prefix}f_plus", "negative": f"{prefix}f_minus"}
    return {f"published_{sign}": int(published.loc[id, "value"]) for sign, id in ids.items()}


def by_dimension(
    table: pd.DataFrame,
    *,
    quantity: str,
    ylabel: str,
    log: bool = False,
    reference: float | None = None,
) -> Figure:
    """Draw a quantity of every coordinate against the dimension, one panel per kind of features (figure 2).

    Parameters
    ----------
    table : DataFrame
        Columns ``features``, the panel's title, ``map``, ``dimension`` and `quantity`, one row per point.
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
        If a column is missing or there is no row.
    """
    _check_columns(table, {"features", "map", "dimension", quantity})
    titles = table["features"].unique()
    looks = map_looks(table["map"])
    dimensions = sorted(table["dimension"].unique())
    figure, axes = panels(1, len(titles), width=6.7 / len(titles), height=3.3, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        if reference is not None:
            axis.axhline(reference, color=BLACK, linewidth=0.8, linestyle=":")
        for i, (name, look) in enumerate(looks.items()):
            points = table[(table["features"] == title) & (table["map"] == name)]
            beside = 1.12 ** (i - (len(looks) - 1) / 2)  # so that the maps of one dimension do not hide each other
            place = points["dimension"] * beside
            axis.plot(place, points[quantity], linestyle="", markersize=4, alpha=0.6, label=name, **look)
        axis.set(title=title, xlabel="dimensions (number of features)", xscale="log")
        axis.set_xticks(dimensions, [str(dimension) for dimension in dimensions])
        axis.xaxis.set_minor_locator(NullLocator())
    axes[0].set_ylabel(ylabel, fontsize=9)
    axes[0].set_yscale("log" if log else "linear")
    legend_above(figure, axes[0])
    return figure


def density_table(before: np.ndarray, after: Mapping[str, np.ndarray], *, n_points: int = 150) -> pd.DataFrame:
    """Estimate the density of a model's predictions for people, and for their images under some maps (figure 6).

    Parameters
    ----------
    before : array-like of shape (n,)
        Predictions for people.
    after : dict of str to array-like of shape (n,)
        Per map, those for their images.
    n_points : int
        At how many predictions.

    Returns
    -------
    DataFrame
        Columns ``map``, ``prediction``, and the densities ``before`` and ``after``, per unit of the prediction.

    Raises
    ------
    ValueError
        If predictions are missing, or all equal so that they have no density.
    """
    pooled = np.concatenate([before, *after.values()])
    margin = 0.08 * np.ptp(pooled)
    grid = np.linspace(pooled.min() - margin, pooled.max() + margin, n_points)
    densities = {"before": _density(before, grid, "of people")}
    rows = {
        name: pd.DataFrame({"prediction": grid} | densities | {"after": _density(values, grid, f"under {name}")})
        for name, values in after.items()
    }
    return pd.concat(rows, names=["map", None]).reset_index(level=0).reset_index(drop=True)


def prediction_densities(
    table: pd.DataFrame, *, xlabel: str, titles: Mapping[str, str] | None = None, before: str = "as observed"
) -> Figure:
    """Draw the density of a model's predictions before and after a map, one panel per map (figure 6).

    Parameters
    ----------
    table : DataFrame
        As `density_table` returns it.
    xlabel : str
        What is predicted, with its unit.
    titles : dict of str to str, optional
        What to call a map.
    before : str
        What to call the people in the legend.
    """
    _check_columns(table, {"map", "prediction", "before", "after"})
    looks = map_looks(table["map"])
    figure, axes = panels(1, len(looks), width=6.7 / len(looks), height=2.6, sharex=True, sharey=True)
    handles = []
    for axis, (name, look) in zip(axes, looks.items(), strict=True):
        rows = table[table["map"] == name]
        title = (titles or {}).get(name, name)
        axis.fill_between(rows["prediction"], rows["before"], color=GREY, alpha=0.45, linewidth=0, label=before)
        line = {"color": look["color"], "marker": look["marker"], "markevery": 15, "markersize": 4, "linewidth": 1.6}
        axis.plot(rows["prediction"], rows["after"], label=f"under the {title}", **line)
        axis.set_title(title, fontsize=10)
        handles += axis.get_legend_handles_labels()[0][bool(handles) :]
    figure.supxlabel(xlabel, fontsize=10)
    axes[0].set(ylabel="density (per sd)", ylim=(0, None))
    legend_above(figure, handles=handles, n_columns=2)
    return figure


def one_feature_table(x, exact, learnt: Mapping[str, np.ndarray], *, most: float = np.inf) -> pd.DataFrame:
    """Gather where maps send the values of a single feature.

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature of one group.
    exact : array-like of shape (n,)
        Its image under the exact map.
    learnt : dict of str to array-like of shape (n,)
        Per map, its name and its images, which depend on `x` alone.
    most : float
        Largest value of `x` to keep.

    Returns
    -------
    DataFrame
        Columns ``map``, ``value``, ``image`` and ``people``: for the map ``exact`` a row for each pair of value and
        image, for the others one for each value.

    Raises
    ------
    ValueError
        If an image has not one value per value of `x`.
    """
    x = np.asarray(x, dtype=float)
    for name, image in {"exact": exact, **learnt}.items():
        if np.shape(image) != x.shape:
            raise ValueError(f"{name}: has shape {np.shape(image)}, expected that of x, {x.shape}")
    kept = x <= most
    pairs, counts = np.unique(np.column_stack([x, exact])[kept], axis=0, return_counts=True)
    parts = [pd.DataFrame({"map": "exact", "value": pairs[:, 0], "image": pairs[:, 1], "people": counts})]
    values, rows, counts = np.unique(x[kept], return_index=True, return_counts=True)
    for name, image in learnt.items():
        of_kept = np.asarray(image, dtype=float)[kept][rows]
        parts.append(pd.DataFrame({"map": name, "value": values, "image": of_kept, "people": counts}))
    return pd.concat(parts, ignore_index=True)


def maps_of_one_feature(table: pd.DataFrame, *, xlabel: str, ylabel: str) -> Figure:
    """Draw where maps send the values of a single feature: the exact map's pairs as dots, learnt maps as lines.

    Parameters
    ----------
    table : DataFrame
        As `one_feature_table` returns it.
    xlabel, ylabel : str
        What to call the axes, with units.
    """
    _check_columns(table, {"map", "value", "image", "people"})
    figure, (axis,) = panels(1, 1, width=6, height=3.6)
    exact, learnt = (table[(table["map"] == "exact") == side] for side in (True, False))
    areas = 400 * exact["people"] / exact["people"].max()
    dots = {"color": map_looks(["exact"])["exact"]["color"], "alpha": 0.3, "linewidths": 0}
    axis.scatter(exact["value"], exact["image"], areas, label="exact, area: people", **dots)
    look = map_looks(["GAN"])["GAN"]
    n_maps = learnt["map"].nunique()
    for i, (_, rows) in enumerate(learnt.groupby("map", sort=False)):
        label = f"GAN, {n_maps} maps before rounding" if i == 0 else None
        axis.plot(rows["value"], rows["image"], linewidth=1, alpha=0.7, markersize=3, label=label, **look)
    values = np.unique(table["value"])
    axis.plot(values, values, color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)), label="nobody moves")
    top = max(values.max(), learnt["image"].max() if n_maps else 0.0)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(None, top * 1.05))
    legend_above(figure, axis)
    return figure


def flips_by_features(table: pd.DataFrame) -> Figure:
    """Draw which share of the people a map flips, against the number of features (section 5.1).

    Parameters
    ----------
    table : DataFrame
        One row per trial: columns ``features``, ``model``, and shares ``F+`` and ``F−``. A row whose model is
        ``published`` is a line across with an open mark: the paper does not tell its number of features.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(table, {"features", "model", "F+", "F−"})
    published = table[table["model"] == PUBLISHED["label"]]
    ours = table[table["model"] != PUBLISHED["label"]]
    figure, axes = panels(1, 2, width=3.35, height=3, sharex=True, sharey=True)
    for axis, sign in zip(axes, ("F+", "F−"), strict=True):
        for share in 100 * published[sign]:
            axis.axhline(share, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
            label = "published (number of features not told)"
            axis.plot([1], [share], transform=axis.get_yaxis_transform(), clip_on=False, **PUBLISHED | {"label": label})
        for (name, of_model), (color, marker, line) in zip(
            ours.groupby("model", sort=False), CLASSIFIERS, strict=False
        ):
            mean = 100 * of_model.groupby("features")[sign].mean()
            label = f"{name}, mean and each map"
            look = {"color": color, "marker": marker, "linestyle": line, "linewidth": 1.2, "markersize": 6}
            axis.plot(mean.index, mean, label=label, **look)
            look = {"color": color, "marker": marker, "markersize": 3, "linestyle": "", "alpha": 0.5}
            axis.plot(of_model["features"], 100 * of_model[sign], **look)
        symbol = FLIPSETS["positive" if sign == "F+" else "negative"]["symbol"]
        axis.set(title=symbol, xlabel="number of features")
    axes[0].set(ylabel="share of the people (%)", ylim=(0, None))
    legend_above(figure, axes[0], n_columns=2)
    return figure


def _check_columns(table: pd.DataFrame, expected: set[str]) -> None:
    if missing := expected - {*table.columns}:
        raise ValueError(f"table: no column {', '.join(sorted(missing))}")
    if table.empty:
        raise ValueError("table: expected at least one row, found none")


def _density(values, grid: np.ndarray, words: str) -> np.ndarray:
    name = f"predictions {words}"
    checked, _ = check_features(np.reshape(values, (-1, 1)), name, min_rows=2, varying=True)
    return gaussian_kde(checked[:, 0])(grid)
