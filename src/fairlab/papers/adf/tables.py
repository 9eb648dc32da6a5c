"""Tables of the experiments on ADF: counts of searches, ours beside the published ones, and what networks are like."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.adf.discrimination import estimate_unfairness
from fairlab.adf.gradients import FeedForward
from fairlab.cases.schema import Schema
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.courses import ROWS_OF_500_SECONDS, at_inputs, to_find, within

# Methods under the names that the published values have, and as they are written.
METHODS = {"adf": "ADF", "sg": "SG", "aequitas": "Aequitas"}
RATES = ("found per 1,000 rows asked", "discriminatory among the inputs tried (%)")
COUNTS = ("n_inputs", "n_discriminatory", "success_rate", "n_successful", "n_wrong", "n_outside", "seconds")


def counts(searches: Mapping[tuple, Sequence[dict]], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per search: what tells it apart, and its counts.

    Parameters
    ----------
    searches : dict of tuple to list of dict
        Tallies of the runs of each search; see `fairlab.papers.adf.trials.tally`.
    names : sequence of str
        What the parts of the keys are called.
    """
    return pd.DataFrame(
        [
            dict(zip(names, key, strict=True)) | {count: run[count] for count in COUNTS}
            for key, runs in searches.items()
            for run in runs
        ]
    )


def budgets_spent(
    courses: Mapping[tuple[str, str], Sequence[pd.DataFrame]], *, n_rows: int, n_inputs: Mapping[str, int]
) -> pd.DataFrame:
    """Return what ADF and symbolic generation came to with equal budgets, one row per run (table 5).

    As described, both are given the same number of rows. As published, it is the same number of seconds: in theirs, the
    authors' ADF asks for about so many rows, one at a time; their symbolic generation, which asks for those of a tree
    at once, explored the printed number of inputs.

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
            lines.append({"reading": "as_described", "benchmark": name, "method": method, "run": run, **paid})
            if method == "sg":
                paid = at_inputs(its, n_inputs[name])
            lines.append({"reading": "as_published", "benchmark": name, "method": method, "run": run, **paid})
    spent = pd.DataFrame(lines).astype({"rows": int, "inputs": int, "found": int})
    spent["success rate"] = spent["found"] / spent["inputs"].clip(lower=1)
    return spent[["reading", "benchmark", "method", "run", "rows", "inputs", "found", "success rate"]]


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


def finds_by_protocol(around: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return finds per 1,000 steps by how they are counted: one row per run, one column per benchmark and method.

    Parameters
    ----------
    around : dict of str to DataFrame
        By benchmark; see `fairlab.papers.adf.trials.local_yields`. Without any run, nothing was found.
    """
    walks = sorted({steps for its in around.values() for steps in its.loc[its["method"] != "sg", "steps"]})
    found = {}
    for steps in walks:
        for counted in ("repeats", "distinct"):
            columns = {}
            for name, its in around.items():
                chosen = its[(its["method"] == "sg") | (its["steps"] == steps)].set_index(["method", "run"])[counted]
                columns |= {(name, method): 1000 * chosen.loc[method] for method in METHODS if len(chosen)}
            finds = pd.DataFrame(columns).reindex(columns=[(name, m) for name in around for m in METHODS])
            found[f"{steps} steps, {counted}"] = finds.fillna(0.0)
    return found


def beside(published: pd.DataFrame, ours: pd.Series, *, counted: str = "") -> pd.DataFrame:
    """Return our counts with the published ones, one row per method and benchmark.

    Parameters
    ----------
    published : DataFrame
        Published values by id, in the column value.
    ours : Series
        By benchmark and method.
    counted : str
        What is counted, where the ids say so: gdiff or id.
    """
    suffix = f".{counted}" if counted else ""
    known = set(ours.index.get_level_values(1))
    rows = [
        (METHODS[method], name, published.loc[f"{name}.{method}{suffix}", "value"], ours[name, method])
        for method in METHODS
        if method in known
        for name in BENCHMARKS
    ]
    return pd.DataFrame(rows, columns=["method", "benchmark", "published", "ours"])


def rates_beside(published: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Return the rates of table 5 that do not depend on a clock, ours with the published ones, by method and benchmark.

    The paper prints counts of 500 seconds. ADF's program asks for `ROWS_OF_500_SECONDS` rows in these, one at a time
    (an inferred price); symbolic generation explored the printed number of inputs, each for as many rows as here.

    Parameters
    ----------
    published : DataFrame
        Published values by id, in the column value.
    means : DataFrame
        By benchmark and method (adf, sg): rows, inputs and found, as published.

    Returns
    -------
    DataFrame
        Columns quantity, method, benchmark, published, ours.
    """
    value, lines = published["value"], []
    for method in ("adf", "sg"):
        for name in BENCHMARKS:
            ours = means.loc[name, method]
            tried, found = (value[f"{name}.{method}.{counted}"] for counted in ("gdiff", "id"))
            asked = ROWS_OF_500_SECONDS if method == "adf" else tried * ours["rows"] / ours["inputs"]
            per_row = {"published": 1000 * found / asked, "ours": 1000 * ours["found"] / ours["rows"]}
            share = {"published": 100 * found / tried, "ours": 100 * ours["found"] / ours["inputs"]}
            for quantity, both in zip(RATES, (per_row, share), strict=True):
                lines.append({"quantity": quantity, "method": METHODS[method], "benchmark": name} | both)
    return pd.DataFrame(lines).sort_values(
        "quantity", key=lambda of: of.map(RATES.index), kind="stable", ignore_index=True
    )


def shares_beside(published: pd.DataFrame, before: pd.Series, after: pd.DataFrame) -> pd.DataFrame:
    """Return shares of discriminatory inputs before and after retraining, ours and the published ones (table 10).

    Parameters
    ----------
    published : DataFrame
        Published values by id, in the column value, in percent.
    before : Series
        By benchmark.
    after : DataFrame
        By benchmark and trial, a column per kind of inputs that were added (nothing, or a key of `METHODS`).

    Returns
    -------
    DataFrame
        Columns benchmark, added (before, nothing, or a method as it is written), series (ours or published), share.
    """
    lines = [(name, "before", "ours", share) for name, share in before.items()]
    for added, column in after.items():
        lines += [(name, METHODS.get(added, added), "ours", share) for (name, _), share in column.items()]
    for name in before.index:
        lines.append((name, "before", "published", published.loc[f"{name}.before", "value"] / 100))
        for method, written in METHODS.items():
            lines.append((name, written, "published", published.loc[f"{name}.after.{method}", "value"] / 100))
    return pd.DataFrame(lines, columns=["benchmark", "added", "series", "share"])


def growth_beside(published: Mapping[str, pd.DataFrame], growth: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """Return curves by seeds, ours run by run and the points read off the published ones (figure 3).

    Parameters
    ----------
    published : dict of str to DataFrame
        By method; see `read_off`.
    growth : dict of str to list of DataFrame
        By method, one table per run, as `SearchResult.growth` gives it.

    Returns
    -------
    DataFrame
        Columns method, series (ours or published), run, seeds, inputs, discriminatory.
    """
    tables = {
        (METHODS[method], "ours", number): run for method, runs in growth.items() for number, run in enumerate(runs)
    }
    tables |= {(METHODS[method], "published", 0): points for method, points in published.items()}
    return pd.concat(tables, names=["method", "series", "run", "seeds"]).reset_index()


def read_off(published: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the points read off the published curves (figure 3), by method: inputs and discriminatory ones by seeds.

    Parameters
    ----------
    published : DataFrame
        Values by id, such as ``adf.inputs.seed_25``; other ids are left out.
    """
    parts = published.index.to_series().str.extract(r"^(\w+)\.(inputs|id)\.seed_(\d+)$").dropna()
    points = pd.Series(
        published.loc[parts.index, "value"].to_numpy(dtype=float),
        index=[parts[0], parts[1].replace("id", "discriminatory"), parts[2].astype(int).rename("seeds")],
    )
    curves = points.unstack(1)[["inputs", "discriminatory"]]
    return {method: curves.loc[method].rename_axis(columns=None) for method in ("adf", "aequitas")}


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
            fairness = estimate_unfairness(
                subject.network,
                schema=benchmark.schema,
                sensitive_features=benchmark.sensitive_features,
                n=n,
                random_state=random_state,
            )
            shares = {"accuracy": subject.accuracy, "discriminatory share": fairness.share}
            rows.append({"benchmark": name, "network": which} | shares)
    return pd.DataFrame(rows)


def iterations_of(
    phases: Mapping[tuple[str, str], Sequence[dict]],
) -> dict[tuple[str, str, str], list[float]]:
    """Return the mean iterations of the global phase, run by run: of all seeds, and of the successful ones.

    Parameters
    ----------
    phases : dict of tuple to list of dict
        Tallies of the runs, by reading and benchmark. Where in some run no seed succeeded, they are left out.

    Returns
    -------
    dict of tuple to list of float
        By reading, benchmark and seeds (all, successful).
    """
    means = {}
    for key, runs in phases.items():
        if all(run["successful"].any() for run in runs):
            means[*key, "all"] = [float(run["iterations"].mean()) for run in runs]
            means[*key, "successful"] = [float(run["iterations"][run["successful"]].mean()) for run in runs]
    return means


def with_several_classes(networks: Sequence[list[np.ndarray]], X: np.ndarray) -> list[list[np.ndarray]]:
    """Return the weights of those networks that do not give all rows of `X` one class."""
    return [weights for weights in networks if len(np.unique(FeedForward(weights).predict(X))) > 1]


def shares_before(subjects: Mapping[str, Subject], *, n: int, random_state=None) -> pd.DataFrame:
    """Return share of discriminatory inputs and accuracy of the networks as they are, by benchmark."""
    compared = networks_compared(subjects, dict.fromkeys(subjects, ()), n=n, random_state=random_state)
    return compared.rename(columns={"discriminatory share": "share"}).set_index("benchmark")[["share", "accuracy"]]
