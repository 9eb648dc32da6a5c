import numpy as np

from fairlab.papers.fairtest import contexts

INF = np.inf


def test_races_have_short_names():
    assert contexts.short(f"state: CA, race: {contexts.WHITE}") == "state: CA, race: White"
    assert contexts.short("Hispanic or Latino") == "Hispanic"
    assert contexts.short("White Not Hispanic or Latino") == "White"


def test_every_shown_context_has_groups_and_a_protected_attribute():
    assert set(contexts.ADULT) == set(contexts.ADULT_GROUPS) == set(contexts.ADULT_PROTECTED)
    assert set(contexts.STAPLES) == set(contexts.STAPLES_GROUPS) == set(contexts.STAPLES_PROTECTED)


def test_shown_contexts_are_found_where_the_tree_has_them(section):
    tree = section(
        {
            (): (0.01, 0.02, 0.001),
            (("education-num", (11.5, INF)),): (0.03, 0.09, 0.01),
            (("age", (46.5, INF)), ("education-num", (-INF, 11.5))): (0.0, 0.1, 0.5),
        }
    )
    found = contexts.find_shown(tree, contexts.ADULT["gender"])
    assert {name: str(finding.node) for name, finding in found.items()} == {
        "global": "everyone",
        "sub2": "education-num > 11.5",
    }
    table = contexts.shown_table(tree, contexts.ADULT["gender"])
    assert table["context"].tolist() == ["everyone", "9.5 < education-num ≤ 11.5, age > 46.5", "education-num > 11.5"]
    assert table["in the tree"].tolist() == [True, False, True]
    assert table["reported"].tolist()[::2] == [True, True]
    assert table.loc[[0, 2], "low"].tolist() == [0.01, 0.03]
    assert table.loc[1, ["size", "low", "p_value", "reported"]].isna().all()
