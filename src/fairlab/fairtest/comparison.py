"""What changed between two reports, such as those of two looks at a stream of decisions (section 5)."""

from collections.abc import Mapping

import numpy as np


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
        Lists of findings by ``new``, ``gone``, ``stronger`` and ``weaker``; those of the last two have the earlier one
        as ``before``. Subgroups are the same if their conditions are, but for the bounds of numbers. An effect is
        stronger or weaker if the intervals of both reports do not overlap.

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
    changes = {
        "new": [one for key, one in later.items() if key not in earlier],
        "gone": [one for key, one in earlier.items() if key not in later],
        "stronger": [],
        "weaker": [],
    }
    for key in earlier.keys() & later.keys():
        old, new = earlier[key], later[key]
        tests = [one["tests"][0] for one in (old, new) if one["tests"]]
        if len(tests) == 2 and (_is_above(*tests) or _is_above(*reversed(tests))):
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


def _is_above(test: Mapping, other: Mapping) -> bool:
    return None not in (test["low"], other["high"]) and test["low"] > other["high"]


def _by_key(found: list[dict]) -> dict[tuple, dict]:
    """Return findings by what they are about; of several in one attribute, the later ones by their bounds, too."""
    by_key = {}
    for one in found:
        key = (one["sensitive_feature"], one["output"], *one["kind"])
        by_key.setdefault(key if key not in by_key else (*key, one["context"]), one)
    return by_key
