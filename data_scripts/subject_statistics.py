"""Statistics of the Strategic Subject List that others published, of any table like it.

Each comes with its influence on every row: by how much, to first order, the statistic grows when the row's weight
does. The mean of influence times the gradient of the rows' log-likelihood is then the gradient of the statistic with
respect to a model's parameters, which is what fitting a surrogate needs.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

from fairlab.data.surrogates.subjects import COLUMNS, PREDICTORS, decade

FEATURES = COLUMNS[1:9]


@dataclass(frozen=True, eq=False)
class Statistic:
    """A number and the influence of every row on it.

    Attributes
    ----------
    value : float
    influence : ndarray of shape (n_rows,)
        With mean 0.
    """

    value: float
    influence: np.ndarray


def mean(values: np.ndarray, *, among: np.ndarray | None = None) -> Statistic:
    """Return the mean, of the rows `among` if given."""
    among = np.ones(len(values), dtype=bool) if among is None else among
    value = values[among].mean()
    return Statistic(value, among * (values - value) / among.mean())


def spread(values: np.ndarray, *, among: np.ndarray | None = None) -> Statistic:
    """Return the standard deviation, of the rows `among` if given."""
    among = np.ones(len(values), dtype=bool) if among is None else among
    center, value = values[among].mean(), values[among].std()
    return Statistic(value, among * ((values - center) ** 2 - value**2) / (2 * value) / among.mean())


def fitted(table: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics that the surrogate is fitted to.

    They are means and standard deviations of the predictors; intercept, slopes and residual of the score's least-
    squares fit on the features; the features' variance inflation in it; mean scores by gang affiliation; and the
    share of people without any predictor among those with a score of at least 250.
    """
    statistics = {}
    for name in PREDICTORS:
        values = table[name].to_numpy(dtype=float)
        statistics[f"mean of {name}"] = mean(values)
        statistics[f"deviation of {name}"] = spread(values)
    score = table["score"].to_numpy(dtype=float)
    statistics |= _least_squares(_features(table), score)
    for gang in (0, 1):
        statistics[f"mean score, gang {gang}"] = mean(score, among=(table["gang_affiliation"] == gang).to_numpy())
    nothing = (table[list(PREDICTORS)] == 0).all(axis=1).to_numpy()
    statistics["share without predictors, score 250 up"] = mean(nothing.astype(float), among=score >= 250)
    return statistics


def held_out(table: pd.DataFrame) -> dict[str, float]:
    """Return published statistics that the surrogate is not fitted to."""
    score = table["score"].to_numpy(dtype=float)
    features = _features(table)
    nothing = (table[list(PREDICTORS)] == 0).all(axis=1)
    cubic = PolynomialFeatures(3, include_bias=False).fit_transform(features.astype("float32"))
    statistics = {
        "correlation of score and age": np.corrcoef(score, features["age"])[0, 1],
        "residual of the fit on age": _residual(features[["age"]], score).std(),
        "residual of the cubic fit": _residual(cubic, score).std(),
        "share with score 345 up": (score >= 345).mean(),
        "share without predictors, score 400 up": nothing[score >= 400].mean(),
        "deviation of crime_trend": table["crime_trend"].std(),
        "share with crime_trend above its mean": (table["crime_trend"] > table["crime_trend"].mean()).mean(),
    }
    for name, column in (("race", "race"), ("sex", "sex"), ("gang", "gang_affiliation")):
        statistics[f"F of score by {name}"] = _anova(score, table[column])
    means = table.groupby("race", observed=True)["score"].mean()
    return statistics | {f"mean score, race {race}": value for race, value in means.items()}


def check(table: pd.DataFrame, published: dict[str, dict[str, float]]) -> pd.DataFrame:
    """Compare a table with published statistics.

    Parameters
    ----------
    table : DataFrame
        Columns as `fairlab.data.surrogates.subjects.COLUMNS`.
    published : dict of str to dict of str to float
        Values of ``fitted`` and ``held out`` statistics by name.

    Returns
    -------
    DataFrame
        One row for each: statistic, use, published, surrogate, difference, relative (difference to published).
    """
    found = {"fitted": {name: s.value for name, s in fitted(table).items()}, "held out": held_out(table)}
    rows = [(name, use, value, found[use][name]) for use, values in published.items() for name, value in values.items()]
    frame = pd.DataFrame(rows, columns=["statistic", "use", "published", "surrogate"])
    frame["difference"] = frame["surrogate"] - frame["published"]
    return frame.assign(relative=frame["difference"] / frame["published"].abs())


def _features(table: pd.DataFrame) -> pd.DataFrame:
    return table[list(FEATURES)].assign(age=decade(table["age"])).astype(float)


def _least_squares(features: pd.DataFrame, score: np.ndarray) -> dict[str, Statistic]:
    X = np.column_stack([np.ones(len(features)), features])
    inverse = np.linalg.inv(X.T @ X / len(X))
    slopes = inverse @ (X.T @ score) / len(X)
    residual = score - X @ slopes
    influence = (X @ inverse) * residual[:, None]
    names = ["intercept", *(f"slope of {name}" for name in features)]
    statistics = {name: Statistic(slopes[j], influence[:, j]) for j, name in enumerate(names)}
    statistics["residual of the linear fit"] = spread(residual)
    for j, name in enumerate(features, start=1):
        # What the other features leave unexplained of this one, up to its own size, by the inverse of the moments.
        own = X @ inverse[:, j] / inverse[j, j]
        ratio = X[:, j].var() / own.var()
        deviation = X[:, j] - X[:, j].mean()
        statistics[f"inflation of {name}"] = Statistic(ratio, (deviation**2 - ratio * own**2) / own.var())
    return statistics


def _residual(features, score: np.ndarray) -> np.ndarray:
    return score - LinearRegression().fit(features, score).predict(features)


def _anova(score: np.ndarray, groups: pd.Series) -> float:
    parts = pd.Series(score).groupby(np.asarray(groups), observed=True).agg(["size", "mean", "var"]).fillna(0)
    between = (parts["size"] * (parts["mean"] - score.mean()) ** 2).sum() / (len(parts) - 1)
    within = ((parts["size"] - 1) * parts["var"]).sum() / (len(score) - len(parts))
    return between / within
