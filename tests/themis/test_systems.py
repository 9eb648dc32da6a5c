from dataclasses import replace

import numpy as np
import pytest

from fairlab.data import load
from fairlab.themis.subjects import INSTANCES
from fairlab.themis.systems import READINGS, VARIANTS, train


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


def test_system_c_for_race_gives_white_people_nothing(people):
    instance = next(i for i in INSTANCES if i.id == "c.census.race")
    inputs = people["census"].features.astype(int)
    decisions = train(instance, people["census"])(inputs)
    assert decisions[inputs["race"] == 0].mean() < decisions[inputs["race"] != 0].mean()


def test_unknown_reading(people):
    with pytest.raises(ValueError, match="reading is 'as_coded', expected one of as_published, as_described"):
        train(INSTANCES[0], people["credit"], reading="as_coded")
