import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.suite.published import Value
from fairlab.suite.verdicts import (
    JUDGED,
    UNSETTLED,
    Ours,
    judge,
    judge_claim,
    judge_trials,
    relative_difference,
    unsettled,
)

KINDS = ["count", "statistic", "coefficient", "proportion", "percent"]
WHY = "below what themis/pruning needs at least"


def value(**given):
    given = {name: Decimal(str(number)) if isinstance(number, float) else number for name, number in given.items()}
    return Value(id="x", **({"kind": "statistic"} | given))


def ours(*values, kind="statistic"):
    return Ours(np.asarray(values, dtype=float), kind)


def verdict(published, *values, **about):
    return judge(published, ours(*values, kind=published.kind), **about)[0]


def spread(mean, error, n):
    """Return n values with the given mean and standard error."""
    values = np.arange(n) - (n - 1) / 2
    return mean + values * error * math.sqrt(n) / values.std(ddof=1)


WITHIN = 3 * math.hypot(0.3 / 3, 0.1)  # three combined standard errors of a std of 0.3 of 9, and of 0.9 and 1.1
TO_200 = np.linspace(0, 200, 20)  # the central 95% run from 5 to 195


@pytest.mark.parametrize(
    ("published", "own", "expected"),
    [
        # exact: equal at the published precision, whatever the number
        (value(value=71, kind="count"), [71], "exact"),
        (value(value=88.15, kind="percent"), [88.154], "exact"),
        (value(value=88.15, kind="percent"), [88.156], "agrees"),
        (value(value=1.0, std=0.5, n=4), [1.04], "exact"),
        (value(value=0.03, kind="p-value"), [0.034], "exact"),
        (value(value=100, kind="count"), [99, 101], "exact"),
        (value(low=0.25, high=0.30, kind="interval"), [(0.2549, 0.3049)], "exact"),
        (value(value=0, kind="count"), [0], "exact"),
        # exact: below a printed "<x"
        (value(value=0.01, kind="percent", less_than=True), [0.0099], "exact"),
        (value(value=0.01, kind="percent", less_than=True), [0.011], "agrees"),
        # half a point says nothing of it: only 10% and 25% count
        (value(value=0.01, kind="percent", less_than=True), [0.012], "near"),
        (value(value=0.01, kind="percent", less_than=True), [0.013], "differs"),
        (value(value=0.005, kind="proportion", less_than=True), [0.0099], "differs"),
        (value(value=0.01, kind="statistic", less_than=True), [0.02], "differs"),
        # agrees, with a published std: one std, or three combined standard errors where that is more
        (value(value=1.0, std=0.5, n=100), [1.5], "agrees"),
        (value(value=1.0, std=0.5, n=100), [1.51], "differs"),
        (value(value=1.0, std=0.5, n=4), [1.75], "agrees"),
        (value(value=1.0, std=0.5, n=4), [1.76], "differs"),
        # combined standard errors use both spreads
        (value(value=0.0, std=0.3, n=9), [0.9, 1.1], "differs"),
        (value(value=1 - WITHIN + 1e-6, std=0.3, n=9), [0.9, 1.1], "agrees"),
        (value(value=1 - WITHIN - 1e-6, std=0.3, n=9), [0.9, 1.1], "differs"),
        # our errors count from five trials on, and up to a quarter
        (value(value=100), spread(124, 8.3, 5), "agrees"),  # three errors are 24.9
        (value(value=100), spread(126, 8.3, 5), "differs"),
        (value(value=100), spread(124, 8.3, 4), "near"),  # too few trials
        (value(value=100), spread(124, 8.4, 50), "near"),  # three errors are wider than 25%
        (value(value=100), spread(109.5, 3.0, 5), "agrees"),  # narrow errors take nothing away from the 10%
        (value(value=100), spread(110.5, 3.0, 5), "near"),
        (value(value=100), spread(110.5, 0.0, 5), "near"),
        # a single run is held against the spread of twenty of ours
        (value(value=180, kind="count", single_run=True), TO_200, "compatible"),
        (value(value=180, kind="count"), TO_200, "differs"),
        (value(value=180, kind="count", single_run=True), TO_200[:19], "differs"),
        (value(value=196, kind="count", single_run=True), TO_200, "differs"),
        # agrees, without: 10%
        (value(value=100, kind="count"), [110], "agrees"),
        (value(value=100, kind="count"), [89.9], "near"),
        (value(value=-1.3), [-1.2], "agrees"),
        (value(value=-1.3), [1.3], "differs"),
        (value(value=0, kind="count"), [1], "differs"),
        # agrees: percent, or half a point
        (value(value=0.01, kind="proportion"), [0.0149], "exact"),
        (value(value=0.012, kind="statistic"), [0.0169], "differs"),
        (value(value=0.012, kind="proportion"), [0.0169], "agrees"),
        (value(value=0.012, kind="proportion"), [0.0171], "differs"),
        (value(value=1.0, kind="percent"), [1.5], "agrees"),
        (value(value=1.0, kind="percent"), [1.51], "differs"),
        # near: 25%, without a published std
        (value(value=100, kind="count"), [125], "near"),
        (value(value=100, kind="count"), [126], "differs"),
        (value(value=100, kind="count", std=1.0, n=100), [120], "differs"),
        # p-values: the side of 0.05
        (value(value=0.03, kind="p-value"), [1e-9], "agrees"),
        (value(value=0.03, kind="p-value"), [0.06], "differs"),
        (value(value=0.8, kind="p-value"), [0.06], "agrees"),
        (value(value=0.049, kind="p-value"), [0.051], "differs"),
        # seconds are never compared
        (value(value=3, kind="seconds"), [3], "not comparable"),
    ],
)
def test_judge(published, own, expected):
    assert verdict(published, *own) == expected


@given(*[st.tuples(st.floats(-10, 10), st.floats(0.01, 10))] * 2)
def test_the_rule_of_intervals_is_about_their_overlap(one, other):
    (low, high), (own_low, own_high) = ((start, start + length) for start, length in (one, other))
    overlap, shorter = min(high, own_high) - max(low, own_low), min(high - low, own_high - own_low)
    if abs(overlap - shorter / 2) > 1e-6:
        agrees = verdict(value(low=low, high=high, kind="interval"), (own_low, own_high)) in ("exact", "agrees")
        assert agrees == (overlap > shorter / 2)


@pytest.mark.parametrize(
    ("std", "n", "expected"),
    [
        (0.0320, 10, "agrees"),
        (0.0916, 10, "agrees"),  # F of 9 and 9 degrees of freedom: .00135 are beyond 9.343, whose root is 3.0566
        (0.0918, 10, "differs"),
        (0.0097, 10, "differs"),
        (0.0099, 10, "agrees"),
        (0.1000, 3, "agrees"),  # few runs say little of a standard deviation
    ],
)
def test_a_standard_deviation_is_judged_by_the_f_test_of_the_runs_behind_it(std, n, expected):
    published = Value(id="x.std", value=Decimal("0.030"), n=10, kind="std")
    assert verdict(published, *spread(0, std / math.sqrt(n), n)) == expected


def test_interval_of_a_standard_deviation_holds_it_in_95_of_100_draws():
    draws = np.random.default_rng(0).normal(size=(2000, 10))
    low, high = np.array([Ours(values, "std").interval for values in draws]).T
    assert 0.94 < np.mean((low < 1) & (high > 1)) < 0.96


def test_a_row_is_unsettled_if_other_draws_of_our_trials_say_otherwise():
    published, near_the_limit, clear = value(value=100), spread(110, 8.3, 4), spread(101, 1.0, 10)
    assert verdict(published, *near_the_limit) == "agrees"
    assert unsettled(published, ours(*near_the_limit)) > 0.3 > UNSETTLED > unsettled(published, ours(*clear))
    # Exact and agrees say the same; 101 on average is exact in some draws.
    assert unsettled(value(value=101), ours(100, 101, 102)) == 0
    assert unsettled(value(low=0, high=1, kind="interval"), ours((0, 1), (0.8, 2), kind="interval")) > UNSETTLED


def test_methods_with_other_numbers_of_runs_are_resampled_each_on_its_own():
    runs = pd.DataFrame({"many": np.full(40, 1.0), "few": [0.5, 1.4] + [np.nan] * 38})
    judged = judge_trials(lambda runs: runs["many"].mean() > runs["few"].mean(), runs)
    assert judged == (True, pytest.approx(0.25, abs=0.05))  # both draws are the larger one


def test_resamples_are_judged_as_each_by_itself():
    published, own = value(value=100, single_run=True), ours(*spread(120, 9, 25))
    draws = own.resampled().values
    alone = np.array([verdict(published, *draws[:, k]) for k in range(draws.shape[1])])
    assert unsettled(published, own) == np.mean(alone != verdict(published, *own.values)) > 0


RUNS = [*np.linspace(20, 180, 19), 100]
HOLDS, SIZE = {"claims_hold": True}, {"claims_hold": True, "size": "n 1 instead of 2"}


# What makes the first verdict apply is taken away, one after the other: the next one shows.
@pytest.mark.parametrize(
    ("published", "own", "about", "expected"),
    [
        ({"value": 100, "setting": True}, [100], SIZE | {"surrogate": "not the real data"}, "surrogate"),
        ({"value": 100, "setting": True}, [100], SIZE, "setting"),
        ({"value": 500, "setting": True, "kind": "seconds"}, [500], SIZE, "setting"),
        ({"value": 100, "setting": True}, [99], SIZE, "not comparable"),
        ({"value": 100, "setting": True}, [99], HOLDS, "differs"),
        ({"value": 100, "impossible": WHY}, [100], SIZE, "not comparable"),
        ({"value": 100, "impossible": WHY}, [100], HOLDS, "impossible"),
        ({"value": 100, "single_run": True}, RUNS, HOLDS, "exact"),
        ({"value": 104, "single_run": True}, RUNS, HOLDS, "agrees"),
        ({"value": 115, "single_run": True}, RUNS, HOLDS, "near"),
        ({"value": 150, "single_run": True}, RUNS, HOLDS, "compatible"),
        ({"value": 150}, RUNS, HOLDS, "same conclusion"),
        ({"value": 150}, RUNS, {}, "differs"),
    ],
)
def test_of_all_that_apply_the_first_is_given(published, own, about, expected):
    assert verdict(value(**published), *own, **about) == expected


def test_verdicts_come_with_their_reasons():
    size = "n 1 instead of 2"
    assert [
        judge(value(value=1000, kind="count", setting=True), ours(999)),
        judge(value(value=1, impossible=WHY), ours(1)),
        judge(value(value=1), ours(1), surrogate="not the real data"),
        judge_claim(True, surrogate="not the real data", size=size),
        judge_claim(True, size=size),
        judge_claim(True),
        judge_claim(False),
    ] == [
        ("differs", "a fixed parameter of the protocol: published 1000, used 999"),
        ("impossible", WHY),
        ("surrogate", "not the real data"),
        ("surrogate", "not the real data"),
        ("not comparable", f"not the size of the published protocol: {size}"),
        ("holds", ""),
        ("fails", ""),
    ]


@given(st.floats(-1e6, 1e6), st.sampled_from(KINDS))
def test_the_published_number_itself_is_exact(number, kind):
    assert verdict(value(value=number, kind=kind), number) == "exact"


@given(st.integers(-1000, 1000), st.floats(0, 2000), st.sampled_from(KINDS), st.sampled_from([None, 0.5, 20.0]))
def test_too_much_is_judged_like_too_little(number, difference, kind, std):
    published = value(value=number, kind=kind, std=std, n=None if std is None else 10)
    assert verdict(published, number + difference) == verdict(published, number - difference)


@given(
    st.floats(-1000, 1000), st.floats(0, 2000), st.floats(0, 1), st.sampled_from(KINDS), st.sampled_from([None, 3.0])
)
def test_nearer_is_never_judged_worse(number, difference, part, kind, std):
    published = value(value=number, kind=kind, std=std, n=None if std is None else 10)
    near, far = (JUDGED.index(verdict(published, number + step)) for step in (part * difference, difference))
    assert near <= far


@pytest.mark.parametrize(
    ("published", "own", "expected"),
    [
        (value(value=-4), -5, -0.25),
        (value(value=0), 0, 0),
        (value(value=0), 1, None),
        (value(value=0.03, kind="p-value"), 1, None),
        (value(low=1, high=3, kind="interval"), (2, 3), 0.25),
        (value(value=0.01, kind="percent", less_than=True), 0.001, 0),
    ],
)
def test_relative_difference(published, own, expected):
    assert relative_difference(published, ours(own, kind=published.kind)) == expected


def test_interval_of_the_mean_over_trials():
    own, half = ours(1.0, 2.0, 3.0), 4.302653 / math.sqrt(3)  # t quantile at 2 degrees of freedom
    assert (own.number, own.std, *own.interval) == pytest.approx((2, 1, 2 - half, 2 + half), rel=1e-6)
    assert (ours(1.0).interval, ours(1.0).error, ours(0.9, 1.1).error) == (None, 0, pytest.approx(0.1))
