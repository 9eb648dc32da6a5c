import numpy as np
import pytest

from fairlab.fairtest import NMI, Column, Difference, Sample
from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.metric import Hypothesis
from fairlab.fairtest.tree import Node

SAMPLE = Sample(
    Column("sex", np.array([0, 0, 0, 1, 1]), ("f", "m")), Column("income", np.array([0, 0, 1, 1, 1]), ("low", "high"))
)
NODE = Node(None, 0.1, 99)


def association(low, high, p_value=0.5, *, part="", metric=None, sample=SAMPLE):
    return Association(Hypothesis(part, metric or Difference(), sample), low, high, p_value, p_value / 2)


def test_effect_is_the_distance_of_the_interval_from_no_association():
    assert association(0.2, 0.4).effect == pytest.approx(0.2)
    assert association(-0.4, -0.1).effect == pytest.approx(0.1)
    assert association(-0.1, 0.4).effect == 0
    assert association(0.1, 0.4, metric=NMI()).effect == pytest.approx(0.1)


def test_nobody_has_no_effect():
    nobody = association(np.nan, np.nan, sample=SAMPLE.take([]))
    assert (nobody.size, nobody.effect) == (0, 0)


def test_a_context_is_judged_by_its_own_association_not_by_its_strata():
    own, stratum = association(-0.1, 0.1, 0.06), association(0.3, 0.4, 0.001, part="region: north")
    finding = Finding(NODE, SAMPLE, (own, stratum))
    assert not finding.is_significant
    assert finding.effect == 0
    assert Finding(NODE, SAMPLE, (association(0.1, 0.2, 0.05), stratum)).is_significant


def test_a_context_of_labels_has_their_mean_effect_and_is_significant_with_any():
    labels = (association(0.2, 0.4, 0.9, part="cart"), association(-0.1, 0.1, 0.9, part="drum"))
    finding = Finding(NODE, SAMPLE, labels)
    assert finding.effect == pytest.approx(0.1)
    assert finding.is_significant
    assert not Finding(NODE, SAMPLE, labels[1:]).is_significant


def test_associations_by_their_part():
    own, stratum = association(0, 0.1), association(0.3, 0.4, part="region: north")
    finding = Finding(NODE, SAMPLE, (own, stratum))
    assert finding.association() is own
    assert finding.association("region: north") is stratum
    with pytest.raises(KeyError, match="everyone has no part 'region: south'; there are '', 'region: north'"):
        finding.association("region: south")
