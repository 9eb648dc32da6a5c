import pandas as pd
import pytest

from fairlab.papers.adf.figures import beside_published, ratios_by_network, shares_by_method


def test_counts_stand_beside_the_published_ones_by_benchmark():
    counts = pd.DataFrame({"method": ["ADF", "SG"], "benchmark": ["x", "y"], "published": [10, 20], "ours": [12, 18]})
    [axis] = beside_published(counts, label="inputs").axes
    drawn = {points.get_label(): points.get_offsets()[:, 0].tolist() for points in axis.collections}
    assert {label: drawn[label] for label in drawn if "," in label} == {
        "ADF, published": [10],
        "ADF, ours": [12],
        "SG, published": [20],
        "SG, ours": [18],
    }
    assert [label.get_text() for label in axis.get_yticklabels()] == ["x", "y"]
    assert axis.get_xscale() == "symlog"
    assert beside_published(counts, label="inputs", log=False).axes[0].get_xscale() == "linear"


def test_shares_have_a_panel_per_benchmark_and_a_line_for_before():
    after = pd.DataFrame({"nothing": [0.2, 0.4], "adf": [0.1, 0.1]})
    figure = shares_by_method(dict.fromkeys("abcd", 0.3), dict.fromkeys("abcd", after))
    assert [axis.get_visible() for axis in figure.axes] == [True] * 4 + [False] * 2
    first = figure.axes[0]
    assert first.lines[0].get_ydata()[0] == 30
    assert first.collections[1].get_offsets()[0].tolist() == pytest.approx([0, 30])
    assert [label.get_text() for label in first.get_xticklabels()] == ["nothing", "adf"]


def test_ratios_stand_by_benchmark_the_authors_network_apart():
    ratios = pd.DataFrame({"benchmark": ["b", "a", "b"], "network": ["authors", 0, 0], "ratio": [3.0, 2.0, 0.5]})
    [axis] = ratios_by_network(ratios, {"a": 5, "b": 6}).axes
    authors, ours, published = (points.get_offsets().tolist() for points in axis.collections)
    assert authors == [[1, 3]]
    assert [height for _, height in ours] == [2, 0.5]
    assert published == [[0, 5], [1, 6]]
