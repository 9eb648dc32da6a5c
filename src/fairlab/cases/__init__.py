"""Input and results of every method: a model with its table, the domain of its inputs, and findings."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
