"""Reproduce papers on fairness testing, and audit your own models with the same five methods."""

from importlib.metadata import version

import lazy_loader as lazy

__version__ = version("fairlab")
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
