"""The estimator of both scores: inputs are drawn and counted until a rule stops (section 4.1, algorithms 1 and 2)."""

from collections.abc import Callable
from functools import partial

import numpy as np

from fairlab.cases import Finding
from fairlab.cases.schema import Schema
from fairlab.statistics import difference_p_value, exact_interval, exclusive_correlation
from fairlab.themis.draws import INPUTS, Comparison, UniformDraw, of_each
from fairlab.themis.stopping import Fixed, Rule

TITLE = "Themis"
MEASURES = {"group": "demographic_parity_difference", "causal": "counterfactual_flip_rate"}
EFFECTS = {"group": "demographic parity difference (largest − smallest)", "causal": "counterfactual flip rate"}
DISTANCE = "mean largest distance of counterfactual outputs"
GROUPS_AT_ONCE = 2_000
REPETITIONS = 200  # of a bootstrap
SHARES_AT_ONCE = 2_000_000  # shares drawn at once


def score_finding(
    measure: str, sensitive_features: tuple[str, ...], numbers, evidence, n, *, population: str = INPUTS, **more
) -> Finding:
    """Return a score as a finding.

    Parameters
    ----------
    measure : {"group", "causal"}
    sensitive_features : tuple of str
    numbers : tuple of float
        Estimate, both ends of its interval, p-value.
    evidence : DataFrame
    n : int
    population : str
    **more
        Other attributes of the finding.
    """
    where = "everyone" if population == "people" else population
    named = {"effect": EFFECTS[measure], "measure": MEASURES[measure], "population": population} | more
    return Finding(TITLE, sensitive_features, where, named.pop("effect"), *numbers, evidence=evidence, n=n, **named)


def count_flips(
    rule: Rule | Fixed, n_sets: int, compare: Callable[[np.ndarray], Comparison]
) -> tuple[np.ndarray, list[Comparison]]:
    """Draw inputs until the rate at which other values change the decision is known (algorithm 2).

    Parameters
    ----------
    rule : Rule or Fixed
        When to stop.
    n_sets : int
        Number of sets of features, each counted by itself.
    compare : callable
        Takes the number of a set for each new input, sorted; draws these inputs, and varies the features of the set.

    Returns
    -------
    counts : ndarray of shape (n_sets,)
        Inputs whose decision changes, or the sum of the largest distances.
    drawn : list of Comparison
        The counted inputs of each set, in the order in which they were drawn.
    """
    drawn, owners = [], []

    def changed(owner):
        owners.append(owner)
        drawn.append(compare(owner))
        return drawn[-1].changed

    counts, samples = rule.count(n_sets, changed)
    owner, every = np.concatenate(owners), drawn[0]
    if len(drawn) > 1:
        every = Comparison(*(None if part[0] is None else np.concatenate(part) for part in zip(*drawn, strict=True)))
    rows = of_each(np.argsort(owner, kind="stable"), np.sort(owner))
    return counts, [every.take(some[: samples[k]]) for k, some in rows]


def count_positive(
    draw: UniformDraw, positions: list[int], rule: Rule, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return positive outputs and samples of every group, in the order of `Schema.assignments` (algorithm 1).

    Parameters
    ----------
    draw : UniformDraw
    positions : list of int
        Positions of the features whose values define the groups.
    rule : Rule
        When to stop; small enough groups are enumerated.
    rng : Generator
    """
    schema, every, counting = draw.schema, None, rule
    if has_small_groups(schema, positions, rule):
        every = schema.combinations(others(positions, len(schema.sizes)))
        counting = Fixed(len(every))

    def positive(values, group):
        codes = draw.sample(np.zeros_like(group), [rng], every)
        for position, column in zip(positions, values.T, strict=True):  # quicker than all at once
            codes[:, position] = column.take(group)
        return draw.decide(codes)

    n_groups, found = schema.n_assignments(positions), []
    for start in range(0, n_groups, GROUPS_AT_ONCE):
        values = schema.assignments(positions, np.arange(start, min(start + GROUPS_AT_ONCE, n_groups)))
        found.append(counting.count(len(values), partial(positive, values)))
    counts, samples = map(np.concatenate, zip(*found, strict=True))
    return counts, samples


def has_small_groups(schema: Schema, positions: list[int], rule: Rule) -> bool:
    """Return whether the groups are small enough to try all of their inputs, so that their shares are exact.

    Parameters
    ----------
    schema : Schema
    positions : list of int
        Positions of the features that define the groups.
    rule : Rule
    """
    return rule.enumerates(schema.n_assignments(others(positions, len(schema.sizes))), measure="group")


def others(positions: list[int], n_features: int) -> list[int]:
    """Return all other positions.

    Parameters
    ----------
    positions : list of int
    n_features : int
    """
    return [position for position in range(n_features) if position not in positions]


def corrected_spread(counts, samples, rng: np.random.Generator) -> float:
    """Return the estimated highest minus lowest true share, corrected for the upward bias from noise.

    The correction is a parametric bootstrap: shares are shrunk to their mean as far as noise explains their variance,
    and the amount that sampling adds to their spread is subtracted.

    Parameters
    ----------
    counts, samples : ndarray of shape (n_groups,)
        Number of positive outputs and of samples.
    rng : Generator

    Returns
    -------
    float
        Between 0 and the spread of the observed shares.
    """
    counts, samples = np.asarray(counts), np.asarray(samples)
    shares, mean = counts / samples, counts.sum() / samples.sum()
    variance, noise = shares.var(ddof=1), (mean * (1 - mean) / samples).mean()
    likely = mean + (shares - mean) * (max(0.0, 1 - noise / variance) if variance > 0 else 0.0)
    repetitions = np.clip(SHARES_AT_ONCE // len(shares), 1, REPETITIONS)
    drawn = rng.binomial(samples, np.clip(likely, 0, 1), size=(repetitions, len(shares))) / samples
    added = np.ptp(drawn, axis=1).mean() - np.ptp(likely)
    return float(np.clip(np.ptp(shares) - added, 0, np.ptp(shares)))


def spread_interval(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the range of the highest minus the lowest share that the shares' intervals together allow.

    Parameters
    ----------
    low, high : ndarray of shape (n_groups,)
    """
    return float(max(0.0, low.max() - high.min())), float(high.max() - low.min())


def paired_spread(decisions: np.ndarray, alpha: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the highest minus the lowest favourable rate of values on the same rows, and its interval.

    The interval is that of `paired_bounds`. The estimate is corrected for the upward bias from noise (bootstrap over
    rows).

    Parameters
    ----------
    decisions : ndarray of bool of shape (n_rows, n_values)
    alpha : float
        One minus the level of the interval.
    rng : Generator
    """
    n_rows, spread = len(decisions), float(np.ptp(decisions.mean(axis=0)))
    low, high = paired_bounds(decisions, 1 - alpha)
    weights = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=REPETITIONS) / n_rows
    noise = np.ptp(weights @ decisions, axis=1).mean() - spread
    return float(np.clip(spread - max(noise, 0.0), low, high)), low, high


def paired_bounds(decisions: np.ndarray, confidence_level: float) -> tuple[float, float]:
    """Return the interval of the highest minus the lowest favourable rate of values on the same rows.

    Rates are compared in pairs: how often one value is favoured where the other is not. The interval combines those of
    Clopper and Pearson for every ordered pair (Bonferroni).

    Parameters
    ----------
    decisions : ndarray of bool of shape (n_rows, n_values)
    confidence_level : float
    """
    n_rows, n_values = decisions.shape
    only_first = (decisions.T.astype(float) @ ~decisions).astype(np.int64)
    lows, highs = exact_interval(only_first, n_rows, alpha=(1 - confidence_level) / (n_values * (n_values - 1)))
    lowest, highest = lows - highs.T, (highs - lows.T)[~np.eye(n_values, dtype=bool)]
    return float(max(0.0, lowest.max())), float(highest.max())


def extreme_values(decisions: np.ndarray) -> tuple[int, int]:
    """Return the numbers of the values that are favoured most and least often."""
    rates = decisions.mean(axis=0)
    return int(rates.argmax()), int(rates.argmin())


def paired_p_value(decisions: np.ndarray, margin: float = 0.0) -> float:
    """Return the p-value of "no two values' favourable rates differ by more than `margin`".

    It is the p-value of the extreme pair, from the rows in which only one of the two is favoured, times the number of
    pairs (Bonferroni).

    Parameters
    ----------
    decisions : ndarray of bool of shape (n_rows, n_values)
    margin : float
    """
    n_rows, n_values = decisions.shape
    first, second = (decisions[:, number] for number in extreme_values(decisions))
    counts = [int((first & ~second).sum()), int((second & ~first).sum())]
    correlation = exclusive_correlation(counts[0], counts[1], n_rows)
    p_value = difference_p_value(counts, [n_rows] * 2, margin, correlation=correlation)
    return min(1.0, n_values * (n_values - 1) // 2 * p_value)
