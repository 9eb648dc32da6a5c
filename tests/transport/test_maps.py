from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.exceptions import NotFittedError

from fairlab.transport.maps import GIB, TransportMap, check_options, require_memory, single_precision


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


def test_what_does_not_fit_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2 * GIB))
    assert require_memory(2 * GIB, "it", advice="") == 2 * GIB
    with pytest.raises(MemoryError, match=r"^the plan needs about 3 GiB, found 2 GiB free; take less$"):
        require_memory(3 * GIB, "the plan", advice="take less")


def options(**others):
    return SimpleNamespace(**{"hidden_layers": (3, 4), "random_state": 0, "n": 2, "rate": 0.1} | others)


def test_options_in_range():
    for right in (options(), options(hidden_layers=())):
        check_options(right, counts=["n"], positive=["rate"])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("hidden_layers", [(3, 0), (3, -1), (3, 2.5), (3, "8"), (3, np.nan), 5, "8", None]),
        ("rate", [0, -1, np.nan, np.inf, "1", None, 1j, [1, 2]]),
        ("n", [0, -1, 1.5, "3", np.nan, None]),
        ("random_state", [-1, 0.5, "0", None]),
    ],
)
def test_options_out_of_range(name, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=f"{name}: expected"):
            check_options(options(**{name: value}), counts=["n"], positive=["rate"])


def test_numbers_beyond_single_precision():
    assert single_precision(np.array([1e38]), "X").dtype == np.float32
    with pytest.raises(ValueError, match=r"X: expected numbers of at most 3.4e\+38, .* found -1e\+39"):
        single_precision(np.array([0, -1e39]), "X")
