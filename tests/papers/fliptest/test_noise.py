import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from fairlab.papers.fliptest.ensembles import DISTANCES, MEASURES
from fairlab.papers.fliptest.noise import (
    SHIFT,
    flip_counts,
    flip_series,
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


def test_a_jagged_model_reproduces_its_labels_from_the_seen_columns():
    X = np.random.default_rng(2).normal(size=(80, 3))
    model = random_label_svm(X, np.random.default_rng(3), n_seen=2, C=1e6, gamma=1e3)
    labels = np.random.default_rng(3).integers(2, size=80)
    np.testing.assert_array_equal(model.predict(X), labels)
    moved = X + np.array([0, 0, 5])
    np.testing.assert_array_equal(model.predict(moved), labels)


def test_a_model_decides_as_scikit_learn_does():
    X = np.random.default_rng(4).normal(size=(500, 2))
    model = random_label_svm(X, np.random.default_rng(5), n_seen=2)[-1]
    others = np.random.default_rng(6).normal(size=(450, 2))
    decided = model.predict(others)
    np.testing.assert_array_equal(decided, SVC.predict(model, others))
    assert 50 < decided.sum() < 400


def floor(ks=0.1, **sizes):
    flips = []
    for name, (n_positive, n_negative) in sizes.items():
        prediction, image = np.zeros((2, 10), dtype=int)
        prediction[:n_positive] = 1
        image[n_positive : n_positive + n_negative] = 1
        flips.append({"map": name, "prediction": prediction, "image_prediction": image})
    fit = pd.DataFrame(1.0, index=["x0", "x1"], columns=[*MEASURES, *DISTANCES]).assign(ks=[0, ks])
    return {"fit": fit, "moved": 0.5, "flips": flips}


def test_flips_are_counted_per_trial_and_map():
    floors = {0: floor(GAN=(2, 1), exact=(3, 4)), 5: floor(GAN=(1, 1))}
    table = flip_counts(floors)
    assert table["trial"].tolist() == [0, 0, 5]
    assert table["map"].tolist() == ["GAN", "exact", "GAN"]
    assert table[["people", "positive", "F+", "F−"]].to_numpy().tolist() == [
        [10, 2, 2, 1],
        [10, 3, 3, 4],
        [10, 1, 1, 1],
    ]
    assert floor_flipsets(floors[0])["exact"].n_negative == 4


def test_a_series_leaves_maps_out_that_miss_their_target():
    series = flip_series(
        {
            (2, 2, 1.0, "scale"): [floor(GAN=(2, 1)), floor(ks=0.9, GAN=(5, 5)), floor(ks=0.2, GAN=(1, 3))],
            (8, 2, 1.0, 5.0): [floor(GAN=(4, 4), exact=(0, 0))],
        }
    )
    assert series[["seen", "telling", "gamma", "trial", "F+", "F−"]].to_numpy().tolist() == [
        [2, 2, "scale", 0, 2, 1],
        [2, 2, "scale", 2, 1, 3],
        [8, 2, 5.0, 0, 4, 4],
    ]
    assert series["largest KS"].tolist() == [0.1, 0.2, 0.1]
    assert (series["moved"] == 0.5).all()


def test_both_readings_of_the_printed_share_by_hand():
    counts = pd.DataFrame({"people": [100], "positive": [40], "F+": [4], "F−": [3]})
    shares = shares_of_people(counts).iloc[0]
    assert shares.tolist() == pytest.approx([0.07, 0.04, 0.03, 0.4, 0.1, 0.05])
