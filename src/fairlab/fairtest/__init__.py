"""FairTest (Tramer et al. 2017): subpopulations where an output is most associated with a protected attribute."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "correlation": ["ConditionalCorrelation", "Correlation"],
        "discovery": ["Discovery"],
        "error_profiling": ["ErrorProfiling"],
        "examination": ["examine"],
        "finding": ["Association", "Finding"],
        "metric": ["Interval", "Metric"],
        "procedure": ["find_contexts", "investigate", "validate_contexts"],
        "regression": ["Regression"],
        "reporting": ["Report", "Section", "report"],
        "sample": ["Column", "Sample"],
        "source": ["BudgetError", "DataSource"],
        "summaries": ["association_table", "contingency_table", "label_table", "quartile_table", "share_table"],
        "tables": ["ConditionalDifference", "ConditionalNMI", "ConditionalRatio", "Difference", "NMI", "Ratio"],
        "testing": ["Testing"],
    },
)
