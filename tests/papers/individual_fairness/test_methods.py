import numpy as np
import pytest
from plain_data import is_plain

from fairlab.papers.individual_fairness.methods import (
    LABELS,
    METHODS,
    adult_methods,
    classifiers,
    compas_methods,
    compas_reductions,
    trained,
)

EFFORT = {"network_steps": 7, "sensr_steps": 5, "reductions_iterations": 3}


def test_settings_of_the_two_studies():
    adult, compas = adult_methods(11, **EFFORT), compas_methods(11, **EFFORT)
    assert tuple(adult) == tuple(compas) == METHODS == tuple(LABELS)
    for methods in (adult, compas):
        assert all(method.rounded_loss for method in methods.values())
        assert [methods[name].n_steps for name in ("baseline", "project", "sensr")] == [7, 7, 5]
        assert {methods[name].random_state for name in ("baseline", "project", "sensr")} == {11}
        assert methods["reduction"].max_iter == 3
        assert (methods["baseline"].n_hidden, methods["baseline"].batch_size) == (50, 250)
        assert methods["baseline"].learning_rate == 1e-4
    assert (adult["reduction"].eps, adult["reduction"].class_weight) == (0.03, "balanced")
    assert (compas["reduction"].eps, compas["reduction"].class_weight) == (0.05, None)
    assert compas_reductions(3, class_weight="balanced").class_weight == "balanced"
    sensr = [(m["sensr"].learning_rate, m["sensr"].subspace_rate, m["sensr"].full_steps) for m in (adult, compas)]
    assert sensr == [(1e-5, 10.0, 50), (1e-4, 0.1, 8)]
    assert (adult["sensr"].solver, compas["sensr"].solver) == ("liblinear", "published")


def test_what_was_trained_comes_back_from_plain_data(split):
    learner = compas_methods(3, **EFFORT)["baseline"]
    arrays = trained({"baseline": learner}, split)
    assert is_plain(arrays["baseline"])
    X = split.X_test.to_numpy()
    np.testing.assert_array_equal(classifiers(arrays)["baseline"].log_odds(X), learner.log_odds(X))
    assert classifiers(arrays)["baseline"].rounded_loss
    assert not classifiers(arrays, rounded_loss=False)["baseline"].rounded_loss


def test_methods_learn_from_the_training_part_only(split):
    method = compas_methods(3, **EFFORT)["project"]
    arrays = trained({"project": method}, split)["project"]
    features = split.X_train.columns.get_indexer(["sex", "race"])
    np.testing.assert_allclose(arrays["projection_"][features], 0, atol=1e-9)  # both are free, whatever the rest is
    assert arrays["network_"][0].shape == (7, 50)


def test_an_unknown_method_is_refused():
    with pytest.raises(KeyError, match="massaging"):
        classifiers({"massaging": {}})
