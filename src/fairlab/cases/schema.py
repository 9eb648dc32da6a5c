"""The domain of a model's inputs: its features, and the values that each can have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from fairlab.checks import check_features

LARGEST = 2**62  # so that sums of two values fit into 64 bits


class SchemaError(ValueError):
    """A schema that describes no inputs, or inputs that do not fit theirs."""


@dataclass(frozen=True)
class Feature:
    """One input variable.

    Attributes
    ----------
    name : str
    values : tuple or range
        What it can be, all different. Consecutive integers in increasing order become a range, which takes no memory.

    Raises
    ------
    SchemaError
        If there is no value, one is listed twice, or an integer is too large for 64 bits.
    """

    name: str
    values: tuple | range

    def __post_init__(self):
        values = self.values
        if not isinstance(values, range):
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise SchemaError(f"feature {self.name!r}: expected a list of values, found {values!r}")
            values = tuple(values)
        if not values:
            raise SchemaError(f"feature {self.name!r}: expected at least one value, found none")
        if not isinstance(values, range):
            if len(set(values)) < len(values):
                raise SchemaError(f"feature {self.name!r}: a value is listed twice")
            values = _as_range(values)
        if isinstance(values, range) and max(abs(values[0]), abs(values[-1])) > LARGEST:
            raise SchemaError(f"feature {self.name!r}: {values[0]} to {values[-1]} does not fit into 64 bits")
        object.__setattr__(self, "values", values)

    @classmethod
    def between(cls, name: str, low: int, high: int) -> "Feature":
        """Return a feature with all integers between two, both included.

        Raises
        ------
        SchemaError
            If the bounds are not whole numbers or in the wrong order.
        """
        if not all(isinstance(bound, Integral) and not isinstance(bound, bool | np.bool_) for bound in (low, high)):
            raise SchemaError(f"feature {name!r}: expected whole numbers as bounds, found {low!r} and {high!r}")
        if low > high:
            raise SchemaError(f"feature {name!r}: low {low} is above high {high}")
        return cls(name, range(int(low), int(high) + 1))

    @property
    def is_interval(self) -> bool:
        """Whether the values are the integers between two bounds."""
        return isinstance(self.values, range) and self.values.step == 1

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return values by their positions, in the type that they have."""
        if isinstance(self.values, range):
            return self.values.start + self.values.step * codes
        return self._array()[codes]

    def encode(self, column: pd.Series) -> np.ndarray:
        """Return the positions of values, -1 for those that the feature does not have."""
        return pd.Index(self.values).get_indexer(column)

    def describe(self) -> list | dict[str, int]:
        """Return the list of values, or the bounds of an interval as ``{"low": ..., "high": ...}``."""
        if self.is_interval:
            return {"low": self.values[0], "high": self.values[-1]}
        return list(self.values)

    def _array(self) -> np.ndarray:
        numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in self.values)
        if numbers or len(set(map(type, self.values))) == 1:
            return np.asarray(self.values)
        array = np.empty(len(self.values), dtype=object)  # or numbers among texts would become texts
        array[:] = self.values
        return array


@dataclass(frozen=True)
class Schema:
    """All features of an input, in the order in which the model takes them.

    Inputs are either codes, the position of each value among its feature's, which every schema has; or, in a schema
    of intervals only, the integers themselves. `low`, `high`, `bounds`, `values`, `sample`, `check`, `clip` and
    `outside` are about the latter; they raise a SchemaError that names the first feature that is no interval.

    Attributes
    ----------
    features : tuple of Feature

    Raises
    ------
    SchemaError
        If there is no feature, or two have one name.

    Examples
    --------
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 99}})
    >>> schema.n_inputs
    164
    """

    features: tuple[Feature, ...]

    def __post_init__(self):
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise SchemaError("a schema needs at least one feature, found none")
        if doubled := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise SchemaError(f"two features of the schema are named {doubled[0]!r}")

    @classmethod
    def from_dict(cls, content: Mapping) -> "Schema":
        """Return a schema from the values by name; a pair ``{low: 0, high: 9}`` stands for the integers between.

        Raises
        ------
        SchemaError
            If a description is neither a list nor such a pair, or bounds are in the wrong order.
        """
        return cls(tuple(_feature(str(name), values) for name, values in content.items()))

    @classmethod
    def from_bounds(cls, bounds: Mapping[str, tuple[int, int]]) -> "Schema":
        """Return a schema of intervals from the lowest and the highest value of each, both included.

        Raises
        ------
        SchemaError
            If bounds are not whole numbers or in the wrong order.
        """
        return cls(tuple(Feature.between(str(name), low, high) for name, (low, high) in bounds.items()))

    @classmethod
    def from_yaml(cls, path: str | Path) -> "Schema":
        """Read a YAML file with the content of `from_dict`."""
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise SchemaError(f"{path}: expected names and values, found {type(content).__name__}")
        return cls.from_dict(content)

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> "Schema":
        """Return the values that occur in a table, sorted; whole numbers become all integers between their extremes.

        Raises
        ------
        SchemaError
            If a column misses values or occurs twice, or there is no row.
        """
        features = []
        for name, column in table.items():
            if column.isna().any():
                raise SchemaError(f"column {name!r} misses {int(column.isna().sum())} values")
            if len(column) and pd.api.types.is_integer_dtype(column):
                features.append(Feature.between(str(name), int(column.min()), int(column.max())))
            else:
                features.append(Feature(str(name), sorted(column.unique().tolist())))
        return cls(tuple(features))

    def to_dict(self) -> dict[str, list | dict[str, int]]:
        """Return the values by name, intervals as their bounds; plain enough for a YAML file and for `from_dict`."""
        return {feature.name: feature.describe() for feature in self.features}

    @property
    def names(self) -> list[str]:
        """Names of the features, in order."""
        return [feature.name for feature in self.features]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each feature."""
        return tuple(len(feature.values) for feature in self.features)

    @property
    def n_inputs(self) -> int:
        """Number of different inputs."""
        return prod(self.sizes)

    def positions(self, names: str | Iterable[str]) -> list[int]:
        """Return where features stand that are to be varied, in the schema's order.

        Raises
        ------
        SchemaError
            If a name is unknown or given twice, there is none, or a feature has only one value.
        """
        names = [names] if isinstance(names, str) else list(names)
        if not names:
            raise SchemaError("expected at least one feature of the schema, found none")
        for name in names:
            if name not in self.names:
                raise SchemaError(f"{name!r} is not in the schema; it has {', '.join(self.names)}")
        if len(set(names)) < len(names):
            raise SchemaError(f"expected features of the schema, each once, found {', '.join(names)}")
        positions = sorted(self.names.index(name) for name in names)
        for position in positions:
            if self.sizes[position] == 1:
                raise SchemaError(f"feature {self.names[position]!r}: expected at least two values to vary, found one")
        return positions

    def n_assignments(self, positions: Iterable[int]) -> int:
        """Return how many combinations of values the features at some positions have."""
        return prod(self.sizes[position] for position in positions)

    def assignments(self, positions: Iterable[int], *, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return combinations of values of some features as codes, the last one varying fastest.

        Parameters
        ----------
        positions : iterable of int
        start, stop : int
            Which ones, by number.

        Returns
        -------
        ndarray of shape (stop - start, n_positions)
        """
        sizes = [self.sizes[position] for position in positions]
        stop = prod(sizes) if stop is None else stop
        return np.column_stack(np.unravel_index(np.arange(start, stop), sizes))

    def sample_codes(self, n: int, *, random_state=None) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as codes of shape (n, n_features)."""
        return np.random.default_rng(random_state).integers(self.sizes, size=(n, len(self.sizes)))

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return inputs with their values."""
        columns = {
            feature.name: feature.decode(column)
            for feature, column in zip(self.features, np.asarray(codes).T, strict=True)
        }
        # Objects stay what they are: None, which is no missing number, and numbers among texts.
        objects = {name: pd.Series(column, dtype=object) for name, column in columns.items() if column.dtype == object}
        return pd.DataFrame(columns | objects)

    def encode(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return the codes of inputs, shape (n_rows, n_features); other columns are left out.

        Raises
        ------
        SchemaError
            If a column is missing or holds a value that its feature does not have.
        """
        if missing := [name for name in self.names if name not in inputs.columns]:
            raise SchemaError(f"inputs lack the columns {', '.join(missing)}")
        codes = np.empty((len(inputs), len(self.names)), dtype=np.int64)
        for position, feature in enumerate(self.features):
            column = inputs[feature.name]
            codes[:, position] = feature.encode(column)
            if (strange := codes[:, position] < 0).any():
                raise SchemaError(f"column {feature.name!r} holds {column[strange].tolist()[0]!r}, not in the schema")
        return codes

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Lowest and highest value of every feature, by name."""
        return dict(zip(self.names, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    @property
    def low(self) -> np.ndarray:
        """Lower bounds, shape (n_features,)."""
        return self._ends(0)

    @property
    def high(self) -> np.ndarray:
        """Upper bounds, shape (n_features,)."""
        return self._ends(-1)

    def values(self, names: str | Iterable[str]) -> np.ndarray:
        """Return all combinations of values of some features, in increasing order.

        Returns
        -------
        ndarray of int of shape (n_combinations, n_names)
            Columns in the schema's order.
        """
        positions = self.positions(names)
        return self.low[positions] + self.assignments(positions)

    def sample(self, n: int, *, random_state=None) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as integers of shape (n, n_features)."""
        return self.low + self.sample_codes(n, random_state=random_state)

    def check(self, X, name: str = "X") -> np.ndarray:
        """Return `X` as integers of shape (n_rows, n_features); inputs outside of the bounds are let through.

        Raises
        ------
        ValueError
            If `X` has other columns, or holds anything but integers; names the column.
        """
        self._ends(0)
        values, columns = check_features(X, name)
        if values.shape[1] != len(self.names) or (isinstance(X, pd.DataFrame) and columns != self.names):
            raise ValueError(f"{name}: has the columns {', '.join(columns)}; the schema has {', '.join(self.names)}")
        fractional = (values != np.trunc(values)).any(axis=0)
        if fractional.any():
            raise ValueError(f"{name}: column {self.names[fractional.argmax()]!r} holds fractions, expected integers")
        return values.astype(np.int64)

    def clip(self, X: np.ndarray) -> np.ndarray:
        """Return `X` moved to the nearest input of the domain, truncated to integers."""
        return np.clip(X, self.low, self.high).astype(np.int64)

    def outside(self, X) -> pd.Series:
        """Return how many rows of `X` lie outside of the bounds of each feature."""
        values = self.check(X)
        outside = (values < self.low) | (values > self.high)
        return pd.Series(outside.sum(axis=0), index=self.names, name="rows outside")

    def _ends(self, which: int) -> np.ndarray:
        for feature in self.features:
            if not feature.is_interval:
                found = ", ".join(map(repr, feature.values[:3])) + ", ..." * (len(feature.values) > 3)
                raise SchemaError(f"feature {feature.name!r}: expected the integers between two bounds, found {found}")
        return np.array([feature.values[which] for feature in self.features], dtype=np.int64)


def _as_range(values: tuple) -> tuple | range:
    """Return consecutive integers as a range, anything else as it is; truth values are no integers."""
    if not all(isinstance(value, Integral) and not isinstance(value, bool | np.bool_) for value in values):
        return values
    consecutive = range(int(values[0]), int(values[0]) + len(values))
    return consecutive if all(value == number for value, number in zip(values, consecutive, strict=True)) else values


def _feature(name: str, description) -> Feature:
    if not isinstance(description, Mapping):
        return Feature(name, description)
    if set(description) != {"low", "high"}:
        raise SchemaError(f"feature {name!r}: expected low and high, found {', '.join(map(str, description))}")
    return Feature.between(name, description["low"], description["high"])
