"""Valid calls, for the contract of bad input."""

from public_calls import Use

from fairlab import monitoring

COUNTS = {"hits": ([[0, -1]], [[9, 9]], "many", [[float("nan"), 1]]), "totals": ([[1, 1]], "many", [3])}
USES = [
    Use(monitoring.look_level, {"number": 1, "alpha": 0.05}, bad={"number": (0, -1, 1.5, True, "many")}),
    Use(monitoring.rate_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
    Use(monitoring.difference_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
]
