from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.data import load
from fairlab.papers.fairtest.planted import SIZE_CLASSES, count_users, draw_pairs, plant_counts, plant_effects

TEMPLATE = load("staples", surrogate=True)


def population(counts):
    """Users with so many in each (state, race); every third is below 50,000 dollars."""
    people = [(state, race) for (state, race), count in counts.items() for _ in range(count)]
    features = pd.DataFrame(people, columns=["state", "race"])
    features["income"] = np.where(np.arange(len(features)) % 3 == 0, "<50K", ">=50K")
    target = pd.Series(["low"] * len(features), name="price")
    return replace(TEMPLATE, features=features, target=target, sensitive_features=features[["income", "race"]])


TOY = {("X", "a"): 90, ("X", "b"): 400, ("X", "c"): 900, ("Y", "a"): 90, ("Y", "b"): 299, ("Y", "c"): 5000}
ONE = pd.DataFrame({"state": ["X"], "race": ["b"]})


def test_pairs_by_hand():
    # State Y is left out: its second largest race has 299 users.
    dataset = population(TOY)
    assert draw_pairs(dataset, size=100, n_pairs=1).to_numpy().tolist() == [["X", "a", 90]]
    assert draw_pairs(dataset, size=1000, n_pairs=1)["race"].tolist() == ["c"]
    assert draw_pairs(dataset, size=500, n_pairs=1)["users"].tolist() == [400]  # 20% less is still of the class
    with pytest.raises(ValueError, match="2,000 users, expected at least 1; take more users"):
        draw_pairs(dataset, size=2000, n_pairs=1)
    with pytest.raises(ValueError, match="size: expected one of 100, 500, 1000, 2000, 5000, 10000, found 300"):
        draw_pairs(dataset, size=300)


def test_of_pairs_of_the_same_size_one_survives():
    dataset = population(TOY | {("Y", "b"): 300, ("Y", "a"): 90})
    with pytest.raises(ValueError, match="1 pairs of a state and a race with about 100 users, expected at least 2"):
        draw_pairs(dataset, size=100, n_pairs=2)


def low_counts(dataset):
    low = dataset.target == "low"
    inside = (dataset.features["state"] == "X") & (dataset.features["race"] == "b")
    return low, inside


def test_effect_by_hand():
    dataset = population(TOY)
    planted = plant_effects(dataset, ONE, delta=10, seed=3)
    low, inside = low_counts(planted)
    rich = dataset.features["income"] == ">=50K"
    n_rich = int((inside & rich).sum())
    assert low[inside & rich].sum() == np.ceil(0.6 * n_rich)
    assert low[inside & ~rich].sum() == np.ceil(0.4 * (400 - n_rich))
    assert low[~inside].sum() == np.ceil((~inside).sum() / 2)
    assert planted.features is dataset.features
    assert planted.target.name == "price"
    assert planted.provenance.data_hash != dataset.provenance.data_hash
    assert "delta=10" in planted.provenance.note


@settings(deadline=None, max_examples=20)
@given(delta=st.sampled_from([0, 2.5, 5, 10, 15, 50]), seed=st.integers(0, 99))
def test_numbers_are_exact_whatever_the_draw(delta, seed):
    planted = plant_effects(population({("X", "b"): 240, ("X", "c"): 61}), ONE, delta=delta, seed=seed)
    low, inside = low_counts(planted)
    rich = planted.features["income"] == ">=50K"
    for group, percent in ((inside & rich, 50 + delta), (inside & ~rich, 50 - delta), (~inside, 50)):
        assert low[group].sum() == int(np.ceil(group.sum() * percent / 100))


def test_others_are_independent_of_income_and_order():
    dataset = population({("X", "b"): 300, ("X", "c"): 20_000})
    low, inside = low_counts(plant_effects(dataset, ONE, delta=15, seed=1))
    other = low[~inside].reset_index(drop=True)
    rich = dataset.features.loc[~inside, "income"].eq(">=50K").reset_index(drop=True)
    assert other[rich].mean() == pytest.approx(0.5, abs=0.015)
    assert other[:10_000].mean() == pytest.approx(0.5, abs=0.015)


def test_counts_are_those_of_listed_users_and_as_scattered():
    dataset = load("staples", n_users=3_000, surrogate=True)
    pairs = dataset.features.groupby(["state", "race"], observed=True).size().nlargest(2).index.to_frame(index=False)
    users, rng = count_users(dataset), np.random.default_rng(0)
    assert users.sum() == 3_000
    drawn = np.stack([plant_counts(users, pairs, delta=20, rng=rng) for _ in range(300)])
    assert (drawn.sum(axis=-1) == users.to_numpy().reshape(drawn.shape[1:-1])).all()
    low = np.stack(
        [
            dataset.features.assign(low=plant_effects(dataset, pairs, delta=20, seed=seed).target == "low")
            .groupby(users.index.names, observed=False)["low"]
            .sum()
            .to_numpy()
            for seed in range(30)
        ]
    )
    ours = drawn[..., 1].reshape(300, -1)
    in_pair = users.index.droplevel(["gender", "income"]).isin(list(pairs[["state", "race"]].itertuples(index=False)))
    for counts in (ours, low):
        assert len(np.unique(counts[:, in_pair].sum(axis=1))) == 1
    large = users.to_numpy() > 30
    np.testing.assert_allclose(ours.mean(axis=0)[large], low.mean(axis=0)[large], rtol=0.2)
    assert ours.var(axis=0)[large].mean() == pytest.approx(low.var(axis=0)[large].mean(), rel=0.2)


def test_bad_pairs_and_effects():
    dataset = population(TOY)
    with pytest.raises(ValueError, match="pairs: X, b is listed twice"):
        plant_effects(dataset, pd.concat([ONE, ONE]), delta=5)
    with pytest.raises(ValueError, match="pairs: Z, b has no users"):
        plant_effects(dataset, ONE.assign(state="Z"), delta=5)
    for delta in (-1, 51):
        with pytest.raises(ValueError, match=f"delta: expected percentage points from 0 to 50, found {delta}"):
            plant_effects(dataset, ONE, delta=delta)


def test_a_million_users_have_ten_pairs_of_every_size():
    dataset = load("staples", n_users=988_871, surrogate=True)
    for size, slack in SIZE_CLASSES.items():
        pairs = draw_pairs(dataset, size=size, seed=2)
        assert len(pairs.drop_duplicates(["state", "race"])) == 10
        assert pairs["users"].between(size * (1 - slack), size * (1 + slack)).all()


def test_low_prices_are_those_of_the_lowest_ranks():
    """The same as by ranks within the groups whose number of low prices is fixed."""
    dataset = load("staples", n_users=20_000, surrogate=True)
    pairs = dataset.features.groupby(["state", "race"], observed=True).size().nlargest(3).index.to_frame(index=False)
    users, drawn = dataset.features, pd.Series(np.random.default_rng(4).random(20_000))
    planted = plant_effects(dataset, pairs, delta=20, seed=4)
    wanted = list(zip(pairs["state"], pairs["race"], strict=True))
    for number, group in users.groupby([users["state"].astype(str), users["race"].astype(str)]).groups.items():
        if number in wanted:
            for income, share in (("<50K", 0.3), (">=50K", 0.7)):
                rows = users.index.get_indexer(group[(users.loc[group, "income"] == income).to_numpy()])
                low = drawn[rows].rank() <= np.ceil(len(rows) * share)
                assert ((planted.target.to_numpy()[rows] == "low") == low.to_numpy()).all()
