"""All methods on one case: the audit, its report, and what a newer model makes better and worse."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
