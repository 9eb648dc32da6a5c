"""ADF: batches against one input at a time, table 4's full budget, and how seconds grow with the budget."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import joblib
import numpy as np

from fairlab.benchmarks import Measurement, benchmark, in_fresh_process, measure, speed_up
from fairlab.networks import FeedForward

GB = 1e9
SMALLEST = ["credit.gender"]  # the benchmark to try things on
ONE_OF_EACH = ["census.gender", "bank.age", "credit.gender"]  # data set
SEED_COUNTS = (125, 250, 500, 1000)
LOCAL_COUNTS = (125, 250, 500, 1000)


@benchmark
def adf_vs_one_at_a_time(*, quick: bool) -> list[Measurement]:
    """Time to so many discriminatory inputs in batches and one row per call, the smallest of the six benchmarks.

    One row per call is what the authors' program does, of compiled code; beside it the same of NumPy.
    """
    from fairlab.papers.adf.benchmarks import BENCHMARKS

    n_wanted, names = (5, SMALLEST) if quick else (300, [*BENCHMARKS])
    rows, numpy = [], {}
    for name in names:
        subject, seeds = stored_subject(name)
        batches, alone = search(subject.network, name), search(RowByRow(subject.weights), name)
        single = search(one_at_a_time(dense_network(subject.weights)), name)
        find_seed_by_seed(single, seeds[:1], 1)
        ours = measure(lambda: find(batches, seeds, n_wanted))  # noqa: B023
        baseline = measure(lambda: find_seed_by_seed(single, seeds, n_wanted), repeats=1)  # noqa: B023
        numpy[name] = measure(lambda: find_seed_by_seed(alone, seeds, n_wanted), repeats=1)  # noqa: B023
        note = f"{n_wanted} discriminatory inputs, same seeds, weights, search; one row per call of compiled code"
        rows.append(speed_up(f"adf_vs_one_at_a_time_{name}", baseline=baseline, ours=ours, note=note))
    least = min(rows, key=lambda row: row.value)
    name = least.name.removeprefix("adf_vs_one_at_a_time_")
    note = f"{name}: {least.note.replace('compiled code', 'NumPy')}"
    return [
        *rows,
        replace(least, name="adf_vs_one_at_a_time", note=f"{name}, the smallest of {len(rows)}: {least.note}"),
        speed_up("adf_vs_one_at_a_time_in_numpy", baseline=numpy[name], ours=least.ours, note=note),
    ]


@benchmark
def adf_table_4(*, quick: bool) -> list[Measurement]:
    """Seconds of table 4 at its size: ADF and Aequitas on six benchmarks, from the data to the counts, on all cores."""
    from fairlab.papers.adf.benchmarks import BENCHMARKS

    n, names = (10, SMALLEST) if quick else (1000, [*BENCHMARKS])
    jobs = [(name, method, n) for method in ("adf", "aequitas") for name in names]
    start = time.perf_counter()
    with ProcessPoolExecutor(joblib.cpu_count(), mp_context=multiprocessing.get_context("forkserver")) as pool:
        n_found = sum(pool.map(half_of_a_row, *zip(*jobs, strict=True)))
    seconds = time.perf_counter() - start
    note = (
        f"{n} seeds (credit at most 600) of {n} local steps; {n_found} discriminatory inputs; starts of processes too"
    )
    return [Measurement("adf_table_4_seconds", seconds, "s", note=note)]


@benchmark
def adf_budget(*, quick: bool) -> list[Measurement]:
    """Seconds and memory of table 4's full budget, and the powers of seeds and local steps that seconds grow with."""
    (most, names), rows = (10, SMALLEST) if quick else (1000, ONE_OF_EACH), []
    for name in names:
        seconds, peak = in_fresh_process(full_search, name, most, most)
        note = f"{most} seeds (credit at most 600), {most} local steps each, from the data to the counts"
        rows += [
            Measurement(f"adf_{name}_seconds", seconds, "s", note=note),
            Measurement(f"adf_{name}_peak_gb", peak / GB, "GB", note=note),
        ]
    name = SMALLEST[0] if quick else "census.gender"
    full_search(name, 2, 2)
    for what, counts in (("seeds", SEED_COUNTS), ("local", LOCAL_COUNTS)):
        counts = (2, 4) if quick else counts
        budgets = [(n, most) if what == "seeds" else (most, n) for n in counts]
        seconds = [full_search(name, *budget) for budget in budgets]
        rows += [
            Measurement(f"adf_{name}_{what}_{n}_seconds", taken, "s") for n, taken in zip(counts, seconds, strict=True)
        ]
        power = np.polyfit(np.log(counts), np.log(seconds), 1)[0]
        rows.append(
            Measurement(f"adf_{what}_growth", power, "power of n", note=f"{name}, n = {counts[0]} to {counts[-1]}")
        )
    return rows


def stored_subject(name: str):
    """Return the data and the network of a benchmark, and its seeds."""
    from fairlab.adf import ADF
    from fairlab.data import load
    from fairlab.papers.adf.benchmarks import BENCHMARKS, subject_under_test

    benchmark = BENCHMARKS[name]
    subject = subject_under_test(benchmark.subject, load(f"{benchmark.subject}-adf"))
    seeds = ADF(subject.network, benchmark.schema, benchmark.sensitive_features).seeds(subject.X, benchmark.n_seeds)
    return subject, seeds


def search(network, name: str, **options):
    """Return the search of a benchmark."""
    from fairlab.adf import ADF
    from fairlab.papers.adf.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[name]
    return ADF(network, benchmark.schema, benchmark.sensitive_features, variant="published", random_state=0, **options)


def dense_network(weights):
    """Return the Keras model of a `FeedForward`'s weights, as the authors have it."""
    import keras

    widths = [bias.size for bias in weights[1::2]]
    activations = ["relu"] * (len(widths) - 1) + ["softmax"]
    # With names of their own making, two networks of one shape would look like two architectures to `Network`.
    layers = [
        keras.layers.Dense(width, activation=activation, name=f"layer_{k}")
        for k, (width, activation) in enumerate(zip(widths, activations, strict=True))
    ]
    model = keras.Sequential([keras.Input((weights[0].shape[0],), name="attributes"), *layers], name="dense_network")
    model.set_weights(weights)
    return model


def one_at_a_time(model):
    """Return a network through which inputs go one by one."""
    from fairlab.networks import Network

    class OneAtATime(Network):
        def _in_chunks(self, function, X):
            answers = [Network._in_chunks(self, function, row) for row in np.split(X, max(len(X), 1))]
            if isinstance(answers[0], tuple):
                return tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))
            return np.concatenate(answers)

    return OneAtATime(model)


class RowByRow(FeedForward):
    """A network in NumPy through which inputs go one by one."""

    def logits(self, X) -> np.ndarray:
        """Return the logits of every row."""
        return np.concatenate([FeedForward.logits(self, row) for row in np.split(X, max(len(X), 1))])

    def loss_gradient(self, X) -> np.ndarray:
        """Return the gradient of every row."""
        return np.concatenate([FeedForward.loss_gradient(self, row) for row in np.split(X, max(len(X), 1))])


def half_of_a_row(name: str, method: str, n: int) -> int:
    """Return how many discriminatory inputs one method finds of one benchmark: half of a row of table 4."""
    from fairlab.papers.adf import trials
    from fairlab.seeds import Trial

    subject, _ = stored_subject(name)
    shared = {"name": name, "weights": subject.weights, "n_seeds": n, "n_local": n, "reading": "as_published"}
    if method == "adf":
        return trials.searched_by_adf(Trial("adf", 0), X=subject.X, **shared)["n_discriminatory"]
    [run] = trials.runs_of_aequitas(Trial("adf", 0), n_runs=1, in_flight=32, **shared)
    return run["n_discriminatory"]


def find(adf, seeds, n_wanted: int) -> int:
    """Return how many distinct discriminatory inputs a search finds, ended when they are enough."""
    return adf.local_search(adf.global_search(seeds), max_found=n_wanted).n_discriminatory


def find_seed_by_seed(adf, seeds, n_wanted: int) -> int:
    """Return the same for a search that goes through both phases with one seed before it takes the next."""
    columns, found = adf.schema.positions(adf.sensitive_features), set()
    for seed in seeds:
        result = adf.local_search(adf.global_search(seed[None]), max_found=n_wanted - len(found))
        found.update(map(tuple, np.delete(result.discriminatory, columns, axis=1)))
        if len(found) >= n_wanted:
            break
    return len(found)


def full_search(name: str, n_seeds: int, n_local: int) -> float:
    """Return the seconds of both phases."""
    subject, seeds = stored_subject(name)
    adf = search(subject.network, name, n_local=n_local)
    start = time.perf_counter()
    adf.local_search(adf.global_search(seeds[:n_seeds]))
    return time.perf_counter() - start
