"""The verdicts on our numbers: their rules, which hold for all rows, and what readers see of each."""

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy  # whose parts are loaded at their first use

from fairlab.suite.published import Kind, Value, half_step

AGREES, NEAR = 0.10, 0.25  # relative differences
POINTS = {"proportion": 0.005, "percent": 0.5}  # half a percentage point
STANDARD_ERRORS, ITS_LEVEL = 3, 0.0027  # of a normal distribution
TRIALS_FOR_ERRORS, WIDEST_ERRORS = 5, 0.25  # ours are used from so many trials on, if three of them are at most so wide
SIGNIFICANCE = 0.05
RUNS_FOR_SPREAD, CENTRAL = 20, 0.95  # single runs are compared with so many of ours
RESAMPLES, UNSETTLED = 400, 0.05  # of our trials; share of them with another verdict from which on a row is unsettled
ROUNDING = 1 + 1e-9  # of computed differences

# How a number came out, the best first.
JUDGED = ("exact", "agrees", "near", "compatible", "same conclusion", "differs")


@dataclass(frozen=True)
class Ours:
    """Our result for one published number: one value (or interval) per trial.

    Attributes
    ----------
    values : ndarray of shape (n_trials, ...) or, for intervals, (n_trials, ..., 2)
        Further axes are of resamples.
    kind : str
        That of the published number. For a standard deviation the values are the numbers that have it.
    """

    values: np.ndarray
    kind: Kind = "statistic"

    @property
    def n(self) -> int:
        """Number of trials."""
        return len(self.values)

    @property
    def number(self) -> np.ndarray:
        """What is compared: the mean over trials, or their standard deviation if that was published."""
        return self.std if self.kind == "std" else self.values.mean(axis=0)

    @property
    def centre(self) -> np.ndarray:
        """The number, or the middle of the mean interval."""
        return self.number.mean(axis=-1) if self.kind == "interval" else self.number

    @property
    def std(self) -> np.ndarray:
        """Standard deviation over trials (n - 1); 0 for a single one and for intervals, where it is not known."""
        is_known = self.n > 1 and self.kind != "interval"
        return self.values.std(axis=0, ddof=1) if is_known else np.zeros(self.values.shape[1:])

    @property
    def error(self) -> np.ndarray:
        """Standard error of the mean over trials, 0 where it is not known."""
        return self.std / np.sqrt(self.n)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the number, None for a single trial: t for a mean, chi-squared for a standard deviation.

        The mean ends of intervals.
        """
        if self.kind == "interval":
            return tuple(map(float, self.number))
        if self.n == 1:
            return None
        if self.kind == "std":
            low, high = self.std * np.sqrt((self.n - 1) / scipy.special.chdtri(self.n - 1, [0.025, 0.975]))
            return float(low), float(high)
        half = scipy.special.stdtrit(self.n - 1, 0.975) * self.error
        return float(self.number - half), float(self.number + half)

    def resampled(self) -> "Ours":
        """Return bootstrap samples of the trials, the same every time."""
        return replace(self, values=self.values[_resamples(self.n)])


def _resamples(n: int) -> np.ndarray:
    """Return the trials of each resample, shape (n, RESAMPLES)."""
    return np.random.default_rng(0).integers(n, size=(n, RESAMPLES))


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
        One of `JUDGED`, or ``surrogate``, ``setting``, ``not comparable`` or ``impossible``.
    reason : str
    """
    used = f"published {published.printed}, used {ours.centre:g}"
    beforehand = (
        ("surrogate", surrogate, surrogate),
        ("setting", published.setting and _equals_as_printed(published, ours), "a fixed parameter of the protocol"),
        ("not comparable", published.kind == "seconds", "seconds depend on the machine"),
        ("not comparable", size, f"not the size of the published protocol: {size}"),
        ("impossible", published.impossible, published.impossible),
        ("differs", published.setting, f"a fixed parameter of the protocol: {used}"),
    )
    if decided := next(((verdict, reason) for verdict, applies, reason in beforehand if applies), None):
        return decided
    (_, rule), verdict = _agreement(published, ours), str(_by_number(published, ours, claims_hold))
    reasons = {
        "exact": "equal at the published precision",
        "agrees": rule,
        "near": f"within {NEAR:.0%}",
        "compatible": f"a single published run, within the central {CENTRAL:.0%} of our {ours.n} runs",
        "same conclusion": f"not {rule}, but every claim of its table or figure holds",
        "differs": f"not {rule}",
    }
    return verdict, reasons[verdict]


def unsettled(published: Value, ours: Ours, *, claims_hold: bool = False) -> float:
    """Return the share of resamples of our trials by which the verdict on a number would be another.

    Exact and agrees count as one: which of them it is says nothing of whether the number comes out. A row is
    *unsettled* if the share is more than `UNSETTLED`.

    Parameters
    ----------
    published, ours, claims_hold
        As of `judge`, where the number is judged at all.
    """
    verdict, others = (
        np.where(np.isin(found, AGREEING), AGREEING[0], found)
        for found in (_by_number(published, each, claims_hold) for each in (ours, ours.resampled()))
    )
    return float(np.mean(others != verdict))


def _by_number(published, ours, claims_hold) -> np.ndarray:
    """Return the verdict that a number gives, or those of resamples: the first rule that applies, from the top."""
    rules = (
        _equals_as_printed(published, ours),
        _agreement(published, ours)[0],
        _is_near(published, ours),
        _is_compatible(published, ours),
        claims_hold,
    )
    return np.select(np.broadcast_arrays(*rules), JUDGED[:-1], JUDGED[-1])


def judge_trials(rule: Callable, trials) -> tuple[bool, float | None]:
    """Return whether a claim holds, and the share of resamples of our trials in which it is the other way.

    Parameters
    ----------
    rule : callable
        Takes trials and returns whether the claim holds for them, or in which cases: it must in all.
    trials : array, DataFrame or Series
        One drawn trial a row. Of a single one it is not known how it would come out with others: the share is None.
        Columns of a frame that lack values elsewhere are of other runs, such as those of another method.
    """
    trials = trials if isinstance(trials, pd.DataFrame | pd.Series) else np.asarray(trials)
    holds = np.all(rule(trials))
    if len(trials) < 2:
        return bool(holds), None
    return bool(holds), float(np.mean([np.all(rule(each)) != holds for each in _resampled(trials)]))


def _resampled(trials) -> Iterator:
    """Yield resamples of trials, in a frame the columns of other runs each on their own."""
    if not isinstance(trials, pd.DataFrame) or trials.notna().all(axis=None):
        rows = trials.iloc if isinstance(trials, pd.DataFrame | pd.Series) else trials
        yield from (rows[drawn] for drawn in _resamples(len(trials)).T)
        return
    numbers, rng = trials.to_numpy(dtype=float), np.random.default_rng(0)
    known, kinds = np.unique(~np.isnan(numbers), axis=1, return_inverse=True)
    own = [(np.flatnonzero(rows), np.flatnonzero(kinds.ravel() == kind)) for kind, rows in enumerate(known.T)]
    for _ in range(RESAMPLES):
        drawn = np.full_like(numbers, np.nan)
        for rows, columns in own:
            drawn[: len(rows), columns] = numbers[np.ix_(rng.choice(rows, len(rows)), columns)] if len(rows) else np.nan
        yield pd.DataFrame(drawn, columns=trials.columns)


def judge_claim(holds: bool, *, surrogate: str = "", size: str = "", impossible: str = "") -> tuple[str, str]:
    """Return the verdict on a claim that holds or fails in a run, and a reason if it is neither; see `judge`."""
    limits = {
        "surrogate": surrogate,
        "not comparable": size and f"not the size of the published protocol: {size}",
        "impossible": impossible,
    }
    decided = ((verdict, reason) for verdict, reason in limits.items() if reason)
    return next(decided, ("holds" if holds else "fails", ""))


def relative_difference(published: Value, ours: Ours) -> float | None:
    """Return how far our mean is from the published number, relative to it and with its sign.

    For intervals, that of the centres; 0 if ours satisfies a published ``<x``. None for p-values, of which only the
    side of 0.05 is judged, and if the published number is 0 and ours is not.
    """
    if published.kind == "p-value":
        return None
    theirs, own = published.centre, float(ours.centre)
    if own == theirs or (published.less_than and _equals_as_printed(published, ours)):
        return 0.0
    return (own - theirs) / abs(theirs) if theirs else None


def _equals_as_printed(published, ours) -> np.ndarray:
    if published.less_than:
        return ours.number < published.value
    interval = published.kind == "interval"
    printed = (published.printed_low, published.printed_high) if interval else (published.printed_value,)
    pairs = zip(printed, np.moveaxis(ours.number, -1, 0) if interval else (ours.number,), strict=True)
    return np.all([abs(own - float(each)) <= half_step(each) * ROUNDING for each, own in pairs], axis=0)


def _agreement(published, ours) -> tuple[np.ndarray, str]:
    """Return whether a number agrees, or in which resamples, and the rule for it in words."""
    if published.kind == "p-value":
        is_below = published.value < SIGNIFICANCE
        return (ours.number < SIGNIFICANCE) == is_below, f"{'below' if is_below else 'above'} {SIGNIFICANCE}"
    if published.kind == "std" and ours.n > 1 and published.value > 0:
        ratio, degrees = (ours.number / published.value) ** 2, (ours.n - 1, published.n - 1)
        rule = f"within the F test of two standard deviations, of {ours.n} and {published.n} runs"
        tails = scipy.special.fdtr(*degrees, ratio), scipy.special.fdtrc(*degrees, ratio)
        return 2 * np.minimum(*tails) > ITS_LEVEL, rule
    if published.kind == "interval":
        # The overlap is half of the shorter one where the centres are half of the longer one apart.
        low, high = np.moveaxis(ours.number, -1, 0)
        limit = np.maximum(high - low, published.high - published.low) / 2
        rule = "overlapping by half of the shorter interval"
    elif published.std is not None:
        combined = np.hypot(published.std / np.sqrt(published.n or 1), ours.error)
        limit = np.maximum(STANDARD_ERRORS * combined, published.std)
        rule = f"within {limit.max():.3g} (three standard errors or one published std)"
    else:
        # "<x" is printed of small numbers, of which half a percentage point may be many times.
        points = 0.0 if published.less_than else POINTS.get(published.kind, 0.0)
        errors, share = STANDARD_ERRORS * ours.error, AGREES * abs(published.value)
        count = (ours.n >= TRIALS_FOR_ERRORS) & (errors > 0) & (errors <= WIDEST_ERRORS * abs(published.value))
        limit = np.maximum(max(share, points), np.where(count, errors, 0.0))
        ways = [f"{AGREES:.0%}"] + ["half a percentage point"] * bool(points)
        ways += [f"three of our standard errors ({errors.max():.3g})"] * bool(count.any())
        rule = f"within {' or '.join(ways)}"
    return abs(ours.centre - published.centre) <= limit * ROUNDING, rule


def _is_near(published, ours) -> np.ndarray | bool:
    applies = published.std is None and published.kind not in ("interval", "p-value", "std")
    return applies and abs(ours.number - published.value) <= NEAR * abs(published.value) * ROUNDING


def _is_compatible(published, ours) -> np.ndarray | bool:
    if not published.single_run or published.kind == "interval" or ours.n < RUNS_FOR_SPREAD:
        return False
    low, high = np.quantile(ours.values, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2], axis=0)
    return (low <= published.value) & (published.value <= high)


CLAIM_VERDICTS = ("holds", "fails")
AGREEING = ("exact", "agrees")
OPEN = ("differs", "fails")


# What readers see of a verdict: a colour of `fairlab.plotting.COLOURS` (verdicts of one colour share a segment of a
# bar), the rule in short, SVG in a square of 12 by 12 (marks differ in shape, too), and what stands instead of its key.
Look = namedtuple("Look", ["colour", "meaning", "shape", "label"], defaults=[""])
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
