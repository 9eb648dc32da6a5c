"""Shared by tests of the audit: people, decisions from counts, findings made by hand, and a report of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from fairlab.auditing import Report
from fairlab.cases import Case, Finding, MethodResult


def people(n=400, seed=0):
    """Return `n` people: a number, a word with a rare value, a sensitive column; half of them of each sex."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": np.where(np.arange(n) == 3, "astronaut", rng.choice(["clerk", "miner"], n)),
            "sex": np.where(np.arange(n) % 2, "man", "woman"),
        },
        index=[f"p{i}" for i in range(n)],
    )


def decided(counts, names=("sex",), **options):
    """Return a case of decisions from counts by group, (selected, people); for several `names`, by tuples of groups."""
    rows = [
        (*(group if isinstance(group, tuple) else (group,)), k < selected)
        for group, (selected, n) in counts.items()
        for k in range(n)
    ]
    table = pd.DataFrame(rows, columns=[*names, "hired"])
    return Case.from_decisions(table, "hired", **{"sensitive_features": names[0]} | options)


def finding(table, p_value=0.001, estimate=0.2, **changes):
    """Return a finding about the first ten people."""
    parts = {
        "method": "FlipTest",
        "sensitive_features": ("sex",),
        "where": "everyone",
        "effect": "share that flips",
        "estimate": estimate,
        "low": estimate - 0.05,
        "high": estimate + 0.05,
        "p_value": p_value,
        "test": lambda margin: p_value,
    }
    return Finding(**(parts | {"evidence": table.head(10), "n": len(table)} | changes))


def report(*results, table=None, model=people, **changes):
    """Return a report of results; by default two methods, three tests, one thing skipped."""
    table = people() if table is None else table
    flips = (finding(table, 0.02), finding(table, 0.9, 0.01, where="age < 30"))
    trees = [finding(table, 0.001, -0.3, method="FairTest"), finding(table, np.nan, 0.4, method="FairTest")]
    results = results or (
        MethodResult("FlipTest", flips, (), 400, 1.0),
        MethodResult("FairTest", trees, ("Ages above 90: too few people.",), 500, 1.5),
    )
    case = SimpleNamespace(
        model=model,
        table=table,
        sensitive_features=("sex",),
        features=tuple(table.columns),
        groups=lambda name: pd.Series(["f", "m", *table[name].unique()], dtype="category"),
        named=lambda name: None,
        n_given=len(table),
        person=None,
        task="numbers",  # without decisions there are no rates by group
        y_true=None,
        unseen=(),
        outcome={"name": None, "type": "number"},
        pos_label=None,
    )
    parts = {"case": case, "results": results, "warnings": (), "budget": 1000, "confidence_level": 0.95}
    return Report(**(parts | {"random_state": 0, "n_queries": 900, "seconds": 2.5} | changes))


def report_of(*findings, method="Themis", **changes):
    """Return a report of findings by one method."""
    return report(MethodResult(method, findings, (), 0, 0), **changes)
