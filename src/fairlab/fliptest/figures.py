"""The figures of FlipTest: flipset marginals, transport lines, transparency rankings.

Each is drawn from one table of numbers, and beside each function that draws stands the one that makes its table.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairlab.checks import check_features
from fairlab.fliptest.flipsets import Flipset, check_pairs
from fairlab.plotting import BLACK, GREEN, GREY, LINES, ORANGE, PUBLISHED, PURPLE, SKY, YELLOW, legend_above, panels

FLIPSETS = {"positive": LINES[0] | {"symbol": "$F^+$"}, "negative": LINES[1] | {"symbol": "$F^-$"}}
MAPS = {
    "GAN": {"color": GREEN, "marker": "s"},
    "exact": {"color": BLACK, "marker": "o"},
    "counterfactual": {"color": PURPLE, "marker": "D"},
    "Seguy et al.": {"color": ORANGE, "marker": "^"},
}
_OTHERS = ({"color": SKY, "marker": "v"}, {"color": YELLOW, "marker": "P"}, {"color": GREY, "marker": "X"})
SETS = ("everyone", *FLIPSETS)


def map_looks(names: Iterable[str]) -> dict[str, dict]:
    """Return the colour and the marker of each map: always the same for those that the paper compares.

    Parameters
    ----------
    names : iterable of str
    """
    others = cycle(_OTHERS)
    return {name: MAPS[name] if name in MAPS else next(others) for name in dict.fromkeys(names)}


def marginal_table(
    X, flipset: Flipset, *, n_bins: int = 40, bands: Mapping[str, Mapping] | None = None
) -> pd.DataFrame:
    """Count people by the bins of every feature: all, those in F+, and those in F-.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
        The people that `flipset` is of.
    flipset : Flipset
    n_bins : int
        Most bins of a feature. One of whole numbers has a bin for each of them where they are fewer.
    bands : dict of str to dict, optional
        Per feature, what to call each of its values, in their order: it has a bin for each.

    Returns
    -------
    DataFrame
        A row for each bin: ``feature``, the bin's ends ``low`` and ``high`` (of a band: its place), its name ``band``,
        and numbers of people ``everyone``, ``positive`` and ``negative``.

    Raises
    ------
    ValueError
        If a feature has a value that none of its bands is for.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset
    >>> from fairlab.fliptest.figures import marginal_table
    >>> people = pd.DataFrame({"age": [10, 20, 20]})
    >>> flip = Flipset(np.array([1, 1, 0]), np.array([0, 1, 0]), people.index)
    >>> table = marginal_table(people, flip, bands={"age": {10: "under 20", 20: "20–29"}})
    >>> table[["band", "everyone", "positive"]].to_dict("list")
    {'band': ['under 20', '20–29'], 'everyone': [1, 2], 'positive': [1, 0]}
    """
    values, names = check_features(X, "X")
    members = {"everyone": np.ones(len(values), dtype=bool)}
    members |= {sign: getattr(flipset, sign) for sign in FLIPSETS}
    parts = []
    for name, column in zip(names, values.T, strict=True):
        of_feature = (bands or {}).get(name)
        if of_feature is None:
            edges, titles = _bins(column, n_bins), ""
        else:
            column, edges, titles = _in_bands(name, column, of_feature)
        counts = {key: np.histogram(column[mask], edges)[0] for key, mask in members.items()}
        place = {"feature": name, "low": edges[:-1], "high": edges[1:], "band": titles}
        parts.append(pd.DataFrame(place | counts))
    return pd.concat(parts, ignore_index=True)


def flipset_marginals(
    table: pd.DataFrame,
    *,
    labels: Mapping[str, str] | None = None,
    everyone: str = "all",
    positive: str = "advantaged",
    negative: str = "disadvantaged",
    n_columns: int = 3,
) -> Figure:
    """Draw the distribution of every feature in both flipsets against that of all people (figures 3, 4, 5 and 7).

    Parameters
    ----------
    table : DataFrame
        As `marginal_table` returns it; sizes that a paper prints in columns ``published_positive`` and
        ``published_negative``.
    labels : dict of str to str, optional
        What to call a feature on its axis, with its unit. Default: its name.
    everyone, positive, negative : str
        What to call all people, F+ and F- in the legend, which adds their numbers.
    n_columns : int
        Most panels in a row.
    """
    _check_columns(table, {"feature", "low", "high", "band", *SETS})
    features = table["feature"].unique()
    n_columns = min(n_columns, len(features))
    words = {"everyone": everyone, "positive": positive, "negative": negative}
    n_rows = -(-len(features) // n_columns)
    figure, axes = panels(n_rows, n_columns, width=6.7 / n_columns, height=2.2 if n_rows > 1 else 2.6)
    for axis in axes[len(features) :]:
        axis.remove()
    for axis, name in zip(axes, features, strict=False):
        bins = table[table["feature"] == name]
        _draw_marginal(axis, bins, words)
        axis.set_xlabel((labels or {}).get(name, name), fontsize=9)
        axis.tick_params(labelsize=8)
        axis.set_ylim(0, None)
    for axis in axes[: len(features) : n_columns]:
        axis.set_ylabel("share of each set (%)", fontsize=9)
    legend_above(figure, axes[0], n_columns=1)
    return figure


def transport_pairs(X, X_image, flipset: Flipset, *, n_lines: int = 150, random_state=0) -> pd.DataFrame:
    """Choose some people and their images at random: of everyone, of F+ and of F-.

    Parameters
    ----------
    X, X_image : DataFrame or array of shape (n_rows, 2)
        People and their images, in the units of the model.
    flipset : Flipset
    n_lines : int
        Most people of each set.
    random_state : int
        For that choice.

    Returns
    -------
    DataFrame
        A row for each person: ``set``, both features, and both of the image with ``_image`` behind their names.

    Raises
    ------
    ValueError
        If the tables do not match or have not two columns.
    """
    values, image_values, names = check_pairs(X, X_image)
    if len(names) != 2:
        raise ValueError(f"X has {len(names)} columns, a transport figure needs 2")
    rng = np.random.default_rng(random_state)
    rows = {"everyone": np.arange(len(values))}
    rows |= {sign: np.flatnonzero(getattr(flipset, sign)) for sign in FLIPSETS}
    columns = [*names, *(f"{name}_image" for name in names)]
    both = pd.DataFrame(np.hstack([values, image_values]), columns=columns)
    chosen = {name: both.iloc[_some(rng, of_set, n_lines)] for name, of_set in rows.items()}
    return pd.concat(chosen, names=["set", None]).reset_index(level=0).reset_index(drop=True)


def transport_lines(
    table: pd.DataFrame, *, coef: Sequence[float], intercept: float, labels: Sequence[str] | None = None
) -> Figure:
    """Join people to their images, everyone's above and the flipsets' below with the decision boundary (figure 1).

    Parameters
    ----------
    table : DataFrame
        As `transport_pairs` returns it.
    coef : sequence of two floats
        Weights of the linear model.
    intercept : float
        Its intercept: the boundary is where ``coef @ x + intercept`` is zero.
    labels : sequence of two str, optional
        What to call the axes, with units. Default: the columns' names.
    """
    _check_columns(table, {"set"})
    names = [name for name in table if f"{name}_image" in table]
    if len(names) != 2:
        raise ValueError(f"table: expected two features with their images, found {', '.join(names) or 'none'}")
    figure, (top, bottom) = panels(2, 1, width=6.2, height=3.2, sharex=True, sharey=True)
    looks = {"everyone": (top, {"color": GREY, "marker": "o", "label": "people"})}
    for sign, style in FLIPSETS.items():
        look = {key: style[key] for key in ("color", "marker", "linestyle")}
        looks[sign] = bottom, look | {"label": f"people in {style['symbol']}"}
    for name, (axis, look) in looks.items():
        pairs = table[table["set"] == name]
        _draw_pairs(axis, pairs[names].to_numpy(), pairs[[f"{one}_image" for one in names]].to_numpy(), **look)
    _draw_boundary(bottom, coef, intercept)
    xlabel, ylabel = labels or names
    top.set(ylabel=ylabel, title="some of all people and their images")
    bottom.set(xlabel=xlabel, ylabel=ylabel, title="some of both flipsets")
    bottom.plot([], [], color=BLACK, marker="x", linestyle="", markersize=4, label="images")
    handles = [handle for axis in (top, bottom) for handle in axis.get_legend_handles_labels()[0]]
    legend_above(figure, handles=handles, n_columns=3)
    return figure


def transparency_rankings(
    table: pd.DataFrame,
    *,
    flipset: str = "negative",
    labels: Mapping[str, str] | None = None,
    unit: str = "units of the feature",
) -> Figure:
    """Draw both quantities that rank the features of a transparency report (figures 8 to 12).

    A large mark is the mean over the maps of a kind, small ones are the maps; features stand in the order of the
    first kind's means.

    Parameters
    ----------
    table : DataFrame
        Transparency reports as `fairlab.fliptest.by_map` returns them. Maps that share a ``kind`` are one kind, without
        that column each is its own; rows of the kind ``published`` are open marks.
    flipset : {"positive", "negative"}
    labels : dict of str to str, optional
        What to call a feature. Default: its name.
    unit : str
        Unit of the mean differences.

    Raises
    ------
    ValueError
        For an unknown flipset, no report, or maps with different features.
    """
    if flipset not in FLIPSETS:
        raise ValueError(f"flipset: expected 'positive' or 'negative', found {flipset!r}")
    _check_columns(table, {"map", "flipset", "feature", "mean_difference", "mean_sign"})
    table = table if "kind" in table else table.assign(kind=table["map"])
    table = table[table["flipset"] == flipset]
    if table.empty:
        raise ValueError("table: expected at least one report, found none")
    first = table["kind"].iloc[0]
    means = table.groupby(["kind", "feature"], sort=False)[["mean_difference", "mean_sign"]].mean()
    features = list(means.loc[first].index)
    for name, of_map in table[table["kind"] != PUBLISHED["label"]].groupby("map"):
        if set(of_map["feature"]) != set(features):
            found = ", ".join(of_map["feature"])
            raise ValueError(f"table: the map {name!r} has {found}, expected {', '.join(features)}")
    kinds = {kind: of_kind["map"].nunique() for kind, of_kind in table.groupby("kind", sort=False)}
    height = 1.1 + max(0.28, 0.16 * len(kinds)) * len(features)
    figure, axes = panels(1, 2, width=3.35, height=height)
    symbol = FLIPSETS[flipset]["symbol"]
    quantities = {"mean_difference": f"mean of x − G(x) ({unit})", "mean_sign": "mean of the sign of x − G(x)"}
    for axis, (quantity, words) in zip(axes, quantities.items(), strict=True):
        order = list(means.loc[first][quantity].abs().sort_values(kind="stable", ascending=False).index)
        _draw_ranking(axis, table, kinds, quantity, order)
        axis.set_xlabel(words, fontsize=9)
        axis.set_title(f"{symbol}: {quantity.replace('_', ' ')}", fontsize=10)
        axis.set_yticks(range(len(order)), [(labels or {}).get(name, name) for name in order], fontsize=8)
        axis.set_ylim(len(order) - 0.5, -0.5)
    legend_above(figure, axes[0], n_columns=2 if len(kinds) > 2 else len(kinds))
    return figure


def _check_columns(table: pd.DataFrame, expected: set[str]) -> None:
    if missing := expected - {*table.columns}:
        raise ValueError(f"table: no column {', '.join(sorted(missing))}")


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


def _in_bands(name: str, column: np.ndarray, bands: Mapping) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the place of each value among the bands, the edges around the places, and the bands' names."""
    known = np.array(list(bands), dtype=float)
    if len(strange := np.setdiff1d(column, known)):
        raise ValueError(f"bands: {name!r} has the value {strange[0]:g}, expected one of {', '.join(map(str, bands))}")
    place = np.argsort(known)[np.searchsorted(np.sort(known), column)]
    return place, np.arange(len(known) + 1) - 0.5, list(bands.values())


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == values.round()).all())


def _draw_marginal(axis, bins: pd.DataFrame, words: Mapping[str, str]) -> None:
    edges = [*bins["low"], bins["high"].iloc[-1]]
    for name in SETS:
        total = bins[name].sum()
        share = 100 * bins[name].to_numpy() / max(total, 1)
        if name == "everyone":
            look = {"fill": True, "color": GREY, "alpha": 0.45, "linewidth": 0}
            label = f"{words[name]} ({total:,})"
        else:
            style = FLIPSETS[name]
            look = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 1.6}
            printed = bins.get(f"published_{name}")
            size = f"{total:,}" if printed is None else f"{total:,}; published {printed.iloc[0]:,}"
            label = f"{style['symbol']}, {words[name]} ({size})"
        if total:
            axis.stairs(share, edges, label=label, **look)
        else:  # nothing to draw, but its place in the legend
            axis.plot([], [], label=label, **look)
    named = [name for name in bins["band"] if isinstance(name, str) and name]
    if named:
        tilt = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(bins) > 3 else {}
        axis.set_xticks((bins["low"] + bins["high"]) / 2, named, **tilt)
    else:
        centres = ((bins["low"] + bins["high"]) / 2).to_numpy()
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=_is_whole(centres)))


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


def _draw_ranking(axis, table, kinds: Mapping[str, int], quantity: str, order: list[str]) -> None:
    axis.hlines(range(len(order)), 0, 1, transform=axis.get_yaxis_transform(), color=GREY, linewidth=0.3, zorder=0)
    axis.axvline(0, color=BLACK, linewidth=0.8)
    ours = [kind for kind in kinds if kind != PUBLISHED["label"]]
    offsets = dict(zip(ours, np.linspace(-0.25, 0.25, len(ours)) if len(ours) > 1 else [0.0], strict=True))
    looks = map_looks(ours)
    for kind, n_maps in kinds.items():
        of_kind = table[table["kind"] == kind]
        place = pd.Index(order).get_indexer(of_kind["feature"]) + offsets.get(kind, 0.0)
        if kind == PUBLISHED["label"]:
            axis.plot(of_kind[quantity], place, markersize=9, **PUBLISHED)
            continue
        if n_maps > 1:
            axis.plot(of_kind[quantity], place, linestyle="", markersize=3, alpha=0.4, **looks[kind])
        means = of_kind.groupby("feature")[quantity].mean()[order]
        label = f"{kind}, mean of {n_maps} maps and each" if n_maps > 1 else kind
        axis.plot(means, np.arange(len(order)) + offsets[kind], linestyle="", markersize=6, label=label, **looks[kind])
