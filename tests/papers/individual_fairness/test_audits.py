from dataclasses import replace

import numpy as np
import pytest

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import audit
from fairlab.papers.individual_fairness.audits import (
    ADULT_AUDIT,
    COMPAS_AUDIT,
    audit_on_test_part,
    average_odds_difference,
    group_fairness,
    group_table,
    rounding_table,
    swap_shares,
)
from fairlab.papers.individual_fairness.learners import METHODS, PUBLISHED_METRIC, classifiers

FEW = COMPAS_AUDIT | {"n_points": 40}


@pytest.fixture(scope="module")
def baseline(models):
    return classifiers({"baseline": models["baseline"]})["baseline"]


def test_settings_of_the_studies():
    assert ADULT_AUDIT == {"regularizer": 50, "step_size": 0.01}
    assert COMPAS_AUDIT == {"regularizer": 100, "step_size": 0.005, "n_points": 1000}


def test_the_head_of_the_test_part_is_audited_within_its_own_metric(baseline, split):
    found = audit_on_test_part(baseline, split, **FEW, n_steps=4)
    metric = FairMetric.learned(split.X_test, split.sensitive_test, **PUBLISHED_METRIC)
    options = {"regularizer": 100, "step_size": 0.005, "n_steps": 4}
    expected = audit(baseline, metric, split.X_test[:40], split.y_test[:40], **options)
    np.testing.assert_array_equal(found.attack.X, expected.attack.X)
    assert found.loss_ratio.lower_bound == expected.loss_ratio.lower_bound
    settings = COMPAS_AUDIT | {"n_points": None, "n_steps": 4}
    whole = audit_on_test_part(baseline, split, metric=metric, **settings).attack
    assert len(whole.loss) == len(split.X_test)
    np.testing.assert_allclose(whole.X[:40], found.attack.X, atol=1e-6)
    assert whole.stopping_time == pytest.approx(0.02)


def test_group_measures(baseline, models, split):
    measures = group_fairness(baseline, split)
    predicted, truth = baseline.predict(split.X_test.to_numpy()), split.y_test.to_numpy()
    recalls = [(predicted[truth == label] == label).mean() for label in (0, 1)]
    assert measures["bal_acc"] == pytest.approx(np.mean(recalls))
    race = split.sensitive_test["race"]
    assert measures["aod_race"] == average_odds_difference(truth, predicted, sensitive_features=race)
    table = group_table([models, models], [split, split])
    assert table.index.tolist() == [(k, method) for k in (0, 1) for method in METHODS]
    assert table.loc[(1, "baseline")].to_dict() == measures.to_dict()


def test_rounded_losses_drop_those_the_model_is_sure_of(models, split):
    sure = dict(models["baseline"])
    hidden, hidden_bias, output, output_bias = sure["network_"]
    sure["network_"] = (hidden, hidden_bias, 15 * output, 15 * output_bias)
    arrays = {"baseline": sure}
    table = rounding_table(arrays, split, **FEW, n_steps=1)
    rounded = audit_on_test_part(classifiers(arrays)["baseline"], split, **FEW, n_steps=1).loss_ratio
    assert table.loc["baseline", "dropped"] == rounded.n_dropped > 0
    assert table.loc["baseline", "T_n, rounded"] == rounded.lower_bound
    assert table.loc["baseline", "T_n, exact"] != rounded.lower_bound
    plain = rounding_table({"baseline": models["baseline"]}, split, **FEW, n_steps=1).loc["baseline"]
    assert plain["dropped"] == 0
    assert plain["T_n, exact"] == pytest.approx(plain["T_n, rounded"], abs=1e-5)


def test_swaps_against_one_person_at_a_time(models, split, baseline):
    head = replace(split, X_test=split.X_test[:60], y_test=split.y_test[:60], sensitive_test=split.sensitive_test[:60])
    shares = swap_shares([models], [head]).set_index(["method", "swapped"])["share"]
    assert (shares["project"] == 0).all()  # both axes lie in what it takes out
    changed = 0
    for person in head.X_test.to_numpy():
        twin = person.copy()
        twin[1] = 1 - twin[1]
        changed += (baseline.predict(person[None]) != baseline.predict(twin[None]))[0]
    assert shares["baseline", "race"] == pytest.approx(changed / 60)


def test_odds_by_hand():
    group, truth = [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 0, 0]
    predicted = [1, 0, 0, 0, 1, 1, 1, 0]  # true positive rates 1/2 and 1, false positive rates 0 and 1/2
    assert average_odds_difference(truth, predicted, sensitive_features=group) == pytest.approx(-0.5)
    assert average_odds_difference(truth, truth, sensitive_features=group) == 0
