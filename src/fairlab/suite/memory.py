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

    A limit by control groups counts, of their second version.
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
        path = MEMBERSHIP.read_text(encoding="utf-8").partition("0::")[2].splitlines()[0]
        own = CONTROL_GROUPS / path.lstrip("/")
        for folder in (own, *own.parents[: len(Path(path).parts) - 1]):
            with suppress(OSError, ValueError):  # no limit: "max"
                used = int((folder / "memory.current").read_text())
                files = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                left.append(int((folder / "memory.max").read_text()) - used + int(files["inactive_file"]))
    return left


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
