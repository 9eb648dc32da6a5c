"""Integer codes of raw columns, as the published encoded tables have them; the rules are in ``data_scripts``."""

import hashlib
import string
from collections.abc import Iterable, Mapping

import pandas as pd

from fairlab.data.documents import read_yaml
from fairlab.data.errors import DataError
from fairlab.data.registry import File
from fairlab.paths import DATA_SCRIPTS


def encodings() -> dict:
    """Return the content of ``data_scripts/encodings.yaml``: rules by raw table, and lists of rows by variant."""
    return read_yaml(DATA_SCRIPTS / "encodings.yaml", error=DataError)


def encode(table: pd.DataFrame, rules: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return the columns that `rules` name, encoded, in the order of the rules.

    Parameters
    ----------
    table : DataFrame
        Raw values: text, or numbers.
    rules : mapping of str to mapping
        By column, as explained at the head of ``data_scripts/encodings.yaml``.

    Returns
    -------
    DataFrame
        Codes of categories as text, for they are names; everything else as integers.

    Raises
    ------
    DataError
        If a column is missing, a rule has an unknown key, or a value is no number or has no code.
    """
    if missing := [name for name in rules if name not in table]:
        raise DataError(f"the raw table lacks the columns {', '.join(missing)}")
    return pd.DataFrame({name: _encode_column(table[name], rule) for name, rule in rules.items()})


def in_words(integers: pd.Series, names: Iterable[str]) -> pd.Series:
    """Return a column of categories, where code k is called ``names[k]``."""
    return pd.Series(pd.Categorical.from_codes(integers, list(names)), index=integers.index, name=integers.name)


def codes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every word of a categorical column replaced by its place, all as integers.

    It undoes `in_words`. Where the categories are themselves codes, ``astype(int)`` gives their integers.
    """
    columns = {
        name: column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        for name, column in table.items()
    }
    return pd.DataFrame(columns).astype("int64")


def published_text(table: pd.DataFrame, *, final_newline: bool) -> str:
    """Return an encoded table as the published files have it: a header of letters, commas, no blanks."""
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


_KEYS = ("width", "codes", "equals")


def _encode_column(column: pd.Series, rule: Mapping) -> pd.Series:
    where = f"column {column.name!r}"
    kinds = [key for key in rule if key != "clip"]
    if len(kinds) > 1 or not set(kinds) <= set(_KEYS):
        raise DataError(f"{where}: expected one of {', '.join(_KEYS)} and clip, found {', '.join(rule)}")
    if "codes" in rule:
        codes = column.astype(str).map({str(value): str(code) for value, code in rule["codes"].items()})
        if (strange := codes.isna()).any():
            raise DataError(f"{where}: {column[strange].tolist()[0]!r} has no code")
        return codes
    try:
        numbers = pd.to_numeric(column)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    if "equals" in rule:
        numbers = (numbers == rule["equals"]).astype("int64")
    return (numbers // rule.get("width", 1)).clip(*rule.get("clip", (None, None))).astype("int64")
