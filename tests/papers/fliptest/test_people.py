"""The people of each study, the rules and models that decide on them, and what flips among them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.data.dataset import Dataset, Provenance
from fairlab.fliptest import Flipset, flipset
from fairlab.papers.fliptest.counterfactual import KnowledgeModel
from fairlab.papers.fliptest.hiring import AUTHORS_COEF, authors_model, scaled_groups
from fairlab.papers.fliptest.law_students import (
    ATTRIBUTES,
    Cut,
    black_and_white,
    map_table,
    setup_table,
    setups,
    to_white,
    two_sexes,
    white_counterfactual,
)
from fairlab.papers.fliptest.prior_arrests import (
    best_ks_of_a_function,
    both_models,
    correlation_by_arrests,
    expected_flips,
    measured_flips,
    monotone_rearrangement,
    population_plan,
    subgroup_table,
    tossing_model,
)
from fairlab.papers.fliptest.strategic_subjects import (
    LABELS,
    RACES,
    biased_model,
    investigated,
    proxy_model,
    subjects,
)
from fairlab.seeds import Trial
from fairlab.transport import ExactTransport, squared_l1

TRIALS = [Trial("x/y", k, 0) for k in range(2)]


@pytest.fixture(scope="module")
def chicago():
    rng = np.random.default_rng(0)
    n = 5_000
    race = rng.choice(["BLK", "WHI", "WWH"], n)
    features = pd.DataFrame({name: rng.poisson(1, n) for name in LABELS}).assign(age=10 * rng.integers(1, 8, n))
    features["narcotics_arrests"] += 2 * (race == "BLK")
    features["gang_affiliation"] = ((race != "BLK") & (rng.random(n) < 0.5)).astype(int)
    return Dataset(
        features=features,
        target=pd.Series(rng.integers(340, 350, n), name="score"),
        sensitive_features=pd.DataFrame({"race": race}),
        positive_label=None,
        privileged_group={"race": "WHI"},
        encoding={},
        provenance=Provenance(variant="ssl", source="surrogate", data_hash="", rows=n, citation="", note=""),
    )


def test_the_kept_rule_by_hand():
    X = pd.DataFrame({"work_experience": [1.0, 0.0, 0.0], "hair_length": [0.0, 0.7, 0.75]})
    assert authors_model(X).tolist() == [1, 0, 1]  # 1.4028, 0.8182 and 0.8766 against 0.8684
    assert authors_model(X.to_numpy()).tolist() == [1, 0, 1]
    assert AUTHORS_COEF[0] > AUTHORS_COEF[1]


def test_every_draw_has_the_scale_of_the_training_draw():
    training, test = load("lipton", n_points=200, seed=0), load("lipton", n_points=100, seed=5)
    train, people = scaled_groups(training, test)
    both = pd.concat(train.values())
    assert both.mean().to_numpy() == pytest.approx([0, 0], abs=1e-12)
    assert both.std(ddof=0).to_numpy() == pytest.approx([1, 1])
    by_hand = (test.features - training.features.mean()) / training.features.std(ddof=0)
    for name, code in (("women", "female"), ("men", "male")):
        expected = by_hand[test.sensitive_features["gender"] == code]
        np.testing.assert_allclose(people[name], expected)
        assert people[name].index.equals(expected.index)
        assert [*people[name].columns] == ["work_experience", "hair_length"]


@pytest.fixture(scope="module")
def students():
    rng = np.random.default_rng(0)
    n = 600
    race = rng.choice(["Asian", "Black", "White"], n)
    knowledge = rng.normal(size=n)
    features = pd.DataFrame(
        {
            "race": pd.Categorical(race),
            "sex": pd.Categorical(rng.choice(["female", "male"], n)),
            "LSAT": rng.poisson(np.exp(3.5 + 0.1 * knowledge - 0.2 * (race == "Black"))).astype(float),
            "UGPA": 3 + 0.3 * knowledge - 0.3 * (race == "Black") + rng.normal(0, 0.2, n),
        }
    )
    return Dataset(
        features=features,
        target=pd.Series(knowledge + rng.normal(0, 0.5, n), name="first_year_average"),
        sensitive_features=features[["race"]],
        positive_label=None,
        privileged_group={"race": "White"},
        encoding={},
        provenance=Provenance(variant="law-school", source="surrogate", data_hash="", rows=n),
    )


@pytest.fixture(scope="module")
def causal(students):
    X = black_and_white(students)
    return KnowledgeModel().fit(X[ATTRIBUTES], gpa=X["GPA"], lsat=X["LSAT"])


def test_race_is_two_indicators_and_nothing_is_scaled(students):
    X = black_and_white(students)
    kept = students.features.query("race != 'Asian'")
    black, male = ((kept[name] == value).astype(int) for name, value in (("race", "Black"), ("sex", "male")))
    expected = {"black": black, "white": 1 - black, "male": male, "LSAT": kept["LSAT"], "GPA": kept["UGPA"]}
    pd.testing.assert_frame_equal(X, pd.DataFrame(expected), check_dtype=False)


def test_a_counterfactual_has_another_race_and_the_scores_of_it(students, causal):
    X = black_and_white(students)
    black, white = X[X["black"] == 1], X[X["white"] == 1]
    image = white_counterfactual(causal, black, noise="keep")
    pd.testing.assert_frame_equal(image.drop(columns=["LSAT", "GPA"]), to_white(black).drop(columns=["LSAT", "GPA"]))
    np.testing.assert_allclose(image["GPA"] - black["GPA"], -causal.weights_.loc["gpa", "black"])
    assert (image["LSAT"] >= black["LSAT"]).all()
    pd.testing.assert_frame_equal(white_counterfactual(causal, white, noise="keep"), white)


def test_sizes_under_every_setup(students):
    X, found = black_and_white(students), setups(students, random_state=0)
    literal, rows = found["black and white, regression cut at the median"]
    assert rows.equals(X.index)
    assert literal.threshold == students.target[X.index].median()
    assert found["regression cut at its median prediction"][0].predict(X).mean() == pytest.approx(0.5, abs=0.01)
    assert len(found["80% of the rows"][1]) == round(0.8 * len(X))
    black = X[X["black"] == 1]
    table = setup_table(found, black, {"better": black.assign(LSAT=1000.0), "same": black})
    assert (table["F− same"] == 0).all()
    for name, (classifier, rows) in found.items():
        tested = black.loc[black.index.intersection(rows)]
        assert table.loc[name, "applicants"] == len(tested)
        assert "race" in name or table.loc[name, "F− better"] == (1 - classifier.predict(tested)).sum()


def test_maps_by_hand():
    columns = ["black", "white", "male", "LSAT", "GPA"]
    source = pd.DataFrame([[1, 0, 0, 30, 3.0], [1, 0, 1, 40, 3.5], [1, 0, 1, 50, 2.0]], columns=columns, dtype=float)
    target = source.assign(black=0.0, white=1.0, LSAT=source["LSAT"] + [10.0, 6, 2], GPA=[3.5, 3.0, 2.5], male=1.0)
    above_45 = Cut(SimpleNamespace(predict=lambda X: X["LSAT"]), 45)
    table = map_table(
        above_45, two_sexes(source), two_sexes(target), {3: two_sexes(target), 5: two_sexes(target) * np.nan}
    )
    row = table.loc[3]
    assert row[["F−", "mean LSAT in F−", "mean GPA in F−"]].tolist() == [1, 40, 3.5]  # 40 to 46
    assert row["mean L1"] == pytest.approx(np.mean([2 + 2 + 10 + 0.5, 2 + 6 + 0.5, 2 + 2 + 0.5]))
    assert row[["KS LSAT", "MSE difference LSAT", "change of male"]].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert row["change of LSAT"] == pytest.approx(-6 / np.std([30, 40, 50, 40, 46, 52]))
    assert not row["off target"]
    assert table.loc[5, "off target"]
    assert np.isnan(table.loc[5, "F−"])


def test_groups_are_parted_and_scaled_over_everyone(chicago):
    people = subjects(chicago, random_state=1)
    scaled = (chicago.features - chicago.features.mean()) / chicago.features.std(ddof=0)
    for name, code in RACES.items():
        both = pd.concat([people.train[name], people.test[name]]).sort_index()
        of_race = chicago.sensitive_features["race"] == code
        pd.testing.assert_frame_equal(both, scaled.loc[of_race, list(LABELS)], check_dtype=False)
        assert len(people.test[name]) == pytest.approx(0.2 * of_race.sum(), rel=0.15)
    again, other = (subjects(chicago, random_state=seed).test["black"].index for seed in (1, 2))
    assert again.equals(people.test["black"].index)
    assert not other.equals(again)


def test_ground_truth_begins_at_345(chicago):
    people = subjects(chicago, random_state=1)
    positives, negatives = (people.only(high_risk=truth) for truth in (True, False))
    for race in RACES:
        high, low, everyone = (of.test[race].index for of in (positives, negatives, people))
        assert chicago.target[high].min() >= 345 > chicago.target[low].max()
        assert len(high) + len(low) == len(everyone)


def test_the_published_rule():
    X = pd.DataFrame(0.0, index=range(4), columns=list(LABELS))
    X["age"] = [-1, -1, -2, 0]
    X["narcotics_arrests"] = [0, 0.5, 0, 2.6]
    assert biased_model(X).tolist() == [0, 1, 1, 0]  # 53, 65.5, 106, 65: the threshold itself is low risk


def test_proxies_are_what_goes_with_race_and_as_many_are_high_risk(chicago):
    groups = subjects(chicago, random_state=1).train
    model = proxy_model(groups, n_proxies=2)
    assert set(model.proxies) == {"narcotics_arrests", "gang_affiliation"}
    assert model.weights["narcotics_arrests"] == pytest.approx(25 / np.sqrt(2))
    assert model.weights["gang_affiliation"] == pytest.approx(-25 / np.sqrt(2))
    assert model.weights["age"] == -53
    X = pd.concat(groups.values())
    assert model.predict(X).mean() == pytest.approx(biased_model(X).mean(), abs=0.05)  # many people tie


def test_images_become_whole_in_the_units_of_the_list(chicago):
    people = subjects(chicago, random_state=1)
    own = pd.DataFrame(2.0, index=[7], columns=list(LABELS)).assign(
        age=33.9, gang_affiliation=1.7, narcotics_arrests=2.6, crime_trend=-0.44, weapons_arrests=-0.9
    )
    scaled = people.scaler.transform(own)
    whole = pd.DataFrame(people.scaler.inverse_transform(people.whole(scaled)), index=own.index, columns=own.columns)
    expected = own.assign(age=30, gang_affiliation=1, narcotics_arrests=3, crime_trend=-0.4, weapons_arrests=0)
    pd.testing.assert_frame_equal(whole, expected, check_dtype=False)
    real = people.test["black"]
    pd.testing.assert_frame_equal(people.whole(real), real)
    assert people.whole(real * np.nan).isna().all(axis=None)


def test_fairtest_gets_everybody_of_either_race_in_own_units(chicago):
    people = subjects(chicago, random_state=1)
    table = investigated(chicago, people)
    assert table["race"].value_counts().to_dict() == {
        code: sum(len(part[name]) for part in (people.train, people.test)) for name, code in RACES.items()
    }
    pd.testing.assert_frame_equal(table[list(LABELS)], chicago.features.loc[table.index, list(LABELS)])
    black = people.test["black"]
    assert (table.loc[black.index, "risk"] == np.where(biased_model(black), "high", "low")).all()


S = pd.DataFrame({"arrests": [0, 1, 1, 2, 5]}, index=list("vwxyz"))


def test_one_model_tosses_anew_and_the_other_remembers():
    many = pd.DataFrame({"arrests": np.ones(200)})
    tossing = tossing_model(np.random.default_rng(0))
    first, second = tossing(many), tossing(many)
    assert 60 < first.sum() < 140
    assert (first != second).any()
    coin = pd.Series([0, 1, 0, 1, 0], index=S.index)
    remembering = both_models(TRIALS[0], coin)["per person"]
    assert [*remembering(S), *remembering(S.loc[["x", "w"]])] == [0, 1, 0, 1, 1, 0, 1]
    own, again, other = (both_models(trial, coin)["per prediction"](many) for trial in (TRIALS[0], *TRIALS))
    assert (own == again).all()
    assert (own != other).any()


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


def test_best_ks_is_that_of_brute_force():
    # x: 3 people without, 2 with arrests; y: 1 and 4. A function sends 0 and 1 anywhere in {0, 1}.
    x_count, y_count = [3, 2], [1, 4]
    target = y_count[0] / 5
    shares = [sum(n for n, to in zip(x_count, images, strict=True) if to == 0) / 5 for images in np.ndindex(2, 2)]
    assert best_ks_of_a_function(x_count, y_count) == pytest.approx(min(abs(share - target) for share in shares))


def test_people_with_equally_many_arrests_are_taken_together():
    arrests = pd.Series([0, 0, 4, 7])
    table = correlation_by_arrests(pd.Series([1, 0, 1, 0]), pd.Series([0, 0, 1, 0]), arrests)
    assert table.index.tolist() == ["0", "4 or more"]
    assert table["people"].tolist() == [2, 2]
    assert table["correlation"].tolist() == pytest.approx([0, 1])


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


def test_a_coin_for_each_pair_flips_equal_people():
    one = pd.DataFrame({"arrests": np.ones(400)}, index=range(400))
    flip = flipset(tossing_model(TRIALS[0].rng("tosses")), one, one)
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
