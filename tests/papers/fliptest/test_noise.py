import numpy as np
import pytest

from fairlab.papers.fliptest.noise import SHIFT, identical_groups, noise_floors, random_label_svm
from fairlab.seeds import Trial

SIZES = {"n_points": 60, "n_subset": 40, "n_seen": 2, "n_telling": 1}


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


def test_noise_floors():
    pytest.importorskip("tensorflow")
    recipe = {"hidden_layers": (8,), "n_steps": 4, "batch_size": 8}
    trials = [Trial("x/y", k, 0) for k in range(2)]
    svms = [(1.0, "scale"), (100.0, 5.0)]
    both = noise_floors(trials, **SIZES, svms=svms, **recipe)
    [alone] = noise_floors(trials[1:], **SIZES, svms=svms[1:], **recipe)
    table = both[1].to_frame()
    assert table["map"].tolist() == ["GAN", "GAN, subset", "exact, subset"] * 2
    assert table["people"].tolist() == [60, 40, 40] * 2
    assert table[table["C"] == 100].to_numpy().tolist() == alone.to_frame().to_numpy().tolist()
    for floor in both:
        for by_map in floor.flips.values():
            gan, subset, exact = by_map.values()
            np.testing.assert_array_equal(gan.image_prediction[:40], subset.image_prediction)
            np.testing.assert_array_equal(exact.prediction, subset.prediction)
    # Proposition 2: the exact flipsets differ as the two groups' predictions do.
    source, target = identical_groups(trials[1].rng("points"), 60, n_seen=2, n_telling=1)
    model = random_label_svm(np.vstack([source, target]), trials[1].rng("labels"), n_seen=2, C=100.0, gamma=5.0)
    net = model.predict(source[:40]).sum() - model.predict(target[:40]).sum()
    assert both[1].flips[100.0, 5.0]["exact, subset"].net == net


def test_a_map_that_diverged_has_no_flips():
    pytest.importorskip("tensorflow")
    recipe = {"hidden_layers": (8,), "n_steps": 3, "batch_size": 8, "penalty": [1e-4, 3e38], "learning_rate": 1e6}
    from fairlab.transport import DivergenceWarning

    trials = [Trial("x/y", k, 0) for k in range(2)]
    with pytest.warns(DivergenceWarning):
        healthy, diverged = noise_floors(trials, **SIZES, svms=[(1.0, "scale")], **recipe)
    assert diverged.validation.diverged
    assert diverged.flips == {}
    assert len(healthy.to_frame()) == 3
