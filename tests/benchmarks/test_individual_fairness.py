import numpy as np
import pytest

from fairlab.benchmarks import individual_fairness
from fairlab.papers.individual_fairness import sensr


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


def test_both_attacks_of_sensr_end_with_one_network(monkeypatch):
    [(people, labels, network, batches, *others)] = individual_fairness.sensr_like_adult(1, 2)
    work = people, labels, network, batches[:, 490:510], *others
    ours, *_ = sensr.train(*work)
    monkeypatch.setattr(sensr, "compiled_attack", individual_fairness.dense_attack)
    dense, *_ = sensr.train(*work)
    for part, expected in zip(ours, dense, strict=True):
        np.testing.assert_allclose(part, expected, atol=4e-5)  # two of Adam's steps of 1e-5, at worst either way
