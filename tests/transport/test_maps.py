import numpy as np
import pandas as pd
import pytest

from fairlab.transport.maps import TransportMap


class Shift(TransportMap):
    """Adds the difference of the means."""

    def fit(self, X_source, X_target):
        source, target = self._samples(X_source, X_target, min_rows=2)
        self.move_ = target.mean(axis=0) - source.mean(axis=0)
        return self

    def _image(self, X):
        return X + self.move_


SOURCE = pd.DataFrame({"a": [0, 2], "b": [1.0, 1.0]}, index=["x", "y"])
TARGET = pd.DataFrame({"a": [5, 5, 5], "b": [0.0, 0.0, 0.0]})


def test_arrays_stay_arrays_unless_told_otherwise_and_frames_frames():
    shift = Shift()
    image = shift.fit_transform(SOURCE.to_numpy(), TARGET.to_numpy())
    np.testing.assert_array_equal(image, [[4, 0], [6, 0]])
    framed = shift.set_output(transform="pandas").transform(SOURCE.to_numpy())
    assert framed.columns.tolist() == ["x0", "x1"]
    image = Shift().fit(SOURCE, TARGET).transform(SOURCE)
    pd.testing.assert_frame_equal(image, pd.DataFrame({"a": [4.0, 6], "b": [0.0, 0]}, index=["x", "y"]))


def test_columns_of_both_samples_and_of_the_fit_must_agree():
    with pytest.raises(ValueError, match="only in X_source: b; only in X_target: c"):
        Shift().fit(SOURCE, TARGET.rename(columns={"b": "c"}))
    fitted = Shift().fit(SOURCE, TARGET)
    assert fitted.n_features_in_ == 2
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(SOURCE[["b", "a"]])
    with pytest.raises(ValueError, match="X: column 'a' has type"):
        fitted.transform(SOURCE.assign(a=["u", "v"]))
