"""FairTest (Tramer et al. 2017): subgroups in which an output is most associated with a sensitive feature."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
