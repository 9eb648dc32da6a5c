"""Flips beyond matching noise: everyone gets two counterparts, and the odd one out of each three is counted.

A person and the counterpart that a map finds among the real people of the other group differ a little in everything, so
some decisions flip by chance, and more do if there are fewer people to choose from. To measure this, everyone gets two
counterparts, from separate halves of the other group: both are images of the same person, so if their decisions differ,
the match is the reason. If group membership does not matter, the person is exchangeable with the two, and so is the odd
one out in at most a third of the triples with differing decisions.

The triples are not independent: if people are matched on one number, all those near a threshold have counterparts on
the same side of it, so that their flips are correlated. The variance of the shares is therefore also estimated from
parts of the people that are matched separately, and from everyone with group membership shuffled; the latter is needed
if a rule changes often along one number, as people of a part are then too far apart to flip together. The widest
interval counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtr, stdtrit

from fairlab.checks import FRACTION, align, check_binary, check_count, check_kind, check_seed, checked
from fairlab.statistics import (
    POWER,
    difference_bounds,
    difference_p_value,
    exclusive_correlation,
    rate_bounds,
    smallest_excess,
)
from fairlab.transport import ColumnCosts
from fairlab.transport.cost import cost_matrix

# Least size of a group, which is divided into sources and two sets of counterparts.
LEAST_MATCHED = 30
# The largest size: the cost of exact transport grows with the cube.
MOST_PEOPLE = 1_500
# Number of parts of the people that are matched separately: fewer if each would get too few people of a third.
MOST_PARTS, LEAST_PARTS, LEAST_OF_PART = 20, 5, 3
# Each shuffle has six results, four of them independent: their spread is about as precise as that of the parts.
N_SHUFFLES = 4
DECISIONS = ["favourable", "counterpart_favourable", "second_favourable"]


@dataclass(frozen=True, eq=False)
class CounterpartTest:
    """People of two groups, each with two counterparts in the other, and their decisions.

    Attributes
    ----------
    triples : DataFrame
        One row per person: ``person``, ``counterpart``, ``second_counterpart``, row labels; ``group``, 0 or 1;
        ``favourable``, ``counterpart_favourable``, ``second_favourable``, the decisions; ``cost``, the mean cost of
        both matches.
    parts : ndarray of shape (n_parts, 2)
        The estimate and the flips of each part of the people, matched separately.
    shuffled : ndarray of shape (n_matched, 2)
        The estimate and the flips of people of one group with membership shuffled.
    estimate : float
        Share of people whose decision differs from their counterpart's, minus the share of those whose two
        counterparts' decisions differ. 0 or less if the match explains all flips.
    low, high : float
        Confidence interval of the estimate, for tables of the same size.
    confidence_level : float

    Examples
    --------
    >>> from fairlab.fliptest import counterpart_test
    >>> rng = np.random.default_rng(0)
    >>> women, men = (pd.DataFrame({"skill": rng.normal(size=90)}) for _ in range(2))
    >>> test = counterpart_test((women, men), (women["skill"] > 0.8, men["skill"] > -0.8))
    >>> len(test.triples), test.estimate > 0, test.p_value() < 0.05
    (60, True, True)
    """

    triples: pd.DataFrame
    parts: np.ndarray
    shuffled: np.ndarray
    estimate: float
    low: float
    high: float
    confidence_level: float

    @cached_property
    def _shares(self) -> tuple[tuple, dict]:
        """Arguments of `difference_bounds`: counts, and options. Both are shares of one sample; nobody is in both."""
        counts, n = _counts(self.triples[DECISIONS].to_numpy().T), len(self.triples)
        return (counts, [n, n]), {"factor": 0.5, "correlation": exclusive_correlation(*counts, n)}

    @property
    def _errors(self) -> tuple[tuple[np.ndarray, int], ...]:
        """Standard errors of the estimate and the flips, and degrees of freedom: by parts, by shuffled groups."""
        n_parts = len(self.parts)
        by_parts, by_shuffles = (some.std(axis=0, ddof=1) for some in (self.parts, self.shuffled))
        return (by_parts / np.sqrt(n_parts), n_parts - 1), (by_shuffles / np.sqrt(2), 4 * N_SHUFFLES)

    def _away(self, *shares: float) -> np.ndarray:
        """Return the distances of a quantile of Student's t, or a sum of several, from the estimate and the flips."""
        return np.max([stdtrit(freedom, shares).sum() * errors for errors, freedom in self._errors], axis=0)

    @property
    def odd(self) -> pd.DataFrame:
        """The triples in which the person's decision differs from both counterparts', the closest first."""
        return self.triples[is_odd(self.triples)].sort_values("cost", kind="stable", ignore_index=True)

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the excess is at most `margin`": the alpha at which the interval reaches it.

        Parameters
        ----------
        margin : float
            A share; 0 tests whether the person is the odd one out in more than a third of the triples with differing
            decisions.
        """
        if self.estimate <= margin:
            return 1.0
        counts, options = self._shares
        by_errors = [
            2 * stdtr(freedom, (margin - self.estimate) / error) for (error, _), freedom in self._errors if error
        ]
        return max(difference_p_value(*counts, margin, **options), *map(float, by_errors))

    @property
    def flips(self) -> float:
        """Share of people whose decision differs from their first counterpart's, by chance or not."""
        return float((self.triples["favourable"] != self.triples["counterpart_favourable"]).mean())

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval of the estimate at another level."""
        counts, options = self._shares
        bounds = difference_bounds(*counts, confidence_level=confidence_level, **options)
        low, high = _wider(bounds, self.estimate, self._away((1 + confidence_level) / 2)[0])
        return float(max(low, -0.5)), float(min(high, 1.0))  # if every counterpart, or every person, is the odd one out

    def smallest(self, alpha: float, margin: float = 0.0) -> float:
        """Return the smallest excess that is detected at a level with a power of about 80%."""
        (counts, _), options = self._shares
        by_shares = smallest_excess(counts, len(self.triples), alpha, margin, factor=options["factor"])
        return float(np.maximum(by_shares, margin + self._away(1 - alpha / 2, POWER)[0]))

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return bounds of the flips due to the group at another level: the excess from below, all `flips` from above.

        The excess alone is no upper bound. If matches are coarse, a person lies between both counterparts and is seldom
        the odd one out: a model that flips many decisions by group may have an excess of 0, while the decisions on both
        counterparts often differ.
        """
        low, high = self.interval(confidence_level)
        n = len(self.triples)
        of_flips = rate_bounds(round(self.flips * n), n, confidence_level=confidence_level)[1:]
        most = _wider(of_flips, self.flips, self._away((1 + confidence_level) / 2)[1])[1]
        return max(low, 0.0), max(high, min(most, 1.0))


@checked(confidence_level=FRACTION, random_state=check_seed, n_people=partial(check_count, least=LEAST_MATCHED))
def counterpart_test(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    decisions: tuple[np.ndarray, np.ndarray],
    *,
    cost: ColumnCosts | None = None,
    n_people: int = MOST_PEOPLE,
    confidence_level: float = 0.95,
    random_state: int = 0,
) -> CounterpartTest:
    """Estimate the share of decisions that flip between two groups beyond matching noise.

    Equally many people of both groups, drawn at random, are divided into thirds: people to match, first counterparts,
    second counterparts. So nobody is in two triples.

    Parameters
    ----------
    tables : pair of DataFrame of shape (n_rows, n_features)
        The people of both groups, with the columns to match them on.
    decisions : pair of array-like of bool of shape (n_rows,)
        Whether each got the favourable decision; a Series is matched by the row labels of the table.
    cost : ColumnCosts, optional
        Scaled differences by default.
    n_people : int
        Maximum number of people from each group; both give no more than the smaller one has.
    confidence_level : float
    random_state : int

    Raises
    ------
    ValueError
        If a group has fewer than `LEAST_MATCHED` people or no column, decisions are not one boolean each, or an option
        is out of its range.

    Examples
    --------
    >>> from fairlab.fliptest import counterpart_test
    >>> rng = np.random.default_rng(0)
    >>> women, men = (pd.DataFrame({"skill": rng.normal(size=90)}) for _ in range(2))
    >>> test = counterpart_test((women, men), (women["skill"] > 0, men["skill"] > 0))
    >>> test.low <= 0 <= test.high
    True
    """
    for name, of_groups in (("tables", tables), ("decisions", decisions)):
        if not isinstance(of_groups, Sequence) or len(of_groups) != 2:
            raise ValueError(f"{name}: expected those of two groups, found {of_groups!r}")
    for table in tables:
        check_kind(table, "tables", pd.DataFrame, error=ValueError)
        if not len(table.columns):
            raise ValueError("tables: expected columns to match people on, found none")
    if (smaller := min(map(len, tables))) < LEAST_MATCHED:
        raise ValueError(f"tables: expected at least {LEAST_MATCHED} people in each group, found {smaller}")
    decisions = _checked(decisions, tables)
    size = min(smaller, n_people) // 3
    rng = np.random.default_rng(random_state)
    thirds = [rng.permutation(len(table))[: 3 * size].reshape(3, size) for table in tables]
    cost = cost or ColumnCosts()
    costs = [_costs(tables, thirds, group, cost) for group in (0, 1)]
    triples = pd.concat(
        [_triples(tables, decisions, thirds, group, costs[group]) for group in (0, 1)], ignore_index=True
    )
    n_parts = np.clip(size // LEAST_OF_PART, LEAST_PARTS, MOST_PARTS)
    parts = np.array_split(np.arange(size), n_parts)
    of_parts = np.array([_part(decisions, thirds, costs, people) for people in parts])
    shuffled = _shuffled(tables, decisions, thirds, cost, rng)
    estimate, _ = _result(triples[DECISIONS].to_numpy().T)
    test = CounterpartTest(triples, of_parts, shuffled, estimate, 0.0, 0.0, confidence_level)
    low, high = test.interval(confidence_level)
    return replace(test, low=low, high=high)


def is_odd(triples: pd.DataFrame) -> pd.Series:
    """Return for each triple whether the person's decision differs from both counterparts'."""
    differs = triples[["counterpart_favourable", "second_favourable"]].ne(triples["favourable"], axis=0)
    return differs.all(axis=1)


def _counts(decided: np.ndarray) -> tuple[int, int]:
    """Return the number of people who are the odd one out, and of those whose two counterparts' decisions differ.

    `decided` are the decisions on people, their counterparts and their second counterparts, shape (3, n).
    """
    person, first, second = decided
    return int(((first != person) & (second != person)).sum()), int((first != second).sum())


def _result(decided: np.ndarray) -> tuple[float, float]:
    """Return the excess of flips and the flips of decisions as `_counts` takes them.

    A person who is the odd one out counts 1; a person with a counterpart who is counts minus 1/2, as their decision
    differs from one of two counterparts'.
    """
    n_odd, n_split = _counts(decided)
    return (n_odd - 0.5 * n_split) / decided.shape[1], float((decided[0] != decided[1]).mean())


def _wider(bounds, estimate: float, away: float) -> tuple[float, float]:
    """Return, at each end, the wider of the given bounds and those at distance `away` from the estimate."""
    return min(float(bounds[0]), estimate - away), max(float(bounds[1]), estimate + away)


def _checked(decisions, tables):
    """Return the decisions as arrays of booleans."""
    decisions = [
        np.asarray(align(decision, table.index, "decisions") if isinstance(decision, pd.Series) else decision)
        for decision, table in zip(decisions, tables, strict=True)
    ]
    expected = [(len(table),) for table in tables]
    if (found := [decision.shape for decision in decisions]) != expected:
        raise ValueError(
            f"decisions: expected shapes {expected[0]} and {expected[1]}, found {' and '.join(map(str, found))}"
        )
    return [check_binary(decision, "decisions").astype(bool) for decision in decisions]


def _costs(tables, thirds, group, cost) -> list[np.ndarray]:
    """Return the costs between a group's first third and the other group's second and third thirds."""
    other = 1 - group
    people, *candidates = thirds[group][0], *thirds[other][1:]
    costs = cost_matrix(cost, tables[group].iloc[people], tables[other].iloc[np.concatenate(candidates)])
    return np.split(costs, 2, axis=1)


def _triples(tables, decisions, thirds, group, costs):
    """Return one row per person of a group's first third, with counterparts from the other group's other thirds."""
    other, people = 1 - group, thirds[group][0]
    matched = [_matched(half) for half in costs]
    first, second = (chosen[match] for chosen, match in zip(thirds[other][1:], matched, strict=True))
    each = np.arange(len(people))
    return pd.DataFrame(
        {
            "person": tables[group].index.take(people),
            "counterpart": tables[other].index.take(first),
            "second_counterpart": tables[other].index.take(second),
            "group": group,
            "favourable": decisions[group][people],
            "counterpart_favourable": decisions[other][first],
            "second_favourable": decisions[other][second],
            "cost": sum(half[each, match] for half, match in zip(costs, matched, strict=True)) / 2,
        }
    )


def _part(decisions, thirds, costs, people) -> tuple[float, float]:
    """Return the estimate and the flips of some positions of each third, matched among themselves."""
    decided = []
    for group, other in ((0, 1), (1, 0)):
        matched = [people[_matched(half[np.ix_(people, people)])] for half in costs[group]]
        counterparts = [decisions[other][third[match]] for third, match in zip(thirds[other][1:], matched, strict=True)]
        decided.append([decisions[group][thirds[group][0][people]], *counterparts])
    return _result(np.concatenate(decided, axis=1))


def _shuffled(tables, decisions, thirds, cost, rng) -> np.ndarray:
    """Return the estimate and the flips of thirds of shuffled groups, each with counterparts in both other thirds."""
    chosen = [third.ravel() for third in thirds]
    people = pd.concat([table.iloc[some] for table, some in zip(tables, chosen, strict=True)]).infer_objects()
    decided = np.concatenate([decision[some] for decision, some in zip(decisions, chosen, strict=True)])
    results = []
    for _ in range(N_SHUFFLES):
        for first, second, third in rng.permutation(len(people)).reshape(2, 3, -1):
            later = people.iloc[np.append(second, third)]
            to_second, to_third = np.hsplit(cost_matrix(cost, people.iloc[first], later), 2)
            from_second = cost_matrix(cost, people.iloc[second], people.iloc[third])
            matched = [_matched(some) for some in (to_second, from_second, to_third.T)]  # each with the next third
            of_thirds = [decided[some] for some in (first, second, third)]
            for k in range(3):
                following, previous = of_thirds[k - 2][matched[k]], of_thirds[k - 1][np.argsort(matched[k - 1])]
                results.append(_result(np.stack([of_thirds[k], following, previous])))
    return np.array(results)


def _matched(costs) -> np.ndarray:
    """Return the column assigned to each row of a square matrix at the least total cost."""
    return linear_sum_assignment(costs)[1]
