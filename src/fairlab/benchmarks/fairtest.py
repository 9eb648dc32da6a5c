"""FairTest: Adult, a million users of a shop, and growth with rows, context attributes and depth."""

import time

import numpy as np
import pandas as pd

from fairlab import fairtest
from fairlab.benchmarks import Measurement, benchmark, in_fresh_process, measure
from fairlab.benchmarks.peers import against_peers
from fairlab.fairtest import DataSource, Investigation

GB = 1e9
N_STATES = 51
RACES = 8
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


@benchmark
def fairtest_million(*, quick: bool) -> list[Measurement]:
    """Test a million users of a shop, as many as the largest study of the paper has."""
    n = 20_000 if quick else 1_000_000
    seconds, peak = in_fresh_process(seconds_for, n)
    note = f"{n:,} generated users, sensitive features income and race; {FULL_STATISTICS}"
    return [
        Measurement("fairtest_million_seconds", seconds, "s", note=note),
        Measurement("fairtest_million_peak_gb", peak / GB, "GB", note="of the whole process, the users included"),
    ]


@benchmark
def fairtest_growth(*, quick: bool) -> list[Measurement]:
    """Train alone, with ever more rows, context attributes and depth."""
    scale = 20 if quick else 1
    rows = [
        Measurement(f"fairtest_train_{n}_rows_seconds", training_seconds(shop_users(n // scale)), "s")
        for n in (62_500, 250_000, 1_000_000)
    ]
    rows += [
        Measurement(
            f"fairtest_train_{n}_attributes_seconds", training_seconds(with_attributes(250_000 // scale, n)), "s"
        )
        for n in (4, 16, 64)
    ]
    users = shop_users(250_000 // scale)
    rows += [
        Measurement(f"fairtest_train_depth_{depth}_seconds", training_seconds(users, max_depth=depth), "s")
        for depth in (1, 3, 5)
    ]
    return rows


def shop_users(n: int) -> pd.DataFrame:
    """Return `n` users of a shop whose price depends on state, and on income in some states and groups."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, N_STATES + 1)
    state = rng.choice(N_STATES, n, p=popularity / popularity.sum())
    race = rng.choice(RACES, n, p=np.array([62, 17, 12, 5, 2, 1, 0.7, 0.3]) / 100)
    rich = rng.random(n) < 0.5
    unfair = (0.02 * rng.standard_t(2, (N_STATES, RACES)))[state, race]
    high = rng.random(n) < 0.04 + 0.002 * (state % 20) + np.where(rich, -unfair, unfair)
    return pd.DataFrame(
        {
            "state": pd.Categorical.from_codes(state, [f"S{code:02d}" for code in range(N_STATES)]),
            "race": pd.Categorical.from_codes(race, [f"R{code}" for code in range(RACES)]),
            "gender": pd.Categorical.from_codes(rng.integers(2, size=n), ["female", "male"]),
            "income": pd.Categorical.from_codes(rich.astype(int), ["below", "from"]),
            "price": pd.Categorical.from_codes(high.astype(int), ["low", "high"]),
        }
    )


def with_attributes(n: int, n_attributes: int) -> pd.DataFrame:
    """Return users with further context attributes that are unrelated to the price, half of them numbers."""
    rng = np.random.default_rng(1)
    users = shop_users(n)
    for number in range(n_attributes - 3):
        values = rng.normal(size=n) if number % 2 else pd.Categorical.from_codes(rng.integers(5, size=n), list("abcde"))
        users[f"attribute {number}"] = values
    return users


def investigate(data: pd.DataFrame, sensitive_features, output):
    """Train, test and report, with all defaults, and print the report to a text."""
    report = fairtest.investigate(DataSource(data), Investigation(sensitive_features, output))
    str(report)
    return report


def seconds_for(n: int) -> float:
    """Return the seconds of a whole investigation of `n` users."""
    users = shop_users(n)
    return measure(lambda: investigate(users, ["income", "race"], "price"), repeats=1)


def training_seconds(users: pd.DataFrame, *, max_depth: int = 5) -> float:
    """Return the seconds of training alone."""
    source, investigation = DataSource(users), Investigation("income", "price", max_depth=max_depth)
    start = time.perf_counter()
    investigation.fit(source)
    return time.perf_counter() - start
