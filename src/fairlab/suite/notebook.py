"""Strict papermill: run one notebook in batch, and keep its result only if everything succeeded.

Papermill by itself only warns about unknown parameters, uses the kernel of the notebook's metadata and hardly reports a
killed kernel. Here unknown parameters are an error, the kernel is this interpreter, and a killed one is named. That a
notebook stopped early is noticed when its run is to be published.
"""

import ast
import json
import logging
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from fairlab.checks import optional, required
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite import forks
from fairlab.suite import run as runs
from fairlab.suite.catalogue import DEFAULT_PROFILE, Specification
from fairlab.suite.processes import KERNEL_ENVIRONMENT, stopping

nbclient, nbformat = optional("nbclient.exceptions"), optional("nbformat")
papermill = optional("papermill")
logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it would print is in our errors

ANSI = re.compile(r"\x1b\[[\d;]*m")  # colours of a traceback


class NotebookError(RuntimeError):
    """A notebook did not run to a complete result; the message says why."""


def run_experiment(
    specification: Specification,
    profile: str = DEFAULT_PROFILE,
    *,
    seed: int = runs.DEFAULT_SEED,
    n_jobs: int = 1,
    overrides: dict | None = None,
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
        Parameters that replace the profile's. With any, or another seed than the default, the result goes to
        ``results/custom``.

    Returns
    -------
    Path
        The folder of the published run.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the profile, a parameter or the notebook's parameters cell is invalid.
    NotebookError
        If the notebook failed or was killed. Nothing is published then, as after an `IncompleteRunError`; the reason
        and the executed notebook are stored beside the results.
    """
    run = runs.Run.of(specification.name, profile, seed, overrides or {})
    parameters = {"experiment": run.name, "profile": profile, "seed": run.seed} | run.parameters
    known = notebook_parameters(specification.notebook)
    missing = {"its parameters cell": parameters.keys() - known, "its experiment": known.keys() - parameters}
    if lacking := [f"{where} lacks {', '.join(sorted(names))}" for where, names in missing.items() if names]:
        raise ValueError(f"{project().short(specification.notebook)}: {' and '.join(lacking)}")
    log, failure = (file(run.name, run.profile) for file in (runs.log_file, runs.failure_file))
    log.parent.mkdir(parents=True, exist_ok=True)
    work = runs.work_folder()
    task, executed = {"folder": str(work), "n_jobs": n_jobs}, work / "notebook.ipynb"
    try:
        execute(specification.notebook, executed, parameters, task=task, log=log)
        return runs.publish(work)
    except Exception as error:
        if not stopping.is_set():
            with suppress(OSError):  # a full disk must not hide the first error
                write_text(failure, f"{error}\n")
                failure.with_suffix(".ipynb").unlink(missing_ok=True)
                shutil.copyfile(executed, failure.with_suffix(".ipynb"))
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def execute(
    notebook: Path, executed: Path, parameters: dict, *, task: dict | None = None, log: Path | str = os.devnull
) -> None:
    """Execute a notebook strictly with this interpreter.

    Parameters
    ----------
    notebook, executed : Path
        Input, and where the executed notebook goes, also when it fails.
    parameters : dict
        Replace the values of the parameters cell; empty for a notebook without one.
    task : dict or None
        What the kernel is to do besides: `fairlab.suite.processes.kernel_task`.
    log : Path
        File for what the kernel prints past the notebook.

    Raises
    ------
    NotebookError
        If a cell failed, or the kernel was killed or could not be started.
    """
    required("papermill")
    try:
        with Path(log).open("ab") as stream:
            papermill.execute_notebook(
                str(notebook),
                str(executed),
                parameters=parameters,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,  # the whole notebook is written at its end, also of a failed one
                autosave_cell_every=0,
                kernel_manager_class=_kernel_class([str(os.getpid()), json.dumps(task)], stream),
                resources={"metadata": {"path": str(notebook.parent)}},
            )
    except papermill.exceptions.PapermillExecutionError as error:
        reason = f"{error.ename}: {error.evalue}".removesuffix(": ")
        raise NotebookError(f"cell {error.exec_count} failed{_place(error)}: {reason}") from error
    except nbclient.DeadKernelError as error:
        raise NotebookError("the kernel died (out of memory, or killed from outside)") from error
    except (RuntimeError, OSError) as error:
        raise NotebookError(f"the kernel could not be started or reached: {error}") from error
    finally:
        with suppress(OSError, ValueError):  # none, or a truncated one, as on a full disk
            _name_paths(executed)


def _place(error) -> str:
    """Return at which line a cell failed: the last of its own in the traceback."""
    numbers = re.findall(rf"\bIn\[{error.exec_count}\], line (\d+)", ANSI.sub("", "\n".join(error.traceback)))
    return f" in line {numbers[-1]}, {error.source.splitlines()[int(numbers[-1]) - 1].strip()}" if numbers else ""


def _kernel_class(arguments, log):
    """Return the class of a kernel that is this very interpreter; see `fairlab.suite.kernel`."""
    from jupyter_client import AsyncKernelManager, LocalProvisioner
    from jupyter_client.kernelspec import KernelSpec

    start = [sys.executable, "-m", "fairlab.suite.kernel", arguments[0]]

    class Forked(LocalProvisioner):
        async def launch_kernel(self, cmd, *, env, cwd, **_):
            self.process = forks.server.fork(cmd[len(start) :], env=env, folder=str(cwd), log=log.name)
            self.pid = self.pgid = self.process.pid
            return self.connection_info

    class Kernel(AsyncKernelManager):
        kernel_spec = KernelSpec(
            argv=[*start, *arguments[1:], "-f", "{connection_file}"], language="python", env=KERNEL_ENVIRONMENT
        )

        async def start_kernel(self, **options):
            if forks.server:
                self.provisioner = Forked(kernel_spec=self.kernel_spec, parent=self)
            return await super().start_kernel(stdout=log, stderr=log, **options)

    return Kernel


def _name_paths(executed) -> None:
    """Replace the paths of this machine in an executed notebook by names, so that it can be shared."""
    text = executed.read_text(encoding="utf-8")
    places = {project().results: "results", project().root: ".", Path(sys.prefix): "<environment>", Path.home(): "~"}
    for path, name in places.items():
        if len(path.parts) > 1:  # a home of "/" is no name to look for
            text = re.sub(rf"{re.escape(str(path))}(?![\w.-])", name, text)
    write_text(executed, text)


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
