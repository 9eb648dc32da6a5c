from itertools import chain, combinations, product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema
from fairlab.papers.themis.published import Normal, Wilson, z_value
from fairlab.themis import Themis


def algorithm_2(table, bases, positions, *, z, error_bound, rule):
    """Look at one input after the other, as the paper does; return share, samples and tests."""
    count = tests = 0
    for r, base in enumerate(bases, start=1):
        tests += 1
        for values in product(*(range(table.shape[p]) for p in positions)):
            other = base.copy()
            other[list(positions)] = values
            tests += (other != base).any()
            if table[tuple(other)] != table[tuple(base)]:
                count += 1
                break
        if r > 10 and rule.half_width(count, r, z) < error_bound:
            return count / r, r, tests
    raise AssertionError("not enough inputs")


@settings(max_examples=60, deadline=None)
@given(
    table=arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3)),
    stop=st.sampled_from([Normal, Wilson]),
    seed=st.integers(0, 9),
)
def test_batches_do_what_algorithm_2_does_one_by_one(table, stop, seed):
    draw, drawn = Schema.sample_codes, []

    def record(schema, n, *, random_state):
        drawn.append(draw(schema, n, random_state=random_state))
        return drawn[-1]

    schema = Schema.from_dict({f"x{axis}": range(size) for axis, size in enumerate(table.shape)})
    themis = Themis(
        lambda inputs: table[tuple(inputs.to_numpy().T)], schema, stop=stop, error_bound=0.2, random_state=seed
    )
    for positions in chain.from_iterable(combinations(range(table.ndim), n + 1) for n in range(table.ndim)):
        drawn.clear()
        with mock.patch.object(Schema, "sample_codes", record):
            [score] = themis.estimate("causal", [[f"x{p}" for p in positions]]).itertuples()
        expected = algorithm_2(table, np.concatenate(drawn), positions, z=z_value(0.99), error_bound=0.2, rule=stop)
        assert (score.estimate, score.samples, score.tests) == expected


@pytest.mark.parametrize(
    ("count", "n", "z", "rule", "expected"),
    [
        (20, 100, 2, Normal, 0.08),  # z sqrt(p (1 - p) / r) with p = 0.2 and r = 100
        (0, 11, 2.58, Normal, 0),
        (0, 11, 2, Wilson, 4 / 22 / (1 + 4 / 11)),  # z² / (2n) / (1 + z² / n)
    ],
)
def test_half_widths_by_hand(count, n, z, rule, expected):
    assert rule.half_width(count, n, z) == pytest.approx(expected)
