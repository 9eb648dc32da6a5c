"""What is registered: an investigation, the types of its columns, and the check of rows against them."""

import hmac
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator
from pydantic_core import SchemaValidator, core_schema

MOST_COLUMNS, MOST_CATEGORIES, LONGEST_TEXT = 100, 1_000, 200
MOST_ERRORS = 20  # of an answer
EVENT, PERSON = "event_id", "person"
MISSING = -1  # code of a missing category
MISFIT = "rows do not fit what is registered; nothing of the batch is kept"
STORABLE = r"^[^\x00]*$"  # PostgreSQL stores no NUL

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, pattern=STORABLE)]
Secret = Annotated[str, StringConstraints(min_length=16, max_length=LONGEST_TEXT, pattern=STORABLE)]
Address = Annotated[str, StringConstraints(max_length=LONGEST_TEXT, pattern=r"^https?://[A-Za-z0-9\[][!-~]*$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class RefusedError(Exception):
    """A request that is refused: the status of its answer, the reason, and what is wrong in which rows or fields."""

    def __init__(self, status: int, reason: str, errors: Iterable[dict] = ()):
        super().__init__(reason)
        self.status, self.errors = status, list(errors)


def error(row: int | None, column: str, reason: str) -> dict:
    """Return one entry of a refusal; values of rows are not repeated in it."""
    return {"row": row, "column": as_ascii(column), "reason": as_ascii(reason)}


def as_ascii(text: str) -> str:
    """Return a text that any answer can hold."""
    return text.encode("ascii", "backslashreplace").decode()[:LONGEST_TEXT]


class ColumnType(BaseModel):
    """Type of a column: texts of which some may be missing, numbers, or true and false."""

    model_config = STRICT
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
    def width(self) -> float:
        """From bound to bound; 1 where there are not both."""
        return self.high - self.low if self.is_bounded else 1.0

    @property
    def labels(self) -> list[str] | None:
        """The declared categories; those of a boolean are false and true."""
        return ["false", "true"] if self.type == "boolean" else self.categories

    def of_values(self, *, missing: bool):
        """Return the type of its values for pydantic; only categories may ever be missing."""
        if self.type == "number":
            return Annotated[float, Field(ge=self.low, le=self.high, allow_inf_nan=False)]
        if self.type == "boolean":
            return bool
        texts = Literal[*self.categories] if self.categories else Text
        return texts | None if missing else texts


class LookEvery(BaseModel):
    """When to look: every so many rows, or every so many seconds."""

    model_config = STRICT
    rows: Annotated[int, Field(ge=10, le=10**12)] | None = None
    seconds: Annotated[int, Field(ge=1, le=10**9)] | None = None

    @model_validator(mode="after")
    def _check(self):
        if (self.rows is None) == (self.seconds is None):
            raise ValueError("expected rows or seconds")
        return self


class Webhook(BaseModel):
    """Where new significant findings are posted to, and the secret that signs them."""

    model_config = STRICT
    url: Address
    secret: Secret


class Registration(BaseModel):
    """An investigation as it is registered. It never changes afterwards: that would break its promise."""

    model_config = STRICT
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
        used = [*self.sensitive_features, *self.outputs, *filter(None, (self.true_label, self.explanatory))]
        unknown = [name for name in [*used, *(self.context or ())] if name not in self.columns]
        doubled = [name for name in used if used.count(name) > 1]
        is_discovery, is_profiling = self.kind == "discovery", self.kind == "error profiling"
        for is_wrong, reason in [
            (is_discovery == isinstance(self.output, str), "output: expected labels for a discovery, else one column"),
            (is_profiling == (self.true_label is None), "true_label: expected for error profiling, for nothing else"),
            (is_discovery and self.explanatory, "explanatory: not for a discovery"),
            (unknown, f"columns: no type of {', '.join(map(repr, unknown))}"),
            (doubled, f"{', '.join(map(repr, doubled))}: expected one role, found two"),
            ({EVENT, PERSON} & set(self.columns), f"columns: {EVENT} and {PERSON} name the event and the person"),
        ]:
            if is_wrong:
                raise ValueError(reason)
        for name in [*self.sensitive_features, *self.outputs]:
            if self.columns[name].type == "category" and not self.columns[name].categories:
                raise ValueError(f"columns: expected the categories of {name!r} to be declared")
        if self.true_label and self.columns[self.true_label] != self.columns[self.output]:
            raise ValueError("columns: expected the same type for true_label as for output")
        takes_numbers = not is_discovery and self.metric not in ("Difference", "Ratio")
        for name in [*self.sensitive_features, *([] if self.true_label else self.outputs)] * self.is_pairwise:
            column = self.columns[name]
            n = len(column.labels or ())
            if n != 2 and not (takes_numbers and column.type == "number"):
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
    def outputs(self) -> list[str]:
        """The output, or all labels of a discovery."""
        return [self.output] if isinstance(self.output, str) else self.output

    @property
    def groups(self) -> dict[str, list[str]]:
        """The groups of each sensitive feature that has some."""
        return {name: self.columns[name].labels for name in self.sensitive_features if self.columns[name].labels}

    @cached_property
    def stored(self) -> dict[str, ColumnType]:
        """Columns that are stored with a decision: all but the true label."""
        return {name: column for name, column in self.columns.items() if name != self.true_label}

    @cached_property
    def dtype(self) -> np.dtype:
        """Of a row as it is stored: codes of categories, and numbers."""
        return np.dtype([(name, "<f8" if c.type == "number" else "<i2") for name, c in self.stored.items()])

    @cached_property
    def _rows(self) -> dict[str, SchemaValidator]:
        """What rows of decisions and of labels must be."""
        needed = {*self.outputs, *(self.sensitive_features if self.is_pairwise else ())}
        types = {name: column.of_values(missing=name not in needed) for name, column in self.stored.items()}
        rows = {"decisions": ({EVENT: Text} | types, {PERSON: Text | None})}
        if self.true_label:
            true = self.columns[self.true_label].of_values(missing=False)
            rows["decisions"][1][self.true_label] = true | None
            rows["labels"] = ({EVENT: Text, self.true_label: true}, {})
        return {kind: SchemaValidator(_rows_of(*columns)) for kind, columns in rows.items()}

    def check(self, kind: str, rows: list) -> list[dict]:
        """Return rows of decisions or labels whose numbers are floats.

        Raises
        ------
        RefusedError
            If a row is none, or a value is missing, of another type, out of bounds, infinite, or none of the declared
            categories; or if the investigation has no true label.
        """
        if kind not in self._rows:
            raise RefusedError(409, "the investigation has no true label")
        try:
            return self._rows[kind].validate_python(rows, strict=True)
        except ValidationError as found:
            places = [(one["loc"], one["msg"]) for one in found.errors(include_url=False, include_input=False)]
            raise RefusedError(
                422, MISFIT, [error(row, ".".join(name), reason) for (row, *name), reason in places[:MOST_ERRORS]]
            ) from None


def _rows_of(required: dict, optional: dict) -> core_schema.ListSchema:
    """Return the schema of rows, given by the types of their columns; it ends at the first row that does not fit."""
    fields = {
        name: core_schema.typed_dict_field(TypeAdapter(kind).core_schema, required=name in required)
        for name, kind in (required | optional).items()
    }
    return core_schema.list_schema(core_schema.typed_dict_schema(fields, extra_behavior="forbid"), fail_fast=True)


def keyed(key: bytes, purpose: bytes, texts: Sequence[str | None]) -> list[bytes | None]:
    """Return keyed hashes of texts, of 16 bytes, which tell nothing to who has not the key; missing ones stay so."""
    return [None if t is None else hmac.digest(key, purpose + t.encode(), "sha256")[:16] for t in texts]


def for_training(hashes: Sequence[bytes], train_size: float) -> np.ndarray:
    """Return which events are for training: those whose keyed hash, as a share of its range, is below `train_size`."""
    parts = np.frombuffer(b"".join(hashes), dtype=">u8")[::2]
    return parts < np.uint64(int(train_size * 2**64))
