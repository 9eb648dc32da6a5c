from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.papers.themis.instances import INSTANCES
from fairlab.papers.themis.systems import BEHIND, READINGS, VARIANTS, _changed_labels, train


@pytest.fixture(scope="module")
def people():
    """Return the surrogates, cut to a size that all systems learn from within a second."""
    cut = {}
    for data, variant in VARIANTS.items():
        whole = load(variant, surrogate=True)
        rows = whole.features.sample(600, random_state=0).index
        parts = {part: getattr(whole, part).loc[rows] for part in ("features", "target", "sensitive_features")}
        cut[data] = replace(whole, **parts)
    return cut


def test_there_are_twenty_instances_of_eight_systems():
    assert len(INSTANCES) == 20
    assert len({instance.system for instance in INSTANCES}) == 8
    assert sum(instance.trained_for == "gender" for instance in INSTANCES) == 8
    assert sum(instance.trained_for == "race" for instance in INSTANCES) == 4


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)
def test_every_instance_decides_on_all_inputs(people, instance, reading):
    inputs = instance.schema.decode(instance.schema.sample_codes(500, random_state=0))
    for behind in BEHIND:
        decisions = train(instance, people[instance.data], reading=reading, behind=behind)(inputs)
        assert decisions.shape == (500,)
        assert set(np.unique(decisions)) <= {0, 1}


def test_readings_differ_but_for_two_systems(people):
    for instance in INSTANCES:
        inputs = instance.schema.decode(instance.schema.sample_codes(2000, random_state=0))
        published, described = (train(instance, people[instance.data], reading=r)(inputs) for r in READINGS)
        assert (published == described).all() == (instance.system in "eh")


def test_system_g_as_published_is_positive_far_more_often_than_the_labels(people):
    instance = next(i for i in INSTANCES if i.id == "g.census.unaware")
    census = people["census"]
    labels = census.target == census.positive_label
    assert train(instance, census)(census.features.astype(int)).mean() > labels.mean() + 0.3


def test_changed_labels_by_hand():
    X = pd.DataFrame({"race": [0] * 20 + [4] * 40, "sex": [0, 1] * 30})
    y = np.array([1] * 20 + [1, 1] + [0] * 38)

    def labels(id, column, privileged, behind):
        instance = next(i for i in INSTANCES if i.id == id)
        return _changed_labels(instance, X, y, (X[column] != privileged).to_numpy(), behind)

    # No white person keeps a positive label.
    no_white = [0] * 20 + [1, 1] + [0] * 38
    for behind in BEHIND:
        assert labels("c.census.race", "race", 0, behind).tolist() == no_white
    assert labels("d.census.race", "race", 0, "figure-1 causal").tolist() == no_white
    # Twelve of either side change.
    changed = labels("d.census.race", "race", 0, "figure-2") != y
    assert changed[:20].sum() == changed[20:].sum() == 12
    # Of the 19 women of race 4 with a negative label, all keep it; a twentieth would be promoted.
    assert labels("c.census.gender", "sex", 1, "figure-2").tolist() == y.tolist()


def test_unknown_reading(people):
    with pytest.raises(ValueError, match="reading is 'as_coded', expected one of as_published, as_described"):
        train(INSTANCES[0], people["credit"], reading="as_coded")
    with pytest.raises(ValueError, match="behind is 'figure-4', expected one of figure-1 group"):
        train(INSTANCES[0], people["credit"], behind="figure-4")
