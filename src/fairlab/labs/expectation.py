"""Tests with messages for students: expected value, value found, and a common mistake that explains it."""

import dis
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from reprlib import Repr
from traceback import walk_tb
from types import CodeType, FunctionType

import numpy as np
import pandas as pd

LIST = 8  # values that are shown of a list
KINDS = re.compile("LOAD(?=_FAST)|STORE(?=_FAST)|GLOBAL")  # in the names of Python's instructions
OBJECTS = Repr()
OBJECTS.maxother = 80  # letters of an object that is no value

# How a wrong answer is made right, by what a student should hear of it. The first that fits is said.
COMMON = {
    "0 means that nothing matched; is the value you compare with spelled as in the table?": lambda found, right: (
        right if right.any() and not found.any() and not np.isin(right, (0, 1)).all() else found
    ),
    "that is a percentage; return a share, between 0 and 1": lambda found, right: (
        _unrounded(found / 100, right, 2) if _share(right) else found
    ),
    "that is rounded; return all digits": lambda found, right: _unrounded(found, right, 2 if right.size == 1 else 1),
    "the sign is reversed": lambda found, right: -found,
    "the sign is lost": lambda found, right: np.where(right < 0, -found, found),
    "that is the share of the others; subtract it from 1": lambda found, right: 1 - found if _share(right) else found,
    "the order is reversed": lambda found, right: np.flip(found),
    "the values are right but in another order": lambda found, right: (
        right if not _are_places(right) and np.allclose(np.sort(found.ravel()), np.sort(right.ravel())) else found
    ),
    "all are the same, as when a method is not called; add brackets: ()": lambda found, right: (
        right if right.size > 1 and np.isin(right, (0, 1)).all() and np.ptp(found) == 0 else found
    ),
    "that is the square; take the square root": lambda found, right: np.sqrt(found),
    "that is the square root; square it": lambda found, right: found if (found == np.round(found)).all() else found**2,
    "that is the inverse of the ratio": lambda found, right: 1 / found,
    "those are counts; a share is a count divided by the total": lambda found, right: _shared(found, right),
}

# What a student should hear of an error, by a part of its text.
ERRORS = {
    "The truth value of a": "Compare row by row with & and |, each part in brackets, or take .any() or .all()",
    "NoneType|ellipsis": "A function returned nothing; is there a `return`?",
    r"^[^(]*\.\w+\(\).*(keyword|positional) argument": "That method takes other arguments; help(...) lists them",
    "keyword argument|positional argument": "Leave the line that begins with `def` as it was, including its arguments",
    "local variable": "A variable that a function assigns is local, not the notebook's; use another name",
    "'[a-z_-]*(function|method)[a-z_-]*'": "Call a function with brackets: ()",
    "arrays must|broadcast|same length|shapes|[Ll]ength of": "The two differ in length; are they about the same rows?",
    "is not iterable|has no len|not subscriptable": "A function returns another type than its description says",
    "maximum recursion": "The function calls itself; does it have the same name as a function that it uses?",
    "not callable": "Round brackets call a function; a column is in square brackets, and a product needs *",
    "convert the series|not 'Series'|length-1 arrays|size-1 arrays|0-dimensional": "One number belongs there, but that "
    "is a whole column",
    "indices must be": "That is a list or a string, which has no columns; use the table",
    "unhashable": "That is a whole column or a list; use its name, or one of its values",
    "could not convert|to numeric|agg function|does not support operation|reduction": "A column of words has no mean; "
    "compare it with a word first",
    "'(str|bool)' object has no attribute": "A single word has no such method; put the "
    "comparison before it in brackets",
    "division by zero": "Nobody matches what you look for; is it spelled as in the table?",
    "unsupported operand|not supported|concatenate|did not contain a loop|must be": "These types do not go "
    "together, such as text and a number; print both, or their type(...)",
}

# Names by which libraries are imported.
IMPORTS = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot"}


class LabError(AssertionError):
    """An answer is not what an exercise asks for; shown in a notebook as its message alone.

    Examples
    --------
    >>> from fairlab.labs import expect
    >>> expect("the share of women", 0.4, 0.5)
    Traceback (most recent call last):
    ...
    fairlab.labs.expectation.LabError: the share of women: expected 0.5, found 0.4.
    """

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet. {self}"]


def expect(
    what: str, found, expected, *, also: Sequence = (), within: float = 1e-6, mistakes: Mapping | None = None
) -> None:
    """Compare an answer with the right one.

    Parameters
    ----------
    what : str
        Name of the quantity, as in the exercise.
    found : object
        The answer: a number, a string, a boolean, a set, or several numbers (list, array, Series by label).
    expected : object
        The correct answer, of the same kind.
    also : sequence of object
        Other correct answers, if the exercise allows them.
    within : float
        Tolerance of numbers.
    mistakes : mapping of str to object, optional
        Answers of common mistakes, by a description of the mistake, which is shown if its answer is found.

    Raises
    ------
    LabError
        If the answer is another one, or there is none yet.

    Examples
    --------
    >>> from fairlab.labs import expect
    >>> expect("share", 0.5, 0.25, mistakes={"that is the men's": 0.5})
    Traceback (most recent call last):
    fairlab.labs.expectation.LabError: share: expected 0.25, found 0.5. A common mistake: that is the men's.
    """
    message = f"{what}: expected {_shown(expected)}, found"
    answers = found if isinstance(found, list | tuple) else [found]
    if any(each is None or each is ... for each in answers):
        raise LabError(f"{message} no answer. Is there a `return`, or a value?")
    ignores = _ignored(what, sys._getframe(1).f_globals)
    if any(_same(found, right, within) for right in (expected, *also)):
        require(not ignores, f"{what}: {ignores}")
        return
    named = [mistake.strip() for mistake, value in (mistakes or {}).items() if _same(found, value, within)]
    reason = ignores or (named or [_reason(found, expected, within)])[0]
    mistake = f" A common mistake: {reason}".rstrip("?.") + ("?" if reason.endswith("?") else ".")
    if (place := _first_unlike(found, expected, within)) >= LIST:
        found, expected = found[place], expected[place]
        message = f"{what}: at index {place}, expected {_shown(expected)}, found"
    raise LabError(f"{message} {_shown(found)}." + (mistake if reason else ""))


def require(holds, message: str) -> None:
    """Raise a LabError with a message unless something holds; for answers of which many are right.

    Examples
    --------
    >>> from fairlab.labs import require
    >>> require(1 < 2, "one is less than two")
    >>> require(2 < 1, "your list is empty; choose at least one")
    Traceback (most recent call last):
    ...
    fairlab.labs.expectation.LabError: your list is empty; choose at least one
    """
    ignores = _ignored(message, sys._getframe(1).f_globals)
    if not holds and not ignores:
        raise LabError(message)
    if ignores:
        raise LabError(f"{ignores}." if holds else f"{message}{'' if message[-1:] in '.?' else '.'} {ignores}.")


def _same(found, expected, within) -> bool:
    found, expected = (each.item() if isinstance(each, np.generic) else each for each in (found, expected))
    if isinstance(found, str | bool) or isinstance(expected, str | bool):
        return type(found) is type(expected) and str(found).strip().casefold() == str(expected).casefold()
    try:
        if isinstance(expected, set | frozenset | pd.Index):
            return set(found) == set(expected)
        found, expected, labels = _as_arrays(found, expected)
        if labels:
            return False
    except (TypeError, ValueError):
        return False
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=within, equal_nan=True)


def _as_arrays(*values) -> tuple:
    """Return two values as arrays, the first in the order of the second's labels; if these differ, also both labels.

    A dictionary becomes a Series. Labels of a table are its columns; its rows stay in order, whatever they are called.
    """
    found, expected = (pd.Series(each) if isinstance(each, Mapping) else each for each in values)
    for kind, axis in ((pd.DataFrame, 1), (pd.Series, 0)):
        if isinstance(found, kind) and isinstance(expected, kind):
            own, right = found.axes[axis], expected.axes[axis]
            if own.is_unique and set(own) == set(right):
                found = found.reindex(right, axis=axis)
            elif not own.equals(right):
                return found, expected, (right, own)
    return _numbers(found), _numbers(expected), ()


def _numbers(value) -> np.ndarray:
    """Return numbers as an array; text is none, nor is a complex number, though NumPy makes numbers of them."""
    array = np.asarray(value)
    objects = array.flat if array.dtype.kind == "O" else ()
    if array.dtype.kind not in "biufO" or any(isinstance(each, str | complex) for each in objects):
        raise TypeError(f"expected numbers, found {array.dtype}")
    return array.astype(float)


def _reason(found, expected, within) -> str:
    """Return the common mistake that explains a wrong answer to whatever exercise, or ""."""
    if callable(found) or (isinstance(found, list | tuple) and any(map(callable, found))):
        return "that is a function; call it with brackets: ()"
    if isinstance(found, Iterator):
        return "that is an iterator; put list(...) around it"
    if isinstance(expected, bool | np.bool_):
        return "" if isinstance(found, bool | np.bool_) else "return True or False"
    if isinstance(found, str | bool | np.bool_) and not isinstance(expected, str):
        return "that is text, in quotes; return the value itself" if isinstance(found, str) else "return a number"
    try:
        if isinstance(expected, set | frozenset):
            return f"missing {_shown(expected - set(found))}, too many {_shown(set(found) - expected)}"
        found, right, labels = _as_arrays(found, expected)
        if labels and not (found.ndim == 2 and _same(found.to_numpy().T, right.to_numpy(), within)):
            return "expected the labels {}, found {}".format(*map(_shown, labels))
        found, right = _numbers(found), _numbers(right)
    except (TypeError, ValueError):
        return ""
    if np.isnan(found).any() and not np.isnan(right).any():
        return "nan is the mean of nothing, or 0 / 0; are there any rows that match?"
    if _same(found.T, right, within):
        return "rows and columns are swapped"
    if found.shape != right.shape:
        same = found.size == right.size and _same(found.reshape(right.shape), right, within)
        values = "the values are right, the shape is not: " if same else ""
        return f"{values}expected a {_shape(right)}, found a {_shape(found)}"
    with np.errstate(all="ignore"):
        return next((said for said, undo in COMMON.items() if _same(undo(found, right), right, within)), "")


def _share(right: np.ndarray) -> bool:
    return bool(((right >= 0) & (right <= 1)).all())


def _shared(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    are_counts = (found == np.round(found)).all() and found.max(initial=0) > 1 and found.min(initial=0) >= 0
    return right if are_counts and _share(right) and (right != np.round(right)).any() else found


def _are_places(right: np.ndarray) -> bool:
    """Return whether all numbers from 0 are there once, so that any other order of them has the same values."""
    return right.size > 1 and np.array_equal(np.sort(right.ravel()), np.arange(right.size))


def _first_unlike(found, expected, within) -> int:
    """Return the place of the first wrong value of a list or array; -1 for others, or of another length."""
    are_lists = all(isinstance(each, list | tuple | np.ndarray) for each in (found, expected))
    pairs = enumerate(zip(found, expected, strict=True)) if are_lists and len(found) == len(expected) else ()
    return next((place for place, (own, right) in pairs if not _same(own, right, within)), -1)


def _unrounded(found: np.ndarray, right: np.ndarray, least: int = 1) -> np.ndarray:
    digits = range(0 if (np.abs(right) >= 1).any() else least, 6)
    return right if any(np.allclose(found, np.round(right, n), rtol=0, atol=1e-9) for n in digits) else found


def _shape(value: np.ndarray) -> str:
    names = "single number", f"list of {value.size}", f"table of {' × '.join(map(str, value.shape))}"
    return names[min(value.ndim, 2)]


def _ignores(codes: Iterable[CodeType], names: Mapping) -> str:
    """Return what to say of a function of the notebook that reads a table of it, and never its own argument."""
    for code in codes if names.get("__name__") == "__main__" else ():
        first = {}
        for step in _steps(code):
            for kind, name in zip(KINDS.findall(step.opname), np.atleast_1d(step.argval), strict=False):
                first.setdefault(name, kind)
        given = set(code.co_varnames[: code.co_argcount]) - set(code.co_cellvars)
        unread = {f"`{name}`" for name in given if first.get(name, "STORE") == "STORE"}
        tables = {f"`{name}`" for name, kind in first.items() if kind == "GLOBAL" and _is_data(names.get(name))}
        if unread and tables:
            said = f"`{code.co_name}` reads the notebook's {' and '.join(sorted(tables))} and never its argument "
            return said + " and ".join(sorted(unread))
    return ""


def _ignored(text: str, names: Mapping) -> str:
    """Return what `_ignores` says of the functions of the notebook that a text names."""
    named = [each for each in map(names.get, re.findall(r"\w+", text)) if isinstance(each, FunctionType)]
    return _ignores((each.__code__ for each in named if each.__module__ == "__main__"), names)


def _steps(code: CodeType) -> Iterator:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return chain(dis.get_instructions(code), *map(_steps, inner))


def _is_data(value) -> bool:
    tables = pd.DataFrame | pd.Series | np.ndarray
    return isinstance(value, tables) or (isinstance(value, dict) and any(map(_is_data, value.values())))


def _shown(value) -> str:
    if isinstance(value, Mapping | pd.Series):
        return "{" + ", ".join(f"{key}: {_shown(each)}" for key, each in list(value.items())[:LIST]) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_shown, value))) + "}"
    if isinstance(value, pd.DataFrame):
        value = value.to_numpy()
    if isinstance(value, list | tuple | pd.Index) or getattr(value, "ndim", 0):
        return "[" + ", ".join(map(_shown, value[:LIST])) + (", ..." if len(value) > LIST else "") + "]"
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int | str | None):
        return repr(value)
    return f"an object of {type(value).__name__}, {' '.join(OBJECTS.repr(value).split())}"


def explained(error: Exception) -> Exception:
    """Return an error of a student's code with what to do about it in its text."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    hint = next((hint for part, hint in ERRORS.items() if re.search(part, text, re.IGNORECASE)), "")
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, KeyError | AttributeError):
        searched = [frame.f_locals.get(name) for frame in frames for name in ("self", "obj")]
        hint = next(filter(None, map(_labels, [getattr(error, "obj", None), *reversed(searched)])), hint)
    elif isinstance(error, NameError) and not hint:
        names = [name for frame in frames[-1:] for name in frame.f_builtins | frame.f_globals | frame.f_locals]
        close = get_close_matches(error.name or "", names, n=1)
        hint = f"Did you mean `{close[0]}`?" if close else "First run all cells above it, without an error"
        if library := IMPORTS.get(error.name or ""):
            hint = f"No cell that was run imports {library}; write `import {library} as {error.name}` first"
    ignores = next(filter(None, (_ignores([frame.f_code], frame.f_globals) for frame in frames)), hint)
    if ignores and not isinstance(error, LabError):
        error.args = (f"{text.rstrip('. ')}. {ignores}",)
        if ignores not in str(error):  # of a kind that makes its own text, as NumPy's
            error = TypeError(*error.args).with_traceback(error.__traceback__)
    return error


def _labels(value) -> str:
    if isinstance(value, pd.Series):
        return "This is a single column, which does not hold the others; name the table too: table[...]"
    labels = value.columns if isinstance(value, pd.DataFrame) else value
    return f"There are {_shown(labels)[1:-1]}" if isinstance(labels, pd.Index) else ""


def _show(shell, kind, error, trace, tb_offset=None):
    shell.showtraceback((kind, explained(error), trace), tb_offset=tb_offset)


if "IPython" in sys.modules and (notebook := sys.modules["IPython"].get_ipython()):
    notebook.set_custom_exc((Exception,), _show)
