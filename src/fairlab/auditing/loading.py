"""A model and a table by name, as the command line gives them."""

import importlib
import shlex
import sys
import warnings
from pathlib import Path

import pandas as pd

from fairlab.checks import required
from fairlab.models import CommandSoftware

ZERO = r"\s*[+-]?0\d"  # the beginning of an identifier
ROWS_AT_A_TIME = 200_000

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


def _from_file(path, suffix, trust_pickle):
    if not path.is_file():
        raise ValueError(f"model: there is no file {path}")
    trusted = "if you made the file yourself or trust whoever did, give --trust-pickle"
    if suffix in PICKLES:
        if not trust_pickle:
            raise ValueError(
                f"model: {path} is a pickle, and opening a pickle runs whatever code is in it, with all your rights; "
                f"{trusted}, else import the model as module:name"
            )
        import joblib

        return joblib.load(path)  # opens plain pickles too
    keras = required("keras")
    if tuple(int(part) for part in keras.__version__.split(".")[:2]) < SAFE_KERAS and not trust_pickle:
        raise ValueError(
            f"model: expected Keras 3.12 or later, found {keras.__version__}, which may run code that is in {path}; "
            f"upgrade it, or {trusted}"
        )
    return keras.models.load_model(path, compile=False)


def command_model(command: str, **options) -> CommandSoftware:
    """Return a program as a model, which is started once for each row.

    Parameters
    ----------
    command : str
        As in a shell, such as ``"python score.py"``; it is started without one.
    **options
        Of `CommandSoftware`.

    Raises
    ------
    ValueError
        If the command cannot be taken apart.
    """
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"model: {command!r} is no command line: {error}") from error
    if not parts:
        raise ValueError("model: expected a command line, found an empty text")
    return CommandSoftware(parts, **options)


def read_table(path: str | Path, dtype: dict[str, str] | None = None) -> pd.DataFrame:
    """Return a table of people from a CSV file (``.csv``, ``.tsv``, also packed) or a Parquet file.

    A column of whole numbers of which one begins with a zero, such as zip codes, is no column of numbers: it stays
    text, with a warning that names it.

    Parameters
    ----------
    path : str or Path
    dtype : dict of str to str, optional
        Types of columns, by name, which are taken as given: ``{"zip": "str"}``.

    Raises
    ------
    ValueError
        If there is no such file, it cannot be read as a table, or a type is unknown or does not fit its column.
    """
    path, dtype = Path(path), dict(dtype or {})
    if not path.is_file():
        raise ValueError(f"table: there is no file {path}")
    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            options = {"sep": "\t" if ".tsv" in path.suffixes else ",", "low_memory": False}
            table = pd.read_csv(path, dtype=dict.fromkeys(dtype, "str"), **options)
            whole = [name for name in table if name not in dtype and _is_whole(table[name])]
            for name, text in _beginning_with_zero(path, whole, options).items():
                table[name] = text
                warnings.warn(
                    f"{name} is read as text, not as numbers: {text[text.str.match(ZERO, na=False)].iloc[0]} begins "
                    f"with a zero, as identifiers do (--dtype {name}=float reads numbers)",
                    stacklevel=2,
                )
    except (ImportError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"table: {path} could not be read as a table: {error}") from error
    if unknown := set(dtype) - set(table):
        raise ValueError(f"dtype: the table has no column {', '.join(sorted(unknown))}")
    for name, kind in dtype.items():
        try:
            table[name] = table[name].astype(kind)
        except (TypeError, ValueError) as error:
            raise ValueError(f"dtype: {name} cannot be read as {kind!r}: {error}") from error
    return table


def _is_whole(column: pd.Series) -> bool:
    numbers = column.dropna()
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and (numbers % 1 == 0).all()


def _beginning_with_zero(path, names, options) -> dict[str, pd.Series]:
    """Return those of the columns as text that have a number with a zero before other digits."""
    found = set()
    if names:
        for part in pd.read_csv(path, usecols=names, dtype="str", chunksize=ROWS_AT_A_TIME, **options):
            found |= {name for name in part if part[name].str.match(ZERO, na=False).any()}
    return {} if not found else dict(pd.read_csv(path, usecols=sorted(found), dtype="str", **options).items())


def label(text: str, column: pd.Series | None):
    """Return a label as it stands in a column, by what it looks like in print: ``"1"`` finds the number 1."""
    if column is not None:
        for value in column.dropna().unique():
            if str(value) == text:
                return value
    try:
        number = float(text)
    except ValueError:
        return {"True": True, "true": True, "False": False, "false": False}.get(text, text)
    return int(number) if number.is_integer() else number
