"""The causal model behind the law students' counterfactuals, and logistic regression with equal rates."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import norm, poisson
from sklearn.linear_model import LogisticRegression

from fairlab.papers.fliptest.counterfactual import Applicants, KnowledgeModel, Weights, infer, likelihood_scores
from fairlab.papers.fliptest.zafar import EqualRatesLogistic

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


def test_unchanged_attributes_give_back_what_was_observed(fitted):
    lsat = (OBSERVED["lsat"] + np.resize([0, 0.3, -0.3], len(OBSERVED["lsat"]))).clip(min=0)
    same = fitted.counterfactual(ATTRIBUTES, ATTRIBUTES, gpa=OBSERVED["gpa"], lsat=lsat)
    expected = pd.DataFrame({"gpa": OBSERVED["gpa"], "lsat": lsat}, index=ATTRIBUTES.index)
    pd.testing.assert_frame_equal(same, expected, check_like=True)


def test_kept_noise_moves_gpa_by_the_weight_and_lsat_by_its_rate(fitted):
    black = ATTRIBUTES["black"] == 1
    switched = fitted.counterfactual(ATTRIBUTES, WHITE, **OBSERVED)
    gpa_weight, lsat_weight = fitted.weights_["black"]
    assert np.allclose((switched["gpa"] - OBSERVED["gpa"])[black], -gpa_weight)
    assert np.allclose(switched["lsat"][~black], OBSERVED["lsat"][~black])
    assert (switched["lsat"] >= OBSERVED["lsat"]).all()
    ratio = switched["lsat"][black].sum() / OBSERVED["lsat"][black].sum()
    assert np.isclose(ratio, np.exp(-lsat_weight), rtol=0.02)


def test_redraws_share_their_noise(fitted):
    before, after = (
        fitted.counterfactual(ATTRIBUTES, switched, **OBSERVED, noise="redraw") for switched in (ATTRIBUTES, WHITE)
    )
    change = (after["gpa"] - before["gpa"])[ATTRIBUTES["black"] == 1]
    assert np.allclose(change, -fitted.weights_.loc["gpa", "black"])
    assert (after["lsat"] >= before["lsat"]).all()
    other = KnowledgeModel(gpa_variance_prior=None, random_state=1).fit(ATTRIBUTES, **OBSERVED)
    assert not other.counterfactual(ATTRIBUTES, WHITE, **OBSERVED, noise="redraw").equals(after)


def test_a_likelihood_without_maximum_is_an_error_and_the_prior_helps():
    """Scores vary less than Poisson counts and go with GPA, as the real ones do."""
    rng = np.random.default_rng(0)
    gpa, attributes = rng.normal(3.2, 0.4, 2000), pd.DataFrame({"black": rng.integers(0, 2, 2000)})
    lsat = (37 + 4 * (gpa - 3.2) + rng.normal(0, 4, 2000)).round()
    with pytest.raises(RuntimeError, match="until GPA has no noise and is knowledge; set gpa_variance_prior"):
        KnowledgeModel(gpa_variance_prior=None).fit(attributes, gpa=gpa, lsat=lsat)
    assert KnowledgeModel().fit(attributes, gpa=gpa, lsat=lsat).gpa_std_ > 0.05


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


def draw(n, seed=0):
    """Draw two features that depend on the group, and labels that depend on the first one."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], n)
    X = np.column_stack([rng.normal(5 - 2 * group, 2), rng.normal(10 + 8 * group, 5)])
    y = (rng.uniform(size=2 * n) < 1 / (1 + np.exp(4 - X[:, 0]))).astype(int)
    return X, y, group


X, Y, GROUP = draw(500)


def covariance(model, X, group):
    return np.cov(group, model.decision_function(X), bias=True)[0, 1]


@pytest.mark.parametrize("bound", [0.0, 0.01, 0.1, 0.3])
def test_the_bound_holds_and_binds(bound):
    model = EqualRatesLogistic(bound).fit(X, Y, sensitive_features=GROUP)
    assert np.isclose(abs(covariance(model, X, GROUP)), bound, atol=1e-9)
    assert np.isclose(model.covariance_, covariance(model, X, GROUP), atol=1e-9)


@pytest.mark.parametrize("bound", [10.0, np.inf])
def test_a_loose_bound_is_plain_logistic_regression(bound):
    model = EqualRatesLogistic(bound).fit(X, Y, sensitive_features=GROUP)
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, Y)
    assert np.allclose(model.coef_, plain.coef_[0], rtol=1e-4)
    assert np.isclose(model.intercept_, plain.intercept_[0], rtol=1e-4)
    assert (model.predict(X) == plain.predict(X)).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.5]))
def test_optimality_conditions(seed, bound):
    X, y, group = draw(100, seed)
    model = EqualRatesLogistic(bound).fit(X, y, sensitive_features=group)
    design = np.column_stack([X, np.ones(len(X))])
    gradient = design.T @ (1 / (1 + np.exp(-model.decision_function(X))) - y) / len(y)
    normal = (group - group.mean()) @ design / len(y)
    multiplier = -gradient @ normal / (normal @ normal)
    # The gradient is a multiple of the constraint's normal, pointing outwards, and nothing where the bound is loose.
    assert np.allclose(gradient + multiplier * normal, 0, atol=1e-5)
    assert abs(model.covariance_) <= bound + 1e-9
    if bound and abs(model.covariance_) < bound - 1e-6:
        assert np.isclose(multiplier, 0, atol=1e-5)
    elif bound:
        assert multiplier * model.covariance_ >= -1e-6


def test_swapping_the_groups_swaps_the_covariance():
    first = EqualRatesLogistic(0.1).fit(X, Y, sensitive_features=GROUP)
    second = EqualRatesLogistic(0.1).fit(X, Y, sensitive_features=np.where(GROUP == 0, "women", "men"))
    assert second.groups_.tolist() == ["men", "women"]
    assert np.isclose(first.covariance_, -second.covariance_)
    assert np.allclose(first.coef_, second.coef_)


def test_no_optimum_is_an_error():
    separable = (X[:, 0] > 4).astype(int)
    with pytest.raises(RuntimeError, match="a hyperplane separates the classes"):
        EqualRatesLogistic(np.inf).fit(X, separable, sensitive_features=GROUP)


def lipton(n, seed):
    """Draw the hiring data of Lipton et al. in the order of FlipTest's authors."""
    rng = np.random.RandomState(seed)
    work = [rng.poisson(mean, n) - rng.normal(20, 0.2, n) for mean in (31, 25)]
    rng = np.random.RandomState(seed + 1)
    hair = [35 * rng.beta(2, b, n) for b in (7, 2)]
    hired = np.concatenate([rng.binomial(1, 1 / (1 + np.exp(25.5 - 2.5 * w))) for w in work])
    return np.column_stack([np.concatenate(work), np.concatenate(hair)]), hired, np.repeat(["man", "woman"], n)


def test_on_the_hiring_data_hair_stands_in_for_gender():
    X, hired, gender = lipton(10_000, seed=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = EqualRatesLogistic().fit(X, hired, sensitive_features=gender)
    # The authors' weights are 1.4028 and 1.1688 against a threshold of 0.8684.
    assert np.allclose([*model.coef_, -model.intercept_], [1.4028, 1.1688, 0.8684], rtol=0.1)
    rates = pd.Series(model.predict(X)).groupby(gender).mean()
    assert np.allclose(rates[["man", "woman"]], [0.27, 0.30], atol=0.01)
    free = EqualRatesLogistic(np.inf).fit(X, hired, sensitive_features=gender)
    assert abs(free.coef_[1]) < 0.02 * free.coef_[0]
