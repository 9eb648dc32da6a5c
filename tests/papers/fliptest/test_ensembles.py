import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error

from fairlab.fliptest import Flipset, flipset, flipset_intervals, transparency_report
from fairlab.papers.fliptest.ensembles import (
    Ensemble,
    MapFits,
    MapValidation,
    by_map,
    fit_table,
    flipsets_by_map,
    overlap,
    size_spread,
    size_table,
    usable_maps,
    validate_map,
)

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
        (TARGET, IMAGE, {"X_source": IMAGE[:9]}, "expected one image per row"),
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


X = pd.DataFrame({"a": [1.0, 1.0, -1.0, -1.0], "b": 0.0}, index=list("pqrs"))


def positive(table):
    return (table["a"] > 0).astype(int)


@pytest.fixture(scope="module")
def validations():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(1000, 2))
    maps = {name: rng.normal(shift, size=(1000, 2)) for name, shift in (("good", 0), ("shifted", 1))}
    maps["diverged"] = np.full((1000, 2), np.nan)
    return {name: validate_map(target, image, X_source=target) for name, image in maps.items()}


def test_maps_off_target_are_told_apart_and_counted(validations):
    good, shifted = validations["good"], validations["shifted"]
    note = "1 of 3 maps miss their target (KS above 0.2) and are left out"
    assert usable_maps({"x": shifted, "y": good, "z": good}) == (["y", "z"], note)
    assert usable_maps({"y": good}) == (["y"], "")
    names, note = usable_maps({"x": shifted, "z": shifted})
    assert names == ["x", "z"]
    assert note == "all 2 maps miss their target (KS above 0.2)"


def test_diverged_maps_are_never_used(validations):
    note = "1 of 3 maps diverged and are left out; 1 of 3 maps miss their target (KS above 0.2) and are left out"
    assert usable_maps(validations) == (["good"], note)
    names, note = usable_maps({name: validations[name] for name in ("diverged", "shifted")})
    assert names == ["shifted"]
    assert note == "1 of 2 maps diverged and are left out; all 1 maps miss their target (KS above 0.2)"
    assert usable_maps({"diverged": validations["diverged"]})[0] == []


def test_one_row_of_fit_per_map(validations):
    table = fit_table(validations, labels={"x0": "first"})
    assert table.index.tolist() == ["good", "shifted", "diverged"]
    assert table.index.name == "map"
    assert table["off target"].tolist() == [False, True, True]
    assert (table["largest KS"][:2] == table[["KS first", "KS x1"]].max(axis=1)[:2]).all()
    assert table.loc["diverged"].drop("off target").isna().all()
    pairs = fit_table({(0.1, 0): validations["good"], (0.1, 1): validations["good"]})
    assert pairs.index.nlevels == 2


def test_flipsets_of_maps_that_have_images():
    images = {"identity": X, "swap": -X, "diverged": X * np.nan}
    flips = flipsets_by_map(positive, X, images)
    table = size_table(flips)
    assert table.to_dict("index") == {"identity": {"F+": 0, "F−": 0}, "swap": {"F+": 2, "F−": 2}}


def flips(n_positive, n_negative, n=100):
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_spread_over_maps_by_hand():
    intervals = {name: flipset_intervals(flips(*sizes)) for name, sizes in (("A", (10, 30)), ("B", (14, 30)))}
    stacked = by_map(intervals)
    assert stacked.columns.tolist() == ["map", "flipset", "size", "low", "high"]
    table = size_spread(stacked)
    assert table.loc["positive", ["mean size", "smallest", "largest", "maps"]].tolist() == [12, 10, 14, 2]
    assert table.loc["positive", "standard deviation over maps"] == pytest.approx(np.sqrt(8))
    assert table.loc["negative", "standard deviation over maps"] == 0
    half = [(table["high"] - table["low"])["positive"] / 2 for table in intervals.values()]
    assert table.loc["positive", "half-width over people"] == pytest.approx(np.mean(half))
    pd.testing.assert_frame_equal(table, size_spread(stacked.set_index(["map", "flipset"])))


def test_results_are_stacked_with_the_name_of_the_map_in_front():
    image = X.assign(a=[-1.0, 1.0, 1.0, -1.0])
    report = transparency_report(flipsets_by_map(positive, X, {"m": image})["m"], X, image)
    table = by_map({"m": report, "n": report})
    assert table.columns.tolist()[:4] == ["map", "flipset", "size", "feature"]
    assert table["map"].tolist() == ["m"] * 4 + ["n"] * 4
    assert by_map({2: X}, name="seen").columns.tolist() == ["seen", "a", "b"]


@pytest.fixture(scope="module")
def block():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"]) for _ in range(2))
    images = {"GAN 0": source, "GAN 1": source + 2, "GAN 2": source + 0.1}
    exact = [{"mean_l1": 1.0, "mean_squared_l1": 3.0}, {"mean_l1": 2.0, "mean_squared_l1": 5.0}]
    return MapFits({"b": "bee"}, Ensemble.of(images, source, target), exact, ["lipton"])


def test_maps_off_target_are_shown_and_not_used(block):
    assert list(block.ensemble.usable) == ["GAN 0", "GAN 2"]
    assert block.ensemble.note == "1 of 3 maps miss their target (KS above 0.2) and are left out"
    table = block.to_frame()
    assert table.index.tolist() == ["GAN 0", "GAN 1", "GAN 2", "exact 0", "exact 1"]
    assert table["used"].tolist()[:3] == [True, False, True]
    assert "ks a" not in table
    assert table.loc["GAN 2", "mean_l1"] == pytest.approx(0.2)
    assert table.loc["exact 1", ["mean_l1", "mean_squared_l1"]].tolist() == [2, 5]


def test_overlap_by_hand():
    images = [X.assign(a=a) for a in ([-1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0])]  # F+ p, F- r and s; F+ q, F- r
    first, second = (flipset(positive, X, image) for image in images)
    table = overlap(first, second)
    assert table.loc["positive"].tolist() == [0, 1, 1, 0]
    assert table.loc["negative"].tolist() == [1, 1, 0, 0.5]
    with pytest.raises(ValueError, match="expected one model, found 4 other predictions"):
        overlap(first, flipset(lambda table: 1 - positive(table), X, images[0]))
