"""Inference for individual fairness (Maity, Xue, Yurochkin, Sun 2021): attack within a fair metric, then test."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
