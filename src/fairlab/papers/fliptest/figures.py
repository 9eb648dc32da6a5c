"""Figures that several of FlipTest's notebooks draw: flipsets by feature, and transparency reports."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairlab.fliptest.flipsets import Flipset
from fairlab.plotting import BLACK, GREEN, GREY, LINES, PURPLE, legend_below, panels

FLIPSETS = {"F+": LINES[0], "F−": LINES[1]}
MAPS = {
    "GAN": {"color": GREEN, "marker": "s"},
    "exact": {"color": BLACK, "marker": "o"},
    "counterfactual": {"color": PURPLE, "marker": "D"},
}
SETS = ("everyone", *FLIPSETS)
FEW = 50  # people; a smaller flipset has a mark for each bin and no outline
RARE = 0.5  # percent; bins at either end with a smaller share of every set are not drawn
N_BINS = 40


def marginal_counts(X: pd.DataFrame, flip: Flipset, bands: Mapping[str, Mapping] | None = None) -> pd.DataFrame:
    """Count people by the bins of every feature: all (``everyone``), those in F+, and those in F−.

    Values on a grid have a bin each; for a feature in `bands`, the named values replace the bins.

    Parameters
    ----------
    X : DataFrame of shape (n_people, n_features)
    flip : Flipset
        Flipset of these people.
    bands : dict of str to dict, optional
        By feature, names of its values.
    """
    members = {"everyone": np.ones(len(X), dtype=bool), "F+": flip.positive, "F−": flip.negative}
    parts = []
    for name, column in X.items():
        titles = (bands or {}).get(name, {})
        edges = np.arange(len(titles) + 1) - 0.5 if titles else _edges(column.to_numpy(dtype=float))
        place = column.map(dict(zip(titles, range(len(titles)), strict=True))) if titles else column
        counts = {key: np.histogram(place[mask], edges)[0] for key, mask in members.items()}
        bins = {"feature": name, "low": edges[:-1], "high": edges[1:], "band": list(titles.values()) or ""}
        parts.append(pd.DataFrame(bins | counts))
    return pd.concat(parts, ignore_index=True)


def flipset_marginals(
    X: pd.DataFrame,
    flip: Flipset,
    *,
    labels: Mapping[str, str],
    names: Mapping[str, str],
    published: tuple[float, float],
    bands: Mapping[str, Mapping] | None = None,
    n_columns: int = 3,
) -> tuple[Figure, pd.DataFrame]:
    """Draw the distribution of every feature in both flipsets against that of all people (figures 3, 4, 7 and 8).

    Parameters
    ----------
    X : DataFrame
        The people, in the units of the figure.
    flip : Flipset
        Flipset of these people.
    labels : dict of str to str
        Names of the features.
    names : dict of str to str
        Names of ``everyone``, ``F+`` and ``F−`` in the legend; the numbers of people are added to them.
    published : (float, float)
        The published sizes of F+ and F−.
    bands : dict of str to dict, optional
        As for `marginal_counts`.
    n_columns : int

    Returns
    -------
    Figure, DataFrame
        The figure, and its data as `marginal_counts` returns them.
    """
    counts = marginal_counts(X, flip, bands)
    counted = zip((flip.n_positive, flip.n_negative), published, strict=True)
    sizes = [f"{len(X):,}", *(f"{n:,}; published {in_print:,.0f}" for n, in_print in counted)]
    names = {key: f"{names[key]} ({size})" for key, size in zip(SETS, sizes, strict=True)}
    features = counts["feature"].unique()
    n_columns = min(n_columns, len(features))
    n_rows = -(-len(features) // n_columns)
    figure, axes = panels(n_rows, n_columns, width=6.7 / n_columns, height=2.0 if n_rows > 1 else 2.6, sharey=True)
    for axis, name in zip(axes, features, strict=False):
        bins = counts[counts["feature"] == name]
        shares = 100 * bins[list(SETS)] / bins[list(SETS)].sum().clip(lower=1)
        edges, centres = [*bins["low"], bins["high"].iloc[-1]], (bins["low"] + bins["high"]) / 2
        axis.stairs(shares["everyone"], edges, fill=True, color=GREY, alpha=0.45, label=names["everyone"])
        for key, look in FLIPSETS.items():
            if 0 < bins[key].sum() < FEW:
                some, style = bins[key] > 0, {"color": look["color"], "marker": look["marker"], "markersize": 4}
                axis.plot(centres[some], shares[key][some], linestyle="", label=names[key], **style)
            else:
                outline = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.6}
                axis.stairs(shares[key], edges, label=names[key], **outline)
        often = np.flatnonzero((shares >= RARE).any(axis=1))
        axis.set(xlabel=labels.get(name, name), xlim=(edges[often[0]], edges[often[-1] + 1]))
        if bins["band"].any():
            axis.set_xticks(centres.iloc[often], bins["band"].iloc[often], rotation=45 if len(often) > 3 else 0)
        else:
            whole = bool((centres == centres.round()).all())
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=whole))
    for axis in axes[len(features) :]:
        axis.remove()
    for axis in axes[: len(features) : n_columns]:
        axis.set_ylabel("share of each set (%)")
    legend_below(figure, n_columns=1)
    return figure, counts


def transparency_rankings(reports: pd.DataFrame, *, labels: Mapping[str, str]) -> Figure:
    """Draw both quantities that rank the features of a transparency report (figures 8 to 12).

    Parameters
    ----------
    reports : DataFrame
        Columns ``kind`` (one of `MAPS`), ``map``, ``feature``, ``mean_difference`` in standard deviations, and
        ``mean_sign``, of one flipset. Large marks are means over the maps of a kind, small marks single maps. Features
        are in the order of the first kind's means.
    labels : dict of str to str
        Names of the features.
    """
    first = reports[reports["kind"] == reports["kind"].iloc[0]].groupby("feature")["mean_difference"].mean().abs()
    order = first.sort_values(kind="stable", ascending=False).index
    kinds = reports.groupby("kind", sort=False)["map"].nunique()
    offsets = np.linspace(-0.25, 0.25, len(kinds)) if len(kinds) > 1 else [0.0]
    height = 1.1 + max(0.28, 0.16 * len(kinds)) * len(order)
    figure, axes = panels(1, 2, width=3.35, height=height, sharey=True)
    quantities = {
        "mean_difference": "mean of x − G(x) (standard deviations)",
        "mean_sign": "mean of the sign of x − G(x)",
    }
    for axis, (quantity, label) in zip(axes, quantities.items(), strict=True):
        axis.axvline(0, color=BLACK, linewidth=0.8)
        for (kind, n_maps), offset in zip(kinds.items(), offsets, strict=True):
            of_kind = reports[reports["kind"] == kind]
            if n_maps > 1:
                place = order.get_indexer(of_kind["feature"]) + offset
                axis.plot(of_kind[quantity], place, linestyle="", markersize=3, alpha=0.4, **MAPS[kind])
            name = f"{kind}, mean of {n_maps} maps and each" if n_maps > 1 else kind
            means = of_kind.groupby("feature")[quantity].mean()[order]
            axis.plot(means, np.arange(len(order)) + offset, linestyle="", markersize=6, label=name, **MAPS[kind])
        axis.set_xlabel(label)
    axes[0].set_yticks(range(len(order)), [labels.get(name, name) for name in order])
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    legend_below(figure, n_columns=2)
    return figure


def _edges(column: np.ndarray) -> np.ndarray:
    """Return edges of bins centred on round numbers, so that values on a grid of whole numbers have one bin each."""
    values = np.unique(column)
    if (values == values.round()).all():
        step = np.gcd.reduce(np.diff(values).astype(int)) or 1
        if np.ptp(values) / step < N_BINS:
            return np.arange(values[0] - step / 2, values[-1] + step, step)
    centres = MaxNLocator(N_BINS, steps=[1, 2, 5, 10]).tick_values(values[0], values[-1])
    width = centres[1] - centres[0]
    return np.append(centres, centres[-1] + width) - width / 2
