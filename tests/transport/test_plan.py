import numpy as np
import pytest
from scipy import sparse

from fairlab.transport import SolverError
from fairlab.transport.plan import MARGINAL_TOLERANCE, Solution, check_marginals

PLAN = sparse.csr_array([[0.5, 0.0], [0.1, 0.4]])
SOURCE, TARGET = np.array([0.5, 0.5]), np.array([0.6, 0.4])


def test_a_plan_with_its_weights_passes():
    check_marginals(PLAN, SOURCE, TARGET)
    check_marginals(PLAN * (1 + MARGINAL_TOLERANCE / 2), SOURCE, TARGET)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([0.4, 0.6], TARGET, "misses the source weights by 0.2 in all"),
        (SOURCE, [0.5, 0.5], "misses the target weights by 0.2 in all"),
        ([np.nan, 0.5], TARGET, "misses the source weights by nan"),
    ],
)
def test_a_plan_that_misses_them_does_not(source, target, message):
    with pytest.raises(SolverError, match=message):
        check_marginals(PLAN, np.array(source), np.array(target))


def test_prices_in_the_unit_of_the_costs():
    priced = Solution(PLAN, "by hand", np.array([1.0, 2.0]))
    np.testing.assert_array_equal(priced.in_unit(0.5, np.array([10.0, 20.0])).target_price, [10.5, 21.0])
    assert Solution(PLAN, "by hand").in_unit(0.5, 1.0).target_price is None
