"""Flipsets: whose outcome changes when they are mapped to the other group (FlipTest, definition 1)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.checks import check_features, check_predictions, check_same_columns


@dataclass(frozen=True, eq=False)
class Flipset:
    """Predictions of a classifier h for people x and for their images G(x).

    Attributes
    ----------
    prediction : ndarray of shape (n_rows,)
        h(x), zeros and ones.
    image_prediction : ndarray of shape (n_rows,)
        h(G(x)).
    index : Index of length n_rows
        Labels of the people.
    """

    prediction: np.ndarray
    image_prediction: np.ndarray
    index: pd.Index

    @property
    def positive(self) -> np.ndarray:
        """Mask of F+: h(x) = 1 and h(G(x)) = 0, the advantaged when 1 is the favourable outcome."""
        return self.prediction > self.image_prediction

    @property
    def negative(self) -> np.ndarray:
        """Mask of F-: h(x) = 0 and h(G(x)) = 1."""
        return self.prediction < self.image_prediction

    @property
    def n_positive(self) -> int:
        """Size of F+."""
        return int(self.positive.sum())

    @property
    def n_negative(self) -> int:
        """Size of F-."""
        return int(self.negative.sum())

    @property
    def net(self) -> int:
        """Size of F+ minus size of F-.

        For an exact map between groups of equal size it is the difference of their positive predictions, so that
        zero is demographic parity (proposition 2).
        """
        return self.n_positive - self.n_negative

    def to_frame(self) -> pd.DataFrame:
        """Return one row per person: both predictions, and ``positive``, ``negative`` or ``none`` as `flip`."""
        flip = np.select([self.positive, self.negative], ["positive", "negative"], "none")
        columns = {"prediction": self.prediction, "image_prediction": self.image_prediction, "flip": flip}
        return pd.DataFrame(columns, index=self.index)


def flipset(predict, X, X_image) -> Flipset:
    """Compare a classifier's predictions for people with those for their images (definition 1).

    Parameters
    ----------
    predict : callable, or object with a ``predict`` method
        The classifier h: takes a table such as `X`, returns a label in {0, 1} per row.
    X : DataFrame or array of shape (n_rows, n_features)
        People of one group.
    X_image : same type and shape as `X`
        Their counterparts in the other group, row by row.

    Raises
    ------
    ValueError
        If a table is empty or has missing values, the tables differ in rows or columns, or `predict` returns anything
        but one label 0 or 1 per row.
    """
    check_pairs(X, X_image)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X))
    prediction = check_predictions(predict, X, "predict(X)")
    image_prediction = check_predictions(predict, X_image, "predict(X_image)")
    return Flipset(prediction, image_prediction, index)


def check_pairs(X, X_image) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return people and images as arrays of one shape, and the names of their features; raise ValueError otherwise."""
    values, names = check_features(X, "X")
    image_values, image_names = check_features(X_image, "X_image")
    check_same_columns(names, image_names, "X", "X_image")
    if len(values) != len(image_values):
        raise ValueError(f"X has {len(values)} rows, X_image has {len(image_values)}; expected one image per row")
    return values, image_values, names
