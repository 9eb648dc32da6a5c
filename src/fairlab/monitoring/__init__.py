"""FairTest as a service (its section 5): what may be looked at again and again on a stream of decisions.

FairTest's paper (section 5) runs investigations periodically on new data. Each look tests, and every test may be wrong:
a level for each look (`look_level`, `adaptive_level`) keeps the chance of any false report in the whole life of an
investigation at the stated one, and a confidence sequence (`rate_sequence`, `difference_sequence`, `group_sequences`)
may be read after every decision.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
