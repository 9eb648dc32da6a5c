from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.fairtest import Column, Sample
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest.studies import (
    AGE,
    CARE,
    ERROR,
    MOVIE_AGE,
    PREDICTION,
    RATING,
    STUDIES,
    TITLES,
    TRUTH,
    attributes,
    fitted,
    genres_of,
    load_studies,
    mean_errors,
    patients_of,
    ratings_by_genre,
    resampling_limits,
    seconds_of_studies,
    table_2_row,
    users_of,
)
from fairlab.papers.fairtest.studies import tested as report_on

FEATURES = pd.DataFrame(
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
RECOMMENDATIONS = SimpleNamespace(features=FEATURES, target=pd.Series([4.0, 4.2, 4.4, 5.0]))
SOME = {
    "staples": ("staples-population", {"n_users": 2_000}),
    "healthcare": ("health", {"surrogate": True}),
    "image_tagger": ("image-tagger", {"labels": "overfeat", "surrogate": True}),
    "movielens": ("movie-recommender", {"surrogate": True}),
    "adult": ("adult-uci", {"surrogate": True}),
    "berkeley": ("berkeley", {}),
}


@cache
def study(name):
    variant, options = SOME[name]
    source, investigations = STUDIES[name](load(variant, **options))
    for one in investigations:
        one.set_params(max_depth=0).fit(source)
    return investigations


def test_every_study_has_data():
    assert set(STUDIES) == set(SOME)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("staples", [1]),
        ("healthcare", [2]),
        ("image_tagger", [745]),
        ("movielens", [1, 1, 1, 17]),
        ("adult", [1]),
        ("berkeley", [1]),
    ],
)
def test_investigations_of_a_study(name, labels):
    assert [len(one.outputs_) for one in study(name)] == labels


def test_prediction_and_confidence_make_no_contexts_of_patients():
    [errors] = study("healthcare")
    assert len(errors.context_) == 127
    assert not {"Age", "days", "predicted_days", "confidence"} & set(errors.context_)
    assert errors.source_.remaining_ == 2


def test_only_people_define_contexts_of_the_movies():
    *_, genres = investigations = study("movielens")
    assert {name for investigation in investigations for name in investigation.context_} == {
        "gender",
        "age",
        "occupation",
    }
    assert len(genres.outputs_) == 17


def test_berkeley_has_nothing_but_everyone():
    [admission] = study("berkeley")
    assert len(admission.nodes("gender")) == 1
    assert admission.explanatory == "department"


def test_every_study_has_a_title_and_is_loaded_as_the_table_needs_it():
    asked = load_studies(lambda variant, **options: (variant, options), n_users=7)
    assert list(asked) == list(STUDIES) == list(TITLES)
    assert asked["staples"] == ("staples-population", {"n_users": 7})
    assert asked["image_tagger"] == ("image-tagger", {"labels": "overfeat"})


def test_a_row_of_table_2():
    applicants = load("berkeley")
    investigations = fitted(STUDIES["berkeley"](applicants))
    row = table_2_row(applicants, investigations, report_on(investigations))
    assert attributes(investigations) == {"gender", "department"}
    assert row == {
        "users": 4425,
        "attributes": 2,
        "discovered": 1,
        "validated": 0,
        "reported": 1,
        "smallest_reported": 2213,
    }


def test_days_are_also_on_the_log_scale():
    features = pd.DataFrame(
        {AGE: [5, 75], CARE: [0, 2], "predicted_days": [0.0, np.e - 1], "confidence": ["high", "low"]}
    )
    table = patients_of(SimpleNamespace(features=features, target=pd.Series([1, 0])))
    assert table[PREDICTION].tolist() == [0, 1]
    assert table[TRUTH].tolist() == [np.log(2), 0]
    assert table["days"].tolist() == [0, np.e - 1]
    assert table["urgent care"].tolist() == ["no", "yes"]
    assert "predicted_days" not in table


def test_mean_errors_by_age_and_care(association):
    def people(age, error):
        return Sample(Column(AGE, np.array(age)), Column("error", np.array(error)))

    everyone = people([20.0, 60.0, 70.0, 80.0], [1.0, 2.0, 3.0, 8.0])
    parts = {"": everyone, "urgent care: no": everyone.take([0, 2]), "urgent care: yes": everyone.take([1, 3])}
    tests = tuple(association(0.0, 0.1, part=name, of=sample) for name, sample in parts.items())
    errors = mean_errors(Subgroup(Node(None, 0.0, 4), everyone, tests))
    assert errors.loc["everyone"].tolist() == [3.5, 5.5, 1.5]
    assert errors.loc["urgent care"].tolist() == [5, 8, 2]
    assert errors.loc["no urgent care"].tolist() == [2, 3, 1]


def test_users_have_a_generation_and_what_they_have_seen():
    users = users_of(RECOMMENDATIONS)
    assert users["generation"].tolist() == ["younger than 35"] * 2 + ["35 and older"] * 2
    assert users["seen"].tolist() == ["lower rated movies", "higher rated movies"] * 2
    assert users[[RATING, MOVIE_AGE, ERROR]].iloc[0].tolist() == [4.0, 10.0, 0.8]


def test_a_genre_that_everybody_gets_tells_nothing():
    users = users_of(RECOMMENDATIONS)
    assert genres_of(RECOMMENDATIONS, users) == ["Action", "Western"]
    assert genres_of(RECOMMENDATIONS, users.head(3)) == ["Action"]


def test_ratings_with_and_without_a_genre():
    ratings = ratings_by_genre(users_of(RECOMMENDATIONS), ["Action", "Western"]).round(6)
    assert ratings.loc["Action"].tolist() == [4.1, 4.7, -0.6]
    assert ratings.loc["Western"].tolist() == [5.0, 4.2, 0.8]


def test_each_repeat_has_its_seconds_and_each_study_its_work():
    repeats, work = seconds_of_studies({"berkeley": load("berkeley")}, 2)
    assert repeats[["study", "repeat"]].to_numpy().tolist() == [["berkeley", 0], ["berkeley", 1]]
    assert (repeats[["train", "test"]] >= 0).all(axis=None)
    assert repeats["test"].sum() > 0
    assert work.loc["berkeley", "hypotheses"] == 7  # everyone given the department, and six departments
    assert work.loc["berkeley", "of at most 1000 people"] == 6
    assert work.loc["berkeley", "metrics"] == "COND-DIFF, DIFF"


def test_samples_above_a_thousand_people_are_not_resampled():
    limits = resampling_limits(np.random.default_rng(0)).set_index(["metric", "people"])["resampled"]
    assert limits.xs(1_000, level="people").all()
    assert not limits.xs(1_001, level="people").any()
