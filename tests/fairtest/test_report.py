from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.fairtest import NMI, AssociationReport, Column, Difference, Interval, Metric, Sample, Section
from fairlab.fairtest.report import Association, Subgroup
from fairlab.fairtest.tree import Condition, GuidedTree, Node, find_thresholds

SEX, INCOME = (
    Column("sex", np.array([0, 0, 0, 1, 1]), ("f", "m")),
    Column("income", np.array([0, 0, 1, 1, 1]), ("low", "high")),
)
SAMPLE = Sample(SEX, INCOME)
NODE = Node(None, 0.1, 99)


def association(low, high, p_value=0.5, *, part="", metric=None, sample=SAMPLE):
    return Association(part, metric or Difference(), sample, low, high, p_value, p_value / 2)


def test_a_context_is_judged_by_its_own_association_not_by_its_strata():
    own, stratum = association(-0.1, 0.1, 0.06), association(0.3, 0.4, 0.001, part="region: north")
    finding = Subgroup(NODE, SAMPLE, (own, stratum))
    assert not finding.is_significant
    assert finding.effect == 0
    assert finding.association("region: north") is stratum
    with pytest.raises(KeyError, match="everyone has no part 'region: south'; there are '', 'region: north'"):
        finding.association("region: south")
    assert Subgroup(NODE, SAMPLE, (association(0.1, 0.2, 0.05), stratum)).is_significant


def test_a_context_of_labels_has_their_mean_effect_and_is_significant_with_any():
    labels = (association(0.2, 0.4, 0.9, part="cart"), association(-0.1, 0.1, 0.9, part="drum"))
    finding = Subgroup(NODE, SAMPLE, labels)
    assert finding.effect == pytest.approx(0.1)
    assert finding.is_significant
    assert not Subgroup(NODE, SAMPLE, labels[1:]).is_significant


def finding(node, effect, p_value):
    association = Association("", NMI(), SAMPLE, effect, effect + 0.1, p_value, p_value / 9)
    return Subgroup(node, SAMPLE, (association,))


@pytest.fixture
def section():
    """Root (0.3) above A (0.2) above B (0.25) and C (0.4); D (0.5, insignificant), E (0.3), F (no effect)."""
    root = Node(None, 0.1, 99)
    nodes = {"root": root}
    for name, parent in (("A", "root"), ("B", "A"), ("C", "A"), ("D", "root"), ("E", "D"), ("F", "root")):
        nodes[name] = Node(Condition("x", category=name), 0.1, 9, parent=nodes[parent])
    tests = {
        "root": (0.3, 0.001),
        "A": (0.2, 0.001),
        "B": (0.25, 0.001),
        "C": (0.4, 0.001),
        "D": (0.5, 0.051),
        "E": (0.5, 0.05),
        "F": (0.0, 0.001),
    }
    findings = tuple(finding(nodes[name], *test) for name, test in tests.items())
    return Section("income", "sex", None, NMI(), findings)


def test_reported_are_the_root_and_what_beats_all_around_it(section):
    # A and B are weaker than the root, D is not significant, F has no effect. E ties with D, which counts though it is
    # not reported itself.
    assert [str(f.node) for f in section.reported] == ["everyone", "x: E", "x: C"]
    assert [str(f.node) for f in section.significant] == ["everyone", "x: A", "x: B", "x: C", "x: E", "x: F"]


def test_an_ancestor_counts_even_if_it_is_not_significant(section):
    *others, last = section.subgroups
    weaker = [f if str(f.node) != "x: E" else finding(f.node, 0.49, 0.001) for f in others]
    again = Section("income", "sex", None, NMI(), (*weaker, last))
    assert [str(f.node) for f in again.reported] == ["everyone", "x: C"]


def test_frame_has_one_row_per_hypothesis(section):
    frame = section.to_frame()
    assert len(frame) == 7
    assert frame.loc[frame["rank"].notna(), ["context", "rank"]].values.tolist() == [
        ["everyone", 0], ["x: C", 2], ["x: E", 1]
    ]  # fmt: skip
    assert frame["depth"].tolist() == [0, 1, 2, 2, 1, 2, 1]
    assert frame.loc[0, ["size", "low", "p_value"]].tolist() == [5, 0.3, 0.001]


def test_text_is_like_the_papers(section):
    lines = str(section).splitlines()
    assert lines[:6] == [
        "Report of associations of O=income on S=sex:",
        "Association metric: NMI.",
        "7 contexts tested, 6 significant, 3 reported.",
        "",
        "Global population of size 5",
        "p-value = 1.00e-03 ; NMI = [0.3000, 0.4000]",
    ]
    assert [line.split() for line in lines[6:11]] == [
        ["sex", "f", "m", "Total"],
        ["income"],
        ["low", "2", "(67%)", "0", "(0%)", "2", "(40%)"],
        ["high", "1", "(33%)", "2", "(100%)", "3", "(60%)"],
        ["Total", "3", "(60%)", "2", "(40%)", "5", "(100%)"],
    ]
    assert lines[12:14] == ["1. Subpopulation of size 5", "Context = x: E"]


def test_contexts_are_found_by_their_conditions_in_any_order(section):
    root = section.everyone
    assert str(root.node) == "everyone"
    young = Node(Condition("age", high=40.0), 0.1, 9, parent=root.node)
    both = finding(Node(Condition("sex", category="f"), 0.1, 9, parent=young), 0.2, 0.01)
    longer = Section("income", "sex", None, NMI(), (*section.subgroups, both))
    assert longer.find() is root
    assert longer.find("sex: f", "age ≤ 40") is longer.find("age ≤ 40", "sex: f") is both
    assert longer.find("sex: f") is None


def test_counts_of_each_section(section):
    quiet = Section("income", "race", None, NMI(), (finding(Node(None, 0.0, 99), 0.0, 0.9),))
    counts = AssociationReport((section, quiet)).counts()
    assert counts[["sensitive_features", "tested", "significant", "reported"]].to_numpy().tolist() == [
        ["sex", 7, 6, 3], ["race", 1, 0, 1]
    ]  # fmt: skip
    assert counts["smallest_significant"].tolist() == [5, pd.NA]


def test_sections_by_sensitive_feature_and_output(section):
    other = Section("price", "sex", None, NMI(), section.subgroups)
    report = AssociationReport((section, other))
    assert report.section("sex", "price") is other
    with pytest.raises(KeyError, match="expected one section on 'sex', found 2; there are 'income' on 'sex'"):
        report.section("sex")


def test_contingency_table():
    assert SAMPLE.counts().to_dict("list") == {"f": [2, 1, 3], "m": [0, 2, 2], "Total": [2, 3, 5]}
    np.testing.assert_allclose(SAMPLE.shares(), [[2 / 3, 0, 0.4], [1 / 3, 1, 0.6]])


def test_labels_as_rows():
    hypotheses = [(name, Difference(), Sample(SEX, Column(name, INCOME.values, ("0", "1")))) for name in "ab"]
    first, second = (Association(*h, -0.1, 0.2, p, p / 2) for h, p in zip(hypotheses, (0.1, 0.2), strict=True))
    labels = Subgroup(Node(None, 0.0, 5), SAMPLE, (first, second)).labels()
    np.testing.assert_allclose(labels.loc["a", ["f", "m"]].tolist(), [1 / 3, 1])
    women = association(0, 1, sample=SAMPLE.take(slice(0, 3)))
    assert np.isnan(Subgroup(NODE, SAMPLE, (women,)).labels()["m"]).all()


# tree


def walked_thresholds(values, max_bins):
    """Return thresholds by walking along the sorted values, as the authors' code does."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= max_bins:
        return [(a + b) / 2 for a, b in pairwise(distinct)]
    target = step = len(values) / (max_bins + 1)
    thresholds, count = [], counts[0]
    for i in range(1, len(distinct)):
        before, count = count, count + counts[i]
        if abs(before - target) < abs(count - target):
            thresholds.append((distinct[i - 1] + distinct[i]) / 2)
            target += step
    return thresholds


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(1, 12))
def test_thresholds_are_those_of_a_walk(values, max_bins):
    found = find_thresholds(np.array(values, dtype=float), max_bins)
    np.testing.assert_allclose(found, walked_thresholds(values, max_bins))


def test_thresholds_by_hand():
    assert find_thresholds(np.array([1.0, 1, 2, 4]), 3).tolist() == [1.5, 3]
    # Twelve values, three parts: targets 4 and 8.
    assert find_thresholds(np.arange(12.0), 2).tolist() == [3.5, 7.5]
    # One value is most of the data: the count before it, 1, is nearer to 4 than the count after it, 9.
    assert find_thresholds(np.array([0] + [1] * 8 + [2, 3, 4.0]), 2).tolist() == [0.5, 1.5]
    assert find_thresholds(np.ones(5), 10).tolist() == []


class Mean(Metric):
    """A user's own metric: the mean output, whatever the group."""

    name = "MEAN"

    def approximate(self, sample, *, confidence_level):
        mean = sample.output.values.mean()
        return Interval(mean, mean + confidence_level, 0.5)


def tree(metric=None, **options):
    defaults = {
        "confidence_level": 0.95,
        "max_depth": 5,
        "min_leaf_size": 2,
        "score_aggregation": "avg",
        "max_bins": 10,
    }
    return GuidedTree(metric or Mean(), **defaults | options)


def people(output):
    output = np.asarray(output, dtype=float)
    return Sample(Column("s", np.arange(len(output)) % 2, ("f", "m")), Column("o", output))


def categorical(name, codes, n=None):
    codes = np.asarray(codes)
    return Column(name, codes, tuple("abcdefgh"[: n or codes.max() + 1]))


def shape(node):
    """Return the tree as nested tuples of its conditions, effects and sizes."""
    return str(node), round(node.effect, 3), node.size, [shape(child) for child in node.children]


def test_a_categorical_split_by_hand():
    root = tree(max_depth=1).grow(people([1, 1, 3, 3, 5, 5]), [categorical("c", [0, 0, 1, 1, 2, 2])])
    assert shape(root) == (
        "everyone", 3, 6, [("c: a", 1, 2, []), ("c: b", 3, 2, []), ("c: c", 5, 2, [])]
    )  # fmt: skip


def test_small_categories_are_dropped_and_cost_their_share():
    # c: children with means 4 (2 of 6 people) and 2 (3 of 6), mean 3, times 5/6 is 2.5; d: 2.6 over everyone.
    output = [4, 4, 2, 2, 2, 1]
    c = categorical("c", [0, 0, 1, 1, 1, 2])
    d = categorical("d", [0, 0, 0, 1, 1, 1])  # means 10/3 and 5/3
    root = tree(max_depth=1).grow(people(output), [c, d])
    assert [str(child) for child in root.children] == ["c: a", "c: b"]
    lone = categorical("c", [0, 0, 0, 0, 1, 2])
    assert tree(max_depth=1).grow(people(output), [lone]).children == []  # one child alone is no split


def test_the_best_threshold_wins_with_enough_people_on_both_sides():
    age = Column("age", np.array([1.0, 2, 3, 4, 5, 6]))
    # Means of the two sides: after 1: 0 / 10; after 2: 5 / 10; ... the first has too few people.
    root = tree(max_depth=1).grow(people([0, 10, 0, 0, 0, 50]), [age])
    assert shape(root)[3] == [("age ≤ 4.5", 2.5, 4, []), ("age > 4.5", 25, 2, [])]


@pytest.mark.parametrize(("aggregation", "score"), [("avg", 6), ("weighted_avg", 4.8), ("max", 8)])
def test_scores_by_hand(aggregation, score):
    assert tree(score_aggregation=aggregation)._aggregate(np.array([8.0, 4]), np.array([2, 8])) == pytest.approx(score)


def test_the_bar_is_the_score_of_the_split_above_not_the_nodes_own_effect():
    # First split: means 8 and 2, score 5. Below the second child (own effect 2) a further split has a child of 4, which
    # exceeds 2 but not 5; below the first one a child of 10 exceeds 5.
    output = [10, 10, 6, 6, 4, 4, 0, 0]
    first, second = categorical("first", [0, 0, 0, 0, 1, 1, 1, 1]), categorical("second", [0, 0, 1, 1, 0, 0, 1, 1])
    root = tree(max_depth=2).grow(people(output), [first, second])
    assert [(str(child), child.effect) for child in root.children] == [("first: a", 8), ("first: b", 2)]
    below = {str(child): [str(c) for c in child.children] for child in root.children}
    assert below == {"first: a": ["first: a, second: a", "first: a, second: b"], "first: b": []}


def test_depth_counts_edges():
    rng = np.random.default_rng(0)
    sample = people(rng.exponential(size=400))
    columns = [Column(f"x{i}", rng.normal(size=400)) for i in range(4)]
    for depth in (0, 1, 3):
        grown = tree(max_depth=depth).grow(sample, columns)
        assert max(len(node.ancestors) for node in grown.walk()) == depth


def test_a_category_is_used_once_a_number_again_with_merged_bounds():
    rng = np.random.default_rng(1)
    sample = people(rng.exponential(size=800))
    columns = [Column("x", rng.normal(size=800)), categorical("c", rng.integers(3, size=800))]
    nodes = list(tree(min_leaf_size=10).grow(sample, columns).walk())
    paths = [[n.condition.attribute for n in [node, *node.ancestors[:-1]]] for node in nodes if node.parent]
    assert max(path.count("c") for path in paths) == 1
    assert max(path.count("x") for path in paths) > 1
    for node in nodes:
        assert len({c.attribute for c in node.conditions}) == len(node.conditions)
        members = np.ones(800, dtype=bool)
        for condition in node.conditions:
            members &= condition.holds(next(c for c in columns if c.name == condition.attribute))
        assert members.sum() == node.size


def test_conditions_in_words():
    words = [Condition("age", high=30), Condition("age", low=20), Condition("age", low=20, high=30.5)]
    assert [str(c) for c in words] == ["age ≤ 30", "age > 20", "20 < age ≤ 30.5"]
    assert str(Condition("state", category="NY")) == "state: NY"
