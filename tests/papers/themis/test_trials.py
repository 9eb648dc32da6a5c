import pandas as pd
import pytest

from fairlab.papers.themis.instances import INSTANCES
from fairlab.papers.themis.programs import pruned_sets
from fairlab.papers.themis.trials import (
    causal_scores,
    figure_1_scores,
    score_again,
    search_all_sets,
    search_small_sets,
    search_twice,
    searched_characteristics,
)
from fairlab.seeds import Trial

TRIAL = Trial("test", 0)


def test_figure_1_has_a_score_for_every_cell(people):
    scores = figure_1_scores(TRIAL, people=people, reading="as_published", n_samples=12)
    assert len(scores) == 64
    assert scores["id"].is_unique
    causal, group = (scores[scores["measure"] == measure] for measure in ("causal", "group"))
    assert (causal["samples"] == 12).all()
    races = group["sensitive_features"] == ("race",)
    assert (group["samples"] == 12 * races.map({True: 5, False: 2})).all()
    assert scores["score"].between(0, 1).all()


def test_scores_come_in_the_order_asked_for_with_so_many_samples(people):
    sets = ["g.census.unaware.race", "e.credit.unaware.age_gender", "g.census.unaware.gender"]
    scores = causal_scores(TRIAL, people=people, reading="as_published", sets=sets, n_samples=25)
    assert scores["id"].tolist() == sets
    assert (scores["samples"] == 25).all()
    assert scores["sensitive_features"].tolist() == [("race",), ("sex", "age"), ("sex",)]


def test_trials_run_through_the_instances(people):
    options = {"people": people, "reading": "as_published", "max_values": 3, "max_samples": 20}
    search = search_all_sets(Trial("test", len(INSTANCES)), **options)
    assert INSTANCES[0].data == "credit"
    assert {name for names in search["sensitive_features"] for name in names} == {"sex", "housing", "liable", "foreign"}
    assert search["measure"].tolist() == ["group"] * 15 + ["causal"] * 15
    assert search["sensitive_features"][:15].map(len).is_monotonic_increasing


def test_small_sets_are_minimal(people):
    found = search_small_sets(TRIAL, people=people, max_size=1, max_samples=20)
    assert set(found) == {"group", "causal"}
    assert all(len(names) == 1 for sets in found.values() for names in sets)
    assert set(found["causal"]) <= {(name,) for name in INSTANCES[0].schema.names}


def test_a_search_twice_agrees_and_needs_no_more_tests():
    rows = pd.DataFrame([search_twice(Trial("test", index), threshold=0.3) for index in range(4)])
    for measure in ("group", "causal"):
        assert rows[f"{measure} agree"].all()
        assert (rows[f"{measure} tests with"] <= rows[f"{measure} tests without"]).all()


def test_score_again_is_another_estimate_each_time():
    scores = [score_again(Trial("test", index), stop="wilson") for index in range(5)]
    assert len({score["score"] for score in scores}) > 1
    assert all(score["score"] == pytest.approx(0.05, abs=0.1) for score in scores)


def test_characteristics_with_many_values_are_left_out():
    census = next(instance for instance in INSTANCES if instance.data == "census")
    assert "native-country" in searched_characteristics(census)
    assert "native-country" in searched_characteristics(census, max_values=40)
    assert "native-country" not in searched_characteristics(census, max_values=39)
    assert "native-country" not in searched_characteristics(census, max_values={"census": 39, "credit": 40})


def test_a_table_of_all_sets_tells_what_pruning_saves(people):
    options = {"people": people, "reading": "as_published", "max_values": 3, "max_samples": 20}
    search = search_all_sets(TRIAL, **options)
    group = search[search["measure"] == "group"]
    tested, minimal = pruned_sets(group["sensitive_features"], group["score"], 0.0)
    assert group["sensitive_features"][minimal].map(len).tolist() == [1] * 4, "any score reaches a threshold of 0"
    assert tested.sum() == 4
