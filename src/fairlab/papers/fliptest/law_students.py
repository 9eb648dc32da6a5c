"""The law students of FlipTest's section 5.4: who they are, the models under test, and their causal counterparts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

from fairlab.data.dataset import Dataset
from fairlab.fliptest.flipsets import flipset
from fairlab.papers.fliptest.counterfactual import KnowledgeModel
from fairlab.papers.fliptest.ensembles import validate_map

RACES = ("Black", "White")
ATTRIBUTES = ["black", "male"]  # of the causal model
TESTED = ["LSAT", "GPA"]  # in table 1
REPORTED = ["male", "LSAT", "GPA"]  # in figure 12, which leaves race out
LABELS = {"LSAT": "LSAT (points)", "GPA": "undergraduate grade average", "male": "sex (1: male)"}


@dataclass(frozen=True)
class Cut:
    """A classifier that cuts a regression's prediction: 1 above the threshold.

    Attributes
    ----------
    regression : object with a ``predict`` method
    threshold : float
    """

    regression: object
    threshold: float

    def predict(self, X) -> np.ndarray:
        """Return 0 or 1 per row of `X`."""
        return (self.regression.predict(X) > self.threshold).astype(int)


@dataclass(frozen=True, eq=False)
class _AllRaces:
    """A classifier of students of all races, for those whose race is one of two indicators."""

    classifier: Cut
    races: list[str]

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        wide = X.rename(columns={"black": "Black", "white": "White"})
        none = dict.fromkeys([race for race in self.races if race not in RACES], 0.0)
        return self.classifier.predict(wide.assign(**none)[[*self.races, *REPORTED]])


def black_and_white(dataset: Dataset) -> pd.DataFrame:
    """Return the black and the white students: race as two indicators, sex as one, LSAT and GPA, not scaled.

    Parameters
    ----------
    dataset : Dataset
        ``law-school``.
    """
    kept = dataset.features[dataset.features["race"].isin(RACES)]
    race = {name.lower(): (kept["race"] == name).astype(float) for name in RACES}
    return pd.DataFrame(race).join(_scores(kept))


def to_white(applicants: pd.DataFrame) -> pd.DataFrame:
    """Return a copy with race set to white and all else left."""
    return applicants.assign(black=0.0, white=1.0)


def white_counterfactual(model: KnowledgeModel, applicants: pd.DataFrame, **options) -> pd.DataFrame:
    """Return the applicants as white, with the scores that their knowledge gives them.

    Parameters
    ----------
    model : KnowledgeModel
        Fitted to `ATTRIBUTES`.
    applicants : DataFrame, as `black_and_white` returns
    **options
        Of `KnowledgeModel.counterfactual`.
    """
    switched = to_white(applicants)
    observed = {"gpa": applicants["GPA"], "lsat": applicants["LSAT"]}
    scores = model.counterfactual(applicants[ATTRIBUTES], switched[ATTRIBUTES], **observed, **options)
    return switched.assign(LSAT=scores["lsat"], GPA=scores["gpa"])


def recovered_weights(model: KnowledgeModel, attributes: pd.DataFrame, rng) -> pd.DataFrame:
    """Simulate students from a fitted causal model, fit another to them, and return the weights of both.

    Parameters
    ----------
    model : KnowledgeModel
    attributes : DataFrame of shape (n_rows, n_attributes)
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame
        The weights ``fitted to the data`` and ``recovered``, and how many ``standard errors off`` the latter are.
    """
    knowledge = rng.normal(size=len(attributes))
    predictor = {
        name: model.weights_.loc[name, "intercept"]
        + attributes.to_numpy() @ model.weights_.loc[name, [*attributes.columns]].to_numpy()
        + model.weights_.loc[name, "knowledge"] * knowledge
        for name in ("gpa", "lsat")
    }
    gpa = rng.normal(predictor["gpa"], model.gpa_std_)
    again = KnowledgeModel().fit(attributes, gpa=gpa, lsat=rng.poisson(np.exp(predictor["lsat"])))
    tables = {
        "fitted to the data": model.weights_,
        "recovered": again.weights_,
        "standard errors off": (again.weights_ - model.weights_) / again.standard_error_,
    }
    return pd.concat(tables)


def setups(dataset: Dataset, *, random_state: int) -> dict[str, tuple]:
    """Return what the text may mean by the classifier and its data; the first is the literal reading.

    Parameters
    ----------
    dataset : Dataset
        ``law-school``.
    random_state : int
        Of the draw of four fifths of the students.

    Returns
    -------
    dict of str to (classifier, Index)
        Per setup, the classifier and the rows of the students that it is tested on.
    """
    X = black_and_white(dataset)
    grade = dataset.target.loc[X.index]
    label = (grade > grade.median()).astype(int)
    regression = LinearRegression().fit(X, grade)
    part = X.sample(frac=0.8, random_state=random_state)
    on_part = LinearRegression().fit(part, grade.loc[part.index])
    race = pd.get_dummies(dataset.features["race"], dtype=float)
    on_everyone = LinearRegression().fit(race.join(_scores(dataset.features)), dataset.target)
    return {
        "black and white, regression cut at the median": (Cut(regression, grade.median()), X.index),
        "regression cut at its median prediction": (Cut(regression, np.median(regression.predict(X))), X.index),
        "linear regression on the label": (Cut(LinearRegression().fit(X, label), 0.5), X.index),
        "logistic regression on the label": (LogisticRegression(max_iter=5000).fit(X, label), X.index),
        "models on students of all races": (
            _AllRaces(Cut(on_everyone, dataset.target.median()), [*race.columns]),
            X.index,
        ),
        "80% of the rows": (Cut(on_part, grade.loc[part.index].median()), part.index),
    }


def setup_table(setups: dict[str, tuple], applicants: pd.DataFrame, images: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the size of F- under every setup and map, and the number of applicants.

    Parameters
    ----------
    setups : dict, as `setups` returns
    applicants : DataFrame
        Those who are mapped.
    images : dict of str to DataFrame
        Per map, their images.
    """
    rows = {}
    for name, (classifier, index) in setups.items():
        tested = applicants.index.intersection(index)
        sizes = {
            f"F− {kind}": flipset(classifier, applicants.loc[tested], image.loc[tested]).n_negative
            for kind, image in images.items()
        }
        rows[name] = sizes | {"applicants": len(tested)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("setup")


def flipset_scores(flips: dict[tuple, object], applicants: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes of several flipsets and the mean scores of F-.

    Parameters
    ----------
    flips : dict of (str, int) to Flipset
        By map and trial.
    applicants : DataFrame
    """
    return pd.DataFrame(
        [
            {"map": name, "trial": trial, "F+": flip.n_positive, "F−": flip.n_negative}
            | {f"mean {score} in F−": applicants.loc[flip.negative, score].mean() for score in TESTED}
            for (name, trial), flip in flips.items()
        ]
    )


def two_sexes(X: pd.DataFrame) -> pd.DataFrame:
    """Return a copy with sex as two indicators, as the causal model's authors have it, in place of one."""
    return X.assign(female=1.0 - X["male"])


def map_table(classifier, source: pd.DataFrame, target: pd.DataFrame, images: dict) -> pd.DataFrame:
    """Return, map by map, what table 1 and figures 7 and 12 say of it.

    Parameters
    ----------
    classifier : object with a ``predict`` method
        Of the columns that `black_and_white` returns.
    source, target : DataFrame
    images : dict of int to DataFrame
        Of the source, per map.

    Returns
    -------
    DataFrame
        One row per map: ``KS`` and ``MSE difference`` of LSAT and GPA, ``mean L1``, whether it is ``off target``, the
        size ``F−``, the mean scores of its members, and how much lower or higher (``−`` or ``+``) they are in LSAT and
        ``male`` than their images, in standard deviations of all.
    """
    names = [name for name in source if name != "female"]
    unit, rows = pd.concat([source, target])[REPORTED].std(ddof=0), {}
    for k, image in images.items():
        fit = validate_map(target, image, X_source=source, columns=TESTED)
        row = {f"KS {name}": fit.features.loc[name, "ks"] for name in TESTED}
        row |= {f"MSE difference {name}": fit.features.loc[name, "mse_difference"] for name in TESTED}
        row |= {"mean L1": fit.mean_l1, "off target": fit.off_target}
        if not fit.diverged:
            flip = flipset(classifier, source[names], image[names])
            change = ((source - image)[REPORTED][flip.negative] / unit).mean()
            row["F−"] = flip.n_negative
            row |= {f"mean {name} in F−": source.loc[flip.negative, name].mean() for name in TESTED}
            row |= {f"change of {name}": change[name] for name in ("LSAT", "male")}
        rows[k] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("trial")


def _scores(features: pd.DataFrame) -> pd.DataFrame:
    male = (features["sex"] == "male").astype(float)
    return pd.DataFrame({"male": male, "LSAT": features["LSAT"], "GPA": features["UGPA"]})
