import pandas as pd
import pytest

from fairlab.data import load
from fairlab.fairtest import DataSource, Investigation, investigate
from fairlab.papers.fairtest.printed import berkeley_values, beside_published, context_values
from fairlab.papers.fairtest.studies import PLAIN
from fairlab.suite.catalogue import specification


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


def test_published_and_own_numbers_are_written_alike():
    published = pd.DataFrame(
        {"printed": ["341", "1.39e-53", "[0.0063, 0.0139]", "88", "3"]},
        index=pd.Index(["size", "p", "nmi", "share", "absent"], name="id"),
    ).assign(kind=["count", "p-value", "interval", "percent", "number"])
    ours = {"size": 340, "p": 1.234e-5, "nmi": (0.00625, 0.014), "share": 87.6, "further": 1}
    beside = beside_published(published, ours)
    assert beside.index.tolist() == ["size", "p", "nmi", "share"]
    assert beside["this run"].tolist() == ["340", "1.23e-05", "[0.0063, 0.0140]", "88"]


@pytest.mark.parametrize("artefact", ["figure-2", "figure-11"])
def test_ids_of_the_shoppers_contexts_are_those_of_the_paper(artefact, sample, association):
    from fairlab.papers.fairtest import contexts, printed

    groups = contexts.STAPLES_GROUPS[artefact]
    people = sample({group: {"high": 1, "low": 2} for group in groups.values()})
    published = specification("fairtest/staples").published.artefact(artefact).values
    for name in set(contexts.STAPLES[artefact]) - {"men"}:  # whom the paper does not print
        options = {"outputs": printed.STAPLES_OUTPUTS, "groups": groups}
        values = context_values(association(0.1, 0.2, of=people), name, "nmi", **options)
        assert set(values) == {id for id in published if id.startswith(f"{name}.")}
