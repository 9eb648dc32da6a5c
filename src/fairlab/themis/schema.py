"""Input schemas: the characteristics of a program's inputs and the values that each can have (definition 3.2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from numbers import Integral
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import yaml

MOST_VALUES = 1_000_000  # of one characteristic


class SchemaError(ValueError):
    """A schema that describes no inputs, or inputs that do not fit theirs."""


@dataclass(frozen=True)
class Characteristic:
    """One input variable (definition 3.1).

    Attributes
    ----------
    name : str
    values : tuple
        What it can be; at least two, all different.
    """

    name: str
    values: tuple

    def __post_init__(self):
        object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) < 2:
            raise SchemaError(f"characteristic {self.name!r}: expected at least two values, found {len(self.values)}")
        if len(set(self.values)) < len(self.values):
            raise SchemaError(f"characteristic {self.name!r}: a value is listed twice")


@dataclass(frozen=True)
class Schema:
    """All characteristics of an input, in the order in which the program takes them.

    Inputs are arrays of codes: the position of a value among its characteristic's.

    Attributes
    ----------
    characteristics : tuple of Characteristic
    """

    characteristics: tuple[Characteristic, ...]

    def __post_init__(self):
        object.__setattr__(self, "characteristics", tuple(self.characteristics))
        if not self.characteristics:
            raise SchemaError("a schema needs at least one characteristic")
        if len(set(self.names)) < len(self.names):
            raise SchemaError("a schema has two characteristics of one name")

    @property
    def names(self) -> list[str]:
        """Names of the characteristics, in order."""
        return [characteristic.name for characteristic in self.characteristics]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each characteristic."""
        return tuple(len(characteristic.values) for characteristic in self.characteristics)

    @property
    def n_inputs(self) -> int:
        """Number of different inputs."""
        return prod(self.sizes)

    def positions(self, names: str | Iterable[str]) -> tuple[int, ...]:
        """Return where characteristics stand, in the schema's order.

        Raises
        ------
        SchemaError
            If a name is unknown or given twice, or there is none.
        """
        names = [names] if isinstance(names, str) else list(names)
        if not names:
            raise SchemaError("expected at least one characteristic, found none")
        if unknown := [name for name in names if name not in self.names]:
            raise SchemaError(
                f"unknown characteristics {', '.join(map(str, unknown))}; there are {', '.join(self.names)}"
            )
        if len(set(names)) < len(names):
            raise SchemaError("a characteristic is named twice")
        return tuple(sorted(self.names.index(name) for name in names))

    def n_assignments(self, positions: Iterable[int]) -> int:
        """Return how many combinations of values some characteristics have."""
        return prod(self.sizes[position] for position in positions)

    def assignments(self, positions: tuple[int, ...], *, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return combinations of values of some characteristics as codes, the last one varying fastest.

        Parameters
        ----------
        positions : tuple of int
        start, stop : int
            Which ones, by number.

        Returns
        -------
        ndarray of shape (stop - start, len(positions))
        """
        stop = self.n_assignments(positions) if stop is None else stop
        sizes = [self.sizes[position] for position in positions]
        return np.column_stack(np.unravel_index(np.arange(start, stop), sizes))

    def sample(self, n_inputs: int, rng: np.random.Generator) -> np.ndarray:
        """Draw inputs uniformly, as codes of shape (n_inputs, n_characteristics)."""
        return rng.integers(self.sizes, size=(n_inputs, len(self.sizes)))

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return inputs with their values."""
        columns = {}
        for codes_of_one, characteristic in zip(np.asarray(codes).T, self.characteristics, strict=True):
            values = characteristic.values
            coded = values == tuple(range(len(values)))
            columns[characteristic.name] = codes_of_one if coded else np.asarray(values)[codes_of_one]
        return pd.DataFrame(columns)

    def encode(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return the codes of inputs.

        Raises
        ------
        SchemaError
            If a column is missing or holds a value that its characteristic does not have.
        """
        if missing := [name for name in self.names if name not in inputs.columns]:
            raise SchemaError(f"inputs lack the columns {', '.join(missing)}")
        codes = np.empty((len(inputs), len(self.names)), dtype=np.int64)
        for position, characteristic in enumerate(self.characteristics):
            column = inputs[characteristic.name]
            codes[:, position] = pd.Index(characteristic.values).get_indexer(column)
            if (strange := codes[:, position] < 0).any():
                raise SchemaError(
                    f"column {characteristic.name!r} holds {column[strange].tolist()[0]!r}, not in the schema"
                )
        return codes

    def to_dict(self) -> dict[str, list]:
        """Return the values by name, plain enough for a YAML file."""
        return {characteristic.name: list(characteristic.values) for characteristic in self.characteristics}

    @classmethod
    def from_dict(cls, content: Mapping) -> "Schema":
        """Return a schema from the values by name; a pair ``{low: 0, high: 9}`` stands for the integers between.

        Raises
        ------
        SchemaError
            If a description is neither a list nor such a pair, or bounds are in the wrong order.
        """
        return cls(tuple(Characteristic(str(name), _values(name, values)) for name, values in content.items()))

    @classmethod
    def from_yaml(cls, path: str | Path) -> "Schema":
        """Read a YAML file with the content of `from_dict`."""
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise SchemaError(f"{path}: expected names and values, found {type(content).__name__}")
        return cls.from_dict(content)

    @classmethod
    def from_xml(cls, path: str | Path) -> "Schema":
        """Read the input section of a Themis settings file.

        Types are ``categorical``, with a list of values, and ``continuousInt``, with bounds. The upper bound counts, as
        in Themis 2.0; version 1.0 left it out.

        Raises
        ------
        SchemaError
            If the file is not XML, an input lacks something, or its type is another.
        """
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise SchemaError(f"{path}: not XML: {error}") from error
        found = {}
        for element in root.iter("input"):
            name, kind = (_text(element, tag, path) for tag in ("name", "type"))
            if name in found:
                raise SchemaError(f"{path}: two inputs are named {name!r}")
            if kind == "categorical":
                found[name] = [value.text.strip() for value in element.iter("value") if value.text]
            elif kind == "continuousInt":
                found[name] = {"low": _bound(element, "lowerbound", path), "high": _bound(element, "upperbound", path)}
            else:
                raise SchemaError(f"{path}: input {name!r} has type {kind!r}, expected categorical or continuousInt")
        return cls.from_dict(found)

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> "Schema":
        """Return the values that occur in a table, sorted; whole numbers become all integers between their extremes.

        Raises
        ------
        SchemaError
            If a column misses values or has only one.
        """
        content = {}
        for name, column in table.items():
            if column.isna().any():
                raise SchemaError(f"column {name!r} misses {int(column.isna().sum())} values")
            if pd.api.types.is_integer_dtype(column):
                content[name] = {"low": int(column.min()), "high": int(column.max())}
            else:
                content[name] = sorted(column.unique().tolist())
        return cls.from_dict(content)


def _values(name, description) -> tuple:
    if isinstance(description, Mapping):
        if set(description) != {"low", "high"}:
            raise SchemaError(
                f"characteristic {name!r}: expected low and high, found {', '.join(map(str, description))}"
            )
        low, high = description["low"], description["high"]
        if not (isinstance(low, Integral) and isinstance(high, Integral)):
            raise SchemaError(f"characteristic {name!r}: expected whole numbers, found {low!r} and {high!r}")
        if low > high:
            raise SchemaError(f"characteristic {name!r}: low {low} is above high {high}")
        if high - low >= MOST_VALUES:
            n_values = high - low + 1
            raise SchemaError(f"characteristic {name!r}: {n_values:,} values, more than {MOST_VALUES:,}; bin them")
        return tuple(range(low, high + 1))
    if isinstance(description, str) or not isinstance(description, Iterable):
        raise SchemaError(f"characteristic {name!r}: expected a list of values, found {description!r}")
    return tuple(description)


def _text(element: ElementTree.Element, tag: str, path) -> str:
    found = next(element.iter(tag), None)
    if found is None or not (found.text or "").strip():
        raise SchemaError(f"{path}: an input lacks {tag!r}")
    return found.text.strip()


def _bound(element: ElementTree.Element, tag: str, path) -> int:
    text = _text(element, tag, path)
    try:
        return int(text)
    except ValueError:
        raise SchemaError(f"{path}: {tag} is {text!r}, expected a whole number") from None
