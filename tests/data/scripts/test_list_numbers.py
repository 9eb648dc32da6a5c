"""`data_scripts/list_numbers.py` on a toy text: what has a row, what has a reason, and what is open."""

import re

import list_numbers
import pytest
import yaml

from fairlab.suite.published import read_paper

PAPER = """
paper: {key: toy, title: T, authors: A, venue: V, doi: D}
artefacts:
  - id: table-1
    title: Tosses
    data: []
    protocol: A coin.
    values:
      - {id: heads, value: -0.660, std: 0.05, n: 12, kind: proportion}
      - {id: people, value: 12345, kind: count}
      - {id: width, low: 0.1, high: 0.25, kind: interval}
      - {id: p, value: 3.0e-10, kind: p-value}
      - {id: tails, value: 34, kind: percent}
"""
TEXT = """1 Introduction
Heads came in 66% of the tosses (0.66; tails 0.34) [3, 12] of 12,345 people, 0.05 apart.
In 7 of 77 cases between 10% and 0.25 we saw p = 3.00e-10 and x2 of v1.5, and 660 more."""
REASONS = [
    {"reason": "section", "patterns": [r"^\d+ [A-Z]"]},
    {"reason": "citation", "patterns": [r"\[[\d, ]+\]"]},
    {"reason": "said", "patterns": ["In 7 of"]},
]


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "published.yaml").write_text(PAPER)
    return read_paper(tmp_path / "published.yaml")


def test_each_number_has_its_row_or_its_reason(paper):
    found = [mention[:3] for mention in list_numbers.list_numbers(TEXT, paper, REASONS)]
    heads, width = "table-1:heads", "table-1:width"
    assert found == [
        ("1", "", "section"),
        ("66", heads, ""),
        ("0.66", heads, ""),
        ("0.34", "table-1:tails", ""),
        ("3", "", "citation"),
        ("12", heads, "citation"),
        ("12,345", "table-1:people", ""),
        ("0.05", heads, ""),
        ("7", "", "said"),
        ("77", "", ""),
        ("10", width, ""),
        ("0.25", width, ""),
        ("3.00e-10", "table-1:p", ""),
        ("660", "", ""),
    ]


def test_an_open_number_is_shown_in_its_line_and_fails_the_program(paper, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(list_numbers, "load_paper", {"toy": paper}.get)
    monkeypatch.setattr(list_numbers, "REASONS", tmp_path / "reasons.yaml")
    (tmp_path / "reasons.yaml").write_text(yaml.safe_dump({"all": REASONS[:2], "toy": REASONS[2:]}))
    (tmp_path / "paper.txt").write_text(TEXT)
    assert list_numbers.main(["toy", str(tmp_path / "paper.txt")]) == 1
    expected = r"\s*77 +OPEN: .*cases between.*\n\s*660 +OPEN: .*\ntoy: 14 numbers, 2 open\n"
    assert re.fullmatch(expected, capsys.readouterr().out)
    (tmp_path / "paper.txt").write_text("12 people")
    assert list_numbers.main(["toy", str(tmp_path / "paper.txt")]) == 0
