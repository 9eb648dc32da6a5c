import numpy as np
import pandas as pd

from fairlab.transport.loss_history import LossHistory

HISTORY = LossHistory(np.array([3, 6]), *(np.arange(4.0).reshape(2, 2) + shift for shift in (0, 10, 20)))


def test_a_row_per_record_and_map():
    expected = {
        "step": [3, 3, 6, 6],
        "map": [0, 1, 0, 1],
        "critic": [0.0, 1, 2, 3],
        "adversarial": [10.0, 11, 12, 13],
        "cost": [20.0, 21, 22, 23],
    }
    pd.testing.assert_frame_equal(HISTORY.to_frame(), pd.DataFrame(expected))


def test_of_one_map():
    pd.testing.assert_frame_equal(
        HISTORY.of_map(1).to_frame().drop(columns="map"),
        HISTORY.to_frame().query("map == 1").drop(columns="map").reset_index(drop=True),
    )
