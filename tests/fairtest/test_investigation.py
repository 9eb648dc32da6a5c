import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab import fairtest
from fairlab.fairtest import (
    NMI,
    BudgetError,
    ConditionalDifference,
    DataSource,
    Difference,
    Interval,
    Metric,
    Testing,
)
from fairlab.fairtest.sample import MISSING

ASK = {"protected": "gender", "output": "offer"}


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


def test_a_thousand_groups(people):
    data = people.assign(zip=[f"z{i % 1000}" for i in range(len(people))])
    with pytest.raises(ValueError, match="protected: column 'zip' has 1000 categories, expected at most 100"):
        Testing(DataSource(data), "zip", "offer")
    fairtest.find_contexts(Testing(DataSource(data), "gender", "offer"))  # as a context attribute it makes none


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda age: age.where(age > 20), "column 'age': .* values are missing or infinite"),
        (lambda age: age.astype(str), "column 'age' holds numbers as text"),
    ],
)
def test_numbers_that_are_missing_or_text(people, spoil, message):
    with pytest.raises(ValueError, match=message):
        DataSource(people.assign(age=spoil(people["age"])))


def test_a_missing_category_is_a_group_and_a_context_of_its_own(people):
    data = people.assign(**{name: people[name].where(people["age"] > 30) for name in ("race", "region")})
    investigation = Testing(DataSource(data), ["race", "gender"], "offer")
    fairtest.investigate(investigation, min_leaf_size=20)
    assert investigation.findings_["race"][0].sample.protected.categories == (MISSING, "a", "b", "c")
    assert f"region: {MISSING}" in {str(child) for child in investigation.trees_["gender"].children}


@pytest.mark.parametrize("metric", ["DIFF", 3, [NMI()], NMI])
def test_a_metric_that_is_none(source, metric):
    with pytest.raises(TypeError, match="metric: expected a Metric such as NMI"):
        Testing(source, "gender", "offer", metric=metric)


def test_names_and_seeds_that_are_none(source):
    with pytest.raises(TypeError, match="protected: expected the name of a column"):
        Testing(source, 2.5, "offer")
    with pytest.raises(ValueError, match="explanatory: expected one column, found race, region"):
        Testing(source, "gender", "offer", explanatory=["race", "region"])
    with pytest.raises(ValueError, match="random_state: expected a whole number"):
        Testing(source, "gender", "offer", random_state="x")
    with pytest.raises(TypeError, match="investigations: expected Testing, Discovery or ErrorProfiling, found 'all'"):
        fairtest.investigate(["all"])


def test_the_reading_of_the_source_is_that_of_the_metrics(people):
    published = DataSource(people, reading="as_published")
    assert Testing(published, "gender", "offer").metric["gender"].reading == "as_published"
    assert Testing(published, "gender", "offer", explanatory="region").metric["gender"].stratum_metric.smoothing == 5
    assert Testing(published, "age", "offer").metric["age"].reading == "as_published"
    assert Testing(DataSource(people), "gender", "offer").metric["gender"].reading == "sound"
