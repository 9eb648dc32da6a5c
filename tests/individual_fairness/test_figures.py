import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairlab.individual_fairness.figures import stopping_time_curves
from fairlab.plotting import check


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
