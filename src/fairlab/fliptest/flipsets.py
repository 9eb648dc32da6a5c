"""Flipsets: people whose outcome changes when they are mapped to the other group, with intervals (definition 1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.model import wrap_model
from fairlab.checks import (
    FRACTION,
    align,
    check_array,
    check_binary,
    check_count,
    check_features,
    check_kind,
    check_same_columns,
    check_seed,
    checked,
    is_number,
    one_of,
)
from fairlab.statistics import difference_bounds, exact_interval, exclusive_correlation
from fairlab.transport.cost import check_mixed

METHODS = ("exact", "bootstrap")


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

    Raises
    ------
    ValueError
        If predictions are not one zero or one for each person.

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

    def __post_init__(self):
        for name in ("prediction", "image_prediction"):
            values = check_array(getattr(self, name), name)
            if values.shape != (len(self.index),):
                raise ValueError(f"{name}: expected one for each of {len(self.index)} people, found {values.shape}")
            object.__setattr__(self, name, check_binary(values, name).astype(int))

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


def flipset(model: Any, X: Any, X_image: Any) -> Flipset:
    """Compare a classifier's predictions for people with those for their images (definition 1).

    Parameters
    ----------
    model : callable, or anything that `fairlab.cases.wrap_model` takes
        The classifier h: takes a table such as `X`, returns a label in {0, 1} per row.
    X : DataFrame or array of shape (n_rows, n_features)
        People of one group. Columns need not be numbers, and may then miss values.
    X_image : same type and shape as `X`
        Their counterparts in the other group: two DataFrames are matched by row labels, anything else row by row.

    Raises
    ------
    ValueError
        If a table is empty, or misses values although all of its columns are numbers; if the tables differ in rows, row
        labels or columns; or if `model` returns anything but one label 0 or 1 per row.

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
    model = wrap_model(model)
    return Flipset(*(model.binary_of(table) for table in (X, X_image)), index)


@checked(
    flip=partial(check_kind, kind=Flipset),
    method=one_of(*METHODS),
    confidence_level=FRACTION,
    n_resamples=check_count,
    random_state=check_seed,
)
def flipset_intervals(
    flip: Flipset,
    *,
    method: str = "exact",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> pd.DataFrame:
    """Return confidence intervals, over people, for the sizes of a flipset, with the map held fixed.

    They do not include the variation of the map with its seed or training sample.

    Parameters
    ----------
    flip : Flipset
    method : {"exact", "bootstrap"}
        "exact": the intervals of Clopper and Pearson, combined for the net size by
        `fairlab.statistics.difference_bounds`, which are valid for small and empty flipsets, too. "bootstrap":
        percentiles of a bootstrap over people, in which an empty flipset stays empty. `scipy.stats.bootstrap` gives the
        same distribution by drawing everyone's row in every resample; since people differ here only by their flip, one
        multinomial draw of the sizes suffices, whatever the number of people.
    confidence_level : float
        Between 0 and 1.
    n_resamples : int
        Number of resamples of the bootstrap.
    random_state : int
        Seed of the bootstrap.

    Returns
    -------
    DataFrame of shape (3, 3)
        Rows ``positive`` (size of F+), ``negative`` (of F-) and ``net`` (their difference), in numbers of people;
        columns ``size``, ``low``, ``high``.

    Raises
    ------
    ValueError
        If `method` is unknown, `confidence_level` is not between 0 and 1, or `n_resamples` is no whole number above 0.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, flipset_intervals
    >>> flip = Flipset(np.repeat([1, 0], [20, 80]), np.zeros(100, dtype=int), pd.RangeIndex(100))
    >>> flipset_intervals(flip).loc["positive"].round(1).to_dict()
    {'size': 20.0, 'low': 12.7, 'high': 29.2}
    """
    n = len(flip.index)
    sizes = np.array([flip.n_positive, flip.n_negative])
    if method == "exact":
        low, high = exact_interval(sizes, n, alpha=1 - confidence_level)
        correlation = exclusive_correlation(*sizes, n)
        net = difference_bounds(sizes, [n, n], confidence_level=confidence_level, correlation=correlation)
        low, high = n * np.append(low, net[0]), n * np.append(high, net[1])
    else:
        shares = np.append(sizes, n - sizes.sum()) / n
        drawn = np.random.default_rng(random_state).multinomial(n, shares, n_resamples)[:, :2]
        drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
        low, high = np.quantile(drawn, [(1 - confidence_level) / 2, (1 + confidence_level) / 2], axis=0)
    rows = pd.Index(["positive", "negative", "net"], name="flipset")
    return pd.DataFrame({"size": [*sizes, flip.net], "low": low, "high": high}, index=rows)


def compare_flipsets(flips: Mapping[str, Flipset]) -> pd.DataFrame:
    """Return the sizes of several maps' flipsets, and their overlap with those of the first map.

    Parameters
    ----------
    flips : dict of str to Flipset
        One per map, of the same people and the same model.

    Returns
    -------
    DataFrame
        Indexed by map: ``F+``, ``F−``, and their Jaccard index with those of the first, ``Jaccard F+`` and
        ``Jaccard F−``; not a number where both flipsets are empty.

    Raises
    ------
    ValueError
        If there is no flipset, or they are not of the same people and the same model.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, compare_flipsets
    >>> people = pd.Index(["Ada", "Bea", "Cleo"])
    >>> first = Flipset(np.array([1, 0, 0]), np.array([0, 1, 0]), people)
    >>> second = Flipset(np.array([1, 0, 0]), np.array([0, 0, 1]), people)
    >>> compare_flipsets({"one": first, "another": second}).loc["another"].to_dict()
    {'F+': 1.0, 'F−': 1.0, 'Jaccard F+': 1.0, 'Jaccard F−': 0.0}
    """
    if not isinstance(flips, Mapping) or not all(isinstance(flip, Flipset) for flip in flips.values()) or not flips:
        raise ValueError(f"flips: expected a Flipset for each map, by its name, found {flips!r}")
    first = next(iter(flips.values()))
    rows = {}
    for name, flip in flips.items():
        if not first.index.equals(flip.index):
            raise ValueError(f"flips: expected the same people under every map, found others for {name!r}")
        if differing := int((first.prediction != flip.prediction).sum()):
            raise ValueError(f"flips: expected one model, found {differing} other predictions for {name!r}")
        shared = {"F+": (first.positive, flip.positive), "F−": (first.negative, flip.negative)}
        rows[name] = {"F+": flip.n_positive, "F−": flip.n_negative}
        rows[name] |= {f"Jaccard {sign}": jaccard(*pair) for sign, pair in shared.items()}
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="map"))


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Return the Jaccard index of two masks, the share of either who are in both; nan if both are empty.

    Parameters
    ----------
    first, second : ndarray of bool of shape (n_rows,)
    """
    either = (first | second).sum()
    return float((first & second).sum() / either) if either else float("nan")


def checked_images(X, X_image):
    """Return the images in the order of the people; raise a ValueError unless columns and people are the same.

    Parameters
    ----------
    X, X_image : DataFrame or array of shape (n_rows, n_features)
    """
    tables = X, X_image
    frames = all(isinstance(table, pd.DataFrame) for table in tables)
    if frames and not all(map(_is_numeric, tables)):
        check_mixed(X, X_image, "X", "X_image")
    else:
        (_, names), (_, image_names) = check_features(X, "X"), check_features(X_image, "X_image")
        check_same_columns(names, image_names, "X", "X_image")
    if len(X) != len(X_image):
        raise ValueError(f"X has {len(X)} rows, X_image has {len(X_image)}; expected one image per row")
    if not frames:
        return X_image
    return X_image.iloc[align(pd.Series(np.arange(len(X_image)), X_image.index), X.index, "X_image").to_numpy()]


def _is_numeric(table: pd.DataFrame) -> bool:
    return all(is_number(table[name]) or pd.api.types.is_bool_dtype(table[name].dtype) for name in table.columns)
