from itertools import permutations

import numpy as np
import ot
import pandas as pd
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from fairlab.transport import ColumnCosts, ExactTransport, SolverError, solvers, squared_l1
from fairlab.transport.cost import check_mixed, cost_matrix
from fairlab.transport.maps import TransportMap
from fairlab.transport.solvers import MARGINAL_TOLERANCE, Problem, hungarian, linear_program, network_simplex, solve

small_pairs = st.tuples(st.integers(1, 6), st.integers(1, 2)).flatmap(
    lambda shape: st.tuples(*[arrays(float, shape, elements=st.floats(-50, 50, width=16))] * 2)
)


def exact(solver):
    return ExactTransport(solver, cost=squared_l1)


def draw_groups(n_source, n_target, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, 2)), rng.normal(size=(n_target, 2)) + 1


@pytest.mark.parametrize("solver", ["network_simplex", "hungarian", "lp"])
@settings(max_examples=25)
@given(pair=small_pairs)
def test_equals_the_best_permutation(solver, pair):
    source, target = pair
    cost, model = squared_l1(source, target), exact(solver).fit(source, target)
    image = model.transform(source)
    best = min(cost[range(len(source)), order].mean() for order in permutations(range(len(source))))
    of_image = np.square(np.abs(image - source).sum(axis=1)).mean()
    assert (model.cost_, of_image) == pytest.approx((best, best), rel=1e-6, abs=1e-7)
    assert sorted(map(tuple, image)) == sorted(map(tuple, target))


@pytest.mark.parametrize("solver", ["network_simplex", "lp"])
def test_weights_stand_for_repeated_rows(solver):
    (source, target), counts = draw_groups(12, 20), np.arange(1, 13) % 4 + 1
    repeated = exact("network_simplex").fit(np.repeat(source, counts, axis=0), target)
    assert exact(solver).fit(source, target, source_weight=counts).cost_ == pytest.approx(repeated.cost_, rel=1e-6)


def test_sampled_counterparts_follow_the_plan():
    # Two source rows, each split over its two neighbours; a target without weight between.
    source, target = [[0.0], [100.0]], [[1.0], [2.0], [50.0], [101.0], [102.0]]
    model, seeded = (
        ExactTransport(random_state=state).fit(source, target, target_weight=[3, 1, 0, 1, 3])
        for state in (np.random.default_rng(0), 1)
    )
    expected = {"source": [0, 0, 1, 1], "target": [0, 1, 3, 4], "share": [0.75, 0.25, 0.25, 0.75]}
    pd.testing.assert_frame_equal(model.match()[list(expected)], pd.DataFrame(expected), check_dtype=False)
    images = np.array([model.transform(source)[:, 0] for _ in range(2_000)])
    assert np.mean(images == [1, 102], axis=0) == pytest.approx([0.75, 0.75], abs=0.03)
    assert np.isin(images, [[1, 2], [101, 102]]).all()
    np.testing.assert_array_equal(seeded.transform(source), seeded.transform(source))


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    free = psutil.virtual_memory()._replace(available=1_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    never = ExactTransport(cost=lambda *_: pytest.fail("the cost was computed"))
    with pytest.raises(MemoryError, match=r"1,000 x 1,000 points needs about .* GiB free; subsample"):
        never.fit(*draw_groups(1_000, 1_000))


MIXED = pd.DataFrame(
    {"age": [20, 21, 60, 61], "job": ["cook", None, "clerk", "cook"], "member": [True, True, False, False]},
    index=list("abcd"),
)


def test_mixed_columns_and_real_people():
    source, target = MIXED.loc[["a", "c"]], MIXED.loc[["d", "b"]]
    model = ExactTransport().fit(source, target)
    expected = {
        "source": ["a", "c"],
        "target": ["b", "d"],
        "cost": (1 / MIXED["age"].std(ddof=0) + 1) ** 2,
        "share": 1.0,
    }
    pd.testing.assert_frame_equal(model.match()[list(expected)], pd.DataFrame(expected), check_dtype=False)
    pd.testing.assert_frame_equal(model.transform(source), target.loc[["b", "d"]].set_axis(source.index))


def test_weights_by_row_labels():
    groups = [pd.DataFrame(values, columns=["x", "y"], index=list("abc")) for values in draw_groups(3, 3)]
    weight = pd.Series([1, 2, 3], index=list("abc"))
    in_order, shuffled = (ExactTransport().fit(*groups, source_weight=each) for each in (weight, weight[::-1]))
    pd.testing.assert_frame_equal(shuffled.match(), in_order.match())


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
    expected = [
        [20 / SD + 0 + 0 + 2, 30 / SD + 1 + 0 + 1],
        [10 / SD + 1 + 1 + 1, 20 / SD + 1 + 1 + 0],
    ]
    np.testing.assert_allclose(ColumnCosts(squared=False)(PEOPLE[:2], PEOPLE[2:]), expected)
    np.testing.assert_allclose(ColumnCosts()(PEOPLE[:2], PEOPLE[2:]), np.square(expected))


ONLY_AGE = {"job": 0, "member": 0, "income": 0}


@pytest.mark.parametrize(
    ("costs", "source", "target", "expected"),
    [
        (
            ColumnCosts({"age": "squared"}, weights=ONLY_AGE | {"age": 3}, squared=False),
            PEOPLE[:1],
            PEOPLE[1:],
            3 * np.square([[10 / SD, 20 / SD, 30 / SD]]),
        ),
        (ColumnCosts({"age": "mismatch"}, weights=ONLY_AGE, squared=False), PEOPLE[:1], PEOPLE, [[0, 1, 1, 1]]),
        (
            ColumnCosts(number="mismatch", weights={"job": 0, "member": 0}, squared=False),
            PEOPLE[:2],
            PEOPLE,
            [[0, 2, 2, 2], [2, 0, 2, 1]],
        ),
        (
            ColumnCosts(
                {"job": lambda x, y: 7.0 * y.isna().to_numpy() + 0 * x.isna().to_numpy()[:, None]},
                weights={"age": 0, "member": 0, "income": 0},
                squared=False,
            ),
            PEOPLE[:2],
            PEOPLE[2:],
            [[0, 7]] * 2,
        ),
        (  # constants
            ColumnCosts(),
            pd.DataFrame({"one": [1.0], "none": [np.nan]}),
            pd.DataFrame({"one": [1.0, 1.0], "none": [np.nan] * 2}),
            [[0, 0]],
        ),
        (  # categories go by value
            ColumnCosts(),
            pd.DataFrame({"job": pd.Categorical(["a", "b"], ["a", "b"])}),
            pd.DataFrame({"job": pd.Categorical(["b", "a"], ["b", "a"])}),
            [[1, 0], [0, 1]],
        ),
    ],
)
def test_kinds_and_weights(costs, source, target, expected):
    np.testing.assert_allclose(costs(source, target), expected)


def to_itself(cost, **columns):
    """Return the cost of people to themselves, with other columns."""
    return cost(PEOPLE.assign(**columns), PEOPLE.assign(**columns))


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
    source = SOURCE.to_numpy()
    shift, by_name = Shift().fit(source, TARGET.to_numpy()), Shift().fit(SOURCE, TARGET)
    np.testing.assert_array_equal(shift.transform(source), [[4, 0], [6, 0]])
    assert shift.set_output(transform="pandas").transform(source).columns.tolist() == ["x0", "x1"]
    pd.testing.assert_frame_equal(
        by_name.transform(SOURCE), pd.DataFrame({"a": [4.0, 6], "b": [0.0, 0]}, index=["x", "y"])
    )


POINTS, FIVE = (np.zeros((2, 1)), np.zeros((3, 1))), np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # tables that do not match
        (lambda: check_mixed(PEOPLE[:0], PEOPLE), "X_source: is empty"),
        (lambda: check_mixed(PEOPLE, PEOPLE[["age", "age"]]), "X_target: columns occur twice: age"),
        (lambda: check_mixed(PEOPLE, PEOPLE[["age", "job"]]), "only in X_source: member, income"),
        (
            lambda: check_mixed(PEOPLE, PEOPLE.assign(age=list("abcd"))),
            "column 'age' has type int64 in X_source and .* in X_target",
        ),
        # what a solver or a weight does not allow
        (lambda: ExactTransport("hungarian").fit(*draw_groups(3, 2)), "equally many rows, found 3 and 2"),
        (
            lambda: ExactTransport("hungarian").fit(*draw_groups(2, 2), source_weight=[1, 2]),
            "uniform source_weight",
        ),
        (lambda: ExactTransport("lp").fit(*draw_groups(501, 500)), "501 x 500; subsample"),
        # rows that were not fitted or without weight have no counterparts
        *(
            (lambda change=change: ExactTransport().fit(FIVE, FIVE).transform(change(FIVE)), "GANTransport")
            for change in (lambda X: X + 1, lambda X: X[:3], lambda X: X[::-1])
        ),
        (
            lambda: ExactTransport().fit(FIVE, FIVE, source_weight=[1, 0, 1, 1, 1]).transform(FIVE),
            "row 1 was fitted with weight 0",
        ),
        *(
            (lambda weight=weight: ExactTransport().fit(*draw_groups(3, 3), **weight), message)
            for weight, message in (
                ({"source_weight": [1, -1, 1]}, "source_weight: .*row 1 has weight -1"),
                ({"target_weight": [0, 0, 0]}, "target_weight: .*sums to 0"),
                ({"target_weight": [1, 1]}, "target_weight: .*expected 3 values"),
            )
        ),
        # costs
        (
            lambda: cost_matrix(lambda X, Y: np.zeros((len(Y), len(X))), *POINTS),
            r"shape \(3, 2\), expected \(2, 3\)",
        ),
        (lambda: cost_matrix(lambda X, Y: 0.0, *POINTS), "shape"),
        (
            lambda: cost_matrix(lambda X, Y: np.full((len(X), len(Y)), -0.5), *POINTS),
            "returned -0.5",
        ),
        (
            lambda: cost_matrix(lambda X, Y: np.full((len(X), len(Y)), np.nan), *POINTS),
            "NaN or infinite",
        ),
        (
            lambda: cost_matrix(lambda X, Y: np.array([[0, 1, 2], [0, 1, np.inf]]), *POINTS),
            "NaN or infinite",
        ),
        # columns that a cost does not take
        (lambda: to_itself(ColumnCosts({"agee": "squared"})), "columns: no column 'agee'; did you mean 'age'"),
        (lambda: to_itself(ColumnCosts(weights={"pay": 1})), "weights: no column 'pay'"),
        (lambda: to_itself(ColumnCosts({"job": "absolute"})), "column 'job': expected numbers"),
        (lambda: to_itself(ColumnCosts(), age=[1, 2, 3, np.inf]), "column 'age' holds infinite values"),
        (lambda: to_itself(ColumnCosts(), age=pd.Timestamp("2020-01-01")), "column 'age' holds dates.*age in days"),
        (lambda: to_itself(ColumnCosts(), age=[1, 2, 3, 1j]), "column 'age' has complex numbers"),
        (
            lambda: to_itself(ColumnCosts(), job=[[1], [2], [3], [4]]),
            "column 'job': expected values that can be told apart",
        ),
        (
            lambda: to_itself(ColumnCosts({"age": lambda x, y: np.zeros(3)})),
            r"columns\['age'\]: returned shape \(3,\)",
        ),
        # columns of both samples and of the fit
        (lambda: Shift().fit(SOURCE, TARGET.rename(columns={"b": "c"})), "only in X_source: b; only in X_target: c"),
        (lambda: Shift().fit(SOURCE, TARGET).transform(SOURCE[["b", "a"]]), "feature names should match"),
        (lambda: Shift().fit(SOURCE, TARGET).transform(SOURCE.assign(a=["u", "v"])), "X: column 'a' has type"),
    ],
)
def test_tables_weights_costs_and_columns_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# solvers


def uniform(n):
    return np.full(n, 1 / n)


CROSSED = np.array([[0.0, 3.0], [1.0, 0.0]])
both_solvers = pytest.mark.parametrize("solver", [network_simplex, hungarian])


def assignment(columns):
    n = len(columns)
    return sparse.csr_array((uniform(n), (np.arange(n), columns)), shape=(n, n))


def best_cost(cost):
    return cost[linear_sum_assignment(cost)].mean()


def solved(cost, solver=network_simplex):
    """Return the optimal plan between points of equal weight, and its duality gap."""
    return solve(Problem.uniform(cost), solver)


@both_solvers
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e-7, 1, 1e12])
def test_the_best_plan_in_any_unit(solver, unit):
    cost = np.random.default_rng(0).random((150, 150)) * unit
    plan, gap = solved(cost, solver)
    assert plan.multiply(cost).sum() == pytest.approx(best_cost(cost), rel=1e-9, abs=0)
    assert abs(gap) <= 1e-9 * best_cost(cost)


@pytest.mark.parametrize("dear", [1e3, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("share", [0.3, 0.8])
@both_solvers
def test_forbidden_pairs(solver, share, dear):
    rng, n = np.random.default_rng(1), 60
    cost, forbidden = rng.random((n, n)), rng.random((n, n)) < share
    np.fill_diagonal(forbidden, False)  # so that there is a plan without them
    best = best_cost(np.where(forbidden, 2.0 * n, cost))
    plan, gap = solved(np.where(forbidden, dear, cost), solver)
    assert not plan.multiply(forbidden).sum() and plan.multiply(cost).sum() == pytest.approx(best, rel=1e-6)
    assert gap <= 1e-6 * best


@pytest.mark.parametrize(
    ("columns", "prices", "gap"),
    [
        ([0, 1], [0, 0], (0, 0)),
        ([1, 0], [0, 0], (2, 2)),  # dearer by 2 than the best, which costs nothing
        ([1, 0], [0, 1], (2, 2)),
    ],
)
def test_gap_of_a_plan_by_hand(columns, prices, gap):
    assert Problem.uniform(CROSSED).duality_gap(assignment(columns), np.array(prices, dtype=float)) == gap


def test_points_without_weight_prove_nothing():
    cost = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0]])
    plan, gap = solve(Problem(cost, uniform(2), np.array([0.5, 0.5, 0])), network_simplex)
    assert (plan.toarray().tolist(), gap) == ([[0.5, 0, 0], [0, 0.5, 0]], 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: solved(CROSSED, lambda *_: (assignment([1, 0]), np.zeros(2))),
            r"dearer than the best by at most .*, found up to .* costs up to 3; bring",
        ),
        (
            lambda: solved(CROSSED, lambda *_: (assignment([0, 1]) * (1 + 3 * MARGINAL_TOLERANCE), np.zeros(2))),
            "expected the source weights to within 1e-07, found 3e-07 off",
        ),
        (lambda: Problem.uniform(CROSSED).check_marginals(assignment([0, 0])), "expected the target weights"),
        (
            lambda: Problem(CROSSED, np.array([np.nan, 0.5]), uniform(2)).check_marginals(assignment([0, 1])),
            "found nan off",
        ),
        (
            lambda: linear_program(Problem(np.zeros((2, 2)), uniform(2), np.array([0.5, 0.6]))),
            "expected status 'Optimal', found 'Infeasible'",
        ),
    ],
)
def test_what_is_no_optimum_or_misses_the_weights_is_an_error(call, message):
    with pytest.raises(SolverError, match=message):
        call()


HARD_GROUPS = {
    "two normals": lambda rng: (rng.normal(size=(300, 3)), rng.normal(size=(180, 3)) + 1),
    "many ties": lambda rng: (rng.integers(0, 12, (300, 2)) * 1.0, rng.integers(4, 16, (180, 2)) * 1.0),
    "the same set": lambda rng: [rng.normal(size=(300, 3))] * 2,
}


@pytest.mark.parametrize("kind", HARD_GROUPS)
def test_growing_the_pairs_finds_the_optimum_of_all_pairs(kind, monkeypatch):
    rng, cost = np.random.default_rng(1), squared_l1(*HARD_GROUPS[kind](np.random.default_rng(0)))
    weights = [weight / weight.sum() for weight in (rng.integers(0, 4, n) for n in cost.shape)]
    weights = [weights[1]] * 2 if kind == "the same set" else weights
    problem = Problem(cost, *weights)
    whole, _ = network_simplex(problem)
    monkeypatch.setattr(solvers, "DENSE_PAIRS", 400)
    monkeypatch.setattr(solvers, "NEAREST", 3)
    grown, gap = solve(problem, network_simplex)
    assert (grown * cost).sum() == pytest.approx((whole * cost).sum(), rel=1e-9, abs=1e-12)
    assert abs(gap) <= 1e-9


def test_stopping_early_is_an_error(monkeypatch):
    emd = ot.emd
    monkeypatch.setattr(ot, "emd", lambda *a, **kw: emd(*a, **kw | {"numItermax": 1}))
    monkeypatch.setattr("warnings.warn", lambda *a, **kw: None)
    with pytest.raises(SolverError, match="network simplex: expected an optimum"):
        network_simplex(Problem.uniform(np.random.default_rng(0).random((50, 50))))


def test_columns_that_have_numbers_as_names_are_weighted_and_compared_as_asked():
    one, other = pd.DataFrame({0: [0.0, 1], 1: [0.0, 10]}), pd.DataFrame({0: [1.0, 3], 1: [5.0, 0]})
    named = [table.rename(columns=str) for table in (one, other)]
    for options in ({"weights": {"0": 0.0}}, {"columns": {"0": "mismatch"}}):
        np.testing.assert_allclose(ColumnCosts(**options)(one, other), ColumnCosts(**options)(*named))


def test_weights_whose_sum_is_no_number_are_shares():
    X = np.array([[0.0], [1.0]])
    plan = ExactTransport().fit(X, X, source_weight=[1e308, 1e308]).plan_
    np.testing.assert_allclose(np.asarray(plan.todense() if hasattr(plan, "todense") else plan), np.eye(2) / 2)
