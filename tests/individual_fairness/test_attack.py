from operator import attrgetter
from types import SimpleNamespace

import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import wrightomega

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import StepSizeWarning, attack, gradient_flow_attack
from fairlab.models import KerasClassifier, LinearClassifier
from fairlab.networks import forward, initial_network
from fairlab.papers.individual_fairness.learners import EqualizedOddsMixture
from fairlab.papers.individual_fairness.units import FollowedLinear, HiddenUnits, OfUnits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
Y = np.arange(12) % 2
METRIC = FairMetric.from_directions([[1.0, 0.5, 0.0]])
LINEAR = LinearClassifier([1.0, -0.4, 0.3], 0.2)
VOTE = EqualizedOddsMixture().with_fitted(
    {"coef_": RNG.normal(size=(4, 3)), "intercept_": RNG.normal(size=4), "weight_": np.array([0.1, 0.2, 0.0, 0.7])}
)


def keras_model(activation, n_out):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(n_out, activation)])
    return KerasClassifier(model, from_logits=activation is None)


MODELS = {
    "linear": lambda: LINEAR,
    "vote": lambda: VOTE,
    "softmax": lambda: keras_model("softmax", 2),
    "sigmoid": lambda: keras_model("sigmoid", 1),
    "logits": lambda: keras_model(None, 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_agree_with_finite_differences(name):
    model, (dtype, h) = MODELS[name](), ("float64", 1e-5) if name in ("linear", "vote") else ("float32", 1e-2)
    points, steps = X.astype(dtype), h * np.eye(3, dtype=dtype)
    numeric = [(model.loss(points + step, Y) - model.loss(points - step, Y)) / (2 * h) for step in steps]
    np.testing.assert_allclose(model.loss_gradient(points, Y).T, numeric, atol=1e-8 if h < 1e-3 else 1e-3)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_linear_model_against_its_closed_form(seed):
    rng = np.random.default_rng(seed)
    w, b, sign = rng.normal(size=3), rng.normal(), 2 * Y - 1
    margin, speed, metric = sign * (X @ w + b), w @ w, FairMetric.from_directions([w])
    # s * logit after the flow along w inside the sensitive subspace for one unit of time: du/dt = -|w|² / (1 + e^u).
    c, errors = margin + np.exp(margin) - speed, []
    for n_steps in (200, 400):
        attack = gradient_flow_attack(
            LinearClassifier(w, b), metric, X, Y, regularizer=5, step_size=1 / n_steps, n_steps=n_steps, dtype="float64"
        )
        errors.append(np.abs(sign * (attack.X @ w + b) - (c - wrightomega(c))).max())
        np.testing.assert_allclose(metric.squared_distance(attack.X, X), 0, atol=1e-12)
    assert errors[0] < 0.02 * speed**2 + 1e-9
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.1, abs=1e-9)  # theorem 2.2: of the order of the step


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MODELS)
def test_the_objective_never_falls_along_small_steps(name):
    attack = gradient_flow_attack(
        MODELS[name](), METRIC, X, Y, regularizer=5, step_size=0.01, n_steps=300, trajectory=True
    )
    losses = attack.loss_trajectory
    assert losses.shape == (301, 12)
    np.testing.assert_array_equal(losses[[0, -1]], [attack.loss, attack.attacked_loss])
    assert np.diff(losses, axis=0).min() > -1e-5
    assert (attack.attacked_loss >= attack.loss + 5 * attack.squared_distance - 1e-5).all()  # equation 3.1


STEEP = {"regularizer": 50, "step_size": 0.05, "n_steps": 40, "trajectory": True}


def test_too_large_steps_are_reported():
    with pytest.warns(StepSizeWarning, match="overshot at 12 of 12 points"):
        attack = gradient_flow_attack(LinearClassifier([0, 0, 3.0], 0.0), METRIC, X, Y, variant="published", **STEEP)
    assert attack.diverged.all()


@pytest.mark.filterwarnings("error")
def test_steps_that_overshoot_are_halved():
    again, fine = (
        gradient_flow_attack(LinearClassifier([0, 0, 3.0], 0.0), METRIC, X, Y, **STEEP | steps)
        for steps in ({}, {"step_size": 0.025, "n_steps": 80})
    )
    assert not again.diverged.any() and again.stopping_time == pytest.approx(fine.stopping_time)
    parts = attrgetter("X", "attacked_loss", "squared_distance")
    np.testing.assert_equal([*parts(again), again.loss_trajectory], [*parts(fine), fine.loss_trajectory[::2]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rounded_losses_that_are_infinite():
    sure = LinearClassifier([1e6, 0.0, 0.0], 0.0, rounded_loss=True)
    options, wrong = {"regularizer": 1, "step_size": 1e-9, "n_steps": 2}, (X[:, 0] > 0) != Y
    attack = gradient_flow_attack(sure, METRIC, X, Y, variant="published", **options)
    np.testing.assert_array_equal(attack.loss, np.where(wrong, np.inf, 0))
    with pytest.raises(ValueError, match=f"its loss is not finite at {wrong.sum()} of 12 points"):
        gradient_flow_attack(sure, METRIC, X, Y, **options)


CALL = {"model": LINEAR, "metric": METRIC, "X": X, "y": Y, "regularizer": 1.0, "step_size": 0.1, "n_steps": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": Y + 1}, "y: expected 0 and 1, or booleans, found 2"),
        ({"y": Y[:5]}, r"one label for each of 12 points, found shape \(5,\)"),
        ({"X": np.where(X > 1, np.nan, X)}, "X: column"),
        ({"X": np.full((2, 12, 3), np.inf)}, "72 values are missing or infinite"),
        ({"metric": FairMetric.from_directions([[1.0, 0.0]])}, "metric is over 2 features, X has 3"),
        (
            {"X": pd.DataFrame(X), "y": pd.Series(Y, index=np.arange(12) + 1)},
            "y: has the row label .*12.*, which the table has not",
        ),
        (
            {
                "metric": FairMetric.from_directions([[1.0, 0.5, 0.0]], feature_names=["a", "b", "c"]),
                "X": pd.DataFrame(X, columns=list("acb")),
            },
            "X and metric differ in columns",
        ),
        ({"dtype": "float16"}, "dtype: expected one of float32, float64"),
        (
            {"model": SimpleNamespace(classes_=[1, 2], loss=print, loss_gradient=print, predict=print)},
            r"model: its classes are \[1, 2\], expected 0 and 1",
        ),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        gradient_flow_attack(**CALL | changes)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            lambda labels: labels + 0.25,
            "predict: expected 0 and 1, .*, no probabilities or other labels, found [01].25",
        ),
        (lambda labels: np.where(labels == 1, "yes", "no"), "predict: .* found .(yes|no)"),
        (lambda labels: 2 * labels - 1, "predict: .* found -1"),
        (lambda labels: np.stack([1 - labels, labels], axis=1), r"predict returned shape \(12, 2\)"),
    ],
)
def test_predictions_that_are_no_labels_are_refused(answers, message, monkeypatch):
    predict = LinearClassifier.predict
    monkeypatch.setattr(LinearClassifier, "predict", lambda model, X: answers(predict(model, X)))
    with pytest.raises(ValueError, match=message):
        gradient_flow_attack(**CALL)


def test_columns_are_those_of_the_models_fit():
    model = LinearClassifier([1.0, 2.0, 3.0], 0.0)
    model.feature_names_in_ = np.array(["a", "b", "c"])
    frame = pd.DataFrame(X, columns=list("abc"))
    gradient_flow_attack(**CALL | {"model": model, "X": frame})
    with pytest.raises(ValueError, match="X and the model's fit differ in columns: their order differs"):
        gradient_flow_attack(**CALL | {"model": model, "X": frame[["b", "a", "c"]]})


class Strict(LinearClassifier):
    """A model that takes finite numbers only."""

    def predict(self, X):
        assert np.isfinite(X).all()
        return super().predict(X)


def test_points_that_leave_the_finite_numbers_are_reported_and_count_as_negative():
    far = CALL | {"model": Strict([0.0, 0.0, 3.0], 1.0), "regularizer": 1e30, "step_size": 1e20, "n_steps": 5}
    with pytest.warns(StepSizeWarning):
        attack, left = (gradient_flow_attack(**far, variant=variant) for variant in ("published", "sound"))
    lost = ~np.isfinite(attack.X).all(axis=1)
    assert lost.any() and left.diverged.all()
    np.testing.assert_array_equal(attack.attacked_wrong[lost], Y[lost] == 1)
    np.testing.assert_array_equal(left.X, X.astype("float32"))
    np.testing.assert_array_equal(left.attacked_wrong, left.wrong)


# flow

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 4))
DIRECTIONS = RNG.normal(size=(2, 4))
METRICS = {
    "plain": FairMetric.from_directions(DIRECTIONS),
    "units": FairMetric.from_directions(DIRECTIONS, scale=[1, 3, 0.5, 2]),
}
NETWORK = [part.astype(float) for part in initial_network(RNG, (4, 9, 2), bias=0.1)]
NETWORK[2] *= 8  # steep enough that units change sides on the way


def vote(*parts):
    return EqualizedOddsMixture().with_fitted(
        {name: np.array(part) for name, part in zip(("coef_", "intercept_", "weight_"), parts, strict=True)}
    )


class Net(OfUnits):
    def log_odds(self, POINTS):
        return forward(NETWORK, POINTS) @ np.array([-1.0, 1.0])

    @property
    def units(self):
        kernel, bias, output, output_bias = NETWORK
        return HiddenUnits(kernel, bias, output[:, 1] - output[:, 0], output_bias[1] - output_bias[0])


SEVERAL = {
    "network": Net(),
    "linear": LinearClassifier([1.0, -2.0, 0.5, 0.0], 0.3),
    "followed": FollowedLinear([1.0, -2.0, 0.5, 0.0], 0.3),
    "votes": vote(3 * RNG.normal(size=(3, 4)), [0.5, 0.0, -1.0], [0.2, 0.3, 0.5]),
}


def euler(model, metric, sizes, regularizer):
    """Attack step by step by the plain loop, and return points and losses on the way."""
    X, losses = attack.euler(model, metric, POINTS, Y, sizes, regularizer=regularizer, trajectory=True)
    return X, np.concatenate([losses, model.loss(X, Y)[None]])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(("schedule", "regularizer"), [("constant", 4.0), ("decaying", 1.0)])
def test_following_units_is_eulers_scheme(name, metric, schedule, regularizer):
    model, metric = SEVERAL[name], METRICS[metric]
    found = gradient_flow_attack(
        model,
        metric,
        POINTS,
        Y,
        trajectory=True,
        variant="published",
        step_size=0.05,
        n_steps=80,
        schedule=schedule,
        regularizer=regularizer,
        dtype="float64",
    )
    sizes = 0.05 / np.arange(1, 81) ** (2 / 3 if schedule == "decaying" else 0)
    image, losses = euler(model, metric, sizes, regularizer)
    np.testing.assert_allclose(found.X, image, atol=1e-9)
    np.testing.assert_allclose(found.loss_trajectory, losses, rtol=1e-8)
    assert found.stopping_time == pytest.approx(sizes.sum())
    if name == "network":
        kernel, bias = NETWORK[:2]
        assert ((POINTS @ kernel + bias > 0) != (image @ kernel + bias > 0)).sum() > 5


@pytest.mark.parametrize("sure", [-400.0, 900.0])
def test_models_that_are_sure_move_no_one_or_everyone(sure):
    model, metric = vote(np.eye(4)[:2], [sure, 2 * sure], [0.5, 0.5]), METRICS["plain"]
    options = {"step_size": 0.05, "n_steps": 3, "regularizer": 4.0, "dtype": "float64"}
    found, wrong = gradient_flow_attack(model, metric, POINTS, Y, **options), (Y == 1) != (sure > 0)
    assert (found.X[~wrong] == POINTS[~wrong]).all()
    np.testing.assert_allclose(found.X, euler(model, metric, [0.05] * 3, 4.0)[0], atol=1e-9)
    assert (found.attacked_loss[wrong] > found.loss[wrong]).all()


@pytest.mark.parametrize("kind", [LinearClassifier, FollowedLinear])
def test_each_of_several_models_has_its_own_points(kind):
    def attacked(coef, intercept, points):
        return gradient_flow_attack(
            kind(coef, intercept), METRICS["units"], points, Y, regularizer=2.0, step_size=0.1, n_steps=20
        ).X

    several = RNG.normal(size=(3, 4)), RNG.normal(size=3), RNG.normal(size=(3, 12, 4))
    np.testing.assert_array_equal(attacked(*several), [attacked(*each) for each in zip(*several, strict=True)])
