"""The studies of table 2: the investigations of each data set, on one source, and how the table counts them.

Settings are those of the authors' code: which attributes are protected, which may define contexts, and how much is
held out.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone

from fairlab.data import Dataset
from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.metrics import Correlation, Difference
from fairlab.fairtest.report import AssociationReport, Subgroup
from fairlab.fairtest.resampling import EXACT_LIMIT
from fairlab.fairtest.sample import PUBLISHED, Column, DataSource, Sample

# Columns of the patients; ages in years, and figure 7's older patients are above `OLD`.
AGE, CARE, CONFIDENCE = "Age", "Treated at Urgent Care", "confidence"
PREDICTION, TRUTH = "log(1 + days)", "true log(1 + days)"
OLD = 60
# Columns of the users of movies; the last age band before 35 years.
RATING, MOVIE_AGE, ERROR = "rating of recommended movies (stars)", "age of recommended movies (years)", "RMSE (stars)"
OUTPUTS = [RATING, MOVIE_AGE, ERROR]
YOUNG = 30
GENERATION = "generation"  # age in two groups, which a discovery takes
MOVIE_CONTEXT = ("gender", "age", "occupation")
MOVIE_NUMBERS = ("seen_rating", "rmse", "movie_age")
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

    A third of the patients is for training and each of two test sets, the second for the confidence of the prediction
    as explanatory attribute.
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

    The error is in the data already, one for each user. A discovery takes two groups only, so that age is cut in two.
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

    A generation is an age.
    """
    names = {name for one in investigations for name in (*one.sensitive_features_, *one.context_, *one.explanatory_)}
    return {"age" if name == GENERATION else name for name in names}


def parameters_used(made: Mapping[str, Sequence[Investigation]]) -> pd.DataFrame:
    """Return the parameters of fitted studies that FairTest's interface has defaults for, without repetition."""
    rows = [
        {
            "train.max_depth": one.max_depth,
            "train.min_leaf_size": one.min_leaf_size,
            # Of all test sets together, as it was given.
            "test.confidence": round(one.source_.confidence_level_**one.source_.budget, 10),
        }
        for investigations in made.values()
        for one in investigations
    ]
    return pd.DataFrame(rows).drop_duplicates(ignore_index=True)


def fitted(study: Study) -> list[Investigation]:
    """Find the contexts of a study."""
    source, investigations = study
    return [clone(one).fit(source) for one in investigations]


def tested(investigations: Sequence[Investigation]) -> AssociationReport:
    """Test the contexts of a study, all on one test set."""
    return investigations[0].test(*investigations[1:])


def table_2_row(dataset: Dataset, investigations: Sequence[Investigation], report: AssociationReport) -> dict[str, int]:
    """Return what table 2 prints of a study.

    Counts are over all trees and include the whole population where it belongs there. ``smallest_reported`` is the
    smallest significant subpopulation, the whole population if there is none.
    """
    counts = report.counts()
    smallest = counts["smallest_significant"].min()
    return {
        "users": len(dataset.features),
        "attributes": len(attributes(investigations)),
        "discovered": counts["tested"].sum(),
        "validated": counts["significant"].sum(),
        "reported": counts["reported"].sum(),
        "smallest_reported": report.sections[0].everyone.size if pd.isna(smallest) else smallest,
    }


def patients_of(health: Dataset) -> pd.DataFrame:
    """Return attributes, prediction and truth of all patients, these in days and on the contest's log scale."""
    attributes = health.features.drop(columns=["predicted_days", CONFIDENCE])
    outcomes = pd.DataFrame(
        {
            PREDICTION: np.log1p(health.features["predicted_days"]),
            TRUTH: np.log1p(health.target),
            "days": health.features["predicted_days"],
            "true days": health.target,
            "urgent care": np.where(attributes[CARE] > 0, "yes", "no"),
            CONFIDENCE: health.features[CONFIDENCE],
        }
    )
    return attributes.join(outcomes)


def mean_errors(in_days: Subgroup) -> pd.DataFrame:
    """Return mean absolute errors in days by age, of everyone, and given urgent care (an explanation of `in_days`)."""
    samples = {"everyone": in_days.sample} | {
        name: in_days.association(f"urgent care: {answer}").sample
        for name, answer in (("urgent care", "yes"), ("no urgent care", "no"))
    }
    return pd.DataFrame({name: _mean_errors(sample) for name, sample in samples.items()}).T


def _mean_errors(sample: Sample) -> dict[str, float]:
    errors, old = sample.output.values, sample.sensitive_features.values > OLD
    return {"all": errors.mean(), "older": errors[old].mean(), "younger": errors[~old].mean()}


def users_of(recommendations: Dataset) -> pd.DataFrame:
    """Return all users with what is recommended to them, their generation, and how high movies seen are rated."""
    users = recommendations.features.rename(columns={"movie_age": MOVIE_AGE, "rmse": ERROR})
    lower = users["seen_rating"] < users["seen_rating"].mean()
    return users.assign(
        **{RATING: recommendations.target},
        generation=generation_of(users["age"]),
        seen=np.where(lower, "lower rated movies", "higher rated movies"),
    )


def generation_of(age: pd.Series) -> np.ndarray:
    """Return the older or the younger generation by age: the cut of MovieLens' bands that is nearest to the middle."""
    return np.where(age > YOUNG, "35 and older", "younger than 35")


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


def seconds_of_studies(data: Mapping[str, Dataset], n_repeats: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure the processor time of training and of testing of every study, each time on a new source.

    Processor time is wall time on an otherwise idle core, and does not depend on what else the machine is doing.

    Returns repeats (study, repeat, seconds of ``train`` and ``test``), and the work by study: see `tested_hypotheses`.
    """
    repeats, work = [], {}
    for name, dataset in data.items():
        for repeat in range(n_repeats):
            train, investigations = _seconds(fitted, STUDIES[name](dataset))
            test, report = _seconds(tested, investigations)
            repeats.append({"study": name, "repeat": repeat, "train": train, "test": test})
        work[name] = tested_hypotheses(report) | {"people trained on": investigations[0].source_.n_train}
    return pd.DataFrame(repeats), pd.DataFrame(work).T


def tested_hypotheses(report: AssociationReport) -> dict:
    """Return how many hypotheses were tested, how many of few people, and by which metrics."""
    frame = report.to_frame()
    return {
        "hypotheses": len(frame),
        f"of at most {EXACT_LIMIT} people": (frame["size"] <= EXACT_LIMIT).sum(),
        "metrics": ", ".join(sorted(set(frame["metric"]))),
    }


def resampling_limits(rng: np.random.Generator, *, random_state: int = 0) -> pd.DataFrame:
    """Test random samples at the limit of resampling, and of one person more.

    Where a test and large-sample theory agree to the last digit there was no resampling.
    """
    kinds = {
        "difference": (Difference(variant=PUBLISHED), lambda n: rng.integers(2, size=n), ("no", "yes")),
        "correlation": (Correlation(variant=PUBLISHED), lambda n: rng.normal(size=n), None),
    }
    rows = []
    for kind, (metric, draw, categories) in kinds.items():
        for n in (EXACT_LIMIT, EXACT_LIMIT + 1):
            sample = Sample(*(Column(name, draw(n), categories) for name in ("group", "output")))
            exact = metric.exact(sample, confidence_level=0.95, rng=np.random.default_rng(random_state))
            approximate = metric.approximate(sample, confidence_level=0.95)
            pairs = [(getattr(exact, name), getattr(approximate, name)) for name in ("low", "high", "p_value")]
            resampled = not np.isclose(*zip(*pairs, strict=True), rtol=1e-12).all()
            rows.append({"metric": kind, "people": n, "resampled": resampled})
    return pd.DataFrame(rows)


def _seconds(step: Callable, argument) -> tuple[float, object]:
    """Return the seconds of a step, and what it returns."""
    start = time.process_time()
    result = step(argument)
    return time.process_time() - start, result
