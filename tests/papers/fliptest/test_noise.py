import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fliptest.noise import (
    SHIFT,
    flip_counts,
    floor_flipsets,
    identical_groups,
    random_label_svm,
    shares_of_people,
)


def test_groups_are_alike_in_what_is_seen_only():
    n = 20000
    source, target = identical_groups(np.random.default_rng(1), n, n_seen=2, n_telling=3)
    error = 4 / np.sqrt(n)
    np.testing.assert_allclose(source.mean(axis=0), [0, 0, 0, 0, 0], atol=error)
    np.testing.assert_allclose(target.mean(axis=0), [0, 0, SHIFT, SHIFT, SHIFT], atol=error)
    np.testing.assert_allclose(np.cov(target.T), np.eye(5), atol=2 * error)


@pytest.mark.parametrize(("name", "value"), [("n_points", 0), ("n_seen", 0), ("n_telling", -1)])
def test_numbers_too_small(name, value):
    options = {"n_points": 5, "n_seen": 1, "n_telling": 1} | {name: value}
    with pytest.raises(ValueError, match=f"{name}: expected at least"):
        identical_groups(np.random.default_rng(0), options.pop("n_points"), **options)


def test_a_jagged_model_reproduces_its_labels_from_the_seen_columns():
    X = np.random.default_rng(2).normal(size=(80, 3))
    model = random_label_svm(X, np.random.default_rng(3), n_seen=2, C=1e6, gamma=1e3)
    labels = np.random.default_rng(3).integers(2, size=80)
    np.testing.assert_array_equal(model.predict(X), labels)
    moved = X + np.array([0, 0, 5])
    np.testing.assert_array_equal(model.predict(moved), labels)


def floor(C, **sizes):
    flips = []
    for name, (n_positive, n_negative) in sizes.items():
        prediction, image = np.zeros((2, 10), dtype=int)
        prediction[:n_positive] = 1
        image[n_positive : n_positive + n_negative] = 1
        flips.append({"C": C, "gamma": "scale", "map": name, "prediction": prediction, "image_prediction": image})
    return {"flips": flips}


def test_flips_are_counted_per_trial_model_and_map():
    floors = {0: floor(1.0, GAN=(2, 1), exact=(3, 4)), 5: floor(1.0, GAN=(1, 1))}
    table = flip_counts(floors)
    assert table["trial"].tolist() == [0, 0, 5]
    assert table["map"].tolist() == ["GAN", "exact", "GAN"]
    assert table[["people", "positive", "F+", "F−"]].to_numpy().tolist() == [
        [10, 2, 2, 1],
        [10, 3, 3, 4],
        [10, 1, 1, 1],
    ]
    assert floor_flipsets(floors[0])[1.0, "scale", "exact"].n_negative == 4


def test_both_readings_of_the_printed_share_by_hand():
    counts = pd.DataFrame({"people": [100], "positive": [40], "F+": [4], "F−": [3]})
    shares = shares_of_people(counts).iloc[0]
    assert shares.tolist() == pytest.approx([0.07, 0.04, 0.03, 0.4, 0.1, 0.05])
