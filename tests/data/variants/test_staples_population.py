import numpy as np
import pytest

from fairlab.data import load
from fairlab.data.variants.staples_population import LEVELS, draw_counts, expected_cells


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


def test_the_shoppers_of_a_seed_are_the_same_with_both_prices():
    published, described = (draw_counts(30_000, seed=5, reading=r) for r in ("as_published", "as_described"))
    people = LEVELS[:-1]
    assert published.groupby(people).sum().equals(described.groupby(people).sum())
    high = [counts.xs("high", level="price").sum() for counts in (published, described)]
    assert 2 < high[1] / high[0] < 4
    assert not published.equals(draw_counts(30_000, seed=6))


def test_bad_options():
    with pytest.raises(ValueError, match="reading: expected one of as_published, as_described, found 'right'"):
        draw_counts(reading="right")
    with pytest.raises(ValueError, match="n_users: expected a positive integer, found 0"):
        load("staples-population", n_users=0)
