"""Models that can be attacked, and programs as models."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "classifiers": ["KerasClassifier", "LinearClassifier", "WhiteBoxClassifier"],
        "command": ["CommandModel", "CommandSoftware", "SoftwareError"],
    },
)
