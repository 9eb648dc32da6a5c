"""Maps that experiments share: how they are trained, how they fit, which are accepted; and their flips in a figure."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.svm import SVC

from fairlab.fliptest import flipset
from fairlab.papers.fliptest import figures, maps, noise, training
from fairlab.papers.fliptest.merged import MergedTransport, solve_merged
from fairlab.suite.seeds import Trial
from fairlab.transport import ColumnCosts, DivergenceError, ExactTransport, GANTransport, squared_l1
from fairlab.transport.solvers import Problem, network_simplex, solve

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
TARGET = pd.DataFrame(RNG.normal(size=(200, 3)) @ [[1, 0.5, 0], [0, 1, 0.2], [0, 0, 2]] + 3, columns=NAMES)
IMAGE = pd.DataFrame(RNG.normal(size=(200, 3)), columns=NAMES)
TRIALS = [Trial("x/y", k, 0) for k in range(2)]


def test_errors_of_regressions_by_hand():
    target, image = TARGET[["a", "b"]], IMAGE[["a", "b"]]
    plain, crossed = (maps.error_differences(target, image, regression_of=of) for of in (None, {"a": "b"}))
    of_a, of_b = (LinearRegression().fit(target[[x]].to_numpy(), target[y]) for x, y in ("ba", "ab"))
    for found, model in ((plain, of_a), (crossed, of_b)):  # of_b predicts b from a and is used on b for a
        errors = [mean_squared_error(X["a"], model.predict(X[["b"]].to_numpy())) for X in (target, image)]
        assert found["a"] == pytest.approx(errors[1] - errors[0])
    assert crossed["b"] == plain["b"]
    lone = [pd.DataFrame({"a": values}) for values in ([0.0, 2.0], [1.0, 4.0])]
    assert maps.error_differences(*lone)["a"] == pytest.approx(4.5 - 1), "of the mean"


LEFT_OUT = "1 of 3 maps miss their target (KS above 0.2) and are left out"


@pytest.mark.parametrize(
    ("names", "used", "note"),
    [
        (["shifted", "good", "good"], [1, 2], LEFT_OUT),
        (["good"], [0], ""),
        (["shifted", "shifted"], [0, 1], "all 2 maps miss their target (KS above 0.2)"),
        (["good", "shifted", "diverged"], [0], f"1 of 3 maps diverged and are left out; {LEFT_OUT}"),
    ],
)
def test_maps_that_miss_their_target_or_diverged_are_left_out_and_counted(names, used, note):
    people = pd.DataFrame({"a": np.linspace(0, 1, 100)})
    images = {k: people + {"good": 0, "shifted": 1, "diverged": np.nan}[name] for k, name in enumerate(names)}
    found, fits, said = maps.select_maps(images, people, people, beside={"shifted": people + 1})
    assert (list(found), said, list(fits.index)) == (used, note, [*images, "shifted"])
    assert all(found[k] is images[k] for k in used)


def test_images_are_measured_as_whole_numbers_and_kept_as_they_are():
    people = pd.DataFrame({"a": np.arange(10.0)})
    found, fits, _ = maps.select_maps({"near": people + 0.4}, people, people, whole=np.round)
    assert fits.loc["near", "KS a"] == 0
    pd.testing.assert_frame_equal(found["near"], people + 0.4)
    with pytest.raises(DivergenceError, match="expected a map whose training converges, found 2 that diverged"):
        maps.select(pd.Series([np.nan, np.nan]))


def test_a_penalty_with_which_a_map_diverges_has_no_images():
    gan, source = GANTransport(**SMALL), IMAGE * 10
    study = {"gan": gan, "source": source, "target": TARGET, "people": IMAGE, "penalties": [1e-4, 1e38]}
    with pytest.warns(ConvergenceWarning, match="1 of 2 maps"):
        image, missing = training.images_by_penalty(TRIALS[0], **study)
    seed = TRIALS[0].seed("gan by penalty")
    pd.testing.assert_frame_equal(image, gan.set_params(random_state=seed).fit(source, TARGET).transform(IMAGE))
    assert missing.isna().all(axis=None)


SMALL = {"hidden_layers": (8,), "n_steps": 4, "batch_size": 8}


def test_a_map_depends_on_its_trial_and_its_stream_only():
    options = {"source": IMAGE, "target": TARGET, "gan": GANTransport(**SMALL)}

    def images(trials, **own):
        return [training.gan_of(a).transform(IMAGE) for a in training.train_maps(trials, **options | own)]

    first, second = images(TRIALS)
    [alone], [other] = images(TRIALS[1:]), images(TRIALS[1:], stream="other")
    assert [second.equals(image) for image in (alone, first, other)] == [True, False, False]


def test_distances_of_a_subset_by_hand():
    source = pd.DataFrame({"a": [0.0, 10.0], "b": 0.0})
    target = pd.DataFrame({"a": [11.0, 1.0], "b": [2.0, 0.0]})
    found = maps.exact_distances(TRIALS[0], source=source, target=target, n_subset=5)
    assert found == {"mean L1": 2, "mean squared L1": 5}  # moves of 1 and 3


def test_a_model_decides_as_scikit_learn_does():
    X = np.random.default_rng(4).normal(size=(500, 2))
    model = noise.GaussianSVC().fit(X, np.random.default_rng(5).integers(2, size=len(X)))
    others = np.random.default_rng(6).normal(size=(450, 2))
    decided = model.predict(others)
    np.testing.assert_array_equal(decided, SVC.predict(model, others))
    assert 50 < decided.sum() < 400


def test_marginals_count_everyone_and_both_flipsets():
    people = pd.DataFrame({"work": RNG.normal(size=60), "sex": np.repeat([0, 1], 30)})
    flip = flipset(lambda table: table["work"] > 0, people, people.assign(work=-people["work"]))
    counts = figures.marginal_counts(people, flip)
    totals = counts.groupby("feature", sort=False)[["everyone", "F+", "F−"]].sum()
    assert totals.to_numpy().tolist() == [[60, flip.n_positive, flip.n_negative]] * 2
    assert counts.loc[counts["feature"] == "sex", ["low", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [0.5, 1.5]]
    work = counts[counts["feature"] == "work"]
    assert work.loc[work["F+"] > 0, "low"].min() > -0.2 > work.loc[work["F−"] > 0, "high"].max() - 0.4
    ages = pd.DataFrame({"age": [20, 20, 10, 40]})
    bands = {10: "under 20", 20: "20–29", 30: "30–39", 40: "40–49"}
    counts = figures.marginal_counts(ages, flipset(lambda table: [1] * 4, ages, ages), bands={"age": bands})
    assert counts.set_index("band")["everyone"].to_dict() == {"under 20": 1, "20–29": 2, "30–39": 0, "40–49": 1}


def test_costs_by_hand():
    assert {name: cost(np.zeros((1, 2)), np.array([[3.0, 4.0]])).item() for name, cost in maps.COSTS.items()} == {
        "squared L1": 49,
        "L1": 7,
        "squared Euclidean": 25,
        "Euclidean": 5,
    }


def test_flipsets_by_cost_by_hand():
    # One feature: every convex cost keeps the order, so 0 -> 1 and 2 -> 3; the cut at 1.5 flips nobody, at 0.5 one.
    source, target = pd.DataFrame({"x": [0.0, 2.0]}), pd.DataFrame({"x": [3.0, 1.0]})
    table = maps.flipsets_by_cost(lambda X: (X["x"] > 0.5).astype(int), source, target, costs=maps.COSTS)
    expected = {"F+": 0, "F−": 1, "mean L1": 1, "Jaccard F−": 1, "Jaccard F+": np.nan}
    pd.testing.assert_frame_equal(table[list(expected)], pd.DataFrame(expected, table.index), check_dtype=False)


# equal rows as one


def counts(n, seed):
    return np.random.default_rng(seed).integers(3, size=(n, 2)).astype(float)


def merged_and_whole(cost, source, target, *weights):
    """Return the plans of merged rows and of rows one by one, and the size of what was solved for the first."""
    problem = Problem(cost, *weights) if weights else Problem.uniform(cost)
    solver = mock.Mock(side_effect=network_simplex)
    merged, gap = solve_merged(problem, source, target, solver)
    whole, _ = solve(problem, network_simplex)
    assert abs(gap) <= 1e-12
    for axis, weight in ((1, problem.source_weight), (0, problem.target_weight)):
        np.testing.assert_allclose(merged.sum(axis=axis), weight, rtol=1e-9, atol=1e-12)
    return merged, whole, solver.call_args.args[0].cost.shape


@pytest.mark.parametrize(("n_source", "n_target"), [(120, 120), (120, 75), (40, 111)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_merged_rows_have_the_optimum_of_the_rows_one_by_one(n_source, n_target, is_weighted):
    source, target, rng = counts(n_source, 0), counts(n_target, 1) + 1, np.random.default_rng(4)
    cost = squared_l1(source, target)
    weights = [weight / weight.sum() for weight in (rng.integers(0, 4, n) for n in cost.shape)] * is_weighted
    merged, whole, size = merged_and_whole(cost, source, target, *weights)
    assert size == (9, 9) and merged.multiply(cost).sum() == pytest.approx(whole.multiply(cost).sum(), rel=1e-9)


def test_between_groups_of_one_size_nobody_is_split():
    source, target = counts(97, 5), counts(97, 6)
    merged, *_ = merged_and_whole(squared_l1(source, target), source, target)
    assert (merged.nnz, sorted(merged.tocoo().col)) == (97, list(range(97)))


def test_rows_that_differ_or_cost_differently_are_left_alone():
    source, target = np.random.default_rng(7).normal(size=(2, 30, 2))
    merged, whole, size = merged_and_whole(squared_l1(source, target), source, target)
    np.testing.assert_array_equal(merged.toarray(), whole.toarray())
    equal = np.zeros((6, 1))
    assert (size, merged_and_whole(np.random.default_rng(8).random((6, 6)), equal, equal)[2]) == ((30, 30), (6, 6))


def test_categories_and_missing_values_are_merged_too():
    table = pd.DataFrame({"job": pd.Categorical(["cook", "clerk", None] * 10), "age": [30.0, np.nan] * 15})
    merged, _, size = merged_and_whole(ColumnCosts()(table, table), table, table)
    assert (size, merged.multiply(ColumnCosts()(table, table)).sum()) == ((6, 6), 0)


def test_the_merged_map_has_the_images_of_the_plan_of_all_rows():
    source, target = counts(60, 2), counts(60, 3) + 1
    merged, exact = (kind(cost=squared_l1).fit(source, target) for kind in (MergedTransport, ExactTransport))
    assert merged.cost_ == pytest.approx(exact.cost_, rel=1e-9)
    assert sorted(map(tuple, merged.transform(source))) == sorted(map(tuple, target))
