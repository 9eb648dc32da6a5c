import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import norm, poisson

from fairlab.papers.fliptest.counterfactual import Applicants, KnowledgeModel, Weights, infer, likelihood_scores

TRUE = pd.DataFrame(
    [[3.3, -0.4, -0.1, 0.3], [3.6, -0.25, 0.05, 0.3]],
    index=["gpa", "lsat"],
    columns=["intercept", "black", "male", "knowledge"],
)
GPA_STD = 0.25


def simulate(n, seed=0):
    """Draw applicants from the model with the weights above."""
    rng = np.random.default_rng(seed)
    attributes = pd.DataFrame({"black": rng.integers(0, 2, n), "male": rng.integers(0, 2, n)}, index=np.arange(n) + 7)
    predictor = np.column_stack([np.ones(n), attributes, rng.normal(size=n)]) @ TRUE.T.to_numpy()
    gpa = rng.normal(predictor[:, 0], GPA_STD)
    return attributes, {"gpa": gpa, "lsat": rng.poisson(np.exp(predictor[:, 1]))}


ATTRIBUTES, OBSERVED = simulate(4000)
WHITE = ATTRIBUTES.assign(black=0)


@pytest.fixture(scope="module")
def fitted():
    return KnowledgeModel(gpa_variance_prior=None, random_state=0).fit(ATTRIBUTES, **OBSERVED)


def test_recovers_known_weights_within_standard_errors(fitted):
    deviation = (fitted.weights_ - TRUE) / fitted.standard_error_
    assert deviation.index.tolist() == ["gpa", "lsat"]
    assert deviation.abs().max(axis=None) < 3.5
    assert 0.6 < np.sqrt((deviation**2).mean(axis=None)) < 1.5
    assert np.isclose(fitted.gpa_std_, GPA_STD, rtol=0.05)


def test_the_prior_matters_little_where_the_data_speak(fitted):
    with_prior = KnowledgeModel().fit(ATTRIBUTES, **OBSERVED)
    assert ((with_prior.weights_ - fitted.weights_) / fitted.standard_error_).abs().max(axis=None) < 1
    assert with_prior.log_likelihood_ < fitted.log_likelihood_


def test_the_fit_is_a_maximum(fitted):
    for name in TRUE.columns:
        for step in (-1e-2, 1e-2):
            moved = KnowledgeModel()
            moved.gpa_std_ = fitted.gpa_std_
            moved.weights_ = fitted.weights_.copy()
            moved.weights_.loc["lsat", name] += step
            assert moved.posterior(ATTRIBUTES, **OBSERVED).log_likelihood.sum() < fitted.log_likelihood_


def test_nodes_do_not_matter(fitted):
    fine = KnowledgeModel(gpa_variance_prior=None, n_nodes=60).fit(ATTRIBUTES, **OBSERVED)
    assert np.allclose(fine.weights_, fitted.weights_, atol=1e-4)


def test_knowledge_raises_gpa_even_where_it_lowers_lsat():
    lsat = 80 - OBSERVED["lsat"].clip(max=80)
    model = KnowledgeModel().fit(ATTRIBUTES, gpa=OBSERVED["gpa"], lsat=lsat)
    assert model.weights_.loc["gpa", "knowledge"] > 0 > model.weights_.loc["lsat", "knowledge"]


def test_unchanged_attributes_give_back_what_was_observed(fitted):
    lsat = OBSERVED["lsat"] + np.resize([0, 0.3, -0.3], len(OBSERVED["lsat"]))
    lsat = lsat.clip(min=0)
    same = fitted.counterfactual(ATTRIBUTES, ATTRIBUTES, gpa=OBSERVED["gpa"], lsat=lsat)
    assert np.allclose(same["gpa"], OBSERVED["gpa"])
    assert np.allclose(same["lsat"], lsat)
    assert same.index.equals(ATTRIBUTES.index)


def test_kept_noise_moves_gpa_by_the_weight_and_lsat_by_its_rate(fitted):
    black = ATTRIBUTES["black"] == 1
    switched = fitted.counterfactual(ATTRIBUTES, WHITE, **OBSERVED)
    gpa_weight, lsat_weight = fitted.weights_["black"]
    assert np.allclose((switched["gpa"] - OBSERVED["gpa"])[black], -gpa_weight)
    assert np.allclose(switched["lsat"][~black], OBSERVED["lsat"][~black])
    assert (switched["lsat"] >= OBSERVED["lsat"]).all()
    ratio = switched["lsat"][black].sum() / OBSERVED["lsat"][black].sum()
    assert np.isclose(ratio, np.exp(-lsat_weight), rtol=0.02)


def test_redrawn_applicants_look_like_observed_ones(fitted):
    redrawn = fitted.counterfactual(ATTRIBUTES, ATTRIBUTES, **OBSERVED, noise="redraw")
    for name in ("gpa", "lsat"):
        assert np.isclose(redrawn[name].mean(), OBSERVED[name].mean(), rtol=0.02)
        assert np.isclose(redrawn[name].std(), OBSERVED[name].std(), rtol=0.05)
    correlation = np.corrcoef(redrawn["gpa"], redrawn["lsat"])[0, 1]
    assert np.isclose(correlation, np.corrcoef(OBSERVED["gpa"], OBSERVED["lsat"])[0, 1], atol=0.04)


def test_redraws_share_their_noise(fitted):
    before, after = (
        fitted.counterfactual(ATTRIBUTES, switched, **OBSERVED, noise="redraw") for switched in (ATTRIBUTES, WHITE)
    )
    change = (after["gpa"] - before["gpa"])[ATTRIBUTES["black"] == 1]
    assert np.allclose(change, -fitted.weights_.loc["gpa", "black"])
    assert (after["lsat"] >= before["lsat"]).all()
    other = KnowledgeModel(gpa_variance_prior=None, random_state=1).fit(ATTRIBUTES, **OBSERVED)
    assert not other.counterfactual(ATTRIBUTES, WHITE, **OBSERVED, noise="redraw").equals(after)


def narrow_scores():
    """Draw scores that vary less than Poisson counts and go with GPA, as the real ones do."""
    rng = np.random.default_rng(0)
    gpa = rng.normal(3.2, 0.4, 2000)
    attributes = pd.DataFrame({"black": rng.integers(0, 2, 2000)})
    return attributes, gpa, (37 + 4 * (gpa - 3.2) + rng.normal(0, 4, 2000)).round()


def test_a_likelihood_without_maximum_is_an_error_and_the_prior_helps():
    attributes, gpa, lsat = narrow_scores()
    with pytest.raises(RuntimeError, match="until GPA has no noise and is knowledge; set gpa_variance_prior"):
        KnowledgeModel(gpa_variance_prior=None).fit(attributes, gpa=gpa, lsat=lsat)
    assert KnowledgeModel().fit(attributes, gpa=gpa, lsat=lsat).gpa_std_ > 0.05


def test_no_convergence_is_an_error():
    with pytest.raises(RuntimeError, match="did not converge in 2 iterations"):
        KnowledgeModel(max_iter=2).fit(ATTRIBUTES, **OBSERVED)


DESIGN = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
GPA, LSAT = np.array([3.1, 2.2, 4.0]), np.array([40.0, 25.0, 0.0])
EQUATIONS = {
    "gpa": np.array([3.3, -0.4, -0.1, 0.25]),
    "lsat": np.array([3.6, -0.2, 0.05, 0.15]),
}


def spread(knowledge):
    """Posterior standard deviation of each row."""
    return np.sqrt(knowledge.expect((knowledge.values - knowledge.mean[:, None]) ** 2))


def setup(gpa_std=0.3):
    return Weights(gpa_std, EQUATIONS), Applicants(DESIGN, GPA, LSAT)


def joint(k, row, gpa_std):
    """Density of knowledge and all observations of one row, written out from the model."""
    predictor = {name: DESIGN[row] @ w[:3] + w[3] * k for name, w in EQUATIONS.items()}
    density = norm.pdf(k) * norm.pdf(GPA[row], predictor["gpa"], gpa_std)
    return density * poisson.pmf(LSAT[row], np.exp(predictor["lsat"]))


@pytest.mark.parametrize("gpa_std", [1.0, 0.3, 0.01])
def test_posterior_against_adaptive_integration(gpa_std):
    weights, applicants = setup(gpa_std)
    knowledge = infer(weights, applicants, n_nodes=40)
    for row, std in enumerate(spread(knowledge)):
        peak = knowledge.mean[row]
        near = (peak - 12 * std, peak + 12 * std)

        def moment(power, row=row, near=near):
            return quad(lambda k: k**power * joint(k, row, gpa_std), *near, epsabs=0, epsrel=1e-11)[0]

        mass, mean = moment(0), moment(1) / moment(0)
        assert np.isclose(knowledge.log_likelihood[row], np.log(mass), rtol=1e-9)
        assert np.isclose(peak, mean, rtol=1e-7)
        assert np.isclose(std, np.sqrt(moment(2) / mass - mean**2), rtol=1e-5)


def test_more_nodes_change_nothing():
    weights, applicants = setup()
    coarse, fine = (infer(weights, applicants, n_nodes=n) for n in (20, 80))
    assert np.allclose(coarse.log_likelihood, fine.log_likelihood, rtol=0, atol=1e-9)
    assert np.allclose(coarse.mean, fine.mean, rtol=0, atol=1e-8)


def test_scores_are_the_gradient_of_the_log_likelihood():
    weights, applicants = setup()

    def log_likelihood(parameters):
        equations = dict(zip(weights.equations, np.split(parameters[1:], len(weights.equations)), strict=True))
        return infer(Weights(np.exp(parameters[0]), equations), applicants, n_nodes=40).log_likelihood

    here = np.concatenate([[np.log(weights.gpa_std)], *weights.equations.values()])
    numerical = approx_fprime(here, log_likelihood, 1e-7)
    analytic = likelihood_scores(weights, applicants, infer(weights, applicants, n_nodes=40))
    assert np.allclose(analytic, numerical, rtol=1e-4, atol=1e-4)


def test_probabilities_sum_to_one_and_samples_follow_them():
    weights, applicants = setup()
    knowledge = infer(weights, applicants, n_nodes=20)
    assert np.allclose(knowledge.probability.sum(axis=1), 1)
    uniform = (np.arange(2000) + 0.5) / 2000
    draws = np.array([knowledge.sample(np.full(3, u)) for u in uniform])
    assert np.allclose(draws.mean(axis=0), knowledge.mean, atol=1e-3)
    assert np.allclose(draws.std(axis=0), spread(knowledge), atol=1e-2)


@pytest.mark.skipif("FAIRLAB_DATA_MIRROR" not in os.environ, reason="needs the real law school data")
def test_law_school():
    table = pd.read_csv(Path(os.environ["FAIRLAB_DATA_MIRROR"]) / "law" / "law_data.csv")
    table = table[table["race"].isin(["Black", "White"])]
    attributes = pd.DataFrame({"black": table["race"] == "Black", "male": table["sex"] == 2})
    observed = {"gpa": table["UGPA"], "lsat": table["LSAT"]}
    model = KnowledgeModel().fit(attributes, **observed)
    assert (model.weights_["black"] < 0).all()
    assert (model.weights_["knowledge"] > 0).all()
    with pytest.raises(RuntimeError, match="no noise"):
        KnowledgeModel(gpa_variance_prior=None).fit(attributes, **observed)
