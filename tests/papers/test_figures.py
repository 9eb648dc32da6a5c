"""The figure of published numbers and ours that papers share."""

import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from fairlab.papers.figures import published_and_ours
from fairlab.plotting import LINES, check

KINDS = {"adf": "ADF", "aequitas": "Aequitas", "sg": "SG"}
NUMBERS = pd.DataFrame(
    {
        "data": ["census", "bank"] * 2,
        "feature": "age",
        "method": ["adf", "sg"] * 2,
        "counted": ["found", "found", "share", "share"],
        "published": [1000, 20, 30, 40],
        "ours": [1200, 18, 32, 41],
    }
)
OPTIONS = {"lines": ["data", "feature"], "kind": "method", "kinds": KINDS, "quantity": "counted"}
QUANTITIES = {"found": "inputs found", "share": "share (%)"}


def drawn(axis):
    """Return the places of the markers, by whether they are open and by colour."""
    found = {}
    for points in (p for p in axis.collections if isinstance(p, PathCollection) and len(p.get_offsets())):
        is_open = tuple(points.get_facecolor()[0][:3]) == (1, 1, 1)
        color = to_hex(points.get_edgecolor()[0]).upper()
        found.setdefault((is_open, color), []).extend(points.get_offsets()[:, 0].tolist())
    return found


def test_open_markers_are_published_and_each_kind_keeps_its_look():
    figure = published_and_ours(NUMBERS, **OPTIONS, quantities=QUANTITIES, log=["found"])
    check(figure)
    counts, shares = figure.axes
    adf, sg = LINES[0]["color"], LINES[2]["color"]
    assert drawn(counts) == {(True, adf): [1000], (False, adf): [1200], (True, sg): [20], (False, sg): [18]}
    assert drawn(shares)[True, adf] == [30]
    assert [label.get_text() for label in counts.get_yticklabels()] == ["Census, age", "Bank, age"]
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["ADF, published", "ADF, ours", "SG, published", "SG, ours"]
    assert figure.get_label().startswith(
        "3 of 4 numbers lie within 10% of the published ones; furthest off is census, age, inputs found"
    )


def test_title_says_how_many_times_the_first_kind_has():
    numbers = NUMBERS.assign(data="census")
    figure = published_and_ours(numbers, **OPTIONS, quantities=QUANTITIES)
    assert figure.get_label() == "Inputs found: those of ADF are 67 times those of SG (published: 50)."


@pytest.mark.parametrize(("ours", "scale"), [(0, "symlog"), (float("nan"), "log")])
def test_a_count_of_nothing_has_its_place_and_a_missing_one_none(ours, scale):
    figure = published_and_ours(NUMBERS.replace({"ours": {18: ours}}), **OPTIONS, quantities=QUANTITIES, log=["found"])
    check(figure)
    assert figure.axes[0].get_xscale() == scale
    assert len(drawn(figure.axes[0])[True, LINES[0]["color"]]) == 1
