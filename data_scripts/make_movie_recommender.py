"""Datasheet of `movie-recommender`: who MovieLens' users are, and what a recommender would show and predict them.

What: the 6,040 users of MovieLens 1M, and for each the 50 unseen movies that alternating least squares (rank 12) rates
    highest, as computed by the authors of FairTest (Tramer et al. 2017). The ratings themselves are not used here.
Columns: gender; age, the lower end of MovieLens' bands as a round number (10 for under 18, 20, 30, 40, 50 for 45 to 55,
    60 for 56 and over); occupation; recommended_rating, the recommended movies' mean rating, weighted by numbers of
    ratings (stars); seen_rating, the plain mean over the movies that the user has rated (stars); rmse, the error of the
    predictions for ten ratings held out (stars); movie_age, mean years of the recommended movies from release to 2015;
    then one column for each genre, 1 if it is among the five most frequent of the recommended movies.
Quirks: every user has Drama among the five. MovieLens' bands 45 to 49 and 50 to 55 become one.
Licence: derived from MovieLens 1M, whose terms do not allow passing it on; FairTest is Apache-2.0.
Fit for: repeating the study. Unfit for: statements about how people of an age or gender like movies; the users chose to
    join in 2000, and the movies are those of one model.
Surrogate: registry.yaml says what it gets right and what not.
"""

from ast import literal_eval
from pathlib import Path

import pandas as pd

from fairlab.data.errors import DataError

FILE = "fairtest/recommender/recommendations.txt"
COLUMNS = {
    "Gender": "gender",
    "Age": "age",
    "Occupation": "occupation",
    "Avg Recommended Rating": "recommended_rating",
    "Avg Seen Rating": "seen_rating",
    "RMSE": "rmse",
    "Avg Movie Age": "movie_age",
    "Types": "genres",
}
AGES = {"1": 10, "18": 20, "25": 30, "35": 40, "45": 50, "50": 50, "56": 60}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row per user, in the order of the file.

    Raises
    ------
    DataError
        If the columns are others, or an age is no code of MovieLens.
    """
    table = pd.read_csv(raw[FILE], sep="\t", dtype=str)
    if list(table.columns) != list(COLUMNS):
        raise DataError(f"{FILE}: columns are {', '.join(table.columns)}; expected {', '.join(COLUMNS)}")
    table = table.rename(columns=COLUMNS)
    if unknown := sorted(set(table["age"]) - set(AGES)):
        raise DataError(f"{FILE}: unknown age codes {', '.join(unknown)}; expected {', '.join(AGES)}")
    genres = table.pop("genres").map(literal_eval).str.join("|").str.get_dummies("|")
    measured = ["recommended_rating", "seen_rating", "rmse", "movie_age"]
    numbers = table[measured].astype(float)  # by way of text, to keep every digit
    return pd.concat([table.assign(age=table["age"].map(AGES), **numbers), genres], axis=1)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
