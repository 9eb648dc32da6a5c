"""Bad input of FairTest: data sources, investigations, metrics, tables."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import Bad, lacking

from fairlab.cases import BudgetSpentError
from fairlab.fairtest import (
    NMI,
    Association,
    AssociationReport,
    Column,
    Correlation,
    DataSource,
    Difference,
    Interval,
    Investigation,
    Metric,
    Ratio,
    Regression,
    Sample,
    Section,
    Subgroup,
    investigate,
)

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], 400),
        "job": RNG.choice(["cook", "clerk", "driver"], 400),
        "town": RNG.choice(["a", "b", "c"], 400),
        "age": RNG.integers(18, 90, 400).astype(float) + RNG.random(400),
        "hired": RNG.choice(["no", "yes"], 400),
        "truth": RNG.choice(["no", "yes"], 400),
    }
)
GROUPS = Column("sex", np.array([0, 1] * 10), ("f", "m"))
THREE = Column("job", np.array([0, 1, 2, 0] * 5), ("cook", "clerk", "driver"))
AGES = Column("age", np.arange(20.0))
RATES = Sample(GROUPS, THREE)
NUMBERS = Sample(GROUPS, AGES)


def source(data=PEOPLE, **options):
    return DataSource(data, **options)


def fitted(*columns, data=PEOPLE, **options):
    return lambda: Investigation(*(columns or ("sex", "hired")), **options).fit(source(data))


def checked(metric, sample):
    return lambda: metric.check(sample)


def spent():
    data = source()
    investigate(data, Investigation("sex", "hired", max_depth=1), exact=False)
    investigate(data, Investigation("sex", "hired", max_depth=1), exact=False)


ROWS = {
    "fairtest": [
        Bad("DataSource", "data", lambda: source(3), "expected a DataFrame, found int", TypeError),
        Bad("DataSource", "data", lambda: source(PEOPLE[:0]), "0 rows are too few for a training set and 1 test sets"),
        Bad("DataSource", "data", lambda: source(PEOPLE[:1]), "1 rows are too few for a training set and 1 test sets"),
        Bad(
            "DataSource",
            "sex",
            lambda: source(pd.concat([PEOPLE, PEOPLE[["sex"]]], axis=1)),
            "data: columns occur twice: sex",
        ),
        Bad("DataSource", "budget", lambda: source(budget=0), "expected a positive integer, found 0"),
        Bad("DataSource", "budget", lambda: source(budget=1.5), "expected a positive integer, found 1.5"),
        Bad("DataSource", "budget", spent, "of 1 test set is spent", BudgetSpentError),
        Bad(
            "DataSource",
            "confidence_level",
            lambda: source(confidence_level=95),
            "expected a number between 0 and 1, found 95",
        ),
        Bad(
            "DataSource",
            "confidence_level",
            lambda: source(confidence_level="high"),
            "expected a number between 0 and 1, found 'high'",
        ),
        Bad("DataSource", "train_size", lambda: source(train_size=2), "expected a number between 0 and 1, found 2"),
        Bad(
            "DataSource",
            "train_size",
            lambda: source(train_size="half"),
            "expected a number between 0 and 1, found 'half'",
        ),
        Bad(
            "DataSource",
            "random_state",
            lambda: source(random_state="zero"),
            "expected an integer, at least 0, found 'zero'",
        ),
        Bad(
            "DataSource",
            "random_state",
            lambda: source(random_state=-1),
            "expected an integer, at least 0, found -1",
        ),
        Bad("DataSource", "numbers", lambda: source(numbers=["wage"]), "no column 'wage'"),
        Bad("DataSource", "categories", lambda: source(categories=["wage"]), "no column 'wage'"),
        Bad(
            "DataSource",
            "variant",
            lambda: source(variant="printed"),
            "expected one of sound, published, found 'printed'",
        ),
        Bad(
            "Investigation",
            "source",
            lambda: Investigation("sex", "hired").fit(PEOPLE),
            "expected a DataSource, found DataFrame",
            TypeError,
        ),
        Bad("Investigation", "sensitive_features", fitted("gender", "hired"), "no column 'gender'"),
        Bad("Investigation", "sensitive_features", fitted([], "hired"), "expected at least one column, found none"),
        Bad("Investigation", "output", fitted("sex", "wage"), "no column 'wage'"),
        Bad("Investigation", "output", fitted("sex", "sex"), "expected one of the two"),
        Bad("Investigation", "output", fitted("sex", []), "expected at least one column, found none"),
        Bad("Investigation", "output", fitted("sex", ["wage"]), "no column 'wage'"),
        Bad("Investigation", "explanatory", fitted(explanatory="wage"), "no column 'wage'"),
        Bad("Investigation", "context", fitted(context=["wage"]), "no column 'wage'"),
        Bad(
            "Investigation",
            "metric",
            fitted(metric="DIFF"),
            "expected a Metric such as NMI() or Difference(), found 'DIFF'",
            TypeError,
        ),
        Bad("Investigation", "metric", fitted(metric={"gender": NMI()}), "no sensitive feature 'gender'"),
        Bad("Investigation", "random_state", fitted(random_state="zero"), "expected an integer, at least 0, found"),
        Bad("Investigation", "top_k", fitted("sex", ["hired"], top_k=0), "expected a positive integer, found 0"),
        Bad("Investigation", "max_depth", fitted(max_depth=-1), "expected an integer, at least 0, found -1"),
        Bad("Investigation", "max_depth", fitted(max_depth=0.5), "expected an integer, at least 0, found 0.5"),
        Bad("Investigation", "max_depth", fitted(max_depth="deep"), "expected an integer, at least 0, found 'deep'"),
        Bad("Investigation", "min_leaf_size", fitted(min_leaf_size=0), "expected a positive integer, found 0"),
        Bad("Investigation", "max_bins", fitted(max_bins=0), "expected a positive integer, found 0"),
        Bad(
            "Investigation",
            "score_aggregation",
            fitted(score_aggregation="sum"),
            "expected one of avg, weighted_avg, max, found 'sum'",
        ),
        Bad(
            "Investigation",
            "tags",
            fitted("sex", "tags", data=PEOPLE.assign(tags=[[1]] * 400)),
            "column 'tags': expected strings, booleans or numbers, found a list",
        ),
        Bad(
            "Investigation",
            "wave",
            fitted("sex", "wave", data=PEOPLE.assign(wave=1j)),
            "has type complex128; make it real numbers",
        ),
        Bad("Investigation", "sex", fitted(data=PEOPLE.assign(sex="f")), "has one value in the training set"),
        Bad("Investigation", "wage", fitted(ground_truth="wage"), "ground_truth: no column 'wage'; there are sex,"),
        Bad(
            "Investigation",
            "age",
            fitted(ground_truth="age"),
            "expected one kind, which DataSource(..., numbers=...) or",
        ),
        Bad("Investigation", "fitted", lambda: Investigation("sex", "hired").test(), "not fitted yet"),
        Bad("investigate", "source", lambda: investigate(3, Investigation("sex", "hired")), "found int", TypeError),
        Bad(
            "investigate",
            "investigations",
            lambda: investigate(source(), None),
            "expected an Investigation, found None",
            TypeError,
        ),
        Bad("investigate", "investigations", lambda: investigate(source(), []), "expected at least one, found none"),
        Bad("NMI", "variant", lambda: NMI(variant="printed"), "expected one of sound, published, found 'printed'"),
        Bad("NMI", "age", checked(NMI(), NUMBERS), "holds numbers"),
        Bad(
            "Correlation",
            "variant",
            lambda: Correlation(variant="printed"),
            "expected one of sound, published, found 'printed'",
        ),
        Bad("Correlation", "job", checked(Correlation(), RATES), "has 3: cook, clerk, driver"),
        Bad("Difference", "smoothing", lambda: Difference(smoothing=-1), "expected None or a number from 0, found -1"),
        Bad(
            "Difference",
            "smoothing",
            lambda: Difference(smoothing="some"),
            "expected None or a number from 0, found 'some'",
        ),
        Bad("Difference", "job", checked(Difference(), RATES), "has 3: cook, clerk, driver"),
        Bad("Ratio", "smoothing", lambda: Ratio(smoothing=-1), "expected None or a number from 0, found -1"),
        Bad("Ratio", "age", checked(Ratio(), NUMBERS), "holds numbers"),
        Bad("Regression", "top_k", lambda: Regression(top_k=0), "expected a positive integer, found 0"),
        Bad(
            "Regression",
            "metric",
            lambda: Regression(label_metric="DIFF"),
            "expected a Metric such as Difference(), found 'DIFF'",
            TypeError,
        ),
        Bad("Metric", "Metric", lambda: Metric(), "abstract", TypeError),
        Bad(
            "Column",
            "values",
            lambda: Column("sex", [[0, 1]], ("f", "m")),
            "expected one for each person of column 'sex', found [[0, 1]]",
        ),
        Bad(
            "Column",
            "sex",
            lambda: Column("sex", np.array([0, 7]), ("f", "m")),
            "expected codes of 2 categories of column 'sex', found 0 to 7",
        ),
        Bad(
            "Column",
            "age",
            lambda: Column("age", np.array(["a", "b"])),
            "expected numbers or codes of column 'age', found",
        ),
        Bad("Sample", "age", lambda: Sample(GROUPS, Column("age", np.arange(3.0))), "expected the same people"),
        Bad("Sample", "sensitive_features", lambda: Sample(3, AGES), "expected a Column, found int", TypeError),
        Bad("Sample", "age", NUMBERS.counts, "holds numbers, a contingency table needs categories"),
        lacking(Association, "part"),
        lacking(Subgroup, "node"),
        lacking(Interval, "low"),
        lacking(AssociationReport, "sections"),
        lacking(Section, "output"),
    ]
}
