"""Benchmarks: speed and memory of the project on this machine.

A benchmark is a function ``f(*, quick)`` in a module of this package, marked with `benchmark`, that returns or yields
`Measurement`.
A row whose name has ``_vs_`` in it is a speed-up: seconds of the baseline over our seconds, larger is better. Its note
names the baseline and the task; the goals are in ``docs/benchmarks.md``.
"""

import json
import multiprocessing
import pkgutil
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import distributions, version
from pathlib import Path

import joblib

from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite.run import peak_memory_gb

GB = 1e9
PACKAGES = (
    *("fairlab", "numpy", "scipy", "pandas", "scikit-learn", "tensorflow-cpu", "tensorflow", "keras"),
    *("pot", "pulp", "highspy", "fairlearn", "lime", "z3-solver", "sliceline", "divexplorer", "duckdb", "numba"),
)
_REGISTRY: dict[str, Callable] = {}


@dataclass(frozen=True)
class Measurement:
    """One measured quantity.

    Attributes
    ----------
    name : str
    value : float or None
        None if it could not be measured; the note has the reason.
    unit : str
    baseline, ours : float or None
        For a speed-up: seconds of both sides.
    note : str
        How it was measured.
    """

    name: str
    value: float | None
    unit: str
    baseline: float | None = None
    ours: float | None = None
    note: str = ""


def speed_up(name: str, *, baseline: float, ours: float, note: str = "") -> Measurement:
    """Return the row of a ratio of two times, both in seconds for the same work."""
    return Measurement(name, baseline / ours, "times as fast", baseline, ours, note)


def missing(name: str, unit: str, why: str) -> Measurement:
    """Return the row of a quantity that could not be measured."""
    return Measurement(name, None, unit, note=why)


def benchmark(function: Callable) -> Callable:
    """Register a benchmark under the function's name."""
    _REGISTRY[function.__name__] = function
    return function


def discover() -> dict[str, Callable]:
    """Import every module of this package and return the benchmarks by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "__main__":
            import_module(f"{__name__}.{module.name}")
    return dict(sorted(_REGISTRY.items()))


def measure(work: Callable[[], object], *, repeats: int = 3) -> float:
    """Return the median of the seconds that `work` takes, after `repeats` runs."""
    return statistics.median(timed(work)[0] for _ in range(repeats))


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Return the seconds of one run of `work`, and its result."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def in_fresh_process(work: Callable, *arguments):
    """Return ``work(*arguments)`` and the peak memory, in bytes, of a new process that did nothing else."""
    with processes(1) as pool:
        return pool.submit(_with_peak, work, arguments).result()


def processes(n: int) -> ProcessPoolExecutor:
    """Return a pool of `n` processes whose peak memory does not include that of this process."""
    # On Linux, a program inherits the peak memory of the process that executes it, so a spawned process would begin
    # with ours; one forked from the small fork server does not.
    return ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("forkserver"))


def _with_peak(work, arguments):
    answer = work(*arguments)
    # Its work starts no workers; a child that only counts cores shares the memory of its parent.
    return answer, peak_memory_gb(children=False) * GB


def machine() -> dict:
    """Return the facts that a time depends on: cores, processor, system, versions."""
    return {
        "cores": joblib.cpu_count(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES if list(distributions(name=name))},
    }


def _processor():
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def run(
    names: list[str] | None = None,
    *,
    quick: bool = False,
    rows: int | None = None,
    show: Callable[[Measurement], object] = lambda row: None,
) -> tuple[list[Measurement], dict[str, str]]:
    """Run the named benchmarks, or all, and write ``benchmarks.json`` into the results folder.

    One that fails does not end the others.

    Parameters
    ----------
    names : list of str, optional
    quick : bool
        Whether to use sizes that take seconds; good for trying a benchmark, not for reading its numbers.
    rows : int, optional
        Number of rows for benchmarks that have a size; None for their default.
    show : callable
        Called with each row when it is measured.

    Returns
    -------
    rows : list of Measurement
    failed : dict of str to str
        What went wrong, by benchmark.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    known = discover()
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise ValueError(f"unknown benchmarks: {', '.join(unknown)}; there are {', '.join(known)}")
    measured, failed, seconds = [], {}, {}
    for name in names or known:
        start = time.perf_counter()
        try:
            for row in known[name](quick=quick, **({} if rows is None else {"rows": rows})):
                measured.append(row)
                show(row)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
            show(missing(name, "", f"failed: {failed[name]}"))
        seconds[name] = time.perf_counter() - start
        report = {"quick": quick, "machine": machine(), "benchmarks": [asdict(row) for row in measured]}
        report |= {"failed": failed, "seconds": seconds}
        write_text(project().results / "benchmarks.json", json.dumps(report, indent=2) + "\n")
    return measured, failed
