"""Registrations: an investigation, the types of its columns, and the check of rows against them."""

import hmac
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator
from pydantic_core import SchemaValidator, core_schema

MOST_COLUMNS, MOST_CATEGORIES, LONGEST_TEXT = 100, 1_000, 200
MOST_ROWS = 30_000  # of a batch: a query of SQLite takes 32,766 values
LARGEST_NUMBER, MIN_WIDTH = 1e15, 1e-9  # of numbers, and of the width of bounds: fourth powers and sums stay finite
EVENT, PERSON = "event_id", "person"
MOST_ERRORS = 20  # of an answer
MISFIT = "rows do not match the registration; nothing of the batch is stored"
STORABLE = r"^[^\x00]*$"  # PostgreSQL stores no NUL

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, pattern=STORABLE)]
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class RefusedError(Exception):
    """A refused request: the HTTP status of the answer, the reason, and the errors by row or field."""

    def __init__(self, status: int, reason: str, errors: Iterable[dict] = ()):
        super().__init__(reason)
        self.status, self.errors = status, list(islice(errors, MOST_ERRORS))


def refuse(is_so: object, status: int, reason: str, errors: Iterable[dict] = ()) -> None:
    """Refuse a request if `is_so` is true."""
    if is_so:
        raise RefusedError(status, reason, errors)


def error(row: int | None, column: str, reason: str) -> dict:
    """Return one error of a refusal, without values of rows."""
    return {"row": row, "column": column[:LONGEST_TEXT], "reason": reason[:LONGEST_TEXT]}


def _refuse(*faults: tuple[object, str]) -> None:
    """Raise a ValueError with the reason of the first fault that is true."""
    for is_fault, reason in faults:
        if is_fault:
            raise ValueError(reason)


class ColumnType(BaseModel):
    """Type of a column: strings, some of which may be missing; numbers; or true and false."""

    model_config = STRICT
    type: Literal["category", "number", "boolean"]
    categories: Annotated[list[Text], Field(min_length=2, max_length=MOST_CATEGORIES)] | None = None
    low: Number | None = None
    high: Number | None = None

    @model_validator(mode="after")
    def _check(self):
        _refuse(
            (
                self.categories and (self.type != "category" or len(set(self.categories)) < len(self.categories)),
                "categories: expected different texts, of a column of type category",
            ),
            (
                (self.low, self.high) != (None, None) and self.type != "number",
                f"low and high: expected for a column of type number, found {self.type}",
            ),
            (
                self.width is not None and self.width < MIN_WIDTH,
                f"high: expected at least {MIN_WIDTH:g} more than low={self.low}, found {self.high}",
            ),
        )
        return self

    @property
    def width(self) -> float | None:
        """Distance between the bounds; None unless there are both."""
        return None if None in (self.low, self.high) else self.high - self.low

    @property
    def labels(self) -> list[str] | None:
        """The declared categories; those of a boolean are false and true."""
        return ["false", "true"] if self.type == "boolean" else self.categories

    @property
    def values(self):
        """The type of its values for pydantic."""
        return {
            "category": Literal[*self.categories] if self.categories else Text,
            "number": Annotated[
                float,
                Field(
                    ge=-LARGEST_NUMBER if self.low is None else self.low,
                    le=LARGEST_NUMBER if self.high is None else self.high,
                    allow_inf_nan=False,
                ),
            ],
            "boolean": bool,
        }[self.type]


class Webhook(BaseModel):
    """The address to which new significant findings are posted, and the secret that signs them."""

    model_config = STRICT
    url: Annotated[str, Field(max_length=LONGEST_TEXT, pattern=r"^https?://[A-Za-z0-9\[][!-~]*$")]
    secret: Annotated[Text, Field(min_length=16)]


class Registration(BaseModel):
    """A registered investigation. It never changes: a change would void its error guarantee."""

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
    look_every: Annotated[
        dict[Literal["rows", "seconds"], Annotated[int, Field(ge=10, le=10**12)]], Field(min_length=1, max_length=1)
    ]
    confidence_level: Annotated[float, Field(ge=0.5, le=0.999999)] = 0.95
    spending: Literal["series", "adaptive"] = "series"
    train_size: Annotated[float, Field(ge=0.05, le=0.95)] = 0.5
    min_leaf_size: Annotated[int, Field(ge=1, le=10**9)] = 100
    max_depth: Annotated[int, Field(ge=0, le=20)] = 5
    smallest_cell: Annotated[int, Field(ge=1, le=10**6)] = 10
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    webhook: Webhook | None = None

    @model_validator(mode="after")
    def _check(self):
        _refuse(
            (
                (self.kind == "discovery") == isinstance(self.output, str),
                "output: expected labels for a discovery, else one column",
            ),
            (
                (self.kind == "error profiling") == (self.true_label is None),
                "true_label: expected for error profiling only",
            ),
            (
                {EVENT, PERSON} & set(self.columns),
                f"columns: {EVENT} and {PERSON} are reserved for the event and the person",
            ),
            (
                any(
                    column and column.type == "category" and not column.categories
                    for column in map(self.columns.get, [*self.sensitive_features, *self.outputs])
                ),
                "columns: expected the categories of sensitive features and outputs to be declared",
            ),
            (
                self.true_label and self.columns.get(self.true_label) != self.columns.get(self.outputs[0]),
                "columns: expected the same type for true_label as for output",
            ),
        )
        return self

    @property
    def outputs(self) -> list[str]:
        """The output, or all labels of a discovery."""
        return [self.output] if isinstance(self.output, str) else self.output

    @property
    def groups(self) -> dict[str, list[str]]:
        """The groups of each sensitive feature that has some."""
        return {name: self.columns[name].labels for name in self.sensitive_features if self.columns[name].labels}

    @cached_property
    def _rows(self) -> dict[str, SchemaValidator]:
        """Validators of rows of decisions and of labels; only categories and true labels may be missing."""
        numbers = any(self.columns[name].type == "number" for name in [*self.sensitive_features, *self.outputs])
        # The metric takes two categories of a sensitive feature, or numbers; missing values would be a third category.
        is_pairwise = self.kind == "discovery" or (numbers if self.metric is None else self.metric != "NMI")
        needed = {*self.outputs, *(self.sensitive_features if is_pairwise else ())}
        may_miss = {self.true_label, *(name for name, of in self.columns.items() if of.type == "category")} - needed
        types = {name: of.values | None if name in may_miss else of.values for name, of in self.columns.items()}
        rows = {"decisions": _rows_of({EVENT: Text} | types | {PERSON: Text | None}, {PERSON, self.true_label})}
        if self.true_label:
            rows["labels"] = _rows_of({EVENT: Text, self.true_label: self.columns[self.true_label].values})
        return rows

    def check(self, kind: str, rows: Iterable) -> list[dict]:
        """Return checked rows of decisions or labels, with numbers as floats; stop reading at the first invalid row.

        Raises
        ------
        RefusedError
            If a row is no object, or a value is missing, of another type, out of bounds, infinite, or none of the
            declared categories; if there are too many rows, or if the investigation has no true label.
        """
        refuse(kind not in self._rows, 409, "the investigation has no true label")
        try:
            checked = list(self._rows[kind].validate_python(islice(rows, MOST_ROWS + 1), strict=True))
        except ValidationError as found:
            errors = found.errors(include_url=False, include_input=False)
            places = [error(one["loc"][0], ".".join(one["loc"][1:]), one["msg"]) for one in errors]
            raise RefusedError(422, MISFIT, places) from None
        refuse(len(checked) > MOST_ROWS, 400, f"expected at most {MOST_ROWS:,} rows a batch, found more")
        return checked


def _rows_of(types: dict, optional: Container[str] = ()) -> SchemaValidator:
    """Return a validator of rows with the given types of columns; it reads rows lazily."""
    fields = {
        name: core_schema.typed_dict_field(TypeAdapter(kind).core_schema, required=name not in optional)
        for name, kind in types.items()
    }
    row = core_schema.typed_dict_schema(fields, extra_behavior="forbid")
    return SchemaValidator(core_schema.generator_schema(row))


def keyed(key: bytes, purpose: bytes, texts: Sequence[str | None]) -> list[bytes | None]:
    """Return keyed hashes of texts, of 16 bytes, which reveal nothing without the key; missing texts remain None."""
    return [None if t is None else hmac.digest(key, purpose + t.encode(), "sha256")[:16] for t in texts]


def for_training(hashes: Sequence[bytes], train_size: float) -> np.ndarray:
    """Return which events are for training: those whose keyed hash, as a share of its range, is below `train_size`."""
    parts = np.frombuffer(b"".join(hashes), dtype=">u8")[::2]
    return parts < np.uint64(int(train_size * 2**64))
