"""Themis (Galhotra, Brun, Meliou 2017): group and causal discrimination of programs, by generated tests."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
