import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import geom

from fairlab.data import load
from fairlab.data.variants.arrests import STOP, classify, draw


def test_model_by_hand():
    assert classify([0, 1, 1, 2, 7], [1, 0, 1, 0, 0]).tolist() == [0, 0, 1, 1, 1]
    assert classify([0, 1, 2], 0.5).tolist() == [0, 0.5, 1]


def test_model_on_what_is_no_whole_number():
    assert classify([-0.2, 0.9, 1.1], 0.5).tolist() == [0, 0, 1]


def test_arrests_are_geometric_from_zero():
    n = 20000
    for group, table in draw(n, seed=5).groupby("group"):
        expected = geom(STOP[group], loc=-1).pmf(np.arange(4))
        found = [(table["arrests"] == k).mean() for k in range(4)]
        np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / n))
        assert table["arrests"].min() == 0


def test_rates_of_high_risk_are_those_of_the_recipe():
    n = 20000
    rates = draw(n, seed=6).groupby("group")["high_risk"].mean()
    assert rates["S"] == pytest.approx(9 / 16 + 3 / 32, abs=4 * np.sqrt(0.25 / n))
    assert rates["S'"] == pytest.approx(1 / 4 + 1 / 8, abs=4 * np.sqrt(0.25 / n))


def test_dataset():
    dataset = load("arrests", n_points=50, seed=3)
    assert list(dataset.features.columns) == ["arrests"]
    assert dataset.target.name == "high_risk"
    assert dataset.positive_label == 0
    assert dataset.sensitive_features["group"].tolist() == ["S"] * 50 + ["S'"] * 50
    assert dataset.provenance.source == "generated"


def test_every_parameter_changes_the_digest():
    options = [{}, {"n_points": 51}, {"seed": 1}]
    assert len({load("arrests", **{"n_points": 50} | option).provenance.data_hash for option in options}) == 3
    assert load("arrests", n_points=50).provenance.data_hash == load("arrests", n_points=50).provenance.data_hash


@given(n_points=st.integers(1, 40), seed=st.integers(0, 2**31))
def test_only_people_with_one_arrest_depend_on_the_coin(n_points, seed):
    table = draw(n_points, seed=seed)
    assert len(table) == 2 * n_points
    sure = table[table["arrests"] != 1]
    assert (sure["high_risk"] == (sure["arrests"] >= 2)).all()


@pytest.mark.parametrize("n_points", [0, -3, 2.5])
def test_size_must_be_a_positive_integer(n_points):
    with pytest.raises(ValueError, match=f"n_points: expected a positive integer, found {n_points}"):
        draw(n_points)
