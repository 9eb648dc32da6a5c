"""ADF: batches against one input at a time, and table 4's full budget."""

from dataclasses import replace
from functools import partial

import joblib
import numpy as np

from fairlab.adf import ADF, Aequitas
from fairlab.benchmarks import Measurement, benchmark, measure, processes, speed_up, timed
from fairlab.data import load
from fairlab.networks import Network
from fairlab.papers.adf.benchmarks import BENCHMARKS, subject_under_test

SMALLEST = ["credit.gender"]  # the benchmark of quick runs


@benchmark
def adf_vs_one_at_a_time(*, quick: bool) -> list[Measurement]:
    """Time to so many discriminatory inputs in batches and one row per call, the smallest of the six benchmarks.

    Like the baseline, the authors' program calls compiled code with one row at a time.
    """
    n_wanted, names = (5, SMALLEST) if quick else (300, [*BENCHMARKS])
    note = f"{n_wanted} discriminatory inputs, same seeds, weights, search; one row per call of compiled code"
    rows = []
    for name in names:
        subject, seeds = stored_subject(name)
        batches, single = search(subject.network, name), search(OneAtATime(dense_network(subject.weights)), name)
        find_seed_by_seed(single, seeds[:1], 1)
        ours = measure(partial(find, batches, seeds, n_wanted))
        baseline = measure(partial(find_seed_by_seed, single, seeds, n_wanted), repeats=1)
        rows.append(speed_up(f"adf_vs_one_at_a_time_{name}", baseline=baseline, ours=ours, note=note))
    least = min(rows, key=lambda row: row.value)
    return [*rows, replace(least, name="adf_vs_one_at_a_time", note=f"{least.name}, the smallest: {note}")]


@benchmark
def adf_table_4(*, quick: bool) -> list[Measurement]:
    """Seconds of table 4 at its size: ADF and Aequitas on six benchmarks, from the data to the counts, on all cores."""
    n, names = (10, SMALLEST) if quick else (1000, [*BENCHMARKS])
    jobs = [(name, method, n) for method in ("adf", "aequitas") for name in names]
    with processes(joblib.cpu_count()) as pool:
        seconds, n_found = timed(lambda: sum(pool.map(half_of_a_row, *zip(*jobs, strict=True))))
    note = (
        f"{n} seeds (credit at most 600) of {n} local steps; {n_found} discriminatory inputs; starts of processes too"
    )
    return [Measurement("adf_table_4_seconds", seconds, "s", note=note)]


def stored_subject(name: str):
    """Return the data and the network of a benchmark, and its seeds."""
    benchmark = BENCHMARKS[name]
    subject = subject_under_test(benchmark.subject, load(f"{benchmark.subject}-adf"))
    seeds = ADF(subject.network, benchmark.schema, benchmark.sensitive_features).seeds(subject.X, benchmark.n_seeds)
    return subject, seeds


def search(network, name: str, **options):
    """Return the search of a benchmark."""
    benchmark = BENCHMARKS[name]
    return ADF(network, benchmark.schema, benchmark.sensitive_features, variant="published", random_state=0, **options)


def dense_network(weights):
    """Return a Keras model with a `FeedForward`'s weights, as in the authors' code."""
    import keras

    widths = [bias.size for bias in weights[1::2]]
    activations = ["relu"] * (len(widths) - 1) + ["softmax"]
    # With Keras' automatic names, two networks of one shape would look like two architectures to `Network`.
    layers = [
        keras.layers.Dense(width, activation=activation, name=f"layer_{k}")
        for k, (width, activation) in enumerate(zip(widths, activations, strict=True))
    ]
    model = keras.Sequential([keras.Input((weights[0].shape[0],), name="attributes"), *layers], name="dense_network")
    model.set_weights(weights)
    return model


class OneAtATime(Network):
    """A network that processes inputs one by one."""

    def _answer(self, X, slope=None, label=0):
        answers = [super(OneAtATime, self)._answer(row, slope, label) for row in np.split(X, max(len(X), 1))]
        return tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))


def half_of_a_row(name: str, method: str, n: int) -> int:
    """Return how many discriminatory inputs one method finds of one benchmark: half of a row of table 4."""
    (subject, _), benchmark = stored_subject(name), BENCHMARKS[name]
    n_seeds = min(n, benchmark.n_seeds)
    if method == "adf":
        return search(subject.network, name, n_local=n).generate(subject.X, n_seeds=n_seeds).n_discriminatory
    its = {"n_local": n, "variant": "published", "random_state": 0}
    aequitas = Aequitas(subject.network, benchmark.schema, benchmark.sensitive_features, **its)
    return aequitas.generate(n_samples=n_seeds).n_discriminatory


def find(adf, seeds, n_wanted: int) -> int:
    """Return how many distinct discriminatory inputs a search finds, stopping at `n_wanted`."""
    return adf.local_search(adf.global_search(seeds), max_found=n_wanted).n_discriminatory


def find_seed_by_seed(adf, seeds, n_wanted: int) -> int:
    """Return the same for a search that completes both phases for one seed before it takes the next."""
    columns, found = adf.schema.positions(adf.sensitive_features), set()
    for seed in seeds:
        result = adf.local_search(adf.global_search(seed[None]), max_found=n_wanted - len(found))
        found.update(map(tuple, np.delete(result.discriminatory, columns, axis=1)))
        if len(found) >= n_wanted:
            break
    return len(found)
