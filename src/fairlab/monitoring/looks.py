"""One look at an investigation, as tables in and plain data out: what it reports."""

import numpy as np
import pandas as pd

from fairlab import fairtest
from fairlab.fairtest.resampling import RESAMPLES
from fairlab.monitoring.registration import Registration

CHANGES = ("new", "gone", "stronger", "weaker")


def as_table(registration: Registration, content: np.ndarray, categories: dict[str, list], true=None) -> pd.DataFrame:
    """Return stored rows as a table of the registered columns."""
    table = {}
    for name, column in registration.columns.items():
        values = true if name == registration.true_label else content[name]
        if column.type == "number":
            table[name] = values.astype(float)
        elif column.type == "boolean":
            table[name] = values.astype(bool)
        else:
            table[name] = pd.Categorical.from_codes(values.astype(int), categories[name])
    return pd.DataFrame(table)


def look(registration: Registration, table: pd.DataFrame, train: np.ndarray, level: float, seed: int):
    """Return FairTest's report on the rows that are not for training, at a level.

    Intervals are those of this look alone, at the registered confidence level; findings go by p-values at the level.

    Parameters
    ----------
    registration : Registration
    table : DataFrame
    train : ndarray of bool
    level : float
        Of the whole look.
    seed : int

    Returns
    -------
    AssociationReport
    """
    numbers = [name for name, column in registration.columns.items() if column.type == "number"]
    source = fairtest.DataSource(table, train=train, confidence_level=registration.confidence_level, numbers=numbers)
    metric = getattr(fairtest, registration.metric)() if registration.metric else None
    investigation = fairtest.Investigation(
        registration.sensitive_features,
        registration.output,
        ground_truth=registration.true_label,
        explanatory=registration.explanatory,
        context=registration.context,
        metric=metric,
        max_depth=registration.max_depth,
        min_leaf_size=registration.min_leaf_size,
        random_state=seed,
    )
    return investigation.fit(source).test(significance=level)


def warnings(report: "fairtest.AssociationReport", level: float) -> list[str]:
    """Return the report's warnings, and one if its permutations were too few for a p-value at the look's level."""
    permuted = [s for s in report.sections if s.explanatory and not isinstance(s.metric, fairtest.Correlation)]
    n_tests = sum(len(section.subgroups) for section in permuted)  # Holm's factor is at least that, also after strata
    smallest = n_tests / (1 + RESAMPLES)
    if smallest <= level:
        return list(report.warnings)
    reason = f"p-values of {n_tests} tests by {RESAMPLES:,} permutations are at least {smallest:.2g} after correction"
    advice = "Register anew, with rarer looks."
    return [*report.warnings, f"Nothing could be found at the level {level:.2g}: {reason}. {advice}"]


def describe(report: "fairtest.AssociationReport", level: float, smallest_cell: int) -> list[dict]:
    """Return each section of a report as plain data: what is reported, the whole population first.

    A context of fewer people than the smallest cell is left out, and so is a group with a smaller cell.
    """
    sections = []
    for section in report.sections:
        shown = [one for one in section.reported if one.size >= smallest_cell]
        sections.append(
            {
                "output": section.output,
                "sensitive_feature": section.sensitive_features,
                "explanatory": section.explanatory,
                "metric": section.metric.name_given(section.explanatory),
                "tested": len(section.subgroups),
                "significant": sum(_is_significant(one, level) for one in section.subgroups),
                "withheld": len(section.reported) - len(shown),
                "contexts": [_context(one, level, smallest_cell) for one in shown],
            }
        )
    return sections


def _is_significant(subgroup, level) -> bool:
    """Whether the subgroup's own corrected p-value, or that of one of its labels, is at most the level."""
    own = [one.p_value for one in subgroup.associations if not one.part or subgroup.node.labels]
    return min(own, default=1.0) <= level


def _context(subgroup, level, smallest_cell) -> dict:
    return {
        "context": str(subgroup.node),
        "kind": sorted(map(_kind, subgroup.node.conditions)),
        "size": subgroup.size,
        "effect": finite(subgroup.effect),
        "significant": _is_significant(subgroup, level),
        "tests": [_test(one, smallest_cell) for one in subgroup.associations if one.size >= smallest_cell],
    }


def _test(association, smallest_cell) -> dict:
    table = _counts(association.sample, smallest_cell)
    is_whole = table is not None and not table["hidden"]
    return {
        "part": association.part,
        "size": association.size,
        "metric": association.metric_name,
        "low": finite(association.low),
        "high": finite(association.high),
        "estimate": _estimate(association) if is_whole else None,
        "p_value": association.p_value,
        "direction": _direction(table) if table and association.sample.explanatory is None else None,
        "table": table,
    }


def _estimate(association) -> float | None:
    """Return the metric itself, which lies in its interval."""
    tables = association.metric.of_all(association.sample)
    return finite(association.metric.estimate_given(tables[tables.any(axis=(-2, -1))]))


def _direction(table: dict) -> str | None:
    """Say which of the groups shown gets the last output least and which most often, unless it is all the same."""
    (least, low), *_, (most, high) = sorted(zip(table["groups"], table["shares"], strict=True), key=lambda one: one[1])
    return (
        None
        if low == high
        else f"{table['outputs'][-1]} less often among {least} ({low:.1%}) than among {most} ({high:.1%})"
    )


def finite(number: float) -> float | None:
    """Return None for what JSON has no number for: the bound of a ratio may be infinite."""
    return float(number) if np.isfinite(number) else None


def _kind(condition) -> str:
    """Return a condition without its bounds: training on more rows moves them a little."""
    if condition.category is not None:
        return str(condition)
    sides = [side for side, end in ((">", condition.low), ("<", condition.high)) if np.isfinite(end)]
    return " ".join([condition.attribute, *sides])


def _counts(sample, smallest_cell) -> dict | None:
    """Return people by output and group, as far as two groups at least have no small cell.

    The people of the other groups together are no small cell, either, as they follow from the size of the context.
    """
    if not (sample.output.is_categorical and sample.sensitive_features.is_categorical):
        return None
    counts = sample.counts().drop(index="Total", columns="Total")
    shown = counts.loc[:, (counts >= smallest_cell).all()]
    if 0 < counts.to_numpy().sum() - shown.to_numpy().sum() < smallest_cell:
        shown = shown.drop(columns=shown.sum().idxmin()) if len(shown.columns) else shown
    if len(shown.columns) < 2:
        return None
    hidden = len(counts.columns) - len(shown.columns)
    found = {"groups": list(shown.columns), "outputs": list(shown.index), "counts": shown.to_numpy().tolist()}
    return found | {"hidden": hidden, "shares": (shown.iloc[-1] / shown.sum()).tolist()}


def findings(sections: list[dict]) -> list[dict]:
    """Return the significant contexts of a look, each with what it is about."""
    return [
        {"sensitive_feature": section["sensitive_feature"], "output": section["output"]} | context
        for section in sections
        for context in section["contexts"]
        if context["significant"]
    ]


def compare(before: list[dict], now: list[dict]) -> dict[str, list[dict]]:
    """Return the findings that are new, gone, stronger or weaker since an earlier look, each with what it was before.

    Contexts are the same if their conditions are, up to the bounds of numbers. An effect is stronger or weaker if the
    intervals of both looks do not overlap.
    """
    earlier, later = _by_key(before), _by_key(now)
    changes = {kind: [] for kind in CHANGES}
    changes["new"] = [one for key, one in later.items() if key not in earlier]
    changes["gone"] = [one for key, one in earlier.items() if key not in later]
    for key in earlier.keys() & later.keys():
        old, new = earlier[key], later[key]
        tests = [one["tests"][0] for one in (old, new) if one["tests"]]
        if len(tests) == 2 and (_is_above(tests[1], tests[0]) or _is_above(tests[0], tests[1])):
            old_effect, new_effect = (np.inf if one["effect"] is None else one["effect"] for one in (old, new))
            kind = "stronger" if new_effect > old_effect else "weaker"
            changes[kind].append(new | {"before": old})
    return changes


def _is_above(test, other) -> bool:
    return None not in (test["low"], other["high"]) and test["low"] > other["high"]


def _by_key(sections) -> dict[tuple, dict]:
    found = {}
    for one in findings(sections):
        key = (one["sensitive_feature"], one["output"], *one["kind"])
        found.setdefault(key if key not in found else (*key, one["context"]), one)
    return found


def interval(test: dict) -> str:
    """Return the interval of a test as text, with the estimate where it is shown."""
    low, high = ("without bound" if end is None else f"{end:.4f}" for end in (test["low"], test["high"]))
    estimate = "" if test["estimate"] is None else f", estimate {test['estimate']:.4f}"
    return f"{test['metric']} from {low} to {high}{estimate}"
