from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import Flipset, flipset
from fairlab.papers.fliptest.prior_arrests import (
    best_ks_of_a_function,
    both_models,
    correlation,
    correlation_by_arrests,
    expected_flips,
    flips_by_reading,
    measured_flips,
    monotone_rearrangement,
    population_plan,
    redrawn_flips,
    root_of_l1,
    subgroup_table,
    tossing_model,
)
from fairlab.transport import ExactTransport, squared_l1

S = pd.DataFrame({"arrests": [0, 1, 1, 2, 5]}, index=list("vwxyz"))


def test_one_model_tosses_anew_and_the_other_remembers(trials):
    many = pd.DataFrame({"arrests": np.ones(200)})
    tossing = tossing_model(np.random.default_rng(0))
    first, second = tossing(many), tossing(many)
    assert 60 < first.sum() < 140
    assert (first != second).any()
    coin = pd.Series([0, 1, 0, 1, 0], index=S.index)
    remembering = both_models(trials[0], coin)["per person"]
    assert remembering(S).tolist() == [0, 1, 0, 1, 1]
    assert remembering(S.loc[["x", "w"]]).tolist() == [0, 1]


def test_the_tosses_are_those_of_the_trial(trials):
    ones = pd.DataFrame({"arrests": np.ones(50)}, index=range(50))
    coin = pd.Series(1, index=range(50))
    first, again = (both_models(trials[0], coin)["per prediction"](ones) for _ in range(2))
    other = both_models(trials[1], coin)["per prediction"](ones)
    assert (first == again).all()
    assert (first != other).any()
    assert both_models(trials[0], coin)["per person"](ones).all()


def test_expectation_by_hand():
    # F_S = 1/4, 7/16, ...; F_S' = 1/2, 3/4, ...
    values = np.arange(200)
    plan = population_plan(values)
    np.testing.assert_allclose(plan[:3, :2], [[1 / 4, 0], [3 / 16, 0], [1 / 16, 5 / 64]])
    assert plan.sum() == pytest.approx(1)
    found = expected_flips(plan, values, values, n_points=1000)
    assert found["F+"] == pytest.approx(1000 * (3 / 32 + 1 / 16 + 1 / 8))
    assert found["F−"] == 0
    assert found["share with more arrests"] == 1


def test_expectation_of_a_small_plan_with_coins_on_both_sides():
    found = expected_flips(np.array([[0.5, 0.0], [0.0, 0.5]]), [0, 1], [1, 1], n_points=8)
    # half of 4 people without arrests meet a coin that says high; of the other 4 a quarter flips each way
    assert (found["F+"], found["F−"]) == (1, 3)
    assert found["mean difference"] == 0


def test_measured_flips_by_hand():
    image = S["arrests"] - [0, 1, 0, 2, 1]
    flip = Flipset(np.array([0, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 1]), S.index)
    found = measured_flips(flip, S["arrests"], image)
    assert found == {"F+": 3, "F−": 0, "share with more arrests": 2 / 3, "mean difference": 1}


def test_readings_of_fractions(trials):
    raw = {0: S.assign(arrests=[0.2, 0.6, 0.6, 0.9, 1.6])}
    table = flips_by_reading(S, raw, pd.Series(1, index=S.index), lambda k: trials[k])
    assert table["map"].unique().tolist() == ["GAN 0"]
    per_person = table[table["coin"] == "per person"].set_index("fractions")["F+"]
    # rounded: 0, 1, 1, 1, 2, all high but the first; cut off and as they are: y goes below one arrest, with w and x
    assert per_person.to_dict() == {"rounded": 0, "cut off": 3, "as they are": 3}


def test_the_order_among_equals_and_the_tosses_are_drawn_anew():
    many = pd.DataFrame({"arrests": np.repeat([0, 1, 2, 3], 25)})
    fewer = pd.DataFrame({"arrests": np.repeat([0, 0, 1, 2], 25)})
    table = redrawn_flips(many, fewer, np.random.default_rng(0), n_redrawn=20)
    assert len(table) == 20
    assert table["F+"].nunique() > 3
    # nobody has fewer arrests than the counterpart, so only coins of those with one make F-: here none
    assert (table["F−"] == 0).all()


def test_best_ks_is_that_of_brute_force():
    # x: 3 people without, 2 with arrests; y: 1 and 4. A function sends 0 and 1 anywhere in {0, 1}.
    x_count, y_count = [3, 2], [1, 4]
    target = y_count[0] / 5
    shares = [sum(n for n, to in zip(x_count, images, strict=True) if to == 0) / 5 for images in np.ndindex(2, 2)]
    assert best_ks_of_a_function(x_count, y_count) == pytest.approx(min(abs(share - target) for share in shares))


def test_correlation_of_a_constant_is_zero():
    assert correlation([0, 1, 0, 1], [0, 1, 0, 1]) == pytest.approx(1)
    assert correlation([0, 1], [1, 1]) == 0


def test_people_with_equally_many_arrests_are_taken_together():
    arrests = pd.Series([0, 0, 4, 7])
    table = correlation_by_arrests(pd.Series([1, 0, 1, 0]), pd.Series([0, 0, 1, 0]), arrests)
    assert table.index.tolist() == ["0", "4 or more"]
    assert table["people"].tolist() == [2, 2]
    assert table["correlation"].tolist() == pytest.approx([0, 1])


def test_a_concave_cost():
    assert root_of_l1(np.array([[0.0]]), np.array([[4.0], [9.0]])).tolist() == [[2, 3]]


def finding(name, protected, output):
    sample = SimpleNamespace(
        sensitive_features=SimpleNamespace(values=np.array(protected)), output=SimpleNamespace(values=np.array(output))
    )
    return SimpleNamespace(
        node=name, size=len(protected), sample=sample, associations=[SimpleNamespace(low=0.1, high=0.3, p_value=0.01)]
    )


def test_subgroups_of_a_report():
    everyone, few = finding("everyone", [0, 1, 0, 1], [0, 1, 0, 1]), finding("few", [0, 1], [1, 1])
    table = subgroup_table([everyone, few], [everyone])
    assert table["correlation"].tolist() == pytest.approx([1, 0])
    assert table["reported"].tolist() == [True, False]
    assert table["people"].tolist() == [4, 2]


def test_a_coin_for_each_pair_flips_equal_people(trials):
    one = pd.DataFrame({"arrests": np.ones(400)}, index=range(400))
    flip = flipset(tossing_model(trials[0].rng("tosses")), one, one)
    assert 60 < flip.n_positive < 140
    assert 60 < flip.n_negative < 140


def test_monotone_rearrangement_by_hand():
    np.testing.assert_array_equal(monotone_rearrangement([3, 1, 2], [10, 30, 20]), [30, 10, 20])
    np.testing.assert_array_equal(monotone_rearrangement([1, 1, 0], [5, 6, 7]), [6, 7, 5])  # equals keep their order


def test_the_rearrangement_costs_as_little_as_the_exact_plan():
    source, target = np.random.default_rng(0).normal(size=(2, 50))
    mean_cost = np.square(monotone_rearrangement(source, target) - source).mean()
    exact = ExactTransport("hungarian", cost=squared_l1).fit(source[:, None], target[:, None])
    assert mean_cost == pytest.approx(exact.cost_, rel=1e-9)
