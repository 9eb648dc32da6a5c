from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import searches
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES
from fairlab.paths import project
from fairlab.suite.published import read_paper

EXPERIMENTS = project().experiments

SETS = [("sex",), ("race",), ("sex", "race")]


def search(group, causal, tests=(10, 20, 100)):
    """Return a table of three scores by both measures."""
    return pd.DataFrame(
        {
            "measure": ["group"] * 3 + ["causal"] * 3,
            "sensitive_features": SETS * 2,
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
    precise = {INSTANCES[0]: search([0.6, 0.8, 0.9], [0.1, 0.8, 0.9]).query("sensitive_features != @SETS[2]")}
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


PAPER = read_paper(EXPERIMENTS / "themis" / "published.yaml")
FIGURE_3, TEXT = PAPER.artefact("figure-3").values, PAPER.artefact("section-5.4").values


@pytest.fixture(scope="module")
def bounds():
    return searches.beside_bounds(pd.DataFrame({"value": {id: float(value.value) for id, value in FIGURE_3.items()}}))


def test_causal_rule_is_the_worst_case_for_all_small_sets():
    [c] = [i for i in INSTANCES if i.id == "c.census.gender"]
    n_sets = sum(len(list(combinations(range(13), size))) for size in (1, 2, 3))
    assert searches.inferred_without(c, "causal") == n_sets * 625 == FIGURE_3["causal.c.census.without"].value


def test_group_rule_fills_the_largest_set_of_three():
    by_id = {instance.id: instance for instance in INSTANCES}
    sizes = INPUT_SPACES["census"].sizes
    largest = max(np.prod(some) for some in combinations(sizes, 3))
    assert searches.inferred_without(by_id["c.census.gender"], "group") == 11 * largest == 7_700_000
    assert searches.inferred_without(by_id["f.census.unaware"], "group") == 10 * largest
    assert searches.inferred_without(by_id["f.credit.unaware"], "group") == 11 * 200 * 80 * 75


def test_sharing_inputs_the_largest_set_needs_nearly_all():
    """Fill every group of every set of at most three characteristics of a small space, counting earlier inputs."""
    sizes, rng = np.array([2, 3, 4, 12, 15, 20]), np.random.default_rng(0)
    inputs = np.empty((0, len(sizes)), dtype=np.int64)
    for size in (1, 2, 3):
        for names in combinations(range(len(sizes)), size):
            names = list(names)
            groups = np.ravel_multi_index(inputs[:, names].T, sizes[names])
            lacking = np.maximum(0, 11 - np.bincount(groups, minlength=sizes[names].prod()))
            new = rng.integers(sizes, size=(lacking.sum(), len(sizes)))
            new[:, names] = np.column_stack(np.unravel_index(np.repeat(np.arange(len(lacking)), lacking), sizes[names]))
            inputs = np.concatenate([inputs, new])
    assert 1 <= len(inputs) / (11 * 12 * 15 * 20) < 1.05


def test_least_tests():
    least = {
        (data, measure): searches.least_tests(data, measure) for data in INPUT_SPACES for measure in searches.MEASURES
    }
    assert least == {
        ("census", "group"): 1_100,
        ("census", "causal"): 11 + 11 * 13,
        ("credit", "group"): 2_200,
        ("credit", "causal"): 231,
    }


def test_impossible_are_the_printed_counts_below_the_least_and_their_factors(bounds):
    for (measure, row), found in bounds.iterrows():
        for part in ("with", "factor"):
            assert bool(FIGURE_3[f"{measure}.{row}.{part}"].impossible) == found["impossible"]
        assert not FIGURE_3[f"{measure}.{row}.without"].impossible
        assert FIGURE_3[f"{measure}.{row}.without"].inferred
    assert bounds["impossible"].groupby(level="measure").sum().to_dict() == {"group": 6, "causal": 3}


def test_impossible_are_the_means_above_what_the_least_allows(bounds):
    limits = searches.largest_means(bounds)
    for measure in searches.MEASURES:
        for mean in ("arithmetic", "geometric"):
            printed = FIGURE_3[f"{measure}.{mean}_mean"]
            assert limits.loc[measure, f"{mean}, of the printed factors"] == pytest.approx(printed.value, rel=0.006)
            assert printed.impossible and limits.loc[measure, f"{mean}, at most"] < printed.value
        assert TEXT[f"mean_factor.{measure}"].impossible
    least = searches.least_tests("credit", "group")
    counts = {id: value for id, value in TEXT.items() if id.endswith(".tests")}
    assert {id for id, value in counts.items() if value.impossible} == {
        id for id, value in counts.items() if value.value < least
    }
