"""Integer codes of raw columns, as in the published encoded tables; the rules are in ``data_scripts``."""

import hashlib
import string
from collections.abc import Iterable, Mapping
from typing import Annotated

import pandas as pd
from pydantic import ConfigDict, Field, RootModel, Strict, model_validator

from fairlab.data.documents import Entry, read_document
from fairlab.data.errors import DataError
from fairlab.data.project import project
from fairlab.data.registry import File


class Rule(Entry):
    """How a column is encoded: by the codes of its categories, as 1 where it equals a number, or divided by a width.

    Attributes
    ----------
    width : int or None
        The value is divided by it and rounded down, towards minus infinity.
    codes : dict of str to int, or None
    equals : int or None
    clip : tuple of int, or None
        Lowest and highest code, applied last.
    """

    width: Annotated[int, Field(gt=0)] | None = None
    codes: dict[str, int] | None = None
    equals: int | None = None
    clip: Annotated[tuple[int, int], Strict(False)] | None = None

    @model_validator(mode="after")
    def _is_one(self):
        given = [name for name in ("width", "codes", "equals") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"expected one of width, codes and equals, found {', '.join(given)}")
        return self


class _Encodings(RootModel[dict[str, dict[str, Rule] | list[int]]]):
    """Content of the file."""

    model_config = ConfigDict(strict=True)


def encodings() -> dict[str, dict[str, Rule] | list[int]]:
    """Return the content of ``data_scripts/encodings.yaml``: rules by raw table, and lists of rows by variant."""
    return read_document(project().data_scripts / "encodings.yaml", _Encodings, error=DataError).root


def encode(table: pd.DataFrame, rules: Mapping[str, Rule]) -> pd.DataFrame:
    """Return the columns that `rules` name, encoded, in the order of the rules.

    Parameters
    ----------
    table : DataFrame
        Raw values: text, or numbers.
    rules : mapping of str to Rule
        By column.

    Returns
    -------
    DataFrame
        Codes of categories as strings, since they are names; everything else as integers.

    Raises
    ------
    DataError
        If a column is missing, or a value is no number or has no code.
    """
    if missing := [name for name in rules if name not in table]:
        raise DataError(f"the raw table lacks the columns {', '.join(missing)}")
    return pd.DataFrame({name: _encode_column(table[name], rule) for name, rule in rules.items()})


def decode(integers: pd.Series, names: Iterable[str]) -> pd.Series:
    """Return a column of categories: code k becomes ``names[k]``."""
    return pd.Series(pd.Categorical.from_codes(integers, list(names)), index=integers.index, name=integers.name)


def codes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every category replaced by its code, all as integers.

    The inverse of `decode`. If the categories are themselves codes, ``astype(int)`` gives their integers.
    """
    columns = {
        name: column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        for name, column in table.items()
    }
    return pd.DataFrame(columns).astype("int64")


def published_text(table: pd.DataFrame, *, final_newline: bool) -> str:
    """Return an encoded table in the format of the published files: a header of letters, commas, no blanks."""
    header = ",".join(string.ascii_lowercase[: table.shape[1]])
    text = table.set_axis(header.split(","), axis=1).to_csv(index=False, lineterminator="\n")
    return text if final_newline else text.removesuffix("\n")


def check_published(table: pd.DataFrame, file: File, *, final_newline: bool) -> pd.DataFrame:
    """Return the table if it equals a published encoded file byte for byte.

    Raises
    ------
    DataError
        If it does not.
    """
    content = published_text(table, final_newline=final_newline).encode()
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise DataError(f"the encoded table has SHA-256 {found}, {file.path} has {file.sha256}")
    return table


def _encode_column(column: pd.Series, rule: Rule) -> pd.Series:
    where = f"column {column.name!r}"
    if rule.codes is not None:
        encoded = column.astype(str).map({value: str(code) for value, code in rule.codes.items()})
        if (strange := encoded.isna()).any():
            raise DataError(f"{where}: {column[strange].tolist()[0]!r} has no code")
        return encoded
    try:
        numbers = pd.to_numeric(column)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    if rule.equals is not None:
        numbers = (numbers == rule.equals).astype("int64")
    return (numbers // (rule.width or 1)).clip(*(rule.clip or (None, None))).astype("int64")
