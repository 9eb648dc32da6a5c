import subprocess
import sys
from itertools import permutations

import numpy as np
import ot
import pandas as pd
import psutil
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from fairlab.transport import ColumnCosts, ExactTransport, SolverError, solvers, squared_l1
from fairlab.transport.cost import check_mixed, codes_of, cost_matrix
from fairlab.transport.maps import TransportMap
from fairlab.transport.solvers import (
    MARGINAL_TOLERANCE,
    check_marginals,
    duality_gap,
    hungarian,
    linear_program,
    network_simplex,
    solve_merged,
    solve_to_optimality,
)

every_solver = pytest.mark.parametrize("solver", ["network_simplex", "hungarian", "lp"])
for_weights = pytest.mark.parametrize("solver", ["network_simplex", "lp"])
coordinates = st.floats(-50, 50, width=16)
small_pairs = st.tuples(st.integers(1, 6), st.integers(1, 2)).flatmap(
    lambda shape: st.tuples(*[arrays(float, shape, elements=coordinates)] * 2)
)


def exact(solver):
    return ExactTransport(solver, cost=squared_l1)


def draw_groups(n_source, n_target, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, 2)), rng.normal(size=(n_target, 2)) + 1


@every_solver
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
    source, target = draw_groups(50, 35)
    rng = np.random.default_rng(2)
    weights = {"source_weight": rng.integers(0, 5, 50), "target_weight": rng.random(35)} if weighted else {}
    reference = ExactTransport(cost=squared_l1).fit(source, target, **weights)
    model = exact(solver).fit(source, target, **weights)
    assert model.cost_ == pytest.approx(reference.cost_, rel=1e-6)
    given_weight = weights.get("target_weight", np.ones(35))
    np.testing.assert_allclose(model.plan_.sum(axis=0), given_weight / given_weight.sum(), atol=1e-7)


@for_weights
def test_weights_stand_for_repeated_rows(solver):
    source, target = draw_groups(12, 20)
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
    source, target = draw_groups(5, 5)
    model = ExactTransport().fit(source, target)
    for other in (source + 1, source[:3], source[::-1]):
        with pytest.raises(ValueError, match="GANTransport"):
            model.transform(other)


def test_row_without_weight_has_no_counterpart():
    source, target = draw_groups(3, 3)
    with pytest.raises(ValueError, match="row 1 was fitted with weight 0"):
        ExactTransport().fit(source, target, source_weight=[1, 0, 1]).transform(source)


def test_status_of_the_linear_program_counts(monkeypatch):
    monkeypatch.setattr(pulp.LpProblem, "solve", lambda *_: pulp.LpStatusNotSolved)
    with pytest.raises(SolverError, match="'Not Solved'"):
        ExactTransport("lp").fit(*draw_groups(2, 2))


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    def never(*_):
        raise AssertionError("the cost was computed")

    free = psutil.virtual_memory()._replace(available=1_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(MemoryError, match=r"1,000 x 1,000 points needs about .* GiB free; subsample"):
        ExactTransport(cost=never).fit(*draw_groups(1_000, 1_000))


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
    source, target = (pd.DataFrame(values, columns=["x", "y"], index=list("abc")) for values in draw_groups(3, 3))
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
        ExactTransport(**options).fit(*draw_groups(*sizes), **weights)


# cost

PEOPLE = pd.DataFrame(
    {
        "age": [20, 30, 40, 50],  # standard deviation: 11.18
        "job": ["clerk", "cook", "clerk", None],
        "member": [True, False, True, True],
        "income": [1.0, np.nan, 3.0, np.nan],  # standard deviation: 1
    }
)
SD = np.std([20, 30, 40, 50])


def test_sum_of_columns_by_hand():
    cost = ColumnCosts(squared=False)(PEOPLE[:2], PEOPLE[2:])
    expected = [
        [20 / SD + 0 + 0 + 2, 30 / SD + 1 + 0 + 1],
        [10 / SD + 1 + 1 + 1, 20 / SD + 1 + 1 + 0],
    ]
    np.testing.assert_allclose(cost, expected)
    np.testing.assert_allclose(ColumnCosts()(PEOPLE[:2], PEOPLE[2:]), np.square(expected))


def test_kinds_and_weights():
    only_age = {"job": 0, "member": 0, "income": 0}
    squared = ColumnCosts({"age": "squared"}, weights=only_age | {"age": 3}, squared=False)
    np.testing.assert_allclose(squared(PEOPLE[:1], PEOPLE[1:]), 3 * np.square([[10 / SD, 20 / SD, 30 / SD]]))
    codes = ColumnCosts({"age": "mismatch"}, weights=only_age, squared=False)
    np.testing.assert_array_equal(codes(PEOPLE[:1], PEOPLE), [[0, 1, 1, 1]])
    as_codes = ColumnCosts(number="mismatch", weights={"job": 0, "member": 0}, squared=False)
    np.testing.assert_array_equal(as_codes(PEOPLE[:2], PEOPLE), [[0, 2, 2, 2], [2, 0, 2, 1]])


@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_units_do_not_matter(unit):
    X = np.random.default_rng(0).normal(size=(30, 2)) * [unit, 1]
    scaled = X / X.std(axis=0)
    np.testing.assert_allclose(ColumnCosts()(X[:10], X[10:]), squared_l1(scaled[:10], scaled[10:]))


def test_a_constant_column_costs_nothing():
    X = pd.DataFrame({"one": [1.0, 1.0, 1.0], "none": [np.nan] * 3})
    np.testing.assert_array_equal(ColumnCosts()(X[:1], X[1:]), [[0, 0]])


def test_categories_of_two_tables_are_told_apart_by_value():
    source = pd.DataFrame({"job": pd.Categorical(["a", "b"], ["a", "b"])})
    target = pd.DataFrame({"job": pd.Categorical(["b", "a"], ["b", "a"])})
    np.testing.assert_array_equal(ColumnCosts()(source, target), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("cost", "table", "message"),
    [
        (ColumnCosts({"agee": "squared"}), PEOPLE, "columns: no column 'agee'; did you mean 'age'"),
        (ColumnCosts(weights={"pay": 1}), PEOPLE, "weights: no column 'pay'"),
        (ColumnCosts({"job": "absolute"}), PEOPLE, "column 'job': expected numbers"),
        (ColumnCosts(), PEOPLE.assign(age=[1, 2, 3, np.inf]), "column 'age' holds infinite values"),
        (ColumnCosts(), PEOPLE.assign(age=pd.Timestamp("2020-01-01")), "column 'age' holds dates.*age in days"),
        (ColumnCosts(), PEOPLE.assign(age=[1, 2, 3, 1j]), "column 'age' has complex numbers"),
        (
            ColumnCosts(),
            PEOPLE.assign(job=[[1], [2], [3], [4]]),
            "column 'job': expected values that can be told apart",
        ),
        (ColumnCosts({"age": lambda x, y: np.zeros(3)}), PEOPLE, r"columns\['age'\]: returned shape \(3,\)"),
    ],
)
def test_bad_tables(cost, table, message):
    with pytest.raises(ValueError, match=message):
        cost(table, table)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (PEOPLE[:0], PEOPLE, "X_source: is empty"),
        (PEOPLE, PEOPLE[["age", "age"]], "X_target: columns occur twice: age"),
        (PEOPLE, PEOPLE[["age", "job"]], "only in X_source: member, income"),
        (PEOPLE, PEOPLE.assign(age=list("abcd")), "column 'age' has type int64 in X_source and .* in X_target"),
    ],
)
def test_tables_that_do_not_match(source, target, message):
    with pytest.raises(ValueError, match=message):
        check_mixed(source, target)


def test_codes_of_both_columns_together():
    first, second = (pd.Series(values, dtype="string") for values in (["x", None, "y"], ["y", "x", None]))
    x, y = codes_of(first, second)
    assert (x[:, None] == y).tolist() == [[False, True, False], [False, False, True], [True, False, False]]


def test_squared_l1_by_hand():
    cost = squared_l1(np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([[1.0, 2.0], [0.0, 0.0], [1.0, -1.0]]))
    np.testing.assert_array_equal(cost, [[9, 0, 4], [9, 4, 0]])


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (lambda X, Y: np.zeros((len(Y), len(X))), r"shape \(3, 2\), expected \(2, 3\)"),
        (lambda X, Y: 0.0, "shape"),
        (lambda X, Y: np.full((len(X), len(Y)), -0.5), "returned -0.5"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "NaN or infinite"),
        (lambda X, Y: np.array([[0, 1, 2], [0, 1, np.inf]]), "NaN or infinite"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(cost, np.zeros((2, 1)), np.zeros((3, 1)))


def test_a_function_for_one_column():
    steps = ColumnCosts(
        {"job": lambda x, y: np.where(x.isna().to_numpy()[:, None] | y.isna().to_numpy(), 7, 0)},
        weights={"age": 0, "member": 0, "income": 0},
        squared=False,
    )
    np.testing.assert_array_equal(steps(PEOPLE[:2], PEOPLE[2:]), [[0, 7], [0, 7]])


# maps


class Shift(TransportMap):
    """Adds the difference of the means."""

    def fit(self, X_source, X_target):
        source, target = self._samples(X_source, X_target, min_rows=2)
        self.move_ = target.mean(axis=0) - source.mean(axis=0)
        return self

    def _image(self, X):
        return X + self.move_


SOURCE = pd.DataFrame({"a": [0, 2], "b": [1.0, 1.0]}, index=["x", "y"])
TARGET = pd.DataFrame({"a": [5, 5, 5], "b": [0.0, 0.0, 0.0]})


def test_arrays_stay_arrays_unless_told_otherwise_and_frames_frames():
    shift = Shift()
    image = shift.fit_transform(SOURCE.to_numpy(), TARGET.to_numpy())
    np.testing.assert_array_equal(image, [[4, 0], [6, 0]])
    framed = shift.set_output(transform="pandas").transform(SOURCE.to_numpy())
    assert framed.columns.tolist() == ["x0", "x1"]
    image = Shift().fit(SOURCE, TARGET).transform(SOURCE)
    pd.testing.assert_frame_equal(image, pd.DataFrame({"a": [4.0, 6], "b": [0.0, 0]}, index=["x", "y"]))


def test_columns_of_both_samples_and_of_the_fit_must_agree():
    with pytest.raises(ValueError, match="only in X_source: b; only in X_target: c"):
        Shift().fit(SOURCE, TARGET.rename(columns={"b": "c"}))
    fitted = Shift().fit(SOURCE, TARGET)
    assert fitted.n_features_in_ == 2
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(SOURCE[["b", "a"]])
    with pytest.raises(ValueError, match="X: column 'a' has type"):
        fitted.transform(SOURCE.assign(a=["u", "v"]))


# solvers


def uniform(n):
    return np.full(n, 1 / n)


def assignment(columns):
    n = len(columns)
    return sparse.csr_array((uniform(n), (np.arange(n), columns)), shape=(n, n))


def best_cost(cost):
    return cost[linear_sum_assignment(cost)].mean()


@pytest.mark.parametrize("solver", [network_simplex, hungarian])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e-7, 1, 1e12])
def test_the_best_plan_in_any_unit(solver, unit):
    cost = np.random.default_rng(0).random((150, 150)) * unit
    plan, gap = solve_to_optimality(solver, cost, uniform(150), uniform(150))
    assert (plan.toarray() * cost).sum() == pytest.approx(best_cost(cost), rel=1e-9, abs=0)
    assert abs(gap) <= 1e-9 * best_cost(cost)


@pytest.mark.parametrize("solver", [network_simplex, hungarian])
def test_tiny_differences_beside_one_dear_person(solver):
    cost = np.random.default_rng(0).random((200, 200)) * 1e-6
    cost[0] += 1e6
    plain = network_simplex(cost, uniform(200), uniform(200))[0].toarray()
    plan, _ = solve_to_optimality(solver, cost, uniform(200), uniform(200))
    best = cost[linear_sum_assignment(cost)][1:].sum()
    assert (plain * cost)[1:].sum() * 200 > 1.1 * best  # what the network simplex alone would say
    assert (plan.toarray() * cost)[1:].sum() * 200 == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("dear", [1e3, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("share", [0.3, 0.8])
@pytest.mark.parametrize("solver", [network_simplex, hungarian])
def test_forbidden_pairs(solver, share, dear):
    rng = np.random.default_rng(1)
    cost, n = rng.random((60, 60)), 60
    forbidden = rng.random((n, n)) < share
    np.fill_diagonal(forbidden, False)  # so that there is a plan without them
    best = cost[linear_sum_assignment(np.where(forbidden, 2.0 * n, cost))].mean()
    plan, gap = solve_to_optimality(solver, np.where(forbidden, dear, cost), uniform(n), uniform(n))
    assert not plan.multiply(forbidden).sum()
    assert plan.multiply(cost).sum() == pytest.approx(best, rel=1e-6)
    assert gap <= 1e-6 * best


def test_forbidden_pairs_against_all_permutations():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cost = rng.random((6, 6))
        cost[rng.random((6, 6)) < 0.4] = 1e12
        np.fill_diagonal(cost, rng.random(6))
        best = min(cost[range(6), order].mean() for order in permutations(range(6)))
        plan, _ = solve_to_optimality(network_simplex, cost, uniform(6), uniform(6))
        assert plan.multiply(cost).sum() == pytest.approx(best, rel=1e-6)


def test_gap_of_a_plan_by_hand():
    cost, price = np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros(2)
    assert duality_gap(cost, assignment([0, 1]), price) == (0, 0)
    assert duality_gap(cost, assignment([1, 0]), price) == (2, 2)  # dearer by 2 than the best, which costs nothing
    assert duality_gap(cost, assignment([1, 0]), np.array([0.0, 1.0])) == (2, 2)


def test_points_without_weight_prove_nothing():
    cost = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0]])
    weights = uniform(2), np.array([0.5, 0.5, 0])
    plan, gap = solve_to_optimality(network_simplex, cost, *weights)
    assert gap == 0
    np.testing.assert_array_equal(plan.toarray(), [[0.5, 0, 0], [0, 0.5, 0]])


def test_an_open_gap_is_an_error():
    cost = np.array([[0.0, 3.0], [1.0, 0.0]])
    with pytest.raises(SolverError, match=r"dearer than the best by at most .*, found up to .* costs up to 3; bring"):
        solve_to_optimality(lambda *_: (assignment([1, 0]), np.zeros(2)), cost, uniform(2), uniform(2))


def test_a_plan_that_misses_the_weights_is_an_error():
    off = assignment([0, 1]) * (1 + 3 * MARGINAL_TOLERANCE)
    check_marginals(assignment([0, 1]) * (1 + MARGINAL_TOLERANCE / 2), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="expected the source weights to within 1e-07, found 3e-07 off"):
        solve_to_optimality(lambda *_: (off, np.zeros(2)), 1 - np.eye(2), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="expected the target weights"):
        check_marginals(assignment([0, 0]), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="found nan off"):
        check_marginals(assignment([0, 1]), np.array([np.nan, 0.5]), uniform(2))


@pytest.fixture(params=["two normals", "many ties", "the same set"])
def hard_groups(request):
    rng = np.random.default_rng(0)
    if request.param == "many ties":
        return rng.integers(0, 12, (300, 2)).astype(float), rng.integers(4, 16, (180, 2)).astype(float)
    source = rng.normal(size=(300, 3))
    return (source, source) if request.param == "the same set" else (source, rng.normal(size=(180, 3)) + 1)


def test_growing_the_pairs_finds_the_optimum_of_all_pairs(hard_groups, monkeypatch):
    rng = np.random.default_rng(1)
    cost = squared_l1(*hard_groups)
    source_weight, target_weight = (rng.integers(0, 4, n) + 0.0 for n in cost.shape)
    if hard_groups[0] is hard_groups[1]:
        source_weight = target_weight
    weights = source_weight / source_weight.sum(), target_weight / target_weight.sum()
    whole, _ = network_simplex(cost, *weights)
    monkeypatch.setattr(solvers, "DENSE_PAIRS", 400)
    monkeypatch.setattr(solvers, "NEAREST", 3)
    grown, gap = solve_to_optimality(network_simplex, cost, *weights)
    assert (grown * cost).sum() == pytest.approx((whole * cost).sum(), rel=1e-9, abs=1e-12)
    assert abs(gap) <= 1e-9


def test_stopping_early_is_an_error(monkeypatch):
    emd = ot.emd
    monkeypatch.setattr(ot, "emd", lambda *a, **kw: emd(*a, **kw | {"numItermax": 1}))
    monkeypatch.setattr("warnings.warn", lambda *a, **kw: None)
    with pytest.raises(SolverError, match="network simplex: expected an optimum"):
        network_simplex(np.random.default_rng(0).random((50, 50)), uniform(50), uniform(50))


def test_linear_program_by_hand():
    # The first row has three quarters: two go to the cheap column, the rest must cross to the other.
    plan, _ = linear_program(np.array([[0.0, 3.0], [5.0, 1.0]]), np.array([0.75, 0.25]), uniform(2))
    np.testing.assert_allclose(plan.toarray(), [[0.5, 0.25], [0, 0.25]], atol=1e-9)
    with pytest.raises(SolverError, match="expected status 'Optimal', found 'Infeasible'"):
        linear_program(np.zeros((2, 2)), uniform(2), np.array([0.5, 0.6]))


def test_import_loads_no_other_array_library():
    program = """
import os, sys
import sklearn.base  # its threadpoolctl sets variables of its own
before = dict(os.environ)
from fairlab.transport import ExactTransport
assert dict(os.environ) == before
loaded = {"tensorflow", "torch", "jax", "cupy", "keras"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Counted:
    """The network simplex, with a note of the sizes that it was given."""

    def __init__(self):
        self.sizes = []

    def __call__(self, cost, *weights):
        self.sizes.append(cost.shape)
        return network_simplex(cost, *weights)


def counts(n, seed):
    return np.random.default_rng(seed).integers(3, size=(n, 2)).astype(float)


@pytest.mark.parametrize(("n_source", "n_target"), [(120, 120), (120, 75), (40, 111)])
def test_merged_rows_have_the_optimum_of_the_rows_one_by_one(n_source, n_target):
    source, target = counts(n_source, 0), counts(n_target, 1) + 1
    cost, weights, solver = squared_l1(source, target), (uniform(n_source), uniform(n_target)), Counted()
    merged, gap = solve_merged(solver, cost, source, target, *weights)
    whole, _ = solve_to_optimality(network_simplex, cost, *weights)
    assert solver.sizes == [(9, 9)]
    assert abs(gap) <= 1e-12
    assert merged.multiply(cost).sum() == pytest.approx(whole.multiply(cost).sum(), rel=1e-12)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.sum(axis=axis), weight, rtol=1e-9)


def test_between_groups_of_one_size_nobody_is_split():
    source, target = counts(97, 5), counts(97, 6)
    cost = squared_l1(source, target)
    merged, _ = solve_merged(network_simplex, cost, source, target, uniform(97), uniform(97))
    assert merged.nnz == 97
    assert sorted(merged.tocoo().col) == list(range(97))


def test_rows_that_differ_or_cost_differently_are_left_alone():
    source, target = np.random.default_rng(7).normal(size=(2, 30, 2))
    cost, solver = squared_l1(source, target), Counted()
    merged, _ = solve_merged(solver, cost, source, target, uniform(30), uniform(30))
    whole, _ = solve_to_optimality(network_simplex, cost, uniform(30), uniform(30))
    np.testing.assert_array_equal(merged.toarray(), whole.toarray())
    equal = np.zeros((6, 1))
    solve_merged(solver, np.random.default_rng(8).random((6, 6)), equal, equal, uniform(6), uniform(6))
    assert solver.sizes == [(30, 30), (6, 6)]


def test_categories_and_missing_values_are_merged_too():
    table = pd.DataFrame({"job": pd.Categorical(["cook", "clerk", None] * 10), "age": [30.0, np.nan] * 15})
    cost, solver = ColumnCosts()(table, table), Counted()
    merged, _ = solve_merged(solver, cost, table, table, uniform(30), uniform(30))
    assert solver.sizes == [(6, 6)]
    assert merged.multiply(cost).sum() == 0


def test_merged_rows_have_their_weights():
    source, target, rng = counts(60, 2), counts(50, 3), np.random.default_rng(4)
    weights = [rng.integers(0, 4, n).astype(float) for n in (60, 50)]
    weights = [weight / weight.sum() for weight in weights]
    cost = squared_l1(source, target)
    merged, _ = solve_merged(network_simplex, cost, source, target, *weights)
    whole, _ = solve_to_optimality(network_simplex, cost, *weights)
    assert merged.multiply(cost).sum() == pytest.approx(whole.multiply(cost).sum(), rel=1e-9)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.sum(axis=axis), weight, atol=1e-12)
