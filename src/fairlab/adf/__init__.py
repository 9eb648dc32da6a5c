"""ADF (Zhang et al. 2020): discriminatory inputs by gradients, and two other methods."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
