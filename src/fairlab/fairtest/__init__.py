"""FairTest (Tramer et al. 2017): subpopulations where an output is most associated with a protected attribute.

Examples
--------
>>> from fairlab.fairtest import Column, ConditionalDifference, ConditionalNMI, ConditionalRatio, Sample
>>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
>>> offer = Column("offer", np.tile([0, 0, 0, 1], 25), ("no", "yes"))
>>> town = Column("town", np.repeat([0, 1], 50), ("a", "b"))
>>> metrics = ConditionalDifference(), ConditionalNMI(), ConditionalRatio()
>>> [bool(one.approximate(Sample(sex, offer, town), conf=0.95).p_value < 0.05) for one in metrics]
[True, True, True]
"""

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
        "summaries": ["association_table", "contingency_table", "label_table", "share_table"],
        "tables": ["ConditionalDifference", "ConditionalNMI", "ConditionalRatio", "Difference", "NMI", "Ratio"],
        "testing": ["Testing"],
    },
)
