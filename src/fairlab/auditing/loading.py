"""A model and a table by name, as the command line gives them."""

import bz2
import csv
import gzip
import importlib
import io
import re
import shlex
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.cases.foreign import with_integers
from fairlab.cases.meaning import PrintedLabel
from fairlab.cases.tables.encoding import IDENTIFIER, MISSING
from fairlab.checks import required
from fairlab.models import CommandModel

BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}  # where booleans are asked for
DATES = ("date", "datetime64")  # types of columns
KERAS, PICKLES = (".keras", ".h5"), (".pkl", ".pickle", ".joblib")
SAFE_KERAS = (
    3,
    12,
)  # earlier versions run code of a file: of any .h5, and of .keras by known ways around its safe mode


def load_model(name: str, *, trust_pickle: bool = False):
    """Return a model by its name.

    Parameters
    ----------
    name : str
        ``module:attribute``, imported with the current directory on the path; a Keras file (``.keras``, ``.h5``); a
        pickle (``.pkl``, ``.pickle``, ``.joblib``).
    trust_pickle : bool
        Whether a pickle may be opened, and a Keras file by Keras before 3.12. Either may run whatever code it holds,
        with all rights of the user. Later versions of Keras refuse layers with code of their own.

    Raises
    ------
    ValueError
        If there is no such module, attribute or file, or the file may run code and is not trusted.
    """
    suffix = Path(name).suffix.lower()
    if suffix in KERAS + PICKLES:
        return _from_file(Path(name), suffix, trust_pickle)
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(
            f"model: expected module:name, a Keras file ({', '.join(KERAS)}) or a pickle ({', '.join(PICKLES)}), "
            f"found {name!r}"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with _opening(f"module {module!r}", but=ModuleNotFoundError):
            found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"model: module {module!r} needs {error.name!r}, which is not installed") from error
        raise ValueError(f"model: no module {module!r} in {here} or among the installed ones") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"model: module {module!r} has no {attribute!r}")
        found = getattr(found, part)
    return found


@contextmanager
def _opening(what, *, but=()):
    """Turn any error in opening a model, and any attempt to end the process, into an error of one line."""
    try:
        yield
    except but:
        raise
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if isinstance(error, SyntaxError) else f" ({Path(frame.filename).name}, line {frame.lineno})"
        if isinstance(error, AttributeError) and "__main__" in str(error):
            where = "; the file does not contain what a notebook or script defines: define it in a module"
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
        raise ValueError(f"model: {what} could not be opened: {reason}{where}") from error


def _from_file(path, suffix, trust_pickle):
    if not path.is_file():
        raise ValueError(f"model: there is no file {path}")
    trusted = "if you made the file yourself or trust whoever did, give --trust-pickle"
    if suffix in PICKLES:
        if not trust_pickle:
            raise ValueError(
                f"model: {path} is a pickle, and opening a pickle runs any code in it, with all your permissions; "
                f"{trusted}, else import the model as module:name"
            )
        import joblib

        with _opening(path):
            return joblib.load(path)  # opens plain pickles too
    keras = required("keras")
    if tuple(int(part) for part in keras.__version__.split(".")[:2]) < SAFE_KERAS and not trust_pickle:
        raise ValueError(
            f"model: expected Keras 3.12 or later, found {keras.__version__}, which may run code that is in {path}; "
            f"upgrade it, or {trusted}"
        )
    with _opening(path):
        return keras.models.load_model(path, compile=False)


def command_model(command: str, *, in_batches: bool = False, timeout: float | None = None) -> CommandModel:
    """Return a program as a model.

    Parameters
    ----------
    command : str
        As in a shell, such as ``"python score.py"``; it is started without one.
    in_batches : bool
        Whether it reads rows as CSV; else it is started once for each row.
    timeout : float or None
        Seconds that one call may take, if these are fewer than the class allows.

    Raises
    ------
    ValueError
        If the command cannot be parsed.
    """
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"model: {command!r} is no command line: {error}") from error
    if not parts:
        raise ValueError("model: expected a command line, found an empty text")
    model = CommandModel(parts, by_row=not in_batches)
    limits = [limit for limit in (timeout, model.timeout) if limit]
    return replace(model, timeout=min(limits, default=None))


def read_table(path: str | Path, dtype: Mapping[str, str] | None = None, *, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Return a table from a CSV file (``.csv``, ``.tsv``, also packed), a Parquet or a Feather file.

    In a CSV file, an empty field is missing. A column holds numbers, or booleans, if all of its other fields do; then
    strings such as ``NA`` and ``null`` are missing as well, with a warning. Any other column is text, as written in the
    file. Whole numbers are text as well, with a warning, if one begins with a zero, as zip codes do, or has too many
    digits to be held exactly.

    Parameters
    ----------
    path : str or Path
    dtype : mapping of str to str, optional
        Types of columns, by name: ``{"zip": "str"}``. The values must fit: ``bool`` takes true and false, 1 and 0,
        ``date`` and ``datetime64`` dates and times with the year first.
    texts : iterable of str
        Columns to read as text, where the table has them.

    Raises
    ------
    ValueError
        If there is no such file, it cannot be read as a table, two columns have the same name, a row has more or fewer
        fields than there are columns, or a type is unknown or does not fit its column.
    """
    path, dtype = Path(path), dict(dtype or {})
    if not path.is_file():
        raise ValueError(f"table: there is no file {path}")
    *_, ending, packing = ["", "", *map(str.lower, path.suffixes)]
    if packing not in PACKED:
        ending, packing = packing, ""
    if not (ending in SEPARATORS or (ending in BINARY and not packing)):
        known = f"{', '.join(SEPARATORS)} (also with {', '.join(filter(None, PACKED))}), {', '.join(BINARY)}"
        raise ValueError(f"table: expected a file that ends with one of {known}, found {path}")
    try:
        if ending in BINARY:
            table = _from_arrow(path, ending)
        else:
            with PACKED[packing](path, "rt", encoding="utf-8-sig", newline="") as stream:
                table = _texts(stream, SEPARATORS[ending])
    except Exception as error:  # each format and each packing has errors of its own
        advice = "; save it as UTF-8" * isinstance(error, UnicodeDecodeError)
        raise ValueError(f"table: {path} could not be read as a table: {error}{advice}") from error
    if unknown := set(dtype) - set(table):
        raise ValueError(f"dtype: the table has no column {', '.join(sorted(unknown))}")
    dtype = {name: "str" for name in texts if name in table} | dtype
    if ending in SEPARATORS:
        table = table.assign(**{name: _inferred(table[name]) for name in table if name not in dtype})
    for name, kind in dtype.items():
        try:
            if kind in DATES:
                table[name] = _dates(table[name])
            else:
                table[name] = _typed(table[name], pd.api.types.pandas_dtype(kind))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"dtype: {name} cannot be read as {kind!r}: {error}") from error
    return table


def _open_zip(path, mode, **options):
    """Open the one file in a zip."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(f"expected one file in the zip, found {len(names)}")
        return io.TextIOWrapper(archive.open(names[0]), **options)


def _open_xz(path, mode, **options):
    """Open a file packed by xz, which not every Python has."""
    import lzma

    return lzma.open(path, mode, **options)


def _from_arrow(path: Path, ending: str) -> pd.DataFrame:
    """Return the table of a Parquet or Feather file; large integers stay exact in columns with missing values."""
    import narwhals

    table = required("pyarrow.feather" if ending == ".feather" else "pyarrow.parquet").read_table(path)
    return with_integers(table.to_pandas(), narwhals.from_native(table))


SEPARATORS = {".csv": ",", ".tsv": "\t"}
PACKED: dict[str, Callable] = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": _open_xz, ".zip": _open_zip}
BINARY = (".parquet", ".pq", ".feather")


def _texts(stream, separator: str) -> pd.DataFrame:
    """Return a CSV as columns of text; pandas alone would silently accept a row that is too long or too short."""
    rows = csv.reader(stream, delimiter=separator, strict=True)
    header = next(filter(None, rows), [])
    if not header:
        raise ValueError("it is empty")
    if len(header) == 1 and (other := re.search("[;\t|]", header[0])):
        raise ValueError(f"expected columns separated by {separator!r} and numbers like 1.5, found {other[0]!r}")
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise ValueError(f"expected a name for each column, found {twice[0]!r} twice")
    if unnamed := [place for place, name in enumerate(header, 1) if not name.strip()]:
        _warn(f"column {unnamed[0]} has no name in the first line and is given one")
    for row in rows:
        if row and len(row) != len(header):
            where = f"{len(row)} in line {rows.line_num}"
            raise ValueError(f"expected {len(header)} fields in each row, as in the first line, found {where}")
    stream.seek(0)
    return pd.read_csv(stream, sep=separator, dtype="str", keep_default_na=False, na_values=[""], index_col=False)


def _inferred(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers or booleans if all fields are; warn of what changes the data."""
    name, (codes, values, known) = column.name, _known(column)
    markers = ", ".join(text.strip() or repr(text) for text in values.drop(known.index))
    if values.empty:
        return column.astype(float)
    is_boolean = known.isin(BOOLEANS).all()
    found = known.map(BOOLEANS).astype(bool) if is_boolean else _numbers(known)
    if found is None or known.empty:
        if markers:
            _warn(f"{name}: {markers} is read as text, not as a missing value (leave the field empty)")
        return column
    if reason := "" if is_boolean else _no_number(known, found, has_missing=bool(markers) or bool((codes < 0).any())):
        _warn(f"{name} is read as text, not as numbers: {reason} (--dtype {name}=float reads numbers)")
        return column
    if markers:
        _warn(f"{name}: {markers} is read as a missing value (--dtype {name}=str keeps it as text)")
    return found.reindex(codes).set_axis(column.index)


def _known(column: pd.Series) -> tuple[np.ndarray, pd.Series, pd.Series]:
    """Return the codes of each row's string (-1: missing), the distinct strings, and those that are not missing."""
    codes, values = pd.factorize(column)
    values = pd.Series(values, dtype=column.dtype)
    return codes, values, values[~values.astype("str").str.strip().isin(("", *MISSING))]


def _numbers(texts: pd.Series) -> pd.Series | None:
    """Return strings as whole numbers if all of them are, else as floats; None if one is not a number."""
    joined = "".join(texts.to_numpy(dtype=object))
    if not joined.isascii() or "_" in joined:  # which Python accepts, too
        return None
    for kind in ("int64", "uint64", "float64"):
        with suppress(ValueError, OverflowError):
            numbers = texts.astype(kind)
            return None if numbers.isna().any() else numbers
    return None


def _no_number(texts: pd.Series, numbers: pd.Series, *, has_missing: bool) -> str:
    """Return why strings that look like numbers are not read as numbers, "" if they are."""
    if (lost := np.isinf(numbers) & texts.str.contains("[0-9]")).any():
        return f"{texts[lost].iloc[0].strip()} is too large"
    if not (numbers % 1 == 0).all():
        return ""
    if (zero := texts.str.match(IDENTIFIER)).any():
        return f"{texts[zero].iloc[0].strip()} begins with a zero, as identifiers do"
    sizes = numbers.astype(float).abs()
    largest = texts[sizes.idxmax()].strip()
    is_float = numbers.dtype.kind == "f" or has_missing
    if is_float and sizes.max() >= 2**53 and largest.lstrip("+-").isdigit():
        return f"{largest} has too many digits to be held exactly"
    return ""


def _dates(column: pd.Series) -> pd.Series:
    """Return dates; raises a ValueError for texts that do not begin with the year: they may begin with day or month."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column.astype("datetime64[us]")
    codes, _, known = _known(column)
    if (strange := ~known.str.match(r"\s*\d{4}")).any():
        raise ValueError(f"expected the year first, as in 2025-01-31, found {known[strange].iloc[0]!r}")
    return known.astype("datetime64[us]").reindex(codes).set_axis(column.index)


def _typed(column: pd.Series, target) -> pd.Series:
    """Return a column in another type; raises a ValueError where a value would change."""
    is_boolean = pd.api.types.is_bool_dtype(target)
    if isinstance(target, np.dtype) and target.kind in "SUV":
        raise ValueError("expected 'str', which does not truncate text")
    if not (is_boolean or pd.api.types.is_numeric_dtype(target)):
        return column.astype(target)
    codes, found = None, column
    if pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty"):
        codes, values, known = _known(column)
        texts = known.str.strip().str.lower()
        found = _numbers(known)
        if is_boolean and texts.isin(TRUTH).all():
            found = texts.map(TRUTH).astype(bool)
        elif is_boolean or found is None:
            strange = ~texts.isin(TRUTH) if is_boolean else known.map(lambda text: _numbers(pd.Series([text])) is None)
            raise ValueError(f"found {known[strange].iloc[0]!r}")
        if isinstance(target, np.dtype) and target.kind in "iub" and (len(known) < len(values) or (codes < 0).any()):
            raise ValueError("a value is missing; expected 'boolean', 'Int64' or 'float' as type")
    typed = found.astype(target)
    if pd.api.types.is_numeric_dtype(found):
        before = found.dropna()
        after = typed[before.index]
        if pd.api.types.is_float_dtype(target):
            kept = after.astype(float)
            changed = np.isfinite(before.astype(float)) & ~np.isfinite(kept)
            if not pd.api.types.is_bool_dtype(before):  # decimals may be rounded, but whole numbers may be identifiers
                with np.errstate(invalid="ignore"):
                    changed |= (before % 1 == 0) & (kept.astype(before.dtype) != before)
        else:
            changed = after != before
        if changed.any():
            raise ValueError(f"found {before[changed].iloc[0]}")
    return typed if codes is None else typed.reindex(codes).set_axis(column.index)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def label(text: str, column: pd.Series | None):
    """Return the label of a column that prints as a text; without a column, a `PrintedLabel`."""
    given = PrintedLabel(text)
    return given if column is None else given.among(set(column.dropna().unique().tolist()))
