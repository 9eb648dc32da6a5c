import numpy as np
import pandas as pd
import pytest
from plain_data import is_plain

from fairlab import load
from fairlab.fair_metric import FairMetric
from fairlab.papers.individual_fairness import calibration, trials
from fairlab.papers.individual_fairness.audits import ADULT_AUDIT, COMPAS_AUDIT, audit_on_test_part
from fairlab.papers.individual_fairness.learners import METHODS, PUBLISHED_METRIC, classifiers, methods_of, trained
from fairlab.papers.individual_fairness.splits import ADULT_SEEDS, adult_split
from fairlab.seeds import Trial

EFFORT = {"network_steps": 5, "sensr_steps": 3, "reductions_iterations": 2}
FIRST = Trial("study", 0)


@pytest.fixture(scope="module")
def adult():
    return load("adult-individual", surrogate=True)


@pytest.fixture(scope="module")
def adult_models(adult):
    return trials.train(FIRST, study="adult", dataset=adult, **EFFORT)


@pytest.fixture(scope="module")
def few(adult_models):
    """Two of the methods, which is enough to see that every one is audited."""
    return [{name: adult_models[name] for name in ("baseline", "sensr")}]


def test_training_takes_the_authors_seeds(adult, adult_models):
    data_seed, model_seed = ADULT_SEEDS[0]
    assert tuple(adult_models) == METHODS
    assert is_plain(list(adult_models.values()))
    network = methods_of("adult", model_seed, **EFFORT)["baseline"]
    expected = trained({"baseline": network}, adult_split(adult, data_seed))["baseline"]["network_"]
    np.testing.assert_array_equal(adult_models["baseline"]["network_"][0], expected[0])
    assert adult_models["sensr"]["directions_"].shape == (2, 39)


def test_the_root_of_the_run_changes_the_networks(compas):
    effort = EFFORT | {"reductions_iterations": 1}
    first, other = (
        trials.train(Trial("study", 1, root=root), study="compas", dataset=compas, **effort) for root in (0, 1)
    )
    assert tuple(first) == METHODS
    for name in ("baseline", "project", "sensr"):
        weights = [models[name]["network_"][0] for models in (first, other)]
        assert (weights[0] != weights[1]).any()


def test_balanced_reductions_are_balanced(compas, models):
    arrays = trials.train_balanced_reductions(FIRST, dataset=compas, max_iter=2)
    assert list(arrays) == ["reduction"]
    assert arrays["reduction"]["intercept_"][0] != models["reduction"]["intercept_"][0]


def test_audit_of_adult(adult, few):
    table = trials.audit_adult(FIRST, dataset=adult, models=few[0], all_steps=(1, 3))
    assert len(table) == 2 * 2 * 2
    split = adult_split(adult, ADULT_SEEDS[0][0])
    found = audit_on_test_part(classifiers(few[0])["sensr"], split, **ADULT_AUDIT, n_steps=3)
    row = table.set_index(["method", "n_steps", "test"]).loc["sensr", 3]
    assert row.loc["loss ratio", "lower_bound"] == found.loss_ratio.lower_bound
    assert row.loc["error-rate ratio", "lower_bound"] == found.error_rate_ratio.lower_bound
    assert (table["n"] + table["n_dropped"] == 9045).all()

    solved = trials.audit_solvers(FIRST, dataset=adult, models=few[0], solvers=("published", "liblinear"), n_steps=3)
    assert solved.shape == (2, 2)
    assert solved.loc["sensr", "published"] == found.loss_ratio.lower_bound
    assert solved.loc["sensr", "liblinear"] != found.loss_ratio.lower_bound


def test_reductions_are_audited_by_the_setting_of_their_split(adult, adult_models):
    tables = [
        trials.audit_mixed_reductions(Trial("study", k), dataset=adult, models=adult_models, n_steps=2) for k in (4, 5)
    ]
    assert [(table["n"] + table["n_dropped"]).tolist() for table in tables] == [[9045] * 2, [2400] * 2]
    split = adult_split(adult, ADULT_SEEDS[4][0])
    model = classifiers({"reduction": adult_models["reduction"]})["reduction"]
    found = audit_on_test_part(model, split, **ADULT_AUDIT | {"regularizer": 35.0}, n_steps=2)
    assert tables[0]["lower_bound"].tolist() == [found.loss_ratio.lower_bound, found.error_rate_ratio.lower_bound]


def test_stopping_times(adult, few):
    options = {"dataset": adult, "models": {"baseline": few[0]["baseline"]}}
    sizes = trials.by_step_size(FIRST, **options, step_sizes=(0.001, 0.01), n_steps={"baseline": 4})
    assert sizes["time"].tolist() == pytest.approx([0.004, 0.04])
    flow = trials.along_the_flow(FIRST, **options, n_steps=4, at=[2, 4])
    assert flow["time"].tolist() == pytest.approx([0.02, 0.04])
    # The last point of the flow is the attack with as many steps of the same size.
    assert flow["lower_bound"].iloc[1] == pytest.approx(sizes["lower_bound"].iloc[1], rel=1e-6)
    split = adult_split(adult, ADULT_SEEDS[0][0])
    metric = FairMetric.learned(split.X_test, split.sensitive_test, **PUBLISHED_METRIC)
    found = audit_on_test_part(classifiers(few[0])["baseline"], split, metric=metric, **ADULT_AUDIT, n_steps=2)
    assert flow["lower_bound"].iloc[0] == pytest.approx(found.loss_ratio.lower_bound, rel=1e-6)


def test_training_longer_is_audited(adult):
    table = trials.audit_training(FIRST, dataset=adult, settings=[(1e-3, 2), (1e-2, 40)], n_steps=2)
    assert table[["learning_rate", "training_steps"]].to_numpy().tolist() == [[1e-3, 2], [1e-2, 40]]
    assert table["bal_acc"].iloc[1] > table["bal_acc"].iloc[0]
    assert (table["loss_ratio"] > 0.99).all()


def test_audit_of_compas(compas, models, split):
    found = {n: trials.audit_compas(FIRST, dataset=compas, models=models, n_points=n, n_steps=3) for n in (50, None)}
    assert found[50].index.tolist() == list(METHODS)
    settings = COMPAS_AUDIT | {"n_points": None, "n_steps": 3}
    whole = audit_on_test_part(classifiers(models)["reduction"], split, **settings)
    assert found[None].loc["reduction", "t_n"] == whole.loss_ratio.lower_bound
    assert found[None].loc["reduction", "error-rate t_n"] == whole.error_rate_ratio.lower_bound
    assert found[50].loc["reduction", "t_n"] != found[None].loc["reduction", "t_n"]
    assert found[50]["bal_acc"].equals(found[None]["bal_acc"])  # always of the whole test part


def test_audits_of_a_population_keep_their_level():
    attacked = calibration.attacked_population(load("individual-simulation", n_points=2000, seed=5))
    population = {weight: attacked[weight] for weight in (-0.8, -4.0)}
    table = trials.audit_population(FIRST, population=population, n_repetitions=60)
    assert len(table) == 2 * len(calibration.SIZES) * 2
    large = table[table["n"] == 1600].set_index(["weight", "test"])
    assert (large["type I error"] < 0.25).all()
    assert (large["coverage"] > 0.8).all()
    assert large.loc[(-4.0, "loss ratio"), "rejected at 5/4"] == 1
    assert large.loc[(-0.8, "loss ratio"), "rejected at 5/4"] == 0
    pd.testing.assert_frame_equal(table, trials.audit_population(FIRST, population=population, n_repetitions=60))


def test_learned_metrics(monkeypatch):
    monkeypatch.setattr(calibration, "LEARNED_SIZES", (60, 400))
    found = trials.audit_with_learned_metrics(FIRST, n_population=3000, n_learned=8)
    audits = found["audits"].set_index(["metric", "test", "n"])
    assert found["truth"].keys() == set(calibration.TESTS)
    assert all(ratio > 1 for ratio in found["truth"].values())
    angle = audits["median angle (degrees)"].xs("loss ratio", level="test")
    assert (angle["known"] == 0).all()
    for way in ("learned from other people", "learned from the audited"):
        assert angle[way, 60] > angle[way, 400] > 0
    assert (audits["mean standard error"] > 0).all()
