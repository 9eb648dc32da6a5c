import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from fairlab.papers.adf.figures import (
    ADDED,
    KINDS,
    MARKS,
    growth_curves,
    in_words,
    ratios_by_network,
    shares_by_method,
)
from fairlab.plotting import check

RATIOS = pd.DataFrame(
    {
        "benchmark": ["a", "b", "b", "a", "b"],
        "network": ["published", "published", "authors", "0", "0"],
        "ratio": [5, 6, 3.0, 2.0, 0.5],
    }
)
SHARES = pd.DataFrame(
    [
        (name, added, series, 0.1)
        for name in ("a.x", "a.y", "a.z")
        for added in ADDED
        for series in ("ours", "ours", "published")
        if (added, series) != ("nothing", "published")
    ],
    columns=["benchmark", "added", "series", "share"],
)


def drawn(axis):
    """Return the places of the markers, by whether they are open and by colour."""
    found = {}
    for points in axis.collections:
        if isinstance(points, PathCollection) and len(points.get_offsets()):
            is_open = tuple(points.get_facecolor()[0][:3]) == (1, 1, 1)
            color = to_hex(points.get_edgecolor()[0]).upper()
            found.setdefault((is_open, color), []).extend(points.get_offsets()[:, 0].tolist())
    return found


def test_benchmarks_have_names():
    assert in_words("credit.gender") == "Credit, gender"


def test_ratios_stand_by_benchmark_the_authors_network_apart():
    figure = ratios_by_network(RATIOS)
    check(figure)
    published, authors, others = (points.get_offsets().tolist() for points in figure.axes[0].collections)
    assert published == [[5, 0], [6, 1]]
    assert authors == [[3, 1]]
    assert [ratio for ratio, _ in others] == [2, 0.5]


def test_shares_have_a_panel_per_benchmark_and_a_line_for_before():
    figure = shares_by_method(SHARES)
    check(figure)
    assert [axis.get_visible() for axis in figure.axes] == [True] * 3 + [False]
    first = figure.axes[0]
    assert first.lines[0].get_ydata()[0] == pytest.approx(10)
    assert [label.get_text() for label in figure.axes[2].get_xticklabels()] == [KINDS.get(name, name) for name in ADDED]
    assert len(drawn(first)[True, MARKS["adf"]["color"]]) == 1
    assert len(drawn(first)[False, MARKS["adf"]["color"]]) == 2


RUN = pd.DataFrame({"method": "adf", "series": "ours", "run": 0, "seeds": [1, 2], "inputs": [3, 5]})
FRAME = pd.concat(
    [RUN, RUN.assign(run=1), RUN.assign(series="published"), RUN.assign(method="aequitas")], ignore_index=True
).assign(discriminatory=1)


def test_growth_has_a_panel_per_method_and_a_curve_per_run():
    figure = growth_curves(FRAME)
    check(figure)
    first, second = figure.axes
    assert (len(first.lines), len(second.lines)) == (4, 2)
    assert first.lines[0].get_ydata().tolist() == [3, 5]
    assert [axis.lines[0].get_color() for axis in figure.axes] == [MARKS[name]["color"] for name in ("adf", "aequitas")]
    assert [points.get_offsets().tolist() for points in first.collections] == [[[1, 3], [2, 5]], [[1, 1], [2, 1]]]
    assert [len(points.get_offsets()) for points in second.collections] == [0, 0]
