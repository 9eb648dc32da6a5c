"""Moves from one group to another along what shows it, and what such moves do to a model by chance alone."""

from dataclasses import dataclass

import numpy as np

from fairlab.individual_fairness.slopes import LIMIT

_RIDGE = 1.0  # on standardised columns, beside the sum of squares: decides between columns that say the same


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves to a group: along the direction in which its members differ, as far as the means are apart.

    The direction of a group is that of the linear regression of membership on the standardised columns, which for two
    groups is Fisher's discriminant: what is projected out of the fair metric. Its length is the difference between the
    mean of the group and the mean of all others, projected on it.

    Attributes
    ----------
    coefficients : ndarray of shape (n_columns, n_groups)
        Of the regressions, by standardised columns.
    vectors : ndarray of shape (n_columns, n_groups)
        Moves, in standard deviations.
    """

    coefficients: np.ndarray
    vectors: np.ndarray


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
        """Sum over all rows of columns (n, n_columns) and of memberships (n, n_groups), zeros and ones."""
        return cls(X.T @ X, X.T @ membership, X.sum(axis=0), membership.sum(axis=0), len(X))

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(*(mine - theirs for mine, theirs in zip(self._parts, other._parts, strict=True)))

    @property
    def _parts(self):
        return self.squares, self.with_members, self.columns, self.members, self.n

    def moves(self, gram: np.ndarray | None = None) -> Moves:
        """Return the moves to each group.

        Parameters
        ----------
        gram : ndarray of shape (n_columns, n_columns), optional
            Mean product of the slopes of people. If given, moves are shorter by what chance alone adds to the mean
            squared change that they make.
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
        return Moves(coefficients, vectors)


def changes(coefficients: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return the mean squared change of the log odds along the coefficients of each group, shape (n_groups,)."""
    return np.einsum("dk,de,ek->k", coefficients, gram, coefficients, optimize=True)


def by_chance(inverse, covariance, gram, members, n) -> np.ndarray:
    """Return the mean of `changes` over all permutations of memberships, shape (n_groups,)."""
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
    return np.logaddexp(0, -np.clip(margin, -LIMIT, LIMIT))


def loss_ratios(margin: np.ndarray, slopes: np.ndarray, moves: Moves, direct: np.ndarray) -> np.ndarray:
    """Return by how much the loss of every person rises on the way to the worst counterpart.

    Parameters
    ----------
    margin : ndarray of shape (n_people,)
    slopes : ndarray of shape (n_people, n_columns)
        Of the log odds, by standardised columns.
    moves : Moves
    direct : ndarray of shape (n_people,)
        How much the margin falls, at worst, when the sensitive feature itself is changed; zero or more.

    Returns
    -------
    ndarray of shape (n_people,)
        At least 1.
    """
    shown = np.abs(slopes @ moves.vectors).max(axis=1, initial=0.0)
    return loss(margin - direct - shown) / loss(margin)


@dataclass(frozen=True, eq=False)
class Null:
    """What audits of permuted memberships give.

    Attributes
    ----------
    p_value : float
        Of a model that takes nothing from what shows the groups: share of permutations, the one at hand among them, in
        which the moves change the log odds as much. Exact where memberships have nothing to do with the columns,
        conservative where they have and the slopes are at right angles to them.
    ratio : float
        Mean loss ratio over permutations.
    n : int
        Permutations.
    """

    p_value: float
    ratio: float
    n: int


def permuted(
    X: np.ndarray,
    membership: np.ndarray,
    margin: np.ndarray,
    slopes: np.ndarray,
    *,
    n_permutations: int,
    random_state,
    n_ratios: int = 100,
) -> Null:
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
    n_ratios : int
        Permutations over which the ratio is averaged, at most.
    """
    rng = np.random.default_rng(random_state)
    n, members = len(X), membership.sum(axis=0)
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred
    inverse = np.linalg.inv(covariance + _RIDGE * np.eye(X.shape[1]))
    weight = n / np.maximum(members * (n - members), 1)  # so that small groups count like large ones
    gram = slopes.T @ slopes / len(slopes)
    nothing, chance = np.zeros(len(margin)), by_chance(inverse, covariance, gram, members, n)
    ours = changes(inverse @ (centred.T @ membership), gram) @ weight
    as_much, ratios = 0, []
    for k in range(n_permutations):
        together = centred.T @ membership[rng.permutation(n)]
        coefficients = inverse @ together
        theirs = changes(coefficients, gram)
        as_much += theirs @ weight >= ours * (1 - 1e-9)
        if k < n_ratios:
            vectors = _vectors(coefficients, together, members, n) * _share_beyond(chance, theirs)
            moves = Moves(coefficients, vectors)
            ratios.append(loss_ratios(margin, slopes, moves, nothing).mean())
    return Null((1 + int(as_much)) / (1 + n_permutations), float(np.mean(ratios)), n_permutations)
