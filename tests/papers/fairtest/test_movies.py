from types import SimpleNamespace

import pandas as pd

from fairlab.papers.fairtest.movies import ERROR, MOVIE_AGE, RATING, genres_of, ratings_by_genre, table_of

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


def test_users_have_a_generation_and_what_they_have_seen():
    users = table_of(RECOMMENDATIONS)
    assert users["generation"].tolist() == ["younger than 35"] * 2 + ["35 and older"] * 2
    assert users["seen"].tolist() == ["lower rated movies", "higher rated movies"] * 2
    assert users[[RATING, MOVIE_AGE, ERROR]].iloc[0].tolist() == [4.0, 10.0, 0.8]


def test_a_genre_that_everybody_gets_tells_nothing():
    users = table_of(RECOMMENDATIONS)
    assert genres_of(RECOMMENDATIONS, users) == ["Action", "Western"]
    assert genres_of(RECOMMENDATIONS, users.head(3)) == ["Action"]


def test_ratings_with_and_without_a_genre():
    ratings = ratings_by_genre(table_of(RECOMMENDATIONS), ["Action", "Western"]).round(6)
    assert ratings.loc["Action"].tolist() == [4.1, 4.7, -0.6]
    assert ratings.loc["Western"].tolist() == [5.0, 4.2, 0.8]
