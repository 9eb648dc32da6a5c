"""Records and claims of the experiments on ADF: one function for each experiment, of its name."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.adf.generation import ADF, direction
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.courses import SECONDS
from fairlab.papers.adf.headline import RATIOS, ratios
from fairlab.papers.adf.tables import METHODS
from fairlab.papers.adf.trials import SHARE_KEPT
from fairlab.suite.catalogue import specification

# Limits in the wording of the claims.
MANY, TWICE = 6, 2  # table 4
CLOSE_RATES = 0.05  # table 5
LINEAR, FLAT, MORE_INPUTS, MORE_FOUND = 0.8, 0.25, 3, 4  # figure 3
FEW, CLOSE_COUNTS, MOST = 4, 0.03, 10  # table 9


def models(exp, *, subjects: Mapping[str, Subject]) -> None:
    """Record sizes, parameters and accuracies (section 4.1, tables 2 and 3).

    Parameters
    ----------
    exp : Experiment
    subjects : dict of str to Subject
        Every data set with its stored network.
    """
    for name, subject in subjects.items():
        exp.record("table-3", f"{name}.accuracy", 100 * subject.accuracy, data=[f"{name}-adf"])
    exp.record("table-3", "layers", max(len(subject.weights) // 2 for subject in subjects.values()))
    accuracy = subjects["credit"].accuracy
    exp.claim("table-3", "credit-memorised", holds=accuracy == 1, detail=f"accuracy {accuracy:.4f}")

    sizes = {"census": "census.instances", "credit": "credit.instances", "bank": "bank.instances_more_than"}
    for name, id in sizes.items():
        exp.record("section-4.1", id, len(subjects[name].X), data=[f"{name}-adf"])
        exp.record("section-4.1", f"{name}.attributes", subjects[name].X.shape[1], data=[f"{name}-adf"])
    adf = ADF(subjects["census"].network, SCHEMAS["census"], "sex", variant="published")
    most_seeds = max(benchmark.n_seeds for benchmark in BENCHMARKS.values())
    exp.record("section-4.1", "global_instances", most_seeds)
    exp.record("section-4.1", "global_instances_credit", BENCHMARKS["credit.age"].n_seeds)
    exp.record("section-4.1", "local_instances_per_seed", adf.n_local)
    exp.record("section-4.1", "max_total_instances", most_seeds * (1 + adf.n_local))
    exp.record("section-4.1", "time_limit_sg", SECONDS)
    exp.record("section-4.1", "retrain_share", 100 * SHARE_KEPT)
    exp.record("section-4.1", "retrain_repeats", specification("adf/retraining").parameters("quick")["n_trials"])

    some, columns = adf.schema.clip(subjects["census"].X[:100]), adf.schema.positions("sex")
    steps = direction(adf.network, some, some, columns, "published", exp.trial().rng("probe"))
    pairs = np.stack([some, some], axis=1)
    pairs[:, 1, columns] = 1 - pairs[:, 0, columns]
    _, moved = itertools.islice(adf.steps(pairs), 2)
    exp.record("table-2", "c_num", adf.n_clusters)
    exp.record("table-2", "max_iter", adf.max_iter)
    exp.record("table-2", "s_g", np.abs(steps).max())
    exp.record("table-2", "s_l", np.abs(moved.inputs - some).max())


def phases(
    exp,
    *,
    successes: Mapping[tuple[str, str, str], Sequence[int]],
    yields: pd.DataFrame,
    growth: Mapping[str, Sequence[pd.DataFrame]],
    n_starts: int,
) -> None:
    """Record what the phases find apart, and how finds grow (tables 6 and 7, figure 3).

    Parameters
    ----------
    exp : Experiment
    successes : dict of tuple to list of int
        Successful seeds of every run, by reading, benchmark and method.
    yields : DataFrame
        Finds per 1,000 steps: one row per run, one column per benchmark and method.
    growth : dict of str to list of DataFrame
        Curves by method, one per run.
    n_starts : int
        Of the local phase, in each run.
    """
    for (reading, name, method), runs in successes.items():
        exp.record("table-6", f"{name}.{method}", runs, reading=reading)
    note = f"{n_starts} starts in each run"
    for name, method in yields:
        exp.record("table-7", f"{name}.{method}", yields[name, method], note=note)
    found = pd.Series({key[1:]: np.mean(runs) for key, runs in successes.items() if key[0] == "as_published"})
    _order_of_methods(exp, "table-6", found)
    _order_of_methods(exp, "table-7", yields.mean())
    _points_on_curves(exp, growth)
    _shape_of_curves(exp, growth)


def versus_aequitas(exp, *, searches: Mapping[tuple[str, str, str], Sequence[dict]]) -> None:
    """Record the counts of ADF and Aequitas (table 4).

    Parameters
    ----------
    exp : Experiment
    searches : dict of tuple to list of dict
        Tallies of every run, by reading, benchmark and method.
    """
    for (reading, name, method), runs in searches.items():
        exp.record("table-4", f"{name}.{method}.gdiff", [run["n_inputs"] for run in runs], reading=reading)
        exp.record("table-4", f"{name}.{method}.id", [run["n_discriminatory"] for run in runs], reading=reading)
    for reading in dict.fromkeys(reading for reading, *_ in searches):
        mine = {key[1:]: runs for key, runs in searches.items() if key[0] == reading}
        inputs, found, rates = _by_method(mine, ("adf", "aequitas"))
        of_adf = {"inputs": inputs["adf"].mean(axis=1)[:, None], "found": found["adf"].mean(axis=1)[:, None]}
        more = (of_adf["inputs"] / inputs["aequitas"]).mean(axis=0)
        exp.record("table-4", "mean.gdiff_ratio_adf_to_aequitas", more, reading=reading)
        exp.record("table-4", "mean.gdiff_times_more", more - 1, reading=reading)
        if found["aequitas"].all():
            more_found = (of_adf["found"] / found["aequitas"]).mean(axis=0)
            exp.record("table-4", "mean.id_ratio_adf_to_aequitas", more_found, reading=reading)
        elif reading == "as_published":
            exp.skip("table-4", "mean.id_ratio_adf_to_aequitas", "Aequitas found nothing on some benchmark")
        for method, rate in rates.items():
            exp.record("table-4", f"mean.success_rate_{method}", 100 * rate.mean(axis=0), reading=reading)
        if reading == "as_published":
            _claims_of_table_4(exp, inputs, found, rates)


def versus_symbolic(exp, *, counted: pd.DataFrame) -> None:
    """Record the counts of ADF and symbolic generation with equal budgets (table 5).

    Parameters
    ----------
    exp : Experiment
    counted : DataFrame
        Counts of every run; see `fairlab.papers.adf.tables.budgets_spent`.
    """
    for (reading, name, method), runs in counted.groupby(["reading", "benchmark", "method"], sort=False):
        exp.record("table-5", f"{name}.{method}.gdiff", runs["inputs"], reading=reading)
        exp.record("table-5", f"{name}.{method}.id", runs["found"], reading=reading)
    for reading, its in counted.groupby("reading", sort=False):
        runs = its.set_index(["run", "benchmark", "method"])[["inputs", "found", "success rate"]].unstack("method")
        for id, column in (("gdiff", "inputs"), ("id", "found")):
            both = runs[column].dropna()  # runs of both methods
            if both["sg"].all():
                ratio = (both["adf"] / both["sg"]).groupby("run").mean()
                exp.record("table-5", f"mean.{id}_ratio_adf_to_sg", ratio, reading=reading)
            elif reading == "as_published":
                exp.skip("table-5", f"mean.{id}_ratio_adf_to_sg", "in some run SG counts nothing")
        for method in ("adf", "sg"):
            rates = runs["success rate", method].dropna().groupby("run").mean()
            exp.record("table-5", f"mean.success_rate_{method}", 100 * rates, reading=reading)
    means = counted[counted["reading"] == "as_published"].groupby(["benchmark", "method"]).mean(numeric_only=True)
    for id, column in (("adf-more-instances", "inputs"), ("adf-more-ids", "found")):
        more = means[column].unstack("method").eval("adf > sg")
        exp.claim("table-5", id, more.all(), detail=f"on {more.sum()} of {more.size} benchmarks, means over runs")
    rates = means["success rate"].groupby("method").mean()
    exp.claim(
        "table-5",
        "similar-success-rate",
        abs(rates["adf"] - rates["sg"]) < CLOSE_RATES,
        detail=f"ADF {rates['adf']:.3f}, SG {rates['sg']:.3f}, on average",
    )


def cost(
    exp,
    *,
    rows: Mapping[str, pd.DataFrame],
    seconds: pd.DataFrame,
    iterations: Mapping[tuple[str, str, str], Sequence[float]],
    n_seeds: int,
) -> None:
    """Record rows, seconds and iterations (tables 8 and 9).

    Parameters
    ----------
    exp : Experiment
    rows : dict of str to DataFrame
        Rows to the finds by reading: one row per run, one column per benchmark and method. They decide who is faster.
    seconds : DataFrame
        Of this machine, as `rows`.
    iterations : dict of tuple to list of float
        Mean iterations of every run, by reading, benchmark and seeds (all, successful); without benchmarks on which no
        seed succeeded in some run.
    n_seeds : int
        Seeds at most.
    """
    for name, method in seconds:
        exp.record("table-8", f"{name}.{method}", seconds[name, method].dropna(), note="of this machine, in batches")
    for reading, asked in rows.items():
        for other in ("aequitas", "sg"):
            shares = pd.DataFrame({name: asked[name, "adf"] / asked[name, other] for name in BENCHMARKS}).dropna()
            share = shares.mean(axis=1)
            exp.record("table-8", f"mean.time_share_of_{other}", 100 * share, reading=reading, note="of rows asked")
            exp.record("table-8", f"mean.speedup_over_{other}", 100 * (1 / share - 1), reading=reading)
    means = rows["as_published"].mean().unstack()
    fastest = means["adf"] < means[["aequitas", "sg"]].min(axis=1)
    slowest = means["sg"] > means[["aequitas", "adf"]].max(axis=1)
    for id, holds in (("adf-fastest", fastest), ("sg-slowest", slowest)):
        exp.claim("table-8", id, holds.all(), detail=f"on {holds.sum()} of {holds.size} benchmarks, means over runs")

    for (reading, name, which), runs in iterations.items():
        exp.record("table-9", f"{name}.{which}", runs, reading=reading)
    means = {key[1:]: np.mean(runs) for key, runs in iterations.items() if key[0] == "as_published"}
    for name in BENCHMARKS:
        for which in ("all", "successful"):
            if (name, which) not in means:
                exp.skip("table-9", f"{name}.{which}", "in some run no seed succeeded")
    most = max((mean for (_, which), mean in means.items() if which == "successful"), default=np.nan)
    exp.claim("table-9", "success-needs-few", bool(most < FEW), detail=f"at most {most:.2f} on average")
    table_6 = exp.specification.published.artefact("table-6").values
    implied = {
        name: (MOST - means[name, "all"])
        / (MOST - means[name, "successful"])
        * benchmark.at_most(n_seeds)
        / table_6[f"{name}.adf"].value
        for name, benchmark in BENCHMARKS.items()
        if (name, "all") in means
    }
    exp.claim(
        "table-9",
        "consistent-with-table-6",
        len(implied) == len(BENCHMARKS) and all(abs(ratio - 1) <= CLOSE_COUNTS for ratio in implied.values()),
        detail="implied over printed successes: " + ", ".join(f"{name} {ratio:.3f}" for name, ratio in implied.items()),
    )


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
    start, share = before["share"], results["share"].unstack("added")
    for name in BENCHMARKS:
        exp.record("table-10", f"{name}.before", 100 * start[name])
        for method in methods:
            exp.record("table-10", f"{name}.after.{method}", 100 * share.loc[name, method])
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
    exp.claim("table-10", "every-method-helps", helped.all(axis=None), detail=detail)
    exp.claim("table-10", "adf-best", best.all(), detail=f"on {best.sum()} of {best.size} benchmarks")


def overview(exp, *, ours: Mapping[str, float]) -> None:
    """Record the ratios of abstract and introduction (section 1).

    Parameters
    ----------
    exp : Experiment
    ours : dict of str to float
        Means of the tables as they were recorded, by artefact and id, as in ``table-4:mean.id_ratio_...``.
    """
    found = ratios(ours)
    for id in RATIOS:
        if id in found:
            exp.record("section-1", id, found[id])
        else:
            exp.skip("section-1", id, "needs the runs of the experiments on the table behind it")
    needed = ("abstract.space_times", "abstract.id_times", "intro.efficiency_over_aequitas", "intro.efficiency_over_sg")
    if set(needed) <= set(found):
        more = {id: found[id] for id in needed}
        detail = ", ".join(f"{id} {ratio:.2f}" for id, ratio in more.items())
        exp.claim("section-1", "headline", min(more.values()) > 1, detail=detail)
    else:
        exp.skip("section-1", "headline", "needs the runs of tables 4 and 8")


def second_half(curve: pd.Series) -> float:
    """Return what the second half of the seeds adds to a curve, over what the first half adds."""
    first, total = curve.iloc[max(len(curve) // 2, 1) - 1], curve.iloc[-1]
    return (total - first) / first


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
    exp.claim(artefact, "adf-best", best.all(), detail=f"on {best.sum()} of {best.size} benchmarks, means over seeds")
    exp.claim(artefact, "sg-second", second.all(), detail=f"on {second.sum()} of {second.size} benchmarks")


def _points_on_curves(exp, growth) -> None:
    columns = {"inputs": "inputs", "id": "discriminatory"}
    for id in exp.published("figure-3").index:
        method, _, rest = id.partition(".")
        counted, _, tick = rest.partition(".seed_")
        reached = [curve.loc[int(tick), columns[counted]] for curve in growth[method] if int(tick) in curve.index]
        if reached:
            exp.record("figure-3", id, reached, data=["census-adf"])
        else:
            exp.skip("figure-3", id, "no run had as many successful seeds")


def _shape_of_curves(exp, growth) -> None:
    ids = ("adf-linear", "aequitas-saturates", "adf-ends-higher")
    if any(len(curve) < 2 for curves in growth.values() for curve in curves):
        for id in ids:
            exp.skip("figure-3", id, "hardly any seed succeeded")
        return
    # Means over runs; inputs, then discriminatory ones.
    columns = ["inputs", "discriminatory"]
    added = {
        method: np.array([[second_half(curve[column]) for column in columns] for curve in curves])
        for method, curves in growth.items()
    }
    last = {method: np.array([curve[columns].iloc[-1] for curve in curves]) for method, curves in growth.items()}
    ends = last["adf"].mean(axis=0) / last["aequitas"].mean(axis=0)
    flat = added["aequitas"][:, 0]
    found = {
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
    for id, (holds, detail) in found.items():
        exp.claim("figure-3", id, holds, detail=detail, data=["census-adf"])


def _claims_of_table_4(exp, inputs, found, rates) -> None:
    more = inputs["adf"].mean(axis=1)[:, None] / inputs["aequitas"]
    least = f"on every benchmark and in every run; at least {more.min():.1f} times"
    exp.claim("table-4", "adf-more-instances", (more > 1).all(), detail=least)
    factor = (found["adf"].mean(axis=1) / np.maximum(found["aequitas"].mean(axis=1), 1)).min()
    exp.claim("table-4", "adf-more-ids", factor >= MANY, detail=f"smallest ratio of means over runs {factor:.1f}")
    adf, aequitas = rates["adf"].mean(), rates["aequitas"].mean(axis=0)
    n_runs = (adf > TWICE * aequitas).sum()
    detail = f"means over runs {adf:.3f} and {aequitas.mean():.3f}; so in {n_runs} of {aequitas.size} single runs"
    exp.claim("table-4", "adf-higher-success-rate", adf > TWICE * aequitas.mean(), detail=detail)


def _by_method(searches, methods) -> list[dict[str, np.ndarray]]:
    """Return inputs, finds and success rates by method: one row per benchmark, one column per run."""
    return [
        {
            method: np.array([[run[field] for run in searches[name, method]] for name in BENCHMARKS], dtype=float)
            for method in methods
        }
        for field in ("n_inputs", "n_discriminatory", "success_rate")
    ]
