import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error

from fairlab.fliptest import MapValidation, validate_map

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
TARGET = pd.DataFrame(RNG.normal(size=(200, 3)) @ [[1, 0.5, 0], [0, 1, 0.2], [0, 0, 2]] + 3, columns=NAMES)
IMAGE = pd.DataFrame(RNG.normal(size=(150, 3)), columns=NAMES)


def largest_gap(first, second):
    """Kolmogorov-Smirnov statistic by counting at every observed value."""
    points = np.concatenate([first, second])
    return max(abs((first <= p).mean() - (second <= p).mean()) for p in points)


def test_against_scikit_learn_and_counting():
    features = validate_map(TARGET, IMAGE).features
    for name in NAMES:
        others = [n for n in NAMES if n != name]
        model = LinearRegression().fit(TARGET[others], TARGET[name])
        on_target = mean_squared_error(TARGET[name], model.predict(TARGET[others]))
        on_image = mean_squared_error(IMAGE[name], model.predict(IMAGE[others]))
        assert np.isclose(features.loc[name, "mse_target"], on_target)
        assert np.isclose(features.loc[name, "mse_image"], on_image)
        assert np.isclose(features.loc[name, "mse_difference"], on_image - on_target)
        assert np.isclose(features.loc[name, "ks"], largest_gap(TARGET[name].to_numpy(), IMAGE[name].to_numpy()))


def test_a_perfect_map():
    features = validate_map(TARGET, TARGET.sample(frac=1, random_state=0)).features
    assert np.allclose(features[["ks", "mse_difference"]], 0)


def test_regression_of_another_feature():
    target, image = TARGET[["a", "b"]], IMAGE[["a", "b"]]
    crossed = validate_map(target, image, regression_of={"a": "b"}).features
    plain = validate_map(target, image).features
    of_b = LinearRegression().fit(target[["a"]].to_numpy(), target["b"])  # predicts b from a, used on b for a
    for measure, X in (("mse_target", target), ("mse_image", image)):
        by_hand = mean_squared_error(X["a"], of_b.predict(X[["b"]].to_numpy()))
        assert np.isclose(crossed.loc["a", measure], by_hand)
        assert not np.isclose(crossed.loc["a", measure], plain.loc["a", measure])
    assert crossed.loc["b"].equals(plain.loc["b"])


def test_distances_by_hand():
    source = np.array([[0.0, 0.0], [1.0, 1.0]])
    image = np.array([[1.0, -1.0], [1.0, 5.0]])
    result = validate_map(np.array([[0.0, 1.0], [1.0, 0.0]]), image, X_source=source)
    assert result.mean_l1 == 3
    assert result.mean_squared_l1 == (4 + 16) / 2
    assert result.to_frame()["mean_l1"].tolist() == [3, 3]


def test_no_source_no_distances():
    assert np.isnan(validate_map(TARGET, IMAGE).mean_l1)


def test_one_feature_is_predicted_by_its_mean():
    result = validate_map(np.array([[0.0], [2.0]]), np.array([[1.0], [4.0]]))
    assert np.isclose(result.features.loc["x0", "mse_target"], 1)
    assert np.isclose(result.features.loc["x0", "mse_image"], 4.5)


def test_a_collapsed_map_is_a_finding_not_an_error():
    assert validate_map(TARGET, IMAGE * 0).features["ks"].min() > 0.5


@pytest.mark.parametrize(
    ("target", "image", "options", "message"),
    [
        (TARGET.assign(b=1.0), IMAGE, {}, "X_target: constant columns: b"),
        (TARGET[:1], IMAGE, {}, "X_target: has 1 row, expected at least 2"),
        (TARGET, IMAGE[:0], {}, "X_image: is empty"),
        (TARGET, IMAGE[["a", "b"]], {}, "only in X_target: c"),
        (TARGET, IMAGE.assign(c=np.nan), {}, "X_image: column 'c' holds nan"),
        (TARGET, IMAGE, {"X_source": IMAGE[:9]}, "X_source: expected one row for each of 150 images, found 9"),
        (TARGET, IMAGE, {"regression_of": {"a": "z"}}, r"unknown features \['z'\]; there are a, b, c"),
    ],
)
def test_bad_input(target, image, options, message):
    with pytest.raises(ValueError, match=message):
        validate_map(target, image, **options)


def test_columns_are_validated_alone_and_distances_are_over_all():
    some = validate_map(TARGET, IMAGE, X_source=IMAGE + 1, columns=["a", "c"])
    alone = validate_map(TARGET[["a", "c"]], IMAGE[["a", "c"]])
    pd.testing.assert_frame_equal(some.features, alone.features)
    assert np.isclose(some.mean_l1, 3)
    assert np.isclose(some.mean_squared_l1, 9)


def test_there_and_back_through_a_table():
    before = validate_map(TARGET, IMAGE, X_source=IMAGE + 1)
    after = MapValidation.from_frame(before.to_frame())
    pd.testing.assert_frame_equal(after.features, before.features)
    assert (after.mean_l1, after.mean_squared_l1) == (before.mean_l1, before.mean_squared_l1)
    diverged = validate_map(TARGET, IMAGE * np.nan)
    assert MapValidation.from_frame(diverged.to_frame()).diverged


def test_off_target_begins_above_the_bound():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(1000, 2))
    good, shifted = (validate_map(target, rng.normal(shift, size=(1000, 2))) for shift in (0, 1))
    assert (good.off_target, shifted.off_target) == (False, True)
    diverged = validate_map(target, np.full((1000, 2), np.nan), X_source=target)
    assert diverged.off_target
    assert diverged.diverged
    assert np.isnan(diverged.mean_l1)


def test_columns_that_are_not_there():
    with pytest.raises(ValueError, match=r"columns: expected columns of the DataFrame X_target, found \['q'\]"):
        validate_map(TARGET, IMAGE, columns=["q"])
    with pytest.raises(ValueError, match="columns: expected columns of the DataFrame X_target, found ndarray"):
        validate_map(TARGET.to_numpy(), IMAGE.to_numpy(), columns=["q"])
