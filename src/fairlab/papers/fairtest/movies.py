"""The users of appendix A.2: what is recommended to them, in averages, and the groups that are compared."""

import numpy as np
import pandas as pd

from fairlab.data import Dataset

RATING, MOVIE_AGE, ERROR = "rating of recommended movies (stars)", "age of recommended movies (years)", "RMSE (stars)"
OUTPUTS = [RATING, MOVIE_AGE, ERROR]
YOUNG = 30  # the last age band before 35 years


def table_of(recommendations: Dataset) -> pd.DataFrame:
    """Return all users with what is recommended to them, their generation, and how high movies seen are rated."""
    users = recommendations.features.rename(columns={"movie_age": MOVIE_AGE, "rmse": ERROR})
    lower = users["seen_rating"] < users["seen_rating"].mean()
    return users.assign(
        **{RATING: recommendations.target},
        generation=np.where(users["age"] > YOUNG, "35 and older", "younger than 35"),
        seen=np.where(lower, "lower rated movies", "higher rated movies"),
    )


def genres_of(recommendations: Dataset, users: pd.DataFrame) -> list[str]:
    """Return the genres that some of the users get, and not all."""
    return [name for name in recommendations.features.loc[:, "Action":"Western"] if 0 < users[name].mean() < 1]


def ratings_by_genre(users: pd.DataFrame, genres: list[str]) -> pd.DataFrame:
    """Return mean ratings of what is recommended to users with and without each genre, and the difference, in stars."""
    ratings = pd.DataFrame(
        {
            "with": {name: users.loc[users[name] == 1, RATING].mean() for name in genres},
            "without": {name: users.loc[users[name] == 0, RATING].mean() for name in genres},
        }
    )
    return ratings.assign(difference=ratings["with"] - ratings["without"])
