"""Several learnt maps of the same people: how well each fits its target, and whose outcome flips under it.

A learnt map depends on its seed, so FlipTest is run with several. Most functions take one thing per map, in a dict by
the map's name, and return one table of them all.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.checks import check_features, check_same_columns
from fairlab.fliptest.flipsets import check_pairs, compare_flipsets, flipset, flipset_intervals, jaccard
from fairlab.fliptest.transparency import transparency_report
from fairlab.transport import marginal_distances

# Three standard deviations above the largest mean that the paper reports (table 1, law school GPA: 0.110 and 0.027).
# Clipping can take all slope from a GAN's critic early in training; its map then stays beyond this bound for good.
OFF_TARGET_KS = 0.2

MEASURES = ["ks", "mse_target", "mse_image", "mse_difference"]
DISTANCES = ["mean_l1", "mean_squared_l1"]
SIGNS = {"f_plus": "positive", "f_minus": "negative"}  # the flipsets by the ids of their published sizes


@dataclass(frozen=True, eq=False)
class MapValidation:
    """Distance of the images from the target's distribution, by feature (table 1), and from the people, on average."""

    features: pd.DataFrame
    mean_l1: float = np.nan
    mean_squared_l1: float = np.nan

    @property
    def off_target(self) -> bool:
        """Whether some marginal is further from the target's than `OFF_TARGET_KS`, or the map diverged."""
        return not bool((self.features["ks"] <= OFF_TARGET_KS).all())

    @property
    def diverged(self) -> bool:
        """Whether the map has no images at all."""
        return bool(self.features["ks"].isna().all())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature, with the two distances repeated in each."""
        return self.features.assign(**{name: getattr(self, name) for name in DISTANCES})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> "MapValidation":
        """Return the validation that `to_frame` turned into a table."""
        return cls(frame[MEASURES], *(float(frame[name].iloc[0]) for name in DISTANCES))


def validate_map(X_target, X_image, *, X_source=None, columns=None, regression_of=None) -> MapValidation:
    """Compare the images of a map with real members of the target group (section 5.1 and table 1).

    A linear regression of every feature on the others is fitted to the target; an image distribution with the target's
    correlations has the same error under it. All images missing stand for a map that diverged. The distances, over all
    columns, need the people `X_source`. `regression_of` names, for a feature, the one whose regression predicts it in
    place of its own: the authors' notebook on Lipton does so.
    """
    validated, image_validated = (X_target, X_image) if columns is None else (X_target[columns], X_image[columns])
    target, names = check_features(validated, "X_target", min_rows=2, varying=True)
    if len(X_image) and np.all(pd.isna(X_image)):
        return MapValidation(pd.DataFrame(np.nan, index=pd.Index(names, name="feature"), columns=MEASURES))
    image, image_names = check_features(image_validated, "X_image")
    check_same_columns(names, image_names, "X_target", "X_image")
    coefficients = {name: _regression(target, j) for j, name in enumerate(names)}
    rows, distances = {}, marginal_distances(target, image)
    for j, name in enumerate(names):
        used = coefficients[(regression_of or {}).get(name, name)]
        of_target, of_image = (_squared_error(X, j, used) for X in (target, image))
        rows[name] = [distances.iloc[j], of_target, of_image, of_image - of_target]
    features = pd.DataFrame.from_dict(rows, orient="index", columns=MEASURES).rename_axis("feature")
    if X_source is None:
        return MapValidation(features)
    source, image, _ = check_pairs(X_source, X_image)
    distance = np.abs(source - image).sum(axis=1)
    return MapValidation(features, float(distance.mean()), float((distance**2).mean()))


def usable_maps(fits: dict) -> tuple[list, str]:
    """Return the names of the maps on target, or else of those that did not diverge, and how many were left out."""
    n = len(fits)
    converged = [name for name, fit in fits.items() if not fit.diverged]
    on_target = [name for name, fit in fits.items() if not fit.off_target]
    n_diverged, n_off_target = n - len(converged), len(converged) - len(on_target)
    parts = [f"{n_diverged} of {n} maps diverged and are left out"] if n_diverged else []
    if n_off_target and on_target:
        parts.append(f"{n_off_target} of {n} maps miss their target (KS above {OFF_TARGET_KS}) and are left out")
    elif n_off_target:
        parts.append(f"all {n_off_target} maps miss their target (KS above {OFF_TARGET_KS})")
    return on_target or converged, "; ".join(parts)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Learnt maps of the same people by name: their images, and how well each fits its target."""

    people: pd.DataFrame
    images: dict
    fits: dict

    @classmethod
    def of(cls, images: dict, people, target, *, whole=None, columns=None) -> "Ensemble":
        """Validate images against real members of the target, made `whole` before where features are counts."""
        counted = images if whole is None else {name: whole(image) for name, image in images.items()}
        fits = {name: validate_map(target, X, X_source=people, columns=columns) for name, X in counted.items()}
        return cls(people, images, fits)

    @property
    def usable(self) -> dict:
        """Images under the maps on target, or else under those that did not diverge."""
        return {name: self.images[name] for name in usable_maps(self.fits)[0]}

    @property
    def note(self) -> str:
        """How many maps were left out."""
        return usable_maps(self.fits)[1]

    def flipsets(self, model) -> dict:
        """Return the flipsets of a model under every usable map."""
        return flipsets_by_map(model, self.people, self.usable)

    def to_frame(self, model) -> pd.DataFrame:
        """Return fit and sizes of flipsets of every map, usable or not."""
        return fit_table(self.fits).join(size_table(flipsets_by_map(model, self.people, self.images)))


def fit_table(fits: dict, *, labels=None) -> pd.DataFrame:
    """Return how well each map fits: KS distances by feature, the largest, mean distances, whether it is off target."""
    rows = {}
    for name, fit in fits.items():
        ks = fit.features["ks"]
        rows[name] = {f"KS {(labels or {}).get(feature, feature)}": value for feature, value in ks.items()} | {
            "largest KS": ks.max(),
            "mean L1": fit.mean_l1,
            "mean squared L1": fit.mean_squared_l1,
            "off target": fit.off_target,
        }
    return _table(rows)


def flipsets_by_map(model, X, images: dict) -> dict:
    """Return the flipsets of one model under every map that did not diverge; see `fairlab.fliptest.flipset`."""
    return {name: flipset(model, X, image) for name, image in images.items() if not np.all(pd.isna(image))}


def size_table(flips: dict) -> pd.DataFrame:
    """Return the sizes ``F+`` and ``F−`` of the flipsets, indexed by map."""
    return _table({name: {"F+": flip.n_positive, "F−": flip.n_negative} for name, flip in flips.items()})


def overlap(first, second) -> pd.DataFrame:
    """Return, for F+ and F-, how many people the flipsets of two maps share, and their Jaccard index."""
    compare_flipsets({"first": first, "second": second})
    rows = {}
    for sign in SIGNS.values():
        one, other = getattr(first, sign), getattr(second, sign)
        counts = {"both": (one & other).sum(), "only_first": (one & ~other).sum(), "only_second": (other & ~one).sum()}
        rows[sign] = counts | {"jaccard": jaccard(one, other)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("flipset")


def size_spread(intervals: pd.DataFrame) -> pd.DataFrame:
    """Set a flipset's uncertainty from the people, in a table by map and flipset, beside that from the map."""
    half_width = (intervals["high"] - intervals["low"]) / 2
    by_flipset = intervals.assign(half_width=half_width).groupby("flipset", sort=False)
    return pd.DataFrame(
        {
            "mean size": by_flipset["size"].mean(),
            "half-width over people": by_flipset["half_width"].mean(),
            "standard deviation over maps": by_flipset["size"].std(),
            "smallest": by_flipset["size"].min(),
            "largest": by_flipset["size"].max(),
            "maps": by_flipset.size(),
        }
    )


def intervals_by_map(flips: dict, name: str = "map") -> pd.DataFrame:
    """Return bootstrap intervals over people of the sizes of flipsets, by map."""
    return by_map({key: flipset_intervals(flip, method="bootstrap") for key, flip in flips.items()}, name)


def reports_by_map(flips: dict, people, images: dict) -> dict:
    """Return the transparency report of every flipset by map."""
    return {name: transparency_report(flip, people, images[name]) for name, flip in flips.items()}


def by_map(parts: dict, name: str = "map") -> pd.DataFrame:
    """Return tables, or results that have a ``to_frame``, as one table with the map's name in front."""
    frames = {key: part if isinstance(part, pd.DataFrame) else part.to_frame() for key, part in parts.items()}
    stacked = pd.concat(frames, names=[name])
    unnamed = [level for level, of_level in enumerate(stacked.index.names) if of_level is None]
    return stacked.droplevel(unnamed).reset_index()


@dataclass(frozen=True, eq=False)
class MapFits:
    """One block of table 1: the features with their published names, the learnt maps, and exact distances."""

    listed: dict
    ensemble: Ensemble
    exact: list
    data: list

    def to_frame(self) -> pd.DataFrame:
        """Return one row per map, learnt or exact: KS and difference in squared error by feature, and the distances."""
        measures = [(measure, feature) for feature in self.listed for measure in ("ks", "mse_difference")]
        rows = {
            name: {f"{measure} {feature}": fit.features.loc[feature, measure] for measure, feature in measures}
            | {distance: getattr(fit, distance) for distance in DISTANCES}
            | {"used": name in self.ensemble.usable}
            for name, fit in self.ensemble.fits.items()
        }
        rows |= {f"exact {k}": row for k, row in enumerate(self.exact)}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("map")


def _table(rows: dict) -> pd.DataFrame:
    index = pd.Index(list(rows), name=None if any(isinstance(key, tuple) for key in rows) else "map")
    return pd.DataFrame(list(rows.values()), index=index)


def _regression(X: np.ndarray, feature: int) -> np.ndarray:
    """Return the intercept and slopes of least squares for one feature on the others, in their order."""
    return np.linalg.lstsq(_others(X, feature), X[:, feature])[0]


def _squared_error(X: np.ndarray, feature: int, coefficients: np.ndarray) -> float:
    return float(((X[:, feature] - _others(X, feature) @ coefficients) ** 2).mean())


def _others(X: np.ndarray, feature: int) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), np.delete(X, feature, axis=1)])
