"""The audit: all methods on Adult and on a function of generated people, with the default budget; `import fairlab`."""

import statistics
import subprocess
import sys
import time

from fairlab.benchmarks import Measurement, benchmark, in_fresh_process

GB = 1e9
N_PEOPLE = 4_000  # generated
IMPORT = "import time; start = time.perf_counter(); import fairlab; print(time.perf_counter() - start)"


@benchmark
def audit(*, quick: bool) -> list[Measurement]:
    """Return what audits of a pipeline on Adult and of a function take, and what the import takes."""
    people, budget = (1_500, 20_000) if quick else (None, 200_000)
    (seconds, queries, n), peak = in_fresh_process(adult_audit, people, budget)
    note = f"a gradient-boosting pipeline, {n:,} people of Adult, sex and race, budget {budget:,}; without training"
    function_seconds, _ = in_fresh_process(function_audit, N_PEOPLE if people is None else people, budget)
    return [
        Measurement("audit_adult_seconds", seconds, "s", note=note),
        Measurement("audit_queries", queries, "rows", note=note),
        Measurement("audit_peak_gb", peak / GB, "GB", note=f"{note}, but not out of the peak"),
        Measurement(
            "audit_function_seconds", function_seconds, "s", note=f"a function, generated people, budget {budget:,}"
        ),
        Measurement("import_seconds", import_seconds(), "s", note="import fairlab in a fresh process; median of 5"),
    ]


def adult_audit(people: int | None, budget: int) -> tuple[float, int, int]:
    """Return seconds, queries and people of an audit of a pipeline that was fitted to Adult."""
    import fairlab

    case = fairlab.Case(**adult_case(people))
    start = time.perf_counter()
    report = fairlab.audit(case, budget=budget, progress=False)
    return time.perf_counter() - start, report.n_queries - report.n_repeated, len(case.table)


def adult_case(people: int | None = None) -> dict:
    """Return what makes a case of Adult: a pipeline with strings and missing values, fitted to it."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    from fairlab.data import load

    data = load("adult-uci")
    table = data.features.head(len(data.features) if people is None else people)
    target = data.target.loc[table.index]
    columns = [name for name in table if not is_number(table[name])]
    model = make_pipeline(encoder(columns), HistGradientBoostingClassifier(random_state=0)).fit(table, target)
    options = {"y_true": target, "pos_label": data.positive_label, "sensitive_features": ["sex", "race"]}
    return {"model": model, "table": table} | options


def encoder(columns: list[str]):
    """Return a transformer that takes words to numbers and leaves numbers alone."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OrdinalEncoder

    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    return make_column_transformer((OrdinalEncoder(**unknown), columns), remainder="passthrough")


def is_number(column) -> bool:
    """Return whether a column holds numbers."""
    return column.dtype.kind in "biuf"


def function_audit(people: int, budget: int) -> float:
    """Return the seconds of an audit of a function of generated people."""
    import fairlab

    case = fairlab.Case(decide, generated(people), sensitive_features="sex", y_true="repaid", pos_label=True)
    start = time.perf_counter()
    fairlab.audit(case, budget=budget, progress=False)
    return time.perf_counter() - start


def decide(rows):
    """Give a loan by income and debt, and to men more easily."""
    return rows["income"] - rows["debt"] + 2_000 * (rows["sex"] == "man") > 21_000


def generated(people: int):
    """Return a table of people with numbers, words and a true label."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    income, debt = rng.gamma(4, 8_000, people).round(), rng.gamma(2, 3_000, people).round()
    columns = {"income": income, "debt": debt, "years": rng.integers(0, 40, people)}
    words = {"sex": rng.choice(["man", "woman"], people), "district": rng.choice(list("ABCDE"), people)}
    repaid = rng.random(people) < 1 / (1 + np.exp((debt - income + 21_000) / 10_000))
    return pd.DataFrame(columns | words | {"repaid": repaid})


def import_seconds() -> float:
    """Return the median of the seconds that `import fairlab` takes in five fresh processes."""
    commands = [[sys.executable, "-c", IMPORT]] * 5
    return statistics.median(
        float(subprocess.run(c, capture_output=True, check=True, text=True).stdout) for c in commands
    )
