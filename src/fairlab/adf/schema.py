"""The input domain of a search: integers between bounds, one pair per attribute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.checks import check_features


@dataclass(frozen=True)
class Schema:
    """Names and bounds of all attributes; an input is one integer per attribute.

    Attributes
    ----------
    bounds : dict of str to (int, int)
        Lowest and highest value of every attribute, both included, in the order of a model's columns.

    Raises
    ------
    ValueError
        If there is no attribute, or a lower bound exceeds the upper one.
    """

    bounds: dict[str, tuple[int, int]]

    def __post_init__(self):
        if not self.bounds:
            raise ValueError("schema: has no attributes")
        for name, (low, high) in self.bounds.items():
            if not (float(low).is_integer() and float(high).is_integer()):
                raise ValueError(f"schema: attribute {name!r} has bounds {low} and {high}, expected integers")
            if low > high:
                raise ValueError(f"schema: attribute {name!r} has bounds {low} and {high}; the lower one is larger")

    @property
    def names(self) -> list[str]:
        """Names of the attributes."""
        return list(self.bounds)

    @property
    def low(self) -> np.ndarray:
        """Lower bounds, shape (n_attributes,)."""
        return np.array([low for low, _ in self.bounds.values()], dtype=np.int64)

    @property
    def high(self) -> np.ndarray:
        """Upper bounds, shape (n_attributes,)."""
        return np.array([high for _, high in self.bounds.values()], dtype=np.int64)

    def positions(self, protected: str | Sequence[str]) -> np.ndarray:
        """Return the columns of the protected attributes.

        Raises
        ------
        ValueError
            If there is none, one is not in the schema or named twice, or no other attribute is left.
        """
        names = [protected] if isinstance(protected, str) else list(protected)
        for name in names:
            if name not in self.bounds:
                raise ValueError(f"protected: {name!r} is not in the schema; it has {', '.join(self.bounds)}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"protected: expected attributes of the schema, each once, found {names}")
        if len(names) == len(self.bounds):
            raise ValueError("protected: no attribute is left to search along")
        return np.array([self.names.index(name) for name in names])

    def values(self, protected: str | Sequence[str]) -> np.ndarray:
        """Return all combinations of values of the protected attributes, in increasing order.

        Returns
        -------
        ndarray of shape (n_combinations, n_protected)
        """
        columns = self.positions(protected)
        ranges = [np.arange(self.low[j], self.high[j] + 1) for j in columns]
        return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(columns))

    def check(self, X, name: str = "X") -> np.ndarray:
        """Return `X` as integers of shape (n_rows, n_attributes); inputs outside of the bounds are let through.

        Raises
        ------
        ValueError
            If `X` has other columns, or holds anything but integers; names the column.
        """
        values, columns = check_features(X, name)
        if values.shape[1] != len(self.bounds) or (isinstance(X, pd.DataFrame) and columns != self.names):
            raise ValueError(f"{name}: has the columns {', '.join(columns)}; the schema has {', '.join(self.names)}")
        fractional = (values != np.trunc(values)).any(axis=0)
        if fractional.any():
            raise ValueError(f"{name}: column {self.names[fractional.argmax()]!r} holds fractions, expected integers")
        return values.astype(np.int64)

    def clip(self, X: np.ndarray) -> np.ndarray:
        """Return `X` moved to the nearest input of the domain, truncated to integers."""
        return np.clip(X, self.low, self.high).astype(np.int64)

    def outside(self, X) -> pd.Series:
        """Return how many rows of `X` lie outside of the bounds of each attribute."""
        values = self.check(X)
        return pd.Series(
            ((values < self.low) | (values > self.high)).sum(axis=0), index=self.names, name="rows outside"
        )

    def sample(self, n: int, *, random_state=None) -> np.ndarray:
        """Return `n` inputs drawn uniformly from the whole domain, shape (n, n_attributes)."""
        rng = np.random.default_rng(random_state)
        return rng.integers(self.low, self.high + 1, size=(n, len(self.bounds)))
