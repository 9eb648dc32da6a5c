import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fairlab.transport.transport_map import TransportMap, one_each


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


def test_frames_keep_index_and_columns():
    image = Shift().fit(SOURCE, TARGET).transform(SOURCE)
    pd.testing.assert_frame_equal(image, pd.DataFrame({"a": [4.0, 6], "b": [0.0, 0]}, index=["x", "y"]))


def test_arrays_stay_arrays_unless_told_otherwise():
    shift = Shift()
    image = shift.fit_transform(SOURCE.to_numpy(), TARGET.to_numpy())
    np.testing.assert_array_equal(image, [[4, 0], [6, 0]])
    framed = shift.set_output(transform="pandas").transform(SOURCE.to_numpy())
    assert framed.columns.tolist() == ["x0", "x1"]


def test_columns_of_both_samples_and_of_the_fit_must_agree():
    with pytest.raises(ValueError, match="only in X_source: b; only in X_target: c"):
        Shift().fit(SOURCE, TARGET.rename(columns={"b": "c"}))
    with pytest.raises(ValueError, match="X_target: has 1 row, expected at least 2"):
        Shift().fit(SOURCE, TARGET[:1])
    fitted = Shift().fit(SOURCE, TARGET)
    assert fitted.n_features_in_ == 2
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(SOURCE[["b", "a"]])
    with pytest.raises(ValueError, match="X: column 'a' has type"):
        fitted.transform(SOURCE.assign(a=["u", "v"]))
    with pytest.raises(NotFittedError):
        Shift().transform(SOURCE)


def test_own_samples_and_shared_ones():
    assert one_each("sample", 3, "X") == ["sample"] * 3
    own = one_each(np.arange(12).reshape(2, 3, 2), 2, "X")
    assert [x.shape for x in own] == [(3, 2)] * 2
    with pytest.raises(ValueError, match="X: has 2 samples for 3 random_states"):
        one_each(np.zeros((2, 3, 2)), 3, "X")
