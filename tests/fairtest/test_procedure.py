import numpy as np
import pytest

from fairlab import fairtest
from fairlab.fairtest import NMI, BudgetError, DataSource, Testing


def test_the_planted_context_is_found_and_tested(source):
    investigation = Testing(source, "gender", "offer")
    fairtest.find_contexts(investigation)
    assert [str(node) for node in investigation.contexts("gender")][:2] == ["everyone", "region: north"]
    fairtest.validate_contexts(investigation)
    findings = {str(finding.node): finding for finding in investigation.findings_["gender"]}
    assert findings["region: north"].is_significant
    assert findings["region: north"].effect > findings["everyone"].effect > 0


def test_corrections_count_all_protected_attributes(source):
    investigation = Testing(source, ["gender", "race"], "offer")
    fairtest.find_contexts(investigation)
    m = sum(len(investigation.contexts(name)) for name in investigation.protected)
    fairtest.validate_contexts(investigation)
    tests = [a for findings in investigation.findings_.values() for f in findings for a in f.associations]
    assert len(tests) == m > 2
    smallest = min(tests, key=lambda a: a.raw_p_value)
    assert smallest.p_value == pytest.approx(m * smallest.raw_p_value)
    level = 1 - (1 - source.conf_) / m
    root = investigation.findings_["gender"][0]
    expected = NMI().exact(root.sample, conf=level, rng=np.random.default_rng(0))
    assert (root.associations[0].low, root.associations[0].high) == (expected.low, expected.high)


def test_several_investigations_share_one_test_set_and_their_intervals_widen(source):
    investigations = [Testing(source, name, "offer", context=[], metric=NMI()) for name in ("gender", "race")]
    fairtest.investigate(investigations)
    assert source.remaining_ == 1
    for investigation, name in zip(investigations, ("gender", "race"), strict=True):
        [finding] = investigation.findings_[name]
        [association] = finding.associations
        # One hypothesis each: Holm changes nothing, the interval is at 1 - (1 - conf) / 2.
        assert association.p_value == association.raw_p_value
        level = 1 - (1 - source.conf_) / 2
        expected = NMI().exact(finding.sample, conf=level, rng=np.random.default_rng(0))
        assert (association.low, association.high) == (expected.low, expected.high)


def test_approximate_tests(source):
    investigation = Testing(source, "gender", "offer", context=[])
    fairtest.investigate(investigation, exact=False)
    [finding] = investigation.findings_["gender"]
    expected = NMI().approximate(finding.sample, conf=source.conf_)
    assert finding.associations[0].low == pytest.approx(float(expected.low))


def test_no_context_depends_on_another(people):
    runs = []
    for context in ([], None):
        investigation = Testing(DataSource(people), "gender", "offer", context=context)
        fairtest.investigate(investigation)
        runs.append(investigation.findings_["gender"][0].associations[0].raw_p_value)
    assert runs[0] == runs[1]


def test_a_failed_test_raises_and_gives_the_test_set_back(source):
    class Broken(NMI):
        def exact(self, sample, *, conf, rng):
            raise FloatingPointError("broken")

    investigation = Testing(source, "gender", "offer", metric=Broken())
    fairtest.find_contexts(investigation)
    with pytest.raises(FloatingPointError, match="broken"):
        fairtest.validate_contexts(investigation)
    assert source.remaining_ == 2
    assert not hasattr(investigation, "findings_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth: expected a whole number of at least 0, found -1"),
        ({"min_leaf_size": 0}, "min_leaf_size: expected a whole number of at least 1"),
        ({"max_bins": 0}, "max_bins: expected a whole number of at least 1"),
        ({"score_aggregation": "sum"}, "score_aggregation: expected one of avg, weighted_avg, max, found 'sum'"),
        ({"min_leaf_size": 1_001}, "the training set has 1000 rows, fewer than min_leaf_size=1001"),
    ],
)
def test_bad_training_parameters(source, options, message):
    with pytest.raises(ValueError, match=message):
        fairtest.find_contexts(Testing(source, "gender", "offer"), **options)


def test_steps_out_of_order(source, people):
    investigation = Testing(source, "gender", "offer")
    with pytest.raises(ValueError, match="no contexts yet: call find_contexts first"):
        fairtest.validate_contexts(investigation)
    with pytest.raises(ValueError, match="no contexts yet: call find_contexts first"):
        investigation.with_explanatory("region")
    assert source.remaining_ == 2
    fairtest.find_contexts(investigation)
    with pytest.raises(ValueError, match="nothing to report yet: call investigate first"):
        fairtest.report(investigation)
    other = Testing(DataSource(people), "gender", "offer")
    fairtest.find_contexts(other)
    with pytest.raises(ValueError, match="expected all of one DataSource, found several"):
        fairtest.validate_contexts([investigation, other])
    for function in (fairtest.find_contexts, fairtest.validate_contexts, fairtest.investigate, fairtest.report):
        with pytest.raises(ValueError, match="investigations: expected at least one, found none"):
            function([])
    with pytest.raises(TypeError, match="source: expected a DataSource, found DataFrame"):
        Testing(people, "gender", "offer")


def test_one_call_does_what_the_halves_do(people):
    whole, halves = (
        [Testing(source, protected, "offer") for protected in ("gender", "race")]
        for source in (DataSource(people), DataSource(people))
    )
    report = fairtest.investigate(whole, max_depth=2, min_leaf_size=50, exact=False)
    fairtest.find_contexts(halves, max_depth=2, min_leaf_size=50)
    assert not any(hasattr(investigation, "findings_") for investigation in halves)
    assert str(fairtest.validate_contexts(halves, exact=False)) == str(report) == str(fairtest.report(whole))


def test_without_a_test_set_nothing_is_searched_for(source):
    source.remaining_ = 0
    investigation = Testing(source, "gender", "offer")
    with pytest.raises(BudgetError, match="the budget of 2 test sets is spent"):
        fairtest.investigate(investigation)
    assert not hasattr(investigation, "trees_")


def test_investigations_of_several_sources_are_refused_before_any_work(people):
    several = [Testing(DataSource(people), "gender", "offer") for _ in range(2)]
    with pytest.raises(ValueError, match="expected all of one DataSource, found several"):
        fairtest.investigate(several)
    assert not any(hasattr(investigation, "trees_") for investigation in several)


def test_no_public_name_looks_like_a_test_or_a_training_set():
    assert not [name for name in dir(fairtest) if name.startswith(("test", "train"))]
