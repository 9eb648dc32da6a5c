from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.themis.subjects import INSTANCES
from fairlab.themis.systems import READINGS, VARIANTS, _changed_labels, train


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
    inputs = instance.schema.decode(instance.schema.sample(500, np.random.default_rng(0)))
    for measure in ("group", "causal"):
        decisions = train(instance, people[instance.data], reading=reading, measure=measure)(inputs)
        assert decisions.shape == (500,)
        assert set(np.unique(decisions)) <= {0, 1}


def test_readings_differ_but_for_two_systems(people):
    for instance in INSTANCES:
        inputs = instance.schema.decode(instance.schema.sample(2000, np.random.default_rng(0)))
        published, described = (train(instance, people[instance.data], reading=r)(inputs) for r in READINGS)
        assert (published == described).all() == (instance.system in "eh")


def test_system_g_is_positive_nearly_always_as_published(people):
    instance = next(i for i in INSTANCES if i.id == "g.census.unaware")
    inputs = people["census"].features.astype(int)
    assert train(instance, people["census"])(inputs).mean() > 0.9


def test_changed_labels_by_hand():
    X = pd.DataFrame({"race": [0] * 10 + [4] * 40, "sex": [0, 1] * 25})
    y = np.array([1] * 10 + [1, 1] + [0] * 38)
    labels = {
        id: _changed_labels(next(i for i in INSTANCES if i.id == id), X, y, (X[column] != privileged).to_numpy())
        for id, column, privileged in (
            ("c.census.race", "race", 0),
            ("d.census.race", "race", 0),
            ("c.census.gender", "sex", 1),
        )
    }
    # No white person keeps a positive label.
    assert labels["c.census.race"].tolist() == labels["d.census.race"].tolist() == [0] * 10 + [1, 1] + [0] * 38
    # Of the 19 women of race 4 with a negative label, all keep it; a twentieth would be promoted.
    assert labels["c.census.gender"].tolist() == y.tolist()


def test_unknown_reading(people):
    with pytest.raises(ValueError, match="reading is 'as_coded', expected one of as_published, as_described"):
        train(INSTANCES[0], people["credit"], reading="as_coded")
