"""Models that depend on a few linear functions of the features, and the attack's Euler scheme for them.

The attack pushes every point along the coefficients of such a model's units. In a fair metric with projection P, the
push inside the sensitive subspace adds up, and the push outside shrinks by a known share in every step. So it is enough
to track the pre-activations of the units. The steps are those of `fairlab.individual_fairness.attack.euler` up to
rounding; thousands of them take a fraction of the time.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, logsumexp

from fairlab.models.classifiers import LinearClassifier, WhiteBoxClassifier
from fairlab.statistics import over_last


@dataclass(frozen=True, eq=False)
class HiddenUnits:
    """One hidden layer: log odds ``sum_j weight_j max(0, kernel_j . x + bias_j) + offset``.

    Attributes
    ----------
    kernel : ndarray of shape (n_features, n_units)
    bias, weight : ndarray of shape (n_units,)
    offset : float
    """

    kernel: np.ndarray
    bias: np.ndarray
    weight: np.ndarray
    offset: float = 0.0

    @property
    def pushes(self):
        """The compiled loop that `follow` runs, or None without a compiler."""
        from fairlab.models.loops import IS_COMPILED
        from fairlab.papers.individual_fairness import flow  # only to attack: it loads the compiler

        return flow.follow if IS_COMPILED else None

    def log_odds_gradient(self, X: np.ndarray) -> np.ndarray:
        """Return the gradient of the log odds with respect to the features, in the shape and precision of `X`."""
        kernel = self.kernel.astype(X.dtype)
        return self._by_unit(X @ kernel + self.bias[..., None, :].astype(X.dtype)) @ kernel.swapaxes(-1, -2)

    def _by_unit(self, entering):
        return (entering > 0) * self.weight.astype(entering.dtype)


class Votes(HiddenUnits):
    """Mixture of logistic models: probabilities ``sum_j weight_j sigmoid(kernel_j . x + bias_j)``.

    Kernel and bias may have leading axes, for several such mixtures.
    """

    @property
    def pushes(self):
        """The function that `follow` runs."""
        return follow_votes

    def _by_unit(self, entering):
        share = np.log(self.weight).astype(entering.dtype)
        one, zero = share + log_expit(entering), log_expit(-entering)
        return np.exp(one + zero - logsumexp(one, -1, keepdims=True) - logsumexp(share + zero, -1, keepdims=True))


class OfUnits(WhiteBoxClassifier):
    """White box whose log odds are those of its ``units``, by which the attack moves points."""

    def log_odds_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds, and their gradient with respect to the features."""
        return self.log_odds(X), self.units.log_odds_gradient(X)

    @property
    def follow(self):
        """The function by which `gradient_flow_attack` moves points, or None without a compiler."""
        return self._follow if self.units.pushes else None

    def _follow(self, metric, points, labels, sizes, *, regularizer: float, trajectory: bool):
        """Move points as `fairlab.individual_fairness.attack.euler` does; see there for parameters and returns."""
        units = self.units
        unit = np.ones(metric.n_features) if metric.scale is None else metric.scale
        inside, outside = np.eye(metric.n_features) - metric.projection, metric.projection
        kernel, bias, weight = (part.astype(float) for part in (units.kernel, units.bias, units.weight))
        entering = points.astype(float) @ kernel + bias[..., None, :]
        kernel = unit[:, None] * kernel
        back = kernel.swapaxes(-1, -2)
        signs = np.broadcast_to(np.where(labels == 1, 1.0, -1.0), points.shape[:-1])
        log_odds = np.empty((len(sizes) if trajectory else 0, *signs.shape))
        options = signs, sizes, 1 - 2 * regularizer * sizes
        grams = back @ inside @ kernel, back @ outside @ kernel
        push_in, push_out = units.pushes(entering, weight, units.offset, *grams, *options, log_odds)
        X = points + unit * (push_in @ (back @ inside) + push_out @ (back @ outside))
        return X, self.loss_at(log_odds.astype(points.dtype), labels)


class FollowedLinear(OfUnits, LinearClassifier):
    """`LinearClassifier` that is attacked by its units: quicker for many models, points or steps."""

    @property
    def units(self) -> Votes:
        """One vote."""
        return Votes(self.coef[..., None], self.intercept[..., None], np.ones(1))


def follow_votes(entering, weight, _, gram_in, gram_out, signs, sizes, left, log_odds):
    """Return how far each vote's coefficients have pushed each point, inside and outside the subspace.

    Parameters
    ----------
    entering : ndarray of shape (..., n_points, n_votes)
    weight : ndarray of shape (n_votes,)
    gram_in, gram_out : ndarray of shape (..., n_votes, n_votes)
        Products of the votes' coefficients, inside and outside the subspace.
    signs : ndarray of shape (..., n_points)
        -1 and 1 for labels 0 and 1.
    sizes, left : ndarray of shape (n_steps,)
        Sizes of the steps, and the share of the push outside the subspace that each step retains.
    log_odds : ndarray of shape (n_steps or 0, ..., n_points)
        Written: the log odds before each step.
    """
    signs = signs[..., None]
    push_in, push_out = np.zeros_like(entering), np.zeros_like(entering)
    margin = signs * entering
    for k, size in enumerate(sizes):
        if len(log_odds):
            ends = (np.logaddexp.reduce(np.log(weight) - np.logaddexp(0, -s * margin), axis=-1) for s in (1, -1))
            log_odds[k] = signs[..., 0] * np.subtract(*ends)
        slope = 1 / (1 + np.exp(margin))  # probability of the other label
        if len(weight) > 1:  # each vote has its share in the probability of the label
            top = over_last(np.maximum, margin)[..., None]
            share = weight * np.exp(np.minimum(margin, 0) - np.minimum(top, 0)) / (1 + np.exp(-np.abs(margin)))
            slope *= share / share.sum(axis=-1, keepdims=True)
        slope *= -size * signs
        push_in += slope
        push_out *= left[k]
        push_out += slope
        margin = signs * (entering + _times(push_in, gram_in) + _times(push_out, gram_out))
    return push_in, push_out


def _times(push, gram):
    return push @ gram if gram.shape[-1] > 1 else push * gram
