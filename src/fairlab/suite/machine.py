"""Facts about the machine of a run: versions, commit, cores, memory."""

import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata

import joblib
import psutil

from fairlab.paths import project


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
    for requirement in metadata.requires("fairlab"):
        name = re.match(r"[\w.-]+", requirement)[0]
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
