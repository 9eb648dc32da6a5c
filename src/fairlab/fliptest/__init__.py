"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
