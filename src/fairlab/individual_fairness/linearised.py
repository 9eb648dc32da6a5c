"""Counterparts in another group: how log odds change with each feature, and moves along what shows the group."""

from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import t

from fairlab.statistics import POWER

_RIDGE = 1.0  # on standardised columns, beside the sum of squares: decides between columns that say the same
MAX_PROBABILITY = 0.995  # counts as no nearer to 1 than this, to 0 than the rest: no loss is zero or infinite
MAX_LOG_ODDS = logit(MAX_PROBABILITY)
ENTRIES_AT_ONCE = 2_000_000  # of permuted memberships
N_FOLDS = 20  # of the jackknife
N_PERMUTATIONS = 999
N_REFINED = 4_999  # where none of these shows as much: corrected levels may be below what they can refute
N_RATIOS = 100  # permutations over which a ratio is averaged, at most
STEP_SIZE = 0.5  # of differences, in standard deviations; at least to the next value that occurs


@dataclass(frozen=True, eq=False)
class Scorer:
    """A case's scores on the scale of log odds.

    Parameters
    ----------
    case : Case
        With scores.

    Attributes
    ----------
    scale : float
        What scores that are no probabilities are divided by: their standard deviation. 1 for probabilities.
    """

    case: object

    @property
    def scale(self) -> float:
        """What log odds of the case are divided by."""
        return 1.0 if self.case.unit != "score" else float(self.case.log_odds().std()) or 1.0

    @property
    def decision_threshold(self) -> float:
        """Log odds at which a decision turns favourable."""
        return float(np.clip(self.case.log_odds_threshold, -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def log_odds(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return log odds of the favourable class, shape (n_rows,); of probabilities, held within `MAX_PROBABILITY`."""
        odds = self.case.log_odds(rows) / self.scale
        return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS) if self.case.unit == "probability" else odds


def rows_per_person(case) -> int:
    """Return how many rows the slopes of one person take at most."""
    encoding = case.encoding
    if case.has_gradients:
        return 1
    numbers = encoding.is_number
    return int(2 * numbers.sum() + (~numbers).sum()) + 1


def log_odds_slopes(scorer: Scorer, people: np.ndarray) -> np.ndarray:
    """Return the slopes of the log odds by the columns of the encoding, in its units.

    Networks give gradients. For any other model a slope is a difference: of a number, between the values that occur
    next to half a standard deviation above and below; of a category, between having it and the person's own; of a
    missing value, between missing it and not.

    Parameters
    ----------
    scorer : Scorer
    people : ndarray of int of shape (n_people,)
        Row numbers of the table.

    Returns
    -------
    ndarray of shape (n_people, n_columns)
    """
    case = scorer.case
    features = list(case.features)
    table = case.table[features]
    encoded = case.encoding.transform(table)
    if case.has_gradients:
        return case.log_odds_gradient(encoded[people])[1] / scorer.scale
    rows = table.iloc[people].reset_index(drop=True)
    changed = [change for change in _changes(case, table, encoded, people) if len(change[2])]
    blocks = [rows.iloc[of].assign(**{name: table[name].iloc[values].array}) for _, name, of, values, _ in changed]
    ends = np.cumsum([len(block) for block in blocks])[:-1]
    start = scorer.log_odds(rows)
    answers = scorer.log_odds(pd.concat(blocks, ignore_index=True)) if blocks else np.empty(0)
    rises, runs = np.zeros((2, len(people), encoded.shape[1]))
    for (column, _, of, _, run), answer in zip(changed, np.split(answers, ends), strict=True):
        # Above and below: the rise from one to the other, over the distance between them.
        sign = np.sign(run)
        rises[of, column] += sign * (answer - start[of])
        runs[of, column] += np.abs(run)
    return np.divide(rises, runs, out=np.zeros_like(rises), where=runs > 0)


def _changes(case, table, encoded, people):
    """Yield changes as (column, feature, which people, rows of the table whose value they get, signed distance)."""
    encoding = case.encoding
    everyone = np.arange(len(people))
    for name in case.features:
        columns = [j for j, source in enumerate(encoding.source) if source == name]
        missing = table[name].isna().to_numpy()
        known = np.flatnonzero(~missing)
        for j in columns:
            if encoding.is_number[j]:
                if not len(known):
                    continue
                values, first = np.unique(encoded[known, j], return_index=True)
                own = encoded[people, j]
                above = np.minimum(np.searchsorted(values, own + STEP_SIZE - 1e-9), len(values) - 1)
                below = np.maximum(np.searchsorted(values, own - STEP_SIZE + 1e-9, side="right") - 1, 0)
                for place in (above, below):
                    run = values[place] - own
                    of = everyone[(run != 0) & ~missing[people]]
                    yield j, name, of, known[first[place[of]]], run[of]
                continue
            holders = np.flatnonzero(encoded[:, j] > 0.5)
            others = np.flatnonzero(encoded[:, j] < 0.5)
            of = everyone[encoded[people, j] < 0.5]
            if len(holders):
                yield j, name, of, np.full(len(of), holders[0]), np.ones(len(of))
            if len(columns) > 1 and encoding.is_number[columns[0]] and len(others):  # a number that is missing
                of = everyone[encoded[people, j] > 0.5]
                middle = known[np.argsort(encoded[known, columns[0]], kind="stable")[len(known) // 2]]
                yield j, name, of, np.full(len(of), middle), -np.ones(len(of))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows that moves are made of; those of parts of the rows add up.

    Attributes
    ----------
    squares : ndarray of shape (n_columns, n_columns)
    with_members : ndarray of shape (n_columns, n_groups)
        Sums of the columns over the members of each group.
    columns : ndarray of shape (n_columns,)
    members : ndarray of shape (n_groups,)
    n : int
    """

    squares: np.ndarray
    with_members: np.ndarray
    columns: np.ndarray
    members: np.ndarray
    n: int

    @classmethod
    def of(cls, X: np.ndarray, membership: np.ndarray) -> "Sums":
        """Sum over all rows of columns (n, n_columns) and of memberships (n, n_groups), zeros and ones.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
        membership : ndarray of shape (n, n_groups)
            Zeros and ones.
        """
        return cls(X.T @ X, X.T @ membership, X.sum(axis=0), membership.sum(axis=0), len(X))

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def moves(self, gram: np.ndarray | None = None) -> np.ndarray:
        """Return the moves to each group: along the direction in which its members differ, as far as means are apart.

        The direction of a group is that of the linear regression of membership on the standardised columns, which for
        two groups is Fisher's discriminant: what is projected out of the fair metric. Its length is the difference
        between the mean of the group and the mean of all others, projected on it.

        Parameters
        ----------
        gram : ndarray of shape (n_columns, n_columns), optional
            Mean product of the slopes of people. If given, moves are shorter by what chance alone adds to the mean
            squared change that they make.

        Returns
        -------
        ndarray of shape (n_columns, n_groups)
            In standard deviations.
        """
        mean = self.columns / self.n
        covariance = self.squares - self.n * np.outer(mean, mean)
        together = self.with_members - np.outer(mean, self.members)
        inverse = np.linalg.inv(covariance + _RIDGE * np.eye(len(mean)))
        coefficients = inverse @ together
        vectors = _vectors(coefficients, together, self.members, self.n)
        if gram is not None:
            chance = by_chance(inverse, covariance, gram, self.members, self.n)
            vectors = vectors * _share_beyond(chance, changes(coefficients, gram))
        return vectors


def mean_product(slopes: np.ndarray) -> np.ndarray:
    """Return the mean of the products of slopes, shape (n_columns, n_columns)."""
    return slopes.T @ slopes / len(slopes)


def changes(coefficients: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return the mean squared change of the log odds along the coefficients of each group, shape (n_groups,).

    Parameters
    ----------
    coefficients : ndarray of shape (n_columns, n_groups)
    gram : ndarray of shape (n_columns, n_columns)
        As `mean_product` returns it.
    """
    return (coefficients * (gram @ coefficients)).sum(axis=0)


def by_chance(inverse, covariance, gram, members, n) -> np.ndarray:
    """Return the mean of `changes` over all permutations of memberships, shape (n_groups,).

    Parameters
    ----------
    inverse : ndarray of shape (n_columns, n_columns)
        Of the covariance, with a ridge.
    covariance, gram : ndarray of shape (n_columns, n_columns)
        Sum of squares of the centred columns; mean product of the slopes.
    members : ndarray of shape (n_groups,)
        Sizes of the groups.
    n : int
        Rows.
    """
    return members * (n - members) / (n * (n - 1)) * np.trace(gram @ inverse @ covariance @ inverse)


def _share_beyond(chance, change):
    """Return the share of a change that is more than chance, as a factor of the moves that make it."""
    return np.sqrt(np.maximum(0, 1 - np.divide(chance, change, where=change > 0, out=np.ones_like(change))))


def _vectors(coefficients, together, members, n):
    """Return each coefficient vector at the length of the difference of means, projected on it."""
    apart = together * n / np.maximum(members * (n - members), 1)  # members' mean less that of the others
    squared = (coefficients**2).sum(axis=0)
    return coefficients * np.divide((coefficients * apart).sum(axis=0), squared, where=squared > 0, out=0 * squared)


def loss(margin: np.ndarray) -> np.ndarray:
    """Return the cross-entropy of a point by its margin: its log odds towards its label, held within limits."""
    return np.logaddexp(0, -np.clip(margin, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def loss_ratios(margin: np.ndarray, slopes: np.ndarray, moves: np.ndarray, direct: np.ndarray) -> np.ndarray:
    """Return by how much the loss of every person rises on the way to the worst counterpart.

    Parameters
    ----------
    margin : ndarray of shape (n_people,)
    slopes : ndarray of shape (n_people, n_columns)
        Of the log odds, by standardised columns.
    moves : ndarray of shape (n_columns, n_groups)
    direct : ndarray of shape (n_people,)
        How much the margin falls, at worst, when the sensitive feature itself is changed; zero or more.

    Returns
    -------
    ndarray of shape (n_people,)
        At least 1.
    """
    shown = np.abs(slopes @ moves).max(axis=1, initial=0.0)
    return loss(margin - direct - shown) / loss(margin)


def permuted(
    X: np.ndarray,
    membership: np.ndarray,
    margin: np.ndarray,
    slopes: np.ndarray,
    *,
    n_permutations: int,
    random_state,
) -> tuple[float, float]:
    """Audit permuted memberships: what they show is chance, so that this is what a fair model would give.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Standardised.
    membership : ndarray of shape (n_rows, n_groups)
        Zeros and ones.
    margin, slopes
        As in `loss_ratios`.
    n_permutations : int
    random_state : int or Generator

    Returns
    -------
    p_value : float
        Of a model that takes nothing from what shows the groups: share of permutations, the one at hand among them, in
        which the moves change the log odds as much. Exact where memberships have nothing to do with the columns,
        conservative where they have and the slopes are at right angles to them.
    ratio : float
        Mean loss ratio over permutations.
    """
    rng = np.random.default_rng(random_state)
    n, members = len(X), membership.sum(axis=0)
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred
    inverse = np.linalg.inv(covariance + _RIDGE * np.eye(X.shape[1]))
    weight = n / np.maximum(members * (n - members), 1)  # so that small groups count like large ones
    gram = mean_product(slopes)
    nothing, chance = np.zeros(len(margin)), by_chance(inverse, covariance, gram, members, n)
    ours = changes(inverse @ (centred.T @ membership), gram) @ weight
    as_much, ratios = 0, []
    at_once = max(1, ENTRIES_AT_ONCE // membership.size)
    sums = (
        np.hsplit(centred.T @ np.hstack([membership[rng.permutation(n)] for _ in some]), len(some))
        for some in (range(n_permutations)[k : k + at_once] for k in range(0, n_permutations, at_once))
    )
    for k, together in enumerate(chain.from_iterable(sums)):
        coefficients = inverse @ together
        theirs = changes(coefficients, gram)
        as_much += theirs @ weight >= ours * (1 - 1e-9)
        if k < N_RATIOS:
            moves = _vectors(coefficients, together, members, n) * _share_beyond(chance, theirs)
            ratios.append(loss_ratios(margin, slopes, moves, nothing).mean())
    return (1 + int(as_much)) / (1 + n_permutations), float(np.mean(ratios))


def is_least(p_value: float) -> bool:
    """Return whether none of `N_PERMUTATIONS` shows as much, so that the p-value of `N_REFINED` is right, too.

    A p-value of more permutations only where fewer give their least one is at most a level with no more than its
    probability: below the least one it is the finer p-value that has to be, above it the coarser one.
    """
    return p_value <= 1 / (1 + N_PERMUTATIONS)


@dataclass(frozen=True, eq=False)
class MeanRatio:
    """A mean loss ratio at counterparts, of an attack or linearised.

    Attributes
    ----------
    ratios, direct : ndarray of shape (n_people,)
        At the counterparts, and where the sensitive feature alone is changed; at least 1.
    error : float
        Standard error of the mean.
    freedom : int
        Its degrees of freedom.
    p_of_chance : float
        Of "what the model takes from the other columns has nothing to do with the groups". Until that is refuted, only
        the direct ratios count as more than chance.
    highest, error_of_highest : float
        Mean and standard error with what chance adds, which is known on average only: from below it counts as taken
        off, from above as left in.
    """

    ratios: np.ndarray
    direct: np.ndarray
    error: float
    freedom: int
    p_of_chance: float
    highest: float
    error_of_highest: float

    @property
    def estimate(self) -> float:
        """The mean ratio."""
        return float(self.ratios.mean())

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the interval."""
        mean, error, freedom = self._direct if self.p_of_chance > 1 - confidence_level else self._whole
        low = max(mean - t.ppf((1 + confidence_level) / 2, freedom) * error, 1.0)
        half = t.ppf((1 + confidence_level) / 2, self.freedom)
        return low, max(low, self.estimate + half * self.error, self.highest + half * self.error_of_highest)

    def p_value(self, limit: float) -> float:
        """Return the two-sided p-value of "the mean loss ratio is at most `limit`"."""
        whole, direct = (_beyond(*each, limit) for each in (self._whole, self._direct))
        return max(whole, min(self.p_of_chance, direct))

    def smallest(self, alpha: float, limit: float) -> float:
        """Return the smallest mean ratio that is found to be above `limit` at a level with a power of about 80%."""
        return limit + float(t.ppf(1 - alpha / 2, self.freedom) + t.ppf(POWER, self.freedom)) * self.error

    @property
    def _whole(self):
        return self.estimate, self.error, self.freedom

    @property
    def _direct(self):
        n = len(self.direct)
        return float(self.direct.mean()), float(self.direct.std(ddof=1)) / np.sqrt(n), n - 1


def _beyond(mean, error, freedom, limit) -> float:
    if mean <= limit:
        return 1.0
    return float(2 * t.sf((mean - limit) / error, freedom)) if error else 0.0


def linearised_ratio(X, membership, margin, slopes, fall, *, random_state) -> tuple[MeanRatio, float, np.ndarray]:
    """Move people in one step along the directions in which groups differ, with log odds taken as linear.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Standardised; the first rows are those of the people.
    membership : ndarray of shape (n_rows, n_groups)
    margin, slopes
        As in `loss_ratios`.
    fall : ndarray of shape (n_people,)
        `direct` of `loss_ratios`.
    random_state : int

    Returns
    -------
    found : MeanRatio
        With the standard errors of a jackknife over rows, people and directions alike.
    by_chance : float
        The mean loss ratio with memberships shuffled.
    moves : ndarray of shape (n_columns, n_groups)
    """
    sums = Sums.of(X, membership)
    moves, none = sums.moves(mean_product(slopes)), np.zeros((X.shape[1], 0))
    ratios, direct = (loss_ratios(margin, slopes, each, fall) for each in (moves, none))
    error, error_of_highest = map(float, _jackknife(X, membership, margin, slopes, sums, fall, random_state))
    shuffled = partial(permuted, X, membership, margin, slopes, random_state=random_state)
    p_of_chance, by_chance = shuffled(n_permutations=N_PERMUTATIONS)
    if is_least(p_of_chance):
        p_of_chance, _ = shuffled(n_permutations=N_REFINED)
    highest = float(loss_ratios(margin, slopes, sums.moves(), fall).mean())
    found = MeanRatio(ratios, direct, error, N_FOLDS - 1, p_of_chance, highest, error_of_highest)
    return found, by_chance, moves


def _jackknife(X, membership, margin, slopes, sums, fall, random_state) -> np.ndarray:
    """Return standard errors of the mean ratio, without what chance adds and with it.

    Folds of rows are left out in turn, people and directions alike.
    """
    fold = np.random.default_rng(random_state).permutation(len(X)) % N_FOLDS
    means = np.empty((N_FOLDS, 2))
    for k in range(N_FOLDS):
        out = fold == k
        kept = ~out[: len(margin)]
        rest, some = sums - Sums.of(X[out], membership[out]), slopes[kept]
        for column, moves in enumerate((rest.moves(mean_product(some)), rest.moves())):
            means[k, column] = loss_ratios(margin[kept], some, moves, fall[kept]).mean()
    return np.sqrt((N_FOLDS - 1) * means.var(axis=0))
