"""Likelihood and posterior of latent knowledge in the causal model of Kusner et al. 2017."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import gammaln, logsumexp
from scipy.stats import norm


@dataclass(frozen=True, eq=False)
class Applicants:
    """What is observed of n applicants.

    Attributes
    ----------
    design : ndarray of shape (n, 1 + n_attributes)
        A column of ones, then the attributes.
    gpa : ndarray of shape (n,)
        Grade average.
    lsat : ndarray of shape (n,)
        Test score in whole marks.
    fya : ndarray of shape (n,) or None
        First-year average, where it takes part.
    """

    design: np.ndarray
    gpa: np.ndarray
    lsat: np.ndarray
    fya: np.ndarray | None = None

    @property
    def equations(self) -> tuple[str, ...]:
        """Names of the observed quantities."""
        return ("gpa", "lsat") if self.fya is None else ("gpa", "lsat", "fya")


@dataclass(frozen=True, eq=False)
class Weights:
    """Parameters of the model.

    Attributes
    ----------
    gpa_std : float
        Standard deviation of GPA given everything else; that of FYA is one.
    equations : dict of str to ndarray of shape (2 + n_attributes,)
        Per observed quantity, the weights of the design's columns and, last, of knowledge.
    """

    gpa_std: float
    equations: dict[str, np.ndarray]

    def predictor(self, equation: str, design: np.ndarray, knowledge: np.ndarray) -> np.ndarray:
        """Return the linear predictor of one quantity, for one or several values of knowledge per row."""
        *base, slope = self.equations[equation]
        fixed = design @ np.array(base)
        return fixed.reshape(-1, *[1] * (np.ndim(knowledge) - 1)) + slope * knowledge


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the model believes about the knowledge of each applicant, given what is observed.

    Attributes
    ----------
    values : ndarray of shape (n, n_nodes)
        Quadrature nodes: values of knowledge, in standard deviations of the population.
    probability : ndarray of shape (n, n_nodes)
        Probability of each value; rows sum to one.
    log_likelihood : ndarray of shape (n,)
        Log likelihood of each row with knowledge integrated out.
    """

    values: np.ndarray
    probability: np.ndarray
    log_likelihood: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean, shape (n,)."""
        return self.expect(self.values)

    @property
    def std(self) -> np.ndarray:
        """Posterior standard deviation, shape (n,)."""
        return np.sqrt(self.expect((self.values - self.mean[:, None]) ** 2))

    def expect(self, quantity: np.ndarray) -> np.ndarray:
        """Return the posterior mean of a quantity given at every node, shape (n, n_nodes)."""
        return (self.probability * quantity).sum(axis=1)

    def sample(self, uniform: np.ndarray) -> np.ndarray:
        """Return one node per row, drawn by the inverse distribution function of `uniform`, shape (n,)."""
        node = (self.probability.cumsum(axis=1) < uniform[:, None]).sum(axis=1)
        node = np.minimum(node, self.values.shape[1] - 1)
        return np.take_along_axis(self.values, node[:, None], axis=1)[:, 0]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per applicant: posterior mean and standard deviation."""
        return pd.DataFrame({"mean": self.mean, "std": self.std})


def infer(weights: Weights, applicants: Applicants, *, n_nodes: int) -> Knowledge:
    """Return the posterior of knowledge given the quantities that are observed; weights of others go unused.

    Given the normal quantities, knowledge is normal in closed form; Gauss-Hermite nodes of that normal are then
    weighted by the Poisson likelihood of LSAT. So the rule stays exact when the noise of GPA is small.
    """
    design, n = applicants.design, len(applicants.design)
    precision, pull, log_likelihood = 1.0, np.zeros(n), np.zeros(n)
    for name, std in _normal_equations(weights, applicants):
        residual = getattr(applicants, name) - weights.predictor(name, design, np.zeros(n))
        slope = weights.equations[name][-1]
        precision += slope**2 / std**2
        pull += slope * residual / std**2
        log_likelihood += norm.logpdf(residual, scale=std)
    log_likelihood += pull**2 / precision / 2 - np.log(precision) / 2

    nodes, mass = hermegauss(n_nodes)
    values = (pull / precision)[:, None] + nodes / np.sqrt(precision)
    log_rate = weights.predictor("lsat", design, values)
    log_joint = np.log(mass / mass.sum()) + applicants.lsat[:, None] * log_rate - np.exp(log_rate)
    log_evidence = logsumexp(log_joint, axis=1, keepdims=True)
    log_likelihood += log_evidence[:, 0] - gammaln(applicants.lsat + 1)
    return Knowledge(values, np.exp(log_joint - log_evidence), log_likelihood)


def likelihood_scores(weights: Weights, applicants: Applicants, knowledge: Knowledge) -> np.ndarray:
    """Return each row's gradient of the log likelihood, shape (n, n_parameters).

    By Fisher's identity it is the posterior mean of the gradient that a known K would give. Columns: logarithm of
    the standard deviation of GPA, then the weights equation by equation.
    """
    errors = {"lsat": applicants.lsat[:, None] - np.exp(weights.predictor("lsat", applicants.design, knowledge.values))}
    for name, std in _normal_equations(weights, applicants):
        observed = getattr(applicants, name)[:, None]
        errors[name] = (observed - weights.predictor(name, applicants.design, knowledge.values)) / std**2
    columns = [knowledge.expect((errors["gpa"] * weights.gpa_std) ** 2) - 1]
    for name in applicants.equations:
        columns += [
            applicants.design * knowledge.expect(errors[name])[:, None],
            knowledge.expect(errors[name] * knowledge.values),
        ]
    return np.column_stack(columns)


def _normal_equations(weights: Weights, applicants: Applicants) -> list[tuple[str, float]]:
    """Return the observed quantities that are normal given knowledge, with their standard deviations."""
    stds = {"gpa": weights.gpa_std, "fya": 1.0}
    return [(name, stds[name]) for name in applicants.equations if name in stds]
