"""The microbenchmark of section 6.1: prices with planted effects or with none."""

import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.investigation import Investigation, investigate
from fairlab.fairtest.report import Section, Subgroup
from fairlab.fairtest.sample import PUBLISHED, DataSource
from fairlab.statistics import wilson_interval

PAIR = ("state", "race")
TRIALS_OF_A_RUN = 10  # of the published means
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

    `null` has numbers of contexts ``significant`` and ``reported``, one row for each run.
    """
    alarms = pd.DataFrame(
        {"any context reported": null["reported"] > 1, "any context significant": null["significant"] > 0}
    )
    table = pd.DataFrame({"alarms": alarms.sum(), "runs": len(null), "share": alarms.mean()})
    low, high = wilson_interval(table["alarms"], table["runs"], alpha=0.05)
    return table.assign(low=low, high=high)


def noise(planted: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return by how much published means of ten trials deviate from ours, in standard deviations of such a mean.

    `planted` has ``size``, ``delta`` and ``found``, one row for each trial; the result one row for each point at which
    our trials differ by more than a chance miss in a hundred.
    """
    ours = planted.groupby(["delta", "size"])["found"].agg(["mean", "std", "count"]).query("std > @LEAST_SPREAD")
    ours.index = pd.Index([point(*pair) for pair in ours.index], name="point", dtype=object)
    error = ours["std"] * (1 / TRIALS_OF_A_RUN + 1 / ours["count"]) ** 0.5
    table = pd.DataFrame({"published": published.reindex(ours.index), "ours": ours["mean"]})
    return table.assign(deviation=(table["published"] - table["ours"]) / error)


def point(delta: float, size: int) -> str:
    """Return the id of a point of figure 5."""
    return f"delta_{delta:g}.size_{size}".replace(".5.", "_5.")
