"""The studies of table 2, what the text says of them, and other splits of their data."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.fairtest import Column, DataSource, Difference, Investigation, Sample, investigate
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest import studies, trials
from fairlab.papers.fairtest.studies import STUDIES
from fairlab.papers.fairtest.studies import tested as report_on
from fairlab.seeds import Trial

TRIAL = Trial("test", 0, 0)
PATIENT_CONTEXT = 127  # attributes: neither prediction nor confidence, nor what is predicted, nor age


@pytest.mark.parametrize(
    ("name", "variant", "options", "labels", "n_context"),
    [
        ("staples", "staples-population", {"n_users": 2_000}, [1], 4),
        ("healthcare", "health", {"surrogate": True}, [2], PATIENT_CONTEXT),
        ("image_tagger", "image-tagger", {"labels": "overfeat", "surrogate": True}, [745], 0),
        ("movielens", "movie-recommender", {"surrogate": True}, [1, 1, 1, 16, 16], 3),
        ("adult", "adult-uci", {"surrogate": True}, [1], 13),
    ],
)
def test_investigations_of_a_study(name, variant, options, labels, n_context):
    source, investigations = STUDIES[name](load(variant, **options))
    fitted = [one.set_params(max_depth=0).fit(source) for one in investigations]
    assert [len(one.outputs_) for one in fitted] == labels
    context = {attribute for one in fitted for attribute in one.context_}
    assert len(context) == n_context
    assert not {"Age", "days", "predicted_days", "confidence", "fnlwgt", "rmse"} & context


def test_a_row_of_table_2():
    applicants = load("berkeley")
    investigations = studies.fitted(STUDIES["berkeley"](applicants))
    assert studies.table_2_row(applicants, investigations, report_on(investigations)) == {
        "users": 4425,
        "attributes": 2,
        "discovered": 1,
        "validated": 0,
        "reported": 1,
        "smallest_reported": 2213,
    }


def test_days_are_also_on_the_log_scale():
    features = pd.DataFrame(
        {"Age": [5, 75], studies.CARE: [0, 2], "predicted_days": [0.0, np.e - 1], "confidence": ["high", "low"]}
    )
    table = studies.patients_of(SimpleNamespace(features=features, target=pd.Series([1, 0])))
    assert table[[studies.PREDICTION, studies.TRUTH]].to_numpy().tolist() == [[0, np.log(2)], [1, 0]]
    assert table["urgent care"].tolist() == ["no", "yes"]
    assert "predicted_days" not in table


def test_mean_errors_by_age_and_care(association):
    everyone = Sample(
        Column("Age", np.array([20.0, 60.0, 70.0, 80.0])), Column("error", np.array([1.0, 2.0, 3.0, 8.0]))
    )
    parts = {"": everyone, "urgent care: no": everyone.take([0, 2]), "urgent care: yes": everyone.take([1, 3])}
    tests = tuple(association(0.0, 0.1, part=name, of=sample) for name, sample in parts.items())
    errors = studies.mean_errors(Subgroup(Node(None, 0.0, 4), everyone, tests))
    assert errors.T.to_dict("list") == {
        "everyone": [3.5, 5.5, 1.5],
        "urgent care": [5, 8, 2],
        "no urgent care": [2, 3, 1],
    }


def test_users_of_movies_by_generation_by_what_they_have_seen_and_by_genre():
    features = pd.DataFrame(
        {
            "age": [20, 30, 40, 60],
            "seen_rating": [3.0, 4.0, 3.0, 4.0],
            "rmse": [0.8, 0.9, 1.0, 1.1],
            "movie_age": [10.0, 20.0, 30.0, 40.0],
            "Action": [1, 1, 0, 0],
            "Comedy": [1, 1, 1, 1],
            "Western": [0, 0, 0, 1],
        }
    )
    recommendations = SimpleNamespace(features=features, target=pd.Series([4.0, 4.2, 4.4, 5.0]))
    users = studies.users_of(recommendations)
    assert users["generation"].tolist() == ["younger than 35"] * 2 + ["35 and older"] * 2
    assert users["seen"].tolist() == ["lower rated movies", "higher rated movies"] * 2
    genres = studies.genres_of(recommendations, users)
    ratings = studies.ratings_by_genre(users, genres).round(6).T.to_dict("list")
    assert ratings == {"Action": [4.1, 4.7, -0.6], "Western": [5.0, 4.2, 0.8]}, "everybody gets comedies"


def test_samples_above_a_thousand_people_are_not_resampled():
    limits = studies.resampling_limits(np.random.default_rng(0))
    assert limits.groupby("people")["resampled"].agg(["all", "any"]).to_numpy().tolist() == [[True] * 2, [False] * 2]


def test_another_split_of_adults_names_the_attributes_of_each_context():
    """Women in the north earn less, and no others."""
    rng = np.random.default_rng(0)
    woman, north = rng.random((2, 3_000)) < 0.5
    low = rng.random(3_000) < np.where(north & woman, 0.8, 0.4)
    columns = {"sex": (woman, "f", "m"), "region": (north, "north", "south"), "income": (low, "low", "high")}
    people = pd.DataFrame({name: np.where(mask, yes, no) for name, (mask, yes, no) in columns.items()})
    found = trials.adult_split(TRIAL, people=people, protected=["sex"], output="income")
    assert found["attributes"].tolist()[:2] == ["", "region"]
    assert found.loc[found["attributes"] == "region", "reported"].sum() == 1


def test_another_split_of_applicants_is_an_investigation_without_and_one_with_the_department():
    berkeley = load("berkeley")
    applicants = berkeley.features.assign(accepted=berkeley.target)
    p_values = trials.berkeley_split(TRIAL, applicants=applicants, smoothing=0)
    assert list(p_values)[:3] == ["everyone", "everyone, given the department", "department: A"]
    seed = TRIAL.seed("split")
    plain = Investigation("gender", "accepted", context=[], metric=Difference(smoothing=0), random_state=seed)
    alone = investigate(DataSource(applicants, random_state=seed), plain).section("gender").everyone
    assert p_values["everyone"] == alone.association().p_value
