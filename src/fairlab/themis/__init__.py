"""Themis (Galhotra, Brun, Meliou 2017): group and causal discrimination of programs, by generated tests."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "exact": ["DomainTooLargeError", "causal_score", "group_score", "output_table", "read_settings"],
        "score": ["Score", "Search"],
        "themis": ["Themis"],
    },
)
