from itertools import product

import pandas as pd
import pytest

from fairlab.suite.labs.program import QUESTIONS, agency

EVERYBODY = pd.DataFrame(product(*QUESTIONS.values()), columns=list(QUESTIONS))


@pytest.mark.parametrize("course", range(30))
def test_the_agency_invites_as_many_women_as_men_and_treats_many_of_them_otherwise(course):
    invited = pd.Series(agency(course)(EVERYBODY), EVERYBODY.index)
    shares = invited.groupby(EVERYBODY["gender"]).mean()
    assert shares["woman"] == shares["man"]
    others = [name for name in QUESTIONS if name != "gender"]
    twins = invited.groupby([EVERYBODY[name] for name in others])
    assert (twins.max() != twins.min()).mean() >= 0.1


def test_courses_differ():
    assert len({tuple(agency(course)(EVERYBODY)) for course in range(10)}) > 3
