"""Themis (Galhotra, Brun, Meliou 2017): group and causal discrimination of programs, by generated tests."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "exact": ["DomainTooLargeError", "as_program", "causal_score", "group_score", "output_table"],
        "examination": ["examine"],
        "proxies": ["proxies_of", "strengths_of_proxies"],
        "score": ["Score"],
        "search": ["Search", "n_groups"],
        "settings": ["read_settings"],
        "software": ["CommandSoftware", "SoftwareError"],
        "themis": ["Themis"],
    },
)
