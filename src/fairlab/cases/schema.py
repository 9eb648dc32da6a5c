"""The domain of a model's inputs: its features, and the values that each can have."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from fairlab.cases.feature import Feature, SchemaError
from fairlab.checks import check_features, check_seed

BINS = 10
WIDE = 100  # numbers with more different values than this are binned
MANY = 5_000  # inputs from which on a compiled loop is quicker than NumPy


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
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 99}})
    >>> schema.n_inputs
    164
    """

    features: tuple[Feature, ...]

    def __post_init__(self):
        object.__setattr__(self, "features", tuple(self.features))
        if strange := [each for each in self.features if not isinstance(each, Feature)]:
            raise SchemaError(f"features: expected a Feature each, found {strange[0]!r}")
        if not self.features:
            raise SchemaError("features: a schema needs at least one feature, found none")
        if doubled := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise SchemaError(f"two features of the schema are named {doubled[0]!r}")

    @classmethod
    def from_dict(cls, content: Mapping) -> "Schema":
        """Return a schema from the values by name.

        A pair ``{low: 0, high: 9}`` stands for the integers between, ``{values: [5, 40], edges: [18]}`` for a number in
        bins: the inner edges, each of which ends its bin, and a value that stands for every bin.

        Raises
        ------
        SchemaError
            If a description is none of these, or bounds or edges are in the wrong order.
        """
        if not isinstance(content, Mapping):
            raise SchemaError(f"content: expected names and values, found {type(content).__name__}")
        return cls(tuple(Feature.from_description(str(name), values) for name, values in content.items()))

    @classmethod
    def from_bounds(cls, bounds: Mapping[str, tuple[int, int]]) -> "Schema":
        """Return a schema of intervals from the lowest and the highest value of each, both included.

        Raises
        ------
        SchemaError
            If bounds are not whole numbers or in the wrong order.
        """
        if not isinstance(bounds, Mapping):
            raise SchemaError(f"bounds: expected names with pairs of integers, found {type(bounds).__name__}")
        features = []
        for name, pair in bounds.items():
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise SchemaError(f"feature {name!r}: expected a pair of integers, low and high, found {pair!r}")
            features.append(Feature.between(str(name), *pair))
        return cls(tuple(features))

    @classmethod
    def from_yaml(cls, path: str | Path) -> "Schema":
        """Read a YAML file with the content of `from_dict`; ``yes`` and ``no`` are texts, unlike ``true``."""
        return cls.from_dict(cls.yaml_content(path))

    @staticmethod
    def yaml_content(path: str | Path) -> dict:
        """Return what a YAML file says by name; raises a SchemaError if it has no names."""
        try:
            content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader)
        except yaml.YAMLError as error:
            raise SchemaError(f"{path}: expected YAML, found {error}") from error
        if not isinstance(content, dict):
            raise SchemaError(f"{path}: expected names and values, found {type(content).__name__}")
        return content

    @classmethod
    def from_frame(cls, table: pd.DataFrame, *, bins: int | None = BINS, edges: Mapping | None = None) -> "Schema":
        """Return the values that occur in a table.

        Texts are sorted, categories keep their order, missing values are a value of their own, the last. Whole numbers
        become all integers between their extremes; numbers that are wide (more than 100 of them) are put into bins.

        Parameters
        ----------
        table : DataFrame
        bins : int or None
            Bins of a wide number, with as many rows each as ties allow; None to list all values, or all integers.
        edges : mapping of str to sequence of float
            Inner edges by column, instead of quantiles; a value that is an edge belongs to the bin below.

        Raises
        ------
        SchemaError
            If a column occurs twice or holds anything but texts, truth values and numbers; there is no row; edges are
            not increasing or leave a bin empty.
        """
        if not isinstance(table, pd.DataFrame):
            raise SchemaError(f"table: expected a DataFrame, found {type(table).__name__}")
        if bins is not None and not (isinstance(bins, Integral) and bins >= 1):
            raise SchemaError(f"bins: expected a positive integer or None, found {bins!r}")
        edges = dict(edges or {})
        if strange := [name for name in edges if name not in table.columns]:
            raise SchemaError(f"edges: {strange[0]!r} is no column of the table")
        columns = [(str(name), table.iloc[:, k], edges.get(name)) for k, name in enumerate(table.columns)]
        return cls(tuple(Feature.from_column(name, column, bins, WIDE, inner) for name, column, inner in columns))

    def to_dict(self) -> dict[str, list | dict]:
        """Return the values by name, intervals as bounds, bins with edges; plain enough for YAML."""
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
        sizes = self.sizes
        return prod(sizes[position] for position in positions)

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
        all_sizes = self.sizes
        sizes = [all_sizes[position] for position in positions]
        stop = prod(sizes) if stop is None else stop
        return np.column_stack(np.unravel_index(np.arange(start, stop), sizes))

    def sample_codes(self, n: int, *, random_state=0) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as codes of shape (n, n_features)."""
        check_seed(random_state)
        if not (isinstance(n, Integral) and n >= 0):
            raise SchemaError(f"n: expected a number of inputs, found {n!r}")
        return _draw_codes(np.random.default_rng(random_state), np.array(self.sizes), n)

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return inputs with their values; of a bin, the value that stands for it.

        Raises
        ------
        SchemaError
            If codes are no integers of shape (n_rows, n_features), or stand for no value; names the feature.
        """
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.features) or codes.dtype.kind not in "iu":
            expected = f"expected integers of shape (n_rows, {len(self.features)})"
            raise SchemaError(f"codes: {expected}, found {codes.dtype} of shape {codes.shape}")
        columns = codes.T.copy()
        whole = all(isinstance(feature.values, range) for feature in self.features) and len(codes) > 0
        # Read without their signs, negative codes are too large.
        if whole and (columns.view(f"u{columns.itemsize}").max(axis=1) < self.sizes).all():
            for column, values in zip(columns, (feature.values for feature in self.features), strict=True):
                if (values.start, values.step) != (0, 1):
                    column[:] = values.start + values.step * column
            return pd.DataFrame(columns.T, columns=self.names, copy=False)
        decoded = {}
        for feature, column in zip(self.features, columns, strict=True):
            if len(column) and (column.min() < 0 or column.max() >= len(feature.values)):
                strange = column.min() if column.min() < 0 else column.max()
                expected = f"expected 0 to {len(feature.values) - 1}"
                raise SchemaError(f"codes: {expected} of feature {feature.name!r}, found {strange}")
            values = feature.decode(column)
            # Objects stay what they are: None, which is no missing number, and numbers among texts.
            decoded[feature.name] = values if values.dtype != object else pd.Series(values, dtype=object)
        return pd.DataFrame(decoded)

    def encode(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return the codes of inputs, shape (n_rows, n_features); other columns are left out.

        Raises
        ------
        SchemaError
            If a column is missing or holds a value that its feature does not have.
        """
        if not isinstance(inputs, pd.DataFrame):
            raise SchemaError(f"inputs: expected a DataFrame, found {type(inputs).__name__}")
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

    def sample(self, n: int, *, random_state=0) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as integers of shape (n, n_features)."""
        return np.add(self.low, self.sample_codes(n, random_state=random_state), order="C")  # row by row in memory

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
        if (wide := (np.abs(values) > 2**53).any(axis=0)).any():
            raise ValueError(f"{name}: column {self.names[wide.argmax()]!r} holds values beyond 2**53")
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


class _Loader(yaml.SafeLoader):
    """YAML as it reads: ``yes``, ``no``, ``on`` and ``off`` are texts."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|True|TRUE|false|False|FALSE)$"), "tTfF")


def _draw_codes(rng: np.random.Generator, sizes: np.ndarray, n: int) -> np.ndarray:
    """Return ``rng.integers(sizes, size=(n, len(sizes)))``; many of them in a third of the time.

    NumPy takes one 32-bit number for a code, none for that of a feature with one value, and hardly ever a second one.
    """
    # To load the compiler takes longer than any one draw; a memory of many inputs has loaded it.
    if n >= MANY and sizes.min() > 1 and sizes.max() < 2**31 and "numba" in sys.modules:
        from fairlab.cases.draws import IS_COMPILED, codes_of

        if IS_COMPILED:
            before = rng.bit_generator.state
            codes, is_doubtful = codes_of(rng.integers(2**32, size=n * len(sizes), dtype=np.uint32), sizes)
            if not is_doubtful:
                return codes.T
            rng.bit_generator.state = before
    return rng.integers(sizes, size=(n, len(sizes)))
