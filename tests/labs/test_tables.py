import numpy as np
import pandas as pd
import pytest

import fairlab
from fairlab.suite.labs.audit import trainees
from fairlab.suite.labs.berkeley import ADMISSIONS, admissions
from fairlab.suite.labs.counterparts import company, hiring
from fairlab.suite.labs.gradient import FAMILIES, families
from fairlab.suite.labs.looking import shops
from fairlab.suite.labs.metric import borrowers


def counts(table, names):
    return table.groupby(names, observed=True).size().to_dict()


def test_course_0_has_the_published_counts():
    published = fairlab.load("berkeley")
    theirs = published.features.assign(admitted=published.target.astype(str).str.lower()).astype(str)
    theirs["gender"] = theirs["gender"].map({"Male": "man", "Female": "woman"})
    names = ["department", "gender", "admitted"]
    assert counts(admissions(), names) == counts(theirs, names)


def test_another_course_has_as_many_applicants_and_other_admissions():
    own, other = admissions(1), admissions(2)
    groups = ["department", "gender"]
    assert counts(own, groups) == counts(other, groups) == counts(admissions(), groups)
    assert counts(own, [*groups, "admitted"]) != counts(other, [*groups, "admitted"])
    pd.testing.assert_frame_equal(own, admissions(1))
    share = (own["admitted"] == "yes").groupby(own["department"]).mean()
    for department, (men, no_men, women, no_women) in ADMISSIONS.items():
        published = (men + women) / (men + no_men + women + no_women)
        assert share[department] == pytest.approx(published, abs=0.1)


def test_hiring_is_drawn_for_the_course():
    assert list(hiring(n_people=5)["gender"]) == ["male"] * 5 + ["female"] * 5
    assert not hiring(1, n_people=5).equals(hiring(2, n_people=5))


@pytest.mark.parametrize("course", [2027, *range(29)])
def test_draws_that_break_the_story_of_a_lab_are_drawn_again(course):
    people = hiring(course, n_people=300)
    women, men = (company(people[people["gender"] == gender]).mean() for gender in ("female", "male"))
    assert abs(women - men) <= 0.01
    applied = admissions(course)
    yes = applied["admitted"] == "yes"
    rate = yes.groupby([applied["department"], applied["gender"]]).mean().unstack()
    assert (rate["woman"] > rate["man"])[["A", "B"]].all()
    assert np.diff(yes.groupby(applied["gender"]).mean()) <= -0.1
    assert abs(borrowers(course)[["quarter", "repaid"]].corr().iloc[0, 1]) < 0.1
    ranked = trainees(course)
    for half in (ranked[:1000], ranked[1000:]):
        foreign, local = (half["invited"] == "yes").groupby(half["origin"]).mean()
        assert local - foreign >= 0.15


@pytest.mark.parametrize("course", range(3))
def test_one_shop_is_unfair_in_one_region_and_the_other_looks_bad_in_one_context(course):
    gap, worst = {}, {}
    for name, table in shops(course).items():
        offered = table["discount"] == "yes"
        share = offered.groupby([table["region"], table["gender"]]).mean().unstack()
        gap[name] = (share["man"] - share["woman"]).abs().max()
        contexts = offered.groupby([table["region"], table["age"], table["gender"]]).agg(["mean", "size"]).unstack()
        differences = contexts["mean"]["man"] - contexts["mean"]["woman"]
        worst[name] = (differences / np.sqrt(0.25 * (1 / contexts["size"]).sum(axis=1))).abs().max()
    fair, unfair = sorted(gap, key=gap.get)
    assert gap[fair] < 0.15 < gap[unfair] < 0.42
    assert 2 < worst[fair] < 4.2


def test_who_pays_back_has_to_do_with_merit_and_not_with_the_quarter():
    people = borrowers(1, n_people=4000)
    assert np.corrcoef(people["merit"], people["repaid"])[0, 1] > 0.5
    assert abs(np.corrcoef(people["quarter"], people["repaid"])[0, 1]) < 0.06
    assert people[["merit", "quarter"]].mean().abs().max() < 1e-9


def test_clerks_look_sooner_into_families_from_abroad():
    people = families(1, n_people=20_000)
    low, high = np.array(list(FAMILIES.values())).T
    assert list(people) == [*FAMILIES, "picked"]
    values = people[list(FAMILIES)].to_numpy()
    assert ((low <= values) & (values <= high)).all()
    picked = people.groupby("origin")["picked"].mean()
    assert 0.03 < picked[1] - picked[0] < 0.2
    others = people.groupby("origin")[["income", "hours", "late"]].mean()
    assert np.allclose(others.loc[0], others.loc[1], rtol=0.05)


@pytest.mark.parametrize("course", range(2))
def test_a_district_tells_the_origin_of_trainees_and_firms_look_at_it(course):
    people = trainees(course, n_people=8000)
    invited = people["invited"] == "yes"
    by_origin, by_gender = (invited.groupby(people[name]).mean() for name in ("origin", "gender"))
    assert 0.1 < by_origin["local"] - by_origin["foreign"] < 0.3
    assert abs(by_gender["man"] - by_gender["woman"]) < 0.04
    assert (people["origin"] == "foreign")[people["district"] == "harbour"].mean() > 0.6
    assert 0.05 < people["absent"].isna().mean() < 0.1
