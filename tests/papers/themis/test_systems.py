import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.papers.themis.instances import INSTANCES
from fairlab.papers.themis.systems import (
    BEHIND,
    READINGS,
    VARIANTS,
    _changed_labels,
    _trained,
    _Training,
    sample_people,
    train,
)


def test_sampled_people_belong_together(people):
    sampled, whole = people["census"], load(VARIANTS["census"], surrogate=True)
    assert len(sampled.features) == len(sampled.target) == 300
    assert sampled.features.equals(whole.features.loc[sampled.target.index])
    assert sample_people(sampled, 300, random_state=1) is sampled


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)
def test_every_instance_decides_on_all_inputs(people, instance, reading):
    inputs = instance.schema.decode(instance.schema.sample_codes(500, random_state=0))
    for behind in BEHIND:
        decisions = train(instance, people[instance.data], reading=reading, behind=behind)(inputs)
        assert decisions.shape == (500,)
        assert set(np.unique(decisions)) <= {0, 1}


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)
def test_what_is_not_trained_again_would_decide_alike(people, instance):
    inputs = instance.schema.decode(instance.schema.sample_codes(1000, random_state=0))
    for reading in READINGS:
        for behind in BEHIND:
            fresh = _trained.__wrapped__(_Training(instance, people[instance.data], reading, behind))
            kept = train(instance, people[instance.data], reading=reading, behind=behind)
            assert (fresh.predict(inputs) == kept(inputs)).all()
    fewer = sample_people(people[instance.data], 200, random_state=0)
    assert train(instance, fewer) is not train(instance, people[instance.data])


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
    with pytest.raises(ValueError, match="reading: expected one of as_published, as_described, found 'as_coded'"):
        train(INSTANCES[0], people["credit"], reading="as_coded")
    with pytest.raises(ValueError, match="behind: expected one of figure-1 group"):
        train(INSTANCES[0], people["credit"], behind="figure-4")
