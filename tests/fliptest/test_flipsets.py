import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from fairlab.fliptest import flipset
from fairlab.transport import ExactTransport, squared_l1


def hire(X):
    return (np.asarray(X)[:, 0] > 0).astype(int)


X = pd.DataFrame({"a": [1.0, -1.0, 2.0, -2.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))
X_IMAGE = pd.DataFrame({"a": [-1.0, 1.0, 3.0, 4.0], "b": [0.0, 0.0, 1.0, 1.0]}, index=list("pqrs"))


def test_hand_computed():
    result = flipset(hire, X, X_IMAGE)
    assert result.prediction.tolist() == [1, 0, 1, 0]
    assert result.image_prediction.tolist() == [0, 1, 1, 1]
    assert result.positive.tolist() == [True, False, False, False]
    assert result.negative.tolist() == [False, True, False, True]
    assert (result.n_positive, result.n_negative, result.net) == (1, 2, -1)
    frame = result.to_frame()
    assert frame["flip"].tolist() == ["positive", "negative", "none", "negative"]
    assert frame.index.tolist() == list("pqrs")


def test_takes_objects_that_predict_and_gives_them_the_table_as_it_is():
    class Model:
        def predict(self, table):
            return (table["a"] > 0).astype(int)

    assert flipset(Model(), X, X_IMAGE).n_negative == 2


def test_arrays():
    assert flipset(hire, X.to_numpy(), X_IMAGE.to_numpy()).index.tolist() == [0, 1, 2, 3]


def test_a_set_mapped_to_itself_has_no_flips():
    result = flipset(hire, X, X)
    assert (result.n_positive, result.n_negative) == (0, 0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_proposition_2(seed, n):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(2, n, 2))
    _, image = linear_sum_assignment(cdist(source, target, "cityblock") ** 2)
    result = flipset(hire, source, target[image])
    assert result.net == hire(source).sum() - hire(target).sum()


@given(st.integers(0, 2**32 - 1))
def test_the_inverse_map_swaps_the_flipsets(seed):
    source, target = np.random.default_rng(seed).normal(size=(2, 20, 2))
    forward, backward = flipset(hire, source, target), flipset(hire, target, source)
    assert (forward.positive == backward.negative).all()
    assert (forward.negative == backward.positive).all()


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (X_IMAGE[:3], "X has 4 rows, X_image has 3"),
        (X_IMAGE[["b", "a"]], "order differs"),
        (X_IMAGE.rename(columns={"b": "c"}), "only in X_image: c"),
        (X_IMAGE.assign(b=np.nan), "X_image: column 'b' holds nan in row 0"),
        (X_IMAGE.assign(a=np.inf), "X_image: column 'a' holds inf"),
        (X_IMAGE[:0], "X_image: is empty"),
    ],
)
def test_bad_images(image, message):
    with pytest.raises(ValueError, match=message):
        flipset(hire, X, image)


def test_bad_predictors():
    with pytest.raises(ValueError, match=r"predict\(X\).*probabilities"):
        flipset(lambda table: np.full(len(table), 0.3), X, X_IMAGE)
    with pytest.raises(ValueError, match=r"predict\(X\): returned shape \(1,\) for 4 rows"):
        flipset(lambda table: np.zeros(1), X, X_IMAGE)
    with pytest.raises(TypeError, match="expected a function"):
        flipset(3, X, X_IMAGE)


def test_images_go_by_their_row_labels():
    X, images = X_LABELS
    assert flipset(hire, X, images[::-1]).to_frame().equals(flipset(hire, X, images).to_frame())
    with pytest.raises(ValueError, match="X_image: has the row label 0, which the table has not"):
        flipset(hire, X, images.reset_index(drop=True))


def test_answers_go_by_their_row_labels():
    X, images = X_LABELS
    backwards = flipset(lambda table: pd.Series(hire(table), table.index)[::-1], X, images)
    assert backwards.to_frame().equals(flipset(hire, X, images).to_frame())
    with pytest.raises(ValueError, match=r"predict\(X\): has the row label 0"):
        flipset(lambda table: pd.Series(hire(table)), X, images)


X_LABELS = (
    pd.DataFrame({"a": [1.0, -1.0], "b": [0.0, 0.0]}, index=["p", "q"]),
    pd.DataFrame({"a": [-1.0, -2.0], "b": [0.0, 0.0]}, index=["p", "q"]),
)


def test_mixed_columns():
    X = pd.DataFrame({"job": ["cook", None], "age": [30, 40]})
    images = pd.DataFrame({"job": ["clerk", "cook"], "age": [30, np.nan]})
    flips = flipset(lambda table: (table["job"] == "cook").astype(int), X, images)
    assert (flips.n_positive, flips.n_negative) == (1, 1)
    with pytest.raises(ValueError, match="X has 2 rows, X_image has 1"):
        flipset(hire, X, images[:1])
    with pytest.raises(ValueError, match="column 'age' has type"):
        flipset(hire, X, images.assign(age=["x", "y"]))


def test_units_of_other_columns_flip_nobody():
    """The model reads a score that is alike in both groups; incomes differ, and are written in large numbers."""
    rng = np.random.default_rng(0)
    groups = [
        pd.DataFrame({"score": rng.normal(size=300), "income": rng.lognormal(mean, 0.8, 300)}) for mean in (10, 10.5)
    ]

    def by_score(table):
        return (table["score"] > 0).astype(int)

    def n_flips(**options):
        image = ExactTransport(**options).fit(*groups).transform(groups[0])
        flips = flipset(by_score, groups[0], image)
        return flips.n_positive + flips.n_negative

    assert n_flips() < n_flips(cost=squared_l1) / 4


def test_whole_numbers_do_not_flip_against_themselves():
    ages = pd.DataFrame({"age": np.arange(18, 90), "pay": np.arange(72) * 1e4})
    image = ExactTransport().fit(ages, ages[::-1]).transform(ages)
    for limit in range(18, 90):
        flips = flipset(lambda table, limit=limit: (table["age"] >= limit).astype(int), ages, image)
        assert flips.n_positive == flips.n_negative == 0
