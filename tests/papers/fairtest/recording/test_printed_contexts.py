import numpy as np
import pytest

from fairlab.data import load
from fairlab.fairtest import DataSource, Report, Testing, investigate
from fairlab.papers.fairtest import contexts, recording
from fairlab.papers.fairtest.studies import PLAIN

INF = np.inf
WEAK, STRONG, STRONGER = (0.01, 0.02, 1e-9), (0.03, 0.08, 1e-5), (0.05, 0.09, 1e-4)
ORDINARY = (("age", (-INF, 42.5)), ("hours-per-week", (-INF, 55.5)))
GRADUATES, COLLEGE = (("education-num", (11.5, INF)),), (("age", (46.5, INF)), ("education-num", (9.5, 11.5)))


@pytest.fixture
def adult_report(section, sample):
    """Both trees with all contexts of figure 10, where black people and women have low incomes most often."""
    races = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
    people = {
        "race": sample({race: {"<=50K": 90 if race == "Black" else 70, ">50K": 10} for race in races}),
        "sex": sample({"Female": {"<=50K": 90, ">50K": 10}, "Male": {"<=50K": 70, ">50K": 30}}),
    }
    trees = {
        "sex": {(): WEAK, GRADUATES: STRONG, COLLEGE: STRONGER},
        "race": {(): WEAK, ORDINARY: STRONG, (*ORDINARY, ("workclass", "Federal-gov")): STRONGER},
    }

    def make(without=()):
        sections = []
        for protected, tree in trees.items():
            kept = {conditions: test for conditions, test in tree.items() if conditions not in without}
            samples = dict.fromkeys(kept, people[protected])
            sections.append(section(kept, protected=protected, output="income", samples=samples))
        return Report(tuple(sections))

    return make


def test_adult(notes, adult_report):
    exp = notes("fairtest/adult")
    recording.adult(exp, adult_report())
    assert exp.silent() == []
    assert not exp.skipped
    assert all(exp.claims.values())
    assert exp.records["figure-10", "gender.sub2.le_50k.female.pct", "as_published"] == 90
    assert exp.records["figure-10", "race.sub1.nmi", "as_published"] == STRONGER[:2]
    assert exp.records["section-6.3.3", "low_income_share.men", "as_published"] == pytest.approx(70)


def test_adult_without_a_context_of_the_paper(notes, adult_report):
    exp = notes("fairtest/adult")
    recording.adult(exp, adult_report(without=[GRADUATES]))
    assert exp.silent() == []
    skipped = {id for _, id in exp.skipped}
    assert {"gender.sub2.size", "women-disfavoured", "contexts-stronger-than-root"} <= skipped
    assert "education-num > 11.5" in exp.skipped["figure-10", "gender.sub2.p"]
    assert exp.claims["figure-10", "black-disfavoured"]


def test_berkeley(notes):
    berkeley = load("berkeley")
    data = berkeley.features.assign(accepted=berkeley.target)
    given = Testing(DataSource(data), "gender", "accepted", explanatory="department", metric=PLAIN)
    exp = notes("fairtest/berkeley")
    recording.berkeley(exp, investigate(given).section("gender").everyone, n_applicants=len(data))
    assert exp.silent() == []
    assert all(exp.claims.values())
    assert exp.records["section-4.6", "applicants", "as_published"] == 4425
    assert exp.records["section-4.6", "admitted_share.female", "as_published"] == pytest.approx(32.4, abs=0.05)


PEOPLE = {contexts.WHITE: (16, 84), contexts.BLACK: (4, 96), contexts.NATIVE: (2, 6), "Asian": (4, 96)}
PEOPLE |= {"Hispanic or Latino": (4, 96)}


@pytest.fixture
def staples_report(section, sample):
    """Both trees with all contexts of figures 2 and 11."""
    by_race = sample({race: dict(zip(("high", "low"), n, strict=True)) for race, n in PEOPLE.items()})
    by_income = sample({"<50K": {"high": 10, "low": 90}, ">=50K": {"high": 5, "low": 95}})
    new_york = (("state", "NY"), ("income", "<50K"))
    income = {
        (): (0.0, 0.0005, 1e-10),
        (("state", "NY"), ("race", contexts.BLACK), ("gender", "M")): (0.004, 0.09, 1e-4),
        (("race", contexts.WHITE), ("state", "CA")): (0.005, 0.02, 1e-20),
    }
    race = {(): (0.02, 0.03, 1e-100)}
    race |= {(*new_york, ("gender", gender)): (low, 0.2, 1e-9) for gender, low in (("F", 0.05), ("M", 0.04))}

    def make(without=()):
        trees = {"income": (income, by_income), "race": (race, by_race)}
        return Report(
            tuple(
                section(
                    {c: test for c, test in tree.items() if c not in without},
                    protected=protected,
                    samples=dict.fromkeys(tree, people),
                )
                for protected, (tree, people) in trees.items()
            )
        )

    return make


def keys(report):
    return {(r, p): report for r in ("as_published", "as_described") for p in ("drawn", "as they are")}


def test_staples(notes, staples_report):
    exp = notes("fairtest/staples")
    recording.staples(exp, keys(staples_report()))
    assert exp.silent() == []
    assert not exp.skipped
    assert {id for (_, id), holds in exp.claims.items() if not holds} == {"native-small-minority"}  # 8 of 408
    assert exp.records["figure-11", "sub1.high.white.pct", "as_described"] == 16
    assert exp.records["appendix-a.1", "native.high_price_share", "as_published"] == 25


def test_staples_claims_can_fail(notes, staples_report):
    report = staples_report()
    income = report.section("income")
    object.__setattr__(income.findings[0].associations[0], "high", 0.0045)
    object.__setattr__(
        report.section("race").find("state: NY", "income: <50K", "gender: F").associations[0], "low", 0.01
    )
    exp = notes("fairtest/staples")
    recording.staples(exp, keys(report))
    failed = {id for (_, id), holds in exp.claims.items() if not holds}
    assert failed == {"global-effect-tiny", "zoom-in-grows", "women-stronger-than-men", "native-small-minority"}


def test_staples_without_contexts_of_the_paper(notes, staples_report):
    lost = (("race", contexts.WHITE), ("state", "CA")), (("state", "NY"), ("income", "<50K"), ("gender", "F"))
    exp = notes("fairtest/staples")
    recording.staples(exp, keys(staples_report(without=lost)))
    assert exp.silent() == []
    skipped = {id for _, id in exp.skipped}
    assert {"sub1.size", "zoom-in-grows", "white-affected-in-ny", "women-stronger-than-men"} <= skipped
    assert "sub2.size" not in skipped
