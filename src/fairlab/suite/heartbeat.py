"""Heartbeats of cluster jobs, in files that all nodes see, so that lost jobs are detected without SLURM.

A job rewrites its file every few seconds. If its node died, or if it was killed without the controller's knowledge, the
file no longer changes.
"""

import itertools
import os
import platform
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_VARIABLE = "FAIRLAB_HEARTBEAT"  # names the file that the job's process writes
SUFFIX = ".heartbeat"  # of the file beside the job's marker
INTERVAL_SECONDS = 5.0
SILENT_SECONDS = 35.0  # without a heartbeat, after which a job counts as dead
FIRST_SECONDS = 600.0  # until the first heartbeat of a running job


def file_of(marker: Path) -> Path:
    """Return the heartbeat file of the job that creates a marker."""
    return marker.with_suffix(SUFFIX)


@contextmanager
def send_heartbeats():
    """Write heartbeats during the block if this process belongs to a job; the file is deleted afterwards."""
    if not (name := os.environ.get(FILE_VARIABLE)):
        yield
        return
    file, done = Path(name), threading.Event()
    thread = threading.Thread(target=_beat, args=(file, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _beat(file, done):
    for number in itertools.count():
        with suppress(OSError):  # full disk, or server being restarted
            file.write_text(f"{own_job()} {platform.node()} {os.getpid()} {number}", encoding="utf-8")
        if done.wait(INTERVAL_SECONDS):
            return


def own_job() -> str:
    """Return SLURM's id of this process's job and its number of restarts: ``7_2/0``."""
    array, task = (os.environ.get(f"SLURM_ARRAY_{part}_ID", "") for part in ("JOB", "TASK"))
    id = f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID", "")
    return f"{id}/{os.environ.get('SLURM_RESTART_COUNT', '0')}"


class HeartbeatMonitor:
    """Detects silent jobs from their heartbeat files and the local clock."""

    def __init__(self):
        self._seen: dict[str, tuple[str, float]] = {}  # by job, its last text and the time of the change

    def is_silent(self, job: str, file: Path) -> bool:
        """Return whether a running job, as in `own_job`, counts as dead; to be called every few seconds."""
        try:
            text = file.read_text(encoding="utf-8")
        except OSError:  # not written yet, or deleted
            text = ""
        is_own = text.startswith(f"{job} ")  # otherwise of an earlier job
        now = time.monotonic()
        before, since = self._seen.get(job, (text, now))
        self._seen[job] = text, since if text == before else now
        return now - self._seen[job][1] > (SILENT_SECONDS if is_own else FIRST_SECONDS)

    def forget(self, job: str) -> None:
        """Restart the clock of a job that is not running at the moment."""
        self._seen.pop(job, None)
