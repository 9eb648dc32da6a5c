"""Tables of the experiments on ADF: counts of searches, ours beside the published ones, and what networks are like."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.networks import FeedForward
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.courses import ROWS_OF_500_SECONDS, at_inputs, to_find, within
from fairlab.papers.adf.trials import assessed
from fairlab.suite.published import load_paper
from fairlab.suite.run import Run

METHODS = ("adf", "sg", "aequitas")  # as the ids of published values name them
# What the ids of tables 4 and 5, of tables 6 to 8 and of figure 3 are made of.
COUNTED, FOUND = "{data}.{feature}.{method}.{counted}", "{data}.{feature}.{method}"
POINTS = "{method}.{counted}.seed_{seeds}"
COUNTS = ("n_inputs", "n_discriminatory", "success_rate", "n_successful", "n_wrong", "n_outside", "seconds")


def counts(searches: Mapping[object, Mapping[tuple[str, str], Sequence[dict]]], name: str = "reading") -> pd.DataFrame:
    """Return one row per search: reading (or whatever `name` says), benchmark, method, and the counts of its tally.

    Parameters
    ----------
    searches : dict of dict of tuple to list of dict
        By reading, then by benchmark and method: tallies; see `fairlab.papers.adf.trials.tally`.
    name : str
        What the outer keys are.
    """
    return pd.DataFrame(
        {name: key, "benchmark": benchmark, "method": method} | {count: run[count] for count in COUNTS if count in run}
        for key, of_key in searches.items()
        for (benchmark, method), runs in of_key.items()
        for run in runs
    )


def places_among_runs(counted: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return the share of the runs of Aequitas below the published count, by benchmark; a column per count and reading.

    Parameters
    ----------
    counted : DataFrame
        See `counts`; readings as published and as released.
    published : Series
        Of table 4, by id.
    """
    runs, places = counted[counted["method"] == "aequitas"].set_index(["reading", "benchmark"]), {}
    for id, column in (("gdiff", "n_inputs"), ("id", "n_discriminatory")):
        for reading in ("as_published", "as_released"):
            found = {name: runs.loc[(reading, name), column] for name in BENCHMARKS}
            places[id, reading] = {name: (of < published[f"{name}.aequitas.{id}"]).mean() for name, of in found.items()}
    return pd.DataFrame(places)


def budgets_spent(
    courses: Mapping[tuple[str, str], Sequence[pd.DataFrame]], *, n_rows: int, n_inputs: Mapping[str, int]
) -> pd.DataFrame:
    """Return what ADF and symbolic generation came to with equal budgets, one row per run (table 5).

    With equal rows, both ask the same number. As published, it is the same number of seconds: in theirs, the
    authors' ADF asks for about so many rows, one at a time; their symbolic generation, which asks for those of a tree
    at once, explored the published number of inputs.

    Parameters
    ----------
    courses : dict of tuple to list of DataFrame
        By benchmark and method (adf, sg); see `fairlab.papers.adf.courses.course`.
    n_rows : int
    n_inputs : dict of str to int
        Inputs of symbolic generation, by benchmark.
    """
    lines = []
    for (name, method), runs in courses.items():
        for run, its in enumerate(runs):
            paid = within(its, n_rows)
            lines.append({"reading": "equal rows", "benchmark": name, "method": method, "run": run, **paid})
            if method == "sg":
                paid = at_inputs(its, n_inputs[name])
            lines.append({"reading": "as_published", "benchmark": name, "method": method, "run": run, **paid})
    spent = pd.DataFrame(lines).astype({"rows": int, "inputs": int, "found": int})
    spent["success rate"] = spent["found"] / spent["inputs"].clip(lower=1)
    return spent[["reading", "benchmark", "method", "run", "rows", "inputs", "found", "success rate"]]


def explored_in_time(
    courses: Mapping[tuple[str, str], Sequence[pd.DataFrame]],
    *,
    n_found: int,
    seconds: Mapping[str, float],
    limit: float,
) -> pd.DataFrame:
    """Return how many inputs symbolic generation explores in `limit` seconds of the authors' machine (table 5).

    An input has the price at which so many discriminatory ones are found in the published seconds (table 8).

    Parameters
    ----------
    courses : dict of tuple to list of DataFrame
        By benchmark and method, of which those of symbolic generation (sg) count.
    n_found : int
    seconds : dict of str to float
        Published seconds until so many are found, by benchmark.
    limit : float

    Returns
    -------
    DataFrame
        Columns benchmark, run, gdiff.
    """
    lines = [
        {"benchmark": name, "run": run, "gdiff": limit * to_find(its, "inputs", n_found) / seconds[name]}
        for (name, method), runs in courses.items()
        if method == "sg"
        for run, its in enumerate(runs)
    ]
    return pd.DataFrame(lines)


def rows_to_find(
    courses: Mapping[tuple[str, str], Sequence[pd.DataFrame]], *, n_found: int, n_rows: int, n_inputs: Mapping[str, int]
) -> dict[str, pd.DataFrame]:
    """Return the rows that each method asks until it has found so many, by reading; one row per run (table 8).

    As described, rows are counted. As published, they are those of the same seconds: an input that symbolic generation
    explores counts as many as there are in the time that it took the authors, by the budgets of `budgets_spent`.
    """
    counted = {key: pd.Series([to_find(its, "rows", n_found) for its in runs]) for key, runs in courses.items()}
    priced = {
        (name, "sg"): pd.Series([to_find(its, "inputs", n_found) for its in runs]) * n_rows / n_inputs[name]
        for (name, method), runs in courses.items()
        if method == "sg"
    }
    return {"as_published": pd.DataFrame(counted | priced), "as_described": pd.DataFrame(counted)}


def sharpness(network: FeedForward, schema: Schema, *, n: int, random_state=None) -> dict[str, float]:
    """Return for how many of `n` uniform inputs a network is certain in float32, and for how many a gradient is 0."""
    points = schema.sample(n, random_state=random_state)
    _, margin_gradient = network.margin_gradient(points)
    return {
        "larger probability is 1": float((network.probabilities(points).max(axis=1) == 1).mean()),
        "gradient of the loss is 0": float((~network.loss_gradient(points).any(axis=1)).mean()),
        "gradient of the margin is 0": float((~margin_gradient.any(axis=1)).mean()),
    }


def domains() -> pd.DataFrame:
    """Return the number of attributes and of inputs in each domain."""
    sizes = {name: np.prod(schema.high - schema.low + 1.0) for name, schema in SCHEMAS.items()}
    return pd.DataFrame({"attributes": {name: len(schema.names) for name, schema in SCHEMAS.items()}, "inputs": sizes})


def networks_compared(
    subjects: Mapping[str, Subject], others: Mapping[str, Sequence], *, n: int, random_state=None
) -> pd.DataFrame:
    """Return accuracy and share of discriminatory inputs by benchmark, of the stored network and of others.

    Parameters
    ----------
    subjects : dict of str to Subject
        By name, with the stored networks.
    others : dict of str to list
        Weights of other networks for the same rows.
    n : int
        Uniform inputs for every share.
    random_state : int or None
        Which inputs; the same for all networks of a benchmark.
    """
    rows = []
    for name, benchmark in BENCHMARKS.items():
        stored = subjects[benchmark.subject]
        more = (Subject(stored.X, stored.y, weights) for weights in others[benchmark.subject])
        for which, subject in [("authors", stored), *enumerate(more)]:
            found = assessed(subject.weights, subject.X, subject.y, name=name, n_points=n, seed=random_state)
            shares = {"accuracy": found["accuracy"], "discriminatory share": found["share"]}
            rows.append({"benchmark": name, "network": which} | shares)
    return pd.DataFrame(rows)


def with_several_classes(networks: Sequence[list[np.ndarray]], X: np.ndarray) -> list[list[np.ndarray]]:
    """Return the weights of those networks that do not give all rows of `X` one class."""
    return [weights for weights in networks if len(np.unique(FeedForward(weights).predict(X))) > 1]


def finds_by_protocol(around: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return finds per 1,000 steps by how they are counted: one row per run, one column per benchmark and method.

    Parameters
    ----------
    around : dict of str to DataFrame
        By benchmark; see `fairlab.papers.adf.trials.local_yields`. Without any run, nothing was found.
    """
    every = pd.concat(around, names=["benchmark"]).reset_index("benchmark")
    columns, found = pd.MultiIndex.from_product([around, METHODS], names=["benchmark", "method"]), {}
    for steps in sorted(every.loc[every["method"] != "sg", "steps"].unique()):
        its = every[(every["method"] == "sg") | (every["steps"] == steps)]
        for counted in ("repeats", "distinct"):
            finds = its.pivot(index="run", columns=["benchmark", "method"], values=counted)
            found[f"{steps} steps, {counted}"] = 1000 * finds.reindex(columns=columns).astype(float).fillna(0.0)
    return found


def rates_beside(sides: pd.DataFrame, spent: pd.DataFrame) -> pd.DataFrame:
    """Return the rates of table 5 that do not depend on a clock, published and ours.

    The paper prints counts of 500 seconds. ADF's program asks for `ROWS_OF_500_SECONDS` rows in these, one at a time
    (an inferred price); symbolic generation explored the published number of inputs, each for as many rows as here.

    Parameters
    ----------
    sides : DataFrame
        Of ``exp.beside("table-5", COUNTED)``.
    spent : DataFrame
        Rows asked and inputs explored for our finds, by benchmark and method, as published.
    """
    wide = sides[["published", "ours"]].unstack("counted")
    own = spent.loc[[(f"{data}.{feature}", method) for data, feature, method in wide.index]].set_index(wide.index)
    asked, printed = own["rows"], wide["published", "gdiff"]
    theirs = (printed * asked / own["inputs"]).where(wide.index.get_level_values("method") == "sg", ROWS_OF_500_SECONDS)
    found = wide.xs("id", axis=1, level="counted")
    tried = pd.DataFrame({"published": printed, "ours": own["inputs"]})
    per_row = 1000 * found.div(pd.DataFrame({"published": theirs, "ours": asked}))
    return pd.concat({"per_row": per_row, "share": 100 * found / tried}, names=["quantity"]).reset_index()


def shares_beside(published: pd.Series, before: pd.Series, after: pd.DataFrame) -> pd.DataFrame:
    """Return shares of discriminatory inputs before and after retraining, ours and the published ones (table 10).

    Parameters
    ----------
    published : Series
        By id, in percent.
    before : Series
        By benchmark.
    after : DataFrame
        By benchmark and trial, a column per kind of inputs that were added (nothing, or a key of `METHODS`).

    Returns
    -------
    DataFrame
        Columns benchmark, added (before, nothing, or a key of `METHODS`), series (ours or published), share.
    """
    of_methods = after.melt(var_name="added", value_name="share", ignore_index=False)
    ours = pd.concat([before.rename("share").to_frame().assign(added="before"), of_methods.droplevel("trial")])
    parts = published.index.to_series().str.extract(r"^(\w+\.\w+)\.(?:after\.)?(\w+)$")
    theirs = pd.DataFrame({"added": parts[1], "share": published / 100}).set_index(parts[0])
    both = {"ours": ours, "published": theirs[theirs.index.isin(before.index)]}
    return pd.concat(both, names=["series", "benchmark"]).reset_index()[["benchmark", "added", "series", "share"]]


def growth_table(growth: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """Return curves by seeds in one table: columns method, run, seeds, inputs, discriminatory.

    Parameters
    ----------
    growth : dict of str to list of DataFrame
        By method, one table per run, as `SearchResult.growth` gives it.
    """
    runs = {(method, run): curve for method, curves in growth.items() for run, curve in enumerate(curves)}
    return pd.concat(runs, names=["method", "run", "seeds"]).reset_index()


def iterations_of(phases: Mapping[str, Mapping[str, Sequence[dict]]]) -> pd.DataFrame:
    """Return the mean iterations of the global phase, run by run, of all seeds and of the successful ones.

    Parameters
    ----------
    phases : dict of dict of str to list of dict
        Tallies of the runs, by reading and benchmark. Where in some run no seed succeeded, they are left out.

    Returns
    -------
    DataFrame
        Columns reading, benchmark, seeds (all, successful), iterations.
    """
    rows = [
        {"reading": reading, "benchmark": name, "seeds": seeds, "iterations": float(run["iterations"][chosen].mean())}
        for reading, of_reading in phases.items()
        for name, runs in of_reading.items()
        if all(run["successful"].any() for run in runs)
        for run in runs
        for seeds, chosen in (("all", slice(None)), ("successful", run["successful"]))
    ]
    return pd.DataFrame(rows, columns=["reading", "benchmark", "seeds", "iterations"])


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
    """Return the averages behind section 1, computed from the published rows of each table."""
    values = {
        f"{artefact.id}:{id}": value.value
        for artefact in load_paper("adf").artefacts.values()
        for id, value in artefact.values.items()
    }

    def over(table, above, below, ends=""):
        parts = ([values[f"{table}:{name}.{method}{ends}"] for name in BENCHMARKS] for method in (above, below))
        return sum(first / second for first, second in zip(*parts, strict=True)) / len(BENCHMARKS)

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
