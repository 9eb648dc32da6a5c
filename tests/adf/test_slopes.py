import keras
import numpy as np
import pandas as pd
import pytest

from fairlab.adf import examine_adf
from fairlab.adf.answers import Answers
from fairlab.adf.finite_differences import FiniteDifferences
from fairlab.adf.slopes import NetworkSlopes, with_slopes
from fairlab.cases import Case

TABLE = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (200, 4)), columns=["a", "b", "sex", "c"])
TABLE["sex"] %= 2


def linear(weights, bias):
    layer = keras.layers.Dense(1, activation="sigmoid")
    model = keras.Sequential([keras.Input((4,)), layer])
    layer.set_weights([np.array(weights, dtype=float)[:, None], np.array([float(bias)])])
    return model


@pytest.fixture(scope="module")
def case():
    return Case(linear([0.3, -0.5, 0.9, 0.1], -0.2), TABLE, sensitive="sex", threshold=0.5)


def test_a_networks_own_gradients_are_the_differences_of_a_line(case):
    answers = Answers(case, 10_000)
    model = with_slopes(answers, "sex")
    assert isinstance(model, NetworkSlopes)
    X = answers.domain.sample(50, random_state=0)
    by_differences = FiniteDifferences(answers.lead, answers.domain, "sex", threshold=0.0)
    for own, other in zip(model.margin_gradient(X), by_differences.margin_gradient(X), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)
    np.testing.assert_allclose(np.abs(model.margin_gradient(X)[1][0]), [0.3, 0.5, 0, 0.1], atol=1e-5)


def test_codes_are_encoded_as_their_rows_are(case):
    answers = Answers(case, 10_000)
    model = with_slopes(answers, "sex")
    X = answers.domain.sample(50, random_state=0)
    rows = case.rows(case.schema.decode(X))
    np.testing.assert_allclose(model.encoded(X), case.encoding.transform(rows))


def test_a_gradient_is_a_row_of_the_budget(case):
    answers = Answers(case, 60)
    X = answers.domain.sample(20, random_state=1)
    with_slopes(answers, "sex").margin_gradient(X)
    assert answers.left <= 40


def test_without_gradients_there_are_differences():
    case = Case(lambda rows: rows["a"] - 0.5 * rows["sex"], TABLE, sensitive="sex", threshold=3.0)
    model = with_slopes(Answers(case, 1000), "sex")
    assert type(model) is FiniteDifferences
    np.testing.assert_allclose(model.margin_gradient(np.array([[5, 2, 1, 2]]))[1], [[1, 0, 0, 0]])


def test_a_networks_case_is_searched_by_its_own_gradients(case):
    found = examine_adf(case, budget=800)
    people, inputs = found.findings
    assert found.n_queries <= 800
    assert inputs.found_per_1000 > inputs.random_per_1000 > 0
    changed = inputs.evidence.assign(sex=inputs.evidence["other sex"])
    assert (case.decide(inputs.evidence) != case.decide(changed)).all()
    assert people.estimate > 0
