"""Checks of what users hand in, of what is installed, and of the memory that is left.

Every error names the argument, the column and what was expected; for a package that is not installed, it names the
extra that brings it. ``tf = optional("tensorflow")`` at the top of a module stands for such a package, which is
imported when it is used.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    import pandas as pd  # where it is used, as the command line does not need it

# Importable name: the extra of pyproject.toml that brings it.
EXTRAS = {
    "tensorflow": "networks",
    "keras": "networks",
    "fairlearn": "networks",
    "numba": "networks",
    "torch": "torch",
    "z3": "symbolic",
    "lime": "symbolic",
    "alembic": "monitor",
    "fastapi": "monitor",
    "httpx": "monitor",
    "prometheus_client": "monitor",
    "psycopg": "monitor",
    "sqlalchemy": "monitor",
    "tenacity": "monitor",
    "uvicorn": "monitor",
    "IPython": "suite",
    "jinja2": "suite",
    "nbclient": "suite",
    "nbformat": "suite",
    "nbgrader": "labs",
    "papermill": "suite",
    "seaborn": "suite",
    "pyarrow": "tables",
    "duckdb": "tables",
}

MEMORY = "FAIRLAB_MEMORY_GB"
CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the tail of an error about an unknown name: the nearest known ones and the whole list.

    Parameters
    ----------
    name : str
    known : iterable of str

    Examples
    --------
    >>> from fairlab.checks import suggestion
    >>> "unknown profile 'quik'" + suggestion("quik", ["smoke", "quick", "paper"])
    "unknown profile 'quik'; did you mean 'quick'? (known: smoke, quick, paper)"
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{meant} (known: {', '.join(known) or 'none'})"


def check_count(value, name: str, *, least: int = 1, most: float = np.inf) -> int:
    """Return a whole number of at least `least`, and at most `most`, as an integer.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    least : int
    most : int, optional

    Raises
    ------
    ValueError
        If it is anything else, a boolean among them: True as a size is a slip, not a 1.
    """
    is_whole = isinstance(value, numbers.Real) and not isinstance(value, bool) and value == value // 1
    if not (is_whole and least <= value <= most):
        expected = "a positive integer" if least == 1 else f"an integer, at least {least}"
        expected = expected if np.isinf(most) else f"an integer from {least} to {most}"
        raise ValueError(f"{name}: expected {expected}, found {value!r}")
    return int(value)


def check_number(
    value,
    name: str,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    below: float = np.inf,
    infinite: bool = False,
) -> float:
    """Return a number within bounds as a float.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    least, above, below : float
        What it must be at least, more than and less than.
    infinite : bool
        Whether infinity will do.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    # Comparisons with nan are false.
    if is_number and least <= value > above and (value < below or below == np.inf) and (infinite or np.isfinite(value)):
        return float(value)
    raise ValueError(f"{name}: expected {_number_within(least, above, below, infinite)}, found {value!r}")


def _number_within(least, above, below, infinite) -> str:
    """Say what `check_number` expects."""
    if np.isfinite([above, below]).all():
        return f"a number between {above:g} and {below:g}"
    bounds = (("of at least", least), ("above", above), ("below", below))
    given = " and ".join(f"{word} {bound:g}" for word, bound in bounds if np.isfinite(bound))
    return f"a {'' if infinite else 'finite '}number {given}".rstrip()


def check_choice(value, name: str, known: Iterable[str]):
    """Return a value that is one of those known; raise a ValueError if it is none of them.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    known : iterable of str
    """
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, found {value!r}")
    return value


def check_flag(value, name: str) -> bool:
    """Return True or False; raise a ValueError for anything else, since text such as "no" would count as True.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}: expected True or False, found {value!r}")
    return bool(value)


def check_function(value, name: str):
    """Return something callable as it is; raise a TypeError if it is not.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    """
    if not callable(value):
        raise TypeError(f"{name}: expected a function, found {type(value).__name__}")
    return value


def check_text(value, name: str) -> str:
    """Return a text as it is; raise a ValueError for anything else.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    """
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a text, found {value!r}")
    return value


def check_seed(value, name: str = "random_state"):
    """Return the seed of a generator unchanged: a whole number of at least 0, None, or a generator.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if value is not None and not isinstance(value, np.random.Generator):
        check_count(value, name, least=0)
    return value


# Constraints for `checked` are the functions above, which take a value and a name, and these.
COUNT_OR_ZERO, FRACTION = partial(check_count, least=0), partial(check_number, above=0, below=1)
POSITIVE, ZERO_OR_MORE = partial(check_number, above=0), partial(check_number, least=0)
Function = TypeVar("Function", bound=Callable)


def check_kind(value, name: str, kind: type, *, advice: str = "", error: type[Exception] = TypeError):
    """Return an object of a class as it is; raise an error for anything else.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    kind : type
    advice : str
        What to do about it, as the end of the error.
    error : type
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise error(f"{name}: expected {article} {kind.__name__}, found {type(value).__name__}{advice}")
    return value


def unless_none(value, name: str, constraint: Callable):
    """Return None unchanged, anything else as a constraint returns it: for a parameter whose default is not None.

    Parameters
    ----------
    value : object
    name : str
        What to call it in an error.
    constraint : callable
    """
    return None if value is None else constraint(value, name)


def one_of(*known) -> Callable:
    """Return the constraint of a parameter that is one of a few values."""
    return partial(check_choice, known=known)


VARIANT = one_of("sound", "published")  # what is statistically right, or what is behind a paper's numbers


def checked(**constraints: Callable) -> Callable[[Function], Function]:
    """Return a decorator of functions whose arguments are checked before each call.

    A parameter whose default is None, or whose annotation allows it, may be None. The function gets what a constraint
    returns. Estimators take their parameters as they are: a class of them only stores the constraints, for
    `check_parameters`. They are in the attribute ``constraints``, from which the tests check everything public.

    Parameters
    ----------
    **constraints : callable
        By parameter: takes its value and its name, returns the value, or raises an error that says what was expected.

    Examples
    --------
    >>> from fairlab.checks import FRACTION, checked
    >>> @checked(alpha=FRACTION)
    ... def quantile(alpha):
    ...     return -np.log(alpha)
    >>> quantile(5)
    Traceback (most recent call last):
    ...
    ValueError: alpha: expected a number between 0 and 1, found 5
    """

    def decorate(function):
        if isinstance(function, type):
            function.constraints = getattr(function, "constraints", {}) | constraints
            return function
        signature = inspect.signature(function)
        may_be_none = {name for name, parameter in signature.parameters.items() if _may_be_none(parameter)}

        @wraps(function)
        def checking(*args, **kwargs):
            given = signature.bind(*args, **kwargs)
            for name, constraint in constraints.items():
                value = given.arguments.get(name)
                if name in given.arguments and (value is not None or name not in may_be_none):
                    given.arguments[name] = constraint(value, name)
            return function(*given.args, **given.kwargs)

        checking.constraints = constraints
        return checking

    return decorate


def check_parameters(estimator) -> None:
    """Raise an error for a parameter of an estimator that breaks a constraint of its class, when it is used."""
    defaults = inspect.signature(type(estimator)).parameters
    for name, constraint in type(estimator).constraints.items():
        value = getattr(estimator, name)
        if value is not None or not _may_be_none(defaults[name]):
            constraint(value, name)


def _may_be_none(parameter: inspect.Parameter) -> bool:
    return parameter.default is None or "None" in str(parameter.annotation)


def check_array(values, name: str, *, finite: bool = True) -> np.ndarray:
    """Return numbers as an array of floats, of any shape.

    Parameters
    ----------
    values : array-like
    name : str
        What to call them in an error.
    finite : bool
        Whether missing and infinite values are errors.

    Raises
    ------
    ValueError
        If something is no number or, unless allowed, missing or infinite.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected numbers, found {values.dtype}")
    if finite and (bad := ~np.isfinite(values)).any():
        raise ValueError(f"{name}: {int(bad.sum())} values are missing or infinite")
    return values.astype(float)


def check_binary(values, name: str, *, advice: str = "") -> np.ndarray:
    """Return zeros and ones, or booleans, as an array of the type that they have.

    Parameters
    ----------
    values : array-like
    name : str
        What to call them in an error.
    advice : str
        End of what is expected.

    Raises
    ------
    ValueError
        If one is anything else.
    """
    values = np.asarray(values)
    if (strange := values[~np.isin(values, (0, 1))]).size:
        raise ValueError(f"{name}: expected 0 and 1, or booleans{advice}, found {strange.tolist()[0]!r}")
    return values


def check_features(X, name: str = "X", *, min_rows: int = 1) -> tuple[np.ndarray, list[str]]:
    """Return `X` as a float array of shape (n_rows, n_features) and the names of its columns.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_rows, n_features)
        Numbers only. Columns of a plain array are called ``x0``, ``x1``, ...
    name : str
        What to call `X` in an error.
    min_rows : int
        Fewest rows that make sense to the caller.

    Raises
    ------
    ValueError
        If `X` is not two-dimensional, has too few rows, no column, a column twice, a column that is not numeric, or
        a missing or infinite value.
    """
    import pandas as pd

    types = list(X.dtypes) if isinstance(X, pd.DataFrame) else [np.asarray(X).dtype]
    if any(getattr(dtype, "kind", "") == "c" for dtype in types):
        raise ValueError(f"{name}: has complex numbers, expected real ones")
    if isinstance(X, pd.DataFrame):
        columns = [str(column) for column in X.columns]
        for column, dtype in zip(columns, types, strict=True):
            if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
                raise ValueError(f"{name}: column {column!r} has type {dtype}, expected numbers; encode it first")
        values = X.to_numpy(dtype=float, na_value=np.nan)
    else:
        try:
            values = np.asarray(X, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: expected a table of numbers ({error})") from error
        if values.ndim != 2:
            raise ValueError(f"{name}: expected shape (n_rows, n_features), found {values.shape}")
        columns = [f"x{j}" for j in range(values.shape[1])]
    if not columns:
        raise ValueError(f"{name}: has no columns")
    doubled = sorted({column for column in columns if columns.count(column) > 1})
    if doubled:
        raise ValueError(f"{name}: columns occur twice: {', '.join(doubled)}")
    if len(values) < min_rows:
        found = "is empty" if len(values) == 0 else f"has {len(values)} row{'s' * (len(values) > 1)}"
        raise ValueError(f"{name}: {found}, expected at least {min_rows}")
    # A table of whole numbers and booleans need not be searched.
    is_whole = all(isinstance(dtype, np.dtype) and dtype.kind in "biu" for dtype in types)
    if not (is_whole and isinstance(X, pd.DataFrame)) and (bad := ~np.isfinite(values)).any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name}: column {columns[column]!r} holds {values[row, column]} in row {row}; "
            f"{int(bad.sum())} values in all are missing or infinite"
        )
    return values, columns


def is_number(column: pd.Series) -> bool:
    """Return whether a column holds numbers: booleans, strings, categories and dates are none."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def estimator_features(estimator, X, *, fitting: bool, name: str = "X", min_rows: int = 1) -> np.ndarray:
    """Return `X` as a float array of shape (n_rows, n_features) for an estimator, held to the columns of its fit.

    scikit-learn's `validate_data` knows the number, names and order of the columns, and remembers them when fitting, in
    ``n_features_in_`` and ``feature_names_in_``; `check_features` then names the column that is not as expected.

    Parameters
    ----------
    estimator : scikit-learn estimator
    X : DataFrame or array-like of shape (n_rows, n_features)
    fitting : bool
        Whether the columns of `X` are to be remembered; otherwise they must be those of the fit.
    name, min_rows
        As for `check_features`.

    Raises
    ------
    ValueError
        As `check_features`, or for other columns than those of the fit.
    TypeError
        If `X` is sparse.
    """
    import pandas as pd
    from sklearn.utils.validation import validate_data

    # Values of a table are checked by `check_features`.
    skipped = {"skip_check_array": True}
    if isinstance(X, pd.DataFrame):
        X = X.copy(deep=False)
        X.columns = X.columns.map(str)  # scikit-learn remembers no other names
    else:
        skipped = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 0}
    try:
        validate_data(estimator, X, reset=fitting, **skipped)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    return check_features(X, name, min_rows=min_rows)[0]


def check_names(names, argument: str, known: Iterable[str], *, what: str = "column") -> list[str]:
    """Return one name or several as a list of text; a whole number is a name, too, as it is in a table.

    Parameters
    ----------
    names : str, iterable of str, or None
        None for none.
    argument : str
        What to call them in an error.
    known : iterable of str
    what : str
        What the names stand for.

    Raises
    ------
    TypeError
        If they are no names.
    ValueError
        If one is not known, or named twice.
    """
    if names is None:
        return []
    several = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in several:
        if not isinstance(name, str | numbers.Integral) or isinstance(name, bool):
            raise TypeError(f"{argument}: expected the name of a {what} or a list of names, found {name!r}")
        if str(name) not in known:
            raise ValueError(f"{argument}: no {what} {str(name)!r}{suggestion(str(name), known)}")
    several = list(map(str, several))
    if doubled := [name for name in several if several.count(name) > 1]:
        raise ValueError(f"{argument}: {doubled[0]!r} is named twice")
    return several


def check_same_columns(first: list[str], second: list[str], first_name: str, second_name: str) -> None:
    """Raise a ValueError that lists the difference unless both have the same columns in the same order.

    Parameters
    ----------
    first, second : list of str
        Names of columns.
    first_name, second_name : str
        What to call the tables in an error.
    """
    if first == second:
        return
    if len(first) != len(second) and {*first, *second} <= {f"x{j}" for j in range(len(first) + len(second))}:
        raise ValueError(f"{first_name} has {len(first)} columns, {second_name} has {len(second)}")
    only = [
        f"only in {name}: {', '.join(more)}"
        for name, own, other in ((first_name, first, second), (second_name, second, first))
        if (more := [column for column in own if column not in other])
    ]
    raise ValueError(f"{first_name} and {second_name} differ in columns: {'; '.join(only) or 'their order differs'}")


class MissingExtraError(ModuleNotFoundError):
    """Something needs a package that this installation leaves out."""


class OptionalModule:
    """A module that is imported when one of its attributes is used.

    Not `lazy_loader.load`, which puts the module into `sys.modules` before it is loaded: looking there whether a model
    is one of Keras would load TensorFlow. Its error names no extra, either.

    Parameters
    ----------
    name : str
        Full name of the module.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str):
        if attribute.startswith("__"):  # asked by copies, pickles and inspection, not by users
            raise AttributeError(attribute)
        return getattr(required(self._name), attribute)

    def __repr__(self) -> str:
        return f"optional({self._name!r})"


def optional(name: str) -> OptionalModule:
    """Return a proxy for a module of `EXTRAS`, or a submodule, that is imported at its first use.

    Raises
    ------
    KeyError
        If no extra brings it.
    """
    EXTRAS[name.partition(".")[0]]
    return OptionalModule(name)


def required(name: str):
    """Import a module of `EXTRAS`, or a submodule, and return it.

    Raises
    ------
    MissingExtraError
        If its package is not installed; the message names the extra that brings it.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        extra = EXTRAS[package]
        message = (
            f"this needs {package}, which is not installed; the extra {extra!r} brings it: "
            f"pip install 'fairlab[{extra}]', or '.[{extra}]' in a clone"
        )
        raise MissingExtraError(message, name=package) from error


def align(values, index: pd.Index, name: str) -> pd.Series:
    """Return one value for each row of a table: a Series by its index, anything else in the order of the rows.

    Parameters
    ----------
    values : Series or array-like of shape (n_rows,)
    index : Index
        Row labels of the table.
    name : str
        What to call `values` in an error.

    Returns
    -------
    Series
        With the table's index.

    Raises
    ------
    ValueError
        If there is not one value for each row; if a Series has other row labels than the table, or they occur twice and
        stand in another order; if they count from 0 and the table's are in another order, so that either may be meant.
    """
    import pandas as pd

    if isinstance(values, pd.DataFrame):
        if values.shape[1] != 1:
            raise ValueError(f"{name}: expected one column, found {values.shape[1]}")
        values = values.iloc[:, 0]
    is_labelled = isinstance(values, pd.Series)
    values = values if is_labelled else _as_series(values, name)
    if len(values) != len(index):
        raise ValueError(f"{name}: expected {len(index)} values, one for each row, found {len(values)}")
    if not is_labelled:
        return values.set_axis(index)
    if values.index.equals(index):
        return values
    if not index.is_unique or not values.index.is_unique:
        raise ValueError(f"{name}: row labels occur twice, so that its order cannot be told; reset the index of both")
    if len(strange := values.index.difference(index)):
        raise ValueError(f"{name}: has the row label {strange[0]!r}, which the table has not; expected the same index")
    if isinstance(values.index, pd.RangeIndex) and values.index[0] == 0:  # as of values whose index was reset
        raise ValueError(
            f"{name}: its row labels count from 0, and the table's stand in another order; hand in an array in the "
            f"order of the table, or {name}.loc[table.index] if they name its rows"
        )
    return values.reindex(index)


def _as_series(values, name: str) -> pd.Series:
    import pandas as pd

    if getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
        values = np.asarray(values)[:, 0]
    unordered = str | bytes | Mapping | Set
    if getattr(values, "ndim", 1) != 1 or isinstance(values, unordered) or not isinstance(values, Iterable):
        found = f"shape {values.shape}" if hasattr(values, "shape") else type(values).__name__
        raise ValueError(f"{name}: expected one value for each row, found {found}")
    if isinstance(values, np.ndarray | pd.api.extensions.ExtensionArray | pd.Index):
        return pd.Series(values)
    values = list(values)  # a list of texts and numbers must not become one of texts
    column = pd.Series(values, dtype=object)
    return column.infer_objects() if len(set(map(type, values))) == 1 else column


def memory_left_gb() -> float:
    """Return the memory that this process may still take, in GB: ``FAIRLAB_MEMORY_GB`` if set, else the free memory.

    A container's limit counts, and that of a cluster's job (Linux' control groups, version 2).
    """
    if given := os.environ.get(MEMORY):
        try:
            return float(given)
        except ValueError:
            raise ValueError(f"{MEMORY}: expected a number of GB, found {given!r}") from None
    import psutil  # a browser has none

    return min(psutil.virtual_memory().available, *_left_by_control_groups()) / 1e9


def _left_by_control_groups() -> list[int]:
    """Return the bytes that each limit on this process leaves: of its own group (version 2) and of all above."""
    left = [sys.maxsize]
    with suppress(OSError):
        own = CONTROL_GROUPS / MEMBERSHIP.read_text(encoding="utf-8").partition("0::/")[2].strip()
        for folder in (own, *own.parents):
            with suppress(OSError, ValueError):  # no such file, as for the host's groups in a container; or "max"
                left.append(_left(folder))
    return left


def _left(folder) -> int:
    room = int((folder / "memory.max").read_text())
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        files = int(counts.get("inactive_file", 0))  # the system drops these
        room -= max(0, int((folder / "memory.current").read_text()) - files)
    return room
