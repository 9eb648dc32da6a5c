"""Splits as the authors draw them, training, and audits of the models that they stored."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from fairlearn.metrics import equalized_odds_difference
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairlab import load
from fairlab.benchmarks.individual_fairness import dense_attack
from fairlab.data.variants.individual_simulation import draw
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.individual_fairness import audit
from fairlab.networks import forward, initial_network
from fairlab.papers.individual_fairness import sensr, splits, stored
from fairlab.papers.individual_fairness.learners import (
    METHODS,
    PUBLISHED_METRIC,
    BalancedMLP,
    EqualizedOddsMixture,
    ProjectedMLP,
    SenSR,
    balanced_batches,
    classifiers,
    methods_of,
    train,
)
from fairlab.papers.individual_fairness.measures import average_odds_difference, group_fairness
from fairlab.papers.individual_fairness.simulation import fitted_intercepts
from fairlab.papers.training import BETA_1, BETA_2
from fairlab.suite import trials
from fairlab.suite.seeds import Trial

TRAINED = {"network_steps": 200, "sensr_steps": 20, "reductions_iterations": 2}


@pytest.fixture(scope="module")
def compas():
    return load("compas-individual", surrogate=True)


@pytest.fixture(scope="module")
def split(compas):
    return splits.compas_split(compas, splits.COMPAS_SEEDS[0][0])


@pytest.fixture(scope="module")
def models(compas):
    """What `train` returns for the first split of COMPAS."""
    return train(Trial("study", 0), study="compas", dataset=compas, **TRAINED)


def test_the_split_of_adult():
    adult = load("adult-individual")
    split = splits.adult_split(adult, 98539)
    assert (split.X_train.shape, split.X_test.shape) == ((36177, 39), (9045, 39))
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    one_hot = list(split.X_train)[5:]
    groups = {"workclass": 7, "marital-status": 7, "occupation": 14, "relationship": 6}
    assert [name.split("_")[0] for name in one_hot] == [group for group, n in groups.items() for _ in range(n)]
    assert one_hot == sorted(one_hot, key=lambda name: (list(groups).index(name.split("_")[0]), name))
    np.testing.assert_allclose(split.X_train[numbers].agg(["mean", "var"]), [[0] * 5, [1] * 5], atol=1e-4)
    assert (split.X_test[one_hot].sum(axis=1) == 4).all()
    order = np.random.RandomState(98539).permutation(45222)
    assert [*split.y_train, *split.y_test] == (adult.target == ">50K").to_numpy().astype(int)[order].tolist()


def test_the_split_of_compas(split):
    assert (split.X_train.shape, split.X_test.shape) == ((4222, 7), (1056, 7))
    ages = ["age_cat_25 - 45", "age_cat_Greater than 45", "age_cat_Less than 25"]
    assert list(split.X_train) == ["sex", "race", "priors_count", *ages, "c_charge_degree_F"]
    pd.testing.assert_frame_equal(split.X_test[["sex", "race"]], split.sensitive_test, check_dtype=False)
    assert abs(split.y_train.mean() - split.y_test.mean()) < 1e-3
    assert split.X_train["priors_count"].std(ddof=0) == pytest.approx(1)


def test_one_class_in_a_part_is_refused():
    table, both, one = pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([0, 1]), pd.Series([1, 1])
    with pytest.raises(ValueError, match="the test part has one class only: every label is 1"):
        splits.Split(table, table, both, one, table, table)


def test_odds_by_hand():
    group, truth = [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 0, 0]
    predicted = [1, 0, 0, 0, 1, 1, 1, 0]  # true positive rates 1/2 and 1, false positive rates 0 and 1/2
    assert average_odds_difference(truth, predicted, sensitive_features=group) == pytest.approx(-0.5)


def test_training_takes_the_authors_seeds(compas, split, models):
    assert tuple(models) == METHODS
    network = methods_of("compas", splits.COMPAS_SEEDS[0][1], **TRAINED)["baseline"]
    expected = network.fit(split.X_train, split.y_train).network_
    np.testing.assert_array_equal(models["baseline"]["network_"][0], expected[0])


def test_the_root_of_the_run_changes_the_networks(compas):
    effort = {"study": "compas", "dataset": compas, "network_steps": 5, "sensr_steps": 3, "reductions_iterations": 1}
    first, other = (train(Trial("study", 1, root=root), **effort) for root in (0, 1))
    networks = [name for name in first if name != "reduction"]
    assert not any(np.array_equal(first[name]["network_"][0], other[name]["network_"][0]) for name in networks)


def test_without_the_files_nothing_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    found = stored.stored_study("adult")
    assert (found.models, len(found.output)) == ([], 0)


# Our audits of the stored models are held to the lines of the authors' output, where both are available: of two splits,
# since the means of all ten are in the scorecard.


@pytest.fixture(scope="module")
def files():
    """Models and output of both studies, by study."""
    found = {study: stored.stored_study(study) for study in splits.SEEDS}
    if not all(one.models and len(one.output) for one in found.values()):
        pytest.skip("the authors' stored files are not in the cache or the mirror folder")
    return found


def settings(regularizer, step_size, n_steps=200):
    return {"regularizer": regularizer, "step_size": step_size, "n_steps": n_steps}


@pytest.mark.parametrize(
    ("study", "k", "method", "algo", "attack", "n_points", "tolerance"),
    [
        # the row published as Project
        *(("adult", k, "baseline", "baseline_bal", settings(50.0, 0.01), None, 2e-3) for k in (0, 9)),
        *(("adult", k, "sensr", "sensr", settings(50.0, 0.01), None, 1e-6) for k in (0, 9)),
        ("adult", 0, "reduction", "reduction", settings(35.0, 0.01, 500), None, 1e-2),
        ("adult", 9, "reduction", "reduction", settings(50.0, 0.01, 500), 2400, 1e-2),
        *(("compas", k, name, name, settings(100.0, 0.005), 1000, 1e-5) for name in METHODS for k in (0, 9)),
    ],
)
def test_a_stored_model_is_audited_as_by_the_authors(files, study, k, method, algo, attack, n_points, tolerance):
    models, output, _ = files[study]
    split = splits.DIVIDE[study](load(f"{study}-individual"), splits.SEEDS[study][k][0])
    model = classifiers({method: models[k][method]})[method]
    of_both = (output["algo"] == algo) & (output["step_size"] == attack["step_size"])
    printed = output[of_both].set_index("split").loc[k]
    metric = FairMetric.learned(split.X_test, split.sensitive_test, **PUBLISHED_METRIC)
    about = split.X_test[:n_points], split.y_test[:n_points]
    found = audit(model, metric, *about, **attack, variant="published").loss_ratio
    assert (found.rejected, found.lower_bound) == (printed["reject_prop"], pytest.approx(printed["t_n"], abs=tolerance))
    measures = group_fairness(model, split.X_test, split.y_test, split.sensitive_test)
    assert measures == pytest.approx(printed[list(measures)].to_dict(), abs=1e-9)


def test_what_cannot_be_read_is_skipped_and_counted():
    fields = dict.fromkeys(stored.OUTPUT_COLUMNS, 0.5)
    lines = [
        fields | {"algo": "sensr", "seed": 20, "pval": 0.04},
        fields | {"algo": "x", "seed": (10, 3), "pval": 0.05},
    ]
    rows, n_unreadable = stored.read_output(f"{lines[0]}\n5}}\n7\n{lines[1]}\n{{'algo': \n", [10, 20])
    assert n_unreadable == 3
    columns = ["algo", "split", "reject_prop", "t_n"]
    assert rows[columns].to_numpy().tolist() == [["sensr", 1, 1.0, 0.5], ["x", 0, 0.0, 0.5]]


# learners

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.7).astype(np.int32)
SENSITIVE = (X[:, [1]] + 0.3 * RNG.normal(size=(600, 1)) > 0).astype(int)
SMALL = {"n_hidden": 8, "learning_rate": 0.01, "n_steps": 300, "batch_size": 40}


@pytest.mark.parametrize("kind", [BalancedMLP, ProjectedMLP, SenSR, EqualizedOddsMixture])
def test_what_was_learned_comes_apart_and_together(kind, tmp_path):
    options = {"max_iter": 3} if kind is EqualizedOddsMixture else {"n_hidden": 4, "n_steps": 3, "batch_size": 8}
    groups = {} if kind is BalancedMLP else {"sensitive_features": SENSITIVE}
    model = kind(**options).fit(X, Y, **groups)
    trials.write(tmp_path / "model.trial", model.fitted(), 0)
    again = kind().with_fitted(trials.read(tmp_path / "model.trial")[0])
    for points in (X, X.astype(float)):
        np.testing.assert_array_equal(again.log_odds(points), model.log_odds(points))
        np.testing.assert_array_equal(again.loss_gradient(points, Y), model.loss_gradient(points, Y))


def test_a_network_learns_with_balance_and_by_its_seed():
    model, same, other = (BalancedMLP(**SMALL, random_state=k).fit(X, Y) for k in (0, 0, 1))
    assert min((model.predict(X) == Y)[label == Y].mean() for label in (0, 1)) > 0.93
    assert [np.array_equal(model.network_[0], one.network_[0]) for one in (same, other)] == [True, False]
    probability = tf.nn.softmax(forward(model.network_, X)).numpy()
    np.testing.assert_allclose(model.log_odds(X), np.log(probability[:, 1] / probability[:, 0]), atol=1e-3)
    y = np.repeat([0, 1], [90, 10])
    batches = balanced_batches(np.random.default_rng(0), y, 200, 8)
    assert (set(y[batches].sum(axis=1)), set(batches.ravel())) == ({4}, set(range(100)))


def test_project_is_the_plain_network_on_projected_features_and_blind_to_the_subspace():
    blind = ProjectedMLP(**SMALL).fit(X, Y, sensitive_features=SENSITIVE)
    projection = FairMetric.learned(X, SENSITIVE, **PUBLISHED_METRIC).projection
    plain = BalancedMLP(**SMALL).fit(X @ projection.astype(np.float32), Y)
    np.testing.assert_allclose(blind.predict_proba(X), plain.predict_proba(X @ projection), atol=1e-4)
    moved = X + 2 * sensitive_directions(X, SENSITIVE, **PUBLISHED_METRIC)
    np.testing.assert_allclose(blind.predict_proba(moved), blind.predict_proba(X), atol=1e-4)
    seeing = BalancedMLP(**SMALL).fit(X, Y)
    assert np.abs(seeing.predict_proba(moved) - seeing.predict_proba(X)).max() > 0.5


def test_reductions_bring_odds_nearer_and_are_a_soft_vote(rng):
    group = rng.integers(0, 2, 1500)
    points = rng.normal(size=(1500, 2)) + np.outer(group, [1, 0])
    y = (points.sum(axis=1) + rng.logistic(size=1500) > 1).astype(int)
    model = EqualizedOddsMixture(eps=0.02, max_iter=20).fit(points, y, sensitive_features=group)
    plain = LogisticRegression(class_weight="balanced").fit(points, y).predict(points)
    before, after = (equalized_odds_difference(y, p, sensitive_features=group) for p in (plain, model.predict(points)))
    assert (after < before / 2, len(model.weight_) > 1) == (True, True)
    probability = expit(points @ model.coef_.T + model.intercept_) @ model.weight_
    np.testing.assert_allclose(model.predict_proba(points)[:, 1], probability)


def test_sensr_learns_to_withstand_moves_in_the_subspace():
    small = SMALL | {"n_hidden": 16, "batch_size": 100}
    robust = SenSR(**small, subspace_rate=0.5, full_steps=3).fit(X, Y, sensitive_features=SENSITIVE)
    plain = BalancedMLP(**small).fit(X, Y)
    moved = X + 0.5 * sensitive_directions(X, SENSITIVE, scaled=False, confidence_level=None)
    changes = [np.abs(m.predict_proba(moved) - m.predict_proba(X))[:, 1].mean() for m in (robust, plain)]
    assert changes[0] < changes[1] / 2
    assert (robust.predict(X) == Y).mean() > 0.65


DIRECTIONS = RNG.normal(size=(2, 4))
SETTINGS = SenSR(subspace_steps=5, full_steps=7, subspace_rate=0.1, learning_rate=1e-3)


# Moves of 1e-4 let hardly a unit change sides, those of 0.05 nearly all; the last attack overshoots and is refused.
@pytest.mark.parametrize(
    ("settings", "directions"),
    [
        (SETTINGS, DIRECTIONS),
        (replace(SETTINGS, full_rate=0.05), DIRECTIONS),
        (replace(SETTINGS, subspace_rate=10.0, full_steps=20, full_rate=0.01), 3 * DIRECTIONS[:1]),
        (replace(SETTINGS, subspace_steps=0, full_rate=5.0, penalty=10.0), np.vstack([DIRECTIONS, DIRECTIONS[0]])),
    ],
)
def test_compiled_attacks_train_the_network_of_the_dense_ones(settings, directions, monkeypatch):
    rng = np.random.default_rng(3)
    start = initial_network(rng, (4, 6, 2), bias=0.1)
    batches = balanced_batches(rng, Y, 40, 150)
    ours, penalty, skipped = sensr.train(X, Y, start, batches, directions, settings)
    monkeypatch.setattr(sensr, "compiled_attack", dense_attack)
    dense, dense_penalty, dense_skipped = sensr.train(X, Y, start, batches, directions, settings)
    assert skipped == dense_skipped and penalty == pytest.approx(dense_penalty, rel=1e-2)
    for part, expected, before in zip(ours, dense, start, strict=True):
        assert np.linalg.norm(part - expected) < 0.02 * np.linalg.norm(expected - before)


@pytest.mark.parametrize(
    ("reached", "penalty"), [(0.004, 2 + 4 * 0.003), (0.0005, 2 - 2 * 0.0005), (0.0, 1e-5), (1.0, 10)]
)
def test_penalty_steers_to_the_target(reached, penalty):
    assert sensr.moved_penalty(2.0, reached, 0.001) == pytest.approx(penalty)


@pytest.mark.parametrize("kind", range(20))
def test_no_gradients_take_adam_farther_than_is_said(kind):
    mean = square = moved = 0.0
    gradients = np.abs(np.random.default_rng(kind).normal(size=50)) * np.geomspace(1, 10.0 ** (kind - 10), 50)
    for rate, gradient in zip(sensr.adam_rates(1.0, 50), gradients, strict=True):
        mean = BETA_1 * mean + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * gradient**2
        moved += rate * mean / np.sqrt(square)
    assert moved <= sensr.longest_move(50)


@pytest.mark.parametrize("coef", [[-4.0, 2.0], [0.0, 0.0], [1.2, 3.6]])
def test_intercepts_minimise_the_loss(coef):
    table = draw(200, seed=2)
    X, y = table[["x1", "x2"]].to_numpy(), table["label"].to_numpy()
    [intercept] = fitted_intercepts(np.array([coef]), X, y)
    best = minimize_scalar(lambda b: np.logaddexp(0, -(2 * y - 1) * (X @ coef + b)).sum(), tol=1e-10)
    assert intercept == pytest.approx(best.x, abs=1e-5)
