import numpy as np
import pytest

from fairlab.suite.labs.trust import sabotage

ENDS = np.array([-1.0, 0.0]), np.array([1.0, 4.0])
METHODS = {name: lambda tables: ENDS for name in "abc"}


@pytest.mark.parametrize("course", range(5))
def test_one_method_has_narrower_intervals_about_the_same_middles(course):
    found = {name: method(None) for name, method in sabotage(METHODS, course).items()}
    (broken,) = (name for name, ends in found.items() if ends is not ENDS)
    low, high = found[broken]
    assert (low + high).tolist() == pytest.approx((ENDS[0] + ENDS[1]).tolist())
    assert 0.6 <= ((high - low) / (ENDS[1] - ENDS[0]))[0] <= 0.7


def test_courses_differ_in_which_it_is():
    broken = {
        name for course in range(12) for name, method in sabotage(METHODS, course).items() if method(0) is not ENDS
    }
    assert broken == set(METHODS)
