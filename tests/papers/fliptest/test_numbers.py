"""Numbers that a notebook says of the committed results are links to rows, published, or small counts."""

import re

import nbformat
import pytest

from fairlab.data.project import project

LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)|`[^`]*`")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
LARGEST_COUNT = 20  # of maps, features and draws; "five maps" and "16 features" need no row


@pytest.mark.parametrize("path", sorted((project().notebooks / "fliptest").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_number_of_ours_is_typed(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    [came_out] = re.findall(r"(?ms)^## What came out\n(.*?)^(?:## |\Z)", f"{text}\n## ")
    of_paper = (project().experiments / "fliptest" / "published.yaml").read_text(encoding="utf-8")
    published = {float(number.replace(",", "")) for number in NUMBER.findall(of_paper)}
    published |= {round(100 * number, 6) for number in published}  # as percentages
    said = [float(number.replace(",", "").rstrip(".")) for number in NUMBER.findall(LINK.sub("", came_out))]
    assert [n for n in said if n not in published and not (n.is_integer() and n <= LARGEST_COUNT)] == []
