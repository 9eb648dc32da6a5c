"""FlipTest's study of Chicago's Strategic Subject List (section 5.2): the groups, and the models under test."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairlab.data.dataset import Dataset
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry

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
RACES = {"black": "BLK", "white": "WHI"}
HIGH_RISK = 345  # the score from which the ground truth is positive

# The published group of 41,560 black people is a fifth of the list's 207,760.
TEST_SHARE = 0.2

# What the predictors are counted in; a count is whole and at least 0.
STEPS = {name: {"age": 10.0, "crime_trend": 0.1}.get(name, 1.0) for name in LABELS}

# The published classifier: high risk above the threshold, in standard deviations of the list.
AGE_WEIGHT, NARCOTICS_WEIGHT, THRESHOLD = -53.0, 25.0, 65.0


def high_risk_people(counts: Dataset) -> pd.Series:
    """Return how many people of the list have a score from 345 on, by race, from its published counts."""
    people = counts.target[counts.features["score"] >= HIGH_RISK]
    return people.groupby(counts.features["race"], observed=True).sum()


def regression_weights() -> pd.Series:
    """Return the weights of a least-squares fit of the score on all people of the list, in standard deviations."""
    path = fetch_file(project_registry().file("ssl_aggregates/ols_linear.csv"))
    return pd.read_csv(path, index_col="term")["coef_standardised"].drop("1")


@dataclass(frozen=True, eq=False)
class Subjects:
    """Black and white people of the list, parted into those that maps are trained on and those that are tested.

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
        """Return the ground-truth positives, or the negatives: those with a score of at least 345, or below."""
        truth = (self.score >= HIGH_RISK) == high_risk
        parts = ({race: X[truth[X.index]] for race, X in part.items()} for part in (self.train, self.test))
        return Subjects(*parts, self.score, self.scaler)

    def whole(self, image: pd.DataFrame) -> pd.DataFrame:
        """Return images with every predictor at the nearest value that it can have.

        A generator's images are close to whole counts and never on them, while most people's counts are exactly 0: the
        two distributions can only be compared on common values.
        """
        own_units = pd.DataFrame(self.scaler.inverse_transform(image), columns=image.columns, index=image.index)
        steps = pd.Series(STEPS)
        whole = (own_units / steps).round() * steps
        lowest = pd.Series(0.0, index=whole.columns).where(whole.columns != "crime_trend", -np.inf)
        whole = whole.clip(lower=lowest, axis=1)
        whole["gang_affiliation"] = whole["gang_affiliation"].clip(upper=1)
        return self.scaler.transform(whole)


def subjects(dataset: Dataset, *, random_state: int) -> Subjects:
    """Scale the predictors and part the black and the white people at random.

    Parameters
    ----------
    dataset : Dataset
        ``ssl``. Zero mean and unit variance hold over all its rows, whatever their race.
    random_state : int
        Of the parting: a fifth is for testing.
    """
    features = dataset.features[list(LABELS)]
    scaler = StandardScaler().set_output(transform="pandas").fit(features)
    X = scaler.transform(features)
    tested = np.random.default_rng(random_state).random(len(X)) < TEST_SHARE
    race = dataset.sensitive_features["race"]
    parts = ({name: X[part & (race == code)] for name, code in RACES.items()} for part in (~tested, tested))
    return Subjects(*parts, dataset.target, scaler)


def group_table(people: Subjects) -> pd.DataFrame:
    """Return, for each race and part, the number of people and the share with a score of at least 345."""
    groups = {(race, part): X for part in ("train", "test") for race, X in getattr(people, part).items()}
    rows = {
        key: {"people": len(X), "score ≥ 345": (people.score[X.index] >= HIGH_RISK).mean()} for key, X in groups.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["race", "part"])


def investigated(dataset: Dataset, people: Subjects) -> pd.DataFrame:
    """Return what FairTest is given: predictors in the list's own units, ``race``, and the classifier's ``risk``."""
    everybody = pd.concat([X for part in (people.train, people.test) for X in part.values()]).sort_index()
    return dataset.features.loc[everybody.index, list(LABELS)].assign(
        race=dataset.sensitive_features["race"].loc[everybody.index].astype(str),
        risk=np.where(biased_model(everybody), "high", "low"),
    )


def biased_model(X: pd.DataFrame) -> np.ndarray:
    """Return the published classifier's labels, 1 for high risk; it uses age and narcotics arrests only."""
    return (AGE_WEIGHT * X["age"] + NARCOTICS_WEIGHT * X["narcotics_arrests"] > THRESHOLD).astype(int).to_numpy()


@dataclass(frozen=True, eq=False)
class ProxyModel:
    """A classifier that spreads its bias over several proxies of race (appendix F).

    Attributes
    ----------
    weights : Series
        Of the predictors, in standard deviations; zero for those that are not used.
    threshold : float
        High risk is above it.
    """

    weights: pd.Series
    threshold: float

    @property
    def proxies(self) -> list[str]:
        """Names of the predictors that carry the bias."""
        return [name for name in self.weights[self.weights != 0].index if name != "age"]

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return 1 for high risk, 0 for low."""
        return (X @ self.weights > self.threshold).astype(int).to_numpy()


def proxy_model(groups: dict[str, pd.DataFrame], *, n_proxies: int = 3) -> ProxyModel:
    """Return a model like the published one, with the weight of narcotics arrests shared among proxies of race.

    The paper's weights are not available; a rule replaces them. The proxies are the predictors other than age
    that correlate most with being black. Each has the weight of narcotics arrests divided by the root of their number,
    with the sign of its correlation; age has its published weight; the threshold calls as many people high risk as
    the published one, as near as ties allow.

    Parameters
    ----------
    groups : dict of str to DataFrame
        By race, ``black`` and ``white``, the predictors in standard deviations.
    n_proxies : int
    """
    X = pd.concat(groups.values())
    black = np.concatenate([np.full(len(table), name == "black") for name, table in groups.items()])
    correlation = X.drop(columns="age").corrwith(pd.Series(black, index=X.index, dtype=float))
    proxies = correlation[correlation.abs().nlargest(n_proxies).index]
    weights = pd.Series(0.0, index=X.columns)
    weights["age"] = AGE_WEIGHT
    weights[proxies.index] = np.sign(proxies) * NARCOTICS_WEIGHT / np.sqrt(n_proxies)
    return ProxyModel(weights, float(np.quantile(X @ weights, 1 - biased_model(X).mean())))
