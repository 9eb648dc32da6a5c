import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairlab.individual_fairness.figures import stopping_time_curves


def names(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_curves_are_means_over_splits():
    frame = pd.DataFrame(
        {"method": ["b", "b", "b", "b", "a"], "time": [0.1, 0.1, 1, 1, 1], "lower_bound": [1, 1.2, 2, 4, 1.0]}
    )
    figure = stopping_time_curves(frame, labels={"b": "Baseline"})
    (axis,) = figure.axes
    assert names(axis) == ["Baseline", "a", "threshold 1.25"]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [1.1, 3])
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    figure.canvas.draw()
    assert not any(label.get_text() for label in axis.get_xticklabels(minor=True))
    assert plt.get_fignums() == []
