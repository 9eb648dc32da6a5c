"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "counterparts": ["CounterpartTest", "counterpart_test"],
        "flipsets": ["COSTS", "Flipset", "compare_flipsets", "flipset", "flipset_intervals", "flipsets_by_cost"],
        "transparency": ["TransparencyReport", "differences_in_words", "transparency_report"],
    },
)
