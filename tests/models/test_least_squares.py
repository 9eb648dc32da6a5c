import numpy as np
import pytest

from fairlab.models.least_squares import LeastSquaresClassifier


def test_the_threshold_decides():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    # The line is 0.4 x - 0.1.
    assert LeastSquaresClassifier().fit(X, y).predict(X).tolist() == [0, 0, 1, 1]
    assert LeastSquaresClassifier(threshold=0.0).fit(X, y).predict(X).tolist() == [0, 1, 1, 1]
    assert LeastSquaresClassifier().fit(X, np.array(["no", "yes"])[y]).predict(X).tolist() == ["no", "no", "yes", "yes"]
    with pytest.raises(ValueError, match=r"y: expected two classes, found 4: 0\.0, 1\.0, 2\.0, 3\.0"):
        LeastSquaresClassifier().fit(X, X[:, 0])
