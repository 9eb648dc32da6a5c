"""The rules that say how our numbers stand to published ones: those of the project's design, never tuned to results."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from fairlab.suite.published import Value, half_step, number_text

VERDICTS = ("exact", "agrees", "same conclusion", "differs", "not comparable", "surrogate", "not run")
RELATIVE_TOLERANCE = 0.25
POINTS_TOLERANCE = {"proportion": 0.005, "percent": 0.5}  # half a percentage point
STANDARD_ERRORS = 3
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Ours:
    """Our side of one published number: one value (or interval) per trial.

    Attributes
    ----------
    values : ndarray of shape (n_trials,) or, for intervals, (n_trials, 2)
    """

    values: np.ndarray

    @property
    def n(self) -> int:
        """Number of trials."""
        return len(self.values)

    @property
    def mean(self) -> float | np.ndarray:
        """Mean over trials."""
        return self.values.mean(axis=0)

    @property
    def std(self) -> float | None:
        """Standard deviation over trials (n - 1), None for a single one."""
        return float(self.values.std(axis=0, ddof=1)) if self.n > 1 and self.values.ndim == 1 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% t-interval of the mean over trials, None for a single one."""
        if self.std is None:
            return None
        half = stdtrit(self.n - 1, 0.975) * self.std / math.sqrt(self.n)
        return float(self.mean - half), float(self.mean + half)


def judge(published: Value, ours: Ours, *, claims_hold: bool | None = None) -> tuple[str, str]:
    """Return the verdict on our number and the reason for it in a few words.

    Parameters
    ----------
    published : Value
    ours : Ours
        As recorded, from real or generated data and at a comparable size; the caller settles that.
    claims_hold : bool or None
        Whether every claim of the artefact holds; None if it has none or some were not checked.

    Returns
    -------
    verdict : {"exact", "agrees", "same conclusion", "differs", "not comparable"}
    reason : str
    """
    if published.kind == "seconds":
        return "not comparable", "seconds depend on the machine"
    if published.exact and _equals_as_printed(published, ours):
        return "exact", "equal at the printed precision"
    agrees, reason = _agrees(published, ours)
    if agrees:
        return "agrees", reason
    if claims_hold:
        return "same conclusion", f"not {reason}, but every claim of its artefact holds"
    return "differs", f"not {reason}"


def _equals_as_printed(published, ours):
    numbers = (published.low, published.high) if published.kind == "interval" else (published.value,)
    pairs = zip(numbers, np.atleast_1d(ours.mean), strict=True)
    return all(abs(own - printed) <= half_step(printed) * (1 + 1e-9) for printed, own in pairs)


def _agrees(published, ours):
    if published.kind == "interval":
        low, high = ours.mean
        shorter = min(high - low, published.high - published.low)
        overlap = min(high, published.high) - max(low, published.low)
        return overlap >= shorter / 2, "overlapping by half of the shorter interval"
    if published.less_than:
        return ours.mean < published.value, f"below {number_text(published.value)}"
    if published.kind == "p-value":
        side = "below" if published.value < SIGNIFICANCE else "above"
        return (ours.mean < SIGNIFICANCE) == (side == "below"), f"{side} {SIGNIFICANCE}"
    difference = abs(ours.mean - published.value)
    if published.std is not None:
        own_variance = 0.0 if ours.std is None else ours.std**2 / ours.n
        error = math.sqrt(published.std**2 / (published.n or 1) + own_variance)
        within = max(STANDARD_ERRORS * error, published.std)
        return difference <= within * (1 + 1e-9), f"within {within:.3g} (three standard errors or one published std)"
    within = max(RELATIVE_TOLERANCE * abs(published.value), POINTS_TOLERANCE.get(published.kind, 0.0))
    points = " or half a percentage point" if published.kind in POINTS_TOLERANCE else ""
    return difference <= within * (1 + 1e-9), f"within {RELATIVE_TOLERANCE:.0%}{points}"
