import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairlab.adf.decisions import as_classes, as_scores, check_classes

X = np.array([[0, 1], [3, 0], [5, 1], [9, 1]])


@pytest.mark.parametrize(
    "answer", [[0, 1, 1], [True, False, True], ["yes", "no", "no"], [0.0, 2.0, -1.0], np.array(["a", 1, "b"], object)]
)
def test_classes_are_what_can_be_compared(answer):
    answer = np.asarray(answer)
    assert check_classes(answer) is answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.2, 0.7, 1.0], "returned .*0.2.*, expected one class per row; scores and probabilities need a threshold"),
        ([0.5, 0.5 + 1e-12, 0.5], "need a threshold"),
        (np.array([0.5, 1, 0], dtype=object), "need a threshold"),
        ([0.0, np.nan, np.nan], "no class for 2 of 3 rows: nan"),
        (np.array(["yes", None, "no"], dtype=object), "no class for 1 of 3 rows: None"),
        ([0.0, np.inf, 1.0], "returned .*inf"),
    ],
)
def test_scores_and_missing_answers_are_no_classes(answer, said):
    with pytest.raises(ValueError, match=f"model: .*{said}"):
        check_classes(np.asarray(answer))
    with pytest.raises(ValueError, match=f"model: .*{said}"):
        as_classes(lambda X: answer)(X[:3])


def test_a_threshold_makes_classes_of_scores():
    assert as_classes(lambda X: X[:, 0] / 10, threshold=0.5)(X).tolist() == [False, False, True, True]
    assert as_classes(lambda X: X[:, :1] / 10, threshold=0.3)(X).tolist() == [False, True, True, True]
    with pytest.raises(ValueError, match="threshold: expected a finite number, found nan"):
        as_classes(lambda X: X[:, 0], threshold=np.nan)
    with pytest.raises(ValueError, match="threshold: expected a finite number, found 'half'"):
        as_classes(lambda X: X[:, 0], threshold="half")


def test_the_score_of_two_probabilities_is_the_second():
    model = LogisticRegression().fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(as_scores(model)(X), model.predict_proba(X)[:, 1])


def test_the_score_of_a_network_is_its_second_probability(network, schema):
    some = schema.sample(20, random_state=0)
    np.testing.assert_array_equal(as_scores(network)(some), network.probabilities(some)[:, 1].astype(float))
    np.testing.assert_array_equal(as_scores(network.model)(some), network.probabilities(some)[:, 1].astype(float))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (np.full(4, np.nan), "returned nan for 4 of 4 rows, expected finite scores"),
        (np.zeros((4, 2)), r"returned shape \(4, 2\) for 4 rows, expected one score per row"),
        (np.zeros(3), r"returned shape \(3,\) for 4 rows"),
        (np.array(list("abcd")), "expected numbers as scores"),
    ],
)
def test_what_is_no_score(answer, said):
    with pytest.raises(ValueError, match=said):
        as_scores(lambda X: answer)(X)


def test_what_cannot_be_called():
    with pytest.raises(TypeError, match=r"object with .predict_proba, found int"):
        as_scores(3)
