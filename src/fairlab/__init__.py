"""Reproduce papers on fairness testing, and audit your own models with the same five methods."""

import lazy_loader as lazy

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
