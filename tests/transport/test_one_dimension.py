import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairlab.transport import ExactTransport, monotone_rearrangement, squared_l1

samples = st.integers(1, 20).flatmap(
    lambda n: st.tuples(*[arrays(float, n, elements=st.floats(-100, 100, width=32))] * 2)
)


def test_by_hand():
    np.testing.assert_array_equal(monotone_rearrangement([3, 1, 2], [10, 30, 20]), [30, 10, 20])


def test_equal_values_keep_their_order():
    np.testing.assert_array_equal(monotone_rearrangement([1, 1, 0], [5, 6, 7]), [6, 7, 5])


@given(samples)
def test_costs_as_little_as_the_exact_plan(sample):
    source, target = sample
    mean_cost = np.square(monotone_rearrangement(source, target) - source).mean()
    exact = ExactTransport("hungarian", cost=squared_l1).fit(source[:, None], target[:, None])
    assert mean_cost == pytest.approx(exact.cost_, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([1, 2], [1], "source has 2 values, target has 1"),
        ([], [], "source: is empty"),
        ([np.nan], [1], "source: .* nan"),
        ([[1, 2]], [[1, 2]], "one dimension"),
    ],
)
def test_bad_samples(source, target, message):
    with pytest.raises(ValueError, match=message):
        monotone_rearrangement(source, target)
