import numpy as np
import pandas as pd
import pytest

from fairlab.data import load

pytestmark = pytest.mark.usefixtures("drawn_once")


def test_columns_and_readings():
    published, described = (load("staples", reading=r, surrogate=True) for r in ("as_published", "as_described"))
    for dataset in (published, described):
        assert list(dataset.features.columns) == ["state", "gender", "race", "income"]
        assert dataset.target.name == "price"
        assert dataset.encoding["price"] == ("high", "low")
        assert set(dataset.encoding) == {"state", "gender", "race", "income", "price"}
    assert published.features.equals(described.features)
    assert (published.target == "high").mean() < 0.07 < 0.15 < (described.target == "high").mean()
    assert published.provenance.data_hash != described.provenance.data_hash
    assert "reading=as_described" in described.provenance.note


def test_more_users_are_drawn_with_replacement():
    population = load("staples", surrogate=True)
    larger = load("staples", n_users=200_000, seed=4, surrogate=True)
    assert len(larger.features) == larger.provenance.rows == 200_000
    assert larger.features.index.equals(pd.RangeIndex(200_000))
    shares = [
        d.target.groupby(d.features["race"], observed=True).value_counts(normalize=True) for d in (population, larger)
    ]
    np.testing.assert_allclose(shares[1].loc[:, "high"], shares[0].loc[:, "high"], atol=0.03)
    assert larger.features.equals(load("staples", n_users=200_000, seed=4, surrogate=True).features)
    assert not larger.features.equals(load("staples", n_users=200_000, seed=5, surrogate=True).features)


def test_bad_options():
    with pytest.raises(ValueError, match="reading: expected one of as_published, as_described, found 'right'"):
        load("staples", reading="right")
    for n_users in (0, -5, 1.5):
        with pytest.raises(ValueError, match=f"n_users: expected a positive integer, found {n_users}"):
            load("staples", n_users=n_users)
