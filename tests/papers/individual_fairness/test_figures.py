import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairlab.papers.individual_fairness.figures import group_scatter, rate_curves, stopping_time_curves, weight_maps
from fairlab.plotting import check

AXIS = np.linspace(-2, 2, 5)
GRID = pd.DataFrame([(a, b) for a in AXIS for b in AXIS], columns=["theta_1", "theta_2"])
BOUNDS = GRID.assign(degrees=0, lower_bound=1 + GRID["theta_1"].abs() / 2)


def test_scatter_counts_every_kind():
    people = pd.DataFrame(
        {"x1": [0.0, 1.0, 2.0, 3.0, 4.0], "x2": 0.0, "group": list("aaabb"), "label": [0, 1, 1, 0, 1]}
    )
    figure = group_scatter(people)
    check(figure)
    (axis,) = figure.axes
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ["a, label 0 (1)", "a, label 1 (2)", "b, label 0 (1)", "b, label 1 (1)"]
    assert axis.lines[1].get_xdata().tolist() == [1, 2]
    assert "x1" in axis.get_xlabel()
    assert plt.get_fignums() == []


def test_maps_have_theta_1_across():
    turned = BOUNDS.assign(degrees=5, lower_bound=BOUNDS["lower_bound"] + 5)
    figure = weight_maps(pd.concat([BOUNDS, turned]))
    check(figure)
    left, right, bar = figure.axes
    values = left.collections[0].get_array().reshape(5, 5)
    np.testing.assert_allclose(values, np.tile(1 + np.abs(AXIS) / 2, (5, 1)))
    assert len(left.collections) == 2  # with the contour
    assert len(right.collections) == 1  # nothing there is accepted
    assert [axis.get_title() for axis in (left, right)] == ["metric turned by 0°", "metric turned by 5°"]
    assert left.collections[0].norm.vcenter == 1.25
    assert "lower bound" in bar.get_xlabel()


def test_rates_look_alike_in_all_panels_and_hide_none():
    table = pd.DataFrame({"panel": "one", "curve": ["loss", "errors"], "x": [10, 10], "rate": 0.05, "error": 0.01})
    five = [table, *(table[::-1].assign(panel=name) for name in ("two", "three", "four", "five"))]
    figure = rate_curves(pd.concat(five), xlabel="n", ylabel="rate", reference=0.05)
    check(figure)
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["one", "two", "three", "four", "five"]
    colors = [[c.lines[0].get_color() for c in axis.containers] for axis in shown]
    assert colors[0] == colors[1][::-1]
    places = [container.lines[0].get_xdata()[0] for container in shown[0].containers]
    assert places[0] < 10 < places[1]


def names(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_curves_are_means_over_splits():
    frame = pd.DataFrame(
        {"method": ["b", "b", "b", "b", "a"], "time": [0.1, 0.1, 1, 1, 1], "lower_bound": [1, 1.2, 2, 4, 1.0]}
    )
    figure = stopping_time_curves(frame, labels={"b": "Baseline", "a": "A"})
    check(figure)
    (axis,) = figure.axes
    assert names(axis) == ["Baseline", "A", "threshold 1.25"]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [1.1, 3])
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    figure.canvas.draw()
    assert not any(label.get_text() for label in axis.get_xticklabels(minor=True))
    assert plt.get_fignums() == []


def test_a_method_looks_the_same_whichever_others_are_drawn():
    frame = pd.DataFrame({"method": ["a", "b"], "time": 1.0, "lower_bound": 2.0})
    labels = {"b": "Baseline", "a": "A"}
    both, one = (stopping_time_curves(of, labels=labels).axes[0].lines for of in (frame, frame[:1]))
    assert both[1].get_color() == one[0].get_color() != both[0].get_color()
    assert len(stopping_time_curves(frame).axes[0].lines) == 3
