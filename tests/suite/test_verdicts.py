import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.suite.published import Value
from fairlab.suite.verdicts import Ours, judge


def value(**given):
    return Value(id="x", **({"kind": "statistic"} | given))


def ours(*values):
    return Ours(np.asarray(values, dtype=float))


@pytest.mark.parametrize(
    ("published", "own", "verdict"),
    [
        # without a published std: 25%
        (value(value=100, kind="count"), [125], "agrees"),
        (value(value=100, kind="count"), [126], "differs"),
        (value(value=-1.3), [-1.0], "agrees"),
        (value(value=-1.3), [1.3], "differs"),
        (value(value=0, kind="count"), [0], "agrees"),
        (value(value=0, kind="count"), [1], "differs"),
        # proportion and percent: 25% or half a percentage point
        (value(value=0.01, kind="proportion"), [0.0149], "agrees"),
        (value(value=0.01, kind="proportion"), [0.0151], "differs"),
        (value(value=1.0, kind="percent"), [1.5], "agrees"),
        (value(value=1.0, kind="percent"), [1.51], "differs"),
        (value(value=0.27, kind="proportion"), [0.3], "agrees"),
        # with a published std: one std, or three combined standard errors where that is more
        (value(value=1.0, std=0.5, n=100), [1.5], "agrees"),
        (value(value=1.0, std=0.5, n=100), [1.51], "differs"),
        (value(value=1.0, std=0.5, n=4), [1.75], "agrees"),
        (value(value=1.0, std=0.5, n=4), [1.76], "differs"),
        # a printed "<x"
        (value(value=0.01, kind="percent", less_than=True), [0.009], "agrees"),
        (value(value=0.01, kind="percent", less_than=True), [0.01], "differs"),
        # p-values: the side of 0.05
        (value(value=0.03, kind="p-value"), [1e-9], "agrees"),
        (value(value=0.03, kind="p-value"), [0.06], "differs"),
        (value(value=0.8, kind="p-value"), [0.06], "agrees"),
        # seconds are never compared
        (value(value=3, kind="seconds"), [3], "not comparable"),
        # exact
        (value(value=71, kind="count", exact=True), [71], "exact"),
        (value(value=71, kind="count", exact=True), [72], "agrees"),
        (value(value=71, kind="count", exact=True), [7], "differs"),
    ],
)
def test_judge(published, own, verdict):
    assert judge(published, ours(*own))[0] == verdict


def test_combined_standard_errors_use_both_spreads():
    published = value(value=0.0, std=0.3, n=9)
    own = ours(0.9, 1.1)  # mean 1.0, std 0.1414, standard error 0.1
    within = 3 * math.sqrt(0.3**2 / 9 + 0.1**2)
    assert within < 1.0
    assert judge(published, own)[0] == "differs"
    assert judge(value(value=1 - within + 1e-6, std=0.3, n=9), own)[0] == "agrees"
    assert judge(value(value=1 - within - 1e-6, std=0.3, n=9), own)[0] == "differs"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.25, 0.29, "agrees"),
        (0.27, 0.31, "agrees"),
        (0.281, 0.321, "differs"),
        (0.0, 1.0, "agrees"),
        (0.5, 0.6, "differs"),
    ],
)
def test_intervals_overlap_by_half_of_the_shorter(low, high, verdict):
    published = value(low=0.25, high=0.30, kind="interval")
    assert judge(published, ours((low, high)))[0] == verdict


def test_claims_turn_a_difference_into_the_same_conclusion():
    published = value(value=100, kind="count")
    assert judge(published, ours(500), claims_hold=True)[0] == "same conclusion"
    assert judge(published, ours(500), claims_hold=False)[0] == "differs"
    assert judge(published, ours(500), claims_hold=None)[0] == "differs"
    assert judge(published, ours(100), claims_hold=False)[0] == "agrees"


@given(st.floats(-1e6, 1e6), st.sampled_from(["count", "statistic", "coefficient", "proportion", "percent"]))
def test_the_published_number_itself_agrees(number, kind):
    assert judge(value(value=number, kind=kind), ours(number))[0] == "agrees"
    assert judge(value(value=number, kind=kind, exact=True), ours(number))[0] == "exact"


def test_interval_of_the_mean_over_trials():
    own = ours(1.0, 2.0, 3.0)
    low, high = own.interval
    assert (own.mean, own.std) == (2.0, 1.0)
    assert high - 2.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t quantile at 2 degrees of freedom
    assert low == pytest.approx(4.0 - high)
    assert ours(1.0).interval is None
