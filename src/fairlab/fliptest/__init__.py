"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "flipsets": ["Flipset", "flipset"],
        "intervals": ["flipset_intervals"],
        "overlap": ["FlipsetOverlap", "Overlap", "flipset_overlap"],
        "scaling": ["PooledScaler"],
        "sensitivity": ["COSTS", "flipsets_by_cost", "maps_by_penalty"],
        "transparency": ["TransparencyReport", "transparency_report"],
        "validation": ["MapValidation", "usable_maps", "validate_map"],
    },
)
