import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Condition, Node
from fairlab.papers.fairtest.microbenchmark import alarm_shares, noise, pairs_named, point, price_section
from fairlab.papers.fairtest.planted import plant_effects


def finding(**conditions):
    node = Node(None, effect=0.0, size=1)
    for name, category in conditions.items():
        node = Node(Condition(name, category), effect=0.0, size=1, parent=node)
    return Subgroup(node, sample=None, associations=())


def test_a_context_names_a_pair_by_both_parts_and_whatever_else():
    assert pairs_named(finding(state="X", race="a")) == {("X", "a")}
    assert pairs_named(finding(race="a", gender="male", state="X")) == {("X", "a")}
    assert pairs_named(finding(state="X")) == pairs_named(finding()) == set()


def test_a_strong_effect_is_found_and_validated_where_it_was_planted(users):
    pair = pd.DataFrame({"state": ["no. 2"], "race": ["no. 1"]})
    dataset = plant_effects(users, pair, delta=30, seed=0)
    section = price_section(dataset, min_leaf_size=50, exact=False, random_state=0)
    assert ("no. 2", "no. 1") in set().union(*map(pairs_named, section.significant))


def test_alarms_have_wilson_intervals():
    null = pd.DataFrame({"reported": [1, 1, 2, 1], "significant": [0, 1, 2, 0]})
    shares = alarm_shares(null)
    assert shares.loc["any context reported", ["alarms", "runs", "share"]].tolist() == [1, 4, 0.25]
    assert shares.loc["any context significant", "alarms"] == 2
    for name, row in shares.iterrows():
        expected = proportion_confint(row["alarms"], row["runs"], 0.05, "wilson")
        assert row[["low", "high"]].tolist() == pytest.approx(expected), name


def test_noise_is_in_deviations_of_means_of_ten():
    rng = np.random.default_rng(0)
    found = {(5, 100): rng.poisson(2, 4_000), (5, 500): np.full(4_000, 10)}
    planted = pd.concat([pd.DataFrame({"delta": d, "size": s, "found": f}) for (d, s), f in found.items()])
    printed = pd.Series({"delta_5.size_100": 2 + (2 / 10) ** 0.5, "delta_5.size_500": 10})
    table = noise(planted, printed)
    assert table.index.tolist() == ["delta_5.size_100"]
    assert table["deviation"].item() == pytest.approx(1, abs=0.1)


def test_points_have_the_ids_of_the_paper():
    assert [point(delta, 500) for delta in (2.5, 5, 15)] == [
        "delta_2_5.size_500", "delta_5.size_500", "delta_15.size_500"
    ]  # fmt: skip
