"""Valid calls, for the contract of bad input."""

from public_calls import Use

from fairlab import fairtest

COUNTS = {"hits": ([[0, -1]], [[9, 9]], "many", [[float("nan"), 1]]), "totals": ([[1, 1]], "many", [3])}
P_VALUES = ([0.5, 1.5], [-0.1], "many", [float("nan")])
PLAIN = {"warnings": [], "sections": []}
NOT_PLAIN = (3, "report", {}, [PLAIN])
USES = [
    Use(fairtest.compare_reports, {"before": PLAIN, "now": PLAIN}, bad={"before": NOT_PLAIN, "now": NOT_PLAIN}),
    Use(fairtest.findings, {"report": PLAIN}, bad={"report": NOT_PLAIN}),
    Use(
        fairtest.adaptive_level,
        {"largest_p_values": [0.3, 0.1], "alpha": 0.05},
        bad={"largest_p_values": P_VALUES},
    ),
    Use(fairtest.group_sequences, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
    Use(fairtest.look_level, {"number": 1, "alpha": 0.05}, bad={"number": (0, -1, 1.5, True, "many")}),
    Use(fairtest.rate_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
    Use(fairtest.difference_sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS),
]
