import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.papers.fliptest.hiring import AUTHORS_COEF, authors_model, scaled_groups


def test_the_kept_rule_by_hand():
    X = pd.DataFrame({"work_experience": [1.0, 0.0, 0.0], "hair_length": [0.0, 0.7, 0.75]})
    assert authors_model(X).tolist() == [1, 0, 1]  # 1.4028, 0.8182 and 0.8766 against 0.8684
    assert authors_model(X.to_numpy()).tolist() == [1, 0, 1]
    assert AUTHORS_COEF[0] > AUTHORS_COEF[1]


def test_every_draw_has_the_scale_of_the_training_draw():
    training, test = load("lipton", n_points=200, seed=0), load("lipton", n_points=100, seed=5)
    train, people = scaled_groups(training, test)
    both = pd.concat(train.values())
    assert both.mean().to_numpy() == pytest.approx([0, 0], abs=1e-12)
    assert both.std(ddof=0).to_numpy() == pytest.approx([1, 1])
    by_hand = (test.features - training.features.mean()) / training.features.std(ddof=0)
    for name, code in (("women", "female"), ("men", "male")):
        expected = by_hand[test.sensitive_features["gender"] == code]
        np.testing.assert_allclose(people[name], expected)
        assert people[name].index.equals(expected.index)
        assert [*people[name].columns] == ["work_experience", "hair_length"]
