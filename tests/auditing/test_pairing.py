import numpy as np
import pandas as pd
import pytest
from audited import people

from fairlab.auditing.pairing import are_same_people


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda t: t, True),
        (lambda t: t.sample(frac=1, random_state=0), True),
        (lambda t: t.drop(columns="age"), True),
        (lambda t: t.assign(extra=1), True),
        (lambda t: t.astype({"age": float, "sex": "category"}), True),
        (lambda t: t.assign(age=t["age"] + 1), False),
        (lambda t: t.reset_index(drop=True), False),
        (lambda t: t.head(10), False),
        (lambda t: t.assign(age=t["age"].astype(float).where(t["age"] > 20)), False),
        (lambda t: t[[]].assign(other=1), False),
    ],
)
def test_the_same_people_have_the_same_labels_and_values(change, same):
    table = people()
    assert are_same_people(table, change(table)) is same


def test_missing_values_are_equal_and_doubled_labels_are_nobody():
    table = people().assign(age=np.nan)
    assert are_same_people(table, table.copy())
    twice = pd.concat([table, table])
    assert not are_same_people(twice, twice)
