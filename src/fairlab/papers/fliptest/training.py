"""Training of the GAN maps that FlipTest's experiments share.

Separate from `maps`, so that cached maps remain valid when the code for flipsets or models under test changes.
"""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from fairlab.checks import memory_left_gb
from fairlab.transport import GANTransport


def fit_gans(maps: list[GANTransport], X_source, X_target, *, n_threads: int | None = None) -> list[GANTransport]:
    """Fit independent maps in parallel, one core each; each equals the result of its own `fit` bit for bit.

    Parameters
    ----------
    maps : list of GANTransport
        Not fitted; of several seeds, or penalties.
    X_source, X_target : DataFrame or array of shape (n, n_features)
    n_threads : int, optional
        Maximum number of maps trained at once; default: ``OMP_NUM_THREADS`` if set, else the number of cores. Fewer run
        at once if memory is short, with the same result.

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
    with (
        threadpool_limits(1, "blas"),  # till all have ended: each map's own limit ends with its training
        ThreadPoolExecutor(min(n_threads, n_that_fit)) as pool,
    ):
        are_finite = list(pool.map(lambda train: train(), trainings))
    diverged = [str(gan.random_state) for gan, is_finite in zip(maps, are_finite, strict=True) if not is_finite]
    if diverged:
        found = f"weights of {len(diverged)} of {len(maps)} maps did not stay finite, those of random_state"
        message = f"{found} {', '.join(diverged)}; scale the features or lower learning_rate or penalty"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return maps


def arrays_of(gan: GANTransport) -> dict:
    """Return the parameters and fitted attributes of a map as plain data, which a cached trial may hold."""
    fitted = {name: value for name, value in vars(gan).items() if name.endswith("_")}
    if "feature_names_in_" in fitted:
        fitted["feature_names_in_"] = fitted["feature_names_in_"].tolist()
    return {"parameters": gan.get_params(), "fitted": fitted}


def gan_of(arrays: dict) -> GANTransport:
    """Rebuild a map from the result of `arrays_of`; its images are the same bit for bit, and it needs no numba."""
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
        Name of the random stream of each trial that seeds its map.
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

    Experiments that train with the same arguments share the trained maps.

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
