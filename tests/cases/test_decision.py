import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Case, CaseError

TABLE = pd.DataFrame({"sex": ["f", "m"] * 30, "x": np.arange(60)})


def case(answer, **options):
    model = answer if callable(answer) else lambda rows: answer[rows["x"].to_numpy()]
    return Case(model, TABLE, sensitive="sex", **options)


HIGH = np.arange(60) >= 45
SCORE = np.arange(60) / 60


@pytest.mark.parametrize(
    ("answer", "options", "task"),
    [
        (HIGH, {}, "classes"),
        (HIGH.astype(int), {}, "classes"),
        (HIGH.astype(float), {}, "classes"),
        (np.where(HIGH, 1, -1), {}, "classes"),
        (np.where(HIGH, "yes", "no"), {"positive": "yes"}, "classes"),
        (np.where(HIGH, "no", "yes"), {"positive": "no"}, "classes"),
        (np.where(HIGH, 7, 3), {"positive": 7}, "classes"),
        (np.where(HIGH, "a", np.where(SCORE > 0.5, "b", "c")), {"positive": "a"}, "classes"),
        (HIGH.astype(int), {"threshold": 0.5}, "classes"),
        (HIGH[:, None], {}, "classes"),
        (SCORE, {"threshold": 0.75}, "scores"),
        (SCORE * 100, {"threshold": 75}, "scores"),
        (np.arange(60), {"threshold": 45}, "scores"),
        (np.column_stack([1 - SCORE, SCORE]), {"threshold": 0.75}, "scores"),
        (np.column_stack([1 - SCORE / 1.5, SCORE / 1.5]), {"threshold": 0.5}, "scores"),
    ],
)
def test_what_answers_mean(answer, options, task):
    asked = case(answer, **options)
    assert asked.task == task
    assert (asked.decide() == HIGH).all()
    assert asked.has_scores == (task == "scores")
    again = pd.DataFrame({"x": [50, 3, 50], "sex": "f"}, index=[9, 9, 1])
    assert asked.decide(again).tolist() == [True, False, True]


def test_probabilities_get_one_half_with_a_notice():
    with pytest.warns(UserWarning, match=r"within 0 and 1: from 0\.5 on they count as favourable"):
        asked = case(SCORE)
    assert (asked.decide() == (SCORE >= 0.5)).all()
    assert (asked.threshold, asked.unit, len(asked.notices)) == (0.5, "probability", 1)
    np.testing.assert_allclose(asked.log_odds()[1:], np.log(SCORE[1:] / (1 - SCORE[1:])))
    with pytest.warns(UserWarning):
        columns = case(np.column_stack([1 - SCORE, SCORE]), positive=0)
    np.testing.assert_allclose(columns.score(), 1 - SCORE)


def test_numbers_without_a_threshold_are_a_regression():
    with pytest.warns(UserWarning, match="gives numbers from 0 to 98.3333 and no threshold is given: taken as a regr"):
        asked = case(SCORE * 100, y_true=np.arange(60) * 2.0)
    assert len(asked.notices) == 1
    assert (asked.task, asked.has_scores) == ("numbers", False)
    np.testing.assert_allclose(asked.number(), SCORE * 100)
    assert asked.y_true.tolist() == (np.arange(60) * 2.0).tolist()
    with pytest.raises(CaseError, match="threshold: the model gives numbers; the least favourable one makes them"):
        asked.decide()
    with pytest.raises(CaseError, match="model: gives labels, a score was asked for"):
        asked.score()
    with pytest.raises(CaseError, match="model: gives decisions, numbers were asked for"):
        case(HIGH).number()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"y_true": HIGH}, "y_true has the labels False, True"),
        ({"y_true": HIGH.astype(int)}, "y_true has the labels 0, 1"),
        ({"y_true": np.where(HIGH, 2.0, 1.0), "positive": 2.0}, r"y_true has the labels 1\.0, 2\.0"),
        ({"y_true": np.where(HIGH, "yes", "no"), "positive": "yes"}, "y_true has the labels 'no', 'yes'"),
        ({"positive": 1}, "the favourable label is 1"),
        ({"y_true": np.arange(60), "positive": 1}, "the favourable label is 1"),
    ],
)
def test_numbers_beside_labels_are_no_regression(options, found):
    hint = r"; give threshold=, or Network\(model, from_logits=True\) for a network that ends in logits"
    with pytest.raises(CaseError, match=f"threshold: the model gives numbers from -30.5 to 28.5, {found}{hint}"):
        case(SCORE * 60 - 30.5, **options)
    assert (case(SCORE * 60 - 30.5, threshold=14.5, **options).decide() == HIGH).all()


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (np.where(HIGH, "yes", "no"), {}, "positive: the labels are 'no', 'yes'; which one is favourable?"),
        (np.arange(60) % 3, {}, "positive: the labels are 0, 1, 2; which one is favourable, one against the rest?"),
        (np.where(HIGH, 1, 2), {}, "positive: the labels are 1, 2; which one"),
        (
            np.where(HIGH, "yes", "no"),
            {"positive": "Yes"},
            "positive: 'Yes' is not among the labels; did you mean 'yes'\\? \\(known: 'no', 'yes'\\)",
        ),
        (
            np.where(HIGH, 1, 0),
            {"positive": "1"},
            r"positive: '1' is not among the labels; did you mean 1\? \(known: 0, 1\)",
        ),
        (np.where(HIGH, "1", "0"), {"positive": 1}, "did you mean '1'\\? \\(known: '0', '1'\\)"),
        (HIGH, {"threshold": 0.5}, "threshold: the model gives the labels False, True; leave the threshold out"),
        (np.where(HIGH, "yes", "no"), {"threshold": 0.5, "positive": "yes"}, "threshold: the model gives the labels"),
        (np.where(HIGH, 1.0, np.nan), {}, "model: 45 of 60 answers are missing, expected one for each row"),
        (np.where(HIGH, 1.0, np.inf), {}, "model: answers infinite or complex numbers"),
        (np.where(HIGH, None, "a"), {"positive": "a"}, "model: 15 of 60 answers are missing"),
        (lambda rows: HIGH[:-1], {}, "model: expected 60 values, one for each row, found 59"),
        (lambda rows: True, {}, "model: expected one value for each row, found bool"),
        (lambda rows: "yes", {}, "model: expected one value for each row, found str"),
        (lambda rows: rows["wage"], {}, "model: fails on the rows of the table: KeyError: 'wage'"),
        (lambda rows: {"a": 1}, {}, "model: expected one value for each row, found dict"),
        (lambda rows: None, {}, "model: expected one value for each row, found NoneType"),
        (lambda rows: [[1, 2]] * 60, {}, "model: expected texts, truth values or numbers, found a list"),
        (lambda rows: pd.date_range("2020", periods=60), {}, "model: expected texts, .*, found a Timestamp"),
        (lambda rows: np.full((60, 2), "a"), {}, "model: returned several columns that are no numbers"),
        (lambda rows: HIGH * 1j, {}, "model: answers infinite or complex numbers"),
        (lambda rows: rows[["x", "x"]], {}, "model: returned 2 columns, .* Network.model, from_logits=True"),
        (lambda rows: np.ones((2, 2, 2)), {}, "model: expected one value for each row, found shape"),
        (lambda rows: pd.Series(HIGH, index=range(1, 61)), {}, "model: has the row label 60, which the table has not"),
    ],
)
def test_answers_that_cannot_be_read(answer, options, message):
    with pytest.raises(CaseError, match=message):
        case(answer, **options)


def test_answers_of_a_series_are_taken_by_index():
    def model(rows):
        return (rows["x"] >= 45).sample(frac=1, random_state=0)

    assert (case(model).decide() == HIGH).all()


def test_a_model_that_always_says_the_same():
    assert case(np.ones(60)).decide().all()
    with pytest.warns(UserWarning, match="never answers 1, the favourable label"):
        assert not case(np.zeros(60, dtype=int)).decide().any()
    with pytest.warns(UserWarning, match="never answers 'yes', the favourable label"):
        assert not case(np.full(60, "no"), positive="yes").decide().any()


def test_answers_of_another_kind_later_on_are_refused():
    later = pd.DataFrame({"sex": ["f"], "x": [99]})
    for first, then, options in (
        (HIGH.astype(int), 2, {}),
        (np.where(HIGH, "a", "b"), None, {"positive": "a"}),
        (SCORE, 1.5, {"threshold": 0.5}),
        (SCORE, np.nan, {"threshold": 0.5}),
    ):

        def model(rows, first=first, then=then):
            return first[rows["x"]] if rows["x"].max() < 60 else np.array([then] * len(rows))

        with pytest.raises(CaseError, match="model: "):
            case(model, **options).decide(later)


def test_noise_is_noticed():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"Asked again, the model answers \d+% of 60 rows otherwise"):
        noisy = case(lambda rows: rng.random(len(rows)) < 0.5)
    assert not noisy.queries.is_deterministic
    assert (noisy.decide() == noisy.decide()).all(), "answers are remembered"
    assert case(HIGH).queries.is_deterministic
    with pytest.warns(UserWarning, match="it is not deterministic"):
        case(lambda rows: rows["x"] > rows["x"].mean() + 20 * (len(rows) == 1) + rng.normal(0, 20))
