"""Exact maps that FlipTest's experiments share, how well maps fit, and which are accepted."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from fairlab.fliptest import compare_flipsets, flipset
from fairlab.papers.fliptest.merged import MergedTransport
from fairlab.transport import DivergenceError, marginal_distances, squared_l1

# Three standard deviations above the largest mean that the paper reports (table 1, law school GPA: 0.110 and 0.027).
# Clipping can flatten a GAN's critic early in training; its map then never comes within this bound.
MAX_KS = 0.2
# The paper's cost first; the others are those that the literature on transport uses most.
COSTS = {
    "squared L1": squared_l1,
    "L1": partial(cdist, metric="cityblock"),
    "squared Euclidean": partial(cdist, metric="sqeuclidean"),
    "Euclidean": partial(cdist, metric="euclidean"),
}


def exact_counterparts(trial, *, source, target) -> pd.DataFrame:
    """Return the counterpart of everyone in the source under the optimal plan between these samples.

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    """
    return MergedTransport(cost=squared_l1, random_state=trial.seed("exact")).fit(source, target).transform(source)


def exact_distances(trial, *, source, target, n_subset) -> dict[str, float]:
    """Return how far the exact map moves a random subset of the source to as many of the target (table 1, Dist).

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    n_subset : int
        People of each group; fewer if a group has fewer.

    Returns
    -------
    dict
        ``mean L1`` and ``mean squared L1``.
    """
    n = min(n_subset, len(source), len(target))
    some, some_target = (
        X.sample(n, random_state=trial.seed(name)) for name, X in (("source", source), ("target", target))
    )
    l1 = np.abs(some - MergedTransport(cost=squared_l1).fit(some, some_target).transform(some)).sum(axis=1)
    return {"mean L1": float(l1.mean()), "mean squared L1": float((l1**2).mean())}


def flipsets_by_cost(
    model,
    X_source: pd.DataFrame,
    X_target: pd.DataFrame,
    *,
    costs: dict = COSTS,
    random_state: int = 0,
) -> pd.DataFrame:
    """Compare the flipsets of exact maps under several costs.

    Parameters
    ----------
    model : callable, or anything that `fairlab.cases.wrap_model` takes
        The classifier h.
    X_source, X_target : DataFrame of shape (n, n_features)
    costs : dict of str to callable
        The others are compared with the first. The default costs depend on the units of the columns: scale them first.
    random_state : int
        For counterparts of people whose mass a plan splits.

    Returns
    -------
    DataFrame
        One row per cost: sizes ``F+`` and ``F−``, their Jaccard index with those of the first cost, and the mean L1
        distance between people and their counterparts.
    """
    flips, moved = {}, {}
    for name, cost in costs.items():
        image = MergedTransport(cost=cost, random_state=random_state).fit(X_source, X_target).transform(X_source)
        flips[name] = flipset(model, X_source, image)
        moved[name] = float(np.abs(X_source - image).sum(axis=1).mean())
    return compare_flipsets(flips).rename_axis("cost").assign(**{"mean L1": moved.values()})


def select_maps(
    images: dict, people, target, *, columns=None, whole=None, beside=None
) -> tuple[dict, pd.DataFrame, str]:
    """Return the images under the maps that reach their target, the fit of every map, and a note on those left out.

    If no map reaches its target, as in very short runs, all maps that did not diverge are used.

    Parameters
    ----------
    images : dict of str to DataFrame
        Of `people`, by map. All values of a map that diverged are missing.
    people, target : DataFrame
    columns : list of str, optional
        Columns whose distributions are compared; default: all.
    whole : callable, optional
        Applied to images before their fit is measured, such as rounding.
    beside : dict of str to DataFrame, optional
        Images under other maps, whose fits are returned, too.

    Returns
    -------
    used : dict of str to DataFrame
    fits : DataFrame
        As `map_fits` returns them.
    note : str
        How many maps diverged or miss their target, for the notes of records; empty if none.

    Raises
    ------
    DivergenceError
        If all maps diverged.
    """
    measured = {name: whole(image) for name, image in images.items()} if whole else images
    fits = map_fits(measured | (beside or {}), people, target, columns=columns)
    reached, note = select(fits.loc[list(images)].filter(like="KS ").max(axis=1))
    return {name: images[name] for name in reached}, fits, note


def select(largest_ks: pd.Series) -> tuple[list, str]:
    """Return the maps whose largest KS distance (missing if a map diverged) is within the bound, and a note.

    See `select_maps` for the note, and for the case that there are none.
    """
    near, converged = largest_ks.index[largest_ks <= MAX_KS], largest_ks.index[largest_ks.notna()]
    if not len(converged):
        raise DivergenceError(f"expected a map whose training converges, found {len(largest_ks)} that diverged")
    notes, of_all, missed = [], f"of {len(largest_ks)} maps", len(converged) - len(near)
    if len(converged) < len(largest_ks):
        notes.append(f"{len(largest_ks) - len(converged)} {of_all} diverged and are left out")
    if missed and len(near):
        notes.append(f"{missed} {of_all} miss their target (KS above {MAX_KS}) and are left out")
    elif missed:
        notes.append(f"all {missed} maps miss their target (KS above {MAX_KS})")
    return list(near if len(near) else converged), "; ".join(notes)


def map_fits(images: dict, people, target, *, columns=None) -> pd.DataFrame:
    """Return how well each map fits (table 1).

    Parameters
    ----------
    images, people, target, columns
        As for `select_maps`.

    Returns
    -------
    DataFrame
        One row per map: the Kolmogorov-Smirnov distance from the target in each feature (``KS <feature>``), and the
        ``mean L1`` and ``mean squared L1`` distance between people and their images, over all columns.
    """
    columns = list(columns or people)
    rows, own = {}, people.to_numpy(dtype=float)
    for name, image in images.items():
        distances = pd.Series(np.nan, columns)
        if not image.isna().all(axis=None):
            distances = marginal_distances(target[columns], image[columns])
        l1 = np.abs(own - image.to_numpy(dtype=float)).sum(axis=1)
        rows[name] = [*distances, l1.mean(), (l1**2).mean()]
    names = [*(f"KS {column}" for column in columns), "mean L1", "mean squared L1"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("map")


def error_differences(target: pd.DataFrame, image: pd.DataFrame, *, regression_of=None) -> pd.Series:
    """Return how much larger the mean squared error is on images than on the target, by feature (table 1, MSE diff).

    A linear regression of every feature on the others is fitted to the target; images with the target's correlations
    have the same mean squared error under it.

    Parameters
    ----------
    target, image : DataFrame
    regression_of : dict of str to str, optional
        For a feature, the one whose regression predicts it in place of its own, as in the authors' notebook on Lipton.
    """
    names, (of_target, of_image) = list(target), (X.to_numpy(dtype=float) for X in (target, image))
    coefficients = {name: np.linalg.lstsq(_others(of_target, j), of_target[:, j])[0] for j, name in enumerate(names)}
    found = {}
    for j, name in enumerate(names):
        used = coefficients[(regression_of or {}).get(name, name)]
        errors = [float(((X[:, j] - _others(X, j) @ used) ** 2).mean()) for X in (of_target, of_image)]
        found[name] = errors[1] - errors[0]
    return pd.Series(found)


def _others(X: np.ndarray, feature: int) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), np.delete(X, feature, axis=1)])
