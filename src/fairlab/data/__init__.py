"""Data sets, each as one `Dataset`: real rows if available, otherwise surrogate rows, labelled as such."""

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
