"""Preloading of libraries: imported once, by the process from which runners and workers are forked.

Heavy libraries such as TensorFlow are not loaded, because not all experiments need them.
"""

import gc
import os
import sys
import warnings
from importlib import import_module

from fairlab.suite import child_process, forks

# Before what takes seconds, in which the batch may be killed.
child_process.exit_with_parent(int(os.environ.pop(forks.PARENT_VARIABLE, 0)))

from fairlab.data.registry import project_registry  # noqa: E402
from fairlab.suite.catalogue import experiment_names, specification  # noqa: E402
from fairlab.suite.fingerprint import imported_modules, modules_fingerprint  # noqa: E402
from fairlab.suite.machine import environment  # noqa: E402
from fairlab.suite.notebook import code_of  # noqa: E402

LIBRARIES = (
    *("ipykernel.kernelapp", "papermill", "fairlab.suite.kernel", "scipy.stats", "pandas.io.formats.style"),
    *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
)
HEAVY = ("tensorflow", "keras", "torch", "z3", "lime", "rfc3987_syntax")  # the last for addresses in notebooks


class Barrier:
    """Keeps the libraries of `HEAVY` from being imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Refuse the heavy ones, and leave all others to those who find modules."""
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"{name} is not for all experiments", name=name)


def load() -> None:
    """Import libraries and what the notebooks import of this package, except what needs one of `HEAVY` at once."""
    sys.meta_path.insert(0, Barrier)
    own = (imported_modules(code_of(specification(name).notebook)) for name in experiment_names())
    for name in [*LIBRARIES, *sorted(set().union(*own))]:
        try:
            import_module(name)
        except Exception:  # whoever needs it says what is wrong
            continue
        if name.startswith("fairlab."):
            modules_fingerprint([name])
    sys.meta_path.remove(Barrier)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    load()
environment()
project_registry()
gc.collect()
gc.freeze()  # what is here stays, so no fork need go through it, nor copy it for that
