import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import cells
from fairlab.papers.themis.instances import INSTANCES

PUBLISHED = pd.DataFrame(
    {"printed": ["3.78", "<0.01", "40", "2"], "value": [3.78, 0.01, 40.0, 2.0]},
    index=["a.x.group", "a.x.causal", "b.x.group", "b.x.causal"],
)
SCORES = pd.DataFrame(
    {
        "id": ["b.x.causal", "b.x.group", "a.x.group", "a.x.causal", "other"],
        "score": [0.03, 0.3, 0.01, 0.0, 0.5],
        "low": [0.01, 0.2, 0.0, 0.0, 0.4],
        "high": [0.05, 0.35, 0.02, 0.01, 0.6],
    }
)


@pytest.fixture
def table():
    suites = pd.DataFrame({"score": [3.779, 0.012, np.nan, 2.04]}, index=PUBLISHED.index)
    return cells.beside_printed(PUBLISHED, suites, dict.fromkeys(cells.FRESH, SCORES))


def test_ours_stand_beside_the_print_in_percent(table):
    assert table.index.tolist() == PUBLISHED.index.tolist()
    assert table["less than"].tolist() == [False, True, False, False]
    np.testing.assert_allclose(table["as released"], [1, 0, 30, 3])
    np.testing.assert_allclose(table["stored suite"], [3.779, 0.012, np.nan, 2.04])
    np.testing.assert_allclose(table["as described high"], [2, 1, 35, 5])


def test_one_row_for_each_cell_and_series(table):
    long = cells.as_series(table)
    assert len(long) == 4 * 4
    assert long["series"].unique().tolist() == ["printed", "stored suite", "as released", "as described"]
    assert long.loc[long["series"] == "printed", ["low", "high"]].isna().all(axis=None)
    split = cells.by_measure(long)
    assert split.columns.tolist() == ["cell", "measure", "series", "score", "low", "high"]
    assert split.iloc[1][["cell", "measure"]].tolist() == ["a.x", "causal"]


def test_where_the_print_lies(table):
    relation = cells.relation_to_printed(table)
    expected = {"above it": 2, "printed as below 0.01": 1, "in the interval": 1}
    assert relation["as released"].to_dict() == relation["as described"].to_dict() == expected


def test_group_above_causal(table):
    # Printed: 3.78 > 0.01 and 40 > 2. Ours: a's group is within reach, b's lower end 20 is above 5.
    expected = {"printed": 2, "stored suite": 1, "as released": 1, "as described": 1}
    assert cells.group_above_causal(table).to_dict() == expected, "a suite that is missing does not count"


def test_stored_suites_are_scored_from_their_counts():
    table = cells.scores_of_suites("figure-1")
    assert (len(table), table["score"].notna().sum()) == (64, 59)
    assert table.loc["c.credit.gender.gender.group", "score"] == pytest.approx(0.3514, abs=5e-5)
    row = table.loc["a.census.race.race.causal"]
    assert (row["samples"], row["changed"], row["stretches"]) == (533, 6, 1)
    assert row["in random order"] == pytest.approx(6 * 528 / 533)
    lost = table.loc["b.census.gender.gender.causal"]
    assert (lost["path"], pd.isna(lost["samples"])) == ("themis_suites/figure1/B99causal", True)


def test_stretches_in_random_order():
    # Three of five places: by enumeration.
    from itertools import combinations

    stretches = [sum(place - 1 not in places for place in places) for places in map(set, combinations(range(5), 3))]
    assert np.mean(stretches) == pytest.approx(3 * (5 - 3 + 1) / 5)


def test_means_over_trials_are_in_percent():
    trials = [SCORES, SCORES.assign(score=SCORES["score"] + 0.02)]
    means = cells.mean_scores(trials)
    assert means.loc["b.x.causal"].tolist() == pytest.approx([4, 1, 5])
    assert means.index.tolist() == SCORES["id"].tolist()


def all_scores(value):
    ids = [id for instance in INSTANCES for size in (1, 2) for id in instance.sets(size)]
    scores = pd.DataFrame({"id": ids, "score": [value(id.rpartition(".")[2].split("_")) for id in ids]})
    return scores.assign(low=scores["score"] - 0.01, high=scores["score"] + 0.01)


def test_singles_by_characteristic():
    scores = all_scores(lambda words: len(words[0]) / 100)
    table = cells.by_characteristic(scores)
    assert table.index.tolist() == [instance.id for instance in INSTANCES]
    assert table.columns.tolist() == ["age", "country", "gender", "marital", "race", "relation"]
    assert table.loc["g.census.unaware"].tolist() == pytest.approx([3, 7, 6, 7, 4, 8])
    assert table.loc["g.credit.unaware"].isna().sum() == 4


def test_pairs_beyond_their_parts():
    scores = all_scores(lambda words: 0.5 if words == ["gender", "race"] else 0.1)
    joint = cells.beyond_parts(scores)
    n_census = sum(instance.data == "census" for instance in INSTANCES)
    assert (joint["pair"][:n_census] == "gender_race").all()
    np.testing.assert_allclose(joint["excess"], [30.0] * n_census + [-10.0] * (len(joint) - n_census))


def test_supersets_below_by_their_intervals():
    n_compared, below = cells.supersets_below(all_scores(lambda words: 0.1 * len(words)))
    assert n_compared == sum(2 * len(instance.sets(2)) for instance in INSTANCES)
    assert below == []
    _, below = cells.supersets_below(all_scores(lambda words: 0.3 if words == ["race"] else 0.1))
    assert all(small.endswith(".race") and "race" in large for small, large in below)
    assert len(below) == 5 * sum(instance.data == "census" for instance in INSTANCES)


def test_singles_stand_beside_what_is_printed_of_them():
    table = pd.DataFrame({"age": [1.0, np.nan], "race": [2.0, 3.0]}, index=["a.census.race", "a.credit.gender"])
    long = cells.with_printed(table, pd.Series({"a.census.race.race": 36.1})).set_index(["instance", "characteristic"])
    assert long.loc[("a.census.race", "race")].tolist() == [2.0, 36.1]
    assert long["printed"].notna().sum() == 1
    assert len(long) == 4
