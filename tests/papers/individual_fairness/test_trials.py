import numpy as np
import pytest

from fairlab import load
from fairlab.papers.individual_fairness.splits import COMPAS_SEEDS, compas_split
from fairlab.papers.individual_fairness.trials import (
    COMPAS_AUDIT,
    METHODS,
    audit_on_test_part,
    group_fairness,
    train_adult,
    train_compas,
)
from fairlab.seeds import Trial

EFFORT = {"network_steps": 400, "sensr_steps": 40, "reductions_iterations": 2}


@pytest.fixture(scope="module")
def compas():
    return load("compas-individual", surrogate=True)


@pytest.fixture(scope="module")
def models(compas):
    return train_compas(Trial("study", 1), dataset=compas, **EFFORT)


def test_compas(compas, models):
    split = compas_split(compas, COMPAS_SEEDS[1][0])
    assert tuple(models) == METHODS
    for model in models.values():
        found = audit_on_test_part(model, split, COMPAS_AUDIT, n_steps=5)
        assert found.loss_ratio.n + found.loss_ratio.n_dropped == 1000
        assert found.attack.stopping_time == pytest.approx(5 * 0.005)
        measures = group_fairness(model, split)
        assert 0.4 < measures["bal_acc"] < 0.8
        assert measures[["aod_gender", "aod_race"]].abs().max() < 1


def test_the_root_of_the_run_changes_the_networks(compas, models):
    again = train_compas(Trial("study", 1), dataset=compas, **EFFORT)
    other = train_compas(Trial("study", 1, root=1), dataset=compas, **EFFORT)
    for name in ("baseline", "project", "sensr"):
        np.testing.assert_array_equal(models[name].network_[0], again[name].network_[0])
        assert (models[name].network_[0] != other[name].network_[0]).any()


def test_adult():
    models = train_adult(Trial("study", 0), dataset=load("adult-individual", surrogate=True), **EFFORT)
    assert tuple(models) == METHODS
    assert all(not model.from_logits for model in models.values())
    assert models["sensr"].directions_.shape == (2, 39)
