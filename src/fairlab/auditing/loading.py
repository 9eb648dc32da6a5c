"""A model and a table by name, as the command line gives them."""

import importlib
import shlex
import sys
from pathlib import Path

import pandas as pd

from fairlab.checks import required
from fairlab.models import CommandSoftware

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


def read_table(path: str | Path) -> pd.DataFrame:
    """Return a table of people from a CSV file (``.csv``, ``.tsv``, also packed) or a Parquet file.

    Raises
    ------
    ValueError
        If there is no such file, or it cannot be read as a table.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"table: there is no file {path}")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",", low_memory=False)
    except (ImportError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"table: {path} could not be read as a table: {error}") from error


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
