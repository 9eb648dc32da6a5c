"""FairTest on Adult, beside its peers."""

import pandas as pd

from fairlab import fairtest
from fairlab.benchmarks import Measurement, benchmark, measure
from fairlab.benchmarks.peers import against_peers
from fairlab.fairtest import DataSource, Investigation

FULL_STATISTICS = "train, test and report; 10,000 bootstraps per context, 100,000 Monte Carlo tables up to 1,000 people"


@benchmark
def fairtest_adult(*, quick: bool) -> list[Measurement]:
    """Test Adult with both sensitive features; the peers' searches on the same table."""
    from fairlab.data import load

    adult = load("adult-uci")
    data = adult.features.drop(columns="fnlwgt").assign(income=adult.target)
    data = data.head(2_000) if quick else data
    reports = []
    seconds = measure(lambda: reports.append(investigate(data, ["sex", "race"], "income")), repeats=1 if quick else 3)
    note = f"{len(data):,} {adult.provenance.source} rows, sex and race; {FULL_STATISTICS}"
    tested = reports[0].counts()["tested"].sum()
    what = f"FairTest: {tested} contexts of up to 5 conditions by sex and race, corrected p-values on a held-out half"
    peers = against_peers(data, "income", positive=adult.positive_label, ours=seconds, what=what)
    return [Measurement("fairtest_adult_seconds", seconds, "s", note=note), *peers]


def investigate(data: pd.DataFrame, sensitive_features, output):
    """Train, test and report, with all defaults, and format the report as text."""
    report = fairtest.investigate(DataSource(data), Investigation(sensitive_features, output))
    str(report)
    return report
