"""Audits as tests: the fixture `fairness_audit` of pytest, and a marker of that name with defaults for it.

pytest loads this module in every session of an environment that fairlab is installed in. So it stands beside the
package, and imports nothing of it before an audit is asked for.
"""

import pytest

OF_JUDGEMENT = ("baseline", "accepted", "require_within")


def pytest_configure(config):
    """Make the marker known."""
    said = "fairness_audit(fail_on=[...], **options): defaults for all audits of the fixture fairness_audit"
    config.addinivalue_line("markers", said)


@pytest.fixture
def fairness_audit(request):
    """Return a function that audits a case, and fails the test as `fairlab audit` would.

    It takes the case; ``fail_on``, rules such as ``"selection_rate_difference > 0.05"``, without which a difference
    that is found fails; ``baseline``, ``accepted`` (also as entries of a configuration) and ``require_within`` of
    `fairlab.auditing.guard.judge`; and the options of `fairlab.audit`. It returns the report. A failure shows the
    verdict, the first reason, and what to do next.
    """
    defaults = {}
    for marker in reversed([*request.node.iter_markers("fairness_audit")]):  # the closest last
        if marker.args:  # which would be left out without a word
            found = f"fairness_audit: expected names, as in fail_on=[...], found {marker.args[0]!r}"
            pytest.fail(found, pytrace=False)
        defaults |= marker.kwargs

    def run(case, **options):
        from fairlab import audit
        from fairlab.auditing.guard import Accepted, Rule, failures
        from fairlab.auditing.wording import lines

        options = {"progress": False} | defaults | options
        rules = options.pop("fail_on", ())
        rules = [Rule.of(text) for text in ([rules] if isinstance(rules, str) else rules)]
        judging = {name: options.pop(name) for name in OF_JUDGEMENT if name in options}
        entries = judging.get("accepted", ())
        judging["accepted"] = [each if isinstance(each, Accepted) else Accepted.of(each) for each in entries]
        report = audit(case, **options)
        reasons, _ = failures(report, rules=rules, **judging)
        if reasons or not report.n_tests:
            (verdict, sentence), *others = lines(report)
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            told = [f"{verdict}: {sentence}", *(f"{reason}{more}" for reason in reasons[:1])]
            told += [f"{heading}: {said}" for heading, said in others if heading == "Next"]
            pytest.fail("\n".join(told), pytrace=False)
        return report

    return run
