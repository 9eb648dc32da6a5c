"""Independent trials: cached one by one, in parallel, resumable.

A trial's result is written the moment it is there, under a key made of the experiment, the user's seed, the parameters,
the data and the code. A run that was killed finds all but the trials in flight when it is started again.
"""

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import joblib
from tqdm.auto import tqdm

from fairlab.paths import atomic_path
from fairlab.seeds import Trial
from fairlab.suite.fingerprint import code_fingerprint, value_fingerprint

# Parallel trials share the cores, so each gets one thread of every numerical library; and TensorFlow keeps its chatter
# about the processor to itself, and the order of its sums the same on every processor.
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}


def trial_key(function: Callable, experiment: str, seed: int, parameters: dict) -> str:
    """Return the key of all trials of one call: what they depend on besides their number."""
    values = "".join(f"{name}={value_fingerprint(value)}\n" for name, value in sorted(parameters.items()))
    text = f"{experiment}\n{seed}\n{function.__name__}\n{values}{code_fingerprint(function)}"
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def run_trials(
    function: Callable,
    trials: Sequence[Trial],
    parameters: dict,
    *,
    cache: Path,
    n_jobs: int = 1,
    batch: int | None = None,
    progress: bool = True,
) -> tuple[list, float]:
    """Return ``function(trial, **parameters)`` for every trial, computing only what `cache` does not hold.

    Parameters
    ----------
    function : callable
        Takes one `Trial`, or with `batch` a list of them (and then returns as many results).
    trials : sequence of Trial
    parameters : dict
        Keyword arguments of `function`, the same for every trial.
    cache : Path
        Folder of the results, one file per trial.
    n_jobs : int
        Worker processes; 1 computes in this process.
    batch : int or None
        Most trials that one call may take.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    results : list
        One per trial, in their order.
    saved : float
        Seconds that the trials found in `cache` once took, summed over them.

    Raises
    ------
    ValueError
        If a batched function returns another number of results than it was given trials.
    """
    files = {trial: cache / f"{trial.index}.pickle" for trial in trials}
    missing = [trial for trial in trials if not _readable(files[trial])]
    pieces = _pieces(missing, n_jobs, batch)
    tasks = (
        joblib.delayed(_compute)(function, parameters, piece, [files[trial] for trial in piece], batch)
        for piece in pieces
    )
    n_jobs = max(1, min(n_jobs, len(pieces)))
    with (
        _worker_environment(n_jobs),
        joblib.parallel_config("loky" if n_jobs > 1 else "sequential", n_jobs=n_jobs),
    ):
        done = joblib.Parallel(return_as="generator_unordered")(tasks)
        with tqdm(total=len(trials), initial=len(trials) - len(missing), unit="trial", disable=not progress) as bar:
            for count in done:
                bar.update(count)
    results, seconds = zip(*(_load(files[trial]) for trial in trials), strict=True)
    return list(results), sum(took for trial, took in zip(trials, seconds, strict=True) if trial not in missing)


def _pieces(missing, n_jobs, batch):
    if batch is None:
        return [[trial] for trial in missing]
    size = max(1, min(batch, -(-len(missing) // n_jobs)))
    return [missing[start : start + size] for start in range(0, len(missing), size)]


def _compute(function, parameters, trials, files, batch) -> int:
    """Compute one piece of work, write its results and their seconds at once, and return their number."""
    started = time.perf_counter()
    if batch is None:
        results = [function(trials[0], **parameters)]
    else:
        results = list(function(trials, **parameters))
        if len(results) != len(trials):
            raise ValueError(f"{function.__name__} returned {len(results)} results for {len(trials)} trials")
    seconds = (time.perf_counter() - started) / len(trials)
    for result, file in zip(results, files, strict=True):
        with atomic_path(file) as temporary:
            temporary.write_bytes(cloudpickle.dumps((result, seconds)))
    return len(trials)


def _readable(file) -> bool:
    if not file.exists():
        return False
    try:
        _load(file)
    except Exception:  # a pickle can fail in any way; whatever cannot be read is computed again
        return False
    return True


def _load(file):
    return pickle.loads(file.read_bytes())


@contextmanager
def _worker_environment(n_jobs):
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    if n_jobs > 1:
        os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
