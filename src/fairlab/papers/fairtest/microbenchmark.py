"""The microbenchmark of section 6.1: prices with planted effects or with none, and the price of a budget."""

from collections.abc import Iterable

import pandas as pd
from scipy.stats import binomtest

from fairlab.data import Dataset
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.metric import AS_PUBLISHED
from fairlab.fairtest.procedure import investigate
from fairlab.fairtest.reporting import Report, Section
from fairlab.fairtest.source import DataSource
from fairlab.fairtest.testing import Testing

PAIR = ("state", "race")


def price_section(dataset: Dataset, *, min_leaf_size: int, exact: bool, random_state: int) -> Section:
    """Look for associations of price and income in contexts of state, gender and race."""
    data = dataset.features.assign(price=dataset.target)
    investigation = Testing(DataSource(data, random_state=random_state, reading=AS_PUBLISHED), "income", "price")
    return investigate(investigation, min_leaf_size=min_leaf_size, exact=exact).section("income")


def pairs_named(finding: Finding) -> set[tuple[str, str]]:
    """Return the pair that the conditions of a context name, if they name both of its parts."""
    named = {condition.attribute: condition.category for condition in finding.node.conditions}
    return {tuple(named[name] for name in PAIR)} if set(PAIR) <= set(named) else set()


def alarm_shares(null: pd.DataFrame) -> pd.DataFrame:
    """Return in how many runs without any effect something was found, with Wilson's interval of the share at 95%.

    Parameters
    ----------
    null : DataFrame
        One row for each run, numbers of contexts ``significant`` and ``reported``.

    Returns
    -------
    DataFrame
        Columns ``alarms``, ``runs``, ``share``, ``low`` and ``high``, one row for each meaning of "found".
    """
    alarms = {"any context reported": null["reported"] > 1, "any context significant": null["significant"] > 0}
    rows = {}
    for name, alarm in alarms.items():
        interval = binomtest(int(alarm.sum()), len(null)).proportion_ci(0.95, "wilson")
        numbers = {"alarms": alarm.sum(), "runs": len(null), "share": alarm.mean()}
        rows[name] = numbers | {"low": interval.low, "high": interval.high}
    return pd.DataFrame.from_dict(rows, orient="index").astype({"alarms": int, "runs": int})


def with_budget(users: Dataset, budget: int) -> Report:
    """Report on price by income and race, with a share 1/(budget + 1) of the users in training and in the test."""
    source = DataSource(
        users.features.assign(price=users.target), budget=budget, train_size=1 / (budget + 1), reading=AS_PUBLISHED
    )
    return investigate(Testing(source, ["income", "race"], "price"))


def price_of_budget(users: Dataset, budgets: Iterable[int]) -> pd.DataFrame:
    """Return what is found with each budget of test sets.

    Returns
    -------
    DataFrame
        By budget: users tested, contexts ``discovered``, ``significant`` and ``reported``, and the strongest context
        reported for each protected attribute.
    """
    rows = {}
    for budget in budgets:
        report = with_budget(users, budget)
        counts = report.counts()
        rows[budget] = {"users tested": report.sections[0].everyone.size, "discovered": counts["tested"].sum()}
        rows[budget] |= counts[["significant", "reported"]].sum().to_dict()
        for section in report.sections:
            strongest = section.reported[1:2]
            rows[budget][f"strongest for {section.protected}"] = str(strongest[0].node) if strongest else "none"
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("budget")
