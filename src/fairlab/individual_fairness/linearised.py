"""Counterparts in another group: slopes of log odds by each feature, and moves in directions that show the group."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import t

from fairlab.fair_metric import ENTRIES_AT_ONCE, N_FURTHER, N_PERMUTATIONS
from fairlab.statistics import POWER, level_beyond, unseen_share

_RIDGE = 1.0  # added to the sum of squares of standardised columns: decides between equivalent columns
MAX_PROBABILITY = 0.995  # probabilities are clipped to this and its complement: no loss is zero or infinite
MAX_LOG_ODDS = logit(MAX_PROBABILITY)
N_FOLDS = 20  # of the jackknife
N_RATIOS = 100  # permutations over which a ratio is averaged, at most
STEP_SIZE = 0.5  # of differences, in standard deviations; at least up to the next existing value


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
        Divisor of scores that are no probabilities: their standard deviation. 1 for probabilities.
    """

    case: object

    @cached_property
    def scale(self) -> float:
        """Divisor of the case's log odds."""
        return 1.0 if self.case.unit != "score" else float(self.case.log_odds().std()) or 1.0

    @property
    def decision_threshold(self) -> float:
        """Log odds at which a decision turns favourable."""
        return float(np.clip(self.case.log_odds_threshold, -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def log_odds(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return log odds of the favourable class, shape (n_rows,); of probabilities, clipped at `MAX_PROBABILITY`."""
        odds = self.case.log_odds(rows) / self.scale
        return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS) if self.case.unit == "probability" else odds


def rows_per_person(case) -> int:
    """Return the largest number of rows that the slopes of one person take."""
    encoding = case.encoding
    if case.has_gradients:
        return 1
    varied = {name for name in encoding.source if len(case.table[name].unique()) > 1}
    is_varied = np.array([name in varied for name in encoding.source])
    return int((is_varied * np.where(encoding.is_number, 2, 1)).sum()) + 1


def log_odds_slopes(scorer: Scorer, people: np.ndarray) -> np.ndarray:
    """Return the slopes of the log odds by the columns of the encoding, in its units.

    Networks give gradients. For any other model a slope is a difference quotient: for a number, between the existing
    values next to half a standard deviation above and below; for a category, between it and the person's own; for a
    missing value, between missing and a known value.

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
        # For numbers, the rise from the value below to the one above, over the distance between them.
        sign = np.sign(run)
        rises[of, column] += sign * (answer - start[of])
        runs[of, column] += np.abs(run)
    return np.divide(rises, runs, out=np.zeros_like(rises), where=runs > 0)


def _changes(case, table, encoded, people):
    """Yield changes as (column, feature, people, rows of the table that supply their new values, signed distance)."""
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
    """Sums over rows from which moves are computed; sums of parts of the rows add up.

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
        """Return the sums over all rows.

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
        """Return the moves to each group: along the direction in which it differs, as far as the means are apart.

        The direction of a group is that of the linear regression of membership on the columns, in standard deviations
        of these rows, which for two groups is Fisher's discriminant. The fair metric projects this direction out. The
        length of the move is the difference between the mean of the group and the mean of all others, projected on the
        direction.

        Parameters
        ----------
        gram : ndarray of shape (n_columns, n_columns), optional
            Mean product of the slopes of people. If given, moves are shortened by the part that chance alone adds to
            the mean squared change of log odds.

        Returns
        -------
        ndarray of shape (n_columns, n_groups)
            In the units of the columns.
        """
        covariance, together, deviation = self._standardised()
        inverse = np.linalg.inv(covariance + _RIDGE * np.eye(len(deviation)))
        coefficients = inverse @ together
        vectors = _vectors(coefficients, together, self.members, self.n)
        if gram is not None:
            gram = gram * np.outer(deviation, deviation)
            chance = by_chance(inverse, covariance, gram, self.members, self.n)
            vectors = vectors * _share_beyond(chance, changes(coefficients, gram))
        return vectors * deviation[:, None]

    def rates(self, slopes: np.ndarray, n_dimensions: int, shown: np.ndarray | None = None) -> np.ndarray:
        """Return how fast an attack in the subspace of the groups changes log odds, shape (4, n_people).

        The rate is the squared length of the slopes in the subspace, in standard deviations of these rows. The four
        rows are: this rate; the rate less the mean contribution of chance; the rate in the directions of all groups,
        shown or not, corrected for the loss from chance, which turns the subspace away from the slopes; the rate in any
        direction.

        Parameters
        ----------
        slopes : ndarray of shape (n_people, n_columns)
        n_dimensions : int
            Dimension of the subspace: the combinations of the groups' directions that vary most.
        shown : ndarray of bool of shape (n_groups,), optional
            The groups whose directions span it; all by default.
        """
        if not slopes.size:
            return np.zeros((4, len(slopes)))
        covariance, together, deviation = self._standardised()
        slopes = slopes * deviation
        inverse = np.linalg.inv(covariance + _RIDGE * np.eye(len(deviation)))
        noise = inverse @ covariance @ inverse  # of each direction, in units of its group's size
        sizes = np.sqrt(self.members * (self.n - self.members) / (self.n * (self.n - 1)))
        all_directions = inverse @ together / np.where(sizes > 0, sizes, 1)
        directions = all_directions if shown is None else all_directions[:, shown]
        varying = np.linalg.eigh(directions.T @ covariance @ directions)[1][:, ::-1]
        basis, lengths, _ = np.linalg.svd(directions @ varying[:, :n_dimensions], full_matrices=False)
        rate = np.square(slopes @ basis).sum(axis=1)
        whole, of_chance, turned = np.square(slopes).sum(axis=1), np.inf, np.inf
        if rate.any() and lengths.min() > 0:
            of_chance = (lengths**-2.0).sum() * np.trace(mean_product(slopes) @ noise) / rate.mean()
            turned = np.trace(noise) / lengths.min() ** 2
        # A direction may exist although the columns do not show it.
        every, its_lengths, _ = np.linalg.svd(all_directions, full_matrices=False)
        widest = np.square(slopes @ every[:, its_lengths > 1e-9 * its_lengths.max()]).sum(axis=1)
        most = widest / (1 - turned) if turned < 1 else whole
        return np.stack([rate, rate * max(0.0, 1 - of_chance), most, whole])

    def _standardised(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return both sums of products for columns standardised in these rows, and the standard deviations."""
        mean = self.columns / self.n
        covariance = self.squares - self.n * np.outer(mean, mean)
        together = self.with_members - np.outer(mean, self.members)
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0) / self.n)
        units = np.divide(1, deviation, where=deviation > 0, out=np.zeros_like(deviation))
        return covariance * np.outer(units, units), together * units[:, None], deviation


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
        Inverse of the covariance with a ridge.
    covariance, gram : ndarray of shape (n_columns, n_columns)
        Sum of squares of the centred columns; mean product of the slopes.
    members : ndarray of shape (n_groups,)
        Sizes of the groups.
    n : int
        Rows.
    """
    return members * (n - members) / (n * (n - 1)) * np.trace(gram @ inverse @ covariance @ inverse)


def _share_beyond(chance, change):
    """Return the share of a change beyond chance, as a factor of the moves that cause the change."""
    return np.sqrt(np.maximum(0, 1 - np.divide(chance, change, where=change > 0, out=np.ones_like(change))))


def _vectors(coefficients, together, members, n):
    """Return each coefficient vector at the length of the difference of means, projected on it."""
    apart = together * n / np.maximum(members * (n - members), 1)  # members' mean minus that of the others
    squared = (coefficients**2).sum(axis=0)
    return coefficients * np.divide((coefficients * apart).sum(axis=0), squared, where=squared > 0, out=0 * squared)


def loss(margin: np.ndarray) -> np.ndarray:
    """Return the cross-entropy of a point by its margin: its log odds towards its label, clipped."""
    return np.logaddexp(0, -np.clip(margin, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def loss_ratios(margin: np.ndarray, slopes: np.ndarray, moves: np.ndarray, direct: np.ndarray) -> np.ndarray:
    """Return the factor by which the loss of every person rises on the way to the worst counterpart.

    Parameters
    ----------
    margin : ndarray of shape (n_people,)
    slopes : ndarray of shape (n_people, n_columns)
        Slopes of the log odds by standardised columns.
    moves : ndarray of shape (n_columns, n_groups)
    direct : ndarray of shape (n_people,)
        Largest fall of the margin when the sensitive feature itself is changed; zero or more.

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
    n_further: int = 0,
    random_state,
) -> tuple[float, float]:
    """Audit permuted memberships, which show the result that a fair model would give by chance.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Standardised.
    membership : ndarray of shape (n_rows, n_groups)
        Zeros and ones.
    margin, slopes
        As in `loss_ratios`.
    n_permutations, n_further : int
        As in `fairlab.fair_metric.chance_p_values`.
    random_state : int or Generator

    Returns
    -------
    p_value : float
        For the hypothesis that the model uses nothing that shows the groups: share of permutations, the observed
        memberships included, in which the moves change the log odds as much. Exact if memberships are independent of
        the columns, conservative if they are not and the slopes are orthogonal to the directions of the groups.
    ratio : float
        Mean loss ratio over permutations.
    """
    rng = np.random.default_rng(random_state)
    n, members = len(X), membership.sum(axis=0)
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred
    inverse = np.linalg.inv(covariance + _RIDGE * np.eye(X.shape[1]))
    weight = n / np.maximum(members * (n - members), 1)  # so that small groups count as much as large ones
    gram = mean_product(slopes)
    nothing, chance = np.zeros(len(margin)), by_chance(inverse, covariance, gram, members, n)
    ours = changes(inverse @ (centred.T @ membership), gram) @ weight
    as_much, ratios, n_all = 0, [], n_permutations + n_further
    at_once = min(n_permutations, max(1, ENTRIES_AT_ONCE // membership.size))
    sums = (
        np.hsplit(centred.T @ np.hstack([membership[rng.permutation(n)] for _ in some]), len(some))
        for some in (range(n_all)[k : k + at_once] for k in range(0, n_all, at_once))
    )
    for k, together in enumerate(chain.from_iterable(sums)):
        if k == n_permutations and as_much:
            n_all = n_permutations
            break
        coefficients = inverse @ together
        theirs = changes(coefficients, gram)
        as_much += int(theirs @ weight >= ours * (1 - 1e-9))
        if k < N_RATIOS:
            moves = _vectors(coefficients, together, members, n) * _share_beyond(chance, theirs)
            ratios.append(loss_ratios(margin, slopes, moves, nothing).mean())
    return (1 + as_much) / (1 + n_all), float(np.mean(ratios))


@dataclass(frozen=True, eq=False)
class MeanRatio:
    """A mean loss ratio at counterparts, of an attack or linearised.

    Errors are on the scale of its logarithm: larger mean ratios vary more, so that an interval on the scale of the
    ratio itself would be too short above.

    Attributes
    ----------
    ratios, direct : ndarray of shape (n_people,)
        Loss ratios at the counterparts, and with only the sensitive feature changed; at least 1.
    error : float
        Standard error of the logarithm, for the lower bound.
    freedom : int
        Its degrees of freedom.
    p_of_chance : float
        P-value of "the model's use of the other columns has nothing to do with the groups". Until this is rejected,
        only the direct ratios count as more than chance.
    highest : float
        The mean for the upper bound: it includes the contribution of chance, which is known only on average, and makes
        up for what chance removes.
    error_of_highest : float
        Standard error of the `power` of its logarithm.
    lowest : float
        The mean for the lower bound, if it is smaller than that of `ratios`.
    power : float
        1 if the logarithm grows with a slope, 1/2 if it grows with the square of a slope.
    """

    ratios: np.ndarray
    direct: np.ndarray
    error: float
    freedom: int
    p_of_chance: float
    highest: float
    error_of_highest: float
    lowest: float = np.inf
    power: float = 1.0

    @property
    def estimate(self) -> float:
        """The mean ratio."""
        return float(self.ratios.mean())

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the interval."""
        below = self._direct if self.p_of_chance > 1 - confidence_level else self._whole
        low = max(below.low(confidence_level), 1.0)
        half = float(t.ppf((1 + confidence_level) / 2, self.freedom))
        return low, max(low, self.estimate, self._raised(self.highest, half))

    def p_value(self, limit: float) -> float:
        """Return the two-sided p-value of "the mean loss ratio is at most `limit`"."""
        return max(self._whole.beyond(limit), min(self.p_of_chance, self._direct.beyond(limit)))

    def smallest(self, alpha: float, limit: float) -> float:
        """Return the smallest mean ratio that is detected to be above `limit` at a level with a power of about 80%."""
        away = float(t.ppf(1 - alpha / 2, self.freedom) + t.ppf(POWER, self.freedom))
        # If all may be chance, the error for the lower bound is zero and says nothing about larger ratios.
        seen = 1 - unseen_share(len(self.ratios), alpha / 2)
        return max(1 + (limit * float(np.exp(away * self.error)) - 1) / seen, self._raised(limit, away))

    def _raised(self, ratio: float, errors: float) -> float:
        """Return a ratio raised by `errors` standard errors, those for the upper bound."""
        return float(np.exp((np.log(ratio) ** self.power + errors * self.error_of_highest) ** (1 / self.power)))

    @property
    def _whole(self) -> "_FromBelow":
        return _FromBelow(min(self.estimate, self.lowest), self.error, self.freedom, len(self.ratios))

    @property
    def _direct(self) -> "_FromBelow":
        n = len(self.direct)
        return _FromBelow(float(self.direct.mean()), _error_of_people(self.direct), n - 1, n)


class _FromBelow(NamedTuple):
    """A mean ratio for the lower bound, with the standard error of its logarithm.

    People whom the sample misses may have a ratio of 1, as in `fairlab.statistics.SampleMean`.
    """

    mean: float
    error: float
    freedom: int
    n_people: int

    def low(self, confidence_level: float) -> float:
        low = self.mean * float(np.exp(-t.ppf((1 + confidence_level) / 2, self.freedom) * self.error))
        return low - unseen_share(self.n_people, (1 - confidence_level) / 2) * max(low - 1.0, 0.0)

    def beyond(self, limit: float) -> float:
        return level_beyond(lambda confidence_level: (self.low(confidence_level), np.inf), limit)


def linearised_ratio(X, membership, margin, slopes, fall, *, random_state) -> tuple[MeanRatio, float, np.ndarray]:
    """Move people in one step along the directions in which groups differ, with linear log odds.

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
        With the standard errors of a jackknife over rows: people, directions and units alike.
    by_chance : float
        The mean loss ratio with memberships shuffled.
    moves : ndarray of shape (n_columns, n_groups)
    """
    sums, none = Sums.of(X, membership), np.zeros((X.shape[1], 0))

    def means(sums, kept):
        some = margin[kept], slopes[kept]
        both = sums.moves(mean_product(some[1])), sums.moves()
        return np.log([loss_ratios(*some, each, fall[kept]).mean() for each in both])

    (_, highest), errors, biases = _jackknife(means, X, membership, sums, len(margin), random_state)
    p_of_chance, by_chance = permuted(
        X, membership, margin, slopes, n_permutations=N_PERMUTATIONS, n_further=N_FURTHER, random_state=random_state
    )
    moves = sums.moves(mean_product(slopes))
    ratios, direct = (loss_ratios(margin, slopes, each, fall) for each in (moves, none))
    # Chance turns directions away from the slopes of a model that uses columns which show the groups.
    highest = float(np.exp(highest - min(biases[1], 0.0)))
    error, error_of_highest = map(float, errors)
    return MeanRatio(ratios, direct, error, N_FOLDS - 1, p_of_chance, highest, error_of_highest), by_chance, moves


def attacked_ratio(
    X,
    membership,
    margin,
    slopes,
    fall,
    ratios,
    *,
    shown=None,
    n_dimensions,
    stopping_time,
    n_steps,
    p_of_chance,
    random_state,
) -> MeanRatio:
    """Return the mean loss ratio of an attack inside a learned subspace; errors account for the learning.

    The variation of the mean with the rows from which subspace and units are learned, and the contribution of chance,
    are taken from the same flow along the slopes at the start, scaled by the ratio of both flows' effects on the
    logarithm of the loss.

    Parameters
    ----------
    X, membership, margin, slopes, fall
        As in `linearised_ratio`.
    ratios : ndarray of shape (n_people,)
        Loss ratios under the attack.
    shown : ndarray of bool of shape (n_groups,), optional
        The groups that the columns show, which span the subspace.
    n_dimensions : int
        Dimension of the subspace; 0 if the columns do not show the groups: for the upper bound, it may then lie
        anywhere.
    stopping_time, n_steps
        As in the attack.
    p_of_chance : float
        As in `MeanRatio`.
    random_state : int
    """
    sums, direct, of_people = Sums.of(X, membership), loss(margin - fall) / loss(margin), _error_of_people(ratios)

    def means(sums, kept):
        before, rates = (
            loss(margin[kept]),
            sums.rates(slopes[kept], max(n_dimensions, 1), shown if n_dimensions else None),
        )
        now = np.broadcast_to(margin[kept] - fall[kept], rates.shape).copy()
        for _ in range(n_steps):
            now -= stopping_time / n_steps * rates * expit(-now)
        learned, least, most, anywhere = np.log((loss(now) / before).mean(axis=1))
        return np.array([least, *np.sqrt([learned, most, anywhere])])

    (least, learned, most, anywhere), errors, _ = _jackknife(means, X, membership, sums, len(margin), random_state)
    share = float(np.log(ratios.mean())) / learned**2 if n_dimensions and learned > 0 else 1.0
    # The effect grows with the square of a slope: unlike its own error, that of its root does not shrink with it.
    _, of_learned, of_most, of_anywhere = errors * np.sqrt([1, share, share, 1])
    from_above = [(anywhere, max(of_learned, of_anywhere) if n_dimensions else of_anywhere)]
    if n_dimensions:
        from_above.append((np.sqrt(share) * most, of_most))
    highest, error_of_highest = map(float, min(from_above, key=lambda pair: pair[0] + 2 * pair[1]))
    if highest > 0:
        error_of_highest = max(error_of_highest, of_people / (2 * highest))
    return MeanRatio(
        ratios,
        direct,
        max(share * float(errors[0]), of_people) if n_dimensions else of_people,
        N_FOLDS - 1,
        p_of_chance,
        highest=float(np.exp(highest**2)),
        error_of_highest=error_of_highest,
        lowest=float(np.exp(share * least)),
        power=0.5,
    )


def _error_of_people(ratios) -> float:
    """Return the standard error of the logarithm of a mean ratio, from the sampling of people alone."""
    return float(ratios.std(ddof=1) / np.sqrt(len(ratios)) / ratios.mean())


def _jackknife(means, X, membership, sums, n_people, random_state) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values of `means`, a function of sums over rows and a mask of people, with standard errors and biases.

    Leaving out folds of rows in turn affects people, directions and units alike.
    """
    fold = np.random.default_rng(random_state).permutation(len(X)) % N_FOLDS
    outs, whole = [fold == k for k in range(N_FOLDS)], means(sums, np.ones(n_people, dtype=bool))
    left = np.array([means(sums - Sums.of(X[out], membership[out]), ~out[:n_people]) for out in outs])
    return whole, np.sqrt((N_FOLDS - 1) * left.var(axis=0)), (N_FOLDS - 1) * (left.mean(axis=0) - whole)
