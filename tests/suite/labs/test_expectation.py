import sys

import numpy as np
import pandas as pd
import pytest

from fairlab.suite.labs import LabError, expect


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (np.float64(2), 2),
        ("Neither ", "neither"),
        (np.True_, True),
        ([1, 2.0], (1, 2)),
        (np.array([[1.0, np.nan]]), [[1, np.nan]]),
        ({"b", "a"}, {"a", "b"}),
        (["a", "b"], {"a", "b"}),
        (pd.Series({"man": 1.0, "woman": 2.0}), pd.Series({"woman": 2, "man": 1})),
        ({"man": 1, "woman": 2}, pd.Series({"woman": 2, "man": 1})),
    ],
)
def test_right_answers_say_nothing(found, expected):
    expect("it", found, expected)


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        (0.5, 0.25, r"it: expected 0.25, found 0.5\.$"),
        ([1, 2, 3], [1, 2], r"expected \[1, 2\], found \[1, 2, 3\]"),
        ("men", "women", "expected 'women', found 'men'"),
        (1, True, "expected True, found 1"),
        (True, 1, "expected 1, found True"),
        ("0.25", 0.25, "expected 0.25, found '0.25'"),
        ({"man": 1.0}, pd.Series({"man": 1.0, "woman": 2.0}), r"found \{man: 1\}"),
        (pd.Series({"x": 1.0}), pd.Series({"y": 1.0}), r"found \{x: 1\}"),
        (3, {"a"}, r"expected \{'a'\}, found 3"),
        (None, 1, "found no answer. Is there a `return`, or a value?"),
        (..., 1, "found no answer"),
    ],
)
def test_others_say_what_was_expected_and_found(found, expected, message):
    with pytest.raises(LabError, match=message):
        expect("it", found, expected)


def test_the_mistake_that_gives_the_answer_is_named_and_no_other():
    mistakes = {"the first": 1, "the second": 2}
    with pytest.raises(LabError, match=r"found 2\. A common mistake: the second\.$"):
        expect("it", 2.0, 3, mistakes=mistakes)
    with pytest.raises(LabError, match=r"found 4\.$"):
        expect("it", 4, 3, mistakes=mistakes)


class Agrees(float):
    """Is whatever is asked for."""

    def __float__(self):
        return sys._getframe(1).f_locals["expected"]

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "wrap", [lambda own: own, lambda own: [own], lambda own: {"a": own}, lambda own: np.array([own], dtype=object)]
)
def test_an_object_that_compares_as_it_likes_is_no_answer(wrap):
    with pytest.raises(LabError, match="return plain numbers or text"):
        expect("it", wrap(Agrees()), [1])
