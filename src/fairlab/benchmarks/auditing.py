"""The audit: all methods on Adult, with the default budget; `import fairlab`."""

import subprocess
import sys

from fairlab.benchmarks import GB, Measurement, benchmark, in_fresh_process, measure, timed

START, IMPORT = ([sys.executable, "-c", code] for code in ("pass", "import fairlab"))


@benchmark
def audit(*, quick: bool) -> list[Measurement]:
    """Return what an audit of a pipeline on Adult takes, and what the import takes."""
    people, budget = (1_500, 20_000) if quick else (None, 200_000)
    (seconds, queries, n), peak = in_fresh_process(adult_audit, people, budget)
    note = f"a gradient-boosting pipeline, {n:,} people of Adult, sex and race, budget {budget:,}; without training"
    return [
        Measurement("audit_adult_seconds", seconds, "s", note=note),
        Measurement("audit_queries", queries, "rows", note=note),
        Measurement("audit_peak_gb", peak / GB, "GB", note=f"{note}, but not out of the peak"),
        Measurement("import_seconds", import_seconds(), "s", note="import fairlab in a fresh process; medians of 5"),
    ]


def adult_audit(people: int | None, budget: int) -> tuple[float, int, int]:
    """Return seconds, queries and people of an audit of a pipeline that was fitted to Adult."""
    import fairlab

    case = fairlab.Case(**adult_case(people))
    seconds, report = timed(lambda: fairlab.audit(case, budget=budget, progress=False))
    return seconds, report.n_queries - report.n_repeated, len(case.table)


def adult_case(people: int | None = None) -> dict:
    """Return what makes a case of Adult: a pipeline with strings and missing values, fitted to it."""
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
    """Return the seconds by which a fresh process that imports fairlab takes longer than one that does nothing."""
    start, both = (measure(lambda c=c: subprocess.run(c, check=True), repeats=5) for c in (START, IMPORT))
    return both - start
