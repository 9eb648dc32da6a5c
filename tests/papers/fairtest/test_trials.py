import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.fairtest import DataSource, Difference, Investigation, investigate
from fairlab.papers.fairtest import trials
from fairlab.papers.fairtest.planted import count_users
from fairlab.seeds import Trial

TRIAL = Trial("test", 0, 0)


@pytest.fixture
def toy_users(monkeypatch, users):
    """Users of four states and three races instead of a draw."""
    monkeypatch.setattr(trials, "_users_of_a_run", lambda trial, n_users: count_users(users))


@pytest.mark.usefixtures("toy_users")
def test_counts_of_one_trial(monkeypatch):
    pairs = pd.DataFrame({"state": ["no. 0", "no. 1", "no. 3"], "race": ["no. 2", "no. 1", "no. 0"]})
    monkeypatch.setattr(trials, "choose_pairs", lambda users, size, n_pairs, seed: pairs)
    counts = trials.planted_effects(TRIAL, n_users=0, size=1_000, deltas=[0.5, 30], n_pairs=3)
    assert counts["delta"].tolist() == [0.5, 30]
    assert counts.loc[1, ["found", "validated", "false"]].tolist() == [3, 3, 0]
    assert (counts["validated"] <= counts["found"]).all()


@pytest.mark.usefixtures("toy_users")
def test_what_cannot_hold_a_user_of_a_pair_is_false(monkeypatch):
    pairs = pd.DataFrame({"state": ["no. 1"], "race": ["no. 2"]})
    monkeypatch.setattr(trials, "choose_pairs", lambda users, size, n_pairs, seed: pairs)
    cells = {(-1, -1, -1): 0.01, (1, -1, -1): 0.01, (2, 0, -1): 0.01, (1, 1, 0): 0.01, (1, 0, 2): 0.9}
    monkeypatch.setattr(trials, "test_contexts", lambda populations, rng: [cells])
    [row] = trials.planted_effects(TRIAL, n_users=0, size=1_000, deltas=[5], n_pairs=1).to_dict("records")
    assert row == {"delta": 5, "found": 1, "validated": 0, "false": 2}


@pytest.mark.usefixtures("toy_users")
def test_false_alarms_count_contexts_and_the_whole_population():
    counts = trials.false_alarms(TRIAL, n_users=0)
    assert set(counts) == {"contexts", "significant", "reported"}
    assert counts["significant"] <= counts["contexts"]
    assert 1 <= counts["reported"] <= counts["contexts"]


@pytest.mark.usefixtures("toy_users")
def test_unknown_sizes_are_refused():
    with pytest.raises(ValueError, match="size: expected one of 100"):
        trials.planted_effects(TRIAL, n_users=0, size=7, deltas=[5])


def test_ten_trials_are_a_run_with_users_of_its_own():
    first, last, next_run = (trials._users_of_a_run(Trial("test", index), 5_000) for index in (0, 9, 10))
    assert first.equals(last)
    assert not first.equals(next_run)
    assert first.sum() == 5_000
    assert first.index.names == ["state", "gender", "race", "income"]


@pytest.fixture(scope="module")
def people():
    """People of whom women in the north, and no others, earn less."""
    rng = np.random.default_rng(0)
    woman, north = rng.random((2, 3_000)) < 0.5
    low = rng.random(3_000) < np.where(north & woman, 0.8, 0.4)
    columns = {"sex": (woman, "f", "m"), "region": (north, "north", "south"), "income": (low, "low", "high")}
    return pd.DataFrame({name: np.where(mask, yes, no) for name, (mask, yes, no) in columns.items()})


def test_another_split_of_adults_names_the_attributes_of_each_context(people):
    tested = trials.adult_split(TRIAL, people=people, protected=["sex"], output="income")
    assert tested["attributes"].tolist()[:2] == ["", "region"]
    assert tested.loc[tested["attributes"] == "region", "reported"].sum() == 1
    pd.testing.assert_frame_equal(tested, trials.adult_split(TRIAL, people=people, protected=["sex"], output="income"))


def test_another_split_of_applicants_is_an_investigation_without_and_one_with_the_department():
    berkeley = load("berkeley")
    applicants = berkeley.features.assign(accepted=berkeley.target)
    p_values = trials.berkeley_split(TRIAL, applicants=applicants, smoothing=0)
    assert list(p_values)[:3] == ["everyone", "everyone, given the department", "department: A"]
    seed = TRIAL.seed("split")
    source = DataSource(applicants, random_state=seed)
    plain = Investigation("gender", "accepted", context=[], metric=Difference(smoothing=0), random_state=seed)
    assert p_values["everyone"] == investigate(source, plain).section("gender").everyone.association().p_value
    assert 0 < p_values["some department, to the disadvantage of women"] <= 1


def test_another_split_of_patients_has_everybody_plain_given_confidence_and_by_it():
    rng = np.random.default_rng(0)
    age = rng.integers(10, 80, 900).astype(float)
    confidence = rng.choice(["high", "low"], 900)
    patients = pd.DataFrame({"age": age, "prediction": 0.0, "truth": age / 50 + rng.random(900)})
    patients = patients.assign(prediction=rng.random(900) / 10, confidence=confidence)
    names = {name: name for name in ("age", "prediction", "truth", "confidence")}
    bounds = trials.health_split(TRIAL, patients=patients, budget=2, train_size=0.33, **names)
    assert bounds["metric"].tolist() == ["CORR", "COND-CORR", "CORR", "CORR"]
    assert bounds["part"].tolist() == ["", "", "confidence: high", "confidence: low"]
    assert (bounds["low"] > 0).all()


def test_another_split_of_movie_users_tests_outputs_and_genres_among_everybody():
    rng = np.random.default_rng(0)
    woman = rng.random(1_000) < 0.5
    users = pd.DataFrame({"gender": np.where(woman, "F", "M"), "age": rng.choice([20.0, 40.0], 1_000)})
    users["generation"] = np.where(users["age"] > 30, "older", "younger")
    users["rating"] = 4 + 0.01 * users["age"] + rng.random(1_000)
    users["Romance"], users["War"] = (rng.random((2, 1_000)) < 0.3 + 0.4 * np.array([woman, np.zeros(1_000)])).astype(
        int
    )
    tests = trials.recommender_split(
        TRIAL, users=users, outputs=["rating"], protected=["gender", "age"], genres=["Romance", "War"]
    )
    low = tests.set_index(["protected", "output", "part"])["low"]
    assert len(low) == 2 + 2 * 2
    assert low["age", "rating", ""] > 0
    assert low["gender", "2 labels", "Romance"] > 0
    assert low["generation", "2 labels", "War"] < 0
