import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairlab.papers.individual_fairness.figures import group_scatter, rate_curves, weight_maps

AXIS = np.linspace(-2, 2, 5)
BOUNDS = pd.DataFrame(1 + np.abs(AXIS)[:, None] / 2 + 0 * AXIS, index=AXIS, columns=AXIS)


def names(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_scatter_counts_every_kind():
    X = pd.DataFrame({"x1": [0.0, 1.0, 2.0, 3.0, 4.0], "x2": 0.0})
    figure = group_scatter(X, [0, 1, 1, 0, 1], ["a", "a", "a", "b", "b"])
    (axis,) = figure.axes
    assert names(axis) == ["a, label 0 (1)", "a, label 1 (2)", "b, label 0 (1)", "b, label 1 (1)"]
    assert axis.lines[1].get_xdata().tolist() == [1, 2]
    assert axis.get_xlabel() == "x1"
    assert plt.get_fignums() == []


def test_maps_have_theta_1_across():
    figure = weight_maps({"left": BOUNDS, "right": BOUNDS + 5})
    left, right, bar = figure.axes
    values = left.collections[0].get_array().reshape(5, 5)
    np.testing.assert_allclose(values, BOUNDS.to_numpy().T)
    assert len(left.collections) == 2  # with the contour
    assert len(right.collections) == 1  # nothing there is accepted
    assert left.get_xlabel() == r"$\theta_1$"
    assert left.collections[0].norm.vcenter == 1.25
    assert bar.get_ylabel() == "lower bound $T_n$"


def test_rates_look_alike_in_all_panels():
    table = pd.DataFrame({"curve": ["loss", "errors"], "x": [10, 10], "rate": [0.05, 0.06], "error": 0.01})
    figure = rate_curves({"one": table, "two": table[::-1]}, xlabel="n", ylabel="rate", reference=0.05)
    colors = [[c.lines[0].get_color() for c in axis.containers] for axis in figure.axes]
    assert colors[0] == colors[1][::-1]
    assert [axis.get_title() for axis in figure.axes] == ["one", "two"]
