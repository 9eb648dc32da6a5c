"""Splits as the authors draw them, training and audits of every split; `test_headline` audits the stored models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlab import load
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import audit
from fairlab.papers.individual_fairness import audits, stored, trials
from fairlab.papers.individual_fairness.audits import ADULT_AUDIT, COMPAS_AUDIT, audit_on_test_part
from fairlab.papers.individual_fairness.learners import METHODS, PUBLISHED_METRIC, classifiers, methods_of, trained
from fairlab.papers.individual_fairness.splits import (
    ADULT_SEEDS,
    COMPAS_SEEDS,
    Split,
    adult_split,
    compas_split,
)
from fairlab.seeds import Trial

FIRST = Trial("study", 0)
FEW = COMPAS_AUDIT | {"n_points": 40}
EFFORT = {"network_steps": 5, "sensr_steps": 3, "reductions_iterations": 2}


@pytest.fixture(scope="module")
def compas():
    return load("compas-individual", surrogate=True)


@pytest.fixture(scope="module")
def adult():
    return load("adult-individual", surrogate=True)


@pytest.fixture(scope="module")
def split(compas):
    return compas_split(compas, COMPAS_SEEDS[0][0])


@pytest.fixture(scope="module")
def models(compas):
    """What `train` returns for the first split of COMPAS."""
    return trials.train(FIRST, study="compas", dataset=compas, **EFFORT | {"network_steps": 200, "sensr_steps": 20})


@pytest.fixture(scope="module")
def baseline(models):
    return classifiers(models)["baseline"]


@pytest.fixture(scope="module")
def adult_models(adult):
    return trials.train(FIRST, study="adult", dataset=adult, **EFFORT)


def test_the_split_of_adult(adult):
    split = adult_split(adult, 98539)
    assert (split.X_train.shape, split.X_test.shape) == ((36177, 39), (9045, 39))
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    one_hot = list(split.X_train)[5:]
    groups = {"workclass": 7, "marital-status": 7, "occupation": 14, "relationship": 6}
    assert [name.split("_")[0] for name in one_hot] == [group for group, n in groups.items() for _ in range(n)]
    assert one_hot == sorted(one_hot, key=lambda name: (list(groups).index(name.split("_")[0]), name))
    np.testing.assert_allclose(split.X_train[numbers].agg(["mean", "var"]), [[0] * 5, [1] * 5], atol=1e-4)
    assert (split.X_test[one_hot].sum(axis=1) == 4).all()
    order = np.random.RandomState(98539).permutation(45222)
    truth = (adult.target == ">50K").to_numpy().astype(int)
    assert [*split.y_train, *split.y_test] == truth[order].tolist()


def test_the_split_of_compas(compas):
    split = compas_split(compas, 767)
    assert (split.X_train.shape, split.X_test.shape) == ((4222, 7), (1056, 7))
    ages = ["age_cat_25 - 45", "age_cat_Greater than 45", "age_cat_Less than 25"]
    assert list(split.X_train) == ["sex", "race", "priors_count", *ages, "c_charge_degree_F"]
    pd.testing.assert_frame_equal(split.X_test[["sex", "race"]], split.sensitive_test, check_dtype=False)
    assert abs(split.y_train.mean() - split.y_test.mean()) < 1e-3
    assert split.X_train["priors_count"].std(ddof=0) == pytest.approx(1)


def test_one_class_in_a_part_is_refused():
    table, both, one = pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([0, 1]), pd.Series([1, 1])
    with pytest.raises(ValueError, match="the test part has one class only: every label is 1"):
        Split(table, table, both, one, table, table)


def test_the_head_of_the_test_part_is_audited_within_its_own_metric(baseline, split):
    found = audit_on_test_part(baseline, split, **FEW, n_steps=4)
    metric = FairMetric.learned(split.X_test, split.sensitive_test, **PUBLISHED_METRIC)
    options = {"regularizer": 100, "step_size": 0.005, "n_steps": 4}
    expected = audit(baseline, metric, split.X_test[:40], split.y_test[:40], **options)
    np.testing.assert_array_equal(found.attack.X, expected.attack.X)
    assert found.loss_ratio.lower_bound == expected.loss_ratio.lower_bound
    whole = audit_on_test_part(baseline, split, metric=metric, **FEW | {"n_points": None}, n_steps=4).attack
    assert len(whole.loss) == len(split.X_test)
    np.testing.assert_allclose(whole.X[:40], found.attack.X, atol=1e-6)


def test_odds_by_hand():
    group, truth = [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 0, 0]
    predicted = [1, 0, 0, 0, 1, 1, 1, 0]  # true positive rates 1/2 and 1, false positive rates 0 and 1/2
    assert audits.average_odds_difference(truth, predicted, sensitive_features=group) == pytest.approx(-0.5)


def test_group_measures(baseline, split):
    measures = audits.group_fairness(baseline, split)
    predicted, truth = baseline.predict(split.X_test.to_numpy()), split.y_test.to_numpy()
    assert measures["bal_acc"] == pytest.approx(np.mean([(predicted[truth == k] == k).mean() for k in (0, 1)]))
    race = split.sensitive_test["race"]
    assert measures["aod_race"] == audits.average_odds_difference(truth, predicted, sensitive_features=race)


def test_rounded_losses_drop_those_the_model_is_sure_of(models, split):
    hidden, hidden_bias, *output = models["baseline"]["network_"]
    sure = models["baseline"] | {"network_": (hidden, hidden_bias, *(15 * part for part in output))}
    table = audits.rounding_table({"baseline": sure}, split, **FEW, n_steps=1).loc["baseline"]
    rounded = audit_on_test_part(classifiers({"baseline": sure})["baseline"], split, **FEW, n_steps=1).loss_ratio
    assert table["dropped"] == rounded.n_dropped > 0
    assert table["T_n, rounded"] == rounded.lower_bound != table["T_n, exact"]


def test_swaps_against_one_person_at_a_time(models, split, baseline):
    head = replace(split, X_test=split.X_test[:60], y_test=split.y_test[:60], sensitive_test=split.sensitive_test[:60])
    shares = audits.swap_shares([models], [head]).set_index(["method", "swapped"])["share"]
    assert (shares["project"] == 0).all()  # both axes lie in what it takes out
    people = head.X_test.to_numpy()
    twins = people.copy()
    twins[:, 1] = 1 - twins[:, 1]
    changed = [
        baseline.predict(one[None]) != baseline.predict(two[None]) for one, two in zip(people, twins, strict=True)
    ]
    assert shares["baseline", "race"] == pytest.approx(np.mean(changed))


def test_training_takes_the_authors_seeds(adult, adult_models):
    data_seed, model_seed = ADULT_SEEDS[0]
    assert tuple(adult_models) == METHODS
    network = methods_of("adult", model_seed, **EFFORT)["baseline"]
    expected = trained({"baseline": network}, adult_split(adult, data_seed))["baseline"]["network_"]
    np.testing.assert_array_equal(adult_models["baseline"]["network_"][0], expected[0])


def test_the_root_of_the_run_changes_the_networks(compas):
    effort = {"study": "compas", "dataset": compas, **EFFORT, "reductions_iterations": 1}
    first, other = (trials.train(Trial("study", 1, root=root), **effort) for root in (0, 1))
    for name in ("baseline", "project", "sensr"):
        assert (first[name]["network_"][0] != other[name]["network_"][0]).any()


def test_audit_of_adult(adult, adult_models):
    few = {name: adult_models[name] for name in ("baseline", "sensr")}
    table = trials.audit_adult(FIRST, dataset=adult, models=few, all_steps=(1, 3))
    split = adult_split(adult, ADULT_SEEDS[0][0])
    found = audit_on_test_part(classifiers(few)["sensr"], split, **ADULT_AUDIT, n_steps=3)
    bounds = table.set_index(["method", "n_steps", "test"])["lower_bound"]["sensr", 3].to_dict()
    tests = {"loss ratio": found.loss_ratio, "error-rate ratio": found.error_rate_ratio}
    assert bounds == {name: test.lower_bound for name, test in tests.items()}
    assert (table["n"] + table["n_dropped"] == 9045).all()


@pytest.mark.parametrize(("k", "n_people", "regularizer"), [(4, 9045, 35.0), (5, 2400, None)])
def test_reductions_are_audited_by_the_setting_of_their_split(adult, adult_models, k, n_people, regularizer):
    table = trials.audit_mixed_reductions(Trial("study", k), dataset=adult, models=adult_models, n_steps=2)
    assert (table["n"] + table["n_dropped"]).tolist() == [n_people] * 2
    if regularizer:
        split, model = adult_split(adult, ADULT_SEEDS[k][0]), classifiers(adult_models)["reduction"]
        found = audit_on_test_part(model, split, **ADULT_AUDIT | {"regularizer": regularizer}, n_steps=2)
        assert table["lower_bound"].tolist() == [found.loss_ratio.lower_bound, found.error_rate_ratio.lower_bound]


def test_stopping_times(adult, adult_models):
    options = {"dataset": adult, "models": {"baseline": adult_models["baseline"]}}
    sizes = trials.by_step_size(FIRST, **options, step_sizes=(0.001, 0.01), n_steps={"baseline": 4})
    flow = trials.along_the_flow(FIRST, **options, n_steps=4, at=[2, 4])
    assert [*sizes["time"], *flow["time"]] == pytest.approx([0.004, 0.04, 0.02, 0.04])
    # The points of the flow are attacks with as many steps of the same size.
    short = trials.by_step_size(FIRST, **options, step_sizes=(0.01,), n_steps={"baseline": 2})
    bounds = [short["lower_bound"].item(), sizes["lower_bound"].iloc[1]]
    assert flow["lower_bound"].tolist() == pytest.approx(bounds, rel=1e-6)


def test_audit_of_compas(compas, models, split):
    row = trials.audit_compas(FIRST, dataset=compas, models=models, n_points=50, n_steps=3).loc["reduction"]
    model = classifiers(models)["reduction"]
    head = audit_on_test_part(model, split, **FEW | {"n_points": 50}, n_steps=3)
    assert row[["t_n", "error-rate t_n"]].tolist() == [head.loss_ratio.lower_bound, head.error_rate_ratio.lower_bound]
    assert row["bal_acc"] == audits.group_fairness(model, split)["bal_acc"]  # always of the whole test part


def test_without_the_files_nothing_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    assert stored.stored_models("adult") is stored.stored_output("adult") is None
