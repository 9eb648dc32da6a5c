"""Themis: tests per second, the searches of figure 3, growth with the characteristics, a process for each test."""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from threadpoolctl import threadpool_limits

from fairlab.benchmarks import Measurement, benchmark, in_fresh_process, measure, speed_up

GB = 1e9
N_TESTS = 2_000_000
MAX_SAMPLES = 50  # for each group, as in Themis 1.0
ALL_VALUES = 1_000  # more than any characteristic has
RED_MEN = """
import sys
print(int(sys.argv[1:3] == ["Male", "Red"]))
"""


@benchmark
def themis(*, quick: bool) -> list[Measurement]:
    """Themis: tests per second, the full searches of figure 3, growth, a process for each test."""
    return [*throughput(quick), *figure_3(quick), *growth(quick), *process_per_test(quick)]


def throughput(quick: bool) -> list[Measurement]:
    """Return how many tests a second system G on Census can be given, drawing and remembering inputs included."""
    from fairlab.themis import Themis

    instance, decide = system_g()
    n_samples = (10_000 if quick else N_TESTS) // 10

    def score():
        sizes = {"min_samples": n_samples - 1, "max_samples": n_samples}
        return Themis(decide, instance.schema, variant="published", **sizes).group_score(["race", "sex"])

    seconds, tests = measure(score), score().tests
    return [Measurement("themis_tests_per_second", tests / seconds, "tests/s", note=f"{tests:,} tests of G on Census")]


def figure_3(quick: bool) -> list[Measurement]:
    """Return what the unpruned searches of all twenty instances take, from which all pruned ones follow."""
    from fairlab.papers.themis.instances import INSTANCES

    n_instances, max_values = (2, 4) if quick else (len(INSTANCES), ALL_VALUES)
    workers = min(os.cpu_count() or 1, n_instances)
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        work = [pool.submit(in_fresh_process, search_seconds, k, max_values) for k in range(n_instances)]
        peaks = sorted((done.result()[1] for done in work), reverse=True)
    seconds = time.perf_counter() - start
    note = f"{n_instances} instances, both measures, {workers} processes at a time, training included"
    return [
        Measurement("themis_figure_3_seconds", seconds, "s", note=note),
        Measurement(
            "themis_figure_3_peak_gb", sum(peaks[:workers]) / GB, "GB", note=f"of the {workers} largest processes"
        ),
    ]


def growth(quick: bool) -> list[Measurement]:
    """Return the seconds of an unpruned search of system G by the number of characteristics, small ones first."""
    from fairlab.themis import Themis

    instance, decide = system_g()
    names = ["sex", "race", "relationship", "marital-status", "age", "native-country"][: 3 if quick else 6]
    rows = []

    def search(characteristics):
        themis = Themis(decide, instance.schema, variant="published", max_samples=MAX_SAMPLES)
        return themis.search(0.75, measure="both", sensitive_features=characteristics, prune=False)

    for n in range(2, len(names) + 1):
        with threadpool_limits(1):  # as trials have it
            tests = search(names[:n]).tests
            seconds = measure(partial(search, names[:n]))
        note = f"G on Census, {', '.join(names[:n])}: {tests:,} tests, one thread"
        rows.append(Measurement(f"themis_search_{n}_characteristics_seconds", seconds, "s", note=note))
    return rows


def process_per_test(quick: bool) -> list[Measurement]:
    """Return how much faster a search of a small schema is if tests need no process each."""
    from fairlab.cases import Schema
    from fairlab.models import CommandSoftware

    shades = range(2 if quick else 40)
    schema = Schema.from_dict({"sex": ["Male", "Female"], "race": ["Red", "Green", "Blue"], "shade": shades})
    with TemporaryDirectory() as folder:
        program = Path(folder) / "red_men.py"
        program.write_text(RED_MEN, encoding="utf-8")
        command = CommandSoftware([sys.executable, "-S", str(program)], timeout=60)
        slow = measure(lambda: search_all(command, schema), repeats=1)
    fast = measure(lambda: search_all(red_men, schema))
    runs = search_all(red_men, schema).model_runs
    note = f"the same search, {runs} distinct inputs, {command.n_jobs} processes at a time"
    return [
        Measurement("themis_process_seconds_per_test", slow / runs, "s", note=note),
        speed_up("themis_vectorised_vs_process_per_test", baseline=slow, ours=fast, note=note),
    ]


def red_men(inputs):
    """Decide as the program does, for all inputs at once."""
    return (inputs["sex"] == "Male") & (inputs["race"] == "Red")


def search_all(model: Callable, schema):
    """Search all sets by both measures, without pruning."""
    from fairlab.themis import Themis

    return Themis(model, schema, variant="published").search(0.75, measure="both", prune=False)


def system_g():
    """Return system G's instance on Census and its decisions, with every characteristic that it is tested by."""
    from fairlab.data import load
    from fairlab.papers.themis.instances import INSTANCES
    from fairlab.papers.themis.systems import VARIANTS, train

    [instance] = [instance for instance in INSTANCES if instance.id == "g.census.unaware"]
    return instance, train(instance, load(VARIANTS["census"]))


def search_seconds(k: int, max_values: int) -> float:
    """Return the seconds of the unpruned search of instance number `k`, as published."""
    from fairlab.data import load
    from fairlab.papers.themis.systems import VARIANTS
    from fairlab.papers.themis.trials import search_all_sets
    from fairlab.seeds import Trial

    people = {data: load(variant) for data, variant in VARIANTS.items()}
    start = time.perf_counter()
    options = {"max_values": max_values, "max_samples": MAX_SAMPLES}
    search_all_sets(Trial("benchmark", k), people=people, reading="as_published", **options)
    return time.perf_counter() - start
