import numpy as np
import pandas as pd
import pytest

from fairlab.adf.answers import Answers, BudgetReachedError
from fairlab.cases import Case

TABLE = pd.DataFrame({"sex": ["f", "m"] * 20, "age": np.arange(20).repeat(2), "job": ["a", "b", "c", "d"] * 10})


def rule(rows):
    assert list(rows.columns) == ["sex", "age", "job"]
    return rows["age"] + 3.0 * (rows["sex"] == "m")


@pytest.fixture
def case():
    return Case(rule, TABLE, sensitive="sex", threshold=10.0)


def test_an_input_is_asked_once(case):
    answers = Answers(case, 100)
    codes = np.array([[0, 5, 3], [1, 9, 0], [0, 5, 3]])
    before = case.queries.asked
    assert answers.favourable(codes).tolist() == [False, True, False]
    np.testing.assert_allclose(answers.lead(codes), [-5, 2, -5])
    assert len(answers) == 2
    assert case.queries.asked - before == 100 - answers.left <= 2
    assert answers.favourable(np.empty((0, 3), dtype=int)).shape == (0,)


def test_no_more_is_asked_than_the_budget(case):
    answers = Answers(case, 3)
    domain = answers.domain.sample(500, random_state=0)
    with pytest.raises(BudgetReachedError, match="rows would be asked, 3 are left"):
        answers.favourable(domain)
    assert (len(answers), answers.left) == (0, 3)


def test_with_a_threshold_the_score_is_the_decision(case):
    answers = Answers(case, 100)
    answers.lead([[0, 5, 3], [1, 9, 0]])
    asked = answers.left
    assert answers.favourable([[0, 5, 3], [1, 9, 0]]).tolist() == [False, True]
    assert (len(answers), answers.left) == (2, asked)


def test_the_lead_of_a_probability_is_in_log_odds():
    case = Case(lambda rows: 1 / (1 + np.exp(-rule(rows))), TABLE, sensitive="sex", threshold=0.9)
    answers = Answers(case, 100)
    np.testing.assert_allclose(answers.lead([[0, 5, 3], [1, 0, 0]]), np.array([5, 3]) - np.log(9), atol=1e-9)


def test_scores_of_a_model_that_decides_by_labels_are_rows_of_their_own():
    class Labels:
        classes_ = np.array([0, 1])

        def predict(self, rows):
            return (rule(rows) >= 10).astype(int).to_numpy()

        def predict_proba(self, rows):
            p = 1 / (1 + np.exp(10 - rule(rows).to_numpy()))
            return np.stack([1 - p, p], axis=1)

    case = Case(Labels(), TABLE, sensitive="sex", features=["sex", "age", "job"])
    answers = Answers(case, 100)
    codes = [[0, 5, 1], [0, 6, 1], [0, 7, 1]]  # not in the table
    answers.lead(codes)
    assert (len(answers), answers.left) == (0, 97)
    answers.favourable(codes)
    assert (len(answers), answers.left) == (3, 97 - 3)
    with pytest.raises(BudgetReachedError):
        Answers(case, 2).lead([[1, 5, 0], [1, 6, 0], [1, 7, 0]])


def test_pairs_by_hand(case):
    answers = Answers(case, 1000)
    answers.favourable([[0, 9, 0], [1, 2, 0], [0, 2, 0], [1, 9, 0], [0, 8, 1], [1, 15, 1], [0, 15, 1]])
    pairs = answers.pairs(0)
    assert len(pairs) == 1
    assert (pairs.inputs.tolist(), pairs.other.tolist(), pairs.favourable.tolist()) == ([[0, 9, 0]], [1], [False])
    assert len(Answers(case, 10).pairs(0)) == 0


def test_pairs_are_all_that_the_answers_hold(case):
    answers = Answers(case, 10_000)
    codes = answers.domain.sample(3000, random_state=0)
    favourable = answers.favourable(codes)
    asked = {tuple(code): bool(answer) for code, answer in zip(codes.tolist(), favourable, strict=True)}
    expected = {code[1:] for code, answer in asked.items() if asked.get((1 - code[0], *code[1:]), answer) != answer}
    pairs = answers.pairs(0)
    assert {tuple(code) for code in pairs.inputs[:, 1:].tolist()} == expected
    assert len(pairs) == len(expected) > 0
    assert (answers.favourable(pairs.inputs) == pairs.favourable).all()
    changed = np.column_stack([pairs.other, pairs.inputs[:, 1:]])
    assert (answers.favourable(changed) != pairs.favourable).all()
