"""Transparency reports: which features change most between a flipset and its images (FlipTest, definition 2)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairlab.checks import align, check_features, check_kind, checked, is_number
from fairlab.fliptest.flipsets import Flipset, checked_images
from fairlab.transport.cost import as_table, codes_of

COLUMNS_NAMED = 3  # in words


@dataclass(frozen=True, eq=False)
class TransparencyReport:
    """Both rankings of the features, for both flipsets.

    Attributes
    ----------
    positive, negative : DataFrame of shape (n_features, 4)
        For F+ and F-, indexed by feature: ``mean_difference``, the mean of x - G(x); ``mean_sign``, the mean of its
        sign; ``difference_rank`` and ``sign_rank``, from 1 by absolute value, equal values sharing the better rank.
        For a column that is not numeric, both means are the share of people whose image has another value. All values
        are missing for an empty flipset.
    n_positive, n_negative : int
        Sizes of the flipsets.

    Examples
    --------
    >>> from fairlab.fliptest import flipset, transparency_report
    >>> women = pd.DataFrame({"skill": [1.0, 2.0, 3.0], "hair": [5.0, 5.0, 5.0]})
    >>> flip = flipset(lambda X: (X["skill"] > 2.5).astype(int), women, women + [1, 0])
    >>> report = transparency_report(flip, women, women + [1, 0])
    >>> report.n_positive, report.n_negative
    (0, 1)
    """

    positive: pd.DataFrame
    negative: pd.DataFrame
    n_positive: int
    n_negative: int

    def to_frame(self) -> pd.DataFrame:
        """Return both reports as one table with the columns ``flipset``, ``size`` and ``feature`` in front."""
        parts = []
        for name in ("positive", "negative"):
            part = getattr(self, name).reset_index()
            part.insert(0, "flipset", name)
            part.insert(1, "size", getattr(self, f"n_{name}"))
            parts.append(part)
        return pd.concat(parts, ignore_index=True)


@checked(flipset=partial(check_kind, kind=Flipset))
def transparency_report(flipset: Flipset, X: Any, X_image: Any, *, scale: Any = None) -> TransparencyReport:
    """Rank features by how much, and how consistently, flipset members differ from their images.

    Parameters
    ----------
    flipset : Flipset
        Flipset of the rows of `X`: matched to a DataFrame by row labels, to an array by order.
    X, X_image : DataFrame or array of shape (n_rows, n_features)
        People and their images. Leave out the columns that always change, such as the group itself.
    scale : Series indexed by feature, or array-like of shape (n_features,), optional
        Unit of each feature's mean difference, for instance its standard deviation. Default: the features' own units.

    Returns
    -------
    TransparencyReport

    Raises
    ------
    ValueError
        If `flipset`, `X` and `X_image` do not belong together, or a scale is missing or not positive.

    Examples
    --------
    >>> from fairlab.fliptest import flipset, transparency_report
    >>> women = pd.DataFrame({"skill": [1.0, 2.0, 3.0], "hair": [5.0, 5.0, 5.0]})
    >>> flip = flipset(lambda X: (X["skill"] > 2.5).astype(int), women, women + [1, 0])
    >>> transparency_report(flip, women, women + [1, 0]).negative["mean_difference"].to_dict()
    {'skill': -1.0, 'hair': 0.0}
    """
    is_array = not isinstance(X, pd.DataFrame)
    X, X_image = as_table(X), as_table(checked_images(X, X_image))
    if len(flipset.prediction) != len(X):
        raise ValueError(f"flipset has {len(flipset.prediction)} rows, X has {len(X)}")
    rows = align(pd.Series(np.arange(len(X)), X.index if is_array else flipset.index), X.index, "flipset").to_numpy()
    names = list(map(str, X.columns))
    differences = [_difference(X.iloc[:, j], X_image.iloc[:, j]) for j in range(len(names))]
    difference = np.column_stack(differences) / _check_scale(scale, names)
    positive, negative = (_rank(difference[mask[rows]], names) for mask in (flipset.positive, flipset.negative))
    return TransparencyReport(positive, negative, flipset.n_positive, flipset.n_negative)


def differences_in_words(X: pd.DataFrame, X_image: pd.DataFrame, *, scale_of: pd.DataFrame) -> str:
    """Return a sentence on the columns in which people differ most from their images.

    Parameters
    ----------
    X, X_image : DataFrame of shape (n_rows, n_features)
        Row by row.
    scale_of : DataFrame
        Table whose standard deviations are the units in which numbers are ranked.
    """
    parts = []
    for name in X.columns:
        differences = _difference(X[name], X_image[name])
        difference = _mean(differences[:, None])[0]
        if not is_number(X[name]):
            other = np.mean(differences != 0)
            parts.append((other, f"{name} differs for {other:.0%}"))
        elif np.isfinite(difference) and (
            deviation := np.nanstd(scale_of[name].to_numpy(dtype=float, na_value=np.nan))
        ):
            more = "more" if difference > 0 else "less"
            parts.append((abs(difference) / deviation, f"{name} is {abs(difference):.3g} {more} on average"))
    parts = sorted((part for part in parts if part[0] > 0), key=lambda part: -part[0])[:COLUMNS_NAMED]
    if not parts:
        return f"{len(X)} people do not differ from their counterparts"
    return f"{len(X)} people against their counterparts: " + "; ".join(words for _, words in parts)


def _difference(column: pd.Series, image: pd.Series) -> np.ndarray:
    """Return the differences of numbers, leaving out missing ones; for anything else 1 where the values differ."""
    if all(is_number(part) or pd.api.types.is_bool_dtype(part.dtype) for part in (column, image)):
        return column.to_numpy(dtype=float, na_value=np.nan) - image.to_numpy(dtype=float, na_value=np.nan)
    return np.not_equal(*codes_of(column, image)).astype(float)


def _mean(parts: np.ndarray) -> np.ndarray:
    """Return the mean of every column over its finite values."""
    return np.ma.filled(np.ma.masked_invalid(parts).mean(axis=0), np.nan)


def _rank(difference: np.ndarray, names: list[str]) -> pd.DataFrame:
    signs = np.sign(difference)
    empty = len(difference) == 0
    means = {
        "mean_difference": np.nan if empty else _mean(difference),
        "mean_sign": np.nan if empty else _mean(signs),
    }
    table = pd.DataFrame(means, index=pd.Index(names, name="feature"), dtype=float)
    ranks = table.abs().rank(ascending=False, method="min").astype("Int64")
    return table.assign(difference_rank=ranks["mean_difference"], sign_rank=ranks["mean_sign"])


def _check_scale(scale, names: list[str]) -> np.ndarray:
    if scale is None:
        return np.ones(len(names))
    if isinstance(scale, pd.Series):
        missing = [name for name in names if name not in scale.index]
        if missing:
            raise ValueError(f"scale: no value for {', '.join(missing)}")
        scale = scale[names]
    values = check_features(np.reshape(scale, (1, -1)), "scale")[0][0]
    if len(values) != len(names):
        raise ValueError(f"scale has {len(values)} values, X has {len(names)} columns")
    if not (values > 0).all():
        raise ValueError(f"scale: expected positive values, found {values.min()} for {names[values.argmin()]!r}")
    return values
