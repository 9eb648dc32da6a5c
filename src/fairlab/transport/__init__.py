"""Optimal transport between two groups: exact couplings of samples, and maps learnt by a generative network."""

from importlib import import_module

from fairlab.transport.cost import squared_l1
from fairlab.transport.exact import ExactTransport
from fairlab.transport.one_dimension import monotone_rearrangement
from fairlab.transport.plan import SolverError

__all__ = ["DivergenceError", "DivergenceWarning", "ExactTransport", "GANEnsemble", "GANTransport"]
__all__ += ["SolverError", "monotone_rearrangement", "squared_l1"]

_NEED_TENSORFLOW = {"DivergenceError", "DivergenceWarning", "GANEnsemble", "GANTransport"}


def __getattr__(name):
    # Lazy, since the exact solvers need no TensorFlow and it takes seconds to load.
    if name in _NEED_TENSORFLOW:
        return getattr(import_module("fairlab.transport.gan"), name)
    raise AttributeError(f"module 'fairlab.transport' has no attribute {name!r}")
