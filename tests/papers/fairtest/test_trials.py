from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.data.variants.planted import plant_effects
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.tree import Condition, Node
from fairlab.papers.fairtest import trials as microbenchmark
from fairlab.papers.fairtest.trials import false_alarms, investigate_prices, pairs_named, planted_effects, touches
from fairlab.seeds import Trial

TEMPLATE = load("staples", surrogate=True)


def population(n_states=4, n_races=3, n_each=1_200):
    """Users of so many states and races, as many of each; every third is below 50,000 dollars."""
    states, races = np.divmod(np.repeat(np.arange(n_states * n_races), n_each), n_races)
    features = pd.DataFrame({"state": states, "race": races}).astype(str).apply(lambda names: "no. " + names)
    features["gender"] = np.where(np.arange(len(features)) % 2 == 0, "female", "male")
    features["income"] = np.where(np.arange(len(features)) % 3 == 0, "<50K", ">=50K")
    target = pd.Series(["low"] * len(features), name="price")
    return replace(TEMPLATE, features=features, target=target, sensitive_features=features[["income", "race"]])


def finding(**conditions):
    node = Node(None, effect=0.0, size=1)
    for name, category in conditions.items():
        node = Node(Condition(name, category), effect=0.0, size=1, parent=node)
    return Finding(node, sample=None, associations=())


def test_a_context_names_a_pair_by_both_parts_and_whatever_else():
    assert pairs_named(finding(state="X", race="a")) == {("X", "a")}
    assert pairs_named(finding(race="a", gender="male", state="X")) == {("X", "a")}
    assert pairs_named(finding(state="X")) == pairs_named(finding()) == set()


def test_a_context_touches_pairs_unless_a_condition_shuts_them_out():
    pairs = {("X", "a"), ("Y", "b")}
    assert touches(finding(), pairs)
    assert touches(finding(state="X", gender="male"), pairs)
    assert touches(finding(state="Y", race="b"), pairs)
    assert not touches(finding(state="X", race="b"), pairs)
    assert not touches(finding(race="c"), pairs)


def test_a_strong_effect_is_found_and_validated_where_it_was_planted():
    users = population()
    pair = pd.DataFrame({"state": ["no. 2"], "race": ["no. 1"]})
    dataset = plant_effects(users, pair, delta=30, seed=0)
    found = investigate_prices(dataset, min_leaf_size=50, exact=False, random_state=0).findings_["income"]
    significant = [one for one in found if one.is_significant]
    assert ("no. 2", "no. 1") in set().union(*map(pairs_named, significant))
    assert all(touches(one, {("no. 2", "no. 1")}) for one in significant)


def test_counts_of_one_trial(monkeypatch):
    users = population(n_states=4, n_races=4, n_each=1_000)
    monkeypatch.setattr(microbenchmark, "load", lambda name, n_users: users)
    pairs = pd.DataFrame({"state": ["no. 0", "no. 1", "no. 3"], "race": ["no. 3", "no. 2", "no. 0"]})
    monkeypatch.setattr(microbenchmark, "draw_pairs", lambda users, size, n_pairs, seed: pairs)
    counts = planted_effects(Trial("test", 0, 0), n_users=None, size=1_000, deltas=[0.5, 30], n_pairs=3)
    assert counts["delta"].tolist() == [0.5, 30]
    assert counts.loc[1, ["found", "validated", "false"]].tolist() == [3, 3, 0]
    assert (counts["validated"] <= counts["found"]).all()


def test_false_alarms_count_contexts_and_the_whole_population(monkeypatch):
    monkeypatch.setattr(microbenchmark, "load", lambda name, n_users: population())
    counts = false_alarms(Trial("test", 0, 0), n_users=None)
    assert set(counts) == {"contexts", "significant", "reported"}
    assert counts["significant"] <= counts["contexts"]
    assert 1 <= counts["reported"] <= counts["contexts"]


def test_unknown_sizes_are_refused():
    with pytest.raises(ValueError, match="size: expected one of 100"):
        planted_effects(Trial("test", 0, 0), n_users=None, size=7, deltas=[5])
