"""The trials of FlipTest's experiments: exact maps, learnt maps, and what is measured on made-up groups.

A function of one `trial` or, where maps are trained as one ensemble, of a list of `trials`; all return plain tables,
arrays and numbers. A learnt map is the arrays that `fairlab.transport.GANTransport.from_arrays` takes.
"""

import numpy as np
import pandas as pd

from fairlab.papers.fliptest.ensembles import validate_map
from fairlab.papers.fliptest.noise import identical_groups, random_label_svm
from fairlab.papers.fliptest.stability import equicorrelated_normal
from fairlab.transport import ExactTransport, GANTransport, fit_gans, squared_l1

# Fresh points per side on which the maps of the stability study are validated.
N_TEST = 2_000


def train_maps(trials, *, source, target, stream: str = "gan", **recipe) -> list[dict]:
    """Train one GAN map per trial, all at once (section 3.1).

    Experiments that need the same maps call it with the same arguments and share what was trained.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    stream : str
        Name of the stream of each trial that the map's seed is from.
    **recipe
        Options of `fairlab.transport.GANTransport`.

    Returns
    -------
    list of dict
        Per trial, the arrays of its map.
    """
    return [gan.to_arrays() for gan in fit_gans(_gans(trials, stream, **recipe), source, target)]


def maps_by_penalty(trials, *, source, target, penalties, **recipe) -> list[list[dict]]:
    """Train, for every trial, one GAN map per penalty, all from the trial's one seed.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    penalties : sequence of float
        Values of the paper's lambda.
    **recipe
        Other options of `fairlab.transport.GANTransport`.

    Returns
    -------
    list of list of dict
        Per trial and penalty, the arrays of its map.
    """
    maps = [
        gan
        for trial in trials
        for penalty in penalties
        for gan in _gans([trial], "gan by penalty", penalty=penalty, **recipe)
    ]
    arrays = [gan.to_arrays() for gan in fit_gans(maps, source, target)]
    return [arrays[k : k + len(penalties)] for k in range(0, len(arrays), len(penalties))]


def learnt_images(exp, n_maps: int, people, **training) -> dict[str, pd.DataFrame]:
    """Return the images of people under several maps of `train_maps`, by name."""
    found = exp.trials(train_maps, n_maps, batch=10, **training)
    return {f"GAN {k}": GANTransport.from_arrays(arrays).transform(people) for k, arrays in enumerate(found)}


def images_by_penalty(exp, n_trials: int, people, **training) -> dict[tuple, pd.DataFrame]:
    """Return the images of people under the maps of `maps_by_penalty`, by penalty and trial."""
    found = exp.trials(maps_by_penalty, n_trials, batch=10, **training)
    return {
        (penalty, k): GANTransport.from_arrays(arrays).transform(people)
        for k, of_trial in enumerate(found)
        for penalty, arrays in zip(training["penalties"], of_trial, strict=True)
    }


def exact_image(trial, *, source, target) -> pd.DataFrame:
    """Solve the transport between two samples exactly and return everyone's counterpart.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
        Draws the counterpart of whom the plan splits, which it does between groups of different sizes only.
    source, target : DataFrame of shape (n, n_features)

    Returns
    -------
    DataFrame, as `source`
    """
    return ExactTransport(cost=squared_l1, random_state=trial.seed("exact")).fit(source, target).transform(source)


def exact_distances(trial, *, source, target, n_subset) -> dict[str, float]:
    """Return how far the exact map moves a random subset of the source to as many of the target (table 1, Dist).

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    n_subset : int
        People of either group; fewer if a group has fewer.

    Returns
    -------
    dict
        ``mean_l1`` and ``mean_squared_l1``.
    """
    n = min(n_subset, len(source), len(target))
    some, some_target = (
        X.sample(n, random_state=trial.seed(name)) for name, X in (("source", source), ("target", target))
    )
    l1 = np.abs(some - ExactTransport(cost=squared_l1).fit(some, some_target).transform(some)).sum(axis=1)
    return {"mean_l1": float(l1.mean()), "mean_squared_l1": float((l1**2).mean())}


def noise_maps(trials, *, n_points, n_seen, n_telling, **recipe) -> list[dict]:
    """Draw two groups that do not differ in what a model will see, and map one to the other (section 5.1).

    Every trial has people and a map of its own.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, n_seen, n_telling : int
        See `fairlab.papers.fliptest.noise.identical_groups`.
    **recipe
        Options of `fairlab.transport.GANTransport`.

    Returns
    -------
    list of dict
        Per trial, the arrays of its map.
    """
    groups = [identical_groups(t.rng("points"), n_points, n_seen=n_seen, n_telling=n_telling) for t in trials]
    maps = fit_gans(_gans(trials, "gan", **recipe), *map(list, zip(*groups, strict=True)))
    return [gan.to_arrays() for gan in maps]


def noise_floor(trial, *, gan, n_points, n_seen, n_telling, C, gamma, n_subset=None) -> dict:
    """Ask a model of random labels about the people of one of `noise_maps` and their images.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
        That of the map; its labels are its own.
    gan : dict
        The map's arrays.
    n_points, n_seen, n_telling : int
        As for `noise_maps`.
    C : float
    gamma : float or "scale"
        See `fairlab.papers.fliptest.noise.random_label_svm`.
    n_subset : int, optional
        Most people of either group for the exact map; None for no exact map.

    Returns
    -------
    dict
        ``fit``, a table of the GAN map's validation; ``moved``, by how many standard deviations it moves what the model
        sees, on average; and ``flips``: per map its name, ``map``, with ``prediction`` and ``image_prediction``. The
        maps are ``GAN``, of the whole source group, and ``GAN, subset`` and ``exact, subset``, of some of it, the exact
        map being to as many of the target group. No flips if the GAN diverged.
    """
    source, target = identical_groups(trial.rng("points"), n_points, n_seen=n_seen, n_telling=n_telling)
    image = GANTransport.from_arrays(gan).transform(source)
    validation = validate_map(target, image, X_source=source)
    moved = float(np.abs(image - source)[:, :n_seen].mean())
    floor = {"fit": validation.to_frame(), "moved": moved, "flips": []}
    if validation.diverged:
        return floor
    model = random_label_svm(np.vstack([source, target]), trial.rng("labels"), n_seen=n_seen, C=C, gamma=gamma)
    labels, image_labels = model.predict(source), model.predict(image)
    pairs = {"GAN": (labels, image_labels)}
    if n_subset is not None:
        some, some_target = source[:n_subset], target[:n_subset]
        exact = ExactTransport(cost=squared_l1).fit(some, some_target).transform(some)
        pairs["GAN, subset"] = labels[:n_subset], image_labels[:n_subset]
        pairs["exact, subset"] = labels[:n_subset], model.predict(exact)
    floor["flips"] = [{"map": name, "prediction": x, "image_prediction": y} for name, (x, y) in pairs.items()]
    return floor


def exact_images(trial, *, n_points, dimension, correlation) -> dict:
    """Send both fixed points through exact maps (section 3.2).

    The exact map knows the points of its sample only. So there is one map for each fixed point, which takes the first
    place in the same sample.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    n_points : int
        Points per side, the fixed one included.
    dimension : int
    correlation : float
        Of every pair of features; see `fairlab.papers.fliptest.stability.equicorrelated_normal`.

    Returns
    -------
    dict
        ``origin`` and ``ones``, arrays of shape (dimension,): the images of the zero vector and of the one vector, in
        standard deviations.
    """
    source, target = _samples(trial, n_points, dimension, correlation)
    images = {}
    for fixed_point, name in enumerate(("origin", "ones")):
        source[0] = fixed_point
        images[name] = ExactTransport(cost=squared_l1).fit(source, target).transform(source)[0]
    return images


def gan_images(trials, *, n_points, dimension, correlation, **recipe) -> list[dict]:
    """Send both fixed points through one GAN map per trial, all trained as one ensemble.

    The origin is one of the `n_points` that a map is trained on, the one vector a point that it has not seen.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, dimension, correlation
        As for `exact_images`.
    **recipe
        Options of `fairlab.transport.GANTransport`.

    Returns
    -------
    list of dict
        As `exact_images`, and ``fit``, a table of the map's validation on fresh points. Images of a map that diverged
        are not a number.
    """
    samples = _samples_of(trials, n_points, dimension, correlation)
    maps = fit_gans(_gans(trials, "gan", **recipe), *map(list, zip(*samples, strict=True)))
    return _learnt_images(maps, trials, dimension, correlation)


def seguy_images(trials, *, n_points, dimension, correlation, **recipe) -> list[dict]:
    """Send both fixed points through one map of Seguy et al. per trial; otherwise as `gan_images`.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, dimension, correlation
        As for `exact_images`.
    **recipe
        Options of `fairlab.papers.fliptest.seguy.SeguyTransport`.

    Returns
    -------
    list of dict
    """
    from fairlab.papers.fliptest.seguy import SeguyTransport

    samples = _samples_of(trials, n_points, dimension, correlation)
    pairs = zip(trials, samples, strict=True)
    maps = [SeguyTransport(random_state=trial.seed("seguy"), **recipe).fit(*sample) for trial, sample in pairs]
    return _learnt_images(maps, trials, dimension, correlation)


def _gans(trials, stream, **recipe):
    return [GANTransport(random_state=trial.seed(stream), **recipe) for trial in trials]


def _samples_of(trials, n_points, dimension, correlation):
    """Return a source and a target sample per trial, the origin in the first place of the source."""
    samples = [_samples(trial, n_points, dimension, correlation) for trial in trials]
    for source, _ in samples:
        source[0] = 0
    return samples


def _learnt_images(maps, trials, dimension, correlation):
    images = []
    for trial, transport in zip(trials, maps, strict=True):
        origin, ones = transport.transform(np.stack([np.zeros(dimension), np.ones(dimension)]))
        source, target = _samples(trial, N_TEST, dimension, correlation, stream="test")  # fresh points
        fit = validate_map(target, transport.transform(source), X_source=source)
        images.append({"origin": origin, "ones": ones, "fit": fit.to_frame()})
    return images


def _samples(trial, n_points, dimension, correlation, stream="sample"):
    """Return the trial's source and target sample; all maps of a trial get the same ones."""
    rng = trial.rng(stream)
    return tuple(equicorrelated_normal(rng, n_points, dimension, correlation=correlation) for _ in range(2))
