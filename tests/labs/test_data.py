"""Data drawn for a course. What texts say of them is checked by the notebooks when a course is built."""

import pandas as pd
import pytest

import fairlab
from fairlab.labs import berkeley


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
