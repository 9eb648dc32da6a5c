"""Data sets, each as one `Dataset`: real rows if available, otherwise surrogate rows, labelled as such."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
