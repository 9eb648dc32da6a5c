"""A sign of life of a cluster's job, in a file that all nodes see: whoever waits for the job does without SLURM's word.

A job writes its file anew every few seconds. A node that died, or a job that was ended without the controller knowing,
writes no more.
"""

import itertools
import os
import platform
import threading
import time
from collections.abc import Hashable
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
            file.write_text(f"{platform.node()} {os.getpid()} {number}", encoding="utf-8")
        if done.wait(BEAT_SECONDS):
            return


class Pulse:
    """Who is alive, as told by the files of jobs and one's own clock."""

    def __init__(self):
        self._seen: dict[Hashable, tuple[str | None, float, bool]] = {}  # text, since when, whether it ever changed

    def is_silent(self, id: Hashable, file: Path) -> bool:
        """Return whether a running job is dead, given that this is asked every few seconds from its first on."""
        try:
            text = file.read_text(encoding="utf-8")
        except OSError:  # not there yet, or not any more
            text = None
        now = time.monotonic()
        before, since, has_beaten = self._seen.get(id, (text, now, False))
        if text != before:
            since, has_beaten = now, True
        self._seen[id] = text, since, has_beaten
        return now - since > (SILENT_SECONDS if has_beaten and text is not None else FIRST_SECONDS)

    def forget(self, id: Hashable) -> None:
        """Begin anew with a job that does not run at the moment."""
        self._seen.pop(id, None)
