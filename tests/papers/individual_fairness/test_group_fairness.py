import pytest

from fairlab.papers.individual_fairness.group_fairness import average_odds_difference

GROUP = [0, 0, 0, 0, 1, 1, 1, 1]
TRUE = [1, 1, 0, 0, 1, 1, 0, 0]


def test_by_hand():
    predicted = [1, 0, 0, 0, 1, 1, 1, 0]  # true positive rates 1/2 and 1, false positive rates 0 and 1/2
    assert average_odds_difference(TRUE, predicted, sensitive_features=GROUP) == pytest.approx(-0.5)
    assert average_odds_difference(TRUE, TRUE, sensitive_features=GROUP) == 0


def test_bad_groups_are_refused():
    with pytest.raises(ValueError, match=r"expected groups 0 and 1, found \[1, 2\]"):
        average_odds_difference(TRUE, TRUE, sensitive_features=[1, 1, 1, 1, 2, 2, 2, 2])
    with pytest.raises(ValueError, match="group 1 has one class only"):
        average_odds_difference([1, 0, 0, 0, 1, 1, 1, 1], TRUE, sensitive_features=GROUP)
