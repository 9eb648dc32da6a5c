"""How notebooks show tables."""

import re

import numpy as np
import pandas as pd
import pytest

from fairlab.suite.tables import MAX_ROWS, ROWS_SHOWN, number, to_html, use_tables, words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (364758, "364,758"),
        (364758.0, "364,758"),
        (-1, "−1"),
        (0.05, "0.0500"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
        (5.3e-5, "5.3e−05"),
        (np.nan, "–"),
        (np.int64(8949), "8,949"),
        (np.inf, "∞"),
    ],
)
def test_a_number_has_separators_or_three_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("census.age.n_inputs", "census, age, n inputs"),
        ("education-num > 11.5", "education-num > 11.5"),
        ("3.5", "3.5"),
        ("reading", "protocol variant"),
    ],
)
def test_names_are_words_and_text_stays(name, shown):
    assert words(name) == shown


def cells(html):
    """Return the cells of a table, row by row, with the alignment of each."""
    rows = re.findall(r"<tr.*?</tr>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*?(left|)\"?>(.*?)</t[hd]>", row) for row in rows]


def test_counts_are_whole_text_is_left_and_nothing_is_nan():
    frame = pd.DataFrame(
        {"map": ["GAN", "exact"], "n_people": [1125.0, np.nan], "share": [0.25, 1.0], "fits": [True, False]},
        index=pd.Index(["a.f_plus", "b"], name="set"),
    )
    names, _, *rows = cells(to_html(frame))
    assert [text for _, text in names] == ["", "map", "n people", "share", "fits"]
    assert rows == [
        [("", "a, f plus"), ("left", "GAN"), ("", "1,125"), ("", "0.250"), ("left", "yes")],
        [("", "b"), ("left", "exact"), ("", "–"), ("", "1.00"), ("left", "no")],
    ]
    assert "&lt;b&gt;" in to_html(pd.DataFrame({"x": ["<b>"]}))


def test_a_long_table_is_folded_and_a_longer_one_says_how_long_it_is():
    for n, counted in ((ROWS_SHOWN + 3, "3 more rows</summary>"), (1_000, "180 more rows, of 1,000")):
        first, rest = to_html(pd.DataFrame({"x": range(n)})).split("<details>")
        assert (first.count("<td>"), rest.count("<td>")) == (ROWS_SHOWN, min(n, MAX_ROWS) - ROWS_SHOWN)
        assert counted in rest


def test_without_a_notebook_nothing_is_changed():
    import ipykernel  # noqa: F401  # imported, as by another part of a process, and yet no notebook

    use_tables()
