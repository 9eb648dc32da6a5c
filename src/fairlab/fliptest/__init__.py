"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "counterparts": ["CounterpartTest", "counterpart_test"],
        "ensemble": [
            "agreement_table",
            "by_map",
            "fit_table",
            "flipsets_by_map",
            "size_spread",
            "size_table",
            "usable_maps",
        ],
        "examination": ["examine"],
        "flipsets": ["Flipset", "flipset"],
        "intervals": ["difference_of_shares", "flipset_intervals"],
        "matching": ["match"],
        "overlap": ["FlipsetOverlap", "Overlap", "flipset_overlap"],
        "sensitivity": ["COSTS", "flipsets_by_cost"],
        "transparency": ["TransparencyReport", "differences_in_words", "transparency_report"],
        "validation": ["MapValidation", "validate_map"],
    },
)
