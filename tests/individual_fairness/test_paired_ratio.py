import numpy as np
import pytest
from scipy.stats import norm

from fairlab.individual_fairness.paired_ratio import PairedErrors


def errors(*numbers):
    return PairedErrors(*(np.array(number) for number in numbers))


def test_limits_by_hand():
    both, new, mended = 40, 12, 5
    a, b, m, z = 52, 45, 57, norm.isf(0.025)
    wide = np.sqrt((12 + 5 + 2) / (53 * 46))
    narrow = np.sqrt((1 - 53 / 59) / 53) + np.sqrt((1 - 46 / 59) / 46)
    z *= wide / narrow

    def wilson(x):
        centre, half = 2 * x + z**2, z * np.sqrt(z**2 + 4 * x * (1 - x / m))
        return (centre - half) / (2 * (m + z**2)), (centre + half) / (2 * (m + z**2))

    expected = wilson(a)[0] / wilson(b)[1], wilson(a)[1] / wilson(b)[0]
    np.testing.assert_allclose(errors(both, new, mended).limits(0.025), expected)


@pytest.mark.parametrize("threshold", [0.9, 1.25, 2.0])
def test_the_p_value_is_where_the_limit_passes_the_threshold(threshold):
    some = errors([40, 10, 3, 0, 0], [12, 9, 0, 8, 3], [5, 0, 3, 0, 4])
    p = some.p_value(threshold)
    for k in range(5):
        one = errors(some.both[k], some.new[k], some.mended[k])
        assert one.p_value(threshold) == pytest.approx(p[k])
        for level in (p[k] * 0.99, min(p[k] * 1.01, 0.999)):
            if level < 0.5:
                assert (one.limits(level)[0] > threshold) == (p[k] < level)


def test_the_limits_hold_where_errors_are_few():
    rng = np.random.default_rng(0)
    for chances in ((0.03, 0.01, 0.002), (0.2, 0.001, 0.0), (0.01, 0.01, 0.01)):
        both, new, mended, _ = rng.multinomial(300, [*chances, 1 - sum(chances)], size=20_000).T
        truth = (chances[0] + chances[1]) / (chances[0] + chances[2])
        low, high = errors(both, new, mended).limits(0.025)
        held = (low <= truth) & (truth <= high)
        assert held.mean() > 0.945
        assert (errors(both, new, mended).p_value(truth) <= 0.05).mean() < 0.06


def test_nothing_wrong():
    low, high = errors(0, 0, 0).limits(0.05)
    assert (low, high) == (0, np.inf)
    assert errors(0, 0, 0).p_value(1.25) == 1
