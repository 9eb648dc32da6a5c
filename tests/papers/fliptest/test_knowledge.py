import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import norm, poisson

from fairlab.papers.fliptest.knowledge import Applicants, Weights, infer, likelihood_scores

DESIGN = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
GPA, LSAT, FYA = np.array([3.1, 2.2, 4.0]), np.array([40.0, 25.0, 0.0]), np.array([0.3, -1.0, 2.0])
EQUATIONS = {
    "gpa": np.array([3.3, -0.4, -0.1, 0.25]),
    "lsat": np.array([3.6, -0.2, 0.05, 0.15]),
    "fya": np.array([0.2, -1.0, 0.1, 0.4]),
}


def setup(with_fya, gpa_std=0.3):
    names = ["gpa", "lsat", "fya"] if with_fya else ["gpa", "lsat"]
    weights = Weights(gpa_std, {name: EQUATIONS[name] for name in names})
    return weights, Applicants(DESIGN, GPA, LSAT, FYA if with_fya else None)


def joint(k, row, gpa_std, with_fya):
    """Density of knowledge and all observations of one row, written out from the model."""
    predictor = {name: DESIGN[row] @ w[:3] + w[3] * k for name, w in EQUATIONS.items()}
    density = norm.pdf(k) * norm.pdf(GPA[row], predictor["gpa"], gpa_std)
    density *= poisson.pmf(LSAT[row], np.exp(predictor["lsat"]))
    return density * norm.pdf(FYA[row], predictor["fya"], 1) if with_fya else density


@pytest.mark.parametrize("with_fya", [False, True])
@pytest.mark.parametrize("gpa_std", [1.0, 0.3, 0.01])
def test_posterior_against_adaptive_integration(with_fya, gpa_std):
    weights, applicants = setup(with_fya, gpa_std)
    knowledge = infer(weights, applicants, n_nodes=40)
    for row in range(3):
        peak = knowledge.mean[row]
        near = (peak - 12 * knowledge.std[row], peak + 12 * knowledge.std[row])

        def moment(power, row=row, near=near):
            return quad(lambda k: k**power * joint(k, row, gpa_std, with_fya), *near, epsabs=0, epsrel=1e-11)[0]

        mass, mean = moment(0), moment(1) / moment(0)
        assert np.isclose(knowledge.log_likelihood[row], np.log(mass), rtol=1e-9)
        assert np.isclose(peak, mean, rtol=1e-7)
        assert np.isclose(knowledge.std[row], np.sqrt(moment(2) / mass - mean**2), rtol=1e-5)


def test_more_nodes_change_nothing():
    weights, applicants = setup(True)
    coarse, fine = (infer(weights, applicants, n_nodes=n) for n in (20, 80))
    assert np.allclose(coarse.log_likelihood, fine.log_likelihood, rtol=0, atol=1e-9)
    assert np.allclose(coarse.mean, fine.mean, rtol=0, atol=1e-8)


@pytest.mark.parametrize("with_fya", [False, True])
def test_scores_are_the_gradient_of_the_log_likelihood(with_fya):
    weights, applicants = setup(with_fya)

    def log_likelihood(parameters):
        equations = dict(zip(weights.equations, np.split(parameters[1:], len(weights.equations)), strict=True))
        return infer(Weights(np.exp(parameters[0]), equations), applicants, n_nodes=40).log_likelihood

    here = np.concatenate([[np.log(weights.gpa_std)], *weights.equations.values()])
    numerical = approx_fprime(here, log_likelihood, 1e-7)
    analytic = likelihood_scores(weights, applicants, infer(weights, applicants, n_nodes=40))
    assert np.allclose(analytic, numerical, rtol=1e-4, atol=1e-4)


def test_probabilities_sum_to_one_and_samples_follow_them():
    weights, applicants = setup(False)
    knowledge = infer(weights, applicants, n_nodes=20)
    assert np.allclose(knowledge.probability.sum(axis=1), 1)
    uniform = (np.arange(2000) + 0.5) / 2000
    draws = np.array([knowledge.sample(np.full(3, u)) for u in uniform])
    assert np.allclose(draws.mean(axis=0), knowledge.mean, atol=1e-3)
    assert np.allclose(draws.std(axis=0), knowledge.std, atol=1e-2)
    assert knowledge.to_frame().columns.tolist() == ["mean", "std"]
