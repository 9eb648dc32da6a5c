"""Strict papermill: run one notebook in batch, and keep its result only if everything succeeded.

Papermill by itself only warns about unknown parameters, uses the kernel of the notebook's metadata, treats an early
exit as success and hardly reports a killed kernel. Here each of these is an error.
"""

import ast
import json
import logging
import math
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from fairlab.checks import optional, required
from fairlab.paths import project, write_text
from fairlab.suite import run as runs
from fairlab.suite.catalogue import DEFAULT_PROFILE, Specification
from fairlab.suite.processes import KERNEL_ENVIRONMENT, KernelTask, stopping

nbclient, nbformat = optional("nbclient.exceptions"), optional("nbformat")
papermill = optional("papermill")
logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it would print is in our errors

TIME_LIMIT_MINUTES = {"smoke": 10, "quick": 120, "paper": 48 * 60}
KERNEL_SPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}  # in every notebook


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
    state: str | None = None,
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
    state : str or None
        Digest of code and data, by which a batch sees later whether the run is up to date; None if it is not known yet.

    Returns
    -------
    Path
        The folder of the published run.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the profile, a parameter or the notebook's parameters cell is invalid.
    NotebookError
        If the notebook failed, stopped early, took too long or was killed. Nothing is published then, as after an
        `IncompleteRunError`; the reason and the executed notebook are stored beside the results.
    """
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise ValueError(f"time limit: expected a positive number of minutes, found {time_limit:g}")
    stored_as, parameters = specification.changed(profile, overrides or {})
    parameters = {"experiment": specification.name, "profile": profile, "seed": seed} | parameters
    known = notebook_parameters(specification.notebook)
    if set(known) != set(parameters):
        raise ValueError(
            f"{specification.notebook}: its parameters cell has {sorted(known)}, its experiment {sorted(parameters)}"
        )
    own = specification.name, stored_as, seed
    limit = TIME_LIMIT_MINUTES[profile] if time_limit is None else time_limit
    folder = runs.new_folder(*own)
    runs.failure_file(*own).unlink(missing_ok=True)
    executed, log = folder / "notebook.ipynb", runs.log_file(*own)
    task = KernelTask(str(folder), n_jobs, state)
    try:
        execute(specification.notebook, executed, parameters, task=task, time_limit=limit, log=log)
        runs.check_complete(folder)
        return runs.publish(folder)
    except Exception as error:
        if not stopping.is_set():
            _note_failure(error, executed, runs.failure_file(*own))
        raise
    finally:
        if not (folder / runs.SUMS).exists():
            runs.discard(folder)


def _note_failure(error, executed, file) -> None:
    """Keep the reason of a failure and the executed notebook, beside the results."""
    with suppress(OSError):  # a full disk must not hide the first error
        write_text(file, f"{error}\n")
        if executed.exists():
            shutil.copyfile(executed, file.with_suffix(".ipynb"))


def execute(
    notebook: Path,
    executed: Path,
    parameters: dict,
    *,
    task: KernelTask | None = None,
    time_limit: float,
    log: Path | str = os.devnull,
) -> None:
    """Execute a notebook strictly with this interpreter.

    Parameters
    ----------
    notebook, executed : Path
        Input, and where the executed notebook goes, also when it fails.
    parameters : dict
        Replace the values of the parameters cell; empty for a notebook without one.
    task : KernelTask or None
        What the kernel is to do besides.
    time_limit : float
        Minutes for the whole notebook.
    log : Path
        File for what the kernel prints past the notebook.

    Raises
    ------
    NotebookError
        If a cell failed or did not run, the time limit passed, or the kernel was killed.
    """
    required("papermill")
    from zmq import ZMQError

    started, printed = time.monotonic(), Path(log).stat().st_size if Path(log).is_file() else 0
    own = json.dumps(asdict(task)) if task else ""
    dead = nbclient.DeadKernelError, nbclient.CellTimeoutError, RuntimeError
    replies: list[dict] = []  # a kernel short of files or memory may answer without showing an error in the notebook
    try:
        with Path(log).open("ab") as stream:
            papermill.execute_notebook(
                _literal(notebook),
                _literal(executed),
                parameters=parameters,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,  # the whole notebook is written at its end, also of a failed one
                autosave_cell_every=0,
                on_cell_error=lambda execute_reply, **_: replies.append(execute_reply["content"]),
                kernel_manager_class=_kernel_class([str(os.getpid()), str(60 * time_limit), own], stream),
                resources={"metadata": {"path": str(notebook.parent)}},
            )
    except papermill.exceptions.PapermillExecutionError as error:
        kind, text = error.ename, error.evalue
        if replies:
            kind, text = (replies[-1].get(part, "") for part in ("ename", "evalue"))
        elif not text:
            text = f"the kernel did not say why{_last_words(log, printed)}"
        raise NotebookError(f"cell {error.exec_count} failed: {kind}: {text}".removesuffix(": ")) from error
    except dead as error:
        if time.monotonic() - started >= 60 * time_limit:
            raise NotebookError(f"stopped after the time limit of {time_limit:g} minutes") from error
        reason = "died (out of memory, or killed from outside)"
        if "respond" in str(error):
            reason = (
                "did not start within a minute (too few files or too little memory are left, or the computer is busy)"
            )
        raise NotebookError(f"the kernel {reason}{_last_words(log, printed)}") from error
    except (OSError, ZMQError) as error:
        raise NotebookError(f"the kernel could not be started: {error}") from error
    finally:
        cells = []
        with suppress(OSError, ValueError):  # none, or a truncated one, as on a full disk; the writer reports it
            cells = _tidy(executed)
    for number, cell in enumerate(cells):  # an early `exit()` counts as a failure, whatever its status
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            raise NotebookError(f"the notebook ended early, at cell {number}: every cell must run")


def _last_words(log, start: int) -> str:
    """Return the last line that a kernel printed past the notebook, for the end of a message."""
    with Path(log).open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"; it printed last: {last[:300]}" if last else ""


def _literal(path) -> str:
    """Return a path in which papermill finds no parameters."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _kernel_class(arguments, log):
    """Return the class of a kernel that is this very interpreter; see `fairlab.suite.kernel`."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec

    argv = [sys.executable, "-m", "fairlab.suite.kernel", *arguments, "-f", "{connection_file}"]

    class Kernel(AsyncKernelManager):
        kernel_spec = KernelSpec(argv=argv, language="python", env=KERNEL_ENVIRONMENT)

        async def start_kernel(self, **options):
            return await super().start_kernel(stdout=log, stderr=log, **options)

    return Kernel


def _tidy(executed) -> list:
    """Remove machine paths and run times from an executed notebook, so that it can be shared; return its cells."""
    content = nbformat.read(executed, as_version=4)
    content.metadata.pop("papermill", None)
    content.metadata["kernelspec"] = KERNEL_SPEC
    for cell in content.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    text = nbformat.writes(content)
    for path, name in ((project().root, "."), (Path(sys.prefix), "<environment>"), (Path("~").expanduser(), "~")):
        if len(path.parts) > 1:  # a home of "/" is no name to look for
            text = re.sub(rf"{re.escape(str(path))}(?![\w.-])", name, text)
    write_text(executed, text)
    return content.cells


def notebook_parameters(path: Path) -> dict:
    """Return names and default values, which are literals, of the cell tagged ``parameters`` of a notebook."""
    cells = nbformat.read(path, as_version=4).cells  # papermill reads them only if the notebook names a kernel
    sources = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    lines = [line for line in ast.parse(sources[0] if sources else "").body if isinstance(line, ast.Assign)]
    return {line.targets[0].id: ast.literal_eval(line.value) for line in lines}


def code_of(notebook: Path) -> str:
    """Return the joined source of a notebook's code cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
