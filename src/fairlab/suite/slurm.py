"""Snakemake's executor for SLURM: detects the end of each job within seconds, with and without accounting.

Imported by the process of Snakemake alone, which then takes this executor in place of its SLURM plugin's. That one
submits, cancels and logs; here it is decided what has become of a job. The plugin by itself waits for ever where
accounting is off or a job was preempted, looks up to three minutes late, and never submits part of an array.
"""

import asyncio
import os
import re
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import snakemake_executor_plugin_slurm as plugin

from fairlab.suite.cluster import JOB_NAME_VARIABLE, LOST, Attempt, note
from fairlab.suite.heartbeat import HeartbeatMonitor, file_of

LOOK_SECONDS = 10.0
PATIENCE = 4  # looks without a word of a job before it is given up
ANSWER_SECONDS = 50  # that the controller gets to answer
DONE, REQUEUED, VANISHED = "COMPLETED", "REQUEUED", "VANISHED"
BEGUN = ("RUNNING", "COMPLETING")
# What SLURM writes into the log of a job that it ends for its memory; without control groups it says so nowhere else.
MEMORY = re.compile(r"slurmstepd.*(exceeded (job|step) memory limit|oom.kill)", re.IGNORECASE)


def install() -> None:
    """Let Snakemake take this executor for that of its SLURM plugin."""
    plugin.Executor = Executor


def queue(name: str) -> dict[str, tuple[str, str, str]] | None:
    """Return state, node and restarts of the jobs of a name that the controller knows, by id; None if it is silent."""
    columns = "JobArrayID:|,State:|,NodeList:|,RestartCnt:|"
    return _table(["squeue", "--name", name, "--states=all", "--array", "--noheader", f"--Format={columns}"])


def accounts(ids: list[str]) -> dict[str, tuple[str, str, str]]:
    """Return state, node and restarts of ended jobs from accounting; nothing where there is none."""
    command = ["sacct", "-X", "-n", "-P", "--format=JobID,State,NodeList,Restarts", "-j", ",".join(ids)]
    return _table(command) or {}


def silent_nodes() -> set[str]:
    """Return the nodes that do not answer the controller."""
    try:
        done = subprocess.run(
            ["sinfo", "-h", "-N", "-o", "%N %T"], capture_output=True, text=True, timeout=ANSWER_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    rows = (line.split() for line in done.stdout.splitlines())
    return {name for name, state in rows if state.endswith("*") or state == "down"}


def _table(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    rows = ([part.strip() for part in line.split("|")] for line in done.stdout.splitlines())
    # Accounting says who cancelled a job, too: "CANCELLED by 1000".
    return {id: (state.split()[0], node, restarts) for id, state, node, restarts, *_ in rows if state}


def attempt_from_log(log: Path, attempt: Attempt) -> Attempt:
    """Return an attempt that failed as one that ran out of memory, if a job's log says so."""
    for file in (log, log.parent.parent / log.name):  # the second is that of an array's element
        with suppress(OSError):
            if attempt.state == "FAILED" and MEMORY.search(file.read_text(encoding="utf-8", errors="replace")):
                return replace(attempt, state="OUT_OF_MEMORY")
    return attempt


class Watch:
    """States of the jobs of one run.

    Parameters
    ----------
    name : str
        Under which they are submitted.
    """

    def __init__(self, name: str):
        self.name = name
        self._unseen, self._silent = Counter(), Counter()  # looks in a row
        self._heartbeats = HeartbeatMonitor()
        self._seen: dict[str, tuple[str, str]] = {}  # node and restarts

    def look(self, outputs: dict[str, list[Path]]) -> dict[str, Attempt]:
        """Return the states of jobs that have ended or were requeued.

        Parameters
        ----------
        outputs : dict of str to list of Path
            Ids of jobs, and the files that each creates: they show whether a job that SLURM has forgotten succeeded.
        """
        known = queue(self.name)
        if known is None:  # a controller that is being restarted
            return {}
        if unseen := [id for id in outputs if id not in known]:
            known |= accounts(unseen)
        silent = silent_nodes()
        for id, (state, node, restarts) in known.items():
            self._silent[id] = self._silent[id] + 1 if node in silent else 0
            if id not in outputs:
                continue
            if state not in BEGUN:
                self._heartbeats.forget(f"{id}/{restarts}")
            elif self._silent[id] >= PATIENCE:  # long before the controller gives up
                known[id] = ("NODE_FAIL", node, restarts)
            elif self._heartbeats.is_silent(f"{id}/{restarts}", file_of(outputs[id][0])):
                known[id] = ("SILENT", node, restarts)
            if known[id][0] in ("NODE_FAIL", "SILENT") and state in BEGUN:
                with suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(["scancel", id], check=False, timeout=ANSWER_SECONDS)
        return {id: attempt for id, files in outputs.items() if (attempt := self._judge(id, files, known))}

    def _judge(self, id, files, known):
        before, n_before = self._seen.get(id, ("", ""))
        if id not in known:
            self._unseen[id] += 1
            if self._unseen[id] < PATIENCE:
                return None
            return Attempt(id, DONE if all(file.exists() for file in files) else VANISHED, before)
        self._unseen.pop(id, None)
        state, node, restarts = known[id]
        self._seen[id] = (node or before, restarts)
        if state in (DONE, *LOST):
            return Attempt(id, state, node)
        return Attempt(id, REQUEUED, before) if n_before not in ("", restarts) else None


class Executor(plugin.Executor):
    """Submits as the plugin does, and detects at once the state of a job."""

    next_seconds_between_status_checks = property(lambda self: LOOK_SECONDS, lambda self, value: None)

    def __post_init__(self, *args, **options):
        super().__post_init__(*args, **options)
        self._watch = Watch(self.run_uuid)
        Path(os.environ[JOB_NAME_VARIABLE]).write_text(self.run_uuid, encoding="utf-8")

    def run_jobs(self, jobs):
        """Submit the shards of one experiment as an array, whatever is to follow, and every other job by itself."""
        self._main_event_loop = self._main_event_loop or _running_loop()

        def experiment(job):
            return job.rule.name, job.wildcards.name

        for _, group in groupby(sorted(jobs, key=experiment), key=experiment):
            group = list(group)
            if len(group) > 1:
                self._submit_array_jobs(group)
            else:
                self._submit_job(group[0])

    async def check_active_jobs(self, active_jobs):
        """Tell Snakemake which jobs have ended, and how; yield the others."""
        jobs = {job.external_jobid: job for job in active_jobs}
        outputs = {id: [Path(file) for file in job.job.output] for id, job in jobs.items()}
        ended = await asyncio.to_thread(self._watch.look, outputs) if jobs else {}
        for id, info in jobs.items():
            attempt, log = ended.get(id), Path(info.aux["slurm_logfile"])
            if attempt and attempt.state != DONE:
                attempt = attempt_from_log(log, attempt)
                note(info.job.wildcards.name, info.job.params.profile, attempt)
            if attempt is None or attempt.state == REQUEUED:
                yield info
            elif attempt.state == DONE:
                self.report_job_success(info)
            else:
                if attempt.state == "NODE_FAIL":
                    self._failed_nodes.add(attempt.node)
                self.report_job_error(info, msg=f"{attempt}. ", aux_logs=[str(log)])


def _running_loop():
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
