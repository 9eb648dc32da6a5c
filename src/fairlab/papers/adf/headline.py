"""The ratios of abstract and introduction, from the averages of the tables."""

from collections.abc import Iterable, Mapping

import pandas as pd

from fairlab.papers.adf.benchmarks import BENCHMARKS
from fairlab.suite.published import load_paper
from fairlab.suite.run import Run

# What each ratio of section 1 restates, and how: times, times more, or percent of the time as times as fast.
RATIOS = {
    "abstract.space_times": "table-4:mean.gdiff_ratio_adf_to_aequitas",
    "abstract.id_times": "table-4:mean.id_ratio_adf_to_aequitas",
    "intro.space_times_more": "table-4:mean.gdiff_ratio_adf_to_aequitas",
    "intro.id_times_more": "table-4:mean.id_ratio_adf_to_aequitas",
    "intro.global_success_over_sg": "table-6:mean.improvement_over_sg",
    "intro.local_success_over_sg": "table-7:mean.improvement_over_sg",
    "intro.efficiency_over_aequitas": "table-8:mean.time_share_of_aequitas",
    "intro.efficiency_over_sg": "table-8:mean.time_share_of_sg",
}


def ratios(averages: Mapping[str, float]) -> dict[str, float]:
    """Return the ratios of section 1 that follow from averages of the tables, by artefact and id."""
    found = {id: averages[source] for id, source in RATIOS.items() if source in averages}
    for id in found:
        if id.endswith("times_more"):
            found[id] -= 1
        elif "efficiency" in id:
            found[id] = 100 / found[id]
    return found


def printed_averages() -> dict[str, float]:
    """Return the averages behind section 1, computed from the printed rows of each table."""
    values = {
        f"{artefact.id}:{id}": value.value
        for artefact in load_paper("adf").artefacts.values()
        for id, value in artefact.values.items()
    }

    def mean(formula):
        return sum(formula(name) for name in BENCHMARKS) / len(BENCHMARKS)

    def over(table, above, below, ends=""):
        return mean(lambda name: values[f"{table}:{name}.{above}{ends}"] / values[f"{table}:{name}.{below}{ends}"])

    return {
        "table-4:mean.gdiff_ratio_adf_to_aequitas": over("table-4", "adf", "aequitas", ".gdiff"),
        "table-4:mean.id_ratio_adf_to_aequitas": over("table-4", "adf", "aequitas", ".id"),
        "table-6:mean.improvement_over_sg": 100 * (over("table-6", "adf", "sg") - 1),
        "table-7:mean.improvement_over_sg": 100 * (over("table-7", "adf", "sg") - 1),
        "table-8:mean.time_share_of_aequitas": 100 * over("table-8", "adf", "aequitas"),
        "table-8:mean.time_share_of_sg": 100 * over("table-8", "adf", "sg"),
    }


def recorded_averages(runs: Iterable[Run]) -> dict[str, float]:
    """Return the means over trials of everything that runs recorded as published, by artefact and id."""
    return {
        f"{record['artefact']}:{record['id']}": float(pd.Series(record["values"]).mean())
        for run in runs
        for record in run.records
        if record["reading"] == "as_published"
    }
