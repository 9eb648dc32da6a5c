import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest.figures import MAPS
from fairlab.papers.fliptest.figures import (
    by_dimension,
    density_table,
    flips_by_features,
    maps_of_one_feature,
    one_feature_table,
    prediction_densities,
    printed_sizes,
)
from fairlab.plotting import PUBLISHED


def text(figure):
    return " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())


def test_predictions_before_and_after_are_densities():
    rng = np.random.default_rng(0)
    before, after = rng.normal(0, 1, 200), rng.normal(3, 1, 200)
    table = density_table(before, {"GAN": after})
    grid = table["prediction"]
    for column, mean in (("before", 0), ("after", 3)):
        assert np.trapezoid(table[column], grid) == pytest.approx(1, abs=0.05)
        assert grid[table[column].idxmax()] == pytest.approx(mean, abs=0.5)
    figure = prediction_densities(table, xlabel="grade", titles={"GAN": "GAN map"}, before="as is")
    assert text(figure) == "as is under the GAN map"
    (axis,) = figure.axes
    assert axis.lines[0].get_ydata().tolist() == table["after"].tolist()
    assert axis.lines[0].get_color() == MAPS["GAN"]["color"]
    assert plt.get_fignums() == []
    with pytest.raises(ValueError, match="constant"):
        density_table(np.zeros(5), {"map": np.ones(5)})


def stability_table():
    rows = {"map": ["exact"] * 3 + ["GAN"] * 3, "dimension": [1, 4, 4] * 2, "variance": [1, 2, 3, 4, 5, 6]}
    return pd.concat([pd.DataFrame(rows).assign(features=title) for title in "ab"])


def test_every_coordinate_is_a_point_beside_its_dimension():
    figure = by_dimension(stability_table(), quantity="variance", ylabel="y", log=True)
    assert text(figure) == "exact GAN"
    for axis in figure.axes:
        exact, gan = axis.lines
        assert exact.get_ydata().tolist() == [1, 2, 3]
        assert gan.get_ydata().tolist() == [4, 5, 6]
        assert gan.get_color() == MAPS["GAN"]["color"]
        assert np.allclose(np.sqrt(exact.get_xdata() * gan.get_xdata()), [1, 4, 4])
        assert (exact.get_xdata() < gan.get_xdata()).all()
        assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "4"]
    assert figure.axes[0].get_yscale() == "log"
    assert plt.get_fignums() == []


def test_bad_tables():
    with pytest.raises(ValueError, match="at least one row"):
        by_dimension(stability_table().head(0), quantity="variance", ylabel="y")
    with pytest.raises(ValueError, match="table: no column mean"):
        by_dimension(stability_table(), quantity="mean", ylabel="y")
    with pytest.raises(ValueError, match="table: no column features"):
        flips_by_features(pd.DataFrame({"model": [], "F+": [], "F−": []}))


def test_maps_of_one_feature_show_pairs_by_their_number_and_lines_by_value():
    x, exact = np.array([2, 0, 0, 2, 0, 9]), np.array([1, 0, 0, 1, 1, 4])
    learnt = np.array([1.2, 0.1, 0.1, 1.2, 0.1, 5])
    table = one_feature_table(x, exact, {"GAN 0": learnt}, most=5)
    (axis,) = maps_of_one_feature(table, xlabel="x", ylabel="y").axes
    (dots,) = axis.collections
    assert dots.get_offsets().tolist() == [[0, 0], [0, 1], [2, 1]]
    assert np.allclose(dots.get_sizes() / dots.get_sizes().max(), [1, 0.5, 1])
    gan, identity = axis.lines
    assert gan.get_xydata().tolist() == [[0, 0.1], [2, 1.2]]
    assert identity.get_xydata().tolist() == [[0, 0], [2, 2]]
    with pytest.raises(ValueError, match="GAN: has shape"):
        one_feature_table(x, exact, {"GAN": learnt[:3]})


def test_flips_by_features_are_means_in_percent_beside_the_print():
    rows = pd.DataFrame({"features": [4, 4, 10], "model": "C = 1", "F+": [0.01, 0.03, 0.05], "F−": [0.0, 0.02, 0.04]})
    published = pd.DataFrame([{"model": PUBLISHED["label"], "F+": 0.0167, "F−": 0.0148}])
    figure = flips_by_features(pd.concat([rows, published]))
    for axis, means, printed in zip(figure.axes, ([2, 5], [1, 4]), (1.67, 1.48), strict=True):
        line, mark, mean, trials = axis.lines
        assert np.allclose(line.get_ydata(), printed)
        assert np.allclose(mark.get_ydata(), printed)
        assert mark.get_markerfacecolor() == "none"
        assert mean.get_xdata().tolist() == [4, 10]
        assert np.allclose(mean.get_ydata(), means)
        assert len(trials.get_xdata()) == 3
    assert text(figure) == "published (number of features not told) C = 1, mean and each map"


def test_printed_sizes_by_flipset():
    published = pd.DataFrame({"value": [3.0, 5.0, 9.0]}, index=["gan.f_plus", "gan.f_minus", "f_plus"])
    assert printed_sizes(published, "gan.") == {"published_positive": 3, "published_negative": 5}
