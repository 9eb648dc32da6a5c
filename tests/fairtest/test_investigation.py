import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from fairlab.cases import BudgetSpentError, Case
from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    DataSource,
    Difference,
    Interval,
    Investigation,
    Metric,
    Ratio,
    Sample,
    investigate,
)
from fairlab.fairtest.investigation import prediction_error
from fairlab.fairtest.sample import encode
from fairlab.statistics import holm

MISSING = "(missing)"

ASK = {"sensitive_features": "gender", "output": "offer"}


N = 2_000


@pytest.fixture(scope="module")
def people():
    """People of whom women in the north, and no others, get the offer less often."""
    rng = np.random.default_rng(0)
    woman, north = rng.random((2, N)) < 0.5
    offered = rng.random(N) < np.where(north & woman, 0.2, 0.5)
    return pd.DataFrame(
        {
            "gender": np.where(woman, "female", "male"),
            "race": rng.choice(["a", "b", "c"], N),
            "region": np.where(north, "north", "south"),
            "age": rng.integers(18, 80, N),
            "offer": np.where(offered, "yes", "no"),
            "constant": "same",
        }
    )


@pytest.fixture
def source(people):
    """Their data source, with two test sets."""
    return DataSource(people, budget=2)


class Gap(Metric):
    """Difference of the groups' mean ages."""

    name = "GAP"

    def approximate(self, sample, *, confidence_level):
        s, o = sample.sensitive_features.values, sample.output.values
        gap = o[s == 0].mean() - o[s == 1].mean() if len(np.unique(s)) == 2 else 0
        return Interval(gap - 1, gap + 1, 0.01)


def rows_of(report, context="everyone"):
    """Return the rows on a subgroup, by part."""
    frame = report.frame
    return frame[frame["context"] == context].set_index("part")


# an estimator


def test_parameters_are_kept_and_clones_find_the_same(source):
    given = ASK | {"context": ("region", "age"), "metric": Difference(smoothing=1), "min_leaf_size": 50}
    investigation = Investigation(**given).fit(source)
    assert investigation.get_params().items() >= given.items()
    again = clone(investigation).fit(source)
    assert list(map(str, again.nodes("gender"))) == list(map(str, investigation.nodes("gender")))
    assert again.set_params(max_depth=0).fit(source).trees_["gender"].children == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (ASK | {"sensitive_features": []}, "sensitive_features: expected at least one column, found none"),
        (ASK | {"sensitive_features": "sex"}, r"sensitive_features: no column 'sex' \(known: gender, race"),
        (ASK | {"output": "offers"}, "output: no column 'offers'"),
        (ASK | {"output": []}, "output: expected at least one column, found none"),
        (ASK | {"explanatory": "x"}, "explanatory: no column 'x'"),
        (ASK | {"explanatory": ["race", "region"]}, "explanatory: expected one column, found race, region"),
        (ASK | {"output": ["offer"], "explanatory": "race"}, "output: expected one column with an explanatory"),
        (ASK | {"context": ["age", "y"]}, "context: no column 'y'"),
        (ASK | {"metric": {"sex": NMI()}}, "metric: no sensitive feature 'sex'; there are gender"),
        (ASK | {"metric": Gap(), "explanatory": "race"}, "metric GAP cannot hold an explanatory attribute fixed"),
        (ASK | {"sensitive_features": ["gender", "gender"]}, "sensitive_features: 'gender' is named twice"),
        (ASK | {"sensitive_features": "offer"}, "'offer' is both sensitive_features and output"),
        (ASK | {"explanatory": "gender"}, "'gender' is both sensitive_features and explanatory"),
        (ASK | {"context": ["offer"]}, "'offer' is both output and context; expected one of the two"),
        (ASK | {"explanatory": "age"}, "explanatory: column 'age' holds numbers; cut them into categories"),
        (ASK | {"output": "constant"}, "output: column 'constant' has one value in the training set"),
        (ASK | {"sensitive_features": "constant"}, "sensitive_features: column 'constant' has one value"),
        (ASK | {"sensitive_features": "race", "metric": Difference()}, "metric DIFF needs two .*; column 'race' has 3"),
        (ASK | {"sensitive_features": "race", "output": "age"}, "CORR needs numbers or two categories; column 'race'"),
        (ASK | {"sensitive_features": "age", "metric": NMI()}, "NMI needs categories; column 'age' holds numbers"),
        (ASK | {"sensitive_features": "race", "output": ["offer"]}, "REG needs two categories; column 'race' has 3"),
        (ASK | {"output": ["age"]}, "metric REG needs two categories; column 'age' holds numbers"),
        (ASK | {"ground_truth": "offer"}, "'offer' is both output and ground_truth; expected one of the two"),
        (ASK | {"min_leaf_size": 1_001}, "the training set has 1000 rows, fewer than min_leaf_size=1001"),
    ],
)
def test_questions_that_the_people_cannot_answer(source, arguments, message):
    with pytest.raises(ValueError, match=message):
        Investigation(**arguments).fit(source)


@pytest.mark.parametrize("role", ["sensitive_features", "explanatory", "output"])
def test_columns_of_more_than_a_hundred_categories_are_refused_but_in_the_context(people, role):
    few, many = (people.assign(zip=np.char.add("z", (np.arange(N) % n).astype(str))) for n in (100, 101))
    Investigation(**ASK | {role: "zip"}).fit(DataSource(few))
    with pytest.raises(ValueError, match=f"{role}: column 'zip' has 101 categories, expected at most 100; group them"):
        Investigation(**ASK | {role: "zip"}).fit(DataSource(many))


# metrics


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize(
    ("output", "explanatory", "expected"),
    [
        ("offer", None, NMI),
        ("age", None, Correlation),
        ("offer", "region", Difference),
        ("race", "region", NMI),
        ("age", "region", Correlation),
    ],
)
def test_default_metrics_have_the_variant_of_the_source(people, output, explanatory, expected, variant):
    investigation = Investigation("gender", output, explanatory=explanatory).fit(DataSource(people, variant=variant))
    metric = investigation.metrics_["gender"]
    assert (type(metric), metric.variant) == (expected, variant)


def test_a_metric_of_ones_own(source):
    found = investigate(source, Investigation("gender", "age", metric={"gender": Gap()}, max_depth=2))
    low, high = rows_of(found).loc["", ["low", "high"]]
    assert (high - low, "GAP = [" in str(found)) == (pytest.approx(2), True)


# subgroups


def test_every_sensitive_feature_has_its_own_subgroups_over_the_others(source):
    investigation = Investigation(["gender", "race"], "offer", min_leaf_size=20).fit(source)
    assert investigation.context_ == ["gender", "race", "region", "age", "constant"]
    for name, root in investigation.trees_.items():
        assert name not in {condition.attribute for node in root.walk() for condition in node.conditions}


def test_a_missing_category_is_a_group_and_a_subgroup_of_its_own(people):
    data = people.assign(**{name: people[name].where(people["age"] > 30) for name in ("race", "region")})
    investigation = Investigation(["race", "gender"], "offer", min_leaf_size=20).fit(DataSource(data))
    assert investigation.test().frame["counts"].iloc[0].columns.tolist() == [MISSING, *"abc", "Total"]
    assert f"region: {MISSING}" in {str(child) for child in investigation.trees_["gender"].children}


def test_subgroups_without_anyone_in_the_test_set():
    rare = train_test_split(np.arange(400), train_size=0.5, random_state=0)[0][:50]
    data = pd.DataFrame(np.random.default_rng(0).integers(2, size=(400, 2)), columns=["group", "output"]).astype(str)
    data["place"] = np.where(np.isin(np.arange(400), rare), "rare", "common")
    data.loc[rare, "output"] = data.loc[rare, "group"]
    report = investigate(DataSource(data.astype("category")), Investigation("group", "output", min_leaf_size=20))
    nobody = rows_of(report, "place: rare").loc[""]
    assert nobody[["size", "p_value", "effect", "significant"]].tolist() == [0, 1, 0, False]
    assert (np.isnan(nobody["low"]), "rare" in str(report)) == (True, False)


def test_debugging_tests_the_same_subgroups_on_a_new_test_set(source):
    investigation = Investigation(**ASK, metric=Difference(smoothing=1)).fit(source)
    first, explained = rows_of(investigation.test()), investigation.with_explanatory("region")
    assert (explained.nodes("gender"), explained.metrics_["gender"].smoothing) == (investigation.nodes("gender"), 1)
    report = explained.test()
    second, smallest = rows_of(report), report.frame.nsmallest(1, "raw_p_value").iloc[0]
    assert second["metric"].to_dict() == {"": "COND-DIFF", "region: north": "DIFF", "region: south": "DIFF"}
    assert not first.loc["", "counts"].equals(second.loc["", "counts"])
    # Subgroups by the number of hypotheses in each: the conditional one and both strata, whether they occur or not.
    assert smallest["p_value"] == pytest.approx(3 * len(explained.nodes("gender")) * smallest["raw_p_value"])
    with pytest.raises(BudgetSpentError, match="the budget of 2 test sets is spent"):
        investigation.test()
    with pytest.raises(BudgetSpentError, match="the budget of 2 test sets is spent"):  # and nothing is searched for
        investigate(source, Investigation("no such column", "offer"))


# tests and their correction


def test_the_level_of_a_report_may_be_chosen(source):
    investigation = Investigation("gender", "offer", context=[]).fit(source)
    found = [investigation.test(**level).to_frame()["significant"].item() for level in ({}, {"significance": 1e-300})]
    assert found == [True, False]


@pytest.mark.parametrize(("variant", "shared"), [("sound", 0.05), ("published", 1 - 0.95**3)])
def test_all_test_sets_of_a_source_share_one_level(people, variant, shared):
    investigation = Investigation("gender", "offer", context=[]).fit(DataSource(people, budget=3, variant=variant))
    levels = [investigation.test().significance for _ in range(3)]
    assert 1 - np.prod(np.subtract(1, levels)) == pytest.approx(shared)


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_several_investigations_share_one_test_set_and_the_correction(people, variant):
    several = [Investigation(name, "offer", context=[], metric=NMI()) for name in ("gender", "race")]
    source = DataSource(people, budget=2, variant=variant)
    tests, level = investigate(source, several).to_frame(), 1 - (1 - source.confidence_level_) / 2
    raw = tests["raw_p_value"].tolist()
    # One hypothesis each; as published, each is a family of its own.
    assert tests["p_value"].tolist() == pytest.approx(holm(raw) if variant == "sound" else raw)
    assert source.remaining_ == 1
    with DataSource(people, budget=2, variant=variant).lend_test_set() as tested:
        for name, low, high in tests[["sensitive_features", "low", "high"]].itertuples(index=False):
            sample, rng = Sample(tested[name], tested["offer"]), np.random.default_rng(0)
            expected = NMI().exact(sample, confidence_level=level, rng=rng)
            assert (low, high) == (expected.low, expected.high)


def test_a_correlation_from_sums_is_that_of_the_values(people):
    [test] = investigate(DataSource(people), Investigation("gender", "age", context=[])).frame.itertuples()
    with DataSource(people).lend_test_set() as tested:
        expected = Correlation().exact(Sample(tested["gender"], tested["age"]), confidence_level=0.95, rng=None)
    found = test.low, test.high, test.raw_p_value
    assert found == pytest.approx((expected.low, expected.high, expected.p_value))


def test_one_call_does_what_the_steps_do_and_leaves_what_it_gets(people):
    several = [Investigation(name, "offer", max_depth=2, min_leaf_size=50) for name in ("gender", "race")]
    report, source = investigate(DataSource(people), several, exact=False), DataSource(people)
    assert not any(hasattr(one, "trees_") for one in several)
    first, second = (one.fit(source) for one in several)
    assert str(first.test(second, exact=False)) == str(report)


def test_investigations_of_several_sources_spend_no_test_set(source, people):
    with pytest.raises(ValueError, match="expected all fitted to one DataSource, found several"):
        Investigation(**ASK).fit(source).test(Investigation(**ASK).fit(DataSource(people)))
    assert source.remaining_ == 2


# discovery


@pytest.mark.parametrize("metric", [Difference(), Ratio(), Correlation(), Correlation(variant="published")])
def test_labels_are_tested_in_every_subgroup_by_the_label_metric(people, metric):
    data = people.assign(yes=people["offer"] == "yes", old=(people["age"] > 60).astype(int)).drop(columns="offer")
    options = {"context": ["region", "age"], "metric": metric, "top_k": 2, "max_depth": 2}
    tests = investigate(DataSource(data), Investigation("gender", ["yes", "old"], **options), exact=False).frame
    with DataSource(data).lend_test_set() as columns:
        for test in tests.itertuples():
            members = test.node.members(columns, np.arange(1_000))
            sample = Sample(columns["gender"], columns[test.part]).take(members)
            interval = metric.approximate(sample, confidence_level=1 - 0.05 / len(tests))
            assert test.size == members.sum()
            assert (test.low, test.high) == pytest.approx((float(interval.low), float(interval.high)))
    assert sorted(tests["part"].iloc[:2]) == ["old", "yes"] and len(tests) > 2


def test_labels_that_nobody_has(people):
    source = DataSource(people.assign(tag=0, some=(people["age"] > 40).astype(int)))
    found = investigate(source, Investigation("gender", ["tag", "some"], context=[]))
    assert rows_of(found).loc["tag", "p_value"] == 1


# error profiling


def test_error_profiling_leaves_prediction_and_truth_out_of_the_subgroups(people):
    data = people.assign(truth=people["offer"].where(people["gender"] == "male", "yes"))
    investigation = Investigation(**ASK, ground_truth="truth").fit(DataSource(data))
    found = investigation.test().frame.iloc[0]
    assert (investigation.context_, found["counts"].index.tolist(), found["significant"]) == (
        ["gender", "race", "region", "age", "constant"],
        ["correct", "false negative", "false positive", "Total"],
        True,
    )


NO_YES = pd.CategoricalDtype(["yes", "no"], ordered=True)  # here, no is the positive one


def errors(prediction, truth):
    return prediction_error(
        *(encode(pd.Series(values, name=name)) for name, values in zip("pt", (prediction, truth), strict=True))
    )


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [
        ([0, 1, 0, 1], [0, 0, 1, 1], [0, 2, 1, 0]),  # correct, false negative, false positive
        ([0.0, 1.0, 1.0, 0.0], [0, 1, 0, 1], [0, 0, 2, 1]),
        (pd.Series(["yes", "no"], dtype=NO_YES), pd.Series(["no", "yes"], dtype=NO_YES), [1, 2]),
        ([1, 1], [0, 1], [2, 0]),
        ([9, 10, 10], [9, 10, 2], [0, 0, 1]),  # three labels: right or wrong
        (["a", "c", "c"], ["a", "b", "c"], [0, 1, 0]),
        ([1.5, 5], [3.5, 4], [2, 1]),  # numbers: how far
    ],
)
def test_errors_of_predictions(prediction, truth, expected):
    assert errors(prediction, truth).values.tolist() == expected


# samples


PEOPLE = pd.DataFrame({"number": np.arange(101)})


def split(source):
    """Return the people for training and those of each test set, as they are handed out."""
    parts = [source.training_set(["number"])["number"].values]
    while source.remaining_:
        with source.lend_test_set() as columns:
            parts.append(columns["number"].values)
    return [part.astype(int).tolist() for part in parts]


def test_the_split_is_that_of_scikit_learn_in_its_order_and_a_budget_hands_out_the_last_slice_first():
    train, test = (part.tolist() for part in train_test_split(np.arange(101), train_size=0.5, random_state=0))
    given, rest = [*range(0, 101, 3)], np.flatnonzero(np.arange(101) % 3).tolist()
    thirds = DataSource(PEOPLE, budget=3)
    assert [*map(split, (DataSource(PEOPLE), thirds, DataSource(PEOPLE, budget=2, train=np.arange(101) % 3 == 0)))] == [
        [train, test],
        [train, test[34:], test[17:34], test[:17]],
        [given, rest[33:66], rest[:33]],  # rows for training may be given
    ]
    assert (thirds.n_train, thirds.confidence_level_) == (50, pytest.approx(0.95 ** (1 / 3)))
    assert DataSource(PEOPLE, budget=2, train_size=1 / 3).n_train == 33


def refuses_the_north(rows):
    return (rows["region"] == "south") | (rows["age"] > 60)


@pytest.fixture
def of_model(people):
    """Return a function that makes a case of a model of the people."""
    return lambda y_true: Case(refuses_the_north, people, y_true=y_true, sensitive_features="gender", pos_label=True)


def test_the_outcomes_of_a_case_are_columns_that_define_no_subgroups(people, of_model):
    truth = (people["age"] > 40).to_numpy()
    source, partly = DataSource(of_model(truth)), DataSource(of_model([None, *truth[1:].tolist()]))
    assert ([*source.outcomes], [*partly.outcomes]) == (["favourable", "error"], ["favourable"])
    assert Investigation("gender", "favourable", max_depth=1).fit(source).context_ == list(people.columns)


@pytest.mark.parametrize("output", ["favourable", "error"])
def test_the_outcomes_of_a_case_are_those_by_hand(people, of_model, output):
    truth, favourable = (people["age"] > 40).to_numpy(), refuses_the_north(people).to_numpy()
    by_hand = people.assign(**{output: favourable if output == "favourable" else favourable != truth})
    looked_at = Investigation("gender", output, context=["race", "age"])
    found, expected = (investigate(DataSource(each), looked_at).to_frame() for each in (of_model(truth), by_hand))
    pd.testing.assert_frame_equal(found, expected)


def test_neither_a_failed_test_nor_a_later_change_of_the_table_changes_the_split():
    data = PEOPLE.copy()
    source = DataSource(data)
    data["number"] = 1
    with pytest.raises(ZeroDivisionError), source.lend_test_set():
        1 / 0  # noqa: B018
    assert split(source) == split(DataSource(PEOPLE))


def test_few_whole_numbers_are_categories_and_the_source_says_so():
    data = pd.DataFrame({"race": [1, 2, 3, 1] * 5, "age": range(20), "loan": [0, 1] * 10, "name": ["a", "b"] * 10})
    source, told = DataSource(data, numbers="loan"), DataSource(data, categories=["race", "loan"])
    kinds = {name: column.is_categorical for name, column in source.training_set(data.columns).items()}
    assert kinds == {"race": True, "age": False, "loan": False, "name": True}
    assert (source.warnings, told.warnings) == ({"race": "3 different whole numbers"}, {})


ORDERED = pd.CategoricalDtype(["low", "high", "never"], ordered=True)
PUBLISHED = {"most_codes": 0}


@pytest.mark.parametrize(
    ("values", "options", "categories", "codes"),
    [
        (["pear", "Fig", "apple", "pear"], {}, ("Fig", "apple", "pear"), [2, 0, 1, 2]),
        *((pd.array(["b", None, "a"], kind), {}, (MISSING, "a", "b"), [2, 0, 1]) for kind in ("string", "category")),
        (["b", None, "a"], {}, (MISSING, "a", "b"), [2, 0, 1]),
        (pd.Categorical(["low", "high"], dtype=ORDERED), {}, ("low", "high"), [0, 1]),
        (pd.Categorical(["low", "high"], dtype=ORDERED), PUBLISHED, ("high", "low"), [1, 0]),
        *((["b", "a", None, "c"], options, (MISSING, "a", "b", "c"), [2, 1, 0, 3]) for options in ({}, PUBLISHED)),
        (pd.Categorical(["b", "a", None, "c"], ["c", "unused", "b", "a"]), {}, (MISSING, "a", "b", "c"), [2, 1, 0, 3]),
        ([10, 9, 2, 9], {}, ("2", "9", "10"), [2, 1, 0, 1]),
        ([10.0, 9.0, 2.0, 9.0], {}, ("2", "9", "10"), [2, 1, 0, 1]),
        (pd.array([10, 9, 2, 9], dtype="Int64"), {}, ("2", "9", "10"), [2, 1, 0, 1]),
        ([10, 9, 2, 9], {"kind": "numbers"}, None, [10, 9, 2, 9]),
        ([10, 9, 2, 9], PUBLISHED, None, [10, 9, 2, 9]),
        (range(10), {}, tuple("0123456789"), [*range(10)]),
        (range(11), {}, None, [*range(11)]),
        (range(11), {"kind": "categories"}, (*"0123456789", "10"), [*range(11)]),
        ([1.0, np.nan, 0.0], {}, (MISSING, "0", "1"), [2, 0, 1]),
        ([1.5, np.nan], {"kind": "categories"}, (MISSING, "1.5"), [1, 0]),
        (pd.array([True, None, False], dtype="boolean"), {}, (MISSING, "False", "True"), [2, 0, 1]),
        ([True, True], {}, ("False", "True"), [1, 1]),
        (["(missing)", None, "a"], {}, ("((missing))", "(missing)", "a"), [1, 0, 2]),
        ([1, "1", "a", 1], {}, ("1", "'1'", "a"), [0, 1, 2, 0]),  # a number and its text are two categories
        (pd.Categorical(["10", "9"]), {}, ("10", "9"), [0, 1]),  # as text, since they are declared so
        (pd.Categorical([10, 9]), {}, ("9", "10"), [1, 0]),
        (pd.Categorical([10, 9]), PUBLISHED, ("10", "9"), [0, 1]),
    ],
)
def test_codes_of_a_column(values, options, categories, codes):
    column = encode(pd.Series(values, name="x"), **options)
    assert (column.categories, column.values.tolist()) == (categories, codes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # rows for training that are no split
        (lambda: DataSource(PEOPLE, train=np.zeros(101, dtype=bool)), "101 rows are too few"),
        (lambda: DataSource(PEOPLE, train=[True]), "train: expected true or false for each of 101 rows, found"),
        (lambda: DataSource(PEOPLE, train=np.zeros(101)), "train: expected true or false for each of 101 rows, found"),
        (lambda: DataSource(PEOPLE, train="all"), "train: expected true or false for each of 101 rows, found"),
        # columns that cannot be coded
        (
            lambda: encode(pd.Series([1.5, np.nan], name="x")),
            "column 'x': 1 values are missing; fill them or drop the rows",
        ),
        (
            lambda: encode(pd.Series([1.0, np.inf], name="x", dtype=object)),
            "expected numbers or codes of column 'x', found 1 missing or infinite ones",
        ),
        (
            lambda: encode(pd.Series([1.0, np.inf], name="x")),
            "column 'x' holds infinite values; expected finite or missing ones",
        ),
        (lambda: Column("x", np.array([1.0, np.nan])), "column 'x', found 1 missing or infinite ones"),
        (lambda: encode(pd.Series(["10", "9", "100"], name="x")), "column 'x' holds numbers as text, such as '10'"),
        (lambda: encode(pd.Series([1j, 2], name="x")), "column 'x' has type complex128; make it real numbers"),
        (
            lambda: encode(pd.Series([[1], [2]], name="x")),
            "column 'x': expected strings, booleans or numbers, found a list",
        ),
        (lambda: encode(pd.Series([True, 1, "a"], name="x")), "column 'x' mixes booleans with numbers"),
        (lambda: encode(pd.Series(pd.to_datetime(["2020-01-01"]), name="x")), "column 'x' has type datetime64"),
        # predictions and true labels of two kinds
        *(
            (
                lambda prediction=prediction: errors(prediction, [0, 1, 1]),
                r"column 'p' holds .*(expected the same two labels|and 't' categories)",
            )
            for prediction in ([-1, 1, 1], ["no", "yes", "no"], [True, False, True], [0.5, 0.2, 0.1])
        ),
        # whether a prediction is wrong is not known without both
        (lambda: errors(["no", "yes"], ["yes", None]), "column 't': values are missing, which are no errors"),
        (lambda: errors(["no", None, "yes"], ["no", "yes", "no"]), "column 'p': values are missing"),
    ],
)
def test_rows_and_columns_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
