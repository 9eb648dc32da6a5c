"""Audits as tests of pytest: what fails, what a failure shows, and what a session pays that has none."""

import re
import subprocess
import sys

import pytest

TESTS = """
import numpy as np
import pandas as pd
import pytest

import fairlab

pytestmark = pytest.mark.fairness_audit(methods=["rates"])
people = pd.DataFrame({"sex": np.where(np.arange(1_000) % 80 < 40, "f", "m"), "points": np.arange(1_000) % 40})

def case(worth):
    def points(rows):
        return rows["points"] + worth * (rows["sex"] == "m") > 20
    return fairlab.Case(points, people, sensitive_features="sex", pos_label=True)

def test_fair(fairness_audit):
    assert fairness_audit(case(0)).verdict == "undecided"

def test_biased(fairness_audit):
    fairness_audit(case(9))

@pytest.mark.fairness_audit(fail_on=["selection_rate_difference > 0.5"])
def test_within_its_rule(fairness_audit):
    assert fairness_audit(case(9)).verdict == "difference found"

@pytest.mark.fairness_audit(fail_on=["selection_rate_difference > 0.5"])
def test_the_call_comes_first(fairness_audit):
    fairness_audit(case(9), fail_on=["selection_rate_difference > 0.1"])

def test_accepted(fairness_audit):
    entry = {"measure": "selection_rate_difference", "sensitive_features": "sex", "reason": "as agreed"}
    rule = "selection_rate_difference > 0.1"
    fairness_audit(case(9), fail_on=rule, accepted=[entry | {"expires": "2999-01-31"}])

def test_not_judged(fairness_audit):
    fairness_audit(case(0), fail_on=["true_positive_rate_difference > 0.1"])

def test_undecided(fairness_audit):
    fairness_audit(case(0), within=0.02, require_within=True)

def test_within(fairness_audit):
    fairness_audit(case(0), within=0.2, require_within=True)

@pytest.mark.fairness_audit(["true_positive_rate_difference > 0.1"])
def test_rules_without_a_name(fairness_audit):
    fairness_audit(case(0))

def test_nothing_to_test(fairness_audit):
    fairness_audit(fairlab.Case(lambda rows: rows["points"] > 5, people.head(20), sensitive_features="sex"))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What pytest prints of the tests."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "test_audits.py").write_text(TESTS)
    call = [sys.executable, "-m", "pytest", "-p", "fairlab_pytest", "-p", "no:cacheprovider", "--strict-markers", "-rA"]
    return subprocess.run([*call, "."], cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_session_that_audits_nothing_loads_no_more_than_one_small_module():
    code = "import sys, pytest; known = set(sys.modules); import fairlab_pytest; print(set(sys.modules) - known)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "{'fairlab_pytest'}"


def test_audits_fail_by_what_was_found_by_their_rules_and_by_what_is_undecided(shown):
    assert re.findall(r"^(PASSED|FAILED) test_audits.py::test_(\w+)", shown, flags=re.MULTILINE) == [
        *(("PASSED", name) for name in ("fair", "within_its_rule", "accepted", "within")),
        *(
            ("FAILED", name)
            for name in ("biased", "the_call_comes_first", "not_judged", "undecided", "nothing_to_test")
        ),
    ]
    assert "\nERROR test_audits.py::test_rules_without_a_name" in shown
    assert "fairness_audit: expected names, as in fail_on=[...], found ['true_positive_rate_diff" in shown
    assert "not judged: true_positive_rate_difference > 0.1, by sex: there are no true labels" in shown
    said = [
        "Difference found: points, tested on 1,000",
        "\nThe selection rate of f is 22.",
        "\nNext: Check whether the g",
    ]
    assert sorted(said, key=shown.index) == said
    assert not re.search(r"Traceback|fairlab_pytest\.py", shown)
