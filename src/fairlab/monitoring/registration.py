"""What is registered: an investigation, the types of its columns, and the check of rows against them."""

import hmac
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, Literal
from urllib.parse import urlsplit

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

MOST_COLUMNS, MOST_CATEGORIES, LONGEST_TEXT = 100, 1_000, 200
MOST_ERRORS = 20  # of a batch that are listed
EVENT, PERSON = "event_id", "person"
MISSING = -1  # code of a missing category


def _storable(text: str) -> str:
    """Return a text as it is; a ValueError if it has a NUL, which PostgreSQL does not store, or half a character."""
    if "\0" in text:
        raise ValueError("expected text without a NUL character")
    text.encode()  # an error if it has half of a surrogate pair
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT), AfterValidator(_storable)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ColumnType(_Strict):
    """Type of a column: texts of which some may be missing, numbers, or true and false."""

    type: Literal["category", "number", "boolean"]
    categories: Annotated[list[Text], Field(min_length=2, max_length=MOST_CATEGORIES)] | None = None
    low: Number | None = None
    high: Number | None = None

    @model_validator(mode="after")
    def _check(self):
        if self.categories is not None and (
            self.type != "category" or len(set(self.categories)) < len(self.categories)
        ):
            raise ValueError("categories: expected different texts, of a column of type category")
        if (self.low, self.high) != (None, None) and self.type != "number":
            raise ValueError(f"low and high: expected for a column of type number, found {self.type}")
        if self.is_bounded and self.low >= self.high:
            raise ValueError(f"high: expected more than low={self.low:g}, found {self.high:g}")
        return self

    @property
    def is_bounded(self) -> bool:
        """Whether numbers have both bounds."""
        return self.low is not None and self.high is not None

    @property
    def labels(self) -> list[str] | None:
        """The declared categories; those of a boolean are false and true."""
        return ["false", "true"] if self.type == "boolean" else self.categories


class LookEvery(_Strict):
    """When to look: every so many rows, or every so many seconds."""

    rows: Annotated[int, Field(ge=10, le=10**12)] | None = None
    seconds: Annotated[int, Field(ge=1, le=10**9)] | None = None

    @model_validator(mode="after")
    def _check(self):
        if (self.rows is None) == (self.seconds is None):
            raise ValueError("expected rows or seconds")
        return self


class Webhook(_Strict):
    """Where new significant findings are posted to, and the secret that signs them."""

    url: Text
    secret: Annotated[str, StringConstraints(min_length=16, max_length=LONGEST_TEXT), AfterValidator(_storable)]

    @model_validator(mode="after")
    def _check(self):
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not self.url.isascii():
            raise ValueError("url: expected one that begins with http:// or https://")
        return self


class Registration(_Strict):
    """An investigation as it is registered. It never changes afterwards: that would break its promise."""

    name: Text
    kind: Literal["testing", "discovery", "error profiling"] = "testing"
    columns: Annotated[dict[Text, ColumnType], Field(min_length=2, max_length=MOST_COLUMNS)]
    sensitive_features: Annotated[list[Text], Field(min_length=1, max_length=10)]
    output: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_COLUMNS)]
    true_label: Text | None = None
    explanatory: Text | None = None
    context: Annotated[list[Text], Field(max_length=MOST_COLUMNS)] | None = None
    metric: Literal["NMI", "Difference", "Ratio", "Correlation"] | None = None
    look_every: LookEvery
    confidence_level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    spending: Literal["series", "adaptive"] = "series"
    train_size: Annotated[float, Field(ge=0.05, le=0.95)] = 0.5
    min_leaf_size: Annotated[int, Field(ge=1, le=10**9)] = 100
    max_depth: Annotated[int, Field(ge=0, le=20)] = 5
    smallest_cell: Annotated[int, Field(ge=1, le=10**6)] = 10
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    webhook: Webhook | None = None

    @model_validator(mode="after")
    def _check(self):
        if isinstance(self.output, str) == (self.kind == "discovery"):
            raise ValueError("output: expected a list of labels for a discovery, else one column")
        if (self.true_label is None) == (self.kind == "error profiling"):
            raise ValueError("true_label: expected for error profiling, and for nothing else")
        if self.kind == "discovery" and self.explanatory is not None:
            raise ValueError("explanatory: not for a discovery")
        used = [*self.sensitive_features, *self.outputs, *filter(None, (self.true_label, self.explanatory))]
        for name in [*used, *(self.context or ())]:
            if name not in self.columns:
                raise ValueError(f"columns: no type of {name!r}")
        if doubled := [name for name in used if used.count(name) > 1]:
            raise ValueError(f"{doubled[0]!r} has two roles; expected one")
        if {EVENT, PERSON} & set(self.columns):
            raise ValueError(f"columns: {EVENT} and {PERSON} name the event and the person; expected other names")
        for name in [*self.sensitive_features, *self.outputs]:
            if self.columns[name].type == "category" and not self.columns[name].categories:
                raise ValueError(f"columns: expected the categories of {name!r} to be declared")
        if self.true_label and self.columns[self.true_label] != self.columns[self.output]:
            raise ValueError("columns: expected the same type for true_label as for output")
        sides = [*self.sensitive_features, *(() if self.true_label else self.outputs)]
        for name in sides if self.is_pairwise else ():
            column = self.columns[name]
            n = len(column.labels or ())
            if n != 2 and (
                column.type != "number" or self.metric in ("Difference", "Ratio") or self.kind == "discovery"
            ):
                of = self.metric or "the metric of these columns"
                raise ValueError(
                    f"{of}: expected two categories of {name!r}, found {n or 'numbers'}; NMI takes any number"
                )
        return self

    @property
    def is_pairwise(self) -> bool:
        """Whether the metric takes two categories of a sensitive feature, or numbers: missing ones would be a third."""
        numbers = any(self.columns[name].type == "number" for name in [*self.sensitive_features, *self.outputs])
        return self.kind == "discovery" or (numbers if self.metric is None else self.metric != "NMI")

    @property
    def never_missing(self) -> list[str]:
        """Columns of which every row must have a value."""
        return [*self.outputs, *(self.sensitive_features if self.is_pairwise else ())]

    @property
    def outputs(self) -> list[str]:
        """The output, or all labels of a discovery."""
        return [self.output] if isinstance(self.output, str) else self.output

    @cached_property
    def stored(self) -> dict[str, ColumnType]:
        """Columns that are stored with a decision: all but the true label."""
        return {name: column for name, column in self.columns.items() if name != self.true_label}

    def names(self, kind: str) -> tuple[list, list]:
        """Return which columns rows of decisions, or labels, must have, and which they may have."""
        if kind == "labels":
            return [EVENT, self.true_label], []
        return [EVENT, *self.stored], [PERSON, *filter(None, [self.true_label])]

    @cached_property
    def dtype(self) -> np.dtype:
        """Of a row as it is stored: codes of categories, and numbers."""
        return np.dtype([(name, "<f8" if c.type == "number" else "<i2") for name, c in self.stored.items()])


class RowsError(ValueError):
    """Rows that do not fit what is registered; `errors` says which."""

    def __init__(self, errors: Iterable[dict]):
        super().__init__("rows do not fit what is registered; nothing of the batch is kept")
        self.errors = list(islice(errors, MOST_ERRORS))


def error(row: int | None, column: str, reason: str) -> dict:
    """Return one entry of a RowsError; values of rows are not repeated in it."""
    return {"row": row, "column": column, "reason": reason}


def as_columns(rows: Sequence[Mapping], required: Sequence[str], optional: Sequence[str]) -> dict[str, list]:
    """Return rows as columns; a RowsError names a column that is missing or not registered."""
    needed, known = set(required), {*required, *optional}
    if not all(needed <= set(names) <= known for names in set(map(tuple, rows))):
        raise RowsError(_wrong_names(rows, required, known))
    return {name: [row.get(name) for row in rows] for name in [*required, *optional]}


def _wrong_names(rows, required, known) -> Iterator[dict]:
    for number, row in enumerate(rows):
        for name in row:
            if name not in known:
                yield error(number, as_ascii(name), "this column is not registered")
        for name in required:
            if name not in row:
                yield error(number, name, "expected a value, found no such column")


def as_ascii(text: str) -> str:
    """Return a text that any answer can hold."""
    return text.encode("ascii", "backslashreplace").decode()[:LONGEST_TEXT]


def check_texts(name: str, values: list, *, missing: bool = False) -> None:
    """Raise a RowsError unless all values are texts that can be stored, or missing where that is allowed."""
    if not set(map(type, values)) <= {str, type(None)} or (not missing and None in values):
        raise RowsError(
            error(row, name, f"expected a text{' or nothing' * missing}, found {_kind(value)}")
            for row, value in enumerate(values)
            if not (isinstance(value, str) or (missing and value is None))
        )
    for text in {value for value in values if value is not None}:
        if not 0 < len(text) <= LONGEST_TEXT:
            reason = f"expected 1 to {LONGEST_TEXT} characters, found {len(text)}"
            raise RowsError([error(values.index(text), name, reason)])
        try:
            _storable(text)
        except ValueError:
            reason = "expected text without NUL and without half of a surrogate pair"
            raise RowsError([error(values.index(text), name, reason)]) from None


def _kind(value) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", type(None): "nothing"}
    return names.get(type(value), "a list or an object")


def check_column(name: str, column: ColumnType, values: list, *, missing: bool = True) -> list | np.ndarray:
    """Return numbers as an array, codes of declared categories as an array, and other categories as they are.

    Raises
    ------
    RowsError
        If a value is of another type, out of bounds, infinite, none of the declared categories, or missing where it
        must not be: numbers and booleans never are.
    """
    if column.type == "category":
        check_texts(name, values, missing=missing)
        if column.categories is None:
            return values
        codes = {label: code for code, label in enumerate(column.categories)} | {None: MISSING}
        if strange := set(values) - set(codes):
            reason = f"expected one of the {len(column.categories)} declared categories"
            raise RowsError(error(row, name, reason) for row, value in enumerate(values) if value in strange)
        return np.array([codes[value] for value in values], dtype="<i2")
    allowed, expected = ({bool}, "true or false") if column.type == "boolean" else ({int, float}, "a number")
    if not set(map(type, values)) <= allowed:
        raise RowsError(
            error(row, name, f"expected {expected}, found {_kind(value)}")
            for row, value in enumerate(values)
            if type(value) not in allowed
        )
    if column.type == "boolean":
        return np.array(values, dtype="<i2")
    try:
        numbers = np.array(values, dtype=float)
    except OverflowError:
        raise RowsError([error(None, name, "expected numbers that fit into 64 bits")]) from None
    low = -math.inf if column.low is None else column.low
    high = math.inf if column.high is None else column.high
    if (bad := ~(np.isfinite(numbers) & (numbers >= low) & (numbers <= high))).any():
        reason = f"expected a finite number from {low:g} to {high:g}"
        raise RowsError(error(int(row), name, reason) for row in np.flatnonzero(bad))
    return numbers


def keyed(key: bytes, purpose: bytes, texts: Sequence[str | None]) -> list[bytes | None]:
    """Return keyed hashes of texts, of 16 bytes, which tell nothing to who has not the key; missing ones stay so."""
    return [None if t is None else hmac.digest(key, purpose + t.encode(), "sha256")[:16] for t in texts]


def for_training(hashes: Sequence[bytes], train_size: float) -> np.ndarray:
    """Return which events are for training: those whose keyed hash, as a share of its range, is below `train_size`."""
    parts = np.frombuffer(b"".join(hashes), dtype=">u8")[::2]
    return parts < np.uint64(int(train_size * 2**64))
