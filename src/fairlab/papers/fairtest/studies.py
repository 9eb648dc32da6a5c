"""The studies of table 2: the investigations of each data set, on one source, and their rows in the table.

Settings are those of the authors' code: which attributes are protected, which may define contexts, and how much is
held out.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.metrics import Difference
from fairlab.fairtest.report import AssociationReport
from fairlab.fairtest.sample import PUBLISHED, DataSource

# The last age band below 35 years, of the users of movies.
YOUNG = 30
GENERATION = "generation"  # age in two groups, as a discovery requires
MOVIE_CONTEXT = ("gender", "age", "occupation")
Study = tuple[DataSource, list[Investigation]]
PLAIN = Difference(smoothing=0)  # as in the published figures 4 and 9
TITLES = {
    "staples": "Staples",
    "healthcare": "health predictor",
    "image_tagger": "image tagger",
    "movielens": "movies",
    "adult": "Adult",
    "berkeley": "Berkeley",
}


def load_studies(load: Callable[..., Dataset], n_users: int) -> dict[str, Dataset]:
    """Return the data of all studies by name, loaded by `load`, with `n_users` shoppers drawn anew for Staples."""
    return {
        "staples": load("staples-population", n_users=n_users),
        "healthcare": load("health"),
        "image_tagger": load("image-tagger", labels="overfeat"),
        "movielens": load("movie-recommender"),
        "adult": load("adult-uci"),
        "berkeley": load("berkeley"),
    }


def staples(users: Dataset) -> Study:
    """Test the price for associations with income and with race."""
    source = DataSource(users.features.assign(price=users.target), variant=PUBLISHED)
    return source, [Investigation(["income", "race"], "price")]


def healthcare(patients: Dataset) -> Study:
    """Profile the error of the predicted days in hospital, on a log scale, against age.

    The training set and two test sets get a third of the patients each; the second test set is for the confidence of
    the prediction as explanatory attribute.
    """
    prediction, confidence = "predicted_days", "confidence"
    logs = {prediction: np.log1p(patients.features[prediction]), "days": np.log1p(patients.target)}
    data = pd.concat([patients.features.drop(columns=prediction), pd.DataFrame(logs)], axis=1)
    source = DataSource(data, budget=2, train_size=0.33, variant=PUBLISHED)
    context = [name for name in patients.features if name not in ("Age", prediction, confidence)]
    return source, [Investigation("Age", prediction, ground_truth="days", context=context)]


def image_tagger(photos: Dataset) -> Study:
    """Discover the labels that go with race."""
    source = DataSource(photos.features.assign(race=photos.target), variant=PUBLISHED)
    return source, [Investigation("race", list(photos.features), context=[], metric=PLAIN)]


def movies(viewers: Dataset) -> Study:
    """Test rating and age of recommended movies, profile errors and discover genres, by gender and age.

    The data already has an error for each user. A discovery takes only two groups, so age is split in two.
    """
    rating = "recommended_rating"
    users = viewers.features.assign(**{rating: viewers.target, GENERATION: generation_of(viewers.features["age"])})
    source = DataSource(users, variant=PUBLISHED)
    genres, context = genres_of(viewers, viewers.features), list(MOVIE_CONTEXT)
    tests = [Investigation(["gender", "age"], output, context=context) for output in (rating, "movie_age", "rmse")]
    by_gender = Investigation("gender", genres, top_k=len(genres), context=context)
    by_generation = Investigation(GENERATION, genres, top_k=len(genres), context=["gender", "occupation"])
    return source, [*tests, by_gender, by_generation]


def adult(people: Dataset) -> Study:
    """Test income for associations with sex and with race."""
    source = DataSource(people.features.drop(columns="fnlwgt").assign(income=people.target), variant=PUBLISHED)
    return source, [Investigation(["sex", "race"], "income")]


def berkeley(applicants: Dataset) -> Study:
    """Test admission for a difference between women and men, given the department."""
    source = DataSource(applicants.features.assign(accepted=applicants.target), variant=PUBLISHED)
    return source, [Investigation("gender", "accepted", explanatory="department", metric=PLAIN)]


STUDIES: Mapping[str, Callable[[Dataset], Study]] = {
    "staples": staples,
    "healthcare": healthcare,
    "image_tagger": image_tagger,
    "movielens": movies,
    "adult": adult,
    "berkeley": berkeley,
}


def attributes(investigations: Sequence[Investigation]) -> set[str]:
    """Return the attributes of a fitted study that are protected, explanatory or define contexts.

    The generation counts as age.
    """
    names = {name for one in investigations for name in (*one.sensitive_features_, *one.context_, *one.explanatory_)}
    return {"age" if name == GENERATION else name for name in names}


def table_2_row(dataset: Dataset, investigations: Sequence[Investigation], report: AssociationReport) -> dict[str, int]:
    """Return the row of table 2 for a study.

    Counts are over all trees and include the whole population where it qualifies. ``smallest_reported`` is the size of
    the smallest significant subpopulation, or of the whole population if there is none.
    """
    counts = report.counts()
    smallest = counts["smallest_significant"].min()
    return {
        "users": len(dataset.features),
        "attributes": len(attributes(investigations)),
        "discovered": counts["tested"].sum(),
        "validated": counts["significant"].sum(),
        "reported": counts["reported"].sum(),
        "smallest_reported": report.frame["size"].iloc[0] if pd.isna(smallest) else smallest,
    }


def generation_of(age: pd.Series) -> np.ndarray:
    """Return the generation, older or younger, of each age, cut between the MovieLens bands nearest to the middle."""
    return np.where(age > YOUNG, "35 and older", "younger than 35")


def genres_of(recommendations: Dataset, users: pd.DataFrame) -> list[str]:
    """Return the genres that some, but not all, of the users get."""
    return [name for name in recommendations.features.loc[:, "Action":"Western"] if 0 < users[name].mean() < 1]
