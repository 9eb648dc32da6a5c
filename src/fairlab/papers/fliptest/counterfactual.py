"""Counterfactual law school applicants from the causal model of Kusner et al. 2017."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import norm, poisson
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

# If the noise in GPA falls below this share of GPA's variance, the fit is taken to converge to no noise at all.
_NO_NOISE = 1e-3


@dataclass(frozen=True, eq=False)
class Applicants:
    """Observed data of n applicants.

    Attributes
    ----------
    design : ndarray of shape (n, 1 + n_attributes)
        A column of ones, then the attributes.
    gpa : ndarray of shape (n,)
        Grade average.
    lsat : ndarray of shape (n,)
        Test score in whole marks.
    """

    design: np.ndarray
    gpa: np.ndarray
    lsat: np.ndarray


@dataclass(frozen=True, eq=False)
class Weights:
    """Parameters of the model.

    Attributes
    ----------
    gpa_std : float
        Standard deviation of GPA given everything else.
    equations : dict of str to ndarray of shape (2 + n_attributes,)
        For ``gpa`` and ``lsat``: weights of the design's columns, then the weight of knowledge.
    """

    gpa_std: float
    equations: dict[str, np.ndarray]

    def predictor(self, equation: str, design: np.ndarray, knowledge: np.ndarray) -> np.ndarray:
        """Return the linear predictor of one quantity, for one or several values of knowledge per row.

        Parameters
        ----------
        equation : {"gpa", "lsat"}
        design : ndarray of shape (n, 1 + n_attributes)
        knowledge : ndarray of shape (n,) or (n, n_nodes)
        """
        *base, slope = self.equations[equation]
        fixed = design @ np.array(base)
        return fixed.reshape(-1, *[1] * (np.ndim(knowledge) - 1)) + slope * knowledge


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Posterior of the knowledge of each applicant, given the observed data.

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

    def expect(self, quantity: np.ndarray) -> np.ndarray:
        """Return the posterior mean of a quantity given at every node, shape (n, n_nodes)."""
        return (self.probability * quantity).sum(axis=1)

    def sample(self, uniform: np.ndarray) -> np.ndarray:
        """Return one node per row, drawn by the inverse distribution function of `uniform`, shape (n,)."""
        node = (self.probability.cumsum(axis=1) < uniform[:, None]).sum(axis=1)
        node = np.minimum(node, self.values.shape[1] - 1)
        return np.take_along_axis(self.values, node[:, None], axis=1)[:, 0]


def infer(weights: Weights, applicants: Applicants, *, n_nodes: int) -> Knowledge:
    """Return the posterior of knowledge given GPA and LSAT.

    Given GPA, knowledge is normal in closed form; Gauss-Hermite nodes of that normal are then weighted by the Poisson
    likelihood of LSAT. So the rule stays exact when the noise of GPA is small.

    Parameters
    ----------
    weights : Weights
    applicants : Applicants
    n_nodes : int
        Number of quadrature nodes.
    """
    design, slope, std = applicants.design, weights.equations["gpa"][-1], weights.gpa_std
    residual = applicants.gpa - weights.predictor("gpa", design, np.zeros(len(design)))
    precision, pull = 1 + slope**2 / std**2, slope * residual / std**2
    log_likelihood = norm.logpdf(residual, scale=std)
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

    By Fisher's identity, it is the posterior mean of the gradient given K. Columns: logarithm of the standard deviation
    of GPA, then the weights equation by equation.

    Parameters
    ----------
    weights : Weights
    applicants : Applicants
    knowledge : Knowledge
        Posterior of these applicants; see `infer`.
    """
    design, values = applicants.design, knowledge.values
    of_gpa = (applicants.gpa[:, None] - weights.predictor("gpa", design, values)) / weights.gpa_std**2
    of_lsat = applicants.lsat[:, None] - np.exp(weights.predictor("lsat", design, values))
    columns = [knowledge.expect((of_gpa * weights.gpa_std) ** 2) - 1]
    for error in (of_gpa, of_lsat):
        columns += [design * knowledge.expect(error)[:, None], knowledge.expect(error * values)]
    return np.column_stack(columns)


class KnowledgeModel(BaseEstimator):
    r"""Causal model in which knowledge K and unchosen attributes A cause GPA and LSAT (FlipTest, section 5.4).

    .. math::

        K    &\sim N(0, 1) \\
        GPA  &\sim N(b_G + w_G^K K + w_G A, \sigma_G^2) \\
        LSAT &\sim Poisson(\exp(b_L + w_L^K K + w_L A))

    A holds indicators of race and sex. The exponential is in Kusner et al. and missing from FlipTest's text; the
    first-year average is in Kusner et al. and not in FlipTest.

    `fit` maximises the likelihood with K integrated out, times a prior on the variance of GPA's noise. The sign of K
    is fixed by :math:`w_G^K > 0`. Without the prior the likelihood may grow until :math:`\sigma_G = 0`, where knowledge
    is the same thing as GPA. It does so on the law school data, whose LSAT scores vary less than Poisson counts.

    Parameters
    ----------
    gpa_variance_prior : (float, float) or None
        Shape and scale of an inverse gamma prior on :math:`\sigma_G^2`; None for plain maximum likelihood.
        The default is wide, with its mode at one half.
    n_nodes : int
        Number of quadrature nodes.
    max_iter : int
        Maximum number of L-BFGS iterations.
    random_state : int, RandomState or None
        For counterfactuals with ``noise="redraw"``.

    Attributes
    ----------
    weights_ : DataFrame
        Rows ``gpa`` and ``lsat``; columns ``intercept``, the attributes and ``knowledge``.
    standard_error_ : DataFrame
        Standard errors of `weights_`, from the outer product of the likelihood's scores.
    gpa_std_ : float
        :math:`\sigma_G`, in the unit of GPA.
    log_likelihood_ : float
        Log likelihood at the fit, summed over rows, without the prior.

    References
    ----------
    Kusner, Loftus, Russell, Silva. Counterfactual Fairness. NeurIPS 2017, section 5.
    """

    def __init__(self, *, gpa_variance_prior=(1.0, 1.0), n_nodes=30, max_iter=2000, random_state=None):
        self.gpa_variance_prior = gpa_variance_prior
        self.n_nodes = n_nodes
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, attributes, *, gpa, lsat) -> "KnowledgeModel":
        """Learn the weights.

        Parameters
        ----------
        attributes : DataFrame of shape (n_rows, n_attributes)
            Indicators of race and sex, one race and one sex left out.
        gpa : array-like of shape (n_rows,)
            Grade average.
        lsat : array-like of shape (n_rows,)
            Test score, zero or more; rounded to whole marks, as a Poisson count must be.

        Raises
        ------
        RuntimeError
            If the fit does not converge, or ends without noise in GPA.
        """
        applicants, names = _applicants(attributes, gpa, lsat), list(attributes)
        start = _regressions(applicants)
        weights = self._maximise(applicants, start)
        if weights.equations["gpa"][-1] < 0:
            for equation in weights.equations.values():
                equation[-1] *= -1
        knowledge = infer(weights, applicants, n_nodes=self.n_nodes)
        gradients = likelihood_scores(weights, applicants, knowledge)
        variances = np.diag(np.linalg.inv(gradients.T @ gradients))
        errors = _unpack(np.sqrt(variances)).equations
        columns = ["intercept", *names, "knowledge"]
        self.weights_ = pd.DataFrame.from_dict(weights.equations, orient="index", columns=columns)
        self.standard_error_ = pd.DataFrame.from_dict(errors, orient="index", columns=columns)
        self.gpa_std_ = weights.gpa_std
        self.log_likelihood_ = float(knowledge.log_likelihood.sum())
        return self

    def posterior(self, attributes, *, gpa, lsat) -> Knowledge:
        """Infer the knowledge of each applicant from attributes, GPA and LSAT (abduction).

        Parameters
        ----------
        attributes : DataFrame of shape (n_rows, n_attributes)
        gpa, lsat : array-like of shape (n_rows,)
        """
        return infer(self._weights(), _applicants(attributes, gpa, lsat), n_nodes=self.n_nodes)

    def counterfactual(self, attributes, switched, *, gpa, lsat, noise="keep") -> pd.DataFrame:
        """Return the GPA and LSAT that each applicant would have had with other attributes.

        Parameters
        ----------
        attributes, switched : DataFrame of shape (n_rows, n_attributes)
            The factual and the counterfactual attributes.
        gpa, lsat : array-like of shape (n_rows,)
            As observed.
        noise : {"keep", "redraw"}
            ``keep``: knowledge is its posterior mean, and applicants keep what the model leaves unexplained: the
            residual of GPA, and the rank of LSAT among Poisson counts. Unchanged attributes return the observed values.
            ``redraw``: knowledge is drawn from its posterior, then GPA and LSAT from the model. Two calls with the same
            integer `random_state` share all draws, so that the model's factual and counterfactual applicants can be
            compared one by one.

        Returns
        -------
        DataFrame of shape (n_rows, 2)
            Columns ``gpa`` and ``lsat``, with the index of `attributes`.
        """
        before, after = _applicants(attributes, gpa, lsat), _applicants(switched, gpa, lsat)
        knowledge = infer(self._weights(), before, n_nodes=self.n_nodes)
        if noise == "keep":
            gpa_change, lsat_change = _explained_change(self._weights(), before, after, knowledge.mean)
            columns = {"gpa": before.gpa + gpa_change, "lsat": np.asarray(lsat, dtype=float) + lsat_change}
        else:
            columns = _redraw(self._weights(), after, knowledge, check_random_state(self.random_state))
        return pd.DataFrame(columns, index=attributes.index)

    def _maximise(self, applicants: Applicants, start: np.ndarray) -> Weights:
        n = len(applicants.design)

        def objective(parameters):
            weights = _unpack(parameters)
            knowledge = infer(weights, applicants, n_nodes=self.n_nodes)
            log_prior, prior_slope = self._gpa_noise_prior(weights.gpa_std**2)
            gradient = likelihood_scores(weights, applicants, knowledge).sum(axis=0)
            gradient[0] += prior_slope
            return -(knowledge.log_likelihood.sum() + log_prior) / n, -gradient / n

        # The bound stops a fit whose noise vanishes before it overflows.
        bounds = [(start[0] - 6, None)] + [(None, None)] * (len(start) - 1)
        options = {"maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "ftol": 1e-13, "gtol": 1e-6}
        result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        weights = _unpack(result.x)
        if weights.gpa_std**2 < _NO_NOISE * applicants.gpa.var():
            raise RuntimeError("the likelihood grows until GPA has no noise and is knowledge; set gpa_variance_prior")
        if not result.success:
            raise RuntimeError(f"the fit did not converge in {result.nit} iterations: {result.message}")
        return weights

    def _gpa_noise_prior(self, variance: float) -> tuple[float, float]:
        """Return the log density of the prior and its derivative with respect to the log standard deviation."""
        if self.gpa_variance_prior is None:
            return 0.0, 0.0
        shape, scale = self.gpa_variance_prior
        return -(shape + 1) * np.log(variance) - scale / variance, -2 * (shape + 1) + 2 * scale / variance

    def _weights(self) -> Weights:
        return Weights(self.gpa_std_, {name: row.to_numpy() for name, row in self.weights_.iterrows()})


def _applicants(attributes: pd.DataFrame, gpa, lsat) -> Applicants:
    """Return the observed data as arrays, with LSAT rounded, since a Poisson count is whole."""
    design = np.column_stack([np.ones(len(attributes)), attributes.to_numpy(dtype=float)])
    return Applicants(design, np.asarray(gpa, dtype=float), np.asarray(lsat, dtype=float).round())


def _unpack(parameters: np.ndarray) -> Weights:
    of_gpa, of_lsat = np.split(parameters[1:], 2)
    return Weights(float(np.exp(parameters[0])), {"gpa": of_gpa, "lsat": of_lsat})


def _regressions(applicants: Applicants) -> np.ndarray:
    """Return initial parameters: each quantity regressed on the design, a quarter of the residual due to knowledge."""
    equations, spreads = [], []
    for target in (applicants.gpa, np.log(np.maximum(applicants.lsat, 0.5))):
        base = np.linalg.lstsq(applicants.design, target)[0]
        spreads.append(np.std(target - applicants.design @ base))
        equations += [*base, spreads[-1] / 2]
    return np.array([np.log(spreads[0] * np.sqrt(0.75)), *equations])


def _explained_change(weights, before, after, knowledge) -> tuple[np.ndarray, np.ndarray]:
    """Return how much GPA and LSAT change with the attributes when knowledge and noise stay the same."""
    gpa_change = weights.predictor("gpa", after.design, knowledge) - weights.predictor("gpa", before.design, knowledge)
    rate, new_rate = (np.exp(weights.predictor("lsat", its.design, knowledge)) for its in (before, after))
    # Midpoint of the count's step of the distribution function, kept off 0 and 1, where the inverse is not finite.
    rank = poisson.cdf(before.lsat, rate) - poisson.pmf(before.lsat, rate) / 2
    rank = np.clip(rank, 1e-12, 1 - 1e-12)
    return gpa_change, poisson.ppf(rank, new_rate) - poisson.ppf(rank, rate)


def _redraw(weights, applicants, knowledge, rng) -> dict[str, np.ndarray]:
    for_knowledge, for_gpa, for_lsat = rng.uniform(size=(3, len(applicants.design)))
    drawn = knowledge.sample(for_knowledge)
    return {
        "gpa": norm.ppf(for_gpa, weights.predictor("gpa", applicants.design, drawn), weights.gpa_std),
        "lsat": poisson.ppf(for_lsat, np.exp(weights.predictor("lsat", applicants.design, drawn))),
    }
