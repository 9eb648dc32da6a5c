import pandas as pd
import pytest

from fairlab import fairtest
from fairlab.fairtest import (
    NMI,
    ConditionalCorrelation,
    ConditionalDifference,
    ConditionalNMI,
    Correlation,
    DataSource,
    Difference,
    Testing,
)


@pytest.mark.parametrize(
    ("output", "explanatory", "expected"),
    [
        ("offer", None, NMI),
        ("age", None, Correlation),
        ("offer", "region", ConditionalDifference),
        ("race", "region", ConditionalNMI),
        ("age", "region", ConditionalCorrelation),
    ],
)
def test_default_metrics(source, output, explanatory, expected):
    investigation = Testing(source, "gender", output, explanatory=explanatory)
    assert type(investigation.metric["gender"]) is expected


def test_metrics_by_name(source):
    investigation = Testing(source, ["gender", "race"], "offer", metric={"gender": Difference(smoothing=0)})
    assert investigation.metric["gender"].smoothing == 0
    assert isinstance(investigation.metric["race"], NMI)


def test_a_protected_attribute_may_determine_the_output():
    data = pd.DataFrame({"group": ["a", "b"] * 100, "output": ["yes", "no"] * 100})
    investigation = Testing(DataSource(data), "group", "output")
    fairtest.investigate(investigation)
    [finding] = investigation.findings_["group"]
    assert finding.is_significant
    assert finding.effect > 0.5


def test_a_context_attribute_that_is_the_output_under_another_name(people):
    for copy in (people["offer"], people["offer"].map({"yes": "accept", "no": "refuse"})):
        with pytest.raises(ValueError, match="context: column 'copy' says the same as the output 'offer'"):
            Testing(DataSource(people.assign(copy=copy)), "gender", "offer")
    with pytest.raises(ValueError, match="context: column 'copy' says the same as the output 'age'"):
        Testing(DataSource(people.assign(copy=people["age"])), "gender", "age")
