from functools import cache

import pytest

from fairlab.data import load
from fairlab.papers.fairtest.studies import STUDIES, TITLES, attributes, fitted, load_studies, table_2_row
from fairlab.papers.fairtest.studies import tested as report_on

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
