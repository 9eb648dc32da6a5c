import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from fairlab.fliptest import PooledScaler

WOMEN = pd.DataFrame({"work": [1.0, 3.0], "hair": [10.0, 30.0]}, index=["w1", "w2"])
MEN = pd.DataFrame({"work": [5.0, 7.0], "hair": [0.0, 0.0]}, index=["m1", "m2"])


def test_hand_computed():
    scaler = PooledScaler().fit(WOMEN, MEN)
    assert scaler.mean_.tolist() == [4, 10]
    assert np.allclose(scaler.scale_, [np.sqrt(5), np.sqrt(150)])
    women = scaler.transform(WOMEN)
    assert np.allclose(women["work"], [-3 / np.sqrt(5), -1 / np.sqrt(5)])
    assert women.index.tolist() == ["w1", "w2"]


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 20))
def test_together_the_groups_are_standardised(seed, n_first, n_second):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(2, 3, (n_first, 2)), rng.normal(-1, 1, (n_second, 2))
    scaler = PooledScaler().fit(first, second)
    pooled = np.vstack([scaler.transform(first), scaler.transform(second)])
    assert np.allclose(pooled.mean(axis=0), 0)
    assert np.allclose(pooled.std(axis=0), 1)
    assert np.allclose(scaler.inverse_transform(scaler.transform(first)), first)


def test_the_test_draw_takes_the_training_draws_scaling():
    scaler = PooledScaler().fit(WOMEN, MEN)
    assert np.allclose(scaler.transform(WOMEN * 0 + [4.0, 10.0]), 0)


def test_bad_input():
    with pytest.raises(ValueError, match="groups together: constant columns: hair"):
        PooledScaler().fit(WOMEN.assign(hair=1.0), MEN.assign(hair=1.0))
    with pytest.raises(ValueError, match="only in group 2: age"):
        PooledScaler().fit(WOMEN, MEN.assign(age=1.0))
    with pytest.raises(ValueError, match="group 2: is empty"):
        PooledScaler().fit(WOMEN, MEN[:0])
    with pytest.raises(ValueError, match="found none"):
        PooledScaler().fit()
    with pytest.raises(ValueError, match="order differs"):
        PooledScaler().fit(WOMEN, MEN).transform(WOMEN[["hair", "work"]])
    with pytest.raises(NotFittedError):
        PooledScaler().transform(WOMEN)


def test_a_column_constant_in_one_group_only_is_fine():
    assert np.ptp(PooledScaler().fit(WOMEN, MEN).transform(MEN)["hair"]) == 0
