from functools import cache

import pytest

from fairlab.data import load
from fairlab.fairtest import Discovery, ErrorProfiling, Testing, find_contexts, investigate
from fairlab.papers.fairtest.studies import STUDIES, TITLES, attributes, load_studies, table_2_row

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
    return STUDIES[name](load(variant, **options))


def test_every_study_has_data():
    assert set(STUDIES) == set(SOME)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("staples", [Testing]),
        ("healthcare", [ErrorProfiling]),
        ("image_tagger", [Discovery]),
        ("movielens", [Testing, Testing, Testing, Discovery]),
        ("adult", [Testing]),
        ("berkeley", [Testing]),
    ],
)
def test_investigations_of_a_study_share_a_source(name, kinds):
    investigations = study(name)
    assert [type(investigation) for investigation in investigations] == kinds
    assert len({id(investigation.source) for investigation in investigations}) == 1


def test_prediction_and_confidence_make_no_contexts_of_patients():
    [errors] = study("healthcare")
    assert len(errors.context) == 127
    assert not {"Age", "days", "predicted_days", "confidence"} & set(errors.context)
    assert errors.source.remaining_ == 2


def test_only_people_define_contexts_of_the_movies():
    *_, genres = investigations = study("movielens")
    assert {name for investigation in investigations for name in investigation.context} == {
        "gender",
        "age",
        "occupation",
    }
    assert len(genres.outputs) == 17


def test_berkeley_has_nothing_but_everyone():
    [admission] = study("berkeley")
    find_contexts(admission)
    assert len(admission.contexts("gender")) == 1
    assert admission.explanatory == "department"


def test_every_study_has_a_title_and_is_loaded_as_the_table_needs_it():
    asked = load_studies(lambda variant, **options: (variant, options), n_users=7)
    assert list(asked) == list(STUDIES) == list(TITLES)
    assert asked["staples"] == ("staples-population", {"n_users": 7})
    assert asked["image_tagger"] == ("image-tagger", {"labels": "overfeat"})


def test_a_row_of_table_2():
    applicants = load("berkeley")
    investigations = STUDIES["berkeley"](applicants)
    row = table_2_row(applicants, investigations, investigate(investigations))
    assert attributes(investigations) == {"gender", "department"}
    assert row == {
        "users": 4425,
        "attributes": 2,
        "discovered": 1,
        "validated": 0,
        "reported": 1,
        "smallest_reported": 2213,
    }
