"""Maps that FlipTest's experiments share: how they are trained, how well they fit, and which of them are accepted."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from fairlab.checks import memory_left_gb
from fairlab.fliptest import compare_flipsets, flipset
from fairlab.papers.fliptest.merged import MergedTransport
from fairlab.transport import DivergenceError, GANTransport, marginal_distances, squared_l1

# Three standard deviations above the largest mean that the paper reports (table 1, law school GPA: 0.110 and 0.027).
# Clipping can take all slope from a GAN's critic early in training; its map then stays beyond this bound for good.
MAX_KS = 0.2
# The paper's cost first; the others are those that the literature on transport uses most.
COSTS = {
    "squared L1": squared_l1,
    "L1": partial(cdist, metric="cityblock"),
    "squared Euclidean": partial(cdist, metric="sqeuclidean"),
    "Euclidean": partial(cdist, metric="euclidean"),
}


def fit_gans(maps: list[GANTransport], X_source, X_target, *, n_threads: int | None = None) -> list[GANTransport]:
    """Fit independent maps side by side, a core each; each is to the last bit what its own `fit` gives.

    Parameters
    ----------
    maps : list of GANTransport
        Not fitted; of several seeds, or penalties.
    X_source, X_target : DataFrame or array of shape (n, n_features)
    n_threads : int, optional
        Most maps to train at once; by default ``OMP_NUM_THREADS`` if set, else the cores. Fewer run at once where
        memory is short, with the same result.

    Returns
    -------
    list of GANTransport
        The same maps, fitted. One that diverged has weights that are not finite, and maps to NaN.

    Warns
    -----
    ConvergenceWarning
        If the weights of some maps do not stay finite.
    """
    trainings = [gan.prepare(X_source, X_target) for gan in maps]
    n_threads = n_threads or int(os.environ.get("OMP_NUM_THREADS") or joblib.cpu_count())
    n_that_fit = int(memory_left_gb() * 1e9) // max(gan.training_bytes() for gan in maps)
    total, is_shown = sum(gan.n_steps for gan in maps), any(gan.progress for gan in maps)
    with (
        tqdm(total=total, disable=not is_shown, desc="GAN", unit="step") as bar,
        threadpool_limits(1, "blas"),  # till all have ended: each map's own limit ends with its training
        ThreadPoolExecutor(min(n_threads, n_that_fit)) as pool,
    ):
        are_finite = list(pool.map(lambda train: train(bar.update), trainings))
    diverged = [str(gan.random_state) for gan, is_finite in zip(maps, are_finite, strict=True) if not is_finite]
    if diverged:
        found = f"weights of {len(diverged)} of {len(maps)} maps did not stay finite, those of random_state"
        message = f"{found} {', '.join(diverged)}; scale the features or lower learning_rate or penalty"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return maps


def arrays_of(gan: GANTransport) -> dict:
    """Return everything that it takes to rebuild a fitted map, as plain data: what a cached trial may hold."""
    fitted = {name: value for name, value in vars(gan).items() if name.endswith("_")}
    if "feature_names_in_" in fitted:
        fitted["feature_names_in_"] = fitted["feature_names_in_"].tolist()
    return {"parameters": gan.get_params(), "fitted": fitted}


def gan_of(arrays: dict) -> GANTransport:
    """Return the map that `arrays_of` took apart; it answers the same, to the last bit, and needs no numba."""
    gan = GANTransport(**arrays["parameters"])
    vars(gan).update(arrays["fitted"])
    if hasattr(gan, "feature_names_in_"):
        gan.feature_names_in_ = np.array(gan.feature_names_in_, dtype=object)
    return gan


def train_maps(trials, *, gan, source, target, stream: str = "gan") -> list[dict]:
    """Train one GAN map per trial (section 3.1), and return the arrays that `gan_of` takes.

    Parameters
    ----------
    trials : list of fairlab.suite.seeds.Trial
    gan : GANTransport
        Has all options but the seed.
    source, target : DataFrame of shape (n, n_features)
    stream : str
        Name of the stream of each trial that the map's seed is from.
    """
    maps = [clone(gan).set_params(random_state=trial.seed(stream)) for trial in trials]
    return [arrays_of(fitted) for fitted in fit_gans(maps, source, target)]


def images_by_penalty(trial, *, gan, source, target, people, penalties) -> list[pd.DataFrame]:
    """Return the images of people under a map for each penalty; those of a map that diverged are missing.

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
    gan : GANTransport
    source, target : DataFrame of shape (n, n_features)
    people : DataFrame of shape (n_people, n_features)
    penalties : sequence of float
    """
    seed = trial.seed("gan by penalty")
    maps = [clone(gan).set_params(penalty=penalty, random_state=seed) for penalty in penalties]
    return [fitted.transform(people) for fitted in fit_gans(maps, source, target)]


def learnt_images(exp, n_maps: int, people, gan, **training) -> dict[str, pd.DataFrame]:
    """Return the images of people under several maps of `train_maps`, by name.

    Experiments that train with the same arguments share what was trained.

    Parameters
    ----------
    exp : Experiment
    n_maps : int
    people : DataFrame of shape (n_people, n_features)
    gan : GANTransport
    **training
        Other arguments of `train_maps`.
    """
    found = exp.trials(train_maps, n_maps, batch=10, gan=gan, **training)
    return {f"GAN {k}": gan_of(arrays).transform(people) for k, arrays in enumerate(found)}


def exact_counterparts(trial, *, source, target) -> pd.DataFrame:
    """Return everybody's counterpart by the optimal plan of these people.

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
        People of either group; fewer if a group has fewer.

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
        The first is the one that the others are compared with. Those that are there by default take the columns in
        their units: scale them first.
    random_state : int
        For counterparts where a plan splits people.

    Returns
    -------
    DataFrame
        One row per cost: sizes ``F+`` and ``F−``, their Jaccard index with those of the first cost, and the mean L1
        distance of a person and the counterpart.
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
    """Return the images under the maps that reach their target, how well every map fits, and what was left out.

    All maps that did not diverge, if none reaches it, as in very short runs.

    Parameters
    ----------
    images : dict of str to DataFrame
        Of `people`, by map. All values of a map that diverged are missing.
    people, target : DataFrame
    columns : list of str, optional
        Those whose distributions are compared.
    whole : callable, optional
        What is done to images before they are measured, such as rounding.
    beside : dict of str to DataFrame, optional
        Images under other maps, whose fits are shown, too.

    Returns
    -------
    used : dict of str to DataFrame
    fits : DataFrame
        As `map_fits` returns them.
    note : str
        How many maps were left out, for the reasons of rows; empty if none was.

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
    """Return the maps that reach their target by their largest KS distance, missing if one diverged, and a note.

    The note says how many were left out; see `select_maps`.
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
        ``mean L1`` and ``mean squared L1`` distance of people and their images, over all columns.
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
    """Return by how much images are predicted worse than the target's members, by feature (table 1, MSE diff).

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
