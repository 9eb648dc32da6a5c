import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fliptest.figures import by_dimension, flips_by_features, maps_of_one_feature, prediction_densities


def text(figure):
    return " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())


def test_predictions_before_and_after_are_densities():
    rng = np.random.default_rng(0)
    before, after = rng.normal(0, 1, 200), rng.normal(3, 1, 200)
    figure = prediction_densities({"map": (before, after)}, xlabel="grade", before="as is", after="mapped")
    assert text(figure) == "as is mapped"
    (axis,) = figure.axes
    for line, mean in zip(axis.lines, (0, 3), strict=True):
        grid, density = line.get_xdata(), line.get_ydata()
        assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.05)
        assert grid[density.argmax()] == pytest.approx(mean, abs=0.5)
    assert plt.get_fignums() == []
    with pytest.raises(ValueError, match="constant"):
        prediction_densities({"map": (np.zeros(5), np.ones(5))}, xlabel="grade")


def stability_table():
    return pd.DataFrame(
        {"map": ["exact"] * 3 + ["GAN"] * 3, "dimension": [1, 4, 4] * 2, "variance": [1, 2, 3, 4, 5, 6]}
    )


def test_every_coordinate_is_a_point_beside_its_dimension():
    figure = by_dimension({"a": stability_table(), "b": stability_table()}, quantity="variance", ylabel="y", log=True)
    assert text(figure) == "exact GAN"
    for axis in figure.axes:
        exact, gan = axis.lines
        assert exact.get_ydata().tolist() == [1, 2, 3]
        assert gan.get_ydata().tolist() == [4, 5, 6]
        assert np.allclose(np.sqrt(exact.get_xdata() * gan.get_xdata()), [1, 4, 4])
        assert (exact.get_xdata() < gan.get_xdata()).all()
        assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "4"]
    assert figure.axes[0].get_yscale() == "log"
    assert plt.get_fignums() == []


def test_bad_tables_by_dimension():
    with pytest.raises(ValueError, match="at least one"):
        by_dimension({}, quantity="variance", ylabel="y")
    with pytest.raises(ValueError, match=r"tables\['a'\]: no column mean"):
        by_dimension({"a": stability_table()}, quantity="mean", ylabel="y")


def test_maps_of_one_feature_show_pairs_by_their_number_and_lines_by_value():
    x, exact = np.array([2, 0, 0, 2, 0, 9]), np.array([1, 0, 0, 1, 1, 4])
    learnt = np.array([1.2, 0.1, 0.1, 1.2, 0.1, 5])
    figure = maps_of_one_feature(x, exact, {"GAN": learnt}, xlabel="x", ylabel="y", most=5)
    (axis,) = figure.axes
    (dots,) = axis.collections
    assert dots.get_offsets().tolist() == [[0, 0], [0, 1], [2, 1]]
    assert np.allclose(dots.get_sizes() / dots.get_sizes().max(), [1, 0.5, 1])
    gan, identity = axis.lines
    assert gan.get_xydata().tolist() == [[0, 0.1], [2, 1.2]]
    assert identity.get_xydata().tolist() == [[0, 0], [2, 2]]
    with pytest.raises(ValueError, match="GAN: has shape"):
        maps_of_one_feature(x, exact, {"GAN": learnt[:3]}, xlabel="x", ylabel="y")


def test_flips_by_features_are_means_in_percent_beside_the_print():
    rows = {"features": [4, 4, 10], "model": "C = 1", "F+": [0.01, 0.03, 0.05], "F−": [0.0, 0.02, 0.04]}
    figure = flips_by_features(pd.DataFrame(rows), {"F+": 0.0167, "F−": 0.0148})
    for axis, means, printed in zip(figure.axes, ([2, 5], [1, 4]), (1.67, 1.48), strict=True):
        line, mean, trials = axis.lines
        assert np.allclose(line.get_ydata(), printed)
        assert mean.get_xdata().tolist() == [4, 10]
        assert np.allclose(mean.get_ydata(), means)
        assert len(trials.get_xdata()) == 3
    assert text(figure) == "printed C = 1"
    with pytest.raises(ValueError, match="series: no column features"):
        flips_by_features(pd.DataFrame({"model": [], "F+": [], "F−": []}), {})
