"""Strict papermill: run one notebook in batch, and keep its result only if everything succeeded.

Papermill by itself only warns about unknown parameters, uses the kernel of the notebook's metadata, treats an early
exit as success and hardly reports a killed kernel. Here each of these is an error.
"""

import ast
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from fairlab.checks import optional, required
from fairlab.paths import ROOT, write_text
from fairlab.suite import run as runs
from fairlab.suite.artefacts import missing_artefacts
from fairlab.suite.catalogue import DEFAULT_PROFILE, Specification
from fairlab.suite.experiment import JOBS_VARIABLE, STAGING_VARIABLE
from fairlab.suite.forks import WORKER_ENVIRONMENT, variables
from fairlab.suite.pool import LOG_VARIABLE
from fairlab.suite.staging import cleanup, expect_writable, temporary_folder
from fairlab.suite.trials import SHARD_VARIABLE

nbclient, nbformat = optional("nbclient.exceptions"), optional("nbformat")
papermill = optional("papermill")

TIME_LIMIT_MINUTES = {"smoke": 10, "quick": 120, "paper": 48 * 60}
LOOK_SECONDS = 0.5  # between two checks of a kernel's memory and the time
KERNEL = "fairlab-batch"


class NotebookError(RuntimeError):
    """A notebook did not run to a complete result; the message says why."""


def run_experiment(
    specification: Specification,
    profile: str = DEFAULT_PROFILE,
    *,
    seed: int = runs.DEFAULT_SEED,
    n_jobs: int = 1,
    overrides: dict | None = None,
    time_limit: float | None = None,
    forked: bool = False,
) -> Path:
    """Run an experiment's notebook in batch and publish its result.

    Parameters
    ----------
    specification : Specification
    profile : str
    seed : int
    n_jobs : int
        Worker processes for trials.
    overrides : dict or None
        Parameters that replace the profile's; the result then goes to ``results/custom``.
    time_limit : float or None
        Minutes for the whole notebook; None takes the profile's.
    forked : bool
        Whether the kernel is a fork of this process; see `execute`.

    Returns
    -------
    Path
        The folder of the published run; of a job that computes a shard of the trials, nothing is published.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the profile, a parameter or the notebook's parameters cell is invalid.
    NotebookError
        If the notebook failed, stopped early, took too long, was killed, or did not write a declared table or figure.
        Nothing is published then; the reason and the executed notebook are stored beside the results.
    """
    overrides = overrides or {}
    specification.check_parameters(overrides)
    named = {"experiment": specification.name, "profile": profile, "seed": seed}
    parameters = named | specification.parameters(profile) | overrides
    known = notebook_parameters(specification.notebook)
    if "experiment" not in known:
        del parameters["experiment"]
    if set(known) != set(parameters):
        raise ValueError(
            f"{specification.notebook}: its parameters cell has {sorted(known)}, its experiment {sorted(parameters)}"
        )
    target = (
        runs.CUSTOM if specification.parameters(profile) != specification.parameters(profile) | overrides else profile
    )
    cleanup(temporary_folder(specification.name))  # raises at once if the results folder cannot be written
    expect_writable(*runs.places(specification.name, target, seed))
    staged = temporary_folder(specification.name)
    runs.failure_file(specification.name, target, seed).unlink(missing_ok=True)
    executed = staged / "notebook.ipynb"
    log = runs.log_file(specification.name, target, seed)
    log.parent.mkdir(parents=True, exist_ok=True)
    own = {STAGING_VARIABLE: str(staged), JOBS_VARIABLE: str(n_jobs), LOG_VARIABLE: str(log)}
    try:
        peak = execute(
            specification.notebook,
            executed,
            parameters,
            environment=own | WORKER_ENVIRONMENT,
            time_limit=time_limit or TIME_LIMIT_MINUTES[profile],
            forked=forked,
        )
        if not (staged / "run.json").exists():
            raise NotebookError("the notebook ended without calling compare(), so no run was written")
        if missing := missing_artefacts(staged):
            raise NotebookError(f"nothing was written for {', '.join(missing)}")
        _note_peak_memory(staged / "run.json", peak)
        if SHARD_VARIABLE in os.environ:  # the trials are what it was run for
            return staged
        return runs.publish(staged, specification.name, target, seed)
    except Exception as error:
        with suppress(OSError):  # a full disk must not hide the first error
            failure = runs.failure_file(specification.name, target, seed)
            write_text(failure, f"{error}\n")
            if executed.exists():
                shutil.copyfile(executed, failure.with_suffix(".ipynb"))
        raise
    finally:  # also of what was interrupted
        cleanup(staged)


def execute(
    notebook: Path,
    executed: Path,
    parameters: dict,
    *,
    environment: dict,
    time_limit: float,
    forked: bool = False,
) -> float:
    """Execute a notebook strictly with this interpreter and return the peak memory of its kernel in GB.

    Parameters
    ----------
    notebook, executed : Path
        Input, and where the executed notebook goes, also when it fails.
    parameters : dict
        Replace the values of the parameters cell; empty for a notebook without one.
    environment : dict
        Variables set for the kernel.
    time_limit : float
        Minutes for the whole notebook.
    forked : bool
        Whether the kernel is a fork of this process, which then must have no threads and the libraries loaded under
        the variables of `environment` that these read; else it is a new process.

    Raises
    ------
    NotebookError
        If a cell failed or did not run, the time limit passed, or the kernel was killed.
    """
    required("papermill")
    from fairlab.suite import kernel

    with ExitStack() as stack:
        stack.enter_context(_kernel_environment(environment, forked))
        watch = _Watch(time_limit)
        if forked:
            kernel.fork()  # before the watch is a thread
        stack.enter_context(watch)
        try:
            papermill.execute_notebook(
                notebook,
                executed,
                parameters=parameters,
                kernel_name=KERNEL,
                language="python",
                cwd=notebook.parent,
                progress_bar=False,
                request_save_on_cell_execute=False,  # the whole notebook is written at its end, also of a failed one
                autosave_cell_every=0,
            )
        except _failures() as error:
            raise NotebookError(_reason(error, watch, time_limit)) from error
        finally:
            with suppress(ValueError):  # a truncated notebook, as on a full disk; the writer reports it
                if executed.exists():
                    _tidy(executed)
    _check_all_cells_ran(executed)
    return watch.peak_gb


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors by which a notebook fails."""
    dead = nbclient.DeadKernelError, nbclient.CellTimeoutError
    return papermill.exceptions.PapermillExecutionError, *dead, RuntimeError


def _reason(error, watch, time_limit) -> str:
    if watch.expired:
        return f"stopped after the time limit of {time_limit:g} minutes"
    if isinstance(error, papermill.exceptions.PapermillExecutionError):
        return f"cell {error.exec_count} failed: {error.ename}: {error.evalue}"
    if isinstance(error, nbclient.DeadKernelError):
        return f"the kernel died, at a peak memory of {watch.peak_gb:.1f} GB (out of memory, or killed from outside)"
    return f"{type(error).__name__}: {error}"


def _check_all_cells_ran(executed):
    """Raise unless every code cell ran: an early `exit()` counts as a failure, whatever its status."""
    for number, cell in enumerate(nbformat.read(executed, as_version=4).cells):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        exits = [out for out in cell.outputs if out.output_type == "error"]
        if exits or cell.execution_count is None:
            raise NotebookError(f"the notebook ended early, at cell {number}: every cell must run")


class _Watch:
    """Watches the kernel from outside: its memory, and the time limit of the whole notebook."""

    def __init__(self, time_limit):
        self.deadline = time.monotonic() + 60 * time_limit
        self.peak_gb = 0.0
        self.expired = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._earlier = {child.pid for child in psutil.Process().children()}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(LOOK_SECONDS):
            kernels = [child for child in psutil.Process().children() if child.pid not in self._earlier]
            self.peak_gb = max(self.peak_gb, sum(map(_memory_gb, kernels)))
            if time.monotonic() > self.deadline and not self.expired:
                self.expired = True
                for kernel in kernels:
                    for process in [*_descendants(kernel), kernel]:
                        process.kill()


def _descendants(process):
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _memory_gb(kernel) -> float:
    total = 0
    for process in [kernel, *_descendants(kernel)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e9


@contextmanager
def _kernel_environment(environment, forked):
    """Offer a kernel that is this very interpreter, and set the variables of `environment`, for the time of a run."""
    from fairlab.suite import kernel

    with tempfile.TemporaryDirectory(prefix="fairlab-kernel-") as folder:
        place = Path(folder, "kernels", KERNEL)
        place.mkdir(parents=True)
        *command, file = kernel.COMMAND
        content = {"argv": [*command, str(os.getpid()), file], "display_name": KERNEL, "language": "python"}
        if forked:
            content["metadata"] = {"kernel_provisioner": {"provisioner_name": kernel.PROVISIONER}}
        (place / "kernel.json").write_text(json.dumps(content), encoding="utf-8")
        path = os.pathsep.join(filter(None, [folder, os.environ.get("JUPYTER_PATH")]))
        changed = environment | {"JUPYTER_PATH": path, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        with variables(changed):
            yield


def _tidy(executed):
    """Remove machine paths and run times from an executed notebook, so that it can be shared."""
    content = nbformat.read(executed, as_version=4)
    content.metadata.pop("papermill", None)
    content.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell in content.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    text = nbformat.writes(content)
    for path, name in ((ROOT, "."), (Path(sys.prefix), "<environment>"), (Path("~").expanduser(), "~")):
        if len(path.parts) > 1:  # a home of "/" is no name to look for
            text = re.sub(rf"{re.escape(str(path))}(?![\w.-])", name, text)
    write_text(executed, text)


def _note_peak_memory(file, peak):
    content = json.loads(file.read_text(encoding="utf-8"))
    write_text(file, json.dumps(content | {"peak_memory_gb": round(peak, 2)}, indent=1) + "\n")


def notebook_parameters(path: Path) -> dict:
    """Return names and default values of the cell tagged ``parameters`` of a notebook.

    Raises
    ------
    ValueError
        If not exactly one cell has the tag, or it holds anything but assignments of literals.
    """
    notebook = nbformat.read(path, as_version=4)
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        raise ValueError(f"{path}: expected one code cell tagged `parameters`, found {len(tagged)}")
    parameters = {}
    for statement in ast.parse(tagged[0].source).body:
        try:
            (target,) = statement.targets
            parameters[target.id] = ast.literal_eval(statement.value)
        except (AttributeError, ValueError, TypeError) as error:
            line = ast.unparse(statement)
            raise ValueError(f"{path}: the parameters cell may only assign literals, found `{line}`") from error
    return parameters


def code_of(notebook: Path) -> str:
    """Return the joined source of a notebook's code cells."""
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def check_committed(notebook: Path) -> list[str]:
    """Return the problems of a notebook as a committed file: outputs, execution counts, or another kernel."""
    content = nbformat.read(notebook, as_version=4)
    problems = []
    for number, cell in enumerate(content.cells):
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            problems.append(f"cell {number} has outputs or an execution count")
    if content.metadata.get("kernelspec", {}).get("name") != "python3":
        problems.append("its kernel is not `python3`")
    return problems


def clear(notebook: Path) -> None:
    """Prepare a notebook for committing: no outputs, no counts, the default kernel. Metadata of nbgrader stay."""
    content = nbformat.read(notebook, as_version=4)
    for cell in content.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in ("tags", "nbgrader")}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    content.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    write_text(notebook, nbformat.writes(content) + "\n")
