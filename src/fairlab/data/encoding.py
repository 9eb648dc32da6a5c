"""Integer encodings of raw tables, column by column, as fairness testers published them with their subjects.

A rule turns one raw column, as text, into integers: `copied`, `binned`, `coded` or `flagged`. `encode` applies one rule
per column. `in_words` and `codes` go between the integers of a column and the names of what they stand for.
"""

from collections.abc import Callable, Sequence

import pandas as pd

Rule = Callable[[pd.Series], pd.Series]


def copied(*, low: int | None = None, high: int | None = None) -> Rule:
    """Return the rule that keeps an integer, moved into [low, high] where these are given."""
    return binned(1, low=low, high=high)


def binned(width: int, *, low: int | None = None, high: int | None = None) -> Rule:
    """Return the rule that divides by `width`, rounds towards minus infinity and moves the result into [low, high]."""

    def rule(column: pd.Series) -> pd.Series:
        return (column.astype("int64") // width).clip(low, high)

    return rule


def coded(*names: str | None, **extra: int) -> Rule:
    """Return the rule that replaces each name by its place in `names`.

    Parameters
    ----------
    *names : str or None
        None stands for a code that no name has.
    **extra : int
        Names with another code than their place, as in ``**{"?": 100}``.
    """
    table = {name: code for code, name in enumerate(names) if name is not None} | extra

    def rule(column: pd.Series) -> pd.Series:
        strange = sorted(set(column.unique()) - set(table))
        if strange:
            raise ValueError(f"column {column.name!r} holds {strange[0]!r}, expected one of {', '.join(table)}")
        return column.map(table)

    return rule


def flagged(value: str) -> Rule:
    """Return the rule that gives 1 for `value` and 0 for everything else."""

    def rule(column: pd.Series) -> pd.Series:
        return (column == value).astype("int64")

    return rule


def encode(raw: pd.DataFrame, rules: dict[str, Rule]) -> pd.DataFrame:
    """Return one column of integers per rule, in the order of `rules`.

    Parameters
    ----------
    raw : DataFrame of text
    rules : dict of str to rule
        By the name of the raw column.

    Raises
    ------
    ValueError
        If a raw value is not text of an integer, or has no code; names the column.
    """
    return pd.DataFrame({name: rule(raw[name]).astype("int64") for name, rule in rules.items()}, index=raw.index)


def in_words(codes: pd.Series, names: Sequence[str]) -> pd.Series:
    """Return a column of categories, where code k is called ``names[k]``."""
    return pd.Series(pd.Categorical.from_codes(codes, list(names)), index=codes.index, name=codes.name)


def codes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every categorical column replaced by its codes, all as integers."""
    columns = {
        name: column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        for name, column in table.items()
    }
    return pd.DataFrame(columns).astype("int64")
