"""Searches with and without pruning, counted (figure 3, section 5.4), and what the published numbers can come from.

A search of all sets stands for every pruned one, since a set's score does not depend on what else is tested. Searches
are dictionaries from instances to tables of `fairlab.papers.themis.trials.search_all_sets`.

The rules for counts without pruning were found after the fact, from the numbers alone. They fit but for system H and
for causal searches on Credit, and contradict each other (a fixed number of tests for each group of six characteristics,
the worst case for sets of all characteristics). Of counts with pruning there is the least that algorithm 3 needs by the
paper alone, which some published ones do not reach.
"""

from math import comb

import numpy as np
import pandas as pd
from scipy.stats import gmean, spearmanr

from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, Instance
from fairlab.papers.themis.programs import n_groups, pruned_sets
from fairlab.papers.themis.trials import THRESHOLD, searched_characteristics
from fairlab.themis.score import MEASURES

FEW_VALUES = 10  # characteristics with more are left out of searches until the bound is met
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9)

Searches = dict[Instance, pd.DataFrame]


def printed_rows() -> dict[str, str]:
    """Return the row of figure 3 for each instance that has one, by id.

    The figure has one row for Census of A to D and does not say for which training. Like the rows for Credit, we take
    gender's.
    """
    return {i.id: _printed_row(i) for i in INSTANCES if i.trained_for != "race"}


def by_repetition(trials: list[pd.DataFrame]) -> list[Searches]:
    """Return searches of all instances for each repetition, from trials that run through the instances."""
    starts = range(0, len(trials), len(INSTANCES))
    return [dict(zip(INSTANCES, trials[start : start + len(INSTANCES)], strict=True)) for start in starts]


def count_searched(published: pd.DataFrame, *, max_values: int | dict[str, int]) -> pd.DataFrame:
    """Return what the published numbers of tests say about the searches behind them, one column a data set.

    Parameters
    ----------
    published : DataFrame
        Of figure 3, as `Experiment.published` returns it.
    max_values : int or dict of str to int
        Of the characteristics that this run searches, by data set.
    """
    columns = []
    for instance in (i for i in INSTANCES if i.id in ("c.credit.gender", "c.census.gender")):
        sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
        names = searched_characteristics(instance)
        groups = n_groups({name: sizes[name] for name in names})
        row, value = _printed_row(instance), published["value"]
        group, causal = (value[f"{measure}.{row}.without"] for measure in MEASURES)
        columns.append(
            {
                "data": instance.data,
                "characteristics": ", ".join(names),
                "groups": groups,
                "printed tests": group,
                "printed tests for each group": group / groups,
                "printed causal tests for each set": causal / (2 ** len(names) - 1),
                "searched in this run": ", ".join(searched_characteristics(instance, max_values=max_values)),
            }
        )
    return pd.DataFrame(columns).set_index("data").T.rename_axis("search")


def count_tests(searches: Searches, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Return tests without and with pruning, one row for each measure and instance.

    Returns
    -------
    DataFrame
        With the factor between the two, the mean score of all sets and the number of minimal sets.
    """
    rows = []
    for instance, search in searches.items():
        for measure in MEASURES:
            scores = search[search["measure"] == measure]
            tested, minimal = pruned_sets(scores["sensitive_features"], scores["score"], threshold)
            without, kept = scores["tests"].sum(), scores["tests"][tested].sum()
            rows.append(
                {"measure": measure, "instance": instance.id, "without": without, "with": kept}
                | {"factor": without / kept, "mean score": scores["score"].mean(), "minimal sets": minimal.sum()}
            )
    return pd.DataFrame(rows)


def beside_printed(repetitions: list[Searches], published: pd.DataFrame) -> pd.DataFrame:
    """Return mean counts over repetitions beside the published ones (figure 3); see `count_tests`."""
    counts = pd.concat([count_tests(searches).set_index(["measure", "instance"]) for searches in repetitions])
    table = counts.groupby(level=["measure", "instance"], sort=False).mean().reset_index()
    row = table["instance"].map(printed_rows())
    for part in ("without", "with", "factor"):
        ids = table["measure"] + "." + row + "." + part
        table[f"printed {part}"] = ids.map(published["value"])
    return table


def mean_factors(counts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return arithmetic and geometric means and the largest factor by measure, one row for each table of counts."""
    means = {}
    for name, table in counts.items():
        factors = table.groupby("measure", sort=False)["factor"]
        means[name] = {f"{m}, arithmetic": v for m, v in factors.mean().items()}
        means[name] |= {f"{m}, geometric": v for m, v in factors.agg(gmean).items()}
        means[name] |= {f"{m}, largest": v for m, v in factors.max().items()}
    return pd.DataFrame(means).T.rename_axis("factors over")


def check_few_samples(searches: Searches, precise: Searches) -> pd.DataFrame:
    """Compare scores from few samples with those that met the error bound, one row for each measure and instance.

    Returns
    -------
    DataFrame
        Sets in both searches, those at the threshold, those of them that stay there, those that were missed, and the
        mean change of the score.
    """
    rows = []
    for measure in MEASURES:
        for instance, search in searches.items():
            both = search[search["measure"] == measure].merge(
                precise[instance], on=["measure", "sensitive_features"], suffixes=("", " exact")
            )
            rough, exact = both["score"], both["score exact"]
            rows.append(
                {"measure": measure, "instance": instance.id, "sets": len(both)}
                | {"at the threshold": int((rough >= THRESHOLD).sum())}
                | {"still there": int(((rough >= THRESHOLD) & (exact >= THRESHOLD)).sum())}
                | {"missed": int(((rough < THRESHOLD) & (exact >= THRESHOLD)).sum())}
                | {"mean change": (rough - exact).mean()}
            )
    return pd.DataFrame(rows)


def minimal_sets(searches: Searches) -> pd.DataFrame:
    """Return the smallest sets at the threshold, one row for each."""
    rows = []
    for instance, search in searches.items():
        for measure in MEASURES:
            scores = search[search["measure"] == measure]
            _, minimal = pruned_sets(scores["sensitive_features"], scores["score"], THRESHOLD)
            rows += [(instance.id, measure, ", ".join(names)) for names in scores["sensitive_features"][minimal]]
    return pd.DataFrame(rows, columns=["instance", "measure", "set"])


def count_groups(found: list[dict[str, tuple]]) -> pd.DataFrame:
    """Count the groups of all sets of all characteristics, and those left when supersets of found sets are left out.

    Parameters
    ----------
    found : list of dict
        For each instance, what `fairlab.papers.themis.trials.search_small_sets` returns.
    """
    rows = []
    for instance, sets in zip(INSTANCES, found, strict=True):
        sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
        for measure in MEASURES:
            groups, left = n_groups(sizes), n_groups(sizes, sets[measure])
            rows.append(
                {"instance": instance.id, "measure": measure, "sets found": len(sets[measure])}
                | {"groups": groups, "groups left": left, "factor": groups / left}
            )
    return pd.DataFrame(rows)


def count_by_threshold(searches: Searches) -> pd.DataFrame:
    """Return `count_tests` at every one of `THRESHOLDS`, with the share of the tests that is left."""
    table = pd.concat([count_tests(searches, t).assign(threshold=t) for t in THRESHOLDS], ignore_index=True)
    return table.assign(share=table["with"] / table["without"])


def share_by_system(by_threshold: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means over the instances of a system of the share of tests that is left, by threshold."""
    systems = by_threshold.assign(system=by_threshold["instance"].str[0].str.upper())
    return systems.groupby(["measure", "system", "threshold"], sort=False)["share"].agg(gmean).reset_index()


def rank_correlations(table: pd.DataFrame) -> pd.Series:
    """Return, by measure, the rank correlation over instances of the mean score with the factor."""
    by_measure = table.groupby("measure", sort=False)
    ranks = {measure: spearmanr(part["mean score"], part["factor"]).statistic for measure, part in by_measure}
    return pd.Series(ranks, name="rank correlation")


def _printed_row(instance: Instance) -> str:
    if instance.trained_for == "unaware" or instance.data == "census":
        return f"{instance.system}.{instance.data}"
    return instance.id


TESTS_FOR_EACH_GROUP = 17  # inferred: the published counts divided by the groups of six characteristics
LARGEST_SET = 3  # characteristics
Z, ERROR_BOUND = 2.5, 0.05  # of the package's scripts


def inferred_without(instance: Instance, measure: str) -> int:
    """Return how many tests a search without pruning takes, by the inferred rule.

    Group: as many tests for each group of all sets of the six characteristics that are searched. Causal: for each set
    of at most three of all characteristics the sample that a share of one half needs.
    """
    if measure == "group":
        sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
        return TESTS_FOR_EACH_GROUP * n_groups({name: sizes[name] for name in searched_characteristics(instance)})
    n_sets = sum(comb(len(instance.schema.names), size) for size in range(1, LARGEST_SET + 1))
    return n_sets * round(Z**2 * 0.25 / ERROR_BOUND**2)


def least_tests(data: str, measure: str) -> int:
    """Return the least number of tests with which algorithm 3 can score every single characteristic, as it does first.

    The paper leaves the smallest sample open, so that one input may do. Group: an input for each value; an input has
    one value of every characteristic, so that at best all characteristics share them. Causal: an input that all
    characteristics share, and one counterpart of it for each.
    """
    sizes = INPUT_SPACES[data].sizes
    return max(sizes) if measure == "group" else 1 + len(sizes)


def beside_bounds(published: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of figure 3 beside the inferred counts and the least ones.

    Parameters
    ----------
    published : DataFrame
        Of figure 3, as `Experiment.published` returns it.

    Returns
    -------
    DataFrame
        By measure and row: published tests ``without`` and ``with`` pruning and their ``factor``; what a rule gives
        without; the ``least`` with pruning; whether the published one is ``impossible``; the ``largest factor`` that
        the published count without pruning allows, at most the published one.
    """
    rows = []
    for measure in MEASURES:
        for instance in INSTANCES:
            if (row := printed_rows().get(instance.id)) is None:
                continue
            printed = {part: published["value"][f"{measure}.{row}.{part}"] for part in ("without", "with", "factor")}
            least = least_tests(instance.data, measure)
            rows.append(
                {"measure": measure, "row": row}
                | {name: float(value) for name, value in printed.items()}
                | {"rule without": inferred_without(instance, measure), "least": least}
                | {"impossible": bool(printed["with"] < least)}
                | {"largest factor": min(float(printed["factor"]), float(printed["without"]) / least)}
            )
    return pd.DataFrame(rows).set_index(["measure", "row"])


def largest_means(bounds: pd.DataFrame) -> pd.DataFrame:
    """Return the published factors' means, and the largest that `beside_bounds` allows, one row a measure."""
    parts = bounds.groupby(level="measure", sort=False)
    means = {"arithmetic": np.mean, "geometric": gmean}
    columns = {}
    for name, mean in means.items():
        columns[f"{name}, of the printed factors"] = parts["factor"].apply(mean)
        columns[f"{name}, at most"] = parts["largest factor"].apply(mean)
    return pd.DataFrame(columns)
