"""FairTest (Tramer et al. 2017): subgroups in which an output is most associated with a sensitive feature."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "investigation": ["Investigation", "investigate"],
        "metrics": ["NMI", "Correlation", "Difference", "Interval", "Metric", "Ratio", "Regression"],
        "report": ["Association", "AssociationReport", "Section", "Subgroup"],
        "sample": ["Column", "DataSource", "Sample"],
    },
)
