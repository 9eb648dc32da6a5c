"""The figure of published numbers and ours that papers share."""

import pandas as pd
import pytest

from fairlab.papers.figures import published_and_ours
from fairlab.plotting import check

KINDS = {"adf": "ADF", "aequitas": "Aequitas", "sg": "SG"}
NUMBERS = pd.DataFrame(
    {
        "data": ["census", "bank"] * 2,
        "feature": "age",
        "method": ["adf", "sg"] * 2,
        "counted": ["found", "found", "share", "share"],
        "published": [1000, 20, 30, 40],
        "ours": [1200, 18, 32, 41],
    }
)
OPTIONS = {"lines": ["data", "feature"], "kind": "method", "kinds": KINDS, "quantity": "counted"}
QUANTITIES = {"found": "inputs found", "share": "share (%)"}


def test_title_says_how_many_times_the_first_kind_has():
    numbers = NUMBERS.assign(data="census")
    figure = published_and_ours(numbers, **OPTIONS, quantities=QUANTITIES)
    assert figure.get_label() == "Inputs found: those of ADF are 67 times those of SG (published: 50)."


@pytest.mark.parametrize(("ours", "scale"), [(0, "symlog"), (float("nan"), "log")])
def test_a_count_of_nothing_has_its_place(ours, scale):
    figure = published_and_ours(NUMBERS.replace({"ours": {18: ours}}), **OPTIONS, quantities=QUANTITIES, log=["found"])
    check(figure)
    assert figure.axes[0].get_xscale() == scale
