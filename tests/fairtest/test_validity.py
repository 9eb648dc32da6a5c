"""The intervals of every metric cover the truth as often as they say, neither less nor more; slow."""

import numpy as np
import pytest
from scipy.stats import binom, entropy

from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    Difference,
    Ratio,
    Sample,
)

pytestmark = pytest.mark.slow

RUNS = 400


SHARES = np.array([[0.2, 0.3], [0.4, 0.1]])  # of all people, by group and output
RATES = SHARES[:, 1] / SHARES.sum(axis=1)
ROWS, COLUMNS, JOINT = (entropy(shares) for shares in (SHARES.sum(axis=1), SHARES.sum(axis=0), SHARES.ravel()))


def sample_of(**codes):
    return Sample(*(Column(name, values.astype(int), ("0", "1")) for name, values in codes.items()))


def table(rng, n):
    group, output = np.divmod(rng.choice(4, size=n, p=SHARES.ravel()), 2)
    return sample_of(group=group, output=output)


def strata(rng, n):
    """Return people whose group and output both go with their stratum; in each, the rates differ by 0.2."""
    stratum = rng.integers(2, size=n)
    group = rng.random(n) < 0.3 + 0.4 * stratum
    output = rng.random(n) < 0.5 + 0.3 * stratum - 0.2 * group
    return sample_of(group=group, output=output, stratum=stratum)


def numbers(rng, n):
    x, y = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], size=n).T
    return Sample(Column("x", x), Column("y", y))


@pytest.mark.parametrize("n", [200, 2_000])  # resampled, and by large-sample theory where the metric has one
@pytest.mark.parametrize(
    ("metric", "draw", "truth"),
    [
        (Difference(smoothing=0), table, RATES[0] - RATES[1]),
        (Ratio(smoothing=0), table, RATES[0] / RATES[1]),
        (NMI(), table, (ROWS + COLUMNS - JOINT) / min(ROWS, COLUMNS)),
        (Difference(smoothing=0), strata, 0.2),
        (Correlation(), numbers, 0.3),
    ],
    ids=["difference", "ratio", "nmi", "conditional difference", "correlation"],
)
def test_intervals_of_metrics_cover_the_truth(metric, draw, truth, n):
    rng = np.random.default_rng(3)
    intervals = [metric.exact(draw(rng, n), confidence_level=0.95, rng=rng) for _ in range(RUNS)]
    low, high = binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= sum(interval.low <= truth <= interval.high for interval in intervals) <= high
