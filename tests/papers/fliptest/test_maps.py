"""Learnt maps of the same people: how they fit, how they differ, what is noise, and the map of Seguy et al."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.svm import SVC

from fairlab.fliptest import Flipset, flipset, flipset_intervals
from fairlab.papers.fliptest import ensembles, noise, stability

RNG = np.random.default_rng(0)


NAMES = ["a", "b", "c"]


TARGET = pd.DataFrame(RNG.normal(size=(200, 3)) @ [[1, 0.5, 0], [0, 1, 0.2], [0, 0, 2]] + 3, columns=NAMES)


IMAGE = pd.DataFrame(RNG.normal(size=(150, 3)), columns=NAMES)


def largest_gap(first, second):
    """Kolmogorov-Smirnov statistic by counting at every observed value."""
    return max(abs((first <= p).mean() - (second <= p).mean()) for p in [*first, *second])


@pytest.mark.parametrize("name", NAMES)
def test_validation_against_scikit_learn_and_counting(name):
    others = [n for n in NAMES if n != name]
    model = LinearRegression().fit(TARGET[others], TARGET[name])
    target, image = (mean_squared_error(X[name], model.predict(X[others])) for X in (TARGET, IMAGE))
    expected = {"ks": largest_gap(TARGET[name], IMAGE[name]), "mse_target": target, "mse_image": image}
    found = ensembles.validate_map(TARGET, IMAGE).features.loc[name].to_dict()
    assert found == pytest.approx(expected | {"mse_difference": image - target})


@pytest.mark.parametrize(
    ("target", "image", "source", "distances", "mse_image"),
    [
        # Moves of 2 and 4.
        ([[0.0, 1.0], [1.0, 0.0]], [[1.0, -1.0], [1.0, 5.0]], [[0.0, 0.0], [1.0, 1.0]], (3, (4 + 16) / 2), None),
        ([[0.0], [2.0]], [[1.0], [4.0]], None, (np.nan, np.nan), 4.5),  # one feature is predicted by its mean
    ],
)
def test_distances_and_errors_by_hand(target, image, source, distances, mse_image):
    found = ensembles.validate_map(
        np.array(target), np.array(image), X_source=source if source is None else np.array(source)
    )
    assert (found.mean_l1, found.mean_squared_l1) == pytest.approx(distances, nan_ok=True)
    assert mse_image is None or found.features.loc["x0", "mse_image"] == pytest.approx(mse_image)


def test_columns_are_validated_alone_and_distances_are_over_all():
    some = ensembles.validate_map(TARGET, IMAGE, X_source=IMAGE + 1, columns=["a", "c"])
    pd.testing.assert_frame_equal(some.features, ensembles.validate_map(TARGET[["a", "c"]], IMAGE[["a", "c"]]).features)
    assert (some.mean_l1, some.mean_squared_l1) == pytest.approx((3, 9))


def test_regression_of_another_feature():
    target, image = TARGET[["a", "b"]], IMAGE[["a", "b"]]
    crossed = ensembles.validate_map(target, image, regression_of={"a": "b"}).features
    plain = ensembles.validate_map(target, image).features
    of_b = LinearRegression().fit(target[["a"]].to_numpy(), target["b"])  # predicts b from a, used on b for a
    by_hand = [mean_squared_error(X["a"], of_b.predict(X[["b"]].to_numpy())) for X in (target, image)]
    assert crossed.loc["a", ["mse_target", "mse_image"]].tolist() == pytest.approx(by_hand)
    assert not (crossed == plain).loc["a", ["mse_target", "mse_image"]].any()
    assert crossed.loc["b"].equals(plain.loc["b"])


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
        ensembles.validate_map(target, image, **options)


X = pd.DataFrame({"a": [1.0, 1.0, -1.0, -1.0], "b": 0.0}, index=list("pqrs"))


def positive(table):
    return (table["a"] > 0).astype(int)


@pytest.fixture(scope="module")
def validations():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(1000, 2))
    maps = {name: rng.normal(shift, size=(1000, 2)) for name, shift in (("good", 0), ("shifted", 1))}
    maps["diverged"] = np.full((1000, 2), np.nan)
    return {name: ensembles.validate_map(target, image, X_source=target) for name, image in maps.items()}


LEFT_OUT = "1 of 3 maps miss their target (KS above 0.2) and are left out"


@pytest.mark.parametrize(
    ("names", "used", "note"),
    [
        (["shifted", "good", "good"], [1, 2], LEFT_OUT),
        (["good"], [0], ""),
        (["shifted", "shifted"], [0, 1], "all 2 maps miss their target (KS above 0.2)"),
        (["good", "shifted", "diverged"], [0], f"1 of 3 maps diverged and are left out; {LEFT_OUT}"),
        (["diverged"], [], None),
    ],
)
def test_maps_off_target_and_diverged_ones_are_told_apart_and_counted(validations, names, used, note):
    found = ensembles.usable_maps({k: validations[name] for k, name in enumerate(names)})
    assert found[0] == used
    assert note is None or found[1] == note
    table = ensembles.fit_table({k: validations[name] for k, name in enumerate(names)}, labels={"x0": "first"})
    assert table["off target"].tolist() == [name != "good" for name in names]
    assert table["largest KS"].isna().tolist() == [name == "diverged" for name in names]


def test_flipsets_of_maps_that_have_images():
    flips = ensembles.flipsets_by_map(positive, X, {"identity": X, "swap": -X, "diverged": X * np.nan})
    assert ensembles.size_table(flips).to_dict("index") == {"identity": {"F+": 0, "F−": 0}, "swap": {"F+": 2, "F−": 2}}


def flips(n_positive, n_negative, n=100):
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_spread_over_maps_by_hand():
    intervals = {name: flipset_intervals(flips(*sizes)) for name, sizes in (("A", (10, 30)), ("B", (14, 30)))}
    table, deviation = ensembles.size_spread(ensembles.by_map(intervals)), "standard deviation over maps"
    half = np.mean([(of["high"] - of["low"])["positive"] / 2 for of in intervals.values()])
    expected = {"mean size": 12, "smallest": 10, "largest": 14, "maps": 2, deviation: 8**0.5}
    expected["half-width over people"] = half
    assert table.loc["positive", list(expected)].to_dict() == pytest.approx(expected)
    assert table.loc["negative", deviation] == 0


def test_overlap_by_hand():
    images = [X.assign(a=a) for a in ([-1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0])]  # F+ p, F- r and s; F+ q, F- r
    first, second = (flipset(positive, X, image) for image in images)
    assert ensembles.overlap(first, second).loc[["positive", "negative"]].to_numpy().tolist() == [
        [0, 1, 1, 0],
        [1, 1, 0, 0.5],
    ]
    with pytest.raises(ValueError, match="expected one model, found 4 other predictions"):
        ensembles.overlap(first, flipset(lambda table: 1 - positive(table), X, images[0]))


def test_a_jagged_model_reproduces_its_labels_from_the_seen_columns():
    X = np.random.default_rng(2).normal(size=(80, 3))
    model = noise.random_label_svm(X, np.random.default_rng(3), n_seen=2, C=1e6, gamma=1e3)
    labels = np.random.default_rng(3).integers(2, size=80)
    moved = X + np.array([0, 0, 5])
    np.testing.assert_array_equal([model.predict(X), model.predict(moved)], [labels, labels])


def test_a_model_decides_as_scikit_learn_does():
    X = np.random.default_rng(4).normal(size=(500, 2))
    model = noise.random_label_svm(X, np.random.default_rng(5), n_seen=2)[-1]
    others = np.random.default_rng(6).normal(size=(450, 2))
    decided = model.predict(others)
    np.testing.assert_array_equal(decided, SVC.predict(model, others))
    assert 50 < decided.sum() < 400


def test_both_readings_of_the_printed_share_by_hand():
    counts = pd.DataFrame({"people": [100], "positive": [40], "F+": [4], "F−": [3]})
    assert noise.shares_of_people(counts).iloc[0].tolist() == pytest.approx([0.07, 0.04, 0.03, 0.4, 0.1, 0.05])


@pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
def test_features_have_unit_variance_and_the_correlation(correlation):
    X = stability.equicorrelated_normal(np.random.default_rng(0), 100_000, 3, correlation=correlation)
    expected = np.full((3, 3), correlation) + np.eye(3) * (1 - correlation)
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.02)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)


def images_of(origin, ones):
    return [{"origin": np.array(x), "ones": np.array(y)} for x, y in zip(origin, ones, strict=True)]


def test_statistics_by_hand():
    images = images_of([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]], [[1.0, 0.0], [1.0, 0.5], [0.4, 0.1]])
    np.testing.assert_allclose(stability.coordinate_statistics(images)[["variance", "mean"]], [[4, 0.8], [3, 0.2]])
    np.testing.assert_allclose(stability.stability_interval(images)["value"], [3.5, 0.5])


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(0)
    covered = np.zeros(2)
    for _ in range(100):
        points = rng.normal(size=(60, 2, 3)) * 0.5 + 1
        interval = stability.stability_interval(images_of(points[:, 0], points[:, 1]), n_resamples=300)
        covered += (interval["low"] < [0.25, 1]) & (interval["high"] > [0.25, 1])
    assert (covered >= 80).all()


def fit(ks, mean_l1=0.5):
    table = pd.DataFrame({"ks": [ks], "mse_target": 1.0, "mse_image": 1.0, "mse_difference": 0.0}, index=["x0"])
    return ensembles.MapValidation(table, mean_l1, mean_l1**2).to_frame()


def test_draws_whose_map_missed_its_target_are_left_out():
    draws = images_of([[0.0], [1.0], [2.0]], [[1.0], [1.0], [2.0]])
    assert stability.usable_draws(draws) == (draws, "")  # exact maps
    learnt = [draw | {"fit": fit(ks)} for draw, ks in zip(draws, (0.1, 0.3, 0.2), strict=True)]
    used, note = stability.usable_draws(learnt)
    assert ([draw["origin"].item() for draw in used], note) == ([0, 2], LEFT_OUT)


def test_what_a_setting_does_by_hand():
    draws = images_of([[0.0, 0.0], [2.0, 4.0]], [[1.0, 0.0], [1.0, 2.0]])
    learnt = [draw | {"fit": fit(ks, l1)} for draw, ks, l1 in zip(draws, (0.1, 0.3), (1.0, 3.0), strict=True)]
    found = stability.summary_of_setting(learnt)
    expected = {"variance": 5, "mean of ones": 1, "largest KS": 0.3, "mean L1 per feature": 1, "off target": 1}
    assert found == pytest.approx(expected)
