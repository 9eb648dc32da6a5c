"""Tests with messages for students: expected value, value found, and a common mistake that explains it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


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
    if found is None or found is ...:
        raise LabError(f"{what}: expected {_shown(expected)}, found no answer. Is there a `return`, or a value?")
    if any(_same(found, right, within) for right in (expected, *also)):
        return
    message = f"{what}: expected {_shown(expected)}, found {_shown(found)}."
    named = [mistake for mistake, value in (mistakes or {}).items() if _same(found, value, within)]
    raise LabError(message + "".join(f" A common mistake: {mistake.strip()}." for mistake in named[:1]))


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
    if not holds:
        raise LabError(message)


def _same(found, expected, within) -> bool:
    found, expected = (each.item() if isinstance(each, np.generic) else each for each in (found, expected))
    if isinstance(found, str | bool) or isinstance(expected, str | bool):
        return type(found) is type(expected) and str(found).strip().casefold() == str(expected).casefold()
    try:
        if isinstance(expected, set | frozenset | pd.Index):
            return set(found) == set(expected)
        found, expected = (pd.Series(each) if isinstance(each, Mapping) else each for each in (found, expected))
        if isinstance(expected, pd.Series) and isinstance(found, pd.Series):
            if set(found.index) != set(expected.index):
                return False
            found = found.reindex(expected.index)
        found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError):
        return False
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=within, equal_nan=True)


def _shown(value) -> str:
    if isinstance(value, Mapping | pd.Series):
        return "{" + ", ".join(f"{key}: {_shown(each)}" for key, each in list(value.items())[:8]) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_shown, value))) + "}"
    if isinstance(value, list | tuple | np.ndarray | pd.Index):
        values = np.asarray(value, dtype=object).ravel()
        return "[" + ", ".join(map(_shown, values[:8])) + (", ..." if len(values) > 8 else "") + "]"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    return repr(value) if isinstance(value, str | None) else f"an object of {type(value).__name__}"
