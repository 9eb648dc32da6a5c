"""Whether experiments fit into the memory that is available, on this machine, in a container or in a cluster's job.

The file of an experiment declares how much it needs on one core.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from fairlab.suite.catalogue import specification

VARIABLE = "FAIRLAB_MEMORY_GB"
CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
OWN_GB = 0.6  # of a notebook's process besides what its experiment declares, and of its runner


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


def need_gb(name: str, profile: str, n_cores: int) -> float:
    """Return the memory that an experiment needs, in GB; a lower bound where the paper profile was not measured."""
    declared = specification(name).gigabytes
    return OWN_GB + n_cores * declared.least(profile) if declared else 0.0


def refusal(name: str, profile: str, n_cores: int, left_gb: float) -> str | None:
    """Return why an experiment does not fit, None if it does."""
    need = need_gb(name, profile, n_cores)
    if need <= left_gb:
        return None
    least = need_gb(name, profile, 1)
    advice = "it fits with --cores 1" if least <= left_gb else "choose a smaller --profile"
    cores = f"{n_cores} core" + "s" * (n_cores > 1)
    return f"needs {need:.1f} GB of memory on {cores}, {left_gb:.1f} GB are available; {advice}"
