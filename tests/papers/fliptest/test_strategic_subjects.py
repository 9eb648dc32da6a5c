import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fliptest.strategic_subjects import (
    LABELS,
    RACES,
    biased_model,
    group_table,
    investigated,
    proxy_model,
    subjects,
)


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
    for part in ("train", "test"):
        for race in RACES:
            everyone = getattr(people, part)[race]
            assert chicago.target[getattr(positives, part)[race].index].min() >= 345
            assert chicago.target[getattr(negatives, part)[race].index].max() < 345
            assert len(getattr(positives, part)[race]) + len(getattr(negatives, part)[race]) == len(everyone)


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


def test_groups_are_counted(chicago):
    people = subjects(chicago, random_state=1)
    table = group_table(people)
    assert table.loc[("black", "test"), "people"] == len(people.test["black"])
    truth = chicago.target[people.train["white"].index] >= 345
    assert table.loc[("white", "train"), "score ≥ 345"] == pytest.approx(truth.mean())


def test_fairtest_gets_everybody_of_either_race_in_own_units(chicago):
    people = subjects(chicago, random_state=1)
    table = investigated(chicago, people)
    assert table["race"].value_counts().to_dict() == {
        code: sum(len(part[name]) for part in (people.train, people.test)) for name, code in RACES.items()
    }
    pd.testing.assert_frame_equal(table[list(LABELS)], chicago.features.loc[table.index, list(LABELS)])
    black = people.test["black"]
    assert (table.loc[black.index, "risk"] == np.where(biased_model(black), "high", "low")).all()
