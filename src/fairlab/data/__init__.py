"""Data sets, each as one `Dataset`: real rows where they can be had, generated ones that say so where they cannot."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "dataset": ["Dataset", "Provenance"],
        "errors": ["DataError", "DataUnavailableError", "RegistryError", "SurrogateWarning"],
        "inventory": ["available", "describe", "fetch", "state_of", "status", "verify"],
        "loading": ["load"],
    },
)
