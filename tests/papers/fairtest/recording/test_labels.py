from types import SimpleNamespace

import pandas as pd
import pytest

from fairlab.papers.fairtest import recording
from fairlab.papers.fairtest.recording.labels import SIGNS


def label_rows(**bounds):
    """Return a table of labels from their intervals; p-values are below 0.05 where 0 is outside."""
    rows = {
        name: {"low": low, "high": high, "p_value": 0.01 if low * high > 0 else 0.5}
        for name, (low, high) in bounds.items()
    }
    return pd.DataFrame(rows).T.assign(Black=0.104, White=0.2)


FIGURE_9 = {name: (0.1, 0.2) if sign > 0 else (-0.2, -0.1) for name, sign in SIGNS.items()}
PHOTOS = SimpleNamespace(
    target=pd.Series(["Black"] * 3 + ["White"] * 2),
    features=pd.DataFrame({"cart": [1, 1, 0, 0, 0], "drum": [1, 0, 1, 0, 1]}),
)


def record_tagger(notes, table):
    exp = notes("fairtest/image_tagger")
    recording.image_tagger(exp, {"caffe": PHOTOS, "overfeat": PHOTOS}, {"caffe": table}, {"caffe": 3, "overfeat": 4})
    assert exp.silent() == []
    return exp


def test_image_tagger(notes):
    exp = record_tagger(notes, label_rows(**FIGURE_9))
    assert all(exp.claims.values())
    assert not exp.skipped
    assert exp.records["figure-9", "face_powder.diff", "as_published"] == [-0.2, -0.1]
    assert exp.records["figure-9", "cart.black", "as_published"] == 10
    assert exp.records["figure-9", "global.size", "as_published"] == 4
    assert exp.records["section-6.3.2", "images.black", "as_published"] == 3
    assert exp.records["section-6.3.2", "labels_per_image", "as_published"] == 2


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"cattle": (-0.1, 0.1)}, {"cattle-black", "signs"}),
        ({"person": (0.1, 0.2)}, {"person-less-black", "signs"}),
        ({"drum": (-0.2, -0.1)}, {"signs"}),
    ],
)
def test_a_label_on_the_other_side(notes, change, failed):
    exp = record_tagger(notes, label_rows(**FIGURE_9 | change))
    assert {id for (_, id), holds in exp.claims.items() if not holds} == failed


def test_a_label_that_was_not_picked(notes):
    exp = record_tagger(notes, label_rows(**FIGURE_9).drop(index="cattle"))
    assert exp.skipped["figure-9", "cattle.p"] == "cattle is not among the 7 labels"
    assert not exp.claims["figure-9", "cattle-black"]


BY_GENDER = dict.fromkeys(("Romance", "Musical", "Children's"), (0.1, 0.2))
BY_GENDER |= dict.fromkeys(("Action", "Thriller", "War"), (-0.2, -0.1))
GENRES = {
    "gender": label_rows(**BY_GENDER),
    "generation": label_rows(War=(0.1, 0.2), Action=(-0.2, -0.1), Crime=(-0.2, -0.1)),
}


def record_movies(notes, association, *, genres=GENRES, **changed):
    bounds = {
        "rating": {"gender": (0.02, 0.1), "age": (0.1, 0.2)},
        "movie_age": {"gender": (-0.05, 0.05), "age": (0.2, 0.4)},
        "error": {"gender": (-0.1, -0.02), "age": (-0.2, -0.1)},
    }
    tests = {
        output: {name: association(*interval) for name, interval in (by | changed.get(output, {})).items()}
        for output, by in bounds.items()
    }
    exp = notes("fairtest/recommender")
    recording.recommender(exp, *tests.values(), genres, n_users=6040)
    assert exp.silent() == []
    return exp


def test_recommender(notes, association):
    exp = record_movies(notes, association)
    assert all(exp.claims.values())
    assert exp.records == {("appendix-a.2", "users", "as_published"): 6040}


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"rating": {"gender": (0.02, 0.31)}}, "women-less-popular"),
        ({"movie_age": {"gender": (-0.05, 0.11)}}, "women-same-period"),
        ({"rating": {"age": (-0.1, 0.2)}}, "older-users-older-and-higher-rated"),
        ({"error": {"age": (-0.2, 0.1)}}, "error-small"),
    ],
)
def test_a_correlation_that_is_another(notes, association, change, failed):
    exp = record_movies(notes, association, **change)
    assert [id for (_, id), holds in exp.claims.items() if not holds] == [failed]


def test_genres_that_are_not_proved_or_not_there(notes, association):
    genres = {
        "gender": label_rows(**BY_GENDER | {"War": (-0.1, 0.1)}),
        "generation": GENRES["generation"].drop("Crime"),
    }
    exp = record_movies(notes, association, genres=genres)
    assert not exp.claims["appendix-a.2", "men-genres"]
    assert exp.claims["appendix-a.2", "women-genres"]
    assert exp.skipped["appendix-a.2", "older-war"].endswith("in Crime")
    for id in ("ratings", "war-high-rated"):
        assert "fairlab data fetch fairtest/recommender/movielens-1m/ratings.dat" in exp.skipped["appendix-a.2", id]
