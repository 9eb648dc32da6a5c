"""Changes between two reports, such as those of two looks at a stream of decisions (section 5)."""

from collections.abc import Mapping

import numpy as np

from fairlab.fairtest.metrics import NMI, Ratio


def findings(report: Mapping) -> list[dict]:
    """Return the significant subgroups of a report, each with its sensitive feature and output.

    Parameters
    ----------
    report : dict
        Made by `AssociationReport.to_dict`.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, findings, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> report = investigate(DataSource(people), Investigation("sex", "offer"))
    >>> [(one["output"], one["context"]) for one in findings(report.to_dict())]
    [('offer', 'everyone')]
    """
    return _findings(report, "report")


def compare_reports(before: Mapping, now: Mapping) -> dict[str, list[dict]]:
    """Return the findings that are new, gone, stronger or weaker since an earlier report.

    Parameters
    ----------
    before, now : dict
        Made by `AssociationReport.to_dict`.

    Returns
    -------
    dict
        Lists of findings under ``new``, ``gone``, ``stronger`` and ``weaker``; in the last two, each has the earlier
        finding as ``before``. Subgroups are the same if their conditions agree, except for the bounds of numbers. An
        effect is stronger or weaker if the intervals of both reports do not overlap; for labels, if those of one label
        do not. If its direction is reversed, it is new, and the earlier one gone.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, compare_reports, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> mended = people.assign(offer=["no", "no", "yes", "yes"] * 150)
    >>> before, now = (investigate(DataSource(each), Investigation("sex", "offer")) for each in (people, mended))
    >>> {kind: len(found) for kind, found in compare_reports(before.to_dict(), now.to_dict()).items()}
    {'new': 0, 'gone': 1, 'stronger': 0, 'weaker': 0}
    """
    earlier, later = _by_key(_findings(before, "before")), _by_key(_findings(now, "now"))
    changes: dict[str, list[dict]] = {"new": [], "gone": [], "stronger": [], "weaker": []}
    for key in dict.fromkeys([*later, *earlier]):
        old, new = earlier.get(key), later.get(key)
        pairs = _pairs(old, new) if old and new else []
        if not (old and new) or any(_side(then) * _side(test) < 0 for then, test in pairs):
            changes["new"] += [new] if new else []
            changes["gone"] += [old] if old else []
        elif any(_is_above(*pair) or _is_above(*reversed(pair)) for pair in pairs):
            old_effect, new_effect = (np.inf if one["effect"] is None else one["effect"] for one in (old, new))
            changes["stronger" if new_effect > old_effect else "weaker"].append(new | {"before": old})
    return changes


def _findings(report: Mapping, name: str) -> list[dict]:
    if not (isinstance(report, Mapping) and "sections" in report):
        raise TypeError(f"{name}: expected a dict by AssociationReport.to_dict, found {type(report).__name__}")
    return [
        {"sensitive_feature": section["sensitive_feature"], "output": section["output"]} | context
        for section in report["sections"]
        for context in section["contexts"]
        if context["significant"]
    ]


def _pairs(old: Mapping, new: Mapping) -> list[tuple[dict, dict]]:
    """Return the tests that both findings have: of the whole subgroup, or of each label."""
    then = {test["part"]: test for test in old["tests"]}
    own = [test for test in new["tests"] if not test["part"]] or new["tests"]
    return [(then[test["part"]], test) for test in own if test["part"] in then]


def _side(test: Mapping) -> int:
    """Return the direction in which groups differ, 1 or -1; 0 where it is unknown."""
    if test["metric"].endswith(NMI.name):  # it has no direction; with two groups their table shows it
        is_known = test["direction"] and not test["table"]["hidden"] and len(test["table"]["shares"]) == 2
        return int(np.sign(np.subtract(*test["table"]["shares"]))) if is_known else 0
    none = 1 if test["metric"].endswith(Ratio.name) else 0
    return (test["low"] is not None and test["low"] > none) - (test["high"] is not None and test["high"] < none)


def _is_above(test: Mapping, other: Mapping) -> bool:
    return None not in (test["low"], other["high"]) and test["low"] > other["high"]


def _by_key(found: list[dict]) -> dict[tuple, dict]:
    """Return findings by feature, output and kind of condition; where these coincide, later ones also by context."""
    by_key = {}
    for one in found:
        key = (one["sensitive_feature"], one["output"], *one["kind"])
        by_key.setdefault(key if key not in by_key else (*key, one["context"]), one)
    return by_key
