import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.cases.tables import find_thresholds
from fairlab.fairtest import (
    NMI,
    AssociationReport,
    Column,
    Correlation,
    DataSource,
    Difference,
    Interval,
    Investigation,
    Metric,
    Ratio,
    Regression,
    Sample,
    compare_reports,
    findings,
    investigate,
    label_table,
)
from fairlab.fairtest.metrics import TableMetric
from fairlab.fairtest.report import judge
from fairlab.fairtest.tree import Condition, GuidedTree, Node, strongest

SEX, INCOME = (
    Column("sex", np.array([0, 0, 0, 1, 1]), ("f", "m")),
    Column("income", np.array([0, 0, 1, 1, 1]), ("low", "high")),
)
SAMPLE = Sample(SEX, INCOME)
NODE = Node(None, 0.1, 99)


def row(low, high, p_value=0.5, *, node=NODE, part="", sample=SAMPLE, metric=None, feature="sex"):
    """Return the test of one hypothesis, as `judge` takes it."""
    metric = metric or Difference()
    tests = {"low": low, "high": high, "p_value": p_value, "raw_p_value": p_value / 2}
    about = {
        "output": "income",
        "sensitive_features": feature,
        "explanatory": None,
        "node": node,
        "context": str(node),
        "depth": len(node.ancestors),
        "part": part,
        "size": len(sample),
        "metric": metric.name,
        "strength": float(metric.effect(Interval(low, high, p_value))),
    }
    estimate = metric.estimate_of(sample) if isinstance(metric, TableMetric) else np.nan
    return about | tests | {"counts": sample.counts(), "estimate": estimate}


def report_of(*rows, **options):
    return AssociationReport(judge(list(rows), 0.05).assign(investigation=0), **options)


STRATUM, CART = row(0.3, 0.4, 0.001, part="region: north"), row(0.2, 0.4, 0.9, part="cart")
DRUM = row(-0.1, 0.1, 0.9, part="drum")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # A context is judged by its own association, not by its strata.
        ([row(-0.1, 0.1, 0.06), STRATUM], (False, 0)),
        ([row(0.1, 0.2, 0.05), STRATUM], (True, 0.1)),
        # A context of labels has their mean effect and is significant with any.
        ([CART, DRUM], (True, 0.1)),
        ([DRUM], (False, 0)),
    ],
)
def test_whether_a_context_is_significant_and_its_effect(rows, expected):
    first = report_of(*rows).frame.iloc[0]
    assert (bool(first["significant"]), first["effect"]) == pytest.approx(expected)


TESTS = {
    "root": (None, 0.3, 0.001),
    "A": ("root", 0.2, 0.001),
    "B": ("A", 0.25, 0.001),
    "C": ("A", 0.4, 0.001),
    "D": ("root", 0.5, 0.051),
    "E": ("D", 0.5, 0.05),
    "F": ("root", 0.0, 0.001),
}


def rows_of(tests, feature="sex"):
    """Return rows from the parents, effects and p-values of subgroups."""
    nodes = {"root": Node(None, 0.1, 99)}
    for name, (parent, *_) in list(tests.items())[1:]:
        nodes[name] = Node(Condition("x", category=name), 0.1, 9, parent=nodes[parent])
    own = {name: {"node": node, "metric": NMI(), "feature": feature} for name, node in nodes.items()}
    return [row(effect, effect + 0.1, p_value, **own[name]) for name, (_, effect, p_value) in tests.items()]


@pytest.mark.parametrize(
    ("effect_of_e", "reported"),
    [
        # A and B are weaker than the root, D is not significant, F has no effect. E ties with D, which counts though
        # it is not reported itself.
        (0.5, ["everyone", "x: E", "x: C"]),
        (0.49, ["everyone", "x: C"]),
    ],
)
def test_reported_are_the_root_and_what_beats_all_around_it(effect_of_e, reported):
    frame = report_of(*rows_of(TESTS | {"E": ("D", effect_of_e, 0.05)})).to_frame()
    assert frame.dropna(subset="rank").sort_values("rank")["context"].tolist() == reported
    assert frame.loc[frame["significant"], "context"].tolist() == [
        "everyone", "x: A", "x: B", "x: C", "x: E", "x: F"
    ]  # fmt: skip


def test_strongest_of_a_tree_with_and_without_ties():
    root = Node(None, 0.1, 99)
    first = Node(Condition("x", category="A"), 0.1, 9, parent=root)
    second = Node(Condition("y", category="B"), 0.1, 9, parent=first)
    effects = {root: 0.2, first: 0.2, second: 0.3}
    assert (strongest(effects), strongest(effects, ties=False)) == ([second, first], [second])
    assert strongest({root: -0.2, first: 0.0, second: 0.1}) == [second]


def test_text_is_like_the_papers():
    lines = str(report_of(*rows_of(TESTS))).splitlines()
    assert lines[:6] + lines[12:14] == [
        "Report of associations of O=income on S=sex:",
        "Association metric: NMI.",
        "7 contexts tested, 6 significant, 3 reported.",
        "",
        "Global population of size 5",
        "p-value = 1.00e-03 ; NMI = [0.3000, 0.4000]",
        "1. Subpopulation of size 5",
        "Context = x: E",
    ]
    assert [line.split() for line in lines[6:11]] == [
        ["sex", "f", "m", "Total"],
        ["income"],
        ["low", "2", "(67%)", "0", "(0%)", "2", "(40%)"],
        ["high", "1", "(33%)", "2", "(100%)", "3", "(60%)"],
        ["Total", "3", "(60%)", "2", "(40%)", "5", "(100%)"],
    ]
    assert "Not distinguishable from no association." in str(report_of(row(0.1, 0.2, 0.06)))


def test_each_sensitive_feature_is_counted_and_rows_of_a_report_are_a_report():
    whole = report_of(*rows_of(TESTS), row(0.0, 0.1, 0.9, metric=NMI(), feature="race"))
    names = ["sensitive_features", "tested", "significant", "reported", "smallest_significant"]
    assert whole.counts()[names].to_numpy().tolist() == [["sex", 7, 6, 3, 5], ["race", 1, 0, 1, pd.NA]]
    part = AssociationReport(whole.frame.query("sensitive_features == 'race'"))
    assert str(whole) == f"{report_of(*rows_of(TESTS))}\n\n{part}"


def test_labels_as_rows():
    node, sample = Node(None, 0.1, 99, labels=("a", "b")), Sample(SEX, Column("a", INCOME.values, ("0", "1")))
    report = report_of(*(row(-0.1, 0.2, part=name, sample=sample, node=node) for name in "ab"))
    pd.testing.assert_frame_equal(
        label_table(report.frame),
        pd.DataFrame({"f": 1 / 3, "m": 1.0, "low": -0.1, "high": 0.2, "p_value": 0.5}, index=["a", "b"]),
        check_names=False,
    )
    lines = str(report).splitlines()
    assert (lines[1], lines[6].split()) == (f"Association metric: {Regression.name}.", ["label"])
    assert lines[7].split() == ["a", "33%", "100%", "-0.1000", "0.2000", "5.00e-01"]
    assert label_table(report_of(row(0, 1, sample=SAMPLE.take(slice(0, 3)))).frame)["m"].isna().all()


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
    expected = walked_thresholds(values, max_bins)
    np.testing.assert_allclose(find_thresholds(np.array(values, dtype=float), max_bins), expected)


class Mean(Metric):
    """A user's own metric: the mean output, whatever the group."""

    name = "MEAN"

    def approximate(self, sample, *, confidence_level):
        mean = sample.output.values.mean()
        return Interval(mean, mean + confidence_level, 0.5)


def tree(**options):
    defaults = {"confidence_level": 0.95, "max_depth": 5, "min_leaf_size": 2, "score_aggregation": "avg"}
    return GuidedTree(Mean(), **defaults | {"max_bins": 10} | options)


def people(output):
    output = np.asarray(output, dtype=float)
    return Sample(Column("s", np.arange(len(output)) % 2, ("f", "m")), Column("o", output))


def categorical(name, codes):
    return Column(name, np.array(codes), tuple("abcdefgh"[: max(codes) + 1]))


def shape(node):
    """Return the tree as nested tuples of its conditions, effects and sizes."""
    return str(node), round(node.effect, 3), node.size, [shape(child) for child in node.children]


@pytest.mark.parametrize(
    ("output", "columns", "expected"),
    [
        (
            [1, 1, 3, 3, 5, 5],
            [categorical("c", [0, 0, 1, 1, 2, 2])],
            ("everyone", 3, 6, [("c: a", 1, 2, []), ("c: b", 3, 2, []), ("c: c", 5, 2, [])]),
        ),
        # Small categories are dropped and cost their share. c: children with means 4 (2 of 6 people) and 2 (3 of 6),
        # mean 3, times 5/6 is 2.5; d: means 10/3 and 5/3, 2.6 over everyone.
        (
            [4, 4, 2, 2, 2, 1],
            [categorical("c", [0, 0, 1, 1, 1, 2]), categorical("d", [0, 0, 0, 1, 1, 1])],
            ("everyone", 2.5, 6, [("c: a", 4, 2, []), ("c: b", 2, 3, [])]),
        ),
        # One child alone is no split.
        ([4, 4, 2, 2, 2, 1], [categorical("c", [0, 0, 0, 0, 1, 2])], ("everyone", 2.5, 6, [])),
        # The best threshold wins, with enough people on both sides. Means of these: after 1: 0 / 10; after 2: 5 / 10;
        # ... the first has too few people.
        (
            [0, 10, 0, 0, 0, 50],
            [Column("age", np.array([1.0, 2, 3, 4, 5, 6]))],
            ("everyone", 10, 6, [("age ≤ 4.5", 2.5, 4, []), ("age > 4.5", 25, 2, [])]),
        ),
        # The bar is the score of the split above, not the node's own effect. First split: means 8 and 2, score 5. Below
        # the second child (own effect 2) a further split has a child of 4, which exceeds 2 but not 5; below the first
        # one a child of 10 exceeds 5.
        (
            [10, 10, 6, 6, 4, 4, 0, 0],
            [categorical("first", [0, 0, 0, 0, 1, 1, 1, 1]), categorical("second", [0, 0, 1, 1, 0, 0, 1, 1])],
            (
                "everyone",
                5,
                8,
                [
                    ("first: a", 8, 4, [("first: a, second: a", 10, 2, []), ("first: a, second: b", 6, 2, [])]),
                    ("first: b", 2, 4, []),
                ],
            ),
        ),
    ],
)
def test_splits_by_hand(output, columns, expected):
    assert shape(tree(max_depth=len(columns)).grow(people(output), columns)) == expected


@pytest.mark.parametrize(("aggregation", "score"), [("avg", 6), ("weighted_avg", 4.8), ("max", 8)])
def test_scores_by_hand(aggregation, score):
    assert tree(score_aggregation=aggregation)._aggregate(np.array([8.0, 4]), np.array([2, 8])) == pytest.approx(score)


def test_a_category_is_used_once_a_number_again_with_merged_bounds():
    rng = np.random.default_rng(1)
    columns = {"x": Column("x", rng.normal(size=800)), "c": categorical("c", rng.integers(3, size=800))}
    nodes = list(tree(min_leaf_size=10).grow(people(rng.exponential(size=800)), list(columns.values())).walk())
    paths = [[n.condition.attribute for n in [node, *node.ancestors[:-1]]] for node in nodes if node.parent]
    assert max(path.count("c") for path in paths) == 1 < max(path.count("x") for path in paths)
    for node in nodes:
        attributes = [condition.attribute for condition in node.conditions]
        assert len(set(attributes)) == len(attributes)
        held = [condition.holds(columns[condition.attribute]) for condition in node.conditions]
        assert np.all([np.ones(800, dtype=bool), *held], axis=0).sum() == node.size


@pytest.mark.parametrize(
    ("condition", "printed", "values", "expected"),
    [
        (Condition("state", category="NY"), "state: NY", ["NY"], "state = NY"),
        (Condition("age", low=39.5), "age > 39.5", [39, 40, np.nan], "age >= 40"),
        (Condition("age", high=39.5), "age ≤ 39.5", [39, 40], "age <= 39"),
        (Condition("age", low=19.5, high=30.5), "19.5 < age ≤ 30.5", [20, 31], "age >= 20 and age <= 30"),
        (Condition("age", low=19.5, high=20.5), "19.5 < age ≤ 20.5", [20, 31], "age = 20"),
        (Condition("rate", low=-0.25, high=2), "-0.25 < rate ≤ 2", [0.5, 1], "rate > -0.25 and rate <= 2"),
        # In six digits all three would be above the end, and nobody up to it.
        (Condition("lat", high=40.7127585), "lat ≤ 40.7127585", [40.712741, 40.712776, 40.75], "lat <= 40.71276"),
        (Condition("pay", low=1234567.5), "pay > 1234567.5", [1234567, 1234568], "pay >= 1234568"),
        (
            Condition("ms", low=1712345678901.5),
            "ms > 1712345678901.5",
            [1712345678901, 1712345678902],
            "ms >= 1712345678902",
        ),
        (
            Condition("id", low=2.0**60),
            "id > 1.152921504606847e+18",
            [2**60, 2**60 + 256],
            "id > 1.152921504606847e+18",
        ),
        (Condition("cents", low=1234567.25), "cents > 1234567.25", [1234567.2, 1234567.3], "cents > 1234567.2"),
    ],
)
def test_conditions_as_printed_and_in_the_words_of_an_audit(condition, printed, values, expected):
    assert (str(condition), condition.in_words(pd.Series(values))) == (printed, expected)


def plain(*tests, metric=Difference, smallest_cell=0):
    """Return a report as plain data, of subgroups given by their conditions and intervals, with p-values of 0.01."""
    rows = []
    for conditions, low, high in [((), 0, 0), *tests]:
        node = Node(None, 0.1, 99)
        for condition in conditions:
            node = Node(condition, 0.1, 9, parent=node)
        rows.append(row(low, high, 0.01 if conditions else 0.9, node=node, metric=metric()))
    return report_of(*rows, warnings=("a warning",)).to_dict(smallest_cell=smallest_cell)


def test_a_report_as_plain_data():
    report = plain(([Condition("x", category="A")], 0.2, 0.4))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    (section,) = report["sections"]
    assert (report["warnings"], section["tested"], section["significant"]) == (["a warning"], 2, 1)
    everyone, context = section["contexts"]
    assert (everyone["context"], everyone["significant"], context["context"]) == ("everyone", False, "x: A")
    (test,) = context["tests"]
    assert (context["size"], context["effect"], test["low"], test["high"]) == (5, 0.2, 0.2, 0.4)
    found = test["table"]["counts"], test["estimate"], test["direction"]
    said = "high less often among f (33.3%) than among m (100.0%)"
    assert found == ([[2, 0], [1, 2]], pytest.approx(1 / 3 - 1), said)


@pytest.mark.parametrize(
    ("hired_of_black", "said"),
    [
        (
            3,
            "yes least often in a group that is not shown; yes less often among white (40.0%) than among asian (50.0%)",
        ),
        (
            277,
            "yes most often in a group that is not shown; yes less often among white (40.0%) than among asian (50.0%)",
        ),
    ],
)
def test_a_group_that_is_not_shown_is_not_passed_over(hired_of_black, said):
    people = pd.DataFrame({"white": 100, "asian": 100, "black": 280}, index=["no", "yes"]).astype(int)
    people.loc["yes"] = pd.Series({"white": 40, "asian": 50, "black": hired_of_black})
    people.loc["no"] -= people.loc["yes"]
    counts = people.assign(Total=people.sum(axis=1))
    counts.loc["Total"] = counts.sum()
    report = report_of(row(0.2, 0.4, 0.01) | {"counts": counts, "size": 480}).to_dict(smallest_cell=10)
    (test,) = report["sections"][0]["contexts"][0]["tests"]
    assert (test["table"]["groups"], test["table"]["hidden"], test["direction"]) == (["white", "asian"], 1, said)


def test_plain_data_withholds_small_cells_and_what_is_no_number():
    (test,) = plain(smallest_cell=1)["sections"][0]["contexts"][0]["tests"]
    assert test["table"] is test["estimate"] is test["direction"] is None
    assert plain(smallest_cell=6)["sections"][0]["withheld"] == 1
    unbounded = plain(([Condition("x", category="A")], 1.5, np.inf), metric=Ratio)["sections"][0]["contexts"][1]
    assert (unbounded["tests"][0]["high"], unbounded["effect"]) == (None, pytest.approx(np.log(1.5)))
    assert plain(metric=Correlation)["sections"][0]["contexts"][0]["tests"][0]["estimate"] is None


def test_findings_are_new_gone_stronger_or_weaker():
    b, c = ([Condition("x", category=name)] for name in "BC")
    before = plain(([Condition("age", low=40.0)], 0.1, 0.2), (b, 0.1, 0.3), (c, 0.1, 0.3))
    now = plain(([Condition("age", low=43.0)], 0.3, 0.4), (b, 0.2, 0.4), ([Condition("age", high=9.0)], 0.1, 0.3))
    changes, back = compare_reports(before, now), compare_reports(now, before)
    assert {kind: [one["context"] for one in some] for kind, some in changes.items()} == {
        "new": ["age ≤ 9"],
        "gone": ["x: C"],
        "stronger": ["age > 43"],
        "weaker": [],
    }
    assert changes["stronger"][0]["before"]["context"] == back["weaker"][0]["context"] == "age > 40"
    assert [one["context"] for one in findings(now)] == ["age > 43", "x: B", "age ≤ 9"]


def changed(before, now):
    """Return which kinds of changes there are."""
    return [kind for kind, some in compare_reports(before, now).items() if some]


@pytest.mark.parametrize(
    ("metric", "then", "reversed_now", "stronger_now"),
    [
        (Difference, (0.3, 0.4), (-0.2, -0.1), (0.5, 0.6)),
        (Ratio, (1.5, 2.0), (0.5, 0.9), (2.5, 3.0)),
        (Correlation, (-0.4, -0.3), (0.2, 0.3), (-0.9, -0.8)),
    ],
)
def test_a_finding_in_the_other_direction_is_new(metric, then, reversed_now, stronger_now):
    place = [Condition("x", category="A")]
    before, other, more = (plain((place, *ends), metric=metric) for ends in (then, reversed_now, stronger_now))
    assert changed(before, other) == ["new", "gone"] and changed(before, more) == ["stronger"]


def test_mutual_information_in_the_other_direction_is_new():
    offers = ["no", "yes", "no", "yes", "yes", "no", "no", "yes"] * 100
    people = pd.DataFrame({"sex": ["f", "m"] * 400, "offer": offers})
    other = people.assign(sex=people["sex"].map({"f": "m", "m": "f"}))
    before, now = (
        investigate(DataSource(each), Investigation("sex", "offer")).to_dict(smallest_cell=10)
        for each in (people, other)
    )
    assert changed(before, now) == ["new", "gone"] and changed(before, before) == []


def test_labels_are_compared_with_themselves_in_whatever_order_they_come():
    place = [Condition("x", category="A")]
    before, now = plain((place, 0.3, 0.4)), plain((place, 0.3, 0.4))
    (one,), (other,) = ([each for each in findings(report) if each["context"] == "x: A"] for report in (before, now))
    ball, smile = ({**one["tests"][0], "part": part} for part in ("ball", "smile"))
    smile |= {"low": 0.6, "high": 0.7}
    one["tests"][:], other["tests"][:] = [ball, smile], [smile, ball]
    assert changed(before, now) == []
    other["tests"][:] = [smile, ball | {"low": 0.1, "high": 0.2}]
    assert changed(before, now) == ["weaker"]
