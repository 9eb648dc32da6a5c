import keras
import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, discriminatory
from fairlab.adf.gradients import FiniteDifferences
from fairlab.auditing import run
from fairlab.auditing.answers import Answers, Slopes
from fairlab.cases import Case, Schema

FOUR = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9), "one": (3, 3)})


def line(X):
    return 0.3 * X[:, 0] - 0.5 * X[:, 2] + 2 * X[:, 1]


@pytest.fixture
def differences():
    return FiniteDifferences(line, FOUR, "sex", decision_threshold=1.0)


def test_slopes_of_a_line_are_its_coefficients(differences):
    X = np.array([[4, 0, 4, 3], [0, 1, 9, 3], [9, 1, 0, 3], [20, 0, -4, 3]])
    margin, gradient = differences.margin_gradient(X)
    np.testing.assert_allclose(margin, np.abs(line(X) - 1))
    sign = np.where(line(X) >= 1, 1, -1)[:, None]
    np.testing.assert_allclose(gradient, sign * [[0.3, 0, -0.5, 0]], atol=1e-9)
    other = 1 / (1 + np.exp(margin))
    np.testing.assert_allclose(differences.loss_gradient(X), -other[:, None] * gradient, atol=1e-9)


def test_a_score_at_its_threshold_has_the_class_above():
    model = FiniteDifferences(lambda X: X[:, 0] * 0.5, FOUR, "sex", decision_threshold=1.0)
    X = np.array([[1, 0, 0, 3], [2, 0, 0, 3]])
    assert model.predict(X).tolist() == [0, 1]
    assert model.logits(X).argmax(axis=1).tolist() == [0, 1]


def test_neighbours_stay_in_the_domain_and_sensitive_values_as_they_are():
    asked = []

    def score(X):
        asked.append(X)
        return line(X)

    model = FiniteDifferences(score, FOUR, "sex", decision_threshold=1.0)
    X = FOUR.sample(50, random_state=0)
    model.margin_gradient(X)
    _, neighbours = asked
    assert len(neighbours) == 50 * 2 * 3, "two for every attribute that is not sensitive"
    assert ((neighbours >= FOUR.low) & (neighbours <= FOUR.high)).all()
    np.testing.assert_array_equal(neighbours[:, 1], np.repeat(X[:, 1], 6))
    assert np.abs(neighbours - np.repeat(X, 6, axis=0)).sum(axis=1).max() == 1


@pytest.mark.parametrize("variant", ["published", "sound"])
def test_a_search_by_differences_finds_what_is_discriminatory(variant):
    wide = Schema.from_bounds(dict.fromkeys("abc", (0, 39)) | {"sex": (0, 1)})
    score = lambda X: X[:, 0] + X[:, 1] - X[:, 2] + 2.9 * X[:, 3]  # noqa: E731
    search = ADF(score, wide, "sex", decision_threshold=20.5, n_local=20, max_iter=20, variant=variant)
    result = search.generate(wide.sample(200, random_state=0), n_seeds=20)
    assert result.successful.mean() > 0.8, "of random inputs, one in fourteen is discriminatory"
    assert np.isin(result.discriminatory[:, :3] @ [1, 1, -1], [18, 19, 20]).all()
    assert discriminatory(score, result.discriminatory, "sex", schema=wide, decision_threshold=20.5).all()


TABLE = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (200, 4)), columns=["a", "b", "sex", "c"])
TABLE["sex"] %= 2


def linear(weights, bias):
    layer = keras.layers.Dense(1, activation="sigmoid")
    model = keras.Sequential([keras.Input((4,)), layer])
    layer.set_weights([np.array(weights, dtype=float)[:, None], np.array([float(bias)])])
    return model


@pytest.fixture(scope="module")
def case():
    return Case(linear([0.3, -0.5, 0.9, 0.1], -0.2), TABLE, sensitive_features="sex", decision_threshold=0.5)


def test_a_networks_own_gradients_are_the_differences_of_a_line(case):
    answers = Answers(case, 10_000)
    model = Slopes(answers, "sex")
    assert case.has_gradients
    X = answers.domain.sample(50, random_state=0)
    by_differences = FiniteDifferences(answers.lead, answers.domain, "sex", decision_threshold=0.0)
    for own, other in zip(model.margin_gradient(X), by_differences.margin_gradient(X), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)
    np.testing.assert_allclose(np.abs(model.margin_gradient(X)[1][0]), [0.3, 0.5, 0, 0.1], atol=1e-5)


def test_a_gradient_is_a_row_of_the_budget(case):
    answers = Answers(case, 60)
    X = answers.domain.sample(20, random_state=1)
    Slopes(answers, "sex").margin_gradient(X)
    assert answers.left <= 40


def test_a_networks_case_is_searched_by_its_own_gradients(case):
    found = run("adf", case, budget=1600)
    inputs, _ = found.findings
    assert found.n_queries <= 1600
    assert inputs.estimate > inputs.random_per_1000 > 0
    changed = inputs.evidence.assign(sex=inputs.evidence["other sex"])
    assert (case.decide(inputs.evidence) != case.decide(changed)).all()
