"""Data and programs drawn for a course. What texts say of them is checked by the notebooks when a course is built."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import fairlab
from fairlab.suite.labs import audit, berkeley, counterparts, metric, program, trust

EVERYBODY = pd.DataFrame(product(*program.QUESTIONS.values()), columns=list(program.QUESTIONS))
ENDS = np.array([-1.0, 0.0]), np.array([1.0, 4.0])
METHODS = {name: lambda tables: ENDS for name in "abc"}


def counts(table, *names):
    return table.groupby(list(names), observed=True).size().to_dict()


def test_course_0_has_the_published_admissions():
    published = fairlab.load("berkeley")
    theirs = published.features.assign(admitted=published.target.astype(str).str.lower()).astype(str)
    theirs["gender"] = theirs["gender"].map({"Male": "man", "Female": "woman"})
    names = ["department", "gender", "admitted"]
    assert counts(berkeley.admissions(), *names) == counts(theirs, *names)


def test_another_course_has_as_many_applicants_and_other_admissions():
    own, other = berkeley.admissions(1), berkeley.admissions(2)
    groups = ["department", "gender"]
    assert counts(own, *groups) == counts(other, *groups) == counts(berkeley.admissions(), *groups)
    assert counts(own, *groups, "admitted") != counts(other, *groups, "admitted")
    pd.testing.assert_frame_equal(own, berkeley.admissions(1))
    share = (own["admitted"] == "yes").groupby(own["department"]).mean()
    for department, (men, no_men, women, no_women) in berkeley.ADMISSIONS.items():
        published = (men + women) / (men + no_men + women + no_women)
        assert share[department] == pytest.approx(published, abs=0.1)


@pytest.mark.parametrize("course", [2027, *range(29)])
def test_draws_that_break_the_story_of_a_lab_are_drawn_again(course):
    people = counterparts.hiring(course, n_people=300)
    women, men = (counterparts.company(people[people["gender"] == gender]).mean() for gender in ("female", "male"))
    assert abs(women - men) <= 0.01
    applied = berkeley.admissions(course)
    yes = applied["admitted"] == "yes"
    rate = yes.groupby([applied["department"], applied["gender"]]).mean().unstack()
    assert (rate["woman"] > rate["man"])[["A", "B"]].all()
    assert np.diff(yes.groupby(applied["gender"]).mean()) <= -0.1
    assert abs(metric.borrowers(course)[["quarter", "repaid"]].corr().iloc[0, 1]) < 0.1
    ranked = audit.trainees(course)
    for half in (ranked[:1000], ranked[1000:]):
        foreign, local = (half["invited"] == "yes").groupby(half["origin"]).mean()
        assert local - foreign >= 0.15


@pytest.mark.parametrize("course", range(30))
def test_the_agency_invites_as_many_women_as_men_and_treats_many_of_them_otherwise(course):
    invited = pd.Series(program.agency(course)(EVERYBODY), EVERYBODY.index)
    shares = invited.groupby(EVERYBODY["gender"]).mean()
    assert shares["woman"] == shares["man"]
    twins = invited.groupby([EVERYBODY[name] for name in program.QUESTIONS if name != "gender"])
    assert (twins.max() != twins.min()).mean() >= 0.1


def test_courses_have_several_agencies():
    assert len({tuple(program.agency(course)(EVERYBODY)) for course in range(10)}) > 3


def test_one_method_has_narrower_intervals_about_the_same_middles_and_courses_differ_in_which():
    broken = set()
    for course in range(12):
        found = {name: method(None) for name, method in trust.sabotage(METHODS, course).items()}
        (name,) = (name for name, ends in found.items() if ends is not ENDS)
        low, high = found[name]
        assert (low + high).tolist() == pytest.approx((ENDS[0] + ENDS[1]).tolist())
        assert 0.6 <= ((high - low) / (ENDS[1] - ENDS[0]))[0] <= 0.7
        broken.add(name)
    assert broken == set(METHODS)
