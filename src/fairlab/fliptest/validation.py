"""How well a map reaches its target (FlipTest, section 5.1 and table 1)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from fairlab.checks import check_features, check_same_columns
from fairlab.fliptest.flipsets import check_pairs

# Three standard deviations above the largest mean that the paper reports (table 1, law school GPA: 0.110 and 0.027).
# Clipping can take all slope from a GAN's critic early in training; its map then stays beyond this bound for good.
OFF_TARGET_KS = 0.2

MEASURES = ["ks", "mse_target", "mse_image", "mse_difference"]
DISTANCES = ["mean_l1", "mean_squared_l1"]


@dataclass(frozen=True, eq=False)
class MapValidation:
    """Distance of the images from the target's distribution, and from the people they are images of.

    Attributes
    ----------
    features : DataFrame of shape (n_features, 4)
        Indexed by feature: ``ks``, the two-sample Kolmogorov-Smirnov statistic of the marginals; ``mse_target`` and
        ``mse_image``, the mean squared error of predicting the feature from the others, in its unit squared;
        ``mse_difference``, image minus target. All not a number for a map that diverged.
    mean_l1, mean_squared_l1 : float
        Mean of the L1 distance of x to G(x), and of its square; not a number without the source.

    Examples
    --------
    >>> from fairlab.fliptest import validate_map
    >>> men = pd.DataFrame({"skill": [1.0, 2.0, 3.0, 4.0], "hair": [0.0, 1.0, 1.0, 2.0]})
    >>> validation = validate_map(men, men + 5)
    >>> validation.features["ks"].to_dict()
    {'skill': 1.0, 'hair': 1.0}
    >>> validation.off_target, validation.diverged
    (True, False)
    """

    features: pd.DataFrame
    mean_l1: float = np.nan
    mean_squared_l1: float = np.nan

    @property
    def off_target(self) -> bool:
        """Whether some marginal is further from the target's than `OFF_TARGET_KS`, or the map diverged."""
        return not bool((self.features["ks"] <= OFF_TARGET_KS).all())

    @property
    def diverged(self) -> bool:
        """Whether the map has no images at all."""
        return bool(self.features["ks"].isna().all())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature, with the two distances repeated in each."""
        return self.features.assign(**{name: getattr(self, name) for name in DISTANCES})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> "MapValidation":
        """Return the validation that `to_frame` turned into a table."""
        if lacking := [name for name in (*MEASURES, *DISTANCES) if name not in frame]:
            raise ValueError(f"frame: expected a table of `to_frame`, found one without {', '.join(lacking)}")
        return cls(frame[MEASURES], *(float(frame[name].iloc[0]) for name in DISTANCES))


def validate_map(X_target, X_image, *, X_source=None, columns=None, regression_of=None) -> MapValidation:
    """Compare the images of a map with real members of the target group.

    A linear regression of every feature on the others is fitted to the target; an image distribution with the target's
    correlations has the same error under it.

    Parameters
    ----------
    X_target : DataFrame or array of shape (n_target, n_features)
        Real members of the target group.
    X_image : DataFrame or array of shape (n_source, n_features)
        Images G(x). All of them missing stands for a map whose training diverged.
    X_source : DataFrame or array of shape (n_source, n_features), optional
        The people x, row by row; needed for the distances.
    columns : list of str, optional
        Features to validate, each regressed on the others of them; for tables only. The distances are over all columns.
        Default: all.
    regression_of : dict of str to str, optional
        For a feature, the feature whose regression predicts it, on the target and on the images, in place of its own.
        Only for reproducing numbers that were computed so, as the authors' notebook on Lipton does.

    Raises
    ------
    ValueError
        For missing values, fewer than two target rows, constant target columns, tables that do not match, or an unknown
        feature in `regression_of`.

    Examples
    --------
    >>> from fairlab.fliptest import validate_map
    >>> women = pd.DataFrame({"skill": [0.0, 1.0, 2.0, 3.0], "hair": [1.0, 2.0, 2.0, 3.0]})
    >>> men = pd.DataFrame({"skill": [1.0, 2.0, 3.0, 4.0], "hair": [0.0, 1.0, 1.0, 2.0]})
    >>> validation = validate_map(men, women + [1, -1], X_source=women)
    >>> validation.mean_l1, validation.off_target
    (2.0, False)
    """
    if columns is not None:
        for name, X in (("X_target", X_target), ("X_image", X_image)):
            if not isinstance(X, pd.DataFrame) or (unknown := [column for column in columns if column not in X]):
                found = unknown if isinstance(X, pd.DataFrame) else type(X).__name__
                raise ValueError(f"columns: expected columns of the DataFrame {name}, found {found}")
    validated, image_validated = (X_target, X_image) if columns is None else (X_target[columns], X_image[columns])
    target, names = check_features(validated, "X_target", min_rows=2, varying=True)
    if len(X_image) and np.all(pd.isna(X_image)):
        return MapValidation(pd.DataFrame(np.nan, index=pd.Index(names, name="feature"), columns=MEASURES))
    image, image_names = check_features(image_validated, "X_image")
    check_same_columns(names, image_names, "X_target", "X_image")
    regression_of = {} if regression_of is None else regression_of
    if not isinstance(regression_of, Mapping):
        raise ValueError(f"regression_of: expected features by feature, found {regression_of!r}")
    unknown = {*regression_of, *regression_of.values()} - set(names)
    if unknown:
        raise ValueError(f"regression_of: unknown features {sorted(unknown)}; there are {', '.join(names)}")

    coefficients = [_regression(target, j) for j in range(len(names))]
    used = [names.index(regression_of.get(name, name)) for name in names]
    features = pd.DataFrame(
        {
            "ks": [ks_2samp(target[:, j], image[:, j]).statistic for j in range(len(names))],
            "mse_target": [_squared_error(target, j, coefficients[used[j]]) for j in range(len(names))],
            "mse_image": [_squared_error(image, j, coefficients[used[j]]) for j in range(len(names))],
        },
        index=pd.Index(names, name="feature"),
    )
    features["mse_difference"] = features["mse_image"] - features["mse_target"]
    if X_source is None:
        return MapValidation(features)
    if len(X_source) != len(X_image):
        raise ValueError(f"X_source: expected one row for each of {len(X_image)} images, found {len(X_source)}")
    source, image, _ = check_pairs(X_source, X_image)
    distance = np.abs(source - image).sum(axis=1)
    return MapValidation(features, float(distance.mean()), float((distance**2).mean()))


def _regression(X: np.ndarray, feature: int) -> np.ndarray:
    """Return the intercept and slopes of least squares for one feature on the others, in their order."""
    return np.linalg.lstsq(_others(X, feature), X[:, feature])[0]


def _squared_error(X: np.ndarray, feature: int, coefficients: np.ndarray) -> float:
    return float(((X[:, feature] - _others(X, feature) @ coefficients) ** 2).mean())


def _others(X: np.ndarray, feature: int) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), np.delete(X, feature, axis=1)])
