"""The studies of table 2: the investigations of each data set, on one source, ready to be trained.

Settings are those of the authors' code: which attributes are protected, which may define contexts, and how much is
held out.
"""

from collections.abc import Callable, Mapping

import numpy as np

from fairlab.data import Dataset
from fairlab.fairtest.investigation import Discovery, ErrorProfiling, Investigation, Testing
from fairlab.fairtest.source import DataSource
from fairlab.fairtest.tables import Difference

MOVIE_CONTEXT = ("gender", "age", "occupation")
MOVIE_NUMBERS = ("seen_rating", "rmse", "movie_age")
PLAIN = Difference(smoothing=0)  # as in the published figures 4 and 9


def staples(users: Dataset) -> list[Investigation]:
    """Test the price for associations with income and with race."""
    source = DataSource(users.features.assign(price=users.target))
    return [Testing(source, ["income", "race"], "price")]


def healthcare(patients: Dataset) -> list[Investigation]:
    """Profile the error of the predicted days in hospital, on a log scale, against age.

    A third of the patients is for training and each of two test sets, the second for the confidence of the prediction
    as explanatory attribute.
    """
    prediction, confidence = "predicted_days", "confidence"
    data = patients.features.assign(days=np.log1p(patients.target))
    data[prediction] = np.log1p(data[prediction])
    source = DataSource(data, budget=2, train_size=0.33)
    context = [name for name in patients.features if name not in ("Age", prediction, confidence)]
    return [ErrorProfiling(source, "Age", prediction, ground_truth="days", context=context)]


def image_tagger(photos: Dataset) -> list[Investigation]:
    """Discover the labels that go with race."""
    source = DataSource(photos.features.assign(race=photos.target))
    return [Discovery(source, "race", list(photos.features), context=[], metric=PLAIN)]


def movies(viewers: Dataset) -> list[Investigation]:
    """Test rating and age of recommended movies, profile errors and discover genres, by gender and age.

    The error is in the data already, one for each user. A discovery takes two groups only, hence gender alone.
    """
    rating = "recommended_rating"
    source = DataSource(viewers.features.assign(**{rating: viewers.target}))
    genres = [name for name in viewers.features if name not in (*MOVIE_CONTEXT, *MOVIE_NUMBERS)]
    context = list(MOVIE_CONTEXT)
    tests = [Testing(source, ["gender", "age"], output, context=context) for output in (rating, "movie_age", "rmse")]
    return [*tests, Discovery(source, "gender", genres, context=context)]


def adult(people: Dataset) -> list[Investigation]:
    """Test income for associations with sex and with race."""
    source = DataSource(people.features.drop(columns="fnlwgt").assign(income=people.target))
    return [Testing(source, ["sex", "race"], "income")]


def berkeley(applicants: Dataset) -> list[Investigation]:
    """Test admission for a difference between women and men, given the department."""
    source = DataSource(applicants.features.assign(accepted=applicants.target))
    return [Testing(source, "gender", "accepted", explanatory="department", metric=PLAIN)]


STUDIES: Mapping[str, Callable[[Dataset], list[Investigation]]] = {
    "staples": staples,
    "healthcare": healthcare,
    "image_tagger": image_tagger,
    "movielens": movies,
    "adult": adult,
    "berkeley": berkeley,
}
