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
LIMITS = {  # limit, use, and the part of it that is files, by the name of the groups in either version
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


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

    A container's limit counts, and that of a cluster's job, of either version of Linux' control groups.
    """
    if given := os.environ.get(MEMORY):
        try:
            return float(given)
        except ValueError:
            raise ValueError(f"{MEMORY}: expected a number of GB, found {given!r}") from None
    return min(psutil.virtual_memory().available, *_left_by_control_groups()) / 1e9


def _left_by_control_groups() -> list[int]:
    """Return the bytes that each limit on this process leaves: of its own group and of all above."""
    left = [sys.maxsize]
    with suppress(OSError, ValueError):
        for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            version = "memory" if "memory" in controllers.split(",") else controllers
            top = CONTROL_GROUPS / version
            own = top / path.lstrip("/")
            for folder in (own, *own.parents) if version in LIMITS else ():
                if folder.is_relative_to(top):  # in a container the path may be one of the host's, which is not there
                    with suppress(OSError, ValueError):  # "max"
                        left.append(_left(folder, *LIMITS[version]))
    return left


def _left(folder, limit, usage, of_files) -> int:
    room = int((folder / limit).read_text())
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        room -= max(0, int((folder / usage).read_text()) - int(counts.get(of_files, 0)))  # the system drops those
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
