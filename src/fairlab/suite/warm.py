"""What every experiment of a batch loads: imported once, by the process that its runners and workers are forked from.

TensorFlow and its kind stay out: an experiment that needs none of them must not pay for them.
"""

import ast
import sys
import warnings
from importlib import import_module

import ipykernel.kernelapp  # noqa: F401
import matplotlib.pyplot  # noqa: F401
import pandas.io.formats.style
import scipy.stats  # noqa: F401

from fairlab.suite import lifeline
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.fingerprint import imported_modules, modules_fingerprint
from fairlab.suite.machine import environment
from fairlab.suite.notebook import code_of

HEAVY = ("tensorflow", "keras", "torch", "z3", "lime")


def import_library() -> None:
    """Import what the notebooks import of this package, unless it needs one of `HEAVY` at once."""
    blocked = {name: None for name in HEAVY if name not in sys.modules}
    sys.modules.update(blocked)
    for name in sorted(set().union(*(imported_modules(code_of(specification(n).notebook)) for n in experiment_names()))):
        try:
            import_module(name)
        except ImportError:
            continue
        modules_fingerprint([name])
    for name in blocked:
        del sys.modules[name]


lifeline.tie()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import_library()
environment()
