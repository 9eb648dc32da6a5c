"""A sign of life of a cluster's job, in a file that all nodes see: whoever waits for the job does without SLURM's word.

A job writes its file anew every few seconds. A node that died, or a job that was ended without the controller knowing,
writes no more.
"""

import itertools
import os
import platform
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_VARIABLE = "FAIRLAB_HEARTBEAT"  # of the file that a job's process is to write
SUFFIX = ".beat"  # beside a job's marker
BEAT_SECONDS = 5.0
SILENT_SECONDS = 35.0  # without a beat, after which a job that has beaten is dead
FIRST_SECONDS = 600.0  # that a running job gets to its first


def file_of(marker: Path) -> Path:
    """Return the file of the job that makes a marker."""
    return marker.with_suffix(SUFFIX)


@contextmanager
def beating():
    """Give signs of life for the time of the block, if this process is a job's; the file is gone after it."""
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
        with suppress(OSError):  # of a disk that is full, or a server that is restarted
            file.write_text(f"{own_job()} {platform.node()} {os.getpid()} {number}", encoding="utf-8")
        if done.wait(BEAT_SECONDS):
            return


def own_job() -> str:
    """Return what SLURM calls the job that this process belongs to, and how often it was begun anew: ``7_2/0``."""
    array, task = (os.environ.get(f"SLURM_ARRAY_{part}_ID", "") for part in ("JOB", "TASK"))
    id = f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID", "")
    return f"{id}/{os.environ.get('SLURM_RESTART_COUNT', '0')}"


class Pulse:
    """Which jobs are alive, as told by their files and one's own clock."""

    def __init__(self):
        self._seen: dict[str, tuple[str, float]] = {}  # by job its last text, and since when

    def is_silent(self, job: str, file: Path) -> bool:
        """Return whether a running job, as in `own_job`, is dead, given that this is asked every few seconds."""
        try:
            text = file.read_text(encoding="utf-8")
        except OSError:  # not there yet, or not any more
            text = ""
        is_own = text.startswith(f"{job} ")  # else an earlier job's
        now = time.monotonic()
        before, since = self._seen.get(job, (text, now))
        self._seen[job] = text, since if text == before else now
        return now - self._seen[job][1] > (SILENT_SECONDS if is_own else FIRST_SECONDS)

    def forget(self, job: str) -> None:
        """Begin anew with a job that does not run at the moment."""
        self._seen.pop(job, None)
