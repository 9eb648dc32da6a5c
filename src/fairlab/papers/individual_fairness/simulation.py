"""The simulation: logistic models of the simulated people over a grid of weights, audited (section 4.1, Appendix E)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.checks import check_features
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness.auditing import FOUR_FIFTHS, Audit, audit
from fairlab.models.classifiers import LinearClassifier

ROTATIONS = {"left": 0, "center": 5, "right": 10}  # degrees that the metric of each panel is turned by
FLOW = {"regularizer": 100, "step_size": 0.02, "schedule": "decaying"}
METRIC_DIRECTIONS = ((1.0, 0.0),)  # moves along the first coordinate are free

# Where the intercepts are sought, and how closely.
_RANGE = 20.0
_TOLERANCE = 1e-7

# Weights on the grid are sums of 0.4, off by rounding.
_ROUNDING = 1e-9


def weight_grid() -> np.ndarray:
    """Return the authors' weights (theta_1, theta_2), -4 to 4 in steps of 0.4 each: shape (441, 2)."""
    axis = np.arange(-4, 4.1, 0.4)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def weight_axis() -> np.ndarray:
    """Return the weights along one axis of the grid, rounded: shape (21,)."""
    return np.unique(weight_grid()[:, 0].round(6))


def fitted_intercepts(coef, X, y) -> np.ndarray:
    """Return the intercept that minimises the logistic loss of each pair of weights (equation E.2).

    There the mean probability is the share of ones; the intercepts of all models are found at once, by bisection.

    Parameters
    ----------
    coef : array-like of shape (n_models, n_features)
    X : DataFrame or array of shape (n_points, n_features)
    y : array-like of shape (n_points,)
        Labels 0 and 1, both present.

    Returns
    -------
    ndarray of shape (n_models,)
    """
    share = np.mean(y)
    if not 0 < share < 1:
        raise ValueError(f"y: every label is {share:.0f}, so that no finite intercept is best")
    logit = np.asarray(coef) @ check_features(X, "X")[0].T
    low, high = np.full((2, len(logit)), [[-_RANGE], [_RANGE]])
    while high[0] - low[0] > _TOLERANCE:  # all brackets shrink alike
        middle = (low + high) / 2
        too_low = expit(logit + middle[:, None]).mean(axis=1) < share
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return (low + high) / 2


def grid_models(X, y) -> dict[str, LinearClassifier]:
    """Return all models of the grid at once, by reading.

    The authors' code adds the intercept to each of the two products before it sums them. *As published* has it twice,
    *as described* once.

    Returns
    -------
    dict of str to LinearClassifier
        Weights of shape (441, 2).
    """
    grid = weight_grid()
    intercept = fitted_intercepts(grid, X, y)
    times = {"as_published": 2, "as_described": 1}
    return {reading: LinearClassifier(grid, k * intercept) for reading, k in times.items()}


def audit_grid(model: LinearClassifier, X, y, *, degrees: float, **flow) -> Audit:
    """Audit every model of the grid on the same people, within a metric that is turned by some degrees.

    Parameters
    ----------
    model : LinearClassifier
        With weights of shape (n_models, 2).
    X : DataFrame of shape (n_points, 2)
    y : array-like of shape (n_points,)
    degrees : float
    **flow
        Options of `gradient_flow_attack`.

    Returns
    -------
    Audit
        Tests of shape (n_models,).
    """
    metric = FairMetric.from_directions(METRIC_DIRECTIONS).rotated(degrees)
    points = np.broadcast_to(np.asarray(X), (len(model.coef), *np.shape(X)))
    return audit(model, metric, points, y, **{"variant": "published"} | flow)


def as_map(values) -> pd.DataFrame:
    """Return one number per model of the grid as a table, theta_1 in the rows and theta_2 in the columns."""
    axis = weight_axis()
    table = np.reshape(values, (len(axis), len(axis)))
    return pd.DataFrame(table, index=pd.Index(axis, name="theta_1"), columns=pd.Index(axis, name="theta_2"))


def maps_of(audits: Mapping[tuple[str, float], Audit], reading: str) -> dict[float, pd.DataFrame]:
    """Return the maps of bounds of one reading, by degrees of the rotation."""
    return {degrees: as_map(found.loss_ratio.lower_bound) for (of, degrees), found in audits.items() if of == reading}


def as_rows(maps: Mapping[float, pd.DataFrame]) -> pd.DataFrame:
    """Return the maps of several rotations as one table with columns degrees, theta_1, theta_2 and lower_bound."""
    rows = pd.concat(maps, names=["degrees"]).melt(var_name="theta_2", value_name="lower_bound", ignore_index=False)
    rows = rows.reset_index().sort_values(["degrees", "theta_1", "theta_2"], ignore_index=True)
    return rows[["degrees", "theta_1", "theta_2", "lower_bound"]]


def summary(audits: Mapping[tuple[str, float], Audit]) -> pd.DataFrame:
    """Return one row per reading and rotation: stopping time, diverged points, dropped ratios, share rejected."""
    rows = {
        key: {
            "stopping time T": found.attack.stopping_time,
            "points that diverged": found.attack.diverged.sum(),
            "ratios dropped": found.loss_ratio.n_dropped.sum(),
            "models rejected": found.loss_ratio.rejected.mean(),
        }
        for key, found in audits.items()
    }
    return pd.DataFrame(rows).T.rename_axis(["reading", "degrees"])


def changes(maps: Mapping[float, pd.DataFrame], others: Mapping[float, pd.DataFrame]) -> pd.DataFrame:
    """Return, by rotation, the largest change of a bound between two sets of maps and the decisions that change."""
    rows = {
        degrees: {
            "largest change of a bound": (bounds - others[degrees]).abs().max(axis=None),
            "decisions that change": ((bounds > FOUR_FIFTHS) != (others[degrees] > FOUR_FIFTHS)).sum(axis=None),
        }
        for degrees, bounds in maps.items()
    }
    return pd.DataFrame(rows).T.rename_axis("degrees")


def map_claims(maps: Mapping[float, pd.DataFrame], *, threshold: float = FOUR_FIFTHS) -> dict[str, tuple[bool, str]]:
    """Check each claim of figure 1 on the maps of bounds.

    Parameters
    ----------
    maps : dict of float to DataFrame
        By degrees of the rotation, as `as_map` gives them; 0 is the metric as it should be.
    threshold : float
        delta.

    Returns
    -------
    dict of str to (bool, str)
        By claim: whether it holds, and the numbers that it rests on.
    """
    straight, turned = maps[0], [degrees for degrees in maps if degrees != 0]
    weight = np.abs(straight.index)
    mean, spread = straight.mean(axis=1), _range_over_theta_2(straight).max()
    steps = np.concatenate([-np.diff(mean[mean.index <= 0]), np.diff(mean[mean.index >= 0])])
    at_zero = {degrees: bounds.loc[0.0].max() for degrees, bounds in maps.items()}
    heavy = straight[weight >= 2 - _ROUNDING].min(axis=None)
    light = straight[weight <= 1.2 + _ROUNDING].max(axis=None)
    away = straight[weight > _ROUNDING].min(axis=None)
    # Mean |theta_2| of the models that are rejected only because the metric is turned; missing if there are none.
    heights = np.abs(straight.columns.to_numpy())
    newly = {k: ((maps[k] > threshold) & (straight <= threshold)).sum() for k in turned}
    higher = {k: (count @ heights) / count.sum() if count.any() else np.nan for k, count in newly.items()}
    quarter = np.ptp(mean) / 4
    rejected = ", ".join(f"{newly[k].sum()} models of mean |theta_2| {height:.1f}" for k, height in higher.items())
    found = {
        "increases-with-theta1": ((steps > 0).all(), f"smallest step of the mean {steps.min():.3f}"),
        "flat-in-theta2": (
            spread <= quarter,
            f"largest range over theta_2 {spread:.3f}, a quarter of the means' range {quarter:.3f}",
        ),
        "zero-theta1-accepted": (max(at_zero.values()) < threshold, f"largest bound {max(at_zero.values()):.3f}"),
        "large-theta1-rejected": (heavy > threshold, f"smallest bound {heavy:.3f}"),
        "small-theta1-permitted": (light <= threshold, f"largest bound {light:.3f}"),
        "misspecification-tilts-boundary": (
            all(height > heights.mean() for height in higher.values()),
            f"newly rejected: {rejected}; mean of all models {heights.mean():.1f}",
        ),
        "delta-to-one": (away > at_zero[0], f"smallest bound {away:.3f}, largest at theta_1 = 0 {at_zero[0]:.3f}"),
    }
    return {claim: (bool(holds), detail) for claim, (holds, detail) in found.items()}


def _range_over_theta_2(bounds):
    return bounds.max(axis=1) - bounds.min(axis=1)
