"""Arguments that several steps take: names of columns, and whole numbers."""

from collections.abc import Iterable
from numbers import Integral


def column_names(names, argument: str) -> list[str]:
    """Return one name or several as a list of text; a number is a name, too, as it is in a table.

    Raises
    ------
    TypeError
        If they are neither.
    """
    if names is None:
        return []
    several = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in several:
        if not isinstance(name, str | Integral) or isinstance(name, bool):
            raise TypeError(f"{argument}: expected the name of a column or a list of names, found {name!r}")
    return [str(name) for name in several]


def check_whole(argument: str, value, *, least: int) -> None:
    """Raise a ValueError unless a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{argument}: expected a whole number of at least {least}, found {value!r}")
