"""Answers that are tables: values count with the names of their columns."""

import pandas as pd
import pytest

from fairlab.labs import expect
from fairlab.labs.expectation import LabError

RIGHT = pd.DataFrame({"man": [0.6, 0.5], "woman": [0.3, 0.4]}, index=["A", "B"])


@pytest.mark.parametrize("found", [RIGHT, RIGHT[["woman", "man"]], RIGHT.reset_index(drop=True), RIGHT.to_numpy()])
def test_a_table_is_right_in_any_order_of_its_columns(found):
    expect("rates", found, RIGHT)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (RIGHT.set_axis(["woman", "man"], axis=1), "rates: expected "),
        (RIGHT.set_axis(["men", "women"], axis=1), "expected the labels ['man', 'woman'], found ['men', 'women']"),
        (RIGHT[["man", "man"]], "expected the labels ['man', 'woman'], found ['man', 'man']"),
        (RIGHT.assign(other=1), "expected the labels ['man', 'woman'], found ['man', 'woman', 'other']"),
    ],
)
def test_values_under_the_name_of_another_column_are_wrong(found, said):
    with pytest.raises(LabError) as error:
        expect("rates", found, RIGHT)
    assert said in str(error.value)
