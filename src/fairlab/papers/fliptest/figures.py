"""FlipTest's figures: each is drawn from one table; beside a function that draws stands one that makes its table."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from scipy.stats import gaussian_kde

from fairlab.checks import check_features
from fairlab.fliptest.flipsets import Flipset
from fairlab.plotting import (
    BLACK,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    PUBLISHED,
    PURPLE,
    SKY,
    TINTS,
    YELLOW,
    legend_above,
    listed,
    panels,
    rounded,
    span,
    titled,
)

FLIPSETS = {"positive": LINES[0] | {"symbol": "$F^+$"}, "negative": LINES[1] | {"symbol": "$F^-$"}}
MAPS = {
    "GAN": {"color": GREEN, "marker": "s"},
    "exact": {"color": BLACK, "marker": "o"},
    "counterfactual": {"color": PURPLE, "marker": "D"},
    "Seguy et al.": {"color": ORANGE, "marker": "^"},
}
SETS = ("everyone", *FLIPSETS)
SIGNS = {"positive": "F+", "negative": "F−"}
FEW = 50  # people; smaller flipsets are drawn as counts, not as a distribution
RARE = 0.5  # percent; bins with less of every set at either end are not drawn

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


def marginal_table(
    X, flipset: Flipset, *, n_bins: int = 40, bands: Mapping[str, Mapping] | None = None
) -> pd.DataFrame:
    """Count people by the bins of every feature: all, those in F+, and those in F-."""
    values, names = check_features(X, "X")
    members = {"everyone": np.ones(len(values), dtype=bool)}
    members |= {sign: getattr(flipset, sign) for sign in FLIPSETS}
    parts = []
    for name, column in zip(names, values.T, strict=True):
        of_feature = (bands or {}).get(name)
        if of_feature is None:
            edges, titles = _bins(column, n_bins), ""
        else:
            column, edges, titles = _in_bands(column, of_feature)
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
    """Draw the distribution of every feature in both flipsets against that of all people (figures 3, 4, 5 and 7)."""
    features, labels = table["feature"].unique(), labels or {}
    n_columns = min(n_columns, len(features))
    words = {"everyone": everyone, "positive": positive, "negative": negative}
    n_rows = -(-len(features) // n_columns)
    options = {"width": 6.7 / n_columns, "height": 2.0 if n_rows > 1 else 2.6, "sharey": True}
    figure, axes = panels(n_rows, n_columns, **options)
    for axis in axes[len(features) :]:
        axis.remove()
    overlaps = {}
    for axis, name in zip(axes, features, strict=False):
        bins = table[table["feature"] == name]
        shares = 100 * bins[list(SETS)] / bins[list(SETS)].sum().clip(lower=1)
        _draw_marginal(axis, bins, shares, words)
        axis.set_xlabel(labels.get(name, name), fontsize=9)
        axis.tick_params(labelsize=8)
        overlaps[labels.get(name, name).partition(" (")[0]] = shares.clip(upper=shares["everyone"], axis=0).sum()
    axes[0].set_ylim(0, 1.15 * axes[0].get_ylim()[1])
    for axis in axes[: len(features) : n_columns]:
        axis.set_ylabel("share of each set (%)", fontsize=9)
    legend_above(figure, axes[0], n_columns=1)
    overlap = pd.DataFrame(overlaps).T
    drawn = [sign for sign in FLIPSETS if overlap[sign].any()]
    said = [f"{SIGNS[sign]} in {overlap[sign].idxmin()} ({overlap[sign].min():.0f}%)" for sign in drawn]
    return titled(figure, f"Least overlap with the histogram of {everyone}: {listed(said) or 'no flipset'}.")


def transparency_rankings(
    table: pd.DataFrame,
    *,
    flipset: str = "negative",
    labels: Mapping[str, str] | None = None,
    unit: str = "units of the feature",
) -> Figure:
    """Draw both quantities that rank the features of a transparency report (figures 8 to 12).

    A large mark is the mean over the maps of a ``kind`` (one of `MAPS`, or published), small ones are the maps;
    features stand in the order of the first kind's means.
    """
    table, labels = table[table["flipset"] == flipset], labels or {}
    means = table.groupby(["kind", "feature"], sort=False)[["mean_difference", "mean_sign"]].mean()
    first = means.loc[table["kind"].iloc[0], "mean_difference"].abs()
    order = list(first.sort_values(kind="stable", ascending=False).index)
    names = [labels.get(name, name) for name in order]
    kinds = {kind: of_kind["map"].nunique() for kind, of_kind in table.groupby("kind", sort=False)}
    height = 1.1 + max(0.28, 0.16 * len(kinds)) * len(order)
    figure, axes = panels(1, 2, width=3.35, height=height, sharey=True)
    quantities = {"mean_difference": f"mean of x − G(x)\n({unit})", "mean_sign": "mean of the sign\nof x − G(x)"}
    for axis, (quantity, words) in zip(axes, quantities.items(), strict=True):
        _draw_ranking(axis, table, kinds, quantity, order)
        axis.set_xlabel(words, fontsize=9)
        axis.set_title(f"{FLIPSETS[flipset]['symbol']}: {quantity.replace('_', ' ')}", fontsize=10)
    axes[0].set_yticks(range(len(order)), names, fontsize=8)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    legend_above(figure, axes[0], n_columns=2 if len(kinds) > 2 else len(kinds))
    said = []
    for quantity, sizes in means.abs().round(2).items():
        leads = {}
        for kind in kinds:
            of = sizes[kind].reindex(order).set_axis(names)
            leads.setdefault(listed(of[of == of.max()].index), []).append(kind)
        found = listed(f"{lead} ({listed(those)})" for lead, those in leads.items() if lead)
        said.append(f"the {quantity.replace('_', ' ')} is largest for {found}")
    return titled(figure, f"In {SIGNS[flipset]} {'; '.join(said)}.")


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


def _in_bands(column: np.ndarray, bands: Mapping) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the place of each value among the bands, the edges around the places, and the bands' names."""
    known = np.array(list(bands), dtype=float)
    place = np.argsort(known)[np.searchsorted(np.sort(known), column)]
    return place, np.arange(len(known) + 1) - 0.5, list(bands.values())


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == values.round()).all())


def _draw_marginal(axis, bins: pd.DataFrame, shares: pd.DataFrame, words: Mapping[str, str]) -> None:
    edges, centres = [*bins["low"], bins["high"].iloc[-1]], (bins["low"] + bins["high"]) / 2
    axis.stairs(
        shares["everyone"], edges, fill=True, color=GREY, alpha=0.45, linewidth=0, label=_sized("everyone", bins, words)
    )
    for name, style in FLIPSETS.items():
        look, label = {"color": style["color"]}, f"{style['symbol']}, {_sized(name, bins, words)}"
        if not bins[name].any() or bins[name].sum() >= FEW:
            axis.stairs(shares[name], edges, label=label, linestyle=style["linestyle"], linewidth=1.6, **look)
            continue
        some = bins[name] > 0
        look |= {"marker": style["marker"], "markersize": 4, "linestyle": ""}
        axis.plot(centres[some], shares[name][some], label=f"{label}: numbers of people", **look)
        for place, share, count in zip(centres[some], shares[name][some], bins[name][some], strict=True):
            at = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "fontsize": 7}
            axis.annotate(f"{count}", (place, share), color=style["color"], **at)
    often = np.flatnonzero((shares >= RARE).any(axis=1))
    axis.set_xlim(edges[often[0]], edges[often[-1] + 1])
    named = [name for name in bins["band"] if isinstance(name, str) and name]
    if named:
        tilt = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(bins) > 3 else {}
        axis.set_xticks(centres, named, **tilt)
        axis.set_xlim(edges[often[0]], edges[often[-1] + 1])
    else:
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=_is_whole(centres.to_numpy())))


def _sized(name: str, bins: pd.DataFrame, words: Mapping[str, str]) -> str:
    """Return the name of a set with its size, and the published one."""
    printed = f"; published {bins[f'published_{name}'].iloc[0]:,}" if f"published_{name}" in bins else ""
    return f"{words[name]} ({bins[name].sum():,}{printed})"


def _draw_ranking(axis, table, kinds: Mapping[str, int], quantity: str, order: list[str]) -> None:
    axis.hlines(range(len(order)), 0, 1, transform=axis.get_yaxis_transform(), color=GREY, linewidth=0.3, zorder=0)
    axis.axvline(0, color=BLACK, linewidth=0.8)
    ours = [kind for kind in kinds if kind != PUBLISHED["label"]]
    offsets = dict(zip(ours, np.linspace(-0.25, 0.25, len(ours)) if len(ours) > 1 else [0.0], strict=True))
    for kind, n_maps in kinds.items():
        of_kind = table[table["kind"] == kind]
        place = pd.Index(order).get_indexer(of_kind["feature"]) + offsets.get(kind, 0.0)
        if kind == PUBLISHED["label"]:
            axis.plot(of_kind[quantity], place, markersize=9, **PUBLISHED)
            continue
        if n_maps > 1:
            axis.plot(of_kind[quantity], place, linestyle="", markersize=3, alpha=0.4, **MAPS[kind])
        means = of_kind.groupby("feature")[quantity].mean()[order]
        label = f"{kind}, mean of {n_maps} maps and each" if n_maps > 1 else kind
        axis.plot(means, np.arange(len(order)) + offsets[kind], linestyle="", markersize=6, label=label, **MAPS[kind])


def published_sizes(published: pd.DataFrame, prefix: str = "") -> dict[str, int]:
    """Return the published sizes of both flipsets by the columns of `flipset_marginals`."""
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
    """Draw a quantity of every coordinate against the dimension, one panel per kind of features (figure 2)."""
    titles, names = table["features"].unique(), table["map"].unique()
    dimensions = sorted(table["dimension"].unique())
    figure, axes = panels(1, len(titles), width=6.7 / len(titles), height=3.3, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        if reference is not None:
            axis.axhline(reference, color=BLACK, linewidth=0.8, linestyle=":")
        for i, name in enumerate(names):
            points = table[(table["features"] == title) & (table["map"] == name)]
            beside = 1.12 ** (i - (len(names) - 1) / 2)  # so that the maps of one dimension do not hide each other
            place = points["dimension"] * beside
            axis.plot(place, points[quantity], linestyle="", markersize=4, alpha=0.6, label=name, **MAPS[name])
        axis.set(title=title, xlabel="dimensions (number of features)", xscale="log")
        axis.set_xticks(dimensions, [str(dimension) for dimension in dimensions])
        axis.xaxis.set_minor_locator(NullLocator())
    axes[0].set_ylabel(ylabel, fontsize=9)
    axes[0].set_yscale("log" if log else "linear")
    legend_above(figure, axes[0])
    middle = table[table["dimension"] == dimensions[-1]].groupby("map")[quantity].median()
    said = listed(f"{rounded(middle[name])} ({name})" for name in names if name in middle)
    what = ylabel.partition(" (")[0]
    return titled(figure, f"Median over coordinates of the {what}, with {dimensions[-1]} features: {said}.")


def density_table(before: np.ndarray, after: Mapping[str, np.ndarray], *, n_points: int = 150) -> pd.DataFrame:
    """Estimate the density of a model's predictions for people, and for their images under some maps (figure 6)."""
    pooled = np.concatenate([before, *after.values()])
    margin = 0.08 * np.ptp(pooled)
    grid = np.linspace(pooled.min() - margin, pooled.max() + margin, n_points)
    densities = {"prediction": grid, "before": gaussian_kde(before)(grid)}
    rows = {name: pd.DataFrame(densities | {"after": gaussian_kde(values)(grid)}) for name, values in after.items()}
    return pd.concat(rows, names=["map", None]).reset_index(level=0).reset_index(drop=True)


def prediction_densities(
    table: pd.DataFrame, *, xlabel: str, titles: Mapping[str, str] | None = None, before: str = "as observed"
) -> Figure:
    """Draw the density of a model's predictions before and after a map, one panel per map (figure 6)."""
    names = table["map"].unique()
    figure, axes = panels(1, len(names), width=6.7 / len(names), height=2.6, sharex=True, sharey=True)
    handles = []
    for axis, name in zip(axes, names, strict=True):
        rows = table[table["map"] == name]
        title = (titles or {}).get(name, name)
        axis.fill_between(rows["prediction"], rows["before"], color=GREY, alpha=0.45, linewidth=0, label=before)
        line = {"markevery": 15, "markersize": 4, "linewidth": 1.6, "label": f"under the {title}"}
        axis.plot(rows["prediction"], rows["after"], **MAPS[name], **line)
        axis.set_title(title, fontsize=10)
        handles += axis.get_legend_handles_labels()[0][bool(handles) :]
    figure.supxlabel(xlabel, fontsize=10)
    axes[0].set(ylabel="density (per sd)", ylim=(0, None))
    legend_above(figure, handles=handles, n_columns=2)
    means = {
        name: [np.average(of["prediction"], weights=of[side]) for side in ("before", "after")]
        for name, of in table.groupby("map", sort=False)
    }
    said = [f"{rounded(after)} ({(titles or {}).get(name, name)})" for name, (_, after) in means.items()]
    return titled(
        figure, f"The mean prediction of {before} moves from {rounded(means[names[0]][0])} to {listed(said)}."
    )


def one_feature_table(x, exact, learnt: Mapping[str, np.ndarray], *, most: float = np.inf) -> pd.DataFrame:
    """Gather where maps send the values of a single feature."""
    x = np.asarray(x, dtype=float)
    kept = x <= most
    pairs, counts = np.unique(np.column_stack([x, exact])[kept], axis=0, return_counts=True)
    parts = [pd.DataFrame({"map": "exact", "value": pairs[:, 0], "image": pairs[:, 1], "people": counts})]
    values, rows, counts = np.unique(x[kept], return_index=True, return_counts=True)
    for name, image in learnt.items():
        of_kept = np.asarray(image, dtype=float)[kept][rows]
        parts.append(pd.DataFrame({"map": name, "value": values, "image": of_kept, "people": counts}))
    return pd.concat(parts, ignore_index=True)


def maps_of_one_feature(table: pd.DataFrame, *, xlabel: str, ylabel: str) -> Figure:
    """Draw where maps send the values of a single feature: the exact map's pairs as dots, learnt maps as lines."""
    figure, (axis,) = panels(1, 1, width=6, height=3.6)
    exact, learnt = (table[(table["map"] == "exact") == side] for side in (True, False))
    areas = 400 * exact["people"] / exact["people"].max()
    dots = {"color": MAPS["exact"]["color"], "alpha": 0.3, "linewidths": 0}
    axis.scatter(exact["value"], exact["image"], areas, label="exact, area: people", **dots)
    n_maps = learnt["map"].nunique()
    for i, (_, rows) in enumerate(learnt.groupby("map", sort=False)):
        label = f"GAN, {n_maps} maps before rounding" if i == 0 else None
        axis.plot(rows["value"], rows["image"], linewidth=1, alpha=0.7, markersize=3, label=label, **MAPS["GAN"])
    values = np.unique(table["value"])
    axis.plot(values, values, color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)), label="nobody moves")
    top = max(values.max(), learnt["image"].max() if n_maps else 0.0)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(None, top * 1.05))
    legend_above(figure, axis)
    target = exact["image"].mul(exact["people"]).groupby(exact["value"]).sum() / exact.groupby("value")["people"].sum()
    learnt = learnt.assign(apart=(learnt["image"] - learnt["value"].map(target)).abs())
    apart = [np.average(rows["apart"], weights=rows["people"]) for _, rows in learnt.groupby("map")]
    said = f"lie {span(apart)} from that of the exact map, on average over people" if apart else "are missing"
    return titled(figure, f"The images of a person under the GAN maps {said}.")


def flips_by_features(table: pd.DataFrame) -> Figure:
    """Draw which share of the people a map flips, against the number of features (section 5.1)."""
    published = table[table["model"] == PUBLISHED["label"]]
    ours = table[table["model"] != PUBLISHED["label"]]
    figure, axes = panels(1, 2, width=3.35, height=3, sharex=True, sharey=True)
    for axis, sign in zip(axes, SIGNS.values(), strict=True):
        for share in 100 * published[sign]:
            look = {"color": BLACK, "linewidth": 1, "linestyle": (0, (1, 2)), "zorder": 1}
            axis.axhline(share, label="published, number of features unknown", **look)
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
    means = ours.groupby("features")[list(SIGNS.values())].mean()
    said = [
        f"{sign} from {of.iloc[0]:.1%} to {of.iloc[-1]:.1%} (published: {span(published[sign], '{:.1%}'.format)})"
        for sign, of in means.items()
    ]
    few, many = means.index[[0, -1]].astype(int)
    return titled(figure, f"From {few} to {many} features the share of flipped people goes in {listed(said)}.")
