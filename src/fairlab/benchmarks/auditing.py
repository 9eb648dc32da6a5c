"""The audit: all methods on Adult and on large tables, with the default budget; `import fairlab`."""

import subprocess
import sys

import joblib
import numpy as np
import pandas as pd

from fairlab.benchmarks import GB, Measurement, benchmark, in_fresh_process, measure, timed

START, IMPORT = ([sys.executable, "-c", code] for code in ("pass", "import fairlab"))


@benchmark
def audit(*, quick: bool) -> list[Measurement]:
    """Return what an audit of a pipeline on Adult takes, and what the import takes."""
    people, budget = (1_500, 20_000) if quick else (None, 200_000)
    (seconds, queries, n), peak = in_fresh_process(audited, "adult", people, budget)
    note = f"a gradient-boosting pipeline, {n:,} people of Adult, sex and race, budget {budget:,}; without training"
    sizes = {"million": (1_000_000, 10), "five_million": (5_000_000, 10), "200_columns": (3_000, 200)}
    found = [
        Measurement("audit_adult_seconds", seconds, "s", note=note),
        Measurement("audit_queries", queries, "rows", note=note),
        Measurement("audit_peak_gb", peak / GB, "GB", note=f"{note}, but not out of the peak"),
        Measurement("import_seconds", import_seconds(), "s", note="import fairlab in a fresh process; medians of 5"),
    ]
    for name, size in ({} if quick else sizes).items():
        (seconds, _, _), peak = in_fresh_process(audited, "generated", size, budget)
        note = f"a logistic rule, {size[0]:,} generated people with {size[1]} columns; the peak with the table"
        found += [
            Measurement(f"audit_{name}_seconds", seconds, "s", note=note),
            Measurement(f"audit_{name}_peak_gb", peak / GB, "GB", note=note),
        ]
    return found


def audited(kind: str, size, budget: int) -> tuple[float, int, int]:
    """Return seconds, queries and people of an audit of a pipeline on Adult, or of a rule on generated people."""
    import fairlab

    # scikit-learn once starts a process that counts cores; forked from a large process, it would add to peak memory.
    joblib.cpu_count(only_physical_cores=True)
    case = fairlab.Case(**(adult_case(size) if kind == "adult" else generated_case(*size)))
    seconds, report = timed(lambda: fairlab.audit(case, budget=budget, progress=False))
    return seconds, report.n_queries - report.n_repeated, len(case.table)


def generated_case(n_people: int, n_columns: int) -> dict:
    """Return the arguments of a case: a logistic rule with a small effect of sex, on generated people."""
    rng = np.random.default_rng(0)
    numbers = {
        f"x{k}": rng.integers(0, 10, n_people) if k % 2 else rng.normal(size=n_people).round(2)
        for k in range(n_columns - 2)
    }
    groups = {
        "sex": rng.choice(["Female", "Male"], n_people),
        "race": rng.choice([*"abc"], n_people, p=[0.6, 0.3, 0.1]),
    }

    def probability(rows):
        return 1 / (1 + np.exp(-(rows["x0"] + 0.2 * (rows["x1"] - 5) + 0.1 * (rows["sex"] == "Male"))))

    options = {"sensitive_features": ["sex", "race"], "decision_threshold": 0.5, "pos_label": 1}
    return {
        "model": probability,
        "table": pd.DataFrame(numbers | groups),
        "y_true": rng.integers(0, 2, n_people),
    } | options


def adult_case(people: int | None = None) -> dict:
    """Return the arguments of a case of Adult: a pipeline for strings and missing values, fitted to the data."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    from fairlab.data import load

    data = load("adult-uci")
    table = data.features.head(len(data.features) if people is None else people)
    target = data.target.loc[table.index]
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    words = (OrdinalEncoder(**unknown), make_column_selector(dtype_exclude="number"))
    encoder = make_column_transformer(words, remainder="passthrough")
    model = make_pipeline(encoder, HistGradientBoostingClassifier(random_state=0)).fit(table, target)
    options = {"y_true": target, "pos_label": data.positive_label, "sensitive_features": ["sex", "race"]}
    return {"model": model, "table": table} | options


def import_seconds() -> float:
    """Return how many seconds longer a fresh process takes if it imports fairlab than if it does nothing."""
    start, both = (measure(lambda c=c: subprocess.run(c, check=True), repeats=5) for c in (START, IMPORT))
    return both - start
