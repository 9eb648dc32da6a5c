"""Bad input of FairTest: data sources, investigations, metrics, tables."""

import numpy as np
import pandas as pd
from contract.bad_input.cases import CASE
from contract.bad_input.rows import Bad, lacking

from fairlab.fairtest import (
    NMI,
    Association,
    BudgetError,
    Column,
    ConditionalCorrelation,
    ConditionalDifference,
    ConditionalNMI,
    ConditionalRatio,
    Correlation,
    DataSource,
    Difference,
    Discovery,
    ErrorProfiling,
    Finding,
    Interval,
    Metric,
    Ratio,
    Regression,
    Report,
    Sample,
    Section,
    Testing,
    association_table,
    contingency_table,
    examine,
    find_contexts,
    investigate,
    label_table,
    report,
    share_table,
    validate_contexts,
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


def testing(*columns, data=PEOPLE, **options):
    return lambda: Testing(source(data), *(columns or ("sex", "hired")), **options)


def searched(**options):
    return lambda: find_contexts(Testing(source(), "sex", "hired"), **options)


def checked(metric, sample):
    return lambda: metric.check(sample)


def spent():
    data = source()
    investigate(Testing(data, "sex", "hired"), max_depth=1, exact=False)
    investigate(Testing(data, "sex", "hired"), max_depth=1, exact=False)


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
        Bad("DataSource", "budget", lambda: source(budget=0), "expected a whole number of at least 1, found 0"),
        Bad("DataSource", "budget", lambda: source(budget=1.5), "expected a whole number of at least 1, found 1.5"),
        Bad("DataSource", "budget", spent, "of 1 test set is spent", BudgetError),
        Bad("DataSource", "conf", lambda: source(conf=95), "expected a number between 0 and 1, found 95"),
        Bad("DataSource", "conf", lambda: source(conf="high"), "expected a number between 0 and 1, found 'high'"),
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
            "expected a whole number of at least 0, found 'zero'",
        ),
        Bad(
            "DataSource",
            "random_state",
            lambda: source(random_state=-1),
            "expected a whole number of at least 0, found -1",
        ),
        Bad("DataSource", "numbers", lambda: source(numbers=["wage"]), "no column 'wage'"),
        Bad("DataSource", "categories", lambda: source(categories=["wage"]), "no column 'wage'"),
        Bad(
            "DataSource",
            "reading",
            lambda: source(reading="printed"),
            "expected one of sound, as_published, found 'printed'",
        ),
        Bad(
            "Testing",
            "source",
            lambda: Testing(PEOPLE, "sex", "hired"),
            "expected a DataSource, found DataFrame",
            TypeError,
        ),
        Bad("Testing", "protected", testing("gender", "hired"), "no column 'gender'"),
        Bad("Testing", "protected", testing([], "hired"), "expected at least one attribute, found none"),
        Bad("Testing", "output", testing("sex", "wage"), "no column 'wage'"),
        Bad("Testing", "output", testing("sex", "sex"), "expected one of the two"),
        Bad("Testing", "explanatory", testing(explanatory="wage"), "no column 'wage'"),
        Bad("Testing", "context", testing(context=["wage"]), "no column 'wage'"),
        Bad(
            "Testing",
            "metric",
            testing(metric="DIFF"),
            "expected a Metric such as NMI() or Difference(), found 'DIFF'",
            TypeError,
        ),
        Bad("Testing", "metric", testing(metric={"gender": NMI()}), "no protected attribute 'gender'"),
        Bad(
            "Testing",
            "random_state",
            testing(random_state="zero"),
            "expected a whole number of at least 0, found 'zero'",
        ),
        Bad(
            "Testing",
            "tags",
            testing("sex", "tags", data=PEOPLE.assign(tags=[[1]] * 400)),
            "expected numbers, text, categories or booleans",
        ),
        Bad(
            "Testing",
            "wave",
            testing("sex", "wave", data=PEOPLE.assign(wave=1j)),
            "expected real ones, text, categories or booleans",
        ),
        Bad("Testing", "sex", testing(data=PEOPLE.assign(sex="f")), "has one value in the training set"),
        Bad(
            "Discovery", "source", lambda: Discovery(3, "sex", ["hired"]), "expected a DataSource, found int", TypeError
        ),
        Bad("Discovery", "output", lambda: Discovery(source(), "sex", ["wage"]), "no column 'wage'"),
        Bad("Discovery", "output", lambda: Discovery(source(), "sex", []), "expected a column, found none"),
        Bad(
            "Discovery",
            "top_k",
            lambda: Discovery(source(), "sex", ["hired"], top_k=0),
            "expected a whole number of at least 1, found 0",
        ),
        Bad(
            "ErrorProfiling",
            "wage",
            lambda: ErrorProfiling(source(), "sex", "hired", ground_truth="wage"),
            "output: no column 'wage'; there are sex,",
        ),
        Bad(
            "ErrorProfiling",
            "age",
            lambda: ErrorProfiling(source(), "sex", "hired", ground_truth="age"),
            "expected one kind, which DataSource(..., numbers=...) or",
        ),
        Bad(
            "ErrorProfiling",
            "output",
            lambda: ErrorProfiling(source(), "sex", "wage", ground_truth="truth"),
            "no column 'wage'",
        ),
        Bad(
            "find_contexts",
            "investigations",
            lambda: find_contexts(3),
            "expected Testing, Discovery or ErrorProfiling, found 3",
            TypeError,
        ),
        Bad("find_contexts", "investigations", lambda: find_contexts([]), "expected at least one, found none"),
        Bad("find_contexts", "max_depth", searched(max_depth=-1), "expected a whole number of at least 0, found -1"),
        Bad(
            "find_contexts",
            "max_depth",
            searched(max_depth="deep"),
            "expected a whole number of at least 0, found 'deep'",
        ),
        Bad(
            "find_contexts",
            "min_leaf_size",
            searched(min_leaf_size=0),
            "expected a whole number of at least 1, found 0",
        ),
        Bad(
            "find_contexts",
            "score_aggregation",
            searched(score_aggregation="sum"),
            "expected one of avg, weighted_avg, max, found 'sum'",
        ),
        Bad("find_contexts", "max_bins", searched(max_bins=0), "expected a whole number of at least 1, found 0"),
        Bad(
            "validate_contexts",
            "investigation",
            lambda: validate_contexts(testing()()),
            "has no contexts yet: call find_contexts first",
        ),
        Bad(
            "validate_contexts",
            "investigations",
            lambda: validate_contexts(3),
            "expected Testing, Discovery or ErrorProfiling, found 3",
            TypeError,
        ),
        Bad(
            "investigate",
            "investigations",
            lambda: investigate(None),
            "expected Testing, Discovery or ErrorProfiling, found None",
            TypeError,
        ),
        Bad(
            "investigate",
            "max_depth",
            lambda: investigate(testing()(), max_depth=0.5),
            "expected a whole number of at least 0, found 0.5",
        ),
        Bad(
            "report",
            "investigations",
            lambda: report(testing()()),
            "there is nothing to report yet: call investigate first",
        ),
        Bad(
            "report",
            "investigations",
            lambda: report(3),
            "expected Testing, Discovery or ErrorProfiling, found 3",
            TypeError,
        ),
        Bad("NMI", "reading", lambda: NMI(reading="printed"), "expected one of sound, as_published, found 'printed'"),
        Bad("NMI", "age", checked(NMI(), NUMBERS), "holds numbers"),
        Bad(
            "ConditionalNMI",
            "reading",
            lambda: ConditionalNMI(reading="printed"),
            "expected one of sound, as_published, found 'printed'",
        ),
        Bad(
            "Correlation",
            "reading",
            lambda: Correlation(reading="printed"),
            "expected one of sound, as_published, found 'printed'",
        ),
        Bad("Correlation", "job", checked(Correlation(), RATES), "has 3 categories"),
        Bad(
            "ConditionalCorrelation",
            "reading",
            lambda: ConditionalCorrelation(reading=3),
            "expected one of sound, as_published, found 3",
        ),
        Bad("Difference", "smoothing", lambda: Difference(smoothing=-1), "expected None or a number from 0, found -1"),
        Bad(
            "Difference",
            "smoothing",
            lambda: Difference(smoothing="some"),
            "expected None or a number from 0, found 'some'",
        ),
        Bad("Difference", "job", checked(Difference(), RATES), "has 3: cook, clerk, driver"),
        Bad(
            "ConditionalDifference",
            "smoothing",
            lambda: ConditionalDifference(smoothing=np.nan),
            "expected None or a number from 0, found nan",
        ),
        Bad("Ratio", "smoothing", lambda: Ratio(smoothing=-1), "expected None or a number from 0, found -1"),
        Bad("Ratio", "age", checked(Ratio(), NUMBERS), "holds numbers"),
        Bad(
            "ConditionalRatio",
            "smoothing",
            lambda: ConditionalRatio(smoothing=np.inf),
            "expected None or a number from 0, found inf",
        ),
        Bad("Regression", "top_k", lambda: Regression(top_k=0), "expected a whole number of at least 1, found 0"),
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
        Bad("Sample", "protected", lambda: Sample(3, AGES), "expected a Column, found int", TypeError),
        Bad(
            "association_table", "associations", lambda: association_table([]), "expected Mapping, found []", TypeError
        ),
        Bad(
            "association_table",
            "associations",
            lambda: association_table([3]),
            "expected Mapping, found [3]",
            TypeError,
        ),
        Bad("contingency_table", "sample", lambda: contingency_table(3), "expected Sample, found 3", TypeError),
        Bad(
            "contingency_table",
            "age",
            lambda: contingency_table(NUMBERS),
            "holds numbers, a contingency table needs categories",
        ),
        Bad("share_table", "sample", lambda: share_table(3), "expected Sample, found 3", TypeError),
        Bad("share_table", "age", lambda: share_table(NUMBERS), "holds numbers, a contingency table needs categories"),
        Bad("label_table", "finding", lambda: label_table(3), "expected Finding, found 3", TypeError),
        Bad("examine", "case", lambda: examine(3, budget=10), "expected a Case, found int", TypeError),
        Bad("examine", "budget", lambda: examine(CASE, budget=-1), "expected an integer, at least 0, found -1"),
        Bad(
            "examine",
            "confidence",
            lambda: examine(CASE, budget=10, confidence=95),
            "expected a number between 0 and 1, found 95",
        ),
        Bad(
            "examine",
            "max_contexts",
            lambda: examine(CASE, budget=10, max_contexts=-1),
            "expected an integer, at least 0, found -1",
        ),
        lacking(Association, "hypothesis"),
        lacking(Finding, "node"),
        lacking(Interval, "low"),
        lacking(Report, "sections"),
        lacking(Section, "output"),
    ]
}
