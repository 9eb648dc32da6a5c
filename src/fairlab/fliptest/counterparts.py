"""Flips beyond the chance of the match: everybody beside two counterparts, and who of the three is the odd one out.

A person and the counterpart that a map finds among the real people of the other group differ a little in everything, so
some decisions flip by chance, the more of them the fewer people there are to choose from. How many is seen when
everybody gets two counterparts, from separate halves of the other group: two counterparts of one person are both what
the map makes of that person, and where their decisions differ, that is the chance of the match. Where group membership
does not matter, the person is no other than the two, and so the odd one out of three in at most a third of the cases in
which the three are not decided alike.

The triples are not independent: where people are matched on one number, all who are near a threshold have counterparts
on the same side of it, so that their flips come and go together. How far the shares vary is therefore also seen in
parts of the people that are matched by themselves, and in everybody with group membership shuffled: of a rule that
changes often along one number, people of a part stand too far apart to flip together. The widest interval counts.
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

# The fewest people of a group that can be shared out to sources and two sets of counterparts and still say anything.
LEAST_MATCHED = 30
# The most that are: exact transport grows with the cube.
MOST_PEOPLE = 1_500
# Parts of the people that are matched by themselves: so many, fewer where each would get too few people of a third.
MOST_PARTS, LEAST_PARTS, LEAST_OF_PART = 20, 5, 3
# Each has six results, of which four are independent: their spread is known about as well as that of the parts.
N_SHUFFLES = 4
DECISIONS = ["favourable", "counterpart_favourable", "second_favourable"]


@dataclass(frozen=True, eq=False)
class CounterpartTest:
    """People of two groups, each with two counterparts in the other, and their decisions.

    Attributes
    ----------
    triples : DataFrame
        One row per person: ``person``, ``counterpart``, ``second_counterpart``, row labels; ``group``, 0 or 1;
        ``favourable``, ``counterpart_favourable``, ``second_favourable``, the decisions; ``cost``, the mean one of both
        matches.
    parts : ndarray of shape (n_parts, 2)
        The estimate and the flips of each part of the people, matched by itself.
    shuffled : ndarray of shape (n_matched, 2)
        The estimate and the flips of people of one group with membership shuffled.
    estimate : float
        Share of people who are decided otherwise than their counterpart, less the share of those whose two counterparts
        are decided differently. 0 or less where flips are no more than the chance of the match.
    low, high : float
        Confidence interval of it, for tables of as many people.
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
        """What `difference_bounds` takes: counts, and options. Both are shares of one sample; nobody is in both."""
        counts, n = _counts(self.triples[DECISIONS].to_numpy().T), len(self.triples)
        return (counts, [n, n]), {"factor": 0.5, "correlation": exclusive_correlation(*counts, n)}

    @property
    def _errors(self) -> tuple[tuple[np.ndarray, int], ...]:
        """Standard errors of the estimate and the flips, and their degrees of freedom: of all parts, of two groups."""
        n_parts = len(self.parts)
        by_parts, by_shuffles = (some.std(axis=0, ddof=1) for some in (self.parts, self.shuffled))
        return (by_parts / np.sqrt(n_parts), n_parts - 1), (by_shuffles / np.sqrt(2), 4 * N_SHUFFLES)

    def _away(self, *shares: float) -> np.ndarray:
        """Return how far a quantile of Student's t, or the sum of several, is from the estimate and from the flips."""
        return np.max([stdtrit(freedom, shares).sum() * errors for errors, freedom in self._errors], axis=0)

    @property
    def odd(self) -> pd.DataFrame:
        """The triples whose person is decided otherwise than both counterparts, the closest first."""
        return self.triples[is_odd(self.triples)].sort_values("cost", kind="stable", ignore_index=True)

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the excess is at most `margin`": the level at which the interval reaches it.

        Parameters
        ----------
        margin : float
            A share; 0 asks whether the person is the odd one out in more than a third of the triples that are not
            decided alike.
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
        """Share of people who are decided otherwise than their first counterpart, be it by chance or not."""
        return float((self.triples["favourable"] != self.triples["counterpart_favourable"]).mean())

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval of the estimate at another level."""
        counts, options = self._shares
        bounds = difference_bounds(*counts, confidence_level=confidence_level, **options)
        low, high = _wider(bounds, self.estimate, self._away((1 + confidence_level) / 2)[0])
        return float(max(low, -0.5)), float(min(high, 1.0))  # if every counterpart, or every person, is the odd one out

    def smallest(self, alpha: float, margin: float = 0.0) -> float:
        """Return the smallest excess that is found at a level with a power of about 80%."""
        (counts, _), options = self._shares
        by_shares = smallest_excess(counts, len(self.triples), alpha, margin, factor=options["factor"])
        return float(np.maximum(by_shares, margin + self._away(1 - alpha / 2, POWER)[0]))

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return bounds at another level of what flips with the group: the excess from below, all `flips` from above.

        The excess alone is no upper bound. Where matches are coarse, a person stands between both counterparts and is
        seldom the odd one out: a model that flips many decisions by a group may have an excess of 0, while both
        counterparts of one person are often decided differently.
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
    """Find how many decisions flip between two groups beyond the chance of the match.

    Both groups are shuffled and shared out in thirds: people to be matched, their counterparts, their second
    counterparts. So nobody is in two triples.

    Parameters
    ----------
    tables : pair of DataFrame of shape (n_rows, n_features)
        The people of both groups, with the columns to match them on.
    decisions : pair of array-like of bool of shape (n_rows,)
        Whether each got the favourable decision; a Series goes by the row labels of the table.
    cost : ColumnCosts, optional
        Scaled differences by default.
    n_people : int
        Most people to take from a group; a sample of a larger one.
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
    """Return whose person is decided otherwise than both counterparts."""
    differs = triples[["counterpart_favourable", "second_favourable"]].ne(triples["favourable"], axis=0)
    return differs.all(axis=1)


def _counts(decided: np.ndarray) -> tuple[int, int]:
    """Return how many people are the odd one out, and how many have two counterparts who are decided differently.

    `decided` are the decisions on people, their counterparts and their second counterparts, shape (3, n).
    """
    person, first, second = decided
    return int(((first != person) & (second != person)).sum()), int((first != second).sum())


def _result(decided: np.ndarray) -> tuple[float, float]:
    """Return the excess of flips and the flips of decisions as `_counts` takes them.

    A person who is the odd one out counts 1, one with a counterpart who is, minus 1/2: such a person differs from one
    of two counterparts.
    """
    n_odd, n_split = _counts(decided)
    return (n_odd - 0.5 * n_split) / decided.shape[1], float((decided[0] != decided[1]).mean())


def _wider(bounds, estimate: float, away: float) -> tuple[float, float]:
    """Return the wider of given bounds and those so far from the estimate, at each end."""
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
    """Return the costs between a group's first third and each of the other group's others."""
    other = 1 - group
    people, *candidates = thirds[group][0], *thirds[other][1:]
    costs = cost_matrix(cost, tables[group].iloc[people], tables[other].iloc[np.concatenate(candidates)])
    return np.split(costs, 2, axis=1)


def _triples(tables, decisions, thirds, group, costs):
    """Return one row per person of a group's first third, with their counterparts from the other group's others."""
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
    """Return the estimate and the flips of some places of each third, matched among themselves."""
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
    """Return which column each row of a square matrix goes to at the least cost in all."""
    return linear_sum_assignment(costs)[1]
