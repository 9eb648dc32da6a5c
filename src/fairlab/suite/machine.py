"""Facts about the machine of a run: versions, commit, cores, memory."""

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import joblib
import psutil

from fairlab.paths import project

MEMORY = "FAIRLAB_MEMORY_GB"
CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def n_cores() -> int:
    """Return how many cores this process may use; a container's limit and the process's own affinity count."""
    return joblib.cpu_count()


def peak_memory_gb() -> float:
    """Return the peak memory of this process and, if known, of its largest ended child, in GB."""
    try:
        import resource
    except ImportError:  # Windows
        return psutil.Process().memory_info().peak_wset / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    parts = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(parts) * unit / 1e9


def memory_left_gb() -> float:
    """Return the memory available to a run, in GB: ``FAIRLAB_MEMORY_GB`` if set, else the free memory.

    A container's limit counts, and that of a cluster's job (Linux' control groups, version 2).
    """
    if given := os.environ.get(MEMORY):
        try:
            return float(given)
        except ValueError:
            raise ValueError(f"{MEMORY}: expected a number of GB, found {given!r}") from None
    return min(psutil.virtual_memory().available, *_left_by_control_groups()) / 1e9


def _left_by_control_groups() -> list[int]:
    """Return the bytes that each limit on this process leaves: of its own group (version 2) and of all above."""
    left = [sys.maxsize]
    with suppress(OSError):
        own = CONTROL_GROUPS / MEMBERSHIP.read_text(encoding="utf-8").partition("0::/")[2].strip()
        for folder in (own, *own.parents):
            with suppress(OSError, ValueError):  # none there, as of the host's in a container; or "max"
                left.append(_left(folder))
    return left


def _left(folder) -> int:
    room = int((folder / "memory.max").read_text())
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        files = int(counts.get("inactive_file", 0))  # which the system drops
        room -= max(0, int((folder / "memory.current").read_text()) - files)
    return room


@cache
def environment() -> dict:
    """Return versions, platform and commit: what a number may depend on besides data, seed and parameters.

    Later calls return the values of the first, which match the loaded code.
    """
    return {
        "fairlab": metadata.version("fairlab"),
        "python": platform.python_version(),
        "libraries": _libraries(),
        "platform": f"{sys.platform} {platform.machine()}, {n_cores()} cores",
        "commit": _commit(),
    }


def _libraries() -> dict[str, str]:
    """Return the versions of what the project requires, as far as it is installed."""
    versions = {}
    for name in {re.match(r"[\w.-]+", requirement)[0] for requirement in metadata.requires("fairlab")}:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return dict(sorted(versions.items(), key=lambda pair: pair[0].lower()))


def _commit() -> str | None:
    """Return the project's commit, with ``+`` if the tree differs from it; None if it is not known."""
    try:
        git = ["git", "-C", str(project().root)]
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        code = ["src", "experiments", "notebooks", "data_scripts"]
        changed = subprocess.run([*git, "status", "--porcelain", *code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        built = project().root / ".commit"  # written when a container is built
        return built.read_text(encoding="utf-8").strip() if built.exists() else None
    return commit.stdout.strip() + "+" * bool(changed.stdout.strip())
