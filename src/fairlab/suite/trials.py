"""Independent trials: cached one by one, computed in parallel, resumable.

A trial is a function of a `fairlab.suite.seeds.Trial`. Its result is written immediately, to a file that has a checksum
of its key and content, under a key of the function's code, seeds, parameters and the content of its data. After a kill,
only the trials that were running are computed again.
"""

import hashlib
import inspect
import io
import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path

import cloudpickle
import numpy as np
from joblib.externals.loky import BrokenProcessPool, get_reusable_executor
from tqdm import tqdm

from fairlab.paths import atomic_path
from fairlab.suite.fingerprint import value_fingerprint
from fairlab.suite.processes import WORKER_ENVIRONMENT, end_with_parent
from fairlab.suite.seeds import Trial

# Libraries read these when they are loaded: what a process was started with counts, not what it set since.
_IS_WORKER = all(os.environ.get(name) == value for name, value in WORKER_ENVIRONMENT.items())
SECONDS_ALONE = 10.0  # of a process on some trials, or of its waiting, before it starts workers: each takes several
WORKER_IDLE_SECONDS = 60
KEY_LENGTH = 24
DIGEST_BYTES = 32
MOST_TRIES = 2  # of a trial whose worker dies


class _Pickler(pickle.Pickler):
    """Pickle in which scalars of NumPy are Python's: a mean has double precision, whatever that of the trials was."""

    def reducer_override(self, value):
        plain = value.item() if isinstance(value, np.generic) else value
        return (type(plain), (plain,)) if type(plain) in (bool, int, float, str) else NotImplemented


def write(file: Path, result, seconds: float) -> None:
    """Cache the result of a trial, and the seconds of one core that it took; the file is named by its key."""
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump((result, seconds))
    with atomic_path(file) as temporary:
        temporary.write_bytes(_digest(file, content.getvalue()) + content.getvalue())


def read(file: Path) -> tuple[object, float]:
    """Return the result of a trial and its seconds.

    Raises
    ------
    FileNotFoundError
    ValueError
        If the checksum does not match, as after a flipped bit, a truncation or a renaming.
    """
    whole = file.read_bytes()
    content = whole[DIGEST_BYTES:]
    if whole[:DIGEST_BYTES] != _digest(file, content):
        raise ValueError(f"{file} does not match its checksum")
    return pickle.loads(content)


def _digest(file, content) -> bytes:
    return hashlib.sha256(file.stem.encode() + content).digest()


def trial_keys(
    function: Callable, trials: Sequence[Trial], parameters: Mapping, each: Mapping[str, Sequence] | None = None
) -> list[str]:
    """Return the cache key of every trial, including its own values of `each`."""
    if not inspect.isfunction(function):
        raise TypeError(f"function: expected a function, found {type(function).__name__}")
    values = "".join(f"{name}={value_fingerprint(value)}\n" for name, value in sorted(parameters.items()))
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
) -> tuple[list, dict[str, float]]:
    """Return ``function(trial, **parameters)`` for every trial, computing only what `cache` does not hold.

    Parameters
    ----------
    function : callable
        Takes one `Trial`, or with `batch` a list of them (and then returns as many results). A result is what `pickle`
        takes: numbers, text, arrays and tables, in dictionaries, lists and tuples.
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
    seconds : dict of str to float
        Core-seconds that each of these trials took when it was computed, now or in an earlier run, by its key.

    Raises
    ------
    TypeError
        If `function` is no function, or returns something that cannot be pickled.
    ValueError
        If a batched function returns another number of results than it was given trials, or a column of `each` has
        another length.
    RuntimeError
        If a worker is killed during a trial, and so is the one that tries again.
    """
    each = dict(each or {})
    for name, column in each.items():
        if len(column) != len(trials):
            raise ValueError(f"{name}: expected one value for each of {len(trials)} trials, found {len(column)}")
    keys = trial_keys(function, trials, parameters, each)
    files = [cache / f"{key}.trial" for key in keys]
    found = _found(files, function.__name__)
    missing = [k for k in range(len(trials)) if k not in found]
    size = 1 if batch is None else max(1, min(batch, -(-len(missing) // n_jobs)))
    tasks = []
    for start in range(0, len(missing), size):
        piece = missing[start : start + size]
        own = {name: [column[k] for k in piece] for name, column in each.items()}
        tasks.append(([trials[k] for k in piece], own, [files[k] for k in piece], batch is not None))
    with tqdm(total=len(trials), initial=len(found), unit="trial", disable=not progress, leave=False) as bar:
        for count in _compute_all(partial(function, **parameters), tasks, max(1, min(n_jobs, len(tasks)))):
            bar.update(count)
    every = found | {k: read(files[k]) for k in missing}
    return [every[k][0] for k in range(len(trials))], {key: every[k][1] for k, key in enumerate(keys)}


def _found(files, name) -> dict[int, tuple[object, float]]:
    """Return the cached results of trials by number; corrupted ones are reported and left out."""
    found, n_damaged = {}, 0
    for k, file in enumerate(files):
        try:
            found[k] = read(file)
        except FileNotFoundError:
            continue
        except Exception:  # of a checksum, of a disk, of a class that is gone: what cannot be read is computed again
            file.unlink(missing_ok=True)  # another process may do the same
            n_damaged += 1
    if n_damaged:
        print(
            f"{n_damaged} of {len(files)} cached trials of {name} cannot be read and are computed again",
            file=sys.stderr,
        )
    return found


def _compute_all(call, tasks, n_jobs):
    """Yield the number of trials of every task as it ends.

    A process that was started as workers are computes by itself; with several jobs, for `SECONDS_ALONE`.
    """
    if _IS_WORKER:
        seconds, started = math.inf if n_jobs == 1 else SECONDS_ALONE, (core_seconds(), time.monotonic())
        while tasks and max(core_seconds() - started[0], time.monotonic() - started[1]) < seconds:
            yield _compute(call, *tasks[0])
            tasks = tasks[1:]
        n_jobs = min(n_jobs, len(tasks))
    if not tasks:
        return
    options = {
        "env": WORKER_ENVIRONMENT,
        "timeout": WORKER_IDLE_SECONDS,
        "initializer": end_with_parent,
        "initargs": (os.getpid(),),
    }
    packed = cloudpickle.dumps(call)  # once, however many tasks there are
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
            tries += 1  # a worker died; loky does not say which task it ran, and stops the rest
            if tries == MOST_TRIES:
                raise RuntimeError(
                    "a worker died twice during a trial (out of memory, or killed from outside)"
                ) from error


def _compute_packed(packed, task) -> int:
    return _compute(pickle.loads(packed), *pickle.loads(task))


def _compute(call, trials, each, files, is_batched) -> int:
    """Compute one piece of work, write its results and their core-seconds at once, and return their number."""
    if all(file.exists() for file in files):  # by another process, or before a worker died
        return len(trials)
    started = core_seconds()
    if is_batched:
        results = list(call(trials, **each))
        if len(results) != len(trials):
            raise ValueError(f"{call.func.__name__} returned {len(results)} results for {len(trials)} trials")
    else:
        results = [call(trials[0], **{name: values[0] for name, values in each.items()})]
    seconds = (core_seconds() - started) / len(trials)
    for result, file in zip(results, files, strict=True):
        try:
            write(file, result, seconds)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{call.func.__name__} returned what cannot be cached ({error}); "
                "a trial returns numbers, text, arrays and tables"
            ) from None
    return len(trials)


def core_seconds() -> float:
    """Return the processor time of this process and of its ended children, in seconds of one core."""
    return sum(os.times()[:4])
