"""Reproduce papers on fairness testing: five methods, their experiments, and how each number came out."""

from importlib import import_module
from importlib.metadata import version

__version__ = version("fairlab")
__all__ = ["Experiment", "load"]

_HOMES = {"Experiment": "fairlab.experiment", "load": "fairlab.data"}


def __getattr__(name):
    # Lazy, so that `import fairlab.transport` in a worker process does not load the experiment machinery.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fairlab' has no attribute {name!r}")
