"""Statistical promises: false discoveries are rare, intervals cover, planted contexts are found. Slow."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, entropy

from fairlab import fairtest
from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    DataSource,
    Difference,
    Investigation,
    Ratio,
    Sample,
)

pytestmark = pytest.mark.slow

RUNS = 400


def independent(rng, n=2_000):
    """Return people whose output depends on context attributes, but on the group nowhere."""
    region, kind = rng.integers(4, size=n), rng.integers(3, size=n)
    return pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], n, p=[0.4, 0.6]),
            "output": np.where(rng.random(n) < 0.2 + 0.15 * region, "yes", "no"),
            "region": pd.Categorical.from_codes(region, list("news")),
            "kind": pd.Categorical.from_codes(kind, list("xyz")),
            "age": rng.normal(size=n),
        }
    )


def section_of(data, **options):
    return fairtest.investigate(DataSource(data), Investigation("group", "output", **options)).sections[0]


def test_without_association_at_most_five_percent_of_runs_report_a_context():
    rng = np.random.default_rng(0)
    sections = [section_of(independent(rng)) for _ in range(RUNS)]
    assert sum(len(section.reported) > 1 for section in sections) <= 0.05 * RUNS
    assert sum(len(section.subgroups) > 1 for section in sections) > 0.2 * RUNS  # there was something to report
    assert sum(len(section.significant) > 0 for section in sections) <= binom.ppf(0.999, RUNS, 0.05)


@pytest.mark.parametrize("n", [1_000, 4_000])  # resampled, and by normal theory
def test_intervals_of_a_whole_investigation_cover_the_true_difference(n):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(RUNS):
        group = rng.integers(2, size=n)
        output = rng.random(n) < 0.5 - 0.2 * group
        data = pd.DataFrame({"group": np.where(group, "b", "a"), "output": np.where(output, "yes", "no")})
        section = section_of(data, context=[], metric=Difference(smoothing=0))
        [root] = section.subgroups[0].associations
        covered += root.low <= 0.2 <= root.high
    low, high = binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= covered <= high


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


def test_a_strong_planted_context_is_always_found():
    rng = np.random.default_rng(2)
    for _ in range(20):
        data = independent(rng, 4_000)
        planted = (data["region"] == "n") & (data["kind"] == "x")
        rate = np.where(data["group"] == "a", 0.8, 0.2)
        data.loc[planted, "output"] = np.where(rng.random(4_000) < rate, "yes", "no")[planted]
        best = section_of(data).reported[1]
        assert {str(c) for c in best.node.conditions} >= {"region: n", "kind: x"}
