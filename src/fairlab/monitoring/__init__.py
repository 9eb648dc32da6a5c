"""Statistics of a monitor: what may be looked at again and again on a stream of decisions.

FairTest's paper (section 5) runs investigations periodically on new data. Each look tests, and every test may be wrong:
a level for each look (`look_level`, `adaptive_level`) keeps the chance of any false report in the whole life of an
investigation at the stated one, and a confidence sequence (`rate_sequence`, `difference_sequence`, `group_sequences`)
may be read after every decision.
"""

from fairlab.monitoring.sequences import (
    adaptive_level,
    difference_sequence,
    group_sequences,
    look_level,
    rate_sequence,
)

__all__ = ["adaptive_level", "difference_sequence", "group_sequences", "look_level", "rate_sequence"]
