import numpy as np
import pytest

from fairlab.data import load
from fairlab.fairtest import DataSource, Investigation, investigate
from fairlab.papers.fairtest import contexts
from fairlab.papers.fairtest.contexts import berkeley_values, context_values
from fairlab.papers.fairtest.studies import PLAIN
from fairlab.suite.catalogue import specification

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


def test_a_table_has_shares_of_columns_in_its_body_and_of_everybody_in_its_totals(sample, association):
    people = sample({"women": {"no": 30, "yes": 10}, "men": {"no": 20, "yes": 40}})
    values = context_values(
        association(0.1, 0.2, 0.03, of=people),
        "sub1",
        "nmi",
        outputs={"refused": "no", "admitted": "yes"},
        groups={"w": "women", "m": "men"},
    )
    assert (values["sub1.size"], values["sub1.p"], values["sub1.nmi"]) == (100, 0.03, (0.1, 0.2))
    assert (values["sub1.refused.w"], values["sub1.refused.w.pct"]) == (30, 75)
    assert (values["sub1.admitted.total"], values["sub1.admitted.total.pct"]) == (50, 50)
    assert (values["sub1.total.m"], values["sub1.total.m.pct"]) == (60, 60)
    assert values["sub1.total.total"] == 100
    assert "sub1.total.total.pct" not in values


def test_figure_4_in_full():
    applicants = load("berkeley")
    data = applicants.features.assign(accepted=applicants.target)
    given = Investigation("gender", "accepted", explanatory="department", metric=PLAIN)
    values = berkeley_values(investigate(DataSource(data), given).section("gender").everyone)
    published = specification("fairtest/berkeley").published.artefact("figure-4").values
    assert set(values) == set(published)
    for id, value in values.items():
        if published[id].kind == "count":
            assert value == published[id].value


@pytest.mark.parametrize("artefact", ["figure-2", "figure-11"])
def test_ids_of_the_shoppers_contexts_are_those_of_the_paper(artefact, sample, association):
    groups = contexts.STAPLES_GROUPS[artefact]
    people = sample({group: {"high": 1, "low": 2} for group in groups.values()})
    published = specification("fairtest/staples").published.artefact(artefact).values
    for name in set(contexts.STAPLES[artefact]) - {"men"}:  # whom the paper does not print
        options = {"outputs": contexts.STAPLES_OUTPUTS, "groups": groups}
        values = context_values(association(0.1, 0.2, of=people), name, "nmi", **options)
        assert set(values) == {id for id in published if id.startswith(f"{name}.")}
