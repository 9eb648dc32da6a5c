"""The verdicts on our numbers: their rules, which are not tuned to results, and what readers see of each."""

import math
from dataclasses import dataclass

import numpy as np

from fairlab.suite.published import Value, half_step

AGREES, NEAR = 0.10, 0.25  # relative differences
POINTS = {"proportion": 0.005, "percent": 0.5}  # half a percentage point
STANDARD_ERRORS = 3
TRIALS_FOR_ERRORS, WIDEST_ERRORS = 5, 0.25  # ours are used from so many trials on, if three of them are at most so wide
SIGNIFICANCE = 0.05
RUNS_FOR_SPREAD, CENTRAL = 20, 0.95  # single runs are compared with so many of ours
ROUNDING = 1 + 1e-9  # of computed differences


@dataclass(frozen=True)
class Ours:
    """Our result for one published number: one value (or interval) per trial.

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
    def error(self) -> float:
        """Standard error of the mean over trials, 0 where it is not known."""
        return 0.0 if self.std is None else self.std / math.sqrt(self.n)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% t-interval of the mean over trials, None for a single one; the mean ends of intervals."""
        if self.values.ndim == 2:
            return tuple(map(float, self.mean))
        if self.std is None:
            return None
        from scipy.special import stdtrit

        half = stdtrit(self.n - 1, 0.975) * self.error
        return float(self.mean - half), float(self.mean + half)


def judge(
    published: Value, ours: Ours, *, surrogate: str = "", size: str = "", claims_hold: bool = False
) -> tuple[str, str]:
    """Return the verdict on our result for a published number and the reason for it: the first rule that applies.

    A number without a result of ours is not judged: its row has the verdict *not run*.

    Parameters
    ----------
    published : Value
    ours : Ours
    surrogate : str
        That our result is computed from surrogate data, and how to get the real data; empty if it is not.
    size : str
        How the run is smaller than the published protocol in a way on which this number depends; empty if it is not.
    claims_hold : bool
        Whether the table or figure has claims, and every one holds.

    Returns
    -------
    verdict : str
        One of `VERDICTS`.
    reason : str
    """
    is_equal, (agrees, rule) = _equals_as_printed(published, ours), _agrees(published, ours)
    used = f"published {published.printed}, used {np.mean(ours.mean):g}"
    runs = f"within the central {CENTRAL:.0%} of our {ours.n} runs"
    return _first(
        ("surrogate", surrogate, surrogate),
        ("setting", published.setting and is_equal, "a fixed parameter of the protocol"),
        ("not comparable", published.kind == "seconds", "seconds depend on the machine"),
        ("not comparable", size, f"not the size of the published protocol: {size}"),
        ("impossible", published.impossible, published.impossible),
        ("differs", published.setting, f"a fixed parameter of the protocol: {used}"),
        ("exact", is_equal, "equal at the published precision"),
        ("agrees", agrees, rule),
        ("near", _is_near(published, ours), f"within {NEAR:.0%}"),
        ("compatible", _is_compatible(published, ours), f"a single published run, {runs}"),
        ("same conclusion", claims_hold, f"not {rule}, but every claim of its table or figure holds"),
        ("differs", True, f"not {rule}"),
    )


def judge_claim(holds: bool, *, surrogate: str = "", size: str = "") -> tuple[str, str]:
    """Return the verdict on a claim that holds or fails in a run, and a reason if it is neither; see `judge`."""
    return _first(
        ("surrogate", surrogate, surrogate),
        ("not comparable", size, f"not the size of the published protocol: {size}"),
        ("holds", holds, ""),
        ("fails", True, ""),
    )


def _first(*rules) -> tuple[str, str]:
    """Return verdict and reason of the first rule that applies, from the top."""
    return next((verdict, reason) for verdict, applies, reason in rules if applies)


def relative_difference(published: Value, ours: Ours) -> float | None:
    """Return how far our mean is from the published number, relative to it and with its sign.

    For intervals, that of the centres; 0 if ours satisfies a published ``<x``. None for p-values, of which only the
    side of 0.05 is judged, and if the published number is 0 and ours is not.
    """
    if published.kind == "p-value":
        return None
    theirs, own = published.centre, float(np.mean(ours.mean))
    if own == theirs or (published.less_than and _equals_as_printed(published, ours)):
        return 0.0
    return (own - theirs) / abs(theirs) if theirs else None


def _agrees(published, ours) -> tuple[bool, str]:
    """Return whether our result agrees, and the rule in words."""
    if published.kind == "p-value":
        is_below = published.value < SIGNIFICANCE
        return (ours.mean < SIGNIFICANCE) == is_below, f"{'below' if is_below else 'above'} {SIGNIFICANCE}"
    limit, rule = _limit(published, ours)
    return abs(np.mean(ours.mean) - published.centre) <= limit * ROUNDING, rule


def _is_near(published, ours) -> bool:
    if published.std is not None or published.kind in ("interval", "p-value"):
        return False
    return abs(ours.mean - published.value) <= NEAR * abs(published.value) * ROUNDING


def _is_compatible(published, ours) -> bool:
    if not published.single_run or ours.values.ndim > 1 or ours.n < RUNS_FOR_SPREAD:
        return False
    low, high = np.quantile(ours.values, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    return low <= published.value <= high


# How a number came out, the best first.
JUDGED = ("exact", "agrees", "near", "compatible", "same conclusion", "differs")
VERDICTS = ("not run", "surrogate", "setting", "not comparable", "impossible", *JUDGED)
CLAIM_VERDICTS = ("holds", "fails")
AGREEING = ("exact", "agrees")
OPEN = ("differs", "fails")


@dataclass(frozen=True)
class Look:
    """What readers see of a verdict.

    Attributes
    ----------
    colour : str
        Of `fairlab.plotting.COLOURS`; verdicts of one colour share a segment of a bar.
    meaning : str
        The rule in short.
    shape : str
        SVG in a square of 12 by 12: marks differ in shape as well as in colour.
    label : str
        What is shown instead of the verdict's key.
    """

    colour: str
    meaning: str
    shape: str
    label: str = ""


# All verdicts, in the order in which they are shown and counted.
LOOKS = {
    "exact": Look("blue", "equal at the published precision", '<circle cx="6" cy="6" r="5"/>'),
    "agrees": Look(
        "blue",
        "within the published standard deviation, or 10%",
        '<rect x="1.5" y="1.5" width="9" height="9"/>',
    ),
    "near": Look("green", "within 25%", '<polygon points="6,0 12,6 6,12 0,6"/>'),
    "compatible": Look(
        "green",
        "a single published run, within the central 95% of at least twenty of ours",
        '<polygon points="3,1 9,1 12,6 9,11 3,11 0,6"/>',
        "within run-to-run variation",
    ),
    "same conclusion": Look(
        "green",
        "the number differs, but every claim of its table or figure holds",
        '<polygon points="6,1 11,5 9,11 3,11 1,5"/>',
    ),
    "differs": Look("vermilion", "otherwise; the paper's page says why", '<polygon points="6,1 12,11 0,11"/>'),
    "holds": Look("blue", "a supported claim", '<path d="M4 1h4v3h3v4h-3v3h-4v-3h-3v-4h3z"/>'),
    "fails": Look(
        "vermilion",
        "a claim that our results do not support",
        '<path d="M3 0l3 3 3 -3 3 3 -3 3 3 3 -3 3 -3 -3 -3 3 -3 -3 3 -3 -3 -3z"/>',
    ),
    "setting": Look(
        "grey", "a parameter of the protocol, not a result", '<circle cx="6" cy="6" r="2.5"/>', "fixed parameter"
    ),
    "impossible": Look(
        "purple",
        "the published number contradicts the paper's own method",
        '<polygon points="1,1 11,1 7,6 11,11 1,11 5,6"/>',
        "internally inconsistent",
    ),
    "not comparable": Look(
        "grey", "seconds, or a run smaller than the paper's", '<rect x="1" y="4" width="10" height="4"/>'
    ),
    "surrogate": Look(
        "orange",
        "a fallback replaces data that is not available; never counted",
        '<polygon points="0,1 12,1 6,11"/>',
    ),
    "not run": Look("grey", "with the reason", '<circle cx="6" cy="6" r="3" class="fl-ring"/>'),
}
LABELS = {verdict: look.label for verdict, look in LOOKS.items() if look.label}


def label_of(verdict: str) -> str:
    """Return what readers see for the key of a verdict."""
    return LABELS.get(verdict, verdict)


def _equals_as_printed(published, ours) -> bool:
    if published.less_than:
        return bool(ours.mean <= published.value + half_step(published.printed_value) * ROUNDING)
    interval = published.kind == "interval"
    numbers = (published.printed_low, published.printed_high) if interval else (published.printed_value,)
    pairs = zip(numbers, np.atleast_1d(ours.mean), strict=True)
    return all(abs(own - float(printed)) <= half_step(printed) * ROUNDING for printed, own in pairs)


def _limit(published, ours) -> tuple[float, str]:
    """Return the largest difference of means, or of centres of intervals, that agrees, and the rule in words."""
    if published.kind == "interval":
        # The overlap is half of the shorter one where the centres are half of the longer one apart.
        longer = max(ours.mean[1] - ours.mean[0], published.high - published.low)
        return longer / 2, "overlapping by half of the shorter interval"
    if published.std is not None:
        combined = math.hypot(published.std / math.sqrt(published.n or 1), ours.error)
        limit = max(STANDARD_ERRORS * combined, published.std)
        return limit, f"within {limit:.3g} (three standard errors or one published std)"
    size, errors = abs(published.value), STANDARD_ERRORS * ours.error
    limits = {f"{AGREES:.0%}": AGREES * size}
    if published.kind in POINTS:
        limits["half a percentage point"] = POINTS[published.kind]
    if ours.n >= TRIALS_FOR_ERRORS and 0 < errors <= WIDEST_ERRORS * size:
        limits[f"three of our standard errors ({errors:.3g})"] = errors
    return max(limits.values()), f"within {' or '.join(limits)}"
