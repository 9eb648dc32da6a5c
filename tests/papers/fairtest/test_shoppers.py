import numpy as np
import pytest

from fairlab.data import load
from fairlab.data.variants.staples_population import draw_counts
from fairlab.papers.fairtest.shoppers import count_table, drawn_shoppers, margins, parted, values_over_draws
from fairlab.seeds import Trial

TRIAL = Trial("fairtest", 0)


@pytest.fixture(scope="module")
def draws():
    return {budget: [drawn_shoppers(TRIAL, budget=budget, n_users=60_000)] for budget in (1, 3)}


def test_parts_are_disjoint_shares_of_the_shoppers():
    population = draw_counts(10_000, seed=1)
    for budget, (n_train, n_test) in {1: (5_000, 5_000), 3: (2_500, 2_500)}.items():
        halves = parted(population, budget, np.random.default_rng(0))
        train, test = halves["income"]
        assert (train.sum(), test.sum()) == (n_train, n_test)
        whole = population.to_numpy().reshape([len(level) for level in population.index.levels]).swapaxes(2, 2)
        assert (train + test <= whole).all()  # state, gender, race, income and price are in the order of the counts
        by_race = halves["race"]
        np.testing.assert_array_equal(by_race[0], train.swapaxes(2, 3))
        np.testing.assert_array_equal(by_race[1], test.swapaxes(2, 3))


def test_a_draw_says_what_table_2_and_the_figures_print(draws):
    [draw] = draws[1]
    counts = draw["counts"]
    assert counts["discovered"] >= counts["validated"] >= counts["reported"] - 2 >= 0
    assert draw["values"]["figure-2"]["global.size"] == 30_000
    everyone = draw["values"]["figure-11"]
    assert everyone["global.high.total"] + everyone["global.low.total"] == 30_000
    assert draw["in_tree"]["figure-2 global"]
    assert draw["high_prices"]["American Indian and Alaska Native"] > 10
    for effects in draw["reported_effects"].values():
        assert (np.diff(effects[1:]) <= 0).all()


def test_the_shoppers_of_a_trial_are_the_same_with_every_budget(draws):
    sizes = [draws[budget][0]["values"]["figure-2"]["global.size"] for budget in (1, 3)]
    assert sizes == [30_000, 15_000]
    again = drawn_shoppers(TRIAL, budget=3, n_users=60_000)
    assert again["counts"] == draws[3][0]["counts"]


def test_draws_as_a_table(draws):
    table = count_table(draws)
    assert table["budget"].tolist() == [1, 3]
    assert {"discovered", "reported", "strongest of all"} <= set(table)
    values = values_over_draws(draws[1] * 2, "figure-2")
    assert values["global.nmi"].shape == (2, 2)
    assert values["sub1.size"].shape == (2,)


def test_margins_of_the_drawn_are_near_those_of_the_public():
    table = margins(load("staples", surrogate=True), load("staples-population", n_users=300_000, seed=2))
    assert table.loc["high price", "public"] == pytest.approx(5.9, abs=0.05)
    assert table[["public", "drawn"]].filter(like="race", axis=0).sum().tolist() == pytest.approx([100, 100])
    assert (table["errors"].abs() < 4).mean() > 0.9
    assert (abs(table["drawn"] - table["public"]) < 0.5).all()
