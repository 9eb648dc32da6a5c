import numpy as np
import pytest

from fairlab.benchmarks import individual_fairness


def test_both_sides_do_the_same_work():
    audit = individual_fairness.adult_like(30)
    together = individual_fairness.attack(audit, 25).X[:3]
    np.testing.assert_allclose(individual_fairness.attack_point_by_point(audit, 3, 25), together, atol=1e-4)


def test_attack_quick():
    ratio, seconds = individual_fairness.attack_vs_one_at_a_time(quick=True)
    assert ratio.name == "attack_vs_one_at_a_time"
    assert ratio.value == pytest.approx(ratio.baseline / ratio.ours)
    assert seconds.value == ratio.ours
    assert {"attack_growth_in_points", "attack_growth_in_steps"} <= {
        row.name for row in individual_fairness.attack_growth(quick=True)
    }


def test_table_3_quick():
    seconds, peak, minutes = individual_fairness.adult_table_3(quick=True)
    assert minutes.value == pytest.approx(seconds.value / 12)
    assert 0 < peak.value < 4
