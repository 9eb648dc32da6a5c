import numpy as np
import pytest

from fairlab.data import load
from fairlab.fairtest import DataSource, Report, Testing, investigate
from fairlab.papers.fairtest import recording
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
