"""How many flips a map's own error causes (FlipTest, section 5.1): two groups that do not differ, and a jagged model.

The features that the model sees have the same distribution in both groups, so that a perfect map changes nobody's
outcome. Other features tell the groups apart, so that there is something for the map to learn.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from fairlab.fliptest.flipsets import Flipset
from fairlab.papers.fliptest.ensembles import MapValidation, usable_maps

# Difference of the groups' means in each feature that tells them apart, in standard deviations.
SHIFT = 1.0
BLOCK = 200  # rows whose kernels are taken at once
# The published sizes by their ids, and what they are here.
PRINTED = {"f_plus": "F+", "f_minus": "F−"}


def identical_groups(rng, n_points: int, *, n_seen: int, n_telling: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two groups with equal distributions of the features that a model sees.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_points : int
        Of each group.
    n_seen : int
        Standard normal features, the first columns.
    n_telling : int
        Features that tell the groups apart: normal, unit variance, mean 0 in the source and `SHIFT` in the target.

    Returns
    -------
    source, target : array of shape (n_points, n_seen + n_telling)
    """
    source, target = rng.normal(size=(2, n_points, n_seen + n_telling))
    target[:, n_seen:] += SHIFT
    return source, target


def random_label_svm(X, rng, *, n_seen: int, C: float = 1.0, gamma="scale") -> Pipeline:
    """Fit a support vector machine with RBF kernel to a coin toss for each row.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    rng : numpy.random.Generator
        Of the tosses.
    n_seen : int
        The model sees that many columns, the first ones.
    C : float
        Price of a label that is not reproduced; the higher, the more jagged the model.
    gamma : float or "scale"
        Inverse square of the kernel's width, up to a factor; "scale" as in scikit-learn.

    Returns
    -------
    Pipeline
        Its ``predict`` takes tables such as `X`.
    """
    seen = ColumnTransformer([("seen", "passthrough", slice(n_seen))])
    return make_pipeline(seen, GaussianSVC(C=C, gamma=gamma)).fit(X, rng.integers(2, size=len(X)))


class GaussianSVC(SVC):
    """SVC of two classes with a Gaussian kernel that decides by matrix products, several times faster than one by one.

    Coin tosses make nearly every row a support vector.
    """

    def predict(self, X) -> np.ndarray:
        """Return the class of each row."""
        blocks = np.array_split(X, max(len(X) // BLOCK, 1))
        kernels = (rbf_kernel(rows, self.support_vectors_, gamma=self._gamma) for rows in blocks)
        decision = np.concatenate([kernel @ self.dual_coef_[0] for kernel in kernels]) + self.intercept_[0]
        return self.classes_[(decision > 0).astype(int)]


def floor_flipsets(floor: dict) -> dict[str, Flipset]:
    """Return the flipsets of one trial of `fairlab.papers.fliptest.trials.noise_floor`, by map."""
    return {
        flip["map"]: Flipset(flip["prediction"], flip["image_prediction"], pd.RangeIndex(len(flip["prediction"])))
        for flip in floor["flips"]
    }


def flip_counts(floors: Mapping[int, dict]) -> pd.DataFrame:
    """Return what all maps of several trials flip.

    Parameters
    ----------
    floors : dict of int to dict
        Per trial, its number, and what `fairlab.papers.fliptest.trials.noise_floor` returned.

    Returns
    -------
    DataFrame
        One row per trial and map: columns ``trial``, ``map``, ``people``, ``positive`` (those of label 1 before the
        map), ``F+`` and ``F−``.
    """
    return pd.DataFrame(
        [
            {"trial": trial, "map": name, "people": len(flip.index), "positive": flip.prediction.sum()}
            | {"F+": flip.n_positive, "F−": flip.n_negative}
            for trial, floor in floors.items()
            for name, flip in floor_flipsets(floor).items()
        ]
    )


def flip_series(floors: Mapping[tuple, list[dict]]) -> pd.DataFrame:
    """Return what the GAN flips by the number of features and by model, over the maps that reach their target.

    Parameters
    ----------
    floors : dict of (int, int, float, float or "scale") to list of dict
        By the number of features that are seen and of those that tell the groups apart, C and gamma: per trial, what
        `fairlab.papers.fliptest.trials.noise_floor` returned.

    Returns
    -------
    DataFrame
        One row per trial: columns ``seen``, ``telling``, ``C``, ``gamma``, ``trial``, ``largest KS``, ``moved``,
        ``people``, ``F+`` and ``F−``.
    """
    rows = []
    for (seen, telling, C, gamma), of_setting in floors.items():
        fits = {k: MapValidation.from_frame(floor["fit"]) for k, floor in enumerate(of_setting)}
        counts = flip_counts({k: of_setting[k] for k in usable_maps(fits)[0]})
        for count in counts[counts["map"] == "GAN"].to_dict("records"):
            k = count["trial"]
            setting = {"seen": seen, "telling": telling, "C": C, "gamma": gamma, "trial": k}
            measured = {"largest KS": fits[k].features["ks"].max(), "moved": of_setting[k]["moved"]}
            rows.append(setting | measured | {name: count[name] for name in ("people", "F+", "F−")})
    return pd.DataFrame(rows)


def shares_of_people(counts: pd.DataFrame) -> pd.DataFrame:
    """Return both readings of the paper's "each accounting for approximately 3%", one row per row of `counts`.

    Of all people; or F+ of those with label 1 before the map, who alone can be in it, and F- of the others.
    """
    people, positive = counts["people"], counts["positive"]
    return pd.DataFrame(
        {
            "together, of all": (counts["F+"] + counts["F−"]) / people,
            "F+, of all": counts["F+"] / people,
            "F−, of all": counts["F−"] / people,
            "label 1, of all": positive / people,
            "F+, of label 1": counts["F+"] / positive,
            "F−, of label 0": counts["F−"] / (people - positive),
        }
    )
