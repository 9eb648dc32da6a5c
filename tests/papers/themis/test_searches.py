import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import searches
from fairlab.papers.themis.instances import INSTANCES
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper

SETS = [("sex",), ("race",), ("sex", "race")]


def search(group, causal, tests=(10, 20, 100)):
    """Return a table of three scores by both measures."""
    return pd.DataFrame(
        {
            "measure": ["group"] * 3 + ["causal"] * 3,
            "characteristics": SETS * 2,
            "score": [*group, *causal],
            "tests": [*tests, *tests],
        }
    )


@pytest.fixture(scope="module")
def published():
    values = read_paper(EXPERIMENTS / "themis" / "published.yaml").artefact("figure-3").values
    rows = [[value.printed, value.value] for value in values.values()]
    return pd.DataFrame(rows, index=pd.Index(values, name="id"), columns=["printed", "value"])


def test_figure_3_has_a_row_for_sixteen_instances(published):
    rows = searches.printed_rows()
    assert len(rows) == 16
    assert rows["a.census.gender"] == "a.census"
    assert rows["a.credit.gender"] == "a.credit.gender"
    assert rows["e.credit.unaware"] == "e.credit"
    assert all(f"group.{row}.without" in published.index for row in rows.values())


def test_trials_by_repetition():
    first, second = searches.by_repetition(list(range(2 * len(INSTANCES))))
    assert first[INSTANCES[3]] == 3
    assert second[INSTANCES[3]] == 3 + len(INSTANCES)


def test_what_is_searched(published):
    table = searches.count_searched(published, max_values=5)
    assert table.loc["groups", "census"] == 11 * 41 * 3 * 8 * 6 * 7 - 1
    assert table.loc["searched in this run", "census"] == "sex, race"
    assert table.loc["printed tests", "credit"] == published["value"]["group.c.credit.gender.without"]
    assert (table.loc["printed tests for each group"].astype(float).between(11, 50)).all()


def test_tests_by_hand():
    # Group: sex is found, so both together are left out. Causal: nothing is found before both together.
    counts = searches.count_tests({INSTANCES[0]: search([0.8, 0.1, 0.9], [0.1, 0.2, 0.9])}, 0.75)
    assert counts[["measure", "without", "with", "minimal sets"]].to_numpy().tolist() == [
        ["group", 130, 30, 1],
        ["causal", 130, 130, 1],
    ]
    np.testing.assert_allclose(counts["factor"], [130 / 30, 1])
    np.testing.assert_allclose(counts["mean score"], [0.6, 0.4])


def test_counts_beside_the_print(published):
    census = next(i for i in INSTANCES if i.id == "a.census.gender")
    race = next(i for i in INSTANCES if i.id == "a.census.race")
    repetitions = [dict.fromkeys((census, race), search([score, 0.1, 0.9], [0.1, 0.2, 0.3])) for score in (0.8, 0.2)]
    table = searches.beside_printed(repetitions, published).set_index(["measure", "instance"])
    assert table.loc[("group", census.id), "with"] == (30 + 130) / 2
    assert table.loc[("group", census.id), "printed with"] == published["value"]["group.a.census.with"]
    assert table.loc[("causal", census.id), "printed factor"] == published["value"]["causal.a.census.factor"]
    assert table.loc[("group", race.id), ["printed with", "printed without", "printed factor"]].isna().all()


def test_means_of_factors():
    counts = pd.DataFrame({"measure": ["group", "group", "causal"], "factor": [1.0, 4.0, 3.0]})
    assert searches.mean_factors({"rows": counts}).loc["rows"].to_dict() == pytest.approx(
        {
            "group, arithmetic": 2.5,
            "causal, arithmetic": 3,
            "group, geometric": 2,
            "causal, geometric": 3,
            "group, largest": 4,
            "causal, largest": 3,
        }
    )


def test_few_samples_against_many():
    rough = {INSTANCES[0]: search([0.8, 0.9, 0.9], [0.1, 0.7, 0.9])}
    precise = {INSTANCES[0]: search([0.6, 0.8, 0.9], [0.1, 0.8, 0.9]).query("characteristics != @SETS[2]")}
    group, causal = searches.check_few_samples(rough, precise).to_dict("records")
    assert (group["sets"], group["at the threshold"], group["still there"], group["missed"]) == (2, 2, 1, 0)
    assert (causal["at the threshold"], causal["still there"], causal["missed"]) == (0, 0, 1)
    assert (group["mean change"], causal["mean change"]) == pytest.approx((0.15, -0.05))


def test_minimal_sets():
    table = searches.minimal_sets({INSTANCES[0]: search([0.8, 0.1, 0.9], [0.1, 0.2, 0.9])})
    assert table.to_numpy().tolist() == [
        [INSTANCES[0].id, "group", "sex"],
        [INSTANCES[0].id, "causal", "sex, race"],
    ]


def test_groups_left():
    found = [{"group": (), "causal": ((instance.schema.names[0],),)} for instance in INSTANCES]
    table = searches.count_groups(found).set_index(["instance", "measure"])
    instance = INSTANCES[0]
    every = np.prod(np.array(instance.schema.sizes, dtype=float) + 1) - 1
    first = instance.schema.sizes[0]
    rest = np.prod(np.array(instance.schema.sizes[1:], dtype=float) + 1) - 1
    assert table.loc[(instance.id, "group"), "factor"] == 1
    assert table.loc[(instance.id, "group"), "groups"] == pytest.approx(every)
    assert table.loc[(instance.id, "causal"), "groups left"] == pytest.approx(rest + first)


def test_thresholds_systems_and_ranks():
    tables = {
        instance: search([0.55 if instance.system == "a" else 0.2, 0.1, 0.9], [0.1, 0.2, 0.9])
        for instance in INSTANCES[:4]
    }
    by_threshold = searches.count_by_threshold(tables)
    assert by_threshold["threshold"].unique().tolist() == list(searches.THRESHOLDS)
    shares = searches.share_by_system(by_threshold).set_index(["measure", "system", "threshold"])["share"]
    assert shares["group", "A", 0.5] == pytest.approx(30 / 130)
    assert shares["group", "A", 0.6] == shares["group", "B", 0.5] == 1
    ranks = searches.rank_correlations(
        pd.DataFrame({"measure": "group", "mean score": [0.1, 0.2, 0.3], "factor": [1, 5, 9]})
    )
    assert ranks.to_dict() == {"group": 1}
