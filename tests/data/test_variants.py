import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import geom

from fairlab.data import load
from fairlab.data.variants import arrests, individual_simulation, lipton
from fairlab.data.variants.arrests import STOP, classify
from fairlab.data.variants.staples_population import LEVELS, draw_counts, expected_cells


def test_arrests_are_geometric_from_zero():
    n = 20000
    for group, table in arrests.draw(n, seed=5).groupby("group"):
        found = [(table["arrests"] == k).mean() for k in range(4)]
        np.testing.assert_allclose(found, geom(STOP[group], loc=-1).pmf(np.arange(4)), atol=4 * np.sqrt(0.25 / n))


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
def test_draw_order_of_lipton(seed, reseed_labels):
    table = lipton.draw(500, seed=seed, reseed_labels=reseed_labels)
    work, hair, hired = by_the_global_generator(500, seed, reseed_labels)
    assert table["gender"].tolist() == ["male"] * 500 + ["female"] * 500
    np.testing.assert_array_equal(table["work_experience"], work)
    np.testing.assert_array_equal(table["hair_length"], hair)
    np.testing.assert_array_equal(table["hired"], hired)


def test_draw_order_of_individual_simulation():
    np.random.seed(3)  # noqa: NPY002
    x = np.random.normal(scale=0.25, size=(50, 2))  # noqa: NPY002
    majority = np.random.choice([False, True], p=[0.1, 0.9], size=50)  # noqa: NPY002
    noise = np.random.standard_normal(50) * 0.01  # noqa: NPY002
    table = individual_simulation.draw(50, seed=3)
    for row, (first, second), is_majority, error in zip(table.itertuples(), x, majority, noise, strict=True):
        assert row.group == ("majority" if is_majority else "minority")
        assert row.x1 == pytest.approx(first + (-1.5 if is_majority else 1.5))
        assert row.x2 == second
        assert row.label == ((-0.2 if is_majority else 0.2) * first - 0.01 * second + error > 0)


def test_rows_are_the_counts():
    dataset, counts = load("staples-population", n_users=5_000, seed=3), draw_counts(5_000, seed=3)
    assert dataset.provenance.source == "reconstructed"
    rows = dataset.features.assign(price=dataset.target).value_counts()
    assert rows.reorder_levels(LEVELS).to_dict() == counts.to_dict()
    assert len(dataset.target) == 5_000


def test_draws_scatter_around_the_expected_cells():
    cells = expected_cells()
    drawn = np.mean([draw_counts(200_000, seed=seed) for seed in range(20)], axis=0)
    drawn = draw_counts(1).to_frame("n").assign(n=drawn)["n"]
    expected = cells.groupby(["state", "race", "price_as_published"])["people"].sum() / 5
    found = drawn.groupby(["state", "race", "price"]).sum().reindex(expected.index)
    large = expected > 100
    assert ((found - expected)[large] / np.sqrt(expected[large] / 20)).std() == pytest.approx(1, abs=0.2)
    low = drawn.xs("<50K", level="income").sum() / drawn.sum()
    assert low == pytest.approx(np.average(cells["low_income"], weights=cells["people"]), abs=0.003)


@given(n_points=st.integers(1, 40), seed=st.integers(0, 2**31))
def test_only_people_with_one_arrest_depend_on_the_coin(n_points, seed):
    table = arrests.draw(n_points, seed=seed)
    sure = table[table["arrests"] != 1]
    assert (len(table), sure["high_risk"].tolist()) == (2 * n_points, (sure["arrests"] >= 2).tolist())
    assert classify([0, 1, 1, 2, 7], [1, 0, 1, 0, 0]).tolist() == [0, 0, 1, 1, 1]
