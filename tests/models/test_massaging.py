import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.models.massaging import balancing_weights, changes_for_equal_shares, massage

# Two women, one positive of four; men: three of four.
WOMEN = np.array([True] * 4 + [False] * 4)
LABELS = np.array([1, 0, 0, 0, 1, 1, 1, 0])
SCORES = np.array([0.9, 0.1, 0.4, 0.3, 0.9, 0.2, 0.6, 0.1])


def test_the_nearest_labels_are_changed():
    # One change in each group makes the shares equal: the woman with 0.4, the man with 0.2.
    assert changes_for_equal_shares(LABELS, WOMEN) == 1
    assert massage(LABELS, WOMEN, SCORES).tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    assert massage(LABELS, WOMEN, SCORES, n_promoted=2, n_demoted=0).tolist() == [1, 0, 1, 1, 1, 1, 1, 0]
    assert LABELS.tolist() == [1, 0, 0, 0, 1, 1, 1, 0], "the labels handed in stay"


def test_nothing_changes_where_the_disadvantaged_do_better():
    assert massage(LABELS, ~WOMEN, SCORES).tolist() == LABELS.tolist()


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(20, 200))
def test_shares_are_as_equal_as_whole_numbers_allow(seed, n_rows):
    rng = np.random.default_rng(seed)
    group = np.r_[True, False, rng.random(n_rows) < 0.4]
    y = np.r_[0, 1, rng.random(n_rows) < np.where(group[2:], 0.3, 0.7)].astype(int)
    labels = massage(y, group, rng.random(len(y)))
    assert labels.sum() == y.sum()
    if y[~group].mean() >= y[group].mean():
        step = 1 / group.sum() + 1 / (~group).sum()
        assert abs(labels[group].mean() - labels[~group].mean()) <= step / 2 + 1e-12


def test_weights_by_hand():
    weights = balancing_weights(LABELS, WOMEN)
    # P(positive) P(woman) / P(positive woman) = 1/2 * 1/2 / (1/8).
    assert weights.tolist() == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2])
    shares = [np.average(LABELS[group], weights=weights[group]) for group in (WOMEN, ~WOMEN)]
    assert shares == pytest.approx([0.5, 0.5])


def test_bad_input():
    for call, message in (
        (
            lambda: massage(LABELS, WOMEN[:3], SCORES),
            r"y, disadvantaged and scores: expected one length, found shapes \(8,\), \(3,\)",
        ),
        (lambda: massage(LABELS, WOMEN | True, SCORES), "disadvantaged: expected two groups, found one"),
        (
            lambda: massage(LABELS, WOMEN, SCORES, n_promoted=4, n_demoted=0),
            "n_promoted and n_demoted: expected at most 3 and",
        ),
        (
            lambda: balancing_weights(LABELS, WOMEN[:3]),
            r"y and sensitive_features: expected one length, found shapes \(8,\) and \(3,\)",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
