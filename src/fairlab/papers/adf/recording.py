"""Records and claims of the experiments on ADF: one function for each experiment, of its name."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.adf.generation import ADF, direction
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.courses import SECONDS
from fairlab.papers.adf.tables import METHODS, POINTS, RATIOS, ratios
from fairlab.papers.adf.trials import SHARE_KEPT, VARIANTS
from fairlab.suite.catalogue import specification

# Limits in the wording of the claims.
MANY, TWICE = 6, 2  # table 4
CLOSE_RATES = 0.05  # table 5
LINEAR, FLAT, MORE_INPUTS, MORE_FOUND = 0.8, 0.25, 3, 4  # figure 3
FEW, CLOSE_COUNTS, MOST = 4, 0.03, 10  # table 9

KEYS = ["reading", "benchmark", "method"]
CENSUS = ["census-adf"]


def models(
    exp, *, subjects: Mapping[str, Subject], example: Mapping[str, Sequence[float]], becomes_discriminatory: bool
) -> None:
    """Record sizes, parameters and accuracies of every data set and its network, and the example of section 3.

    Parameters
    ----------
    exp : Experiment
    subjects : dict of str to Subject
    example : dict of str to sequence of float
        By attribute of census: ``direction`` and ``moved`` of a step of the global phase, ``probability`` in the local
        one.
    becomes_discriminatory : bool
        Whether the step makes the example discriminatory, and it was not before.
    """
    attributes = pd.DataFrame(example, index=SCHEMAS["census"].names).rename_axis("attribute")
    exp.record_frame("section-3", attributes, id="{column}.{attribute}", data=CENSUS)
    exp.claims("section-3", {"moved-is-discriminatory": (becomes_discriminatory, "")}, data=CENSUS)
    sizes = {"census": "census.instances", "credit": "credit.instances", "bank": "bank.instances_more_than"}
    for name, subject in subjects.items():
        data = [f"{name}-adf"]
        exp.record("table-3", f"{name}.accuracy", 100 * subject.accuracy, data=data)
        exp.record("section-4.1", sizes[name], len(subject.X), data=data)
        exp.record("section-4.1", f"{name}.attributes", subject.X.shape[1], data=data)
    exp.record("table-3", "layers", max(len(subject.weights) // 2 for subject in subjects.values()))
    accuracy = subjects["credit"].accuracy
    exp.claims("table-3", {"credit-memorised": (accuracy == 1, f"accuracy {accuracy:.4f}")})

    network = subjects["census"].network
    adf = ADF(network, SCHEMAS["census"], "sex", variant="published")
    most_seeds = max(benchmark.n_seeds for benchmark in BENCHMARKS.values())
    settings = {
        "global_instances": most_seeds,
        "global_instances_credit": BENCHMARKS["credit.age"].n_seeds,
        "local_instances_per_seed": adf.n_local,
        "max_total_instances": most_seeds * (1 + adf.n_local),
        "time_limit_sg": SECONDS,
        "retrain_share": 100 * SHARE_KEPT,
        "retrain_repeats": specification("adf/retraining").parameters("quick")["n_trials"],
    }
    exp.record_frame("section-4.1", pd.DataFrame([settings]), id="{column}")

    some, columns = adf.schema.clip(subjects["census"].X[:100]), adf.schema.positions("sex")
    steps = direction(network, some, some, columns, "published", exp.trial().rng("probe"))
    pairs = np.stack([some, some], axis=1)
    pairs[:, 1, columns] = 1 - pairs[:, 0, columns]
    _, moved = itertools.islice(adf.steps(pairs), 2)
    parameters = {"c_num": adf.n_clusters, "max_iter": adf.max_iter}
    parameters |= {"s_g": np.abs(steps).max(), "s_l": np.abs(moved.inputs - some).max()}
    exp.record_frame("table-2", pd.DataFrame([parameters]), id="{column}")


def phases(exp, *, successes: pd.DataFrame, yields: pd.DataFrame, growth: pd.DataFrame, n_starts: int) -> None:
    """Record what the phases find apart, and how finds grow (tables 6 and 7, figure 3).

    Parameters
    ----------
    exp : Experiment
    successes : DataFrame
        Column n_successful, one row per run; see `fairlab.papers.adf.tables.counts`.
    yields : DataFrame
        Finds per 1,000 steps: one row per run, one column per benchmark and method.
    growth : DataFrame
        Curves; see `fairlab.papers.adf.tables.growth_table`.
    n_starts : int
        Of the local phase, in each run.
    """
    exp.record_frame("table-6", successes[[*KEYS, "n_successful"]], id="{benchmark}.{method}", values="n_successful")
    long, note = yields.melt(value_name="finds"), f"{n_starts} starts in each run"
    exp.record_frame("table-7", long, id="{benchmark}.{method}", values="finds", note=note)
    found = successes[successes["reading"] == "as_published"].groupby(["benchmark", "method"])["n_successful"].mean()
    _order_of_methods(exp, "table-6", found)
    _order_of_methods(exp, "table-7", yields.mean())
    points = exp.beside("figure-3", POINTS).index.get_level_values("seeds").astype(int)
    reached = growth[growth["seeds"].isin(points)].drop(columns="run").rename(columns={"discriminatory": "id"})
    exp.record_frame("figure-3", reached, id="{method}.{column}.seed_{seeds}", data=CENSUS)
    for id in exp.beside("figure-3").query("ours.isna()").index:
        exp.skip("figure-3", id, "no run had as many successful seeds")
    exp.claims("figure-3", _shape_of_curves(growth), data=CENSUS)


def versus_aequitas(exp, *, counted: pd.DataFrame) -> None:
    """Record the counts of ADF and Aequitas (table 4), one row per run; see `fairlab.papers.adf.tables.counts`."""
    runs = counted[counted["reading"].isin(VARIANTS)].rename(columns={"n_inputs": "gdiff", "n_discriminatory": "id"})
    exp.record_frame("table-4", runs[[*KEYS, "gdiff", "id"]], id="{benchmark}.{method}.{column}")
    for reading, its in runs.groupby("reading", sort=False):
        inputs, found, rates = (_by_method(its, column) for column in ("gdiff", "id", "success_rate"))
        more = (inputs["adf"].mean(axis=1)[:, None] / inputs["aequitas"]).mean(axis=0)
        means = {"mean.gdiff_ratio_adf_to_aequitas": more, "mean.gdiff_times_more": more - 1}
        means |= {f"mean.success_rate_{method}": 100 * rate.mean(axis=0) for method, rate in rates.items()}
        if found["aequitas"].all():
            more_found = found["adf"].mean(axis=1)[:, None] / found["aequitas"]
            means["mean.id_ratio_adf_to_aequitas"] = more_found.mean(axis=0)
        elif reading == "as_published":
            exp.skip("table-4", "mean.id_ratio_adf_to_aequitas", "Aequitas found nothing on some benchmark")
        for id, values in means.items():
            exp.record("table-4", id, values, reading=reading)
        if reading == "as_published":
            exp.claims("table-4", _claims_of_table_4(inputs, found, rates))


def versus_symbolic(exp, *, counted: pd.DataFrame, explored: pd.DataFrame) -> None:
    """Record the counts of ADF and symbolic generation with equal budgets (table 5).

    Parameters
    ----------
    exp : Experiment
    counted : DataFrame
        Counts of every run; see `fairlab.papers.adf.tables.budgets_spent`.
    explored : DataFrame
        Inputs of symbolic generation in equal time; see `fairlab.papers.adf.tables.explored_in_time`. They are recorded
        as published; what is found is that of the budget.
    """
    named = counted[counted["reading"] == "as_published"].rename(columns={"inputs": "gdiff", "found": "id"})
    named, in_time = named.astype({"gdiff": float}), named["method"] == "sg"
    of_run = explored.set_index(["benchmark", "run"])["gdiff"]
    named.loc[in_time, "gdiff"] = of_run.loc[named.loc[in_time, ["benchmark", "run"]].apply(tuple, axis=1)].to_numpy()
    exp.record_frame("table-5", named[[*KEYS, "gdiff", "id"]], id="{benchmark}.{method}.{column}")
    runs = named.set_index(["run", "benchmark", "method"])[["gdiff", "id", "success rate"]].unstack("method")
    for counts in ("gdiff", "id"):
        both = runs[counts].dropna()  # runs of both methods
        if both["sg"].all():
            exp.record("table-5", f"mean.{counts}_ratio_adf_to_sg", (both["adf"] / both["sg"]).groupby("run").mean())
        else:
            exp.skip("table-5", f"mean.{counts}_ratio_adf_to_sg", "in some run SG counts nothing")
    for method in ("adf", "sg"):
        rates = runs["success rate", method].dropna().groupby("run").mean()
        exp.record("table-5", f"mean.success_rate_{method}", 100 * rates)
    means = named.groupby(["benchmark", "method"]).mean(numeric_only=True)
    rates = means["success rate"].groupby("method").mean()
    claims = {
        id: _on_benchmarks(means[column].unstack("method").eval("adf > sg"), ", means over runs")
        for id, column in (("adf-more-instances", "gdiff"), ("adf-more-ids", "id"))
    }
    claims["similar-success-rate"] = (
        abs(rates["adf"] - rates["sg"]) < CLOSE_RATES,
        f"ADF {rates['adf']:.3f}, SG {rates['sg']:.3f}, on average",
    )
    exp.claims("table-5", claims)


def cost(exp, *, rows: Mapping[str, pd.DataFrame], seconds: pd.DataFrame, iterations: pd.DataFrame, n_seeds: int):
    """Record rows, seconds and iterations (tables 8 and 9).

    Parameters
    ----------
    exp : Experiment
    rows : dict of str to DataFrame
        Rows to the finds by reading: one row per run, one column per benchmark and method. They decide who is faster.
    seconds : DataFrame
        Of this machine, as `rows`.
    iterations : DataFrame
        Mean iterations of every run; see `fairlab.papers.adf.tables.iterations_of`.
    n_seeds : int
        Seeds at most.
    """
    long = seconds.melt(value_name="seconds").dropna()
    note = "of this machine, in batches"
    exp.record_frame("table-8", long, id="{benchmark}.{method}", values="seconds", note=note)
    for reading, asked in rows.items():
        for other in ("aequitas", "sg"):
            shares = pd.DataFrame({name: asked[name, "adf"] / asked[name, other] for name in BENCHMARKS}).dropna()
            share = shares.mean(axis=1)
            exp.record("table-8", f"mean.time_share_of_{other}", 100 * share, reading=reading, note="of rows asked")
            exp.record("table-8", f"mean.speedup_over_{other}", 100 * (1 / share - 1), reading=reading)
    means = rows["as_published"].mean().unstack()
    fastest = means["adf"] < means[["aequitas", "sg"]].min(axis=1)
    slowest = means["sg"] > means[["aequitas", "adf"]].max(axis=1)
    claims = {"adf-fastest": _on_benchmarks(fastest, ", means over runs")}
    exp.claims("table-8", claims | {"sg-slowest": _on_benchmarks(slowest, ", means over runs")})

    exp.record_frame("table-9", iterations, id="{benchmark}.{seeds}", values="iterations")
    for id in exp.beside("table-9").query("ours.isna()").index:
        exp.skip("table-9", id, "in some run no seed succeeded")
    published = iterations[iterations["reading"] == "as_published"]
    means = {key: np.mean(of) for key, of in published.groupby(["benchmark", "seeds"], sort=False)["iterations"]}
    most = max((mean for (_, seeds), mean in means.items() if seeds == "successful"), default=np.nan)
    table_6 = exp.specification.published.artefact("table-6").values
    implied = {
        name: (MOST - means[name, "all"])
        / (MOST - means[name, "successful"])
        * min(n_seeds, benchmark.n_seeds)
        / table_6[f"{name}.adf"].value
        for name, benchmark in BENCHMARKS.items()
        if (name, "all") in means
    }
    close = len(implied) == len(BENCHMARKS) and all(abs(ratio - 1) <= CLOSE_COUNTS for ratio in implied.values())
    ratios_found = ", ".join(f"{name} {ratio:.3f}" for name, ratio in implied.items())
    claims = {
        "success-needs-few": (bool(most < FEW), f"at most {most:.2f} on average"),
        "consistent-with-table-6": (close, f"implied over printed successes: {ratios_found}"),
    }
    exp.claims("table-9", claims)


def retraining(exp, *, before: pd.DataFrame, results: pd.DataFrame) -> None:
    """Record the shares of discriminatory inputs before and after retraining (table 10).

    Parameters
    ----------
    exp : Experiment
    before : DataFrame
        Column share, by benchmark.
    results : DataFrame
        Column share, by benchmark, trial and what was added: nothing, or what a method had found.
    """
    methods = ["aequitas", "sg", "adf"]
    start, percent = before["share"], 100 * results["share"]
    after = percent[percent.index.get_level_values("added") != "nothing"].reset_index()
    exp.record_frame(
        "table-10", (100 * start).rename_axis("benchmark").to_frame(), id="{benchmark}.before", values="share"
    )
    exp.record_frame("table-10", after, id="{benchmark}.after.{added}", values="share")
    share = results["share"].unstack("added")
    for method in methods:
        if start.all():
            kept = np.mean([share.loc[name, method] / start[name] for name in BENCHMARKS], axis=0)
            exp.record("table-10", f"mean.improvement_{method}", 100 * (1 - kept))
        else:
            reason = "on some benchmark no draw was discriminatory before"
            exp.skip("table-10", f"mean.improvement_{method}", reason)
    means = share.groupby("benchmark").mean()
    helped = means[methods].lt(start, axis=0)
    best = means["adf"] < means[["aequitas", "sg"]].min(axis=1)
    detail = f"in {helped.to_numpy().sum()} of {helped.size} cases, means over repetitions"
    claims = {"every-method-helps": (helped.all(axis=None), detail), "adf-best": _on_benchmarks(best)}
    exp.claims("table-10", claims)


def overview(exp, *, ours: Mapping[str, float]) -> None:
    """Record the ratios of abstract and introduction (section 1).

    Parameters
    ----------
    exp : Experiment
    ours : dict of str to float
        Means of the tables as they were recorded, by artefact and id, as in ``table-4:mean.id_ratio_...``.
    """
    found = ratios(ours)
    exp.record_frame("section-1", pd.DataFrame([found]), id="{column}")
    for id in [id for id in RATIOS if id not in found]:
        exp.skip("section-1", id, "needs the runs of the experiments on the table behind it")
    # Of space, finds and time, over either baseline.
    needed = ("abstract.space_times", "abstract.id_times", "intro.efficiency_over_aequitas", "intro.efficiency_over_sg")
    over_sg = ("table-5:mean.gdiff_ratio_adf_to_sg", "table-5:mean.id_ratio_adf_to_sg")
    more = found | dict(ours)
    claim = (None, "needs the runs of tables 4, 5 and 8")
    if {*needed, *over_sg} <= set(more):
        more = {id: more[id] for id in needed + over_sg}
        claim = (min(more.values()) > 1, ", ".join(f"{id} {ratio:.2f}" for id, ratio in more.items()))
    exp.claims("section-1", {"headline": claim})


def second_half(curve: pd.Series) -> float:
    """Return what the second half of the seeds adds to a curve, over what the first half adds."""
    first, total = curve.iloc[max(len(curve) // 2, 1) - 1], curve.iloc[-1]
    return (total - first) / first


def _on_benchmarks(hits: Sequence[bool], of: str = "") -> tuple[bool, str]:
    """Return whether a claim holds on all benchmarks, and on how many."""
    return hits.all(), f"on {hits.sum()} of {hits.size} benchmarks{of}"


def _order_of_methods(exp, artefact, ours) -> None:
    """Record by how many percent ADF finds more than each other method, and which method finds most and second."""
    found = {method: np.array([ours[name, method] for name in BENCHMARKS]) for method in METHODS}
    for other in ("aequitas", "sg"):
        id = f"mean.improvement_over_{other}"
        if found[other].all():
            exp.record(artefact, id, 100 * (found["adf"] / found[other] - 1).mean())
        else:
            exp.skip(artefact, id, "the other method found nothing on some benchmark")
    best = found["adf"] > np.maximum(found["sg"], found["aequitas"])
    second = found["sg"] > found["aequitas"]
    claims = {"adf-best": _on_benchmarks(best, ", means over seeds"), "sg-second": _on_benchmarks(second)}
    exp.claims(artefact, claims)


def _shape_of_curves(growth: pd.DataFrame) -> dict[str, tuple[bool | None, str]]:
    columns = ["inputs", "discriminatory"]
    curves = {method: [of[columns] for _, of in its.groupby("run")] for method, its in growth.groupby("method")}
    if len(curves) < 2 or growth.groupby(["method", "run"]).size().min() < 2:
        reason = "hardly any seed succeeded"
        return dict.fromkeys(("adf-linear", "aequitas-saturates", "adf-ends-higher"), (None, reason))
    # Means over runs; inputs, then discriminatory ones.
    added = {m: np.array([[second_half(curve[c]) for c in columns] for curve in of]) for m, of in curves.items()}
    last = {method: np.array([curve.iloc[-1] for curve in of]) for method, of in curves.items()}
    ends = last["adf"].mean(axis=0) / last["aequitas"].mean(axis=0)
    flat = added["aequitas"][:, 0]
    return {
        "adf-linear": ((added["adf"] >= LINEAR).all(), f"second half over first: {added['adf'].min():.2f} or more"),
        "aequitas-saturates": (
            flat.mean() < FLAT,
            f"inputs: {flat.mean():.2f} on average; less than {FLAT} in {(flat < FLAT).sum()} of {flat.size} runs",
        ),
        "adf-ends-higher": (
            (ends > [MORE_INPUTS, MORE_FOUND]).all(),
            "ADF over Aequitas at the end: {:.1f} inputs, {:.1f} discriminatory".format(*ends),
        ),
    }


def _claims_of_table_4(inputs, found, rates) -> dict[str, tuple[bool, str]]:
    more = inputs["adf"].mean(axis=1)[:, None] / inputs["aequitas"]
    factor = (found["adf"].mean(axis=1) / np.maximum(found["aequitas"].mean(axis=1), 1)).min()
    adf, aequitas = rates["adf"].mean(), rates["aequitas"].mean(axis=0)
    n_runs = (adf > TWICE * aequitas).sum()
    detail = f"means over runs {adf:.3f} and {aequitas.mean():.3f}; so in {n_runs} of {aequitas.size} single runs"
    return {
        "adf-more-instances": (
            (more.mean(axis=1) > 1).all(),
            f"smallest mean ratio of a benchmark {more.mean(axis=1).min():.1f}, of a single run {more.min():.1f}",
        ),
        "adf-more-ids": (factor >= MANY, f"smallest ratio of means over runs {factor:.1f}"),
        "adf-higher-success-rate": (adf > TWICE * aequitas.mean(), detail),
    }


def _by_method(runs: pd.DataFrame, column: str) -> dict[str, np.ndarray]:
    """Return a column of counts by method: one row per benchmark, one column per run."""
    found = runs.groupby(["method", "benchmark"], sort=False)[column].apply(list)
    return {
        method: np.array([found[method, name] for name in BENCHMARKS], dtype=float) for method in found.index.unique(0)
    }
