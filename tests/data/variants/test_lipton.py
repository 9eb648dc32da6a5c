import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.data import load
from fairlab.data.variants.lipton import draw

FIRST_WORK = [12.054195524693316, 12.824038359137624, 10.048841416390069]
FIRST_HAIR = [16.723766484728557, 7.041897125641252, 17.847969150823204]


def by_the_global_generator(n, seed, reseed_labels):
    """The authors' order, once more, with NumPy's global generator as they used it."""
    np.random.seed(seed)  # noqa: NPY002
    men = np.random.poisson(31, size=n) - np.random.normal(20, 0.2, size=n)  # noqa: NPY002
    women = np.random.poisson(25, size=n) - np.random.normal(20, 0.2, size=n)  # noqa: NPY002
    np.random.seed(seed + 1)  # noqa: NPY002
    hair_men = 35 * np.random.beta(2, 7, size=n)  # noqa: NPY002
    hair_women = 35 * np.random.beta(2, 2, size=n)  # noqa: NPY002
    if reseed_labels:
        np.random.seed(seed + 2)  # noqa: NPY002
    hired_men = np.random.binomial(1, 1 / (1 + np.exp(25.5 - 2.5 * men)))  # noqa: NPY002
    hired_women = np.random.binomial(1, 1 / (1 + np.exp(25.5 - 2.5 * women)))  # noqa: NPY002
    return np.r_[men, women], np.r_[hair_men, hair_women], np.r_[hired_men, hired_women]


@pytest.mark.parametrize("reseed_labels", [False, True])
@pytest.mark.parametrize("seed", [0, 7])
def test_draw_order(seed, reseed_labels):
    table = draw(500, seed=seed, reseed_labels=reseed_labels)
    work, hair, hired = by_the_global_generator(500, seed, reseed_labels)
    assert table["gender"].tolist() == ["male"] * 500 + ["female"] * 500
    np.testing.assert_array_equal(table["work_experience"], work)
    np.testing.assert_array_equal(table["hair_length"], hair)
    np.testing.assert_array_equal(table["hired"], hired)


def test_first_values_do_not_move():
    table = draw(10000)
    np.testing.assert_allclose(table["work_experience"].head(3), FIRST_WORK, rtol=1e-12)
    np.testing.assert_allclose(table["hair_length"].head(3), FIRST_HAIR, rtol=1e-12)


def test_dataset():
    dataset = load("lipton", n_points=50, seed=3)
    assert list(dataset.features.columns) == ["work_experience", "hair_length"]
    assert dataset.target.name == "hired"
    assert dataset.privileged_group == {"gender": "male"}
    assert dataset.provenance.source == "generated"
    assert dataset.provenance.rows == len(dataset.features) == 100


def test_every_parameter_changes_the_digest():
    options = [{}, {"n_points": 51}, {"seed": 1}, {"reseed_labels": True}]
    digests = {load("lipton", **{"n_points": 50} | option).provenance.data_hash for option in options}
    assert len(digests) == len(options)
    assert load("lipton", n_points=50).provenance.data_hash in digests


def test_moments_are_those_of_the_recipe():
    table = draw(20000, seed=11).groupby("gender")[["work_experience", "hair_length"]].mean()
    error = 4 * np.sqrt(31 / 20000)
    assert table.loc["male", "work_experience"] == pytest.approx(11, abs=error)
    assert table.loc["female", "work_experience"] == pytest.approx(5, abs=error)
    assert table.loc["male", "hair_length"] == pytest.approx(35 * 2 / 9, abs=0.15)
    assert table.loc["female", "hair_length"] == pytest.approx(35 / 2, abs=0.25)


@given(n_points=st.integers(1, 40), seed=st.integers(0, 2**31))
def test_any_size_and_seed(n_points, seed):
    table = draw(n_points, seed=seed)
    assert len(table) == 2 * n_points
    assert table["hair_length"].between(0, 35).all()
    assert table["hired"].isin([0, 1]).all()


@pytest.mark.parametrize("n_points", [0, -3, 2.5])
def test_size_must_be_a_positive_integer(n_points):
    with pytest.raises(ValueError, match=f"n_points: expected a positive integer, found {n_points}"):
        draw(n_points)
