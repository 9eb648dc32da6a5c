"""FairTest as a service (its section 5): the decisions of a running model are received, and tested again and again.

`Client` and `monitored` send decisions to a monitor, which ``fairlab monitor serve`` starts. Its statistics need no
service: `fairlab.fairtest.look_level`, `adaptive_level` and `group_sequences`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
