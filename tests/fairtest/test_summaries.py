import numpy as np
import pytest

from fairlab.fairtest import (
    Column,
    Difference,
    Sample,
    association_table,
    contingency_table,
    label_table,
    share_table,
)
from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.metric import Hypothesis
from fairlab.fairtest.tree import Node

SEX, INCOME = (
    Column("sex", np.array([0, 0, 0, 1, 1]), ("f", "m")),
    Column("income", np.array([0, 0, 1, 1, 1]), ("low", "high")),
)
SAMPLE = Sample(SEX, INCOME)


def test_contingency_table():
    table = contingency_table(SAMPLE)
    assert table.to_dict("list") == {"f": [2, 1, 3], "m": [0, 2, 2], "Total": [2, 3, 5]}
    assert table.index.tolist() == ["low", "high", "Total"]
    numbers = Sample(SEX, Column("price", np.arange(5.0)))
    with pytest.raises(ValueError, match="column 'price' holds numbers, a contingency table needs categories"):
        contingency_table(numbers)


def test_shares_of_outputs_within_groups_and_among_all():
    table = share_table(SAMPLE)
    assert table.index.tolist() == ["low", "high"]
    np.testing.assert_allclose(table["f"], [2 / 3, 1 / 3])
    np.testing.assert_allclose(table["Total"], [0.4, 0.6])


def test_associations_and_labels_as_rows():
    hypotheses = [Hypothesis(name, Difference(), Sample(SEX, Column(name, INCOME.values, ("0", "1")))) for name in "ab"]
    first, second = (Association(h, -0.1, 0.2, p, p / 2) for h, p in zip(hypotheses, (0.1, 0.2), strict=True))
    rows = association_table({"one": first, "other": second})
    assert rows.to_numpy().tolist() == [["one", 5, -0.1, 0.2, 0.1], ["other", 5, -0.1, 0.2, 0.2]]
    labels = label_table(Finding(Node(None, 0.0, 5), SAMPLE, (first, second)))
    assert labels.index.tolist() == ["a", "b"]
    np.testing.assert_allclose(labels.loc["a", ["f", "m"]].tolist(), [1 / 3, 1])


def test_a_group_without_anybody_has_no_share():
    hypothesis = Hypothesis("a", Difference(), Sample(SEX, INCOME).take(slice(0, 3)))
    table = label_table(Finding(Node(None, 0.0, 5), SAMPLE, (Association(hypothesis, 0, 1, 1, 1),)))
    assert np.isnan(table.loc["income", "m"])


@pytest.mark.parametrize("table", [contingency_table, share_table, label_table, association_table])
def test_tables_of_something_else(table):
    with pytest.raises(TypeError, match=r"expected (Sample|Finding|Mapping), found 3"):
        table(3)


def test_a_table_of_other_things_than_associations():
    with pytest.raises(TypeError, match="associations: expected Association, found 'x'"):
        association_table({"everyone": "x"})
