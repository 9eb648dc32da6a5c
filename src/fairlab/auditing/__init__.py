"""All methods on one case: the audit, its report, and what a newer model makes better and worse."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "audits": ["audit", "forecast", "run"],
        "comparison": ["ModelComparison", "compare"],
        "impact": ["impact_table"],
        "report": ["Report"],
    },
)
