"""Trials of the experiments on ADF: one search each, re-checked and summed up.

A whole search is hundreds of thousands of inputs; what is kept of it are its counts and a share of what it found, drawn
at random, to retrain with.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.discrimination import SearchResult, Trace, discriminatory, estimate_unfairness, repeated
from fairlab.adf.generation import ADF, GlobalPhase
from fairlab.adf.training import retrain, train_networks
from fairlab.cases.schema import Schema
from fairlab.networks import CHUNK, FeedForward
from fairlab.papers.adf import courses
from fairlab.papers.adf.benchmarks import BENCHMARKS, Subject
from fairlab.papers.adf.symbolic import SymbolicGeneration
from fairlab.seeds import Trial

VARIANTS = {"as_published": "published", "as_described": "sound"}  # of the library, by reading
SHARE_KEPT = 0.05  # what section 4.2 retrains with

NOTHING_GROWN = pd.DataFrame({"inputs": [], "discriminatory": []}, dtype=int)


class ADFOnCredit(ADF):
    """ADF whose global phase tries ages 0 to 39 on credit: there the authors' code has the bounds of another table."""

    partner_schema = Schema.from_bounds(BENCHMARKS["credit.age"].schema.bounds | {"age": (0, 39)})


class AequitasAsReleased(Aequitas):
    """The code that the authors of ADF released: its walks learn from discrimination, not from the value returned."""

    def _pays(self, partner, is_0):
        return partner >= 0


def trained(trials: list[Trial], *, X: np.ndarray, y: np.ndarray, n_steps: int) -> list[list[np.ndarray]]:
    """Train one network per trial, all at once; return their weights."""
    return train_networks(X, y, [trial.seed("network") for trial in trials], n_steps=n_steps)


def searched_by_adf(
    trial: Trial, *, name: str, weights, X, n_seeds: int, n_local: int, reading: str, sensitive_features=None
) -> dict:
    """Run ADF on a benchmark and return its `tally`; `sensitive_features` replaces the benchmark's."""
    as_tried = reading == "as_published" and sensitive_features is None
    model = FeedForward(weights)
    adf = _adf(
        trial, name, model, sensitive_features=sensitive_features, tried=as_tried, n_local=n_local, reading=reading
    )
    return tally(adf.generate(X, n_seeds=min(n_seeds, BENCHMARKS[name].n_seeds)), weights, trial)


def runs_of_aequitas(
    trial: Trial, *, name: str, weights, n_seeds: int, n_local: int, reading: str, n_runs: int, in_flight: int = 1
) -> list[dict]:
    """Run Aequitas, fully directed, so often on a benchmark and return the `tally` of each run.

    The runs have the seeds of as many trials, and advance together: a step of all costs hardly more than one of one.
    """
    search = _aequitas(trial, name, FeedForward(weights), n_local=n_local, reading=reading, in_flight=in_flight)
    each, n_samples = _as_trials(trial, n_runs), min(n_seeds, BENCHMARKS[name].n_seeds)
    rngs = [np.random.default_rng(own.seed("aequitas")) for own in each]
    results = search.search_runs([search.schema.sample(n_samples, random_state=rng) for rng in rngs], rngs)
    return [tally(result, weights, own) for result, own in zip(results, each, strict=True)]


def of_benchmarks(subjects: Mapping[str, Subject], **options) -> dict[str, dict]:
    """Return what trials need of each benchmark: its name, its network's weights, its rows, and `options`."""
    return {
        name: {"name": name, "weights": subjects[its.subject].weights, "X": subjects[its.subject].X} | options
        for name, its in BENCHMARKS.items()
    }


def search_both(
    exp, subjects: Mapping[str, Subject], n_trials: int, *, n_runs: int, in_flight: int = 1, **options
) -> dict:
    """Run ADF and Aequitas on every benchmark; return the tallies by benchmark and method (adf, aequitas).

    Parameters
    ----------
    exp : Experiment
        Runs and keeps the trials.
    subjects : dict of str to Subject
    n_trials : int
        Of ADF, which takes most of the time; its counts hardly vary. Without any, Aequitas alone is run.
    n_runs, in_flight : int
        Of Aequitas; see `runs_of_aequitas`.
    **options
        What both share: n_seeds, n_local, reading.
    """
    found = {}
    for name, its in of_benchmarks(subjects, **options).items():
        if n_trials:
            found[name, "adf"] = exp.trials(searched_by_adf, n_trials, **its)
        del its["X"]
        [found[name, "aequitas"]] = exp.trials(runs_of_aequitas, 1, n_runs=n_runs, in_flight=in_flight, **its)
    return found


def searched_by_sg(trial: Trial, *, name: str, weights, X, n_seeds: int, n_inputs: int) -> dict:
    """Run symbolic generation on a benchmark, from the seeds of ADF, and return its `tally`."""
    model = FeedForward(weights)
    seeds = _adf(trial, name, model).seeds(X, min(n_seeds, BENCHMARKS[name].n_seeds))
    return tally(_sg(trial, name, model).generate(X, seeds, n_inputs=n_inputs), weights, trial)


def course_by_adf(
    trial: Trial, *, name: str, weights, X, n_seeds: int, n_rows: int = 0, n_found: int = 0
) -> pd.DataFrame:
    """Return the `course` of ADF, seed after seed, until so many rows and finds are reached."""
    adf, n_seeds = _adf(trial, name, FeedForward(weights)), min(n_seeds, BENCHMARKS[name].n_seeds)
    return courses.course_of_adf(adf, X, n_seeds=n_seeds, rng=trial.rng("walks"), n_rows=n_rows, n_found=n_found)


def course_by_aequitas(trial: Trial, *, name: str, weights, n_seeds: int, n_found: int) -> pd.DataFrame:
    """Return the `course` of Aequitas, one walk after the other, until so many finds are reached."""
    draws = BENCHMARKS[name].schema.sample(min(n_seeds, BENCHMARKS[name].n_seeds), random_state=trial.rng("draws"))
    aequitas = _aequitas(trial, name, FeedForward(weights), in_flight=1)
    return courses.course_of_aequitas(aequitas, draws, n_found=n_found)


def course_by_sg(
    trial: Trial, *, name: str, weights, X, n_seeds: int, n_inputs: int = 0, n_found: int = 0
) -> pd.DataFrame:
    """Return the `course` of symbolic generation, from the seeds of ADF, until so many inputs and finds are reached."""
    model = FeedForward(weights)
    seeds = _adf(trial, name, model).seeds(X, min(n_seeds, BENCHMARKS[name].n_seeds))
    return courses.course_of_sg(_sg(trial, name, model), X, seeds, n_inputs=n_inputs, n_found=n_found)


def seconds_to_find(trial: Trial, *, name: str, weights, X, n_seeds: int, n_wanted: int) -> dict[str, float]:
    """Return the seconds until ADF and Aequitas, in batches, have found `n_wanted` discriminatory inputs (Table 8).

    A method that runs out of seeds before has its seconds scaled up by what it found.
    """
    network, n_seeds = FeedForward(weights), min(n_seeds, BENCHMARKS[name].n_seeds)
    results = {
        "adf": _adf(trial, name, network).generate(X, n_seeds=n_seeds, max_found=n_wanted),
        "aequitas": _aequitas(trial, name, network).generate(n_samples=n_seeds, max_found=n_wanted),
    }
    return {
        method: result.seconds * max(1.0, n_wanted / max(result.n_discriminatory, 1))
        for method, result in results.items()
    }


def local_yields(
    trial: Trial,
    *,
    name: str,
    weights,
    X,
    n_seeds: int,
    n_runs: int,
    n_starts: int,
    n_starts_sg: int,
    n_local: Sequence[int],
    n_local_sg: int,
) -> pd.DataFrame:
    """Give all methods the same discriminatory inputs and return how much they find around one (Table 7).

    Parameters
    ----------
    n_runs : int
        Each with starts of its own, drawn from those that ADF's global phase makes.
    n_starts, n_starts_sg : int
        Starts of each run, and how many of them symbolic generation is given, too.
    n_local : sequence of int
        Lengths of the walks, each once.
    n_local_sg : int
        Inputs that symbolic generation explores from a start.

    Returns
    -------
    DataFrame
        One row per run, method, and steps, with the shares of the steps that are discriminatory (repeats), and that are
        new discriminatory inputs of the walk (distinct). Symbolic generation never repeats itself; its start is left
        out.
    """
    model, rows, starts = FeedForward(weights), [], []
    each = _as_trials(trial, n_runs)
    for own in each:
        adf = _adf(own, name, model, tried=False)  # starts are discriminatory by values of the domain
        phase = adf.global_search(adf.seeds(X, min(n_seeds, BENCHMARKS[name].n_seeds)))
        chosen = own.rng("starts").choice(len(phase.seed), min(n_starts, len(phase.seed)), replace=False)
        n = len(chosen)
        starts.append(GlobalPhase(phase.inputs[chosen], phase.partner[chosen], np.arange(n), np.zeros(n)))
    if not min(len(its.seed) for its in starts):
        return pd.DataFrame(columns=["run", "method", "steps", "repeats", "distinct"])
    columns = BENCHMARKS[name].schema.positions(BENCHMARKS[name].sensitive_features)
    for steps in n_local:
        walks = [_adf(own, name, model, n_local=steps).steps(its) for own, its in zip(each, starts, strict=True)]
        for run, walk in enumerate(walks):
            rows.append({"run": run, "method": "adf", "steps": steps} | shares_of_walks([*walk][1:], columns))
        aequitas = _aequitas(trial, name, model, n_local=steps, in_flight=1)
        seeds = [own.seed("aequitas") for own in each]
        traces = [*aequitas.steps_of_runs([its.inputs for its in starts], seeds)][1:]
        ends = np.cumsum([0, *(len(its.inputs) for its in starts)]).tolist()
        for run, (low, high) in enumerate(pairwise(ends)):
            own = shares_of_walks([trace.of_seeds(low, high) for trace in traces], columns)
            rows.append({"run": run, "method": "aequitas", "steps": steps} | own)
    for run, (own, its) in enumerate(zip(each, starts, strict=True)):
        sg = _sg(own, name, model)
        found = [sg.generate(X, start[None], n_inputs=1 + n_local_sg) for start in its.inputs[:n_starts_sg]]
        share = np.mean([(result.n_discriminatory - 1) / max(result.n_inputs - 1, 1) for result in found])
        rows.append({"run": run, "method": "sg", "steps": n_local_sg, "repeats": share, "distinct": share})
    return pd.DataFrame(rows)


def shares_of_walks(steps: Sequence[Trace], columns) -> dict[str, float]:
    """Return the shares of the candidates of walks that are discriminatory, and that are new ones of their walk.

    Parameters
    ----------
    steps : sequence of Trace
        What each step evaluated: one candidate of each walk, then neighbours, which are left out.
    columns : list of int
        Protected ones, which tell no inputs apart.
    """
    firsts = [np.unique(trace.seed, return_index=True)[1] for trace in steps]
    candidates = [Trace(t.inputs[i], t.partner[i], t.seed[i]) for t, i in zip(steps, firsts, strict=True)]
    every = Trace.join(candidates, candidates[0].inputs.shape[1])
    hits = every.partner >= 0
    others = np.column_stack([np.delete(every.inputs[hits], columns, axis=1), every.seed[hits]])
    distinct = ~repeated(others, [])
    return {"repeats": float(hits.mean()), "distinct": float(distinct.sum() / max(len(hits), 1))}


def same_starts(
    trial: Trial,
    *,
    name: str,
    weights,
    X,
    n_seeds: int,
    n_local: int,
    n_runs: int,
    n_runs_adf: int,
    reading: str = "as_published",
    in_flight: int = 1,
) -> dict[str, list[pd.DataFrame]]:
    """Give ADF and Aequitas the same discriminatory inputs and return how their finds grow (Figure 3).

    Parameters
    ----------
    n_runs, n_runs_adf : int
        Of Aequitas, which advance together, and of ADF, from the starts of the first of them.
    reading, in_flight
        Of Aequitas.
    """
    each, model = _as_trials(trial, n_runs), FeedForward(weights)
    searches = [_adf(own, name, model, n_local=n_local) for own in each]
    phases = [adf.global_search(adf.seeds(X, min(n_seeds, BENCHMARKS[name].n_seeds))) for adf in searches]
    by_adf = [adf.local_search(its).growth() for adf, its in zip(searches[:n_runs_adf], phases, strict=False)]
    if not min(len(its.seed) for its in phases):  # without a start there is nothing to grow
        return {"adf": by_adf, "aequitas": [NOTHING_GROWN] * n_runs}
    aequitas = _aequitas(trial, name, model, n_local=n_local, reading=reading, in_flight=in_flight)
    seeds = [own.seed("aequitas") for own in each]
    by_aequitas = aequitas.search_runs([its.inputs for its in phases], seeds)
    return {"adf": by_adf, "aequitas": [result.growth() for result in by_aequitas]}


def discriminatory_seeds(trial: Trial, *, name: str, weights, X, n_seeds: int) -> dict[str, int]:
    """Count, as n_successful, ADF's seeds that are discriminatory as they stand: what symbolic generation finds."""
    benchmark, network = BENCHMARKS[name], FeedForward(weights)
    seeds = _adf(trial, name, network).seeds(X, min(n_seeds, benchmark.n_seeds))
    found = discriminatory(network, seeds, benchmark.sensitive_features, schema=benchmark.schema)
    return {"n_successful": int(found.sum())}


def retrained(
    trials: list[Trial],
    *,
    name: str,
    weights,
    X,
    y,
    samples: dict[str, np.ndarray],
    voters,
    n_epochs: int,
    n_points: int,
) -> list[pd.DataFrame]:
    """Retrain once per trial and method; return shares of discriminatory inputs and accuracies, by method.

    Parameters
    ----------
    samples : dict of str to ndarray
        Discriminatory inputs to add, by method; an empty array is training alone.
    voters : list of lists of ndarray
        Weights of the networks that label them.
    n_points : int
        Random inputs for each estimate of the share.
    """
    additions = [sample for _ in trials for sample in samples.values()]
    seeds = [trial.seed(f"retraining {method}") for trial in trials for method in samples]
    networks = [FeedForward(voter) for voter in voters]
    after = retrain(weights, X, y, additions, networks, n_epochs=n_epochs, random_states=seeds)
    frames = []
    for k, trial in enumerate(trials):
        mine = dict(zip(samples, after[k * len(samples) : (k + 1) * len(samples)], strict=True))
        seed = trial.seed("estimate")
        rows = {method: assessed(w, X, y, name=name, n_points=n_points, seed=seed) for method, w in mine.items()}
        frames.append(pd.DataFrame(rows).T)
    return frames


def assessed(weights, X, y, *, name: str, n_points: int, seed: int) -> dict[str, float]:
    """Return a network's share of discriminatory inputs among random ones, and its accuracy on its training rows."""
    benchmark, network = BENCHMARKS[name], FeedForward(weights)
    fairness = estimate_unfairness(
        network, schema=benchmark.schema, sensitive_features=benchmark.sensitive_features, n=n_points, random_state=seed
    )
    return {"share": fairness.share, "accuracy": float((network.predict(X) == y).mean())}


def tally(result: SearchResult, weights, trial: Trial) -> dict:
    """Check what a search reports, by the network's classes of both sides of each pair, and sum it up.

    Returns
    -------
    dict
        n_inputs, n_discriminatory : distinct inputs, and the discriminatory ones among them;
        success_rate : share of the latter, 0 if nothing was tried;
        n_successful : seeds with which the local phase began;
        n_wrong, n_outside : reported inputs that the check found repeated or not discriminatory, and those outside of
        the domain;
        seconds : of the search;
        iterations, successful : ndarrays by seed, of the global phase;
        sample : ndarray of shape (n_kept, n_attributes), a share of the discriminatory inputs.
    """
    found, pairs = result.discriminatory, result.pairs
    columns = result.schema.positions(result.sensitive_features)
    n_distinct = len({row.tobytes() for row in np.delete(found, columns, axis=1)})
    sides = [_classes(weights, pairs[:, side]) for side in (0, 1)]
    outside = (found < result.schema.low) | (found > result.schema.high)
    kept = trial.rng("kept").choice(len(found), int(np.ceil(SHARE_KEPT * len(found))), replace=False)
    return {
        "n_inputs": result.n_inputs,
        "n_discriminatory": result.n_discriminatory,
        "success_rate": result.success_rate,
        "n_successful": int(result.successful.sum()),
        "n_wrong": int(len(found) - n_distinct + (sides[0] == sides[1]).sum()),
        "n_outside": int(outside.any(axis=1).sum()),
        "seconds": result.seconds,
        "iterations": result.iterations,
        "successful": result.successful,
        "sample": found[kept],
    }


def _as_trials(trial: Trial, n: int) -> list[Trial]:
    """Return trials one after the other, from the given one on, for runs that share a call."""
    return [Trial(trial.name, trial.index + k, trial.root) for k in range(n)]


def _adf(
    trial: Trial,
    name: str,
    model,
    *,
    sensitive_features=None,
    tried: bool = True,
    reading: str = "as_published",
    **options,
) -> ADF:
    """Return ADF on a benchmark; `tried` says whether the global phase tries what the authors' tried."""
    benchmark, method = BENCHMARKS[name], ADFOnCredit if tried and name == "credit.age" else ADF
    return method(
        model,
        benchmark.schema,
        sensitive_features or benchmark.sensitive_features,
        variant=VARIANTS[reading],
        random_state=trial.seed("adf"),
        **options,
    )


def _aequitas(trial: Trial, name: str, model, *, reading: str = "as_published", **options) -> Aequitas:
    benchmark, as_released = BENCHMARKS[name], reading == "as_released"
    options |= {"variant": "published" if as_released else VARIANTS[reading], "random_state": trial.seed("aequitas")}
    method = AequitasAsReleased if as_released else Aequitas
    return method(model, benchmark.schema, benchmark.sensitive_features, **options)


def _sg(trial: Trial, name: str, model) -> SymbolicGeneration:
    benchmark = BENCHMARKS[name]
    return SymbolicGeneration(model, benchmark.schema, benchmark.sensitive_features, random_state=trial.seed("sg"))


def _classes(weights, X) -> np.ndarray:
    network = FeedForward(weights)
    return np.concatenate([network.predict(chunk) for chunk in np.array_split(X, -(-max(len(X), 1) // CHUNK))])
