from types import SimpleNamespace

import numpy as np
import pandas as pd

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest.patients import AGE, CARE, PREDICTION, TRUTH, mean_errors, table_of


def test_days_are_also_on_the_log_scale():
    features = pd.DataFrame(
        {AGE: [5, 75], CARE: [0, 2], "predicted_days": [0.0, np.e - 1], "confidence": ["high", "low"]}
    )
    table = table_of(SimpleNamespace(features=features, target=pd.Series([1, 0])))
    assert table[PREDICTION].tolist() == [0, 1]
    assert table[TRUTH].tolist() == [np.log(2), 0]
    assert table["days"].tolist() == [0, np.e - 1]
    assert table["urgent care"].tolist() == ["no", "yes"]
    assert "predicted_days" not in table


def test_mean_errors_by_age_and_care(association):
    def people(age, error):
        return Sample(Column(AGE, np.array(age)), Column("error", np.array(error)))

    everyone = people([20.0, 60.0, 70.0, 80.0], [1.0, 2.0, 3.0, 8.0])
    parts = {"": everyone, "urgent care: no": everyone.take([0, 2]), "urgent care: yes": everyone.take([1, 3])}
    tests = tuple(association(0.0, 0.1, part=name, of=sample) for name, sample in parts.items())
    errors = mean_errors(Subgroup(Node(None, 0.0, 4), everyone, tests))
    assert errors.loc["everyone"].tolist() == [3.5, 5.5, 1.5]
    assert errors.loc["urgent care"].tolist() == [5, 8, 2]
    assert errors.loc["no urgent care"].tolist() == [2, 3, 1]
