import numpy as np
import pytest

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import gradient_flow_attack
from fairlab.models.classifiers import HiddenUnits, LinearClassifier, WhiteBoxClassifier
from fairlab.networks import forward, initial_network
from fairlab.papers.individual_fairness.learners import EqualizedOddsMixture

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4))
Y = np.arange(12) % 2
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


class Net(WhiteBoxClassifier):
    def log_odds(self, X):
        return forward(NETWORK, X) @ np.array([-1.0, 1.0])

    @property
    def units(self):
        kernel, bias, output, output_bias = NETWORK
        return HiddenUnits(kernel, bias, output[:, 1] - output[:, 0], output_bias[1] - output_bias[0])


MODELS = {
    "network": Net(),
    "linear": LinearClassifier([1.0, -2.0, 0.5, 0.0], 0.3),
    "votes": vote(3 * RNG.normal(size=(3, 4)), [0.5, 0.0, -1.0], [0.2, 0.3, 0.5]),
}


def euler(model, metric, sizes, regularizer):
    """Attack step by step, and return points and losses on the way."""
    image, losses, unit = X, [], 1.0 if metric.scale is None else metric.scale**2
    for size in sizes:
        losses.append(model.loss(image, Y))
        image = image + size * unit * (model.loss_gradient(image, Y) - regularizer * metric.gradient(image, X))
    return image, np.array([*losses, model.loss(image, Y)])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("schedule", "regularizer"), [("constant", 4.0), ("decaying", 1.0)])
def test_following_units_is_eulers_scheme(name, metric, schedule, regularizer):
    model, metric = MODELS[name], METRICS[metric]
    options = {"step_size": 0.05, "n_steps": 80, "schedule": schedule, "regularizer": regularizer, "dtype": "float64"}
    attack = gradient_flow_attack(model, metric, X, Y, trajectory=True, variant="published", **options)
    sizes = 0.05 / np.arange(1, 81) ** (2 / 3 if schedule == "decaying" else 0)
    image, losses = euler(model, metric, sizes, regularizer)
    np.testing.assert_allclose(attack.X, image, atol=1e-9)
    np.testing.assert_allclose(attack.loss_trajectory, losses, rtol=1e-8)
    assert attack.stopping_time == pytest.approx(sizes.sum())
    if name == "network":
        kernel, bias = NETWORK[:2]
        assert ((X @ kernel + bias > 0) != (image @ kernel + bias > 0)).sum() > 5


@pytest.mark.parametrize("sure", [-400.0, 900.0])
def test_models_that_are_sure_move_no_one_or_everyone(sure):
    model, metric = vote(np.eye(4)[:2], [sure, 2 * sure], [0.5, 0.5]), METRICS["plain"]
    options = {"step_size": 0.05, "n_steps": 3, "regularizer": 4.0, "dtype": "float64"}
    attack = gradient_flow_attack(model, metric, X, Y, **options)
    wrong = (Y == 1) != (sure > 0)
    assert (attack.X[~wrong] == X[~wrong]).all()
    np.testing.assert_allclose(attack.X, euler(model, metric, [0.05] * 3, 4.0)[0], atol=1e-9)
    assert (attack.attacked_loss[wrong] > attack.loss[wrong]).all()


def test_each_of_several_models_has_its_own_points():
    coef, intercept = RNG.normal(size=(3, 4)), RNG.normal(size=3)
    points, options = RNG.normal(size=(3, 12, 4)), {"regularizer": 2.0, "step_size": 0.1, "n_steps": 20}
    together = gradient_flow_attack(LinearClassifier(coef, intercept), METRICS["units"], points, Y, **options)
    for k in range(3):
        alone = gradient_flow_attack(LinearClassifier(coef[k], intercept[k]), METRICS["units"], points[k], Y, **options)
        np.testing.assert_array_equal(together.X[k], alone.X)
