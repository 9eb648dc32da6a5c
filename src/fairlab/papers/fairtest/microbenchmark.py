"""The microbenchmark of section 6.1: prices with planted effects or with none."""

import pandas as pd
from scipy.stats import binomtest

from fairlab.data import Dataset
from fairlab.fairtest.investigation import Investigation, investigate
from fairlab.fairtest.report import Section, Subgroup
from fairlab.fairtest.sample import PUBLISHED, DataSource

PAIR = ("state", "race")
TRIALS_OF_A_RUN = 10  # of the printed means
LEAST_SPREAD = 0.1  # contexts, of trials


def price_section(dataset: Dataset, *, min_leaf_size: int, exact: bool, random_state: int) -> Section:
    """Look for associations of price and income in contexts of state, gender and race."""
    data = dataset.features.assign(price=dataset.target)
    source = DataSource(data, random_state=random_state, variant=PUBLISHED)
    investigation = Investigation("income", "price", min_leaf_size=min_leaf_size)
    return investigate(source, investigation, exact=exact).section("income")


def pairs_named(finding: Subgroup) -> set[tuple[str, str]]:
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


def noise(planted: pd.DataFrame, printed: pd.Series) -> pd.DataFrame:
    """Return by how much printed means of ten trials deviate from ours, in standard deviations of such a mean.

    Parameters
    ----------
    planted : DataFrame
        ``size``, ``delta`` and ``found``, one row for each trial.
    printed : Series
        By id in the paper's ``published.yaml``.

    Returns
    -------
    DataFrame
        Columns ``published``, ``ours`` and ``deviation``, one row for each point at which trials of ours differ by more
        than a chance miss in a hundred.
    """
    rows = {}
    for (delta, size), found in planted.groupby(["delta", "size"])["found"]:
        id, spread = point(delta, size), found.std()
        if spread > LEAST_SPREAD:
            error = spread * (1 / TRIALS_OF_A_RUN + 1 / len(found)) ** 0.5
            rows[id] = {
                "published": printed[id],
                "ours": found.mean(),
                "deviation": (printed[id] - found.mean()) / error,
            }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["published", "ours", "deviation"]).rename_axis("point")


def point(delta: float, size: int) -> str:
    """Return the id of a point of figure 5."""
    return f"delta_{delta:g}.size_{size}".replace(".5.", "_5.")
