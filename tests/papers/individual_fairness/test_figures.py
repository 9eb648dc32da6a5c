import numpy as np
import pandas as pd

from fairlab.papers.individual_fairness.figures import stopping_time_curves, weight_maps

AXIS = np.linspace(-2, 2, 5)
GRID = pd.DataFrame([(a, b) for a in AXIS for b in AXIS], columns=["theta_1", "theta_2"])
BOUNDS = GRID.assign(degrees=0, lower_bound=1 + GRID["theta_1"].abs() / 2)


def test_maps_have_theta_1_across():
    figure = weight_maps(pd.concat([BOUNDS, BOUNDS.assign(degrees=5, lower_bound=BOUNDS["lower_bound"] + 5)]))
    values = figure.axes[0].collections[0].get_array().reshape(5, 5)
    np.testing.assert_allclose(values, np.tile(1 + np.abs(AXIS) / 2, (5, 1)))


def test_curves_are_means_over_splits_and_a_method_looks_the_same_whichever_others_are_drawn():
    frame = pd.DataFrame(
        {"method": ["b", "b", "b", "b", "a"], "time": [0.1, 0.1, 1, 1, 1], "lower_bound": [1, 1.2, 2, 4, 1.0]}
    )
    figure, alone = (stopping_time_curves(of, labels={"b": "Baseline", "a": "A"}) for of in (frame, frame[4:]))
    [axis] = figure.axes
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [1.1, 3])
    assert axis.lines[1].get_color() == alone.axes[0].lines[0].get_color() != axis.lines[0].get_color()
