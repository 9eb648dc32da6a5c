"""Optimal transport between two groups: exact couplings of samples, and maps learnt by networks."""

from importlib import import_module

from fairlab.transport.cost import squared_l1
from fairlab.transport.exact import ExactTransport
from fairlab.transport.one_dimension import monotone_rearrangement
from fairlab.transport.plan import SolverError

__all__ = ["DivergenceError", "DivergenceWarning", "ExactTransport", "GANEnsemble", "GANTransport"]
__all__ += ["SeguyEnsemble", "SeguyTransport", "SolverError", "monotone_rearrangement", "squared_l1"]

# Lazy, since the exact solvers need no TensorFlow and it takes seconds to load.
_NEED_TENSORFLOW = dict.fromkeys(
    ("DivergenceError", "DivergenceWarning", "GANEnsemble", "GANTransport"), "fairlab.transport.gan"
)
_NEED_TENSORFLOW |= dict.fromkeys(("SeguyEnsemble", "SeguyTransport"), "fairlab.transport.seguy")


def __getattr__(name):
    if name in _NEED_TENSORFLOW:
        return getattr(import_module(_NEED_TENSORFLOW[name]), name)
    raise AttributeError(f"module 'fairlab.transport' has no attribute {name!r}")
