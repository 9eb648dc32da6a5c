"""FairTest (Tramer et al. 2017): subpopulations where an output is most associated with a protected attribute."""

from fairlab.fairtest.conditional import (
    ConditionalCorrelation,
    ConditionalDifference,
    ConditionalNMI,
    ConditionalRatio,
)
from fairlab.fairtest.correlation import Correlation
from fairlab.fairtest.investigation import Discovery, ErrorProfiling, Testing
from fairlab.fairtest.metric import Interval, Metric
from fairlab.fairtest.procedure import test, train
from fairlab.fairtest.regression import Regression
from fairlab.fairtest.report import Report, contingency_table, label_table, report
from fairlab.fairtest.sample import Column, Sample
from fairlab.fairtest.source import BudgetError, DataSource
from fairlab.fairtest.tables import NMI, Difference, Ratio

__all__ = [
    "NMI",
    "BudgetError",
    "Column",
    "ConditionalCorrelation",
    "ConditionalDifference",
    "ConditionalNMI",
    "ConditionalRatio",
    "Correlation",
    "DataSource",
    "Difference",
    "Discovery",
    "ErrorProfiling",
    "Interval",
    "Metric",
    "Ratio",
    "Regression",
    "Report",
    "Sample",
    "Testing",
    "contingency_table",
    "label_table",
    "report",
    "test",
    "train",
]
