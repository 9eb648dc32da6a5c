"""Memory of this process, and memory available on the machine, in a container or in a cluster job."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import psutil

VARIABLE = "FAIRLAB_MEMORY_GB"
CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
PROCESS = Path("/proc/self")
RESET_PEAK = "5"  # of clear_refs
_inherited_gb = 0.0  # that this process shares with the one that it was forked from


def memory_left_gb() -> float:
    """Return the memory available to a run, in GB: ``FAIRLAB_MEMORY_GB`` if set, else the free memory.

    A container's limit counts, and that of a cluster's job, of either version of Linux' control groups.
    """
    if given := os.environ.get(VARIABLE):
        try:
            return float(given)
        except ValueError:
            raise ValueError(f"{VARIABLE}: expected a number of GB, found {given!r}") from None
    return min(psutil.virtual_memory().available, *_left_by_control_groups()) / 1e9


def _left_by_control_groups() -> list[int]:
    """Return the bytes that each limit on this process leaves: of its own group and of all above."""
    left = [sys.maxsize]
    with suppress(OSError, ValueError):
        for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":
                top, names = CONTROL_GROUPS, ("memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                top = CONTROL_GROUPS / "memory"
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                continue
            own = top / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder.is_relative_to(top):  # in a container the path may be one of the host's, which is not there
                    with suppress(OSError, ValueError):  # "max"
                        left.append(_left(folder, *names))
    return left


def _left(folder, limit, usage, of_files) -> int:
    room = int((folder / limit).read_text())
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        room -= max(0, int((folder / usage).read_text()) - int(counts.get(of_files, 0)))  # the system drops those
    return room


def begin_fork() -> None:
    """Record that the memory of this process is shared with its parent."""
    global _inherited_gb
    forget_peak()
    _inherited_gb = 0.0
    _inherited_gb = own_peak_gb()


def forget_peak() -> None:
    """Reset the peak memory of this process, if the system supports it."""
    with suppress(OSError):
        (PROCESS / "clear_refs").write_text(RESET_PEAK)


def own_peak_gb() -> float:
    """Return the peak of the memory that is this process's own, without files that it maps, in GB."""
    try:
        lines = (line.split() for line in (PROCESS / "status").read_text().splitlines())
        kilobytes = {name: int(rest[0]) for name, *rest in lines if name in ("VmHWM:", "RssFile:", "RssShmem:")}
        peak = kilobytes["VmHWM:"] - kilobytes["RssFile:"] - kilobytes["RssShmem:"]
    except (OSError, KeyError):  # not Linux
        peak = psutil.Process().memory_info().rss / 1024
    return max(0.0, peak * 1024 / 1e9 - _inherited_gb)
