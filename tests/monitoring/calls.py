"""Valid calls, for the contract of bad input."""

from public_calls import Use

from fairlab import monitoring

COUNTS = {"hits": ([[0, -1]], [[9, 9]], "many", [[float("nan"), 1]]), "totals": ([[1, 1]], "many", [3])}
P_VALUES = ([0.5, 1.5], [-0.1], "many", [float("nan")])
USES = [
    Use(
        monitoring.adaptive_level,
        {"largest_p_values": [0.3, 0.1], "alpha": 0.05},
        bad={"largest_p_values": P_VALUES},
    ),
    Use(monitoring.group_sequences, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
    Use(monitoring.look_level, {"number": 1, "alpha": 0.05}, bad={"number": (0, -1, 1.5, True, "many")}),
    Use(monitoring.rate_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
    Use(monitoring.difference_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
]
