"""How much the image of one fixed point changes from sample to sample (FlipTest, section 3.2 and figure 2)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.fliptest.validation import MapValidation, validate_map
from fairlab.transport import ExactTransport

# Fresh points per side on which the learnt maps are validated.
N_TEST = 2_000


@dataclass(frozen=True, eq=False)
class FixedPointImages:
    """Where a map between two samples sends the two fixed points.

    Attributes
    ----------
    origin, ones : array of shape (dimension,)
        Image of the zero vector and of the one vector, in standard deviations. Not a number for a map that diverged.
    validation : MapValidation or None
        Of a learnt map on fresh points; none for the exact map, whose images are the target sample itself.
    """

    origin: np.ndarray
    ones: np.ndarray
    validation: MapValidation | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coordinate, with columns origin and ones."""
        return pd.DataFrame({"origin": self.origin, "ones": self.ones}).rename_axis("coordinate")


def equicorrelated_normal(rng, n_points: int, dimension: int, *, correlation: float = 0.0) -> np.ndarray:
    """Draw from the normal distribution with zero mean, unit variances and one correlation for all pairs of features.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_points, dimension : int
    correlation : float
        At least 0 and below 1.

    Returns
    -------
    array of shape (n_points, dimension)

    Raises
    ------
    ValueError
        If `correlation` is out of range.
    """
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation: expected at least 0 and below 1, found {correlation}")
    common, own = rng.normal(size=(n_points, 1)), rng.normal(size=(n_points, dimension))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def exact_images(trial, *, n_points, dimension, correlation) -> FixedPointImages:
    """Send both fixed points through exact maps; a function for `fairlab.Experiment.trials`.

    The exact map knows the points of its sample only. So there is one map for each fixed point, which takes the first
    place in the same sample.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    n_points : int
        Points per side, the fixed one included.
    dimension : int
    correlation : float
        Of every pair of features; see `equicorrelated_normal`.

    Returns
    -------
    FixedPointImages
    """
    source, target = _samples(trial, n_points, dimension, correlation)
    images = []
    for fixed_point in (0, 1):
        source[0] = fixed_point
        images.append(ExactTransport().fit(source, target).transform(source)[0])
    return FixedPointImages(*images)


def gan_images(trials, *, n_points, dimension, correlation, **recipe) -> list[FixedPointImages]:
    """Send both fixed points through one GAN map per trial, all trained as one ensemble.

    A function for `fairlab.Experiment.trials` with ``batch``. The origin is one of the `n_points` that a map is trained
    on, the one vector a point that it has not seen.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, dimension, correlation
        As for `exact_images`.
    **recipe
        Options of `fairlab.transport.GANEnsemble`.

    Returns
    -------
    list of FixedPointImages
    """
    from fairlab.transport import GANEnsemble

    ensemble = GANEnsemble([trial.seed("gan") for trial in trials], **recipe)
    return _learnt_images(ensemble, trials, n_points, dimension, correlation)


def seguy_images(trials, *, n_points, dimension, correlation, **recipe) -> list[FixedPointImages]:
    """Send both fixed points through one map of Seguy et al. per trial; otherwise as `gan_images`.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, dimension, correlation
        As for `exact_images`.
    **recipe
        Options of `fairlab.transport.SeguyEnsemble`.

    Returns
    -------
    list of FixedPointImages
    """
    from fairlab.transport import SeguyEnsemble

    ensemble = SeguyEnsemble([trial.seed("seguy") for trial in trials], **recipe)
    return _learnt_images(ensemble, trials, n_points, dimension, correlation)


def coordinate_statistics(images) -> pd.DataFrame:
    """Return what figure 2 plots: one row per coordinate, over the draws whose map did not diverge.

    Parameters
    ----------
    images : sequence of FixedPointImages
        One per draw.

    Returns
    -------
    DataFrame
        Columns ``variance``, of the image of the origin over draws, and ``mean``, of the image of the one vector.
    """
    origin, ones = _over_draws(images)
    table = {"variance": origin.var(axis=0, ddof=1), "mean": ones.mean(axis=0)}
    return pd.DataFrame(table).rename_axis("coordinate")


def stability_interval(
    images, *, confidence: float = 0.95, n_resamples: int = 2_000, random_state: int = 0
) -> pd.DataFrame:
    """Return the median variance and the mean over coordinates, with percentile bootstrap intervals over draws.

    Parameters
    ----------
    images : sequence of FixedPointImages
        One per draw.
    confidence : float
        Between 0 and 1.
    n_resamples : int
    random_state : int

    Returns
    -------
    DataFrame of shape (2, 3)
        Rows ``variance`` (of the image of the origin, median over coordinates) and ``mean`` (of the image of the one
        vector, over coordinates); columns ``value``, ``low``, ``high``.
    """
    origin, ones = _over_draws(images)
    rng = np.random.default_rng(random_state)
    resamples = rng.integers(0, len(origin), (n_resamples, len(origin)))
    rows = {}
    for name, values, summary in (("variance", origin, _median_variance), ("mean", ones, _mean)):
        low, high = np.quantile(summary(values[resamples]), [(1 - confidence) / 2, (1 + confidence) / 2])
        rows[name] = {"value": float(summary(values)), "low": low, "high": high}
    return pd.DataFrame.from_dict(rows, orient="index")


def _learnt_images(ensemble, trials, n_points, dimension, correlation):
    samples = [_samples(trial, n_points, dimension, correlation) for trial in trials]
    source, target = (np.stack(side) for side in zip(*samples, strict=True))
    source[:, 0] = 0
    ensemble.fit(source, target)
    images = []
    for trial, transport in zip(trials, ensemble.maps_, strict=True):
        fresh_source, fresh_target = _samples(trial, N_TEST, dimension, correlation, stream="test")
        validation = validate_map(fresh_target, transport.transform(fresh_source), X_source=fresh_source)
        fixed = np.stack([np.zeros(dimension), np.ones(dimension)])
        images.append(FixedPointImages(*transport.transform(fixed), validation))
    return images


def _samples(trial, n_points, dimension, correlation, stream="sample"):
    """Return the trial's source and target sample; all maps of a trial get the same ones."""
    rng = trial.rng(stream)
    return tuple(equicorrelated_normal(rng, n_points, dimension, correlation=correlation) for _ in range(2))


def _over_draws(images):
    """Return the images of both fixed points, shape (n_draws, dimension), of the maps that did not diverge."""
    sides = np.array([(image.origin, image.ones) for image in images])
    origin, ones = sides[np.isfinite(sides).all(axis=(1, 2))].swapaxes(0, 1)
    if len(origin) < 2:
        raise ValueError(f"images: {len(origin)} of {len(images)} draws have a map that did not diverge, expected 2")
    return origin, ones


def _median_variance(origin):
    return np.median(origin.var(axis=-2, ddof=1), axis=-1)


def _mean(ones):
    return ones.mean(axis=(-2, -1))
