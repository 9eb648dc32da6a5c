"""How notebooks and the site show tables: whole numbers with separators, fractions in three digits, words for names.

Text stands on the left and numbers on the right; what is missing is a dash, and what is long is folded.
"""

import re
import sys
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
import pandas as pd

ROWS_SHOWN = 20  # rows of a table; the others are folded
MAX_ROWS = 200  # rows that are written at all
SMALLEST_FIXED = 1e-3  # smaller fractions have an exponent
ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+|[a-z0-9]+(_[a-z0-9]+)+")  # census.age.adf or work_experience
TERMS = {"reading": "protocol variant", "impossible": "internally inconsistent"}  # as pages say it
LONG_NUMBER = re.compile(r"(?<![\d.])\d{4,}")
TEXT = "\u2063"  # marks a cell of text until the table is written


def use_tables() -> None:
    """Show every table of this notebook by `to_html`; without one do nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(pd.DataFrame, to_html)
    html.for_type(pd.Series, lambda column: to_html(column.to_frame("" if column.name is None else column.name)))


def number(value: float, *, fraction: bool = False) -> str:
    """Return a number as it is shown: 364,758, 0.0500, 12.3, 5.3e−05; a dash if it is missing.

    Among fractions a small whole number is one, too: 1.00.
    """
    if pd.isna(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e15 and not (fraction and 0 < abs(value) < 100):
        text = f"{int(value):,d}"
    elif abs(value) >= 100:
        text = f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}"
    else:
        text = f"{value:.2g}" if abs(value) < SMALLEST_FIXED else f"{value:#.3g}"
    return text.replace("-", "−")


def grouped(text: str) -> str:
    """Return a text whose numbers have separators of thousands: 12359.6 as 12,359.6."""
    return LONG_NUMBER.sub(lambda digits: f"{int(digits[0]):,}", text)


def words(name: object) -> str:
    """Return a name in words: ``census.age.n_inputs`` is census, age, n inputs."""
    text = TERMS.get(name, str(name)) if isinstance(name, str) else str(name)
    return ", ".join(text.split(".")).replace("_", " ") if ID.fullmatch(text) else text


def to_html(frame: pd.DataFrame) -> str:
    """Return a table as HTML."""
    shown = pd.DataFrame({k: _texts(column) for k, (_, column) in enumerate(frame.head(MAX_ROWS).items())})
    shown.columns, shown.index = frame.columns, frame.index[:MAX_ROWS]
    shown = shown.rename(columns=_label, index=_label).rename_axis(columns=_name, index=_name)
    has_labels = not only_counts(frame.index)
    parts = [_table(shown.iloc[:ROWS_SHOWN], has_labels)]
    if len(shown) > ROWS_SHOWN:
        left_out = f", of {len(frame):,}" if len(frame) > MAX_ROWS else ""
        summary = f"{len(shown) - ROWS_SHOWN} more rows{left_out}"
        parts.append(f"<details><summary>{summary}</summary>{_table(shown.iloc[ROWS_SHOWN:], has_labels)}</details>")
    return "".join(parts)


def _table(texts, has_labels) -> str:
    html = texts.to_html(border=0, justify="right", index=has_labels)
    return html.replace(f"<td>{TEXT}", '<td style="text-align: left">')


def _texts(column: pd.Series) -> Sequence[str]:
    """Return a column as it is shown: fractions if it is of numbers and one of them is one, else whole numbers."""
    is_real = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)
    fraction = is_real and any(np.isfinite(value) and value % 1 for value in column.dropna())
    return [_text(value, fraction) for value in column]


def _text(value, fraction) -> str:
    if isinstance(value, bool | np.bool_):
        return TEXT + ("yes" if value else "no")
    if isinstance(value, Real) or value is None or value is pd.NaT or value is pd.NA:
        return number(value, fraction=fraction)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, Real) for end in value):
        return " to ".join(map(number, value))  # an interval
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return TEXT + ", ".join(map(words, value))
    return TEXT + words(value)


def _label(value) -> str:
    """Return the label of a row or column in words, a number as it is shown."""
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(value) < 10_000:
        return str(value)  # which may be a year
    return number(value) if isinstance(value, Real) and not isinstance(value, bool) else words(value)


def _name(name):
    return name and words(name)


def only_counts(index: pd.Index) -> bool:
    """Return whether an index only counts the rows, and says nothing."""
    return index.names == [None] and index.equals(pd.RangeIndex(len(index)))
