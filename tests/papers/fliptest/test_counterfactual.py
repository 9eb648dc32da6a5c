import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fairlab.papers.fliptest.counterfactual import KnowledgeModel

TRUE = pd.DataFrame(
    [[3.3, -0.4, -0.1, 0.3], [3.6, -0.25, 0.05, 0.3], [0.2, -1.0, 0.1, 0.5]],
    index=["gpa", "lsat", "fya"],
    columns=["intercept", "black", "male", "knowledge"],
)
GPA_STD = 0.25


def simulate(n, seed=0):
    """Draw applicants from the model with the weights above."""
    rng = np.random.default_rng(seed)
    attributes = pd.DataFrame({"black": rng.integers(0, 2, n), "male": rng.integers(0, 2, n)}, index=np.arange(n) + 7)
    predictor = np.column_stack([np.ones(n), attributes, rng.normal(size=n)]) @ TRUE.T.to_numpy()
    return attributes, {
        "gpa": rng.normal(predictor[:, 0], GPA_STD),
        "lsat": rng.poisson(np.exp(predictor[:, 1])),
        "fya": rng.normal(predictor[:, 2]),
    }


ATTRIBUTES, SCORES = simulate(4000)
OBSERVED = {"gpa": SCORES["gpa"], "lsat": SCORES["lsat"]}
WHITE = ATTRIBUTES.assign(black=0)


@pytest.fixture(scope="module")
def fitted():
    return KnowledgeModel(gpa_variance_prior=None, random_state=0).fit(ATTRIBUTES, **OBSERVED)


@pytest.mark.parametrize("names", [["gpa", "lsat"], ["gpa", "lsat", "fya"]])
def test_recovers_known_weights_within_standard_errors(names):
    model = KnowledgeModel(gpa_variance_prior=None).fit(ATTRIBUTES, **{name: SCORES[name] for name in names})
    deviation = (model.weights_ - TRUE.loc[names]) / model.standard_error_
    assert deviation.index.tolist() == names
    assert deviation.abs().max(axis=None) < 3.5
    assert 0.6 < np.sqrt((deviation**2).mean(axis=None)) < 1.5
    assert np.isclose(model.gpa_std_, GPA_STD, rtol=0.05)


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
    lsat = 80 - SCORES["lsat"].clip(max=80)
    model = KnowledgeModel().fit(ATTRIBUTES, gpa=SCORES["gpa"], lsat=lsat)
    assert model.weights_.loc["gpa", "knowledge"] > 0 > model.weights_.loc["lsat", "knowledge"]


def test_unchanged_attributes_give_back_what_was_observed(fitted):
    lsat = SCORES["lsat"] + np.resize([0, 0.3, -0.3], len(SCORES["lsat"]))
    lsat = lsat.clip(min=0)
    same = fitted.counterfactual(ATTRIBUTES, ATTRIBUTES, gpa=SCORES["gpa"], lsat=lsat)
    assert np.allclose(same["gpa"], SCORES["gpa"])
    assert np.allclose(same["lsat"], lsat)
    assert same.index.equals(ATTRIBUTES.index)


def test_kept_noise_moves_gpa_by_the_weight_and_lsat_by_its_rate(fitted):
    black = ATTRIBUTES["black"] == 1
    switched = fitted.counterfactual(ATTRIBUTES, WHITE, **OBSERVED)
    gpa_weight, lsat_weight = fitted.weights_["black"]
    assert np.allclose((switched["gpa"] - SCORES["gpa"])[black], -gpa_weight)
    assert np.allclose(switched["lsat"][~black], SCORES["lsat"][~black])
    assert (switched["lsat"] >= SCORES["lsat"]).all()
    ratio = switched["lsat"][black].sum() / SCORES["lsat"][black].sum()
    assert np.isclose(ratio, np.exp(-lsat_weight), rtol=0.02)


def test_redrawn_applicants_look_like_observed_ones(fitted):
    redrawn = fitted.counterfactual(ATTRIBUTES, ATTRIBUTES, **OBSERVED, noise="redraw")
    for name in ("gpa", "lsat"):
        assert np.isclose(redrawn[name].mean(), OBSERVED[name].mean(), rtol=0.02)
        assert np.isclose(redrawn[name].std(), OBSERVED[name].std(), rtol=0.05)
    correlation = np.corrcoef(redrawn["gpa"], redrawn["lsat"])[0, 1]
    assert np.isclose(correlation, np.corrcoef(OBSERVED["gpa"], OBSERVED["lsat"])[0, 1], atol=0.04)


def test_a_model_learnt_with_fya_infers_knowledge_without_it():
    model = KnowledgeModel().fit(ATTRIBUTES, **SCORES)
    without = KnowledgeModel()
    without.gpa_std_, without.weights_ = model.gpa_std_, model.weights_.drop("fya")
    assert np.array_equal(model.posterior(ATTRIBUTES, **OBSERVED).mean, without.posterior(ATTRIBUTES, **OBSERVED).mean)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpa": SCORES["gpa"][:5]}, "gpa has 5 rows, attributes has 4000"),
        ({"gpa": np.full(4000, np.nan)}, "gpa: column 'x0' holds nan"),
        ({"gpa": np.full(4000, 3.0)}, "gpa: constant columns"),
        ({"lsat": -SCORES["lsat"]}, "lsat: expected scores of zero or more, found -"),
        ({"attributes": ATTRIBUTES.assign(white=1 - ATTRIBUTES["black"])}, "black, male, white are collinear"),
        ({"attributes": ATTRIBUTES.assign(black=1)}, "attributes: constant columns: black"),
    ],
)
def test_bad_input(change, message):
    arguments = {"attributes": ATTRIBUTES, **OBSERVED} | change
    with pytest.raises(ValueError, match=message):
        KnowledgeModel().fit(arguments.pop("attributes"), **arguments)


def test_bad_input_of_counterfactuals(fitted):
    with pytest.raises(ValueError, match="expected 'keep' or 'redraw', found 'new'"):
        fitted.counterfactual(ATTRIBUTES, WHITE, **OBSERVED, noise="new")
    with pytest.raises(ValueError, match="only in switched: green"):
        fitted.counterfactual(ATTRIBUTES, WHITE.rename(columns={"male": "green"}), **OBSERVED)
    with pytest.raises(ValueError, match="gpa has 4000 rows, switched has 9"):
        fitted.counterfactual(ATTRIBUTES, WHITE[:9], **OBSERVED)
    with pytest.raises(NotFittedError):
        KnowledgeModel().posterior(ATTRIBUTES, **OBSERVED)
    with pytest.raises(ValueError, match="5 rows are too few for 9 parameters"):
        KnowledgeModel().fit(ATTRIBUTES[:5], gpa=SCORES["gpa"][:5], lsat=SCORES["lsat"][:5])


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
