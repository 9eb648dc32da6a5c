import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import NMI, AssociationReport, Column, Difference, Sample, Section
from fairlab.fairtest.report import Association, Subgroup
from fairlab.fairtest.tree import Condition, Node

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
