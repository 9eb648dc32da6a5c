import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab import fairtest
from fairlab.fairtest import (
    NMI,
    BudgetError,
    Column,
    ConditionalCorrelation,
    ConditionalDifference,
    ConditionalNMI,
    Correlation,
    DataSource,
    Difference,
    Discovery,
    ErrorProfiling,
    Interval,
    Metric,
    Testing,
)
from fairlab.fairtest.prediction_error import prediction_error
from fairlab.fairtest.sample import MISSING


def people(n=2_000):
    """Return people of whom women in the north, and no others, get the offer less often."""
    rng = np.random.default_rng(0)
    woman, north = rng.random((2, n)) < 0.5
    offered = rng.random(n) < np.where(north & woman, 0.2, 0.5)
    return pd.DataFrame(
        {
            "gender": np.where(woman, "female", "male"),
            "race": rng.choice(["a", "b", "c"], n),
            "region": np.where(north, "north", "south"),
            "age": rng.integers(18, 80, n),
            "offer": np.where(offered, "yes", "no"),
            "constant": "same",
        }
    )


PEOPLE = people()


@pytest.fixture
def source():
    return DataSource(PEOPLE, budget=2)


def test_the_planted_context_is_found_and_tested(source):
    investigation = Testing(source, "gender", "offer")
    fairtest.find_contexts(investigation)
    assert [str(node) for node in investigation.contexts("gender")][:2] == ["everyone", "region: north"]
    fairtest.validate_contexts(investigation)
    findings = {str(finding.node): finding for finding in investigation.findings_["gender"]}
    assert findings["region: north"].is_significant
    assert findings["region: north"].effect > findings["everyone"].effect > 0


def test_people_of_a_context_are_those_of_the_test_set(source):
    investigation = Testing(source, "gender", "offer")
    fairtest.find_contexts(investigation, min_leaf_size=20)
    with source.lend_test_set() as columns:
        rows = {name: column.values for name, column in columns.items()}
        source.remaining_ += 1
    fairtest.validate_contexts(investigation)
    north = next(f for f in investigation.findings_["gender"] if str(f.node) == "region: north")
    assert north.size == (rows["region"] == 0).sum()
    np.testing.assert_array_equal(north.sample.output.values, rows["offer"][rows["region"] == 0])


def test_every_protected_attribute_has_its_own_contexts_over_the_others(source):
    investigation = Testing(source, ["gender", "race"], "offer")
    fairtest.find_contexts(investigation, min_leaf_size=20)
    used = {
        name: {c.attribute for node in investigation.trees_[name].walk() for c in node.conditions}
        for name in investigation.protected
    }
    assert "gender" not in used["gender"]
    assert "race" not in used["race"]
    assert investigation.context == ["gender", "race", "region", "age", "constant"]
    assert "constant" not in used["gender"] | used["race"]


def test_corrections_count_all_protected_attributes(source):
    investigation = Testing(source, ["gender", "race"], "offer")
    fairtest.find_contexts(investigation)
    m = sum(len(investigation.contexts(name)) for name in investigation.protected)
    fairtest.validate_contexts(investigation)
    tests = [a for findings in investigation.findings_.values() for f in findings for a in f.associations]
    assert len(tests) == m > 2
    smallest = min(tests, key=lambda a: a.raw_p_value)
    assert smallest.p_value == pytest.approx(m * smallest.raw_p_value)
    level = 1 - (1 - source.conf_) / m
    root = investigation.findings_["gender"][0]
    expected = NMI().exact(root.sample, conf=level, rng=np.random.default_rng(0))
    assert (root.associations[0].low, root.associations[0].high) == (expected.low, expected.high)


def test_several_investigations_share_one_test_set_and_their_intervals_widen(source):
    investigations = [Testing(source, name, "offer", context=[], metric=NMI()) for name in ("gender", "race")]
    fairtest.investigate(investigations)
    assert source.remaining_ == 1
    for investigation, name in zip(investigations, ("gender", "race"), strict=True):
        [finding] = investigation.findings_[name]
        [association] = finding.associations
        # One hypothesis each: Holm changes nothing, the interval is at 1 - (1 - conf) / 2.
        assert association.p_value == association.raw_p_value
        level = 1 - (1 - source.conf_) / 2
        expected = NMI().exact(finding.sample, conf=level, rng=np.random.default_rng(0))
        assert (association.low, association.high) == (expected.low, expected.high)


def test_approximate_tests(source):
    investigation = Testing(source, "gender", "offer", context=[])
    fairtest.investigate(investigation, exact=False)
    [finding] = investigation.findings_["gender"]
    expected = NMI().approximate(finding.sample, conf=source.conf_)
    assert finding.associations[0].low == pytest.approx(float(expected.low))


def test_no_context_depends_on_another():
    runs = []
    for context in ([], None):
        investigation = Testing(DataSource(PEOPLE), "gender", "offer", context=context)
        fairtest.investigate(investigation)
        runs.append(investigation.findings_["gender"][0].associations[0].raw_p_value)
    assert runs[0] == runs[1]


def test_debugging_tests_the_same_contexts_on_a_new_test_set(source):
    investigation = Testing(source, "gender", "offer", metric=Difference(smoothing=1))
    fairtest.investigate(investigation)
    explained = investigation.with_explanatory("region")
    assert not hasattr(explained, "findings_")
    assert explained.contexts("gender") == investigation.contexts("gender")
    assert isinstance(explained.metric["gender"], ConditionalDifference)
    assert explained.metric["gender"].stratum_metric.smoothing == 1
    with pytest.raises(ValueError, match="'offer' is both output and explanatory"):
        investigation.with_explanatory("offer")
    fairtest.validate_contexts(explained)
    first, second = (i.findings_["gender"][0] for i in (investigation, explained))
    assert [a.hypothesis.part for a in second.associations] == ["", "region: north", "region: south"]
    assert not np.array_equal(first.sample.output.values, second.sample.output.values)
    # Contexts by the number of hypotheses in each: the conditional one and both strata, whether they occur or not.
    smallest = min((a for f in explained.findings_["gender"] for a in f.associations), key=lambda a: a.raw_p_value)
    m = 3 * len(explained.contexts("gender"))
    assert smallest.p_value == pytest.approx(m * smallest.raw_p_value)
    with pytest.raises(BudgetError):
        fairtest.validate_contexts(investigation)


def test_a_failed_test_raises_and_gives_the_test_set_back(source):
    class Broken(NMI):
        def exact(self, sample, *, conf, rng):
            raise FloatingPointError("broken")

    investigation = Testing(source, "gender", "offer", metric=Broken())
    fairtest.find_contexts(investigation)
    with pytest.raises(FloatingPointError, match="broken"):
        fairtest.validate_contexts(investigation)
    assert source.remaining_ == 2
    assert not hasattr(investigation, "findings_")


def test_a_metric_of_ones_own(source):
    class Gap(Metric):
        """Difference of the groups' mean ages."""

        name = "GAP"

        def approximate(self, sample, *, conf):
            s, o = sample.protected.values, sample.output.values
            if len(np.unique(s)) < 2:
                return Interval(0.0, 0.0, 1.0)
            gap = o[s == 0].mean() - o[s == 1].mean()
            return Interval(gap - 1, gap + 1, 0.01)

    investigation = Testing(source, "gender", "age", metric={"gender": Gap()})
    fairtest.investigate(investigation, max_depth=2)
    root = investigation.findings_["gender"][0]
    assert root.associations[0].high - root.associations[0].low == pytest.approx(2)
    assert "GAP = [" in str(fairtest.report(investigation))


def test_contexts_without_anyone_in_the_test_set():
    train, _ = train_test_split(np.arange(400), train_size=0.5, random_state=0)
    data = pd.DataFrame(np.random.default_rng(0).integers(2, size=(400, 2)), columns=["group", "output"]).astype(str)
    data["place"] = "common"
    data.loc[train[:50], "place"] = "rare"
    data.loc[train[:50], "output"] = data.loc[train[:50], "group"]
    investigation = Testing(DataSource(data.astype("category")), "group", "output")
    fairtest.investigate(investigation, min_leaf_size=20)
    nobody = next(f for f in investigation.findings_["group"] if str(f.node) == "place: rare")
    [association] = nobody.associations
    assert (nobody.size, association.p_value, nobody.effect) == (0, 1, 0)
    assert np.isnan(association.low)
    assert "rare" not in str(fairtest.report(investigation))


def test_a_protected_attribute_may_determine_the_output():
    data = pd.DataFrame({"group": ["a", "b"] * 100, "output": ["yes", "no"] * 100})
    investigation = Testing(DataSource(data), "group", "output")
    fairtest.investigate(investigation)
    [finding] = investigation.findings_["group"]
    assert finding.is_significant
    assert finding.effect > 0.5


# metrics by default


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


# discovery and error profiling


def test_discovery_finds_and_tests_labels():
    rng = np.random.default_rng(1)
    group = rng.integers(2, size=1_000)
    data = pd.DataFrame({f"tag {j}": (rng.random(1_000) < 0.2 + 0.4 * group * (j == 3)).astype(int) for j in range(8)})
    data["group"] = np.where(group, "b", "a")
    source = DataSource(data)
    labels = [f"tag {j}" for j in range(8)]
    investigation = Discovery(source, "group", labels, top_k=3, context=[])
    fairtest.investigate(investigation)
    [finding] = investigation.findings_["group"]
    assert finding.associations[0].hypothesis.part == "tag 3"
    assert [a.p_value <= 0.05 for a in finding.associations] == [True, False, False]
    assert finding.effect == pytest.approx(np.mean([a.effect for a in finding.associations]))
    assert finding.is_significant
    table = fairtest.label_table(finding)
    assert table.loc["tag 3", "a"] < table.loc["tag 3", "b"]
    with pytest.raises(ValueError, match="a Discovery takes no explanatory attribute"):
        investigation.with_explanatory("group")


def test_errors_of_two_categories():
    truth, prediction = (Column(name, np.array(codes), ("no", "yes")) for name, codes in
                         (("truth", [0, 0, 1, 1]), ("prediction", [0, 1, 0, 1])))  # fmt: skip
    error = prediction_error(prediction, truth)
    assert [error.categories[code] for code in error.values] == [
        "correct", "false positive", "false negative", "correct"
    ]  # fmt: skip


def test_errors_of_more_categories_and_of_numbers():
    truth = Column("truth", np.array([0, 1, 2]), ("a", "b", "c"))
    prediction = Column("prediction", np.array([0, 1, 1]), ("a", "c"))
    assert prediction_error(prediction, truth).values.tolist() == [0, 1, 0]
    numbers = [Column(name, np.array(values)) for name, values in (("p", [1.0, 5]), ("t", [3.0, 4]))]
    assert prediction_error(*numbers).values.tolist() == [2, 1]
    with pytest.raises(ValueError, match="column 'p' holds numbers and 'truth' categories"):
        prediction_error(numbers[0], truth)


def test_error_profiling_leaves_prediction_and_truth_out_of_the_contexts():
    data = PEOPLE.assign(truth=PEOPLE["offer"].where(PEOPLE["gender"] == "male", "yes"))
    investigation = ErrorProfiling(DataSource(data), "gender", "offer", ground_truth="truth")
    assert not {"offer", "truth"} & set(investigation.context)
    fairtest.investigate(investigation)
    root = investigation.findings_["gender"][0]
    assert root.sample.output.categories == ("correct", "false negative", "false positive")
    assert root.is_significant


# bad input

ASK = {"protected": "gender", "output": "offer"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (ASK | {"protected": []}, "protected: expected at least one attribute, found none"),
        (ASK | {"protected": "sex"}, "protected: no column 'sex'; there are gender, race"),
        (ASK | {"output": "offers"}, "output: no column 'offers'"),
        (ASK | {"explanatory": "x"}, "explanatory: no column 'x'"),
        (ASK | {"context": ["age", "y"]}, "context: no column 'y'"),
        (ASK | {"metric": {"sex": NMI()}}, "metric: no protected attribute 'sex'"),
        (ASK | {"protected": ["gender", "gender"]}, "protected: 'gender' is named twice"),
        (ASK | {"protected": "offer"}, "'offer' is both protected and output"),
        (ASK | {"explanatory": "gender"}, "'gender' is both protected and explanatory"),
        (ASK | {"context": ["offer"]}, "context: 'offer' is an output or the explanatory attribute"),
        (ASK | {"explanatory": "age"}, "explanatory: column 'age' holds numbers; cut them into categories"),
        (ASK | {"output": "constant"}, "output: column 'constant' has one value in the training set"),
        (ASK | {"protected": "constant"}, "protected: column 'constant' has one value"),
        (ASK | {"protected": "race", "metric": Difference()}, "metric DIFF needs two categories; column 'race' has 3"),
        (ASK | {"protected": "race", "output": "age"}, "metric CORR needs numbers or two categories; column 'race'"),
        (ASK | {"protected": "age", "metric": NMI()}, "metric NMI needs categories; column 'age' holds numbers"),
    ],
)
def test_bad_arguments(source, arguments, message):
    with pytest.raises(ValueError, match=message):
        Testing(source, **arguments)


def test_a_thousand_groups():
    data = PEOPLE.assign(zip=[f"z{i % 1000}" for i in range(len(PEOPLE))])
    with pytest.raises(ValueError, match="protected: column 'zip' has 1000 categories, expected at most 100"):
        Testing(DataSource(data), "zip", "offer")
    fairtest.find_contexts(Testing(DataSource(data), "gender", "offer"))  # as a context attribute it makes none


def test_a_context_attribute_that_is_the_output_under_another_name():
    for copy in (PEOPLE["offer"], PEOPLE["offer"].map({"yes": "accept", "no": "refuse"})):
        with pytest.raises(ValueError, match="context: column 'copy' says the same as the output 'offer'"):
            Testing(DataSource(PEOPLE.assign(copy=copy)), "gender", "offer")
    with pytest.raises(ValueError, match="context: column 'copy' says the same as the output 'age'"):
        Testing(DataSource(PEOPLE.assign(copy=PEOPLE["age"])), "gender", "age")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (PEOPLE["age"].where(PEOPLE["age"] > 20), "column 'age': .* values are missing or infinite"),
        (PEOPLE["age"].astype(str), "column 'age' holds numbers as text"),
    ],
)
def test_numbers_that_are_missing_or_text(values, message):
    with pytest.raises(ValueError, match=message):
        DataSource(PEOPLE.assign(age=values))


def test_a_missing_category_is_a_group_and_a_context_of_its_own():
    data = PEOPLE.assign(**{name: PEOPLE[name].where(PEOPLE["age"] > 30) for name in ("race", "region")})
    investigation = Testing(DataSource(data), ["race", "gender"], "offer")
    fairtest.investigate(investigation, min_leaf_size=20)
    assert investigation.findings_["race"][0].sample.protected.categories == (MISSING, "a", "b", "c")
    assert f"region: {MISSING}" in {str(child) for child in investigation.trees_["gender"].children}


def test_predictions_without_an_error():
    data = PEOPLE.assign(truth=PEOPLE["offer"])
    with pytest.raises(ValueError, match="output: column 'error of offer' has one value in the training set"):
        ErrorProfiling(DataSource(data), "gender", "offer", ground_truth="truth")


def test_labels_that_nobody_has():
    data = PEOPLE.assign(tag=0, other=0, some=(PEOPLE["age"] > 40).astype(int))
    with pytest.raises(ValueError, match="output: each of 2 labels has one value in the training set"):
        Discovery(DataSource(data), "gender", ["tag", "other"])
    investigation = Discovery(DataSource(data), "gender", ["tag", "some"], context=[])
    fairtest.investigate(investigation)
    tests = {a.hypothesis.part: a for a in investigation.findings_["gender"][0].associations}
    assert tests["tag"].p_value == 1


def test_discovery_needs_two_groups_and_labels(source):
    with pytest.raises(ValueError, match="metric REG needs two categories; column 'race' has 3"):
        Discovery(source, "race", ["offer"])
    with pytest.raises(ValueError, match="metric REG needs categories; column 'age' holds numbers"):
        Discovery(source, "gender", ["age"])
    with pytest.raises(ValueError, match="output: expected a column, found none"):
        Discovery(source, "gender", [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth: expected at least 0, found -1"),
        ({"min_leaf_size": 0}, "min_leaf_size: expected at least 1"),
        ({"max_bins": 0}, "max_bins: expected at least 1"),
        ({"score_aggregation": "sum"}, "score_aggregation: expected one of avg, weighted_avg, max, found 'sum'"),
        ({"min_leaf_size": 1_001}, "the training set has 1000 rows, fewer than min_leaf_size=1001"),
    ],
)
def test_bad_training_parameters(source, options, message):
    with pytest.raises(ValueError, match=message):
        fairtest.find_contexts(Testing(source, "gender", "offer"), **options)


def test_steps_out_of_order(source):
    investigation = Testing(source, "gender", "offer")
    with pytest.raises(ValueError, match="no contexts yet: call find_contexts first"):
        fairtest.validate_contexts(investigation)
    with pytest.raises(ValueError, match="no contexts yet: call find_contexts first"):
        investigation.with_explanatory("region")
    assert source.remaining_ == 2
    fairtest.find_contexts(investigation)
    with pytest.raises(ValueError, match="nothing to report yet: call investigate first"):
        fairtest.report(investigation)
    other = Testing(DataSource(PEOPLE), "gender", "offer")
    fairtest.find_contexts(other)
    with pytest.raises(ValueError, match="expected all of one DataSource, found several"):
        fairtest.validate_contexts([investigation, other])
    for function in (fairtest.find_contexts, fairtest.validate_contexts, fairtest.investigate, fairtest.report):
        with pytest.raises(ValueError, match="investigations: expected at least one, found none"):
            function([])
    with pytest.raises(TypeError, match="source: expected a DataSource, found DataFrame"):
        Testing(PEOPLE, "gender", "offer")
