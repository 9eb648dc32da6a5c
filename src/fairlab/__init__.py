"""Reproduce papers on fairness testing, and audit your own models with the same five methods."""

from importlib.metadata import version

import lazy_loader as lazy

__version__ = version("fairlab")
__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    # Experiment belongs to the suite; everything else is the library.
    submod_attrs={
        "auditing": ["audit", "compare", "impact_table"],
        "cases": ["Case"],
        "data.loading": ["load"],
        "suite.experiment": ["Experiment"],
    },
)
