from itertools import permutations

import numpy as np
import pandas as pd
import psutil
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairlab.transport import ExactTransport, SolverError, squared_l1

solvers = pytest.mark.parametrize("solver", ["network_simplex", "hungarian", "lp"])
for_weights = pytest.mark.parametrize("solver", ["network_simplex", "lp"])
coordinates = st.floats(-50, 50, width=16)
small_pairs = st.tuples(st.integers(1, 6), st.integers(1, 2)).flatmap(
    lambda shape: st.tuples(*[arrays(float, shape, elements=coordinates)] * 2)
)


def exact(solver):
    return ExactTransport(solver, cost=squared_l1)


def groups(n_source, n_target, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, 2)), rng.normal(size=(n_target, 2)) + 1


@solvers
@settings(max_examples=25, deadline=None)
@given(pair=small_pairs)
def test_equals_the_best_permutation(solver, pair):
    source, target = pair
    cost = squared_l1(source, target)
    best = min(cost[range(len(source)), order].mean() for order in permutations(range(len(source))))
    model = exact(solver).fit(source, target)
    assert model.cost_ == pytest.approx(best, rel=1e-6, abs=1e-7)
    image = model.transform(source)
    assert np.square(np.abs(image - source).sum(axis=1)).mean() == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert sorted(map(tuple, image)) == sorted(map(tuple, target))


@for_weights
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_agree_on_unequal_sizes_and_weights(solver, weighted):
    source, target = groups(50, 35)
    rng = np.random.default_rng(2)
    weights = {"source_weight": rng.integers(0, 5, 50), "target_weight": rng.random(35)} if weighted else {}
    reference = ExactTransport(cost=squared_l1).fit(source, target, **weights)
    model = exact(solver).fit(source, target, **weights)
    assert model.cost_ == pytest.approx(reference.cost_, rel=1e-6)
    given_weight = weights.get("target_weight", np.ones(35))
    np.testing.assert_allclose(model.plan_.sum(axis=0), given_weight / given_weight.sum(), atol=1e-7)


@for_weights
def test_weights_stand_for_repeated_rows(solver):
    source, target = groups(12, 20)
    counts = np.arange(1, 13) % 4 + 1
    repeated = ExactTransport(cost=squared_l1).fit(np.repeat(source, counts, axis=0), target)
    weighted = exact(solver).fit(source, target, source_weight=counts)
    assert weighted.cost_ == pytest.approx(repeated.cost_, rel=1e-6)


@pytest.fixture
def split_rows():
    """Two source rows, each split 3 to 1 and 1 to 3 over its two neighbours; a target without weight between."""
    source, target = [[0.0], [100.0]], [[1.0], [2.0], [50.0], [101.0], [102.0]]
    return source, target, [3, 1, 0, 1, 3]


def test_sampled_counterparts_follow_the_plan(split_rows):
    source, target, weight = split_rows
    model = ExactTransport(random_state=np.random.default_rng(0)).fit(source, target, target_weight=weight)
    images = np.array([model.transform(source)[:, 0] for _ in range(2_000)])
    assert (set(images[:, 0]), set(images[:, 1])) == ({1, 2}, {101, 102})
    pairs = model.match()
    assert pairs[["source", "target"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 3], [1, 4]]
    assert pairs["share"].tolist() == pytest.approx([0.75, 0.25, 0.25, 0.75])
    seeded = ExactTransport(random_state=1).fit(source, target, target_weight=weight)
    np.testing.assert_array_equal(seeded.transform(source), seeded.transform(source))
    assert np.mean(images == [1, 102], axis=0) == pytest.approx([0.75, 0.75], abs=0.03)


def test_rows_that_were_not_fitted():
    source, target = groups(5, 5)
    model = ExactTransport().fit(source, target)
    for other in (source + 1, source[:3], source[::-1]):
        with pytest.raises(ValueError, match="GANTransport"):
            model.transform(other)


def test_row_without_weight_has_no_counterpart():
    source, target = groups(3, 3)
    with pytest.raises(ValueError, match="row 1 was fitted with weight 0"):
        ExactTransport().fit(source, target, source_weight=[1, 0, 1]).transform(source)


def test_status_of_the_linear_program_counts(monkeypatch):
    monkeypatch.setattr(pulp.LpProblem, "solve", lambda *_: pulp.LpStatusNotSolved)
    with pytest.raises(SolverError, match="'Not Solved'"):
        ExactTransport("lp").fit(*groups(2, 2))


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    def never(*_):
        raise AssertionError("the cost was computed")

    free = psutil.virtual_memory()._replace(available=1_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(MemoryError, match=r"1,000 x 1,000 points needs about .* GiB free; subsample"):
        ExactTransport(cost=never).fit(*groups(1_000, 1_000))


MIXED = pd.DataFrame(
    {"age": [20, 21, 60, 61], "job": ["cook", None, "clerk", "cook"], "member": [True, True, False, False]},
    index=list("abcd"),
)


def test_mixed_columns_and_real_people():
    source, target = MIXED.loc[["a", "c"]], MIXED.loc[["d", "b"]]
    model = ExactTransport().fit(source, target)
    pairs = model.match()
    assert pairs[["source", "target", "share"]].to_numpy().tolist() == [["a", "b", 1.0], ["c", "d", 1.0]]
    sd = MIXED["age"].std(ddof=0)
    assert pairs["cost"].tolist() == pytest.approx([(1 / sd + 1) ** 2, (1 / sd + 1) ** 2])
    image = model.transform(source)
    pd.testing.assert_frame_equal(image, target.loc[["b", "d"]].set_axis(source.index))


def test_weights_by_row_labels():
    source, target = (pd.DataFrame(values, columns=["x", "y"], index=list("abc")) for values in groups(3, 3))
    weight = pd.Series([1, 2, 3], index=list("abc"))
    straight = ExactTransport().fit(source, target, source_weight=weight)
    shuffled = ExactTransport().fit(source, target, source_weight=weight[::-1])
    pd.testing.assert_frame_equal(straight.match(), shuffled.match())
    with pytest.raises(ValueError, match="source_weight: has the row label"):
        ExactTransport().fit(source, target, source_weight=weight.set_axis([0, 1, 2]))


@pytest.mark.parametrize(
    ("options", "sizes", "weights", "message"),
    [
        ({"solver": "hungarian"}, (3, 2), {}, "equally many rows, found 3 and 2"),
        ({"solver": "hungarian"}, (2, 2), {"source_weight": [1, 2]}, "uniform source_weight"),
        ({"solver": "lp"}, (501, 500), {}, "501 x 500; subsample"),
        ({}, (3, 3), {"source_weight": [1, -1, 1]}, "source_weight: .*row 1 has weight -1"),
        ({}, (3, 3), {"target_weight": [0, 0, 0]}, "target_weight: .*sums to 0"),
        ({}, (3, 3), {"target_weight": [1, 1]}, "target_weight: .*expected 3 values"),
    ],
)
def test_what_a_solver_or_a_weight_does_not_allow(options, sizes, weights, message):
    with pytest.raises(ValueError, match=message):
        ExactTransport(**options).fit(*groups(*sizes), **weights)
