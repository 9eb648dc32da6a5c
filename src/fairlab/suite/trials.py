"""Independent trials: cached one by one, computed in parallel, resumable.

A trial is a library function of a `fairlab.seeds.Trial` that returns plain data. Its result is written immediately (see
`fairlab.suite.cache`), under a key of the function's name, seeds, parameters, content of its data, and code. After a
kill, only the trials that were running are computed again.
"""

import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path

import cloudpickle
from joblib.externals.loky import BrokenProcessPool, get_reusable_executor
from tqdm import tqdm

from fairlab.seeds import Trial
from fairlab.suite import cache as kept
from fairlab.suite.fingerprint import value_fingerprint
from fairlab.suite.processes import WORKER_ENVIRONMENT, end_with_parent

# Libraries read these when they are loaded: what a process was started with counts, not what it set since.
_IS_WORKER = all(os.environ.get(name) == value for name, value in WORKER_ENVIRONMENT.items())
WORKER_IDLE_SECONDS = 60
KEY_LENGTH = 24
MOST_TRIES = 2  # of a trial whose worker dies


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of a trial, and so did the one that tried again."""


def trial_keys(
    function: Callable, trials: Sequence[Trial], parameters: Mapping, each: Mapping[str, Sequence] | None = None
) -> list[str]:
    """Return the cache key of every trial, including its own values of `each`."""
    values = "".join(f"{name}={value_fingerprint(value)}\n" for name, value in sorted(parameters.items()))
    if not inspect.isfunction(function):
        raise TypeError(f"function: expected a function, found {type(function).__name__}")
    shared = f"{value_fingerprint(function)}\n{function.__name__}\n{values}"
    keys = []
    for k, trial in enumerate(trials):
        own = "".join(f"{name}={value_fingerprint(column[k])}\n" for name, column in sorted((each or {}).items()))
        text = f"{shared}\n{trial.name}\n{trial.root}\n{trial.index}\n{own}"
        keys.append(hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH])
    return keys


def run_trials(
    function: Callable,
    trials: Sequence[Trial],
    parameters: Mapping,
    *,
    cache: Path,
    each: Mapping[str, Sequence] | None = None,
    n_jobs: int = 1,
    batch: int | None = None,
    progress: bool = True,
) -> tuple[list, float]:
    """Return ``function(trial, **parameters)`` for every trial, computing only what `cache` does not hold.

    Parameters
    ----------
    function : callable
        Takes one `Trial`, or with `batch` a list of them (and then returns as many results). Returns plain data:
        numbers, text, arrays and tables, in dictionaries, lists and tuples.
    trials : sequence of Trial
    parameters : mapping
        Keyword arguments of `function`, the same for every trial.
    cache : Path
        Folder of the results, one file per trial.
    each : mapping of str to sequence, optional
        Further keyword arguments with one value per trial, such as the results of other trials; with `batch` the
        function gets a list of them.
    n_jobs : int
        Worker processes.
    batch : int or None
        Most trials that one call may take.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    results : list
        One per trial, in their order.
    elsewhere : float
        Core-seconds of the trials that other processes computed: workers, or earlier runs whose results are in `cache`.

    Raises
    ------
    TypeError
        If `function` is not one at the top of a module, or returns something that is not plain data.
    ValueError
        If a batched function returns another number of results than it was given trials, or a column of `each` has
        another length.
    WorkerDiedError
        If a worker is killed during a trial, and so is the one that tries again.
    """
    each = dict(each or {})
    for name, column in each.items():
        if len(column) != len(trials):
            raise ValueError(f"{name}: expected one value for each of {len(trials)} trials, found {len(column)}")
    files = [cache / f"{key}{kept.SUFFIX}" for key in trial_keys(function, trials, parameters, each)]
    found = _found(files, function.__name__)
    missing = [k for k in range(len(trials)) if k not in found]
    metadata = {"function": f"{function.__module__}:{function.__qualname__}"}

    def task(piece):
        own = {name: [column[k] for k in piece] for name, column in each.items()}
        return function, [trials[k] for k in piece], own, [files[k] for k in piece], batch, metadata

    with tqdm(total=len(trials), initial=len(found), unit="trial", disable=not progress) as bar:
        tasks = [task(piece) for piece in _pieces(missing, n_jobs, batch)]
        n_workers = max(1, min(n_jobs, len(tasks)))
        for count in _compute_all(tasks, dict(parameters), n_workers):
            bar.update(count)
    every = found | {k: kept.read(files[k]) for k in missing}
    elsewhere = found if _is_here(n_workers) else every
    return [every[k][0] for k in range(len(trials))], sum(metadata["seconds"] for _, metadata in elsewhere.values())


def _found(files, name) -> dict[int, tuple[object, dict]]:
    """Return the cached results of trials by number; corrupted ones are reported and left out."""
    found, n_damaged = {}, 0
    for k, file in enumerate(files):
        try:
            found[k] = kept.read(file)
        except FileNotFoundError:
            continue
        except Exception:  # of a checksum, of a disk, of a format: whatever cannot be read is computed again
            file.unlink()
            n_damaged += 1
    if n_damaged:
        print(
            f"{n_damaged} of {len(files)} cached trials of {name} cannot be read and are computed again",
            file=sys.stderr,
        )
    return found


def _pieces(missing, n_jobs, batch) -> list[list[int]]:
    """Divide the trials to compute into the tasks of the workers."""
    size = 1 if batch is None else max(1, min(batch, -(-len(missing) // n_jobs)))
    return [missing[start : start + size] for start in range(0, len(missing), size)]


def _is_here(n_workers) -> bool:
    """Whether trials are computed in this process: by one worker, as which it was started."""
    return n_workers == 1 and _IS_WORKER


def _compute_all(tasks, parameters, n_jobs):
    """Yield the number of trials of every task as it ends."""
    if _is_here(n_jobs):
        for task in tasks:
            yield _compute(parameters, *task)
        return
    options = {
        "env": WORKER_ENVIRONMENT,
        "timeout": WORKER_IDLE_SECONDS,
        "initializer": end_with_parent,
        "initargs": (os.getpid(),),
    }
    packed = cloudpickle.dumps(parameters)  # once, however many tasks there are
    left, tries = dict(enumerate(map(cloudpickle.dumps, tasks))), 0
    while left:
        executor, futures = get_reusable_executor(max_workers=n_jobs, **options), {}
        try:
            for number, task in left.items():
                futures[executor.submit(_compute_packed, packed, task)] = number
            for future in as_completed(futures):
                count = future.result()
                del left[futures[future]]
                tries = 0
                yield count
        except BaseException as error:
            executor.shutdown(kill_workers=True)
            if not isinstance(error, BrokenProcessPool):
                raise
            tries += 1  # a worker died, nobody knows of which task, and loky ends the others
            if tries == MOST_TRIES:
                raise WorkerDiedError(
                    "a worker died twice during a trial (out of memory, or killed from outside)"
                ) from error


def core_seconds() -> float:
    """Return the processor time of this process and of its ended children, in seconds of one core."""
    return sum(os.times()[:4])


def _compute_packed(packed, task) -> int:
    return _compute(pickle.loads(packed), *pickle.loads(task))


def _compute(parameters, function, trials, each, files, batch, metadata) -> int:
    """Compute one piece of work, write its results and their core-seconds at once, and return their number."""
    if all(file.exists() for file in files):  # by another process, or before a worker died
        return len(trials)
    started = core_seconds()
    if batch is None:
        results = [function(trials[0], **parameters, **{name: values[0] for name, values in each.items()})]
    else:
        results = list(function(trials, **parameters, **each))
        if len(results) != len(trials):
            raise ValueError(f"{function.__name__} returned {len(results)} results for {len(trials)} trials")
    metadata |= {"seconds": (core_seconds() - started) / len(trials)}
    for result, file in zip(results, files, strict=True):
        try:
            kept.write(file, result, metadata)
        except TypeError as odd:
            raise TypeError(
                f"{function.__name__} returned {odd}; a trial returns numbers, text, arrays and tables"
            ) from None
    return len(trials)
