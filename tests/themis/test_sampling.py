import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.themis.sampling import Looks, Sampling
from fairlab.themis.stopping import error, half_width, look_sizes

SEQUENTIAL = ("wilson", "normal")


def one_by_one(outcomes, sampling):
    """Stop as algorithm 1 does: look after every sample."""
    count = 0
    for number, outcome in enumerate(outcomes, start=1):
        count += outcome
        width = half_width(count, number, sampling.z, rule=sampling.rule)
        if number >= sampling.max_samples or (number > sampling.min_samples and width < sampling.error_bound):
            return count, number
    raise AssertionError("not enough outcomes")


def proportions(rounds, draw):
    """Return what sampling returns, given the outcomes of its rounds."""
    outcomes = None
    while True:
        try:
            series = rounds.send(outcomes)
        except StopIteration as end:
            return end.value
        outcomes = draw(series)


@pytest.mark.parametrize("rule", SEQUENTIAL)
@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    bound=st.sampled_from([0.03, 0.1, 0.4]),
    min_samples=st.integers(0, 30),
    max_samples=st.sampled_from([31, 50, 2000]),
    seed=st.integers(0, 1000),
)
def test_blocks_stop_where_single_samples_would(rule, shares, bound, min_samples, max_samples, seed):
    sampling = Sampling(0.99, bound, rule, min_samples, max_samples)
    outcomes = np.random.default_rng(seed).random((len(shares), max_samples + 1)) < np.array(shares)[:, None]
    taken = np.zeros(len(shares), dtype=int)

    def draw(series):
        assert (np.diff(series) >= 0).all()
        numbers, counts = np.unique(series, return_counts=True)
        parts = [outcomes[i, taken[i] : taken[i] + n] for i, n in zip(numbers, counts, strict=True)]
        taken[numbers] += counts
        return np.concatenate(parts)

    counts, samples = proportions(sampling.rounds(len(shares)), draw)
    expected = [one_by_one(row, sampling) for row in outcomes]
    assert list(zip(counts, samples, strict=True)) == expected


def test_the_normal_rule_ends_at_once_on_a_rare_event_and_wilson_does_not():
    samples = {"exact": proportions(Looks(0.99, 0.05, 10, 100_000).rounds(1), np.zeros_like)[1]}
    for rule in SEQUENTIAL:
        sampling = Sampling(0.99, 0.05, rule, 10, 100_000)
        _, samples[rule] = proportions(sampling.rounds(1), np.zeros_like)
    assert samples["normal"] == 11
    assert samples["wilson"] > 50
    assert samples["exact"] == look_sizes(0.99, 0.05)[0]


@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    bound=st.sampled_from([0.03, 0.1, 0.4]),
    limits=st.sampled_from([(0, 31), (10, 400), (250, 100_000), (9_999, 10_000)]),
    seed=st.integers(0, 1000),
)
def test_looks_stop_at_the_first_look_that_meets_the_bound(shares, bound, limits, seed):
    looks = Looks(0.95, bound, *limits)
    outcomes = np.random.default_rng(seed).random((len(shares), 10_000)) < np.array(shares)[:, None]
    taken = np.zeros(len(shares), dtype=int)

    def draw(series):
        assert (np.diff(series) >= 0).all()
        numbers, counts = np.unique(series, return_counts=True)
        parts = [outcomes[i, taken[i] : taken[i] + n] for i, n in zip(numbers, counts, strict=True)]
        taken[numbers] += counts
        return np.concatenate(parts)

    counts, samples = proportions(looks.rounds(len(shares)), draw)
    for row, count, n in zip(outcomes, counts, samples, strict=True):
        enough = [s for s, spent in looks.sizes.items() if error(row[:s].sum(), s, alpha=0.05 * spent) <= bound]
        assert n == min(enough, default=limits[1])
        assert count == row[:n].sum()
    low, high = looks.interval(counts, samples, n_series=len(shares))
    assert (low <= counts / samples).all()
    assert (counts / samples <= high).all()


def test_looks_keep_within_the_limits_of_samples():
    planned = look_sizes(0.99, 0.05)
    assert list(Looks(0.99, 0.05, 10, 100_000).sizes) == list(planned)
    assert list(Looks(0.99, 0.05, 10, 300).sizes) == [*planned[:2], 300]
    assert list(Looks(0.99, 0.05, 300, 100_000).sizes) == [301, *planned[2:]]
    assert Looks(0.99, 0.05, 1_999, 2_000).sizes == {2_000: 0.5}
