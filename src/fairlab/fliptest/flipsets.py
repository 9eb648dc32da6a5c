"""Flipsets: whose outcome changes when they are mapped to the other group (FlipTest, definition 1)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.checks import align, check_features, check_predictions, check_same_columns
from fairlab.transport.columns import check_mixed, is_number


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

    Examples
    --------
    >>> from fairlab.fliptest import Flipset
    >>> flip = Flipset(np.array([1, 0, 0]), np.array([0, 1, 0]), pd.Index(["Ada", "Bea", "Cleo"]))
    >>> flip.n_positive, flip.n_negative, flip.net
    (1, 1, 0)
    >>> flip.to_frame()["flip"].to_dict()
    {'Ada': 'positive', 'Bea': 'negative', 'Cleo': 'none'}
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
        People of one group. Columns need not be numbers, and may then miss values.
    X_image : same type and shape as `X`
        Their counterparts in the other group: of two DataFrames with the same row labels, of anything else row by row.

    Raises
    ------
    ValueError
        If a table is empty or has missing values among numbers only, the tables differ in rows, row labels or columns,
        or `predict` returns anything but one label 0 or 1 per row.

    Examples
    --------
    >>> from fairlab.fliptest import flipset
    >>> women = pd.DataFrame({"skill": [1.0, 2.0, 3.0]}, index=["Ada", "Bea", "Cleo"])
    >>> flip = flipset(lambda X: (X["skill"] > 2.5).astype(int), women, women + 1)
    >>> flip.n_positive, flip.n_negative
    (0, 1)
    >>> flip.to_frame()["flip"].to_dict()
    {'Ada': 'none', 'Bea': 'negative', 'Cleo': 'none'}
    """
    X_image = checked_images(X, X_image)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X))
    predictions = (
        check_predictions(_in_row_order(predict, name), table, name)
        for name, table in (("predict(X)", X), ("predict(X_image)", X_image))
    )
    return Flipset(*predictions, index)


def checked_images(X, X_image):
    """Return the images in the order of the people, raise ValueError unless they are of the same columns and people."""
    tables = X, X_image
    frames = all(isinstance(table, pd.DataFrame) for table in tables)
    if frames and not all(map(_is_numeric, tables)):
        check_mixed(X, X_image, "X", "X_image")
        check_same_length(X, X_image)
    else:
        check_pairs(X, X_image)
    if not frames:
        return X_image
    return X_image.iloc[align(pd.Series(np.arange(len(X_image)), X_image.index), X.index, "X_image").to_numpy()]


def check_pairs(X, X_image) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return people and images as arrays of one shape, and the names of their features; raise ValueError otherwise."""
    values, names = check_features(X, "X")
    image_values, image_names = check_features(X_image, "X_image")
    check_same_columns(names, image_names, "X", "X_image")
    check_same_length(values, image_values)
    return values, image_values, names


def check_same_length(X, X_image) -> None:
    """Raise a ValueError unless there is one image per row."""
    if len(X) != len(X_image):
        raise ValueError(f"X has {len(X)} rows, X_image has {len(X_image)}; expected one image per row")


def _is_numeric(table: pd.DataFrame) -> bool:
    return all(is_number(table[name]) or pd.api.types.is_bool_dtype(table[name].dtype) for name in table.columns)


def _in_row_order(predict, name):
    """Return a function that answers as `predict`, but for a Series goes by the row labels of the table."""
    call = getattr(predict, "predict", predict)
    if not callable(call):
        return predict

    def in_row_order(table):
        answer = call(table)
        both = isinstance(answer, pd.Series | pd.DataFrame) and isinstance(table, pd.DataFrame)
        return align(answer, table.index, name) if both and len(answer) == len(table) else answer

    return in_row_order
