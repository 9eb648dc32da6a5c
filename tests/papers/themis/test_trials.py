import pytest

from fairlab.data import load
from fairlab.papers.themis.instances import INSTANCES
from fairlab.papers.themis.systems import VARIANTS
from fairlab.papers.themis.trials import causal_scores, sample_people, searched_characteristics, unpruned_search
from fairlab.seeds import Trial

TRIAL = Trial("test", 0)


@pytest.fixture(scope="module")
def people():
    return {
        data: sample_people(load(variant, surrogate=True), 300, random_state=0) for data, variant in VARIANTS.items()
    }


def test_sampled_people_belong_together(people):
    sampled, whole = people["census"], load(VARIANTS["census"], surrogate=True)
    assert len(sampled.features) == len(sampled.target) == 300
    assert sampled.features.equals(whole.features.loc[sampled.target.index])
    assert sample_people(sampled, 300, random_state=1) is sampled


def test_scores_come_in_the_order_asked_for_with_so_many_samples(people):
    sets = ["g.census.unaware.race", "e.credit.unaware.age_gender", "g.census.unaware.gender"]
    scores = causal_scores(TRIAL, people=people, reading="as_published", sets=sets, n_samples=25)
    assert scores["id"].tolist() == sets
    assert (scores["samples"] == 25).all()
    assert scores["characteristics"].tolist() == [("race",), ("sex", "age"), ("sex",)]


def test_trials_run_through_the_instances(people):
    options = {"people": people, "reading": "as_published", "max_values": 3, "max_samples": 20}
    search = unpruned_search(Trial("test", len(INSTANCES)), **options)
    assert INSTANCES[0].data == "credit"
    assert {name for score in search.scores for name in score.characteristics} == {
        "sex",
        "housing",
        "liable",
        "foreign",
    }
    assert len(search.scores) == 2 * 15
    assert search.skipped == {"group": 0, "causal": 0}


def test_characteristics_with_many_values_are_left_out():
    census = next(instance for instance in INSTANCES if instance.data == "census")
    assert "native-country" in searched_characteristics(census, max_values=40)
    assert "native-country" not in searched_characteristics(census, max_values=39)
