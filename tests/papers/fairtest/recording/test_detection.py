import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fairtest import recording
from fairlab.papers.fairtest.microbenchmark import alarm_shares
from fairlab.papers.fairtest.recording.detection import ALL_DELTAS, ALL_SIZES


def planted(found):
    """Return two trials of each size and strength with as many found as `found` says, and no false ones."""
    rows = [
        {"size": size, "delta": delta, "trial": trial, "found": found(size, delta), "validated": 0, "false": 0}
        for size in ALL_SIZES
        for delta in ALL_DELTAS
        for trial in range(2)
    ]
    return pd.DataFrame(rows)


def as_published(size, delta):
    return 10 if (delta > 2.5 and size >= 500) or size == 10_000 else 0


QUIET = alarm_shares(pd.DataFrame({"reported": [1] * 50, "significant": [0] * 50}))
BUDGETS = pd.DataFrame(
    [
        {"budget": budget, "draw": draw, "discovered": 9 - 2 * budget, "reported": 6 - budget, "strongest of all": "NY"}
        for budget in (1, 2, 3)
        for draw in range(3)
    ]
)


def test_effectiveness(notes):
    exp = notes("fairtest/effectiveness")
    recording.effectiveness(exp, planted(as_published), QUIET, BUDGETS)
    assert exp.silent() == []
    assert all(holds for (_, id), holds in exp.claims.items() if id != "weak-effects-large-contexts")
    assert list(exp.skipped) == [("section-6.1", "healthcare-no-loss")]
    assert "fairlab data fetch health" in exp.skipped["section-6.1", "healthcare-no-loss"]
    assert exp.records["figure-5", "delta_2_5.size_10000", "as_published"].tolist() == [10]
    assert exp.records["section-6.1", "budget_3.reported", "as_published"].tolist() == [3, 3, 3]


def test_a_printed_mean_is_held_against_means_of_as_many_trials(notes):
    exp = notes("fairtest/effectiveness")
    trials = [planted(as_published).query("trial == 0").assign(trial=k, found=k % 10) for k in range(30)]
    recording.effectiveness(exp, pd.concat(trials), QUIET, BUDGETS)
    assert exp.records["figure-5", "delta_5.size_500", "as_published"].tolist() == [4.5, 4.5, 4.5]


def test_weak_effects_in_large_contexts_only(notes):
    exp = notes("fairtest/effectiveness")
    recording.effectiveness(exp, planted(as_published), QUIET, BUDGETS)
    assert exp.claims["figure-5", "weak-effects-large-contexts"]


def test_effectiveness_with_nothing_as_in_the_paper(notes):
    falling = planted(lambda size, delta: 10 - as_published(size, delta)).assign(false=1)
    loud = alarm_shares(pd.DataFrame({"reported": [2] * 50, "significant": [1] * 50}))
    budgets = BUDGETS.assign(reported=5, **{"strongest of all": ["CA", "CA", "NY"] + ["NY"] * 6})
    exp = notes("fairtest/effectiveness")
    recording.effectiveness(exp, falling, loud, budgets)
    assert not any(exp.claims.values())


def test_effectiveness_of_a_small_profile(notes):
    few = planted(as_published).query("size == 100 and delta == 5")
    exp = notes("fairtest/effectiveness")
    recording.effectiveness(exp, few, QUIET, BUDGETS.query("budget < 3"))
    assert exp.silent() == []
    assert ("section-6.1", "budget_3.reported") in exp.skipped
    assert ("figure-5", "strong-effects-few-hundred") in exp.skipped


ERRORS = pd.DataFrame(
    {"all": [0.4, 0.9], "older": [0.8, 1.5], "younger": [0.3, 0.5]}, index=["everyone", "urgent care"]
)


@pytest.fixture
def tests_of_errors(association, sample):
    def make(**changed):
        whole, half = (sample({"a": {"x": n}, "b": {"x": n}}) for n in (100, 50))
        intervals = {
            "everyone": (0.2, 0.3),
            "urgent care": (0.3, 0.4),
            "everyone, given confidence": (0.05, 0.15),
            "low confidence": (0.02, 0.2),
            "high confidence": (-0.05, 0.05),
        } | changed
        return {
            name: association(*interval, of=half if name in ("low confidence", "high confidence") else whole)
            for name, interval in intervals.items()
        }

    return make


def test_health(notes, tests_of_errors):
    exp = notes("fairtest/health")
    recording.health(exp, tests_of_errors(), ERRORS, in_tree=True)
    assert exp.silent() == []
    assert all(exp.claims.values())
    assert exp.records["figure-8", "high_confidence.corr", "as_published"] == (-0.05, 0.05)
    assert exp.records["section-6.3.1", "mean_error.urgent_care.younger", "as_published"] == 0.5


def test_health_with_nothing_as_in_the_paper(notes, tests_of_errors):
    changed = {
        "everyone": (-0.1, 0.1),
        "urgent care": (-0.2, 0.4),
        "low confidence": (0.1, 0.2, 0.06),
        "high confidence": (0.1, 0.2),
    }
    exp = notes("fairtest/health")
    recording.health(exp, tests_of_errors(**changed), ERRORS.assign(older=ERRORS["younger"]), in_tree=False)
    failed = {id for (_, id), holds in exp.claims.items() if not holds}
    assert failed == {id for _, id in exp.claims} - {"about-half-high-confidence"}
    assert np.isclose(exp.records["section-6.3.1", "mean_error.all", "as_published"], 0.4)
