from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import rules
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper

PAPER = read_paper(EXPERIMENTS / "themis" / "published.yaml")
FIGURE_3, TEXT = PAPER.artefact("figure-3").values, PAPER.artefact("section-5.4").values


@pytest.fixture(scope="module")
def bounds():
    return rules.beside_bounds(pd.DataFrame({"value": {id: float(value.value) for id, value in FIGURE_3.items()}}))


def test_causal_rule_is_the_worst_case_for_all_small_sets():
    [c] = [i for i in INSTANCES if i.id == "c.census.gender"]
    n_sets = sum(len(list(combinations(range(13), size))) for size in (1, 2, 3))
    assert rules.inferred_without(c, "causal") == n_sets * 625 == FIGURE_3["causal.c.census.without"].value


def test_group_rule_fills_the_largest_set_of_three():
    by_id = {instance.id: instance for instance in INSTANCES}
    sizes = INPUT_SPACES["census"].sizes
    largest = max(np.prod(some) for some in combinations(sizes, 3))
    assert rules.inferred_without(by_id["c.census.gender"], "group") == 11 * largest == 7_700_000
    assert rules.inferred_without(by_id["f.census.unaware"], "group") == 10 * largest
    assert rules.inferred_without(by_id["f.credit.unaware"], "group") == 11 * 200 * 80 * 75


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
    least = {(data, measure): rules.least_tests(data, measure) for data in INPUT_SPACES for measure in rules.MEASURES}
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
    limits = rules.largest_means(bounds)
    for measure in rules.MEASURES:
        for mean in ("arithmetic", "geometric"):
            printed = FIGURE_3[f"{measure}.{mean}_mean"]
            assert limits.loc[measure, f"{mean}, of the printed factors"] == pytest.approx(printed.value, rel=0.006)
            assert printed.impossible and limits.loc[measure, f"{mean}, at most"] < printed.value
        assert TEXT[f"mean_factor.{measure}"].impossible
    least = rules.least_tests("credit", "group")
    counts = {id: value for id, value in TEXT.items() if id.endswith(".tests")}
    assert {id for id, value in counts.items() if value.impossible} == {
        id for id, value in counts.items() if value.value < least
    }
