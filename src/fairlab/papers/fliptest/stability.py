"""How much the image of one fixed point changes from sample to sample (FlipTest, section 3.2 and figure 2).

A draw is what a trial of `fairlab.papers.fliptest.trials` returns: the images ``origin`` and ``ones`` of the two fixed
points and, for a learnt map, its ``fit`` on fresh points.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from fairlab.checks import check_number
from fairlab.papers.fliptest.ensembles import MapValidation, usable_maps


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
    """
    check_number(correlation, "correlation", least=0, below=1)
    common, own = rng.normal(size=(n_points, 1)), rng.normal(size=(n_points, dimension))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def usable_draws(draws: Sequence[dict]) -> tuple[list[dict], str]:
    """Return the draws whose map reached its target, and a note of how many were left out; exact maps always do."""
    if "fit" not in draws[0]:
        return list(draws), ""
    names, note = usable_maps(_validations(draws))
    return [draws[k] for k in names], note


def coordinate_statistics(draws: Sequence[dict]) -> pd.DataFrame:
    """Return what figure 2 plots: one row per coordinate, over the draws whose map did not diverge.

    Returns
    -------
    DataFrame
        Columns ``variance``, of the image of the origin over draws, and ``mean``, of the image of the one vector.
    """
    origin, ones = _over_draws(draws)
    table = {"variance": origin.var(axis=0, ddof=1), "mean": ones.mean(axis=0)}
    return pd.DataFrame(table).rename_axis("coordinate")


def stability_interval(
    draws: Sequence[dict], *, confidence: float = 0.95, n_resamples: int = 2_000, random_state: int = 0
) -> pd.DataFrame:
    """Return the median variance and the mean over coordinates, with percentile bootstrap intervals over draws.

    Parameters
    ----------
    draws : sequence of dict
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
    origin, ones = _over_draws(draws)
    rows = {}
    for name, values, summary in (("variance", origin, _median_variance), ("mean", ones, _mean)):
        interval = bootstrap(
            (np.arange(len(values)),),  # a draw is resampled with all its coordinates
            lambda chosen, axis, values=values, summary=summary: summary(values[chosen]),
            vectorized=True,
            n_resamples=n_resamples,
            confidence_level=confidence,
            method="percentile",
            rng=np.random.default_rng(random_state),
        ).confidence_interval
        rows[name] = {"value": float(summary(values)), "low": interval.low, "high": interval.high}
    return pd.DataFrame.from_dict(rows, orient="index")


def summary_of_setting(draws: Sequence[dict]) -> dict[str, float]:
    """Return what one setting of a learnt map does: variance, mean, fit, and how far people are moved per feature."""
    summary = stability_interval(draws)["value"]
    validations = _validations(draws).values()
    return {
        "variance": summary["variance"],
        "mean of ones": summary["mean"],
        "largest KS": max(validation.features["ks"].max() for validation in validations),
        "mean L1 per feature": float(np.mean([validation.mean_l1 for validation in validations]))
        / len(draws[0]["ones"]),
        "off target": sum(validation.off_target for validation in validations),
    }


def interval_words(intervals: pd.DataFrame) -> pd.Series:
    """Return a table with the columns of `stability_interval` as text, ``value [low, high]``."""
    return intervals.apply(lambda row: f"{row['value']:.3g} [{row['low']:.2g}, {row['high']:.2g}]", axis=1)


def _validations(draws):
    return {k: MapValidation.from_frame(draw["fit"]) for k, draw in enumerate(draws)}


def _over_draws(draws):
    """Return the images of both fixed points, shape (n_draws, dimension), of the maps that did not diverge."""
    sides = np.array([(draw["origin"], draw["ones"]) for draw in draws])
    origin, ones = sides[np.isfinite(sides).all(axis=(1, 2))].swapaxes(0, 1)
    if len(origin) < 2:
        raise ValueError(f"draws: {len(origin)} of {len(draws)} draws have a map that did not diverge, expected 2")
    return origin, ones


def _median_variance(origin):
    return np.median(origin.var(axis=-2, ddof=1), axis=-1)


def _mean(ones):
    return ones.mean(axis=(-2, -1))
