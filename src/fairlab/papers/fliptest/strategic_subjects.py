"""FlipTest's study of Chicago's Strategic Subject List (section 5.2): its groups, and published counts of the list."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairlab.data.dataset import Dataset

# In the order of the paper's list.
LABELS = {
    "age": "age at latest arrest",
    "shooting_victim": "victim of shootings",
    "assault_victim": "victim of assaults",
    "violent_arrests": "violent arrests",
    "gang_affiliation": "gang affiliation",
    "narcotics_arrests": "narcotics arrests",
    "crime_trend": "crime trend",
    "weapons_arrests": "weapons arrests",
}
AXIS_LABELS = {
    "age": "age at latest arrest (years)",
    "shooting_victim": "victim of shootings (times)",
    "assault_victim": "victim of assaults (times)",
    "violent_arrests": "violent arrests (number)",
    "gang_affiliation": "gang affiliation",
    "narcotics_arrests": "narcotics arrests (number)",
    "crime_trend": "crime trend (list's scale)",
    "weapons_arrests": "weapons arrests (number)",
}
BANDS = {
    "age": {10: "under 20"} | {age: f"{age}–{age + 9}" for age in range(20, 80, 10)},
    "gang_affiliation": {0: "no", 1: "yes"},
}
RACES = {"black": "BLK", "white": "WHI"}
HIGH_RISK = 345  # the score from which the ground truth is positive

# The published group of 41,560 black people is a fifth of the list's 207,760.
TEST_SHARE = 0.2

# Units of the predictors; counts are whole and at least 0.
STEPS = {name: {"age": 10.0, "crime_trend": 0.1}.get(name, 1.0) for name in LABELS}


def high_risk_people(counts: Dataset) -> pd.Series:
    """Return how many people of the list have a score of at least 345, by race, from its published counts."""
    people = counts.target[counts.features["score"] >= HIGH_RISK]
    return people.groupby(counts.features["race"], observed=True).sum()


@dataclass(frozen=True, eq=False)
class Subjects:
    """Black and white people of the list, split into a training set for maps and a test set.

    Attributes
    ----------
    train, test : dict of str to DataFrame
        By race, ``black`` and ``white``, the eight predictors in standard deviations.
    score : Series
        The score of everyone in either part.
    scaler : StandardScaler
        From the list's own units to standard deviations.
    """

    train: dict[str, pd.DataFrame]
    test: dict[str, pd.DataFrame]
    score: pd.Series
    scaler: StandardScaler

    def only(self, *, high_risk: bool) -> "Subjects":
        """Return the ground-truth positives (a score of at least 345) or the negatives."""
        truth = (self.score >= HIGH_RISK) == high_risk
        parts = ({race: X[truth[X.index]] for race, X in part.items()} for part in (self.train, self.test))
        return Subjects(*parts, self.score, self.scaler)

    def whole(self, image: pd.DataFrame) -> pd.DataFrame:
        """Return images with every predictor rounded to the nearest possible value.

        A generator's images are close to whole counts but never equal to them, while most people's counts are exactly
        0. The two distributions can only be compared on common values.
        """
        own_units = pd.DataFrame(self.scaler.inverse_transform(image), columns=image.columns, index=image.index)
        steps = pd.Series(STEPS)
        whole = (own_units / steps).round() * steps
        lowest = pd.Series(0.0, index=whole.columns).where(whole.columns != "crime_trend", -np.inf)
        whole = whole.clip(lower=lowest, axis=1)
        whole["gang_affiliation"] = whole["gang_affiliation"].clip(upper=1)
        return self.scaler.transform(whole)


def subjects(dataset: Dataset, *, random_state: int) -> Subjects:
    """Scale the predictors and split the black and the white people at random.

    Parameters
    ----------
    dataset : Dataset
        ``ssl``. Predictors are standardised over all its rows, of every race.
    random_state : int
        For the split: a fifth is for testing.
    """
    features = dataset.features[list(LABELS)]
    scaler = StandardScaler().set_output(transform="pandas").fit(features)
    X = scaler.transform(features)
    tested = np.random.default_rng(random_state).random(len(X)) < TEST_SHARE
    race = dataset.sensitive_features["race"]
    parts = ({name: X[part & (race == code)] for name, code in RACES.items()} for part in (~tested, tested))
    return Subjects(*parts, dataset.target, scaler)
