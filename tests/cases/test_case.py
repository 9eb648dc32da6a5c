import datetime
import re
import sys
from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import keras
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_info, threadpool_limits

from fairlab.cases import BudgetSpentError, Case, CaseError, Finding, MethodResult, Queries, Schema, wrap_model
from fairlab.cases.meaning import PrintedLabel, reach
from fairlab.cases.queries import BATCH_ROWS, FEW_ROWS, row_keys
from fairlab.networks import FeedForward, Network

N = 300


RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "job": pd.Categorical(RNG.choice(["clerk", "baker"], N), categories=["clerk", "baker", "king"]),
        "age": RNG.integers(18, 80, N),
        "income": RNG.normal(30_000, 8000, N).round(2),
        "member": RNG.random(N) < 0.5,
        "children": pd.array(np.where(RNG.random(N) < 0.1, None, RNG.integers(0, 4, N)), dtype="Int64"),
    },
    index=RNG.permutation(N) + 1000,
)
TABLE.loc[TABLE.index[:5], "sex"] = None
TABLE["repaid"] = np.where(TABLE["income"] + 200 * TABLE["age"] > 40_000, "yes", "no")
REPAID = TABLE["repaid"] == "yes"


@pytest.mark.parametrize("y_true", ["repaid", TABLE["repaid"], TABLE[["repaid"]]], ids=["name", "column", "table"])
def test_a_column_of_true_labels_is_no_feature(y_true):
    case = Case(
        lambda rows: np.where(rows["age"] > 40, "yes", "no"),
        TABLE,
        sensitive_features="sex",
        y_true=y_true,
        pos_label="yes",
    )
    assert case.features == tuple(TABLE.columns.drop("repaid"))


@pytest.mark.filterwarnings("ignore:The model gives numbers")
@pytest.mark.parametrize("first", [1, 2.5, None])
def test_true_numbers_may_be_a_list_of_whole_numbers_and_fractions(first):
    truth = [first, 2.5, *range(2, N)]
    case = Case(lambda rows: 0.3 * rows["age"], TABLE, sensitive_features="sex", y_true=truth)
    np.testing.assert_array_equal(case.y_true, np.array(truth, dtype=float))


@pytest.mark.parametrize(
    "names",
    [["a", "b", "a and b"], ["a", "b and c", "a and b", "c"], ["a, b", "c", "a", "b"], ["a, b and c", "a", "b", "c"]],
)
def test_sets_of_sensitive_columns_are_told_apart_by_their_names(names):
    table = pd.DataFrame({name: ["x", "y"] * 10 for name in names})
    with pytest.raises(CaseError, match=r"tell sets of columns apart, found .* which read alike; rename"):
        Case(lambda rows: rows[names[0]] == "x", table, sensitive_features=names)
    case = Case(lambda rows: rows[names[0]] == "x", table, sensitive_features=names[1:])
    assert case.sensitive_features == tuple(names[1:])


def test_values_of_no_rows_are_varied_and_no_rows_drawn():
    case = Case(lambda rows: rows["member"], TABLE, features=["member", "age"], sensitive_features="member")
    nobody, one = (case.vary(case.table.iloc[:n], ["member"]) for n in (0, 1))
    assert (nobody.shape, nobody.dtype, case.draw(0, np.random.default_rng(0)).shape) == ((0, 2), bool, (0, 2))
    assert one.tolist() == [[False, True]]


def test_the_schema_spans_the_table_and_may_be_given_in_part(tmp_path):
    def case(sensitive_features="sex", **options):
        rows = TABLE.drop(columns="repaid")
        return Case(lambda rows: rows["member"], rows, sensitive_features=sensitive_features, **options)

    schema, path = case().schema, tmp_path / "schema.yaml"
    assert dict(zip(schema.names, schema.sizes, strict=True)) == {
        "sex": 3, "job": 2, "age": 62, "income": 10, "member": 2, "children": 5
    }  # fmt: skip
    path.write_text("age: {low: 0, high: 99}\n")
    edges = {"age": {"low": 0, "high": 99}, "income": {"edges": [20_000]}}
    for given, n_income in ((edges, 2), (Schema.from_bounds({"age": (0, 99)}), 10), (path, 10)):
        assert case(schema=given).schema.sizes == (3, 2, 100, n_income, 2, 5)
    seen, blind = (
        case("age", schema={"age": {"edges": edges}}, **features)
        for edges, features in (([30, 60], {}), ([30], {"features": ["member"]}))
    )
    assert [each.groups("age").cat.categories.tolist() for each in (seen, blind)] == [
        ["up to 30", "30 to 60", "above 60"],
        ["up to 30", "above 30"],
    ]
    assert (blind.schema.names, blind.unseen) == (["member"], ("age",))


def test_a_sample_of_the_rows_before_the_model_is_asked_and_of_a_case():
    known = TABLE["age"] > 30
    rows = TABLE.assign(repaid=REPAID.astype(object).where(known, None))
    options = {"sensitive_features": "sex", "y_true": "repaid", "pos_label": True, "random_state": 3}
    small, whole = (Case(lambda rows: rows["income"] > 30_000, rows, max_rows=most, **options) for most in (100, None))
    said = "A random sample of 100 of the 300 rows is examined; intervals are about all 300."
    assert (small.queries.n_queries - small.queries.n_repeated, small.warnings) == (100, (said,))
    part, asked = whole.sample(100, random_state=3), whole.queries.n_queries
    for case in (small, part):
        labels = pd.DataFrame({"labelled": case.labelled, "y_true": case.y_true}, case.table.index)
        expected = pd.DataFrame({"labelled": known, "y_true": REPAID & known}).loc[small.table.index]
        pd.testing.assert_frame_equal(case.table.join(labels), TABLE.drop(columns="repaid").join(expected, how="right"))
    assert (part.decide() == (part.table["income"] > 30_000)).all()
    assert whole.queries.n_queries == asked, "the answers are known"
    assert part.schema == small.schema != whole.schema


# queries

ROWS = pd.DataFrame({"x": [3, 1, 3, 2], "name": ["a", "b", "a", None]})


class Asking:
    """Asks a model that doubles x, and keeps the rows that it was sent."""

    def __init__(self):
        self.queries, self.sent = Queries(), []

    def __call__(self, rows, question="double"):
        return self.queries.answers(question, lambda some: self.sent.append(some) or 2.0 * some["x"].to_numpy(), rows)


def test_a_row_is_asked_once_and_rows_are_sent_in_their_order():
    ask = Asking()
    assert ask(ROWS).tolist() == [6, 2, 6, 4]
    pd.testing.assert_frame_equal(ask.sent[0], ROWS.iloc[[0, 1, 3]].reset_index(drop=True))
    assert (ask.queries.n_queries, ask.queries.n_cached) == (3, 1)
    assert ask(pd.concat([ROWS, ROWS.assign(x=9)])).tolist() == [6, 2, 6, 4, 18, 18, 18, 18]
    pd.testing.assert_frame_equal(ask.sent[1], ROWS.iloc[[0, 1, 3]].assign(x=9).reset_index(drop=True))
    assert (ask.queries.n_queries, ask.queries.n_cached) == (6, 6)
    assert (ask(ROWS, "other").tolist(), ask.queries.n_queries) == ([6, 2, 6, 4], 9), "another question"


def test_a_limit_is_never_exceeded_and_inner_ones_count_for_outer_ones():
    ask, left = Asking(), []
    queries = ask.queries
    with queries.limit(10):
        ask(ROWS)
        with queries.limit(100):
            left.append(queries.left)
        with queries.limit(2):
            with pytest.raises(BudgetSpentError, match="expected at most 2 more model queries, found 3"):
                ask(ROWS.assign(x=[5, 6, 7, 7], name="c"))
            ask(ROWS.iloc[:2])
            left.append(queries.left)  # rows from memory are free
            ask(ROWS.assign(x=8).iloc[:2])
            left.append(queries.left)
        left.append(queries.left)
    assert [*left, queries.left] == [7, 2, 0, 5, np.inf]
    assert queries.n_queries == sum(map(len, ask.sent)) == 5


def test_large_questions_come_in_batches():
    ask, rows = Asking(), pd.DataFrame({"x": np.arange(BATCH_ROWS + 5)})
    assert ask(rows[:1]).tolist() == [0]
    assert (ask(rows) == 2 * rows["x"]).all()
    assert [len(sent) for sent in ask.sent] == [1, BATCH_ROWS, 4]


def test_few_rows_are_answered_by_one_thread_and_many_by_all():
    def n_threads(rows):
        [most] = {pool["num_threads"] for pool in threadpool_info()}
        return np.full(len(rows), float(most))

    with threadpool_limits(2):
        few, many = (Queries().send(n_threads, pd.DataFrame({"x": range(n)})) for n in (FEW_ROWS, FEW_ROWS + 1))
        assert (few[0], many[0], n_threads([0])[0]) == (1, 2, 2)


@pytest.mark.parametrize(
    "values",
    [
        [1, "1", True, 1.0, None, "None", "nan", "(missing)", "", "True"],
        ["a", None, "nan", "None", "(missing)", ""],
        pd.array([0, 1, None, -1], dtype="Int64"),
        pd.array([True, False, None], dtype="boolean"),
        pd.array([0.5, None, 0.0], dtype="Float64"),
        pd.Categorical(["b", None, "a"]),
        [0.0, 1.0, np.nan, 1e-300, -1.0, 2.0**53],
        [2**62, 2**62 + 1, -1, 0],
        np.array([2**63, 2**63 + 1, 0], dtype=np.uint64),
        *(pd.array([2**53, 2**53 + 1, None, 0], dtype=f"{kind}64[pyarrow]") for kind in ("int", "uint")),
        [True, False],
        pd.array(["x", None, "y"], dtype="string"),
    ],
)
def test_different_values_have_different_keys_and_the_same_have_the_same(values):
    column = pd.Series(values)
    first, again = (row_keys(pd.DataFrame({"a": part, "b": 1})).tolist() for part in (column, column.iloc[::-1]))
    assert (len(set(first)), again) == (len(column), first[::-1])


def test_keys_spread_over_all_bits():
    keys = row_keys(pd.DataFrame({"a": np.repeat(np.arange(300), 1000), "b": np.tile(np.arange(1000), 300)}))
    assert len(np.unique(keys)) == 300_000
    assert np.unpackbits(keys[:100_000].view(np.uint8)).mean() == pytest.approx(0.5, abs=0.002)


# finding


def gap(n_rows=1, **changes):
    names = {"method": "Gaps", "sensitive_features": ("sex",), "where": "age < 30", "effect": "difference of rates"}
    names |= {"estimate": 0.12345, "low": 0.05, "high": 0.2, "p_value": 0.01, "n": 40}
    return Finding(**names | {"evidence": pd.DataFrame({"id": range(n_rows)})} | changes)


def test_findings_are_compared_and_hashed_by_their_numbers():
    assert len({gap(1), gap(2), gap(n=41)}) == 2


def test_a_result_lists_what_was_found_and_what_was_skipped():
    found = [gap(), gap(sensitive_features=("race",))]
    result, nothing = MethodResult("Gaps", found, ["race: none."], 1200, 0.25), MethodResult("Gaps", (), (), 0, 0.0)
    assert result.summary == "Gaps: 2 findings, 1 skipped (1,200 model queries, 0.2 s)"
    frame = result.to_frame()
    pd.testing.assert_frame_equal(frame, pd.concat([finding.to_frame() for finding in found], ignore_index=True))
    row = {"sensitive_features": ("race",), "estimate": 0.12345, "p_value": 0.01, "n": 40}
    assert frame.loc[1, list(row)].to_dict() == row
    assert nothing.to_frame().to_dict("list") == {name: [] for name in frame}
    html = MethodResult("Gaps", [gap()] * 25, [], 0, 0.0)._repr_html_()
    assert (html.count("<tr"), "15 more rows" in html, "age &lt; 30" in html) == (1 + 10, True, True)


def test_a_long_effect_leaves_its_interval_room_and_a_dollar_in_a_name_is_no_mathematics():
    effect = "loss ratio under perturbation along the direction of sex (its own decisions as labels; fair up to 1.25)"
    figure = gap(effect=effect, where="paid_$ <= 3 and paid_$ > 1").plot()
    figure.draw_without_rendering()
    assert figure.axes[0].get_position().width > 0.4
    assert r"paid_\$ <= 3 and paid_\$ > 1" in figure.axes[0].get_yticklabels()[0].get_text()


@pytest.mark.parametrize(("limit", "dotted"), [(0.0, []), (1.25, [1.25])])
def test_the_limit_of_a_ratio_is_drawn_beside_it(limit, dotted):
    [axis] = gap(limit=limit).plot().axes
    assert [line.get_xdata()[0] for line in axis.lines if line.get_linestyle() == ":"] == dotted


# models


SIXTY = pd.DataFrame({"sex": ["f", "m"] * 30, "x": np.arange(60)})


def case_of(answer, **options):
    model = answer if callable(answer) else lambda rows: answer[rows["x"].to_numpy()]
    return Case(model, SIXTY, sensitive_features="sex", **options)


HIGH = np.arange(60) >= 45
SCORE = np.arange(60) / 60


BESIDE_LABELS = [
    ({"y_true": HIGH}, "y_true has the labels False, True"),
    ({"y_true": HIGH.astype(int)}, "y_true has the labels 0, 1"),
    ({"y_true": np.where(HIGH, 2.0, 1.0), "pos_label": 2.0}, r"y_true has the labels 1\.0, 2\.0"),
    ({"y_true": np.where(HIGH, "yes", "no"), "pos_label": "yes"}, "y_true has the labels 'no', 'yes'"),
    ({"pos_label": 1}, "the favourable label is 1"),
    ({"y_true": np.arange(60), "pos_label": 1}, "the favourable label is 1"),
]


@pytest.mark.parametrize(
    ("answer", "options", "task"),
    [
        (HIGH, {}, "classes"),
        (HIGH.astype(int), {}, "classes"),
        (HIGH.astype(float), {}, "classes"),
        (np.where(HIGH, 1, -1), {}, "classes"),
        (np.where(HIGH, "yes", "no"), {"pos_label": "yes"}, "classes"),
        (np.where(HIGH, "no", "yes"), {"pos_label": "no"}, "classes"),
        (np.where(HIGH, 7, 3), {"pos_label": 7}, "classes"),
        (np.where(HIGH, "a", np.where(SCORE > 0.5, "b", "c")), {"pos_label": "a"}, "classes"),
        (HIGH.astype(int), {"decision_threshold": 0.5}, "classes"),
        (HIGH[:, None], {}, "classes"),
        (SCORE, {"decision_threshold": 0.75}, "scores"),
        (SCORE * 100, {"decision_threshold": 75}, "scores"),
        (np.arange(60), {"decision_threshold": 45}, "scores"),
        (SCORE.astype(object), {"decision_threshold": 0.75}, "scores"),
        (np.column_stack([1 - SCORE, SCORE]), {"decision_threshold": 0.75}, "scores"),
        (np.column_stack([1 - SCORE / 1.5, SCORE / 1.5]), {"decision_threshold": 0.5}, "scores"),
        # numbers that are refused without a threshold
        *((SCORE * 60 - 30.5, {"decision_threshold": 14.5} | options, "scores") for options, _ in BESIDE_LABELS),
        *((SCORE, {"decision_threshold": 0.75, "pos_label": label}, "scores") for label in (0, False, -1)),
    ],
)
def test_what_answers_mean(answer, options, task):
    asked = case_of(answer, **options)
    assert (asked.task, asked.has_scores) == (task, task == "scores")
    assert (asked.decide() == HIGH).all()
    assert asked.decide(pd.DataFrame({"x": [50, 3, 50], "sex": "f"}, index=[9, 9, 1])).tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["task", "unit", "pos_label", "decision_threshold", "log_odds_threshold"])
def test_what_answers_mean_is_settled_once(name):
    asked = case_of(SCORE, decision_threshold=0.4)
    for case in (asked, asked.sample(10)):
        with pytest.raises(AttributeError, match=name):
            setattr(case, name, 0.7)


def test_probabilities_get_one_half_with_a_notice():
    with pytest.warns(UserWarning, match=r"within 0 and 1: from 0\.5 on they count as favourable"):
        asked, against = case_of(SCORE), case_of(np.column_stack([1 - SCORE, SCORE]), pos_label=0)
    assert (asked.decide() == (SCORE >= 0.5)).all()
    assert (asked.decision_threshold, asked.unit, len(asked.warnings)) == (0.5, "probability", 1)
    np.testing.assert_allclose(asked.log_odds()[1:], np.log(SCORE[1:] / (1 - SCORE[1:])))
    np.testing.assert_allclose(against.score(), 1 - SCORE)


@pytest.mark.parametrize("labels", [{}, {"y_true": HIGH.astype(int)}])
@pytest.mark.parametrize("kind", [float, object])
def test_probabilities_of_exactly_1_are_no_labels(kind, labels):
    with pytest.warns(UserWarning, match=r"within 0 and 1: from 0\.5 on they count as favourable"):
        case = case_of(np.minimum(2 * SCORE, 1).astype(kind), pos_label=1, **labels)
    assert case.task == "scores" and case.decide().tolist() == [False] * 15 + [True] * 45


PROBABILITY = np.random.default_rng(5).permutation(60) / 60


def of_labels(labels, **more):
    """Return a model with probabilities of the labels in this order."""
    return SimpleNamespace(
        predict_proba=lambda rows: np.column_stack([1 - PROBABILITY[rows["x"]], PROBABILITY[rows["x"]]]),
        predict=lambda rows: np.array(labels)[(PROBABILITY[rows["x"]] >= 0.5).astype(int)],
        **more,
    )


@pytest.mark.parametrize("with_truth", [True, False])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    "labels", [(1, 2), ("no", "yes"), ("yes", "no"), (-1, 1), (False, True), (0, 1), (0.0, 1.0), ("0", "1"), (2, 1)]
)
@pytest.mark.parametrize("form", ["object", "object without names", "scores without names", "array", "frame", "turned"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_probabilities_are_those_of_the_favourable_label(form, labels, place, with_truth):
    """Each is right, or refused where nothing names the columns and they have no order that goes without saying."""
    named = of_labels(labels, **({"classes_": np.array(labels)} if form == "object" else {}))
    frame = lambda rows: pd.DataFrame(named.predict_proba(rows), rows.index, labels)  # noqa: E731
    models = {
        "array": named.predict_proba,
        "frame": frame,
        "turned": lambda rows: frame(rows).iloc[::-1, ::-1],
        "scores without names": SimpleNamespace(predict_proba=named.predict_proba),
    }
    options = {"pos_label": labels[place]} | ({"y_true": np.resize(labels, 60)} if with_truth else {})
    goes_without_saying = labels in ((0, 1), (-1, 1)) if with_truth else labels[place] in (0, 1) and labels != (2, 1)
    may_be_wrong = not with_truth and labels in ((1, 2), (-1, 1), (2, 1))  # said in a warning
    try:
        asked = Case(models.get(form, named), SIXTY, sensitive_features="sex", **options)
    except CaseError as error:
        assert form in ("array", "scores without names")
        assert not goes_without_saying
        assert re.search("nothing says which class|not among the model's classes", str(error))
        return
    if may_be_wrong and form in ("array", "scores without names"):
        assert any("nothing names the columns" in text for text in asked.warnings)
        return
    right = PROBABILITY if place else 1 - PROBABILITY
    assert (asked.decide() == (right >= 0.5)).mean() > 0.95  # where both are one half, or rounded
    if asked.has_scores:
        np.testing.assert_allclose(asked.score(), right)
    else:
        assert form == "object without names"
        assert any("scores of the model are left out" in text for text in asked.warnings)


SHARES = np.column_stack([PROBABILITY / 2, (1 - PROBABILITY) / 2, np.full(60, 0.5)])


def of_classes(names, labels, pos_label):
    """Return a case of three probabilities, in columns of these names or as an array."""
    return case_of(
        lambda rows: SHARES[rows["x"]] if names is None else pd.DataFrame(SHARES[rows["x"]], columns=names),
        decision_threshold=0.25,
        pos_label=pos_label,
        y_true=None if labels is None else np.resize(labels, 60),
    )


@pytest.mark.parametrize(
    ("names", "labels", "pos_label", "place"),
    [
        (None, [0, 1, 2], 1, 1),
        (["c", "a", "b"], ["a", "b", "c"], "a", 1),
        ([2, 3, 1], [1, 2, 3], 1, 2),
        ([2, 3, 1], None, 2, 0),
        ([1.0, 2.0, 3.0], [1, 2, 3], 2, 1),
    ],
)
def test_columns_of_several_classes_go_by_their_names(names, labels, pos_label, place):
    np.testing.assert_array_equal(of_classes(names, labels, pos_label).score(), SHARES[:, place])


@pytest.mark.parametrize("with_truth", [True, False])
@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("1", ["0", "1"], "1"),
        ("1", [0, 1], 1),
        ("1", [0.0, 1.0], 1.0),
        ("1.0", [0, 1], 1),
        ("1", [False, True], True),
        ("true", ["false", "true"], "true"),
        ("True", [False, True], True),
        ("false", [False, True], False),
        ("-1", [-1, 1], -1),
        ("nan", ["nan", "x"], "nan"),
        ("01", ["01", "1"], "01"),
    ],
)
def test_a_printed_label_is_the_one_that_looks_so(text, labels, expected, with_truth):
    truth = np.resize(labels, 60) if with_truth else None
    asked = case_of(np.array(labels)[HIGH.astype(int)], pos_label=PrintedLabel(text), y_true=truth)
    assert (asked.pos_label, type(asked.pos_label)) == (expected, type(expected))


def test_numbers_without_a_threshold_are_a_regression():
    with pytest.warns(UserWarning, match="gives numbers from 0 to 98.3333 and no threshold is given: taken as a regr"):
        asked = case_of(SCORE * 100, y_true=np.arange(60) * 2.0)
    assert (asked.task, asked.has_scores, len(asked.warnings)) == ("numbers", False, 1)
    np.testing.assert_allclose([asked.number(), asked.y_true], [SCORE * 100, np.arange(60) * 2.0])
    with pytest.raises(CaseError, match="decision_threshold: the model gives numbers; the least favourable one makes"):
        asked.decide()


def changing(classes, then):
    """Return an estimator of some classes that gives another answer about people of 60 and above."""
    return SimpleNamespace(
        classes_=np.array(classes),
        predict=lambda rows: (
            np.full(len(rows), then) if (rows["x"] >= 60).any() else np.array(classes)[rows["x"] % len(classes)]
        ),
    )


def then(first, later):
    """Return a model of these answers about the sixty, and of another one about people of 60 and above."""
    return lambda rows: np.array([first[x] if x < 60 else later for x in rows["x"]])


def decide_later(model, **options):
    """Return the decisions of a model, whose answers about the sixty are in order, about people of 60 and above."""
    case = Case(model, SIXTY, sensitive_features="sex", **options)
    return case.decide(pd.DataFrame({"sex": ["f", "f"], "x": [60, 99]}))


@pytest.mark.parametrize(
    "model",
    [  # what happens in place returns None
        lambda rows: rows.sort_values("x", ascending=False, inplace=True) or rows["x"] > 30,  # noqa: PD002
        lambda rows: rows.set_index("x", drop=False, inplace=True) or (rows["x"] > 30).to_numpy(),  # noqa: PD002
    ],
)
def test_what_a_model_does_to_its_rows_in_place_changes_nothing(model):
    table = SIXTY.assign(x=np.random.default_rng(3).permutation(60))
    case = Case(model, table, sensitive_features="sex")
    assert (case.decide().tolist(), case.queries.is_deterministic) == ((table["x"] > 30).tolist(), True)


def test_two_cases_of_one_adapter_have_their_own_favourable_label():
    adapter = wrap_model(lambda rows: np.where(rows["x"] > 40, "yes", "no"))
    first, second = (Case(adapter, SIXTY, sensitive_features="sex", pos_label=label) for label in ("yes", "no"))
    assert (first.decide().sum(), second.decide().sum(), first.pos_label) == (19, 41, "yes")


@pytest.mark.parametrize(
    ("answer", "options", "n_favourable", "said"),
    [
        (
            lambda rows: rows["x"].to_numpy(),
            {"decision_threshold": 60},
            0,
            "All decisions are unfavourable: scores are from 0 to 59, the threshold is 60",
        ),
        (np.full(60, "yes"), {"pos_label": "yes"}, 60, "All decisions are favourable: each is 'yes'"),
        (
            np.repeat(["no", "maybe", "yes"], 20),
            {"pos_label": "yes"},
            20,
            "Only 'yes' counts as favourable; as unfavourable count 'maybe', 'no'",
        ),
    ],
)
def test_decisions_that_are_all_alike_and_classes_beside_the_favourable_one_are_said(
    answer, options, n_favourable, said
):
    with pytest.warns(UserWarning, match=said):
        assert case_of(answer, **options).decide().sum() == n_favourable


def test_decisions_of_a_network_of_three_classes_are_not_all_alike():
    network = FeedForward([np.array([[1.0, 0, 2], [0, 3, -1]]), np.array([0.5, 0, -0.5])])
    with pytest.warns(UserWarning, match="Only 1 counts as favourable; as unfavourable count 0, 2"):
        case = Case(
            network, POINTS.assign(sex=["f", "m"] * 20), sensitive_features="sex", features=["a", "b"], pos_label=1
        )
    assert 0 < case.decide().mean() < 1 and len(case.warnings) == 1


def test_certainty_may_be_the_threshold():
    case = Case(logistic(), POINTS.assign(sex=["f", "m"] * 20), sensitive_features="sex", decision_threshold=1)
    assert np.isfinite(case.log_odds() - case.log_odds_threshold).all()
    assert (case.log_odds() < case.log_odds_threshold).all() and not case.decide().any()


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize(
    "model",
    [
        lambda rows: rows["x"].rank(pct=True) > 0.5,
        lambda rows: (rows["x"].rank(pct=True) > 0.9).astype(int),
        lambda rows: rows["x"] > rows["x"].mean(),
        lambda rows: (rows["x"] - rows["x"].mean()) / (rows["x"].std(ddof=0) + 1),
        lambda rows: rows["x"] / rows["x"].max() > 0.5,
        lambda rows: rows["x"].groupby(rows["sex"]).rank(pct=True) > 0.5,
        lambda rows: np.arange(len(rows)) < len(rows) / 2,
        lambda rows: rows["x"] > (1_000_000 if len(rows) == 1 else 20),
        lambda rows: rows.duplicated(),
        lambda rows: NOISE.random(len(rows)) < 0.5,
        lambda rows: rows["x"] > rows["x"].mean() + 20 * (len(rows) == 1) + NOISE.normal(0, 20),
    ],
)
@pytest.mark.parametrize("n", [30, 400, 3000])
@pytest.mark.filterwarnings("ignore:The model gives")
def test_a_model_that_goes_by_its_batch_or_by_chance_is_noticed(model, n):
    table = pd.DataFrame({"sex": np.tile(["f", "m"], n // 2), "x": np.random.default_rng(0).permutation(n) + 1})
    said = r"answers (?!0%|0\.0%)[\d.]+% of \d+ rows otherwise: it is not deterministic, or goes by the rest of a batch"
    with pytest.warns(UserWarning, match=said):
        case = Case(model, table, sensitive_features="sex")
    assert not case.queries.is_deterministic
    assert case.queries.n_queries == n + case.queries.n_repeated <= n + 1000


@pytest.mark.parametrize("copied", [lambda rows: ~rows.duplicated(keep=False), lambda rows: rows["x"].rank() > 100])
def test_a_model_that_goes_by_its_batch_decides_on_the_whole_table(copied):
    table = pd.DataFrame({"sex": ["f", "m"] * 150, "x": np.random.default_rng(0).integers(0, 300, 300)})
    with pytest.warns(UserWarning, match="goes by the rest of a batch"):
        case = Case(copied, table, sensitive_features="sex", pos_label=True)
    assert (case.decide() == copied(table)).all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.filterwarnings("ignore:The model gives numbers")
def test_noise_is_told_from_rounding_in_any_unit(unit):
    table = pd.DataFrame({"sex": np.tile(["f", "m"], 200), "x": np.random.default_rng(0).normal(0, unit, 400)})
    with pytest.warns(UserWarning, match="not deterministic"):
        Case(lambda rows: rows["x"] + NOISE.normal(0, unit, len(rows)), table, sensitive_features="sex")
    case = Case(lambda rows: rows["x"] + 1e-7 * unit * len(rows) / 400, table, sensitive_features="sex")
    assert case.queries.is_deterministic


def test_people_who_are_alike_do_not_share_the_draw_of_a_noisy_model():
    table = pd.DataFrame({"sex": ["f", "m"] * 500, "town": ["x", "y", "y", "x"] * 250})
    with pytest.warns(UserWarning, match="not deterministic"):
        case = Case(lambda rows: NOISE.random(len(rows)) < 0.5, table, sensitive_features="sex", pos_label=True)
    assert (abs(case.decide().reshape(500, 2).mean(axis=0) - 0.5) < 0.15).all(), "four draws for 1,000 people before"
    assert (case.decide() == case.decide()).all() and (case.sample(10).decide().shape == (10,))
    assert case.queries.n_for_case == case.queries.n_queries == 4 + case.queries.n_repeated + 1_000
    with pytest.warns(UserWarning, match="not deterministic"):
        case = Case(lambda rows: NOISE.normal(size=len(rows)), table, sensitive_features="sex")
    assert len(set(case.number())) == 1_000


POINTS = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 2)), columns=["a", "b"])
KERNEL, BIAS = np.array([[1.5], [-2.0]]), np.array([0.25])
ODDS = (POINTS.to_numpy() @ KERNEL + BIAS)[:, 0]


def logistic(*, names=True, labels=(0, 1)):
    """A logistic regression with the weights above."""
    model = LogisticRegression().fit(POINTS if names else POINTS.to_numpy(), np.where(ODDS > 0, *labels[::-1]))
    model.coef_, model.intercept_ = KERNEL.T.copy(), BIAS.copy()
    return model


def keras_network(end="sigmoid", *, kernel=KERNEL, bias=BIAS, functional=False, compiled=None):
    layer, entering = keras.layers.Dense(kernel.shape[1], activation=end), keras.Input((2,))
    model = keras.Model(entering, layer(entering)) if functional else keras.Sequential([entering, layer])
    layer.set_weights([kernel, bias])
    if compiled:
        model.compile(loss=compiled)
    return model


TWO = {"kernel": np.hstack([0 * KERNEL, KERNEL]), "bias": np.append(0, BIAS)}


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    "given",
    [
        keras_network(),
        keras_network(functional=True),
        keras_network("softmax", **TWO),
        keras_network("softmax", functional=True, **TWO),
        keras_network("linear", compiled=keras.losses.BinaryCrossentropy(from_logits=True)),
        keras_network("linear", compiled=keras.losses.SparseCategoricalCrossentropy(from_logits=True), **TWO),
        Network(keras_network("linear"), from_logits=True),
    ],
    ids=["sigmoid", "functional", "softmax", "functional softmax", "logit", "two logits", "told"],
)
def test_every_end_of_a_keras_network_gives_the_same_log_odds(given, label):
    form, sign = wrap_model(given), 2 * label - 1
    assert (form.unit, form.classes, form.answer) == ("log odds", (0, 1), None)
    odds, slope = form.gradient(POINTS.to_numpy(), label)
    np.testing.assert_allclose([form.scorer(POINTS, label), odds], [sign * ODDS] * 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slope, np.tile(sign * KERNEL[:, 0], (40, 1)), rtol=1e-4)


class OwnKeras(keras.Model):
    def __init__(self):
        super().__init__()
        self.network = keras_network("linear")

    def call(self, rows):
        return self.network(rows)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (keras.Sequential([keras.Input((2,)), keras_network()]), 1 / (1 + np.exp(-ODDS))),
        (keras_network("linear"), ODDS),
        (OwnKeras(), ODDS),  # of no known shape
    ],
    ids=["nested", "linear", "class"],
)
def test_keras_models_of_ones_own_making_are_asked_as_they_are(model, expected):
    form = wrap_model(model)
    assert (form.scorer, form.gradient) == (None, None)
    np.testing.assert_allclose(form.answer(POINTS)[:, -1], expected, rtol=1e-4, atol=1e-5)


def test_estimators_give_labels_and_scores_of_a_class():
    form, margin = wrap_model(logistic(labels=("no", "yes"))), wrap_model(LinearSVC().fit(POINTS, ODDS > 0))
    assert (form.unit, form.classes, form.columns) == ("probability", ("no", "yes"), ("a", "b"))
    np.testing.assert_allclose(form.scorer(POINTS, 1), 1 / (1 + np.exp(-ODDS)))
    assert (margin.unit, margin.classes) == ("score", (False, True))
    np.testing.assert_allclose(margin.scorer(POINTS, 0), -margin.scorer(POINTS, 1))
    labels_only = IsolationForest(n_estimators=5).fit(POINTS), LinearRegression().fit(POINTS, ODDS)
    assert [wrap_model(model).scorer for model in labels_only] == [None, None]


@pytest.mark.filterwarnings("error")
def test_what_was_fitted_to_an_array_gets_one():
    form = wrap_model(logistic(names=False))
    assert form.columns is None
    np.testing.assert_allclose(form.scores_of(POINTS), 1 / (1 + np.exp(-ODDS)))
    mixed = pd.DataFrame({"flag": [True, False], "n": pd.array([1, None], dtype="Int64")})
    forest = RandomForestClassifier(n_estimators=2).fit(np.array([[1.0, 1.0], [0.0, np.nan]]), [0, 1])
    assert wrap_model(forest).predict(mixed).shape == (2,)


@pytest.mark.parametrize("library", ["feature_names_in_", "feature_names_", "feature_name_"])
def test_the_features_of_the_fit_come_in_its_order(library):
    def answer(rows):
        return np.asarray(rows)[:, 1] > 0

    named, unnamed, by_number = (
        SimpleNamespace(**{library: names}, n_features_in_=2, predict=answer)
        for names in (["a", "b"], ["Column_0", "Column_1"], ["0", "1"])
    )
    table, by_b = POINTS[["b", "a"]].assign(sex=["f", "m"] * 20), (POINTS["b"] > 0).tolist()
    for features in (None, ["b", "a"]):
        case = Case(named, table, sensitive_features="sex", features=features)
        assert (case.features, case.unseen, case.decide().tolist()) == (tuple(features or "ab"), ("sex",), by_b)
    assert wrap_model(named).predict(table[["b", "a"]]).tolist() == by_b
    assert wrap_model(unnamed).predict(table[["b", "a"]]).tolist() == (POINTS["a"] > 0).tolist()
    for part, inner in (
        ("best_estimator_", named),
        ("calibrated_classifiers_", [SimpleNamespace(estimator=named)]),
        ("estimators_", [named, unnamed]),
        ("steps", [("first", named), ("second", unnamed)]),
    ):
        assert wrap_model(SimpleNamespace(**{part: inner}, n_features_in_=2, predict=answer)).columns == ("a", "b")
    assert wrap_model(by_number).columns == (None if library == "feature_names_" else ("0", "1"))


@pytest.mark.parametrize("threshold", [0.7, 0.3, 0.5])
def test_scores_in_single_precision_reach_a_threshold_as_their_own_comparison_says(threshold):
    scores = np.array([0.1, 0.3, 0.5, 0.7], dtype=np.float32)
    table = pd.DataFrame({"sex": ["f", "m"] * 4, "x": np.arange(8) % 4})
    case = Case(lambda rows: scores[rows["x"]], table, sensitive_features="sex", decision_threshold=threshold)
    assert case.decide().tolist() == (scores >= threshold)[table["x"]].tolist()


@pytest.mark.parametrize("threshold", [0.7, 1e-50, 1e300])
def test_other_scores_below_a_threshold_do_not_reach_it(threshold):
    scores = np.array([0.0, 0.69999999, np.nextafter(0.7, 0), 0.7, 1.0])
    assert reach(scores, threshold).tolist() == (scores >= threshold).tolist()


HALVES = SimpleNamespace(predict_proba=lambda X: np.full((len(X), 2), 0.5))


def test_a_model_of_scores_alone_decides_by_a_threshold():
    X = np.array([[0, 1], [3, 0], [5, 1], [9, 1]])
    assert wrap_model(HALVES).deciding(0.5)(X).all()
    assert wrap_model(lambda X: X[:, :1] / 10).deciding(0.3)(X).tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    "given",
    [
        SimpleNamespace(predict=lambda X: np.asarray(X)[:, [0]] > 1),  # a column, and of booleans
        lambda X: np.asarray(X)[:, [0]] > 1,
        lambda X: [0.0, 1.0],
        lambda X: pd.Series([0, 1]),
        lambda X: np.array([0, True], dtype=object),
    ],
)
def test_zeros_and_ones(given):
    labels = wrap_model(given).binary_of(np.array([[0.0], [2.0]]))
    assert (labels.tolist(), labels.dtype) == ([False, True], bool)


# foreign


def columns_of(case):
    """The column "value" as a case has it, and as its model got it."""
    seen = []

    def model(rows):
        seen.append(rows["value"])
        return (rows["sex"] == "m").astype(int)

    found = Case(model, case, sensitive_features="sex")
    return found.table["value"], seen[0], found


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([datetime.date(1970, 1, 2), datetime.date(9999, 12, 31)], [1, 2932896]),
        ([datetime.date(1, 1, 1), None], [-719162, np.nan]),
        (pd.Series(["1970-01-01 12:00", "9999-12-31"]).astype("datetime64[s]"), [0.5, 2932896]),
        (pd.Series(["1970-01-01", "2262-04-12"]).astype("datetime64[us]"), [0, 106752]),
        (pd.Series(["1970-01-01 01:00", None]).astype("datetime64[ns]").dt.tz_localize("Europe/Paris"), [0, np.nan]),
        (pd.to_timedelta(["36h", "1D"]), [1.5, 1]),
        ([Decimal("12345678901234567890.12"), Decimal("-0.50")], [12345678901234567890.12, -0.5]),
        ([3, 2.5], [3, 2.5]),
        ([7, None], [7, np.nan]),
        ([2**62 + 1, None], [2**62 + 1, np.nan]),
    ],
)
def test_columns_that_methods_take_as_numbers(values, numbers):
    values = pd.Series(values, dtype=object if isinstance(values, list) else None)
    found, seen, case = columns_of(pd.DataFrame({"sex": ["f", "m"], "value": values}))
    np.testing.assert_allclose(found, numbers, rtol=1e-15)
    pd.testing.assert_series_equal(seen, values, check_names=False, check_index=False)
    # Values that the table does not have.
    assert (case.decide(case.rows(case.table.assign(value=case.table["value"] // 2))) == case.decide()).all()


TOO_CLOSE = [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)]


def test_dates_that_are_refused_may_be_left_out():
    table = pd.DataFrame({"sex": ["f", "m"], "value": pd.Series(TOO_CLOSE, dtype=object)})
    Case(lambda rows: rows["sex"] == "m", table, sensitive_features="sex", features=["sex"])


def groups_of(values):
    """Return the groups of people by a column."""
    table = pd.DataFrame({"value": values, "sex": np.resize(["f", "m"], len(values))})
    return Case(lambda rows: rows["sex"] == "m", table, sensitive_features="value").groups("value")


@pytest.mark.parametrize("make", [lambda days: days, lambda days: days.dt.date])
def test_groups_of_dates_are_named_by_dates_and_are_about_equal(make):
    days = pd.Series(pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(365), unit="D"))
    groups = groups_of(make(days)).value_counts(sort=False)
    assert groups.index[0] == f"up to {days[groups.iloc[0] - 1]:%Y-%m-%d}"
    assert groups.between(365 / 4 * 0.8, 365 / 4 * 1.2).all()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pd.to_datetime(["2025-01-01", "2024-02-29"]), ["2024-02-29", "2025-01-01"]),
        ([datetime.date(2025, 1, 1), None], ["2025-01-01", "(missing)"]),
        (pd.to_timedelta([2, 1], unit="D"), ["1 days", "2 days"]),
        ([Decimal("1.50"), Decimal(2)], ["1.5", "2"]),
        (
            pd.to_timedelta(np.arange(40), unit="D"),
            ["up to 9 days", "9 days to 19 days", "19 days to 29 days", "above 29 days"],
        ),
        (list(map(Decimal, range(40))), ["up to 9", "9 to 19", "19 to 29", "above 29"]),
        (list(range(40)), ["up to 9", "9 to 19", "19 to 29", "above 29"]),
        ([True, False, None], ["False", "True", "(missing)"]),
        ([Decimal(1000), Decimal(2)], ["2", "1000"]),
        # whole numbers have the same names in every dtype
        *(
            (pd.Series([1, None, -0.0 if dtype == "float64" else 0, 10, 0], dtype=dtype), ["0", "1", "10", "(missing)"])
            for dtype in ("float64", "Float64", "Int64", "object", "category")
        ),
        ([1.0, "1", "1.0", 2.5], ["1", "2.5", "'1'", "1.0"]),
    ],
)
@pytest.mark.filterwarnings("ignore:value. expected one spelling")
def test_names_of_groups(values, names):
    values = pd.Series(values, dtype=object) if isinstance(values, list) else values
    assert groups_of(values).cat.categories.tolist() == names


@pytest.mark.parametrize(
    "last",
    [
        datetime.date(9999, 12, 31),
        datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
        pd.Timestamp("9999-12-31"),
        pd.Timestamp("9999-12-31", tz="Europe/Paris"),
    ],
)
def test_what_is_no_date_is_refused(last):
    values = pd.Series([last.replace(year=2020), last, None], dtype=object)
    case = columns_of(pd.DataFrame({"sex": ["f", "m", "f"], "value": values}))[2]
    with pytest.raises(CaseError, match=f"column 'value': expected {type(last).__name__}, found the number 2932897"):
        case.decide(case.table.assign(value=2_932_897))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_come_in_with_their_integers_and_categories(library):
    pl, n = pytest.importorskip("polars"), 2**53
    table = pl.DataFrame({"sex": ["m", "f", "x"] * 20, "x": range(60)})
    table = table.with_columns(code=table["x"].replace_strict([0, 1, 2], [n, n + 1, None], default=5))
    table = table.with_columns(table["sex"].cast(pl.Categorical))
    table = table.to_arrow() if library == "pyarrow" else table
    case = Case(lambda rows: rows["x"] > 40, table, sensitive_features=["sex", "code"])
    assert (case.table["x"].tolist(), case.decide().sum()) == ([*range(60)], 19)
    assert [case.groups(name).cat.categories.tolist() for name in ("sex", "code")] == [
        ["f", "m", "x"],  # not as rows come
        ["5", str(n), str(n + 1), "(missing)"],
    ]


# what is refused


def examined(**changes):
    """Return a case of a model of the table that is right but for these arguments."""
    return Case(**{"model": lambda rows: rows["member"], "table": TABLE, "sensitive_features": "sex"} | changes)


def of_values(*values):
    """Return the case of a table of two people that has these values."""
    return columns_of(pd.DataFrame({"sex": ["f", "m"], "value": pd.Series(values, dtype=object)}))


def of_columns(columns, name="sex", **added):
    """Return the case of a table whose columns have these names."""
    columns = columns if isinstance(columns, pd.MultiIndex) else pd.Index(columns, dtype=object, tupleize_cols=False)
    return Case(
        lambda rows: rows.iloc[:, 1] > 4, SIXTY.set_axis(columns, axis=1).assign(**added), sensitive_features=name
    )


def answers_of(kind, answer):
    """Return what an adapter makes of answers about two or three rows: classes, or zeros and ones."""
    return getattr(wrap_model(lambda X: answer), kind)(np.zeros((len(answer), 2)))


CHANGES = [
    ({"model": 3}, r"model: expected an object with \.predict .*, found int"),
    ({"model": ["./credit"]}, "a program comes in as fairlab.models.CommandModel"),
    ({"model": LogisticRegression}, "found the class LogisticRegression"),
    ({"model": LogisticRegression()}, "model: fails on the rows of the table: "),
    (
        {"sensitive_features": [["sex"]]},
        r"sensitive_features: expected the name of a column or a list of names, found \['sex'\]",
    ),
    ({"y_true": {"a": 1}}, "y_true: expected one value for each row, found dict"),
    ({"y_true": {1, 2}}, "y_true: expected one value for each row, found set"),
    ({"y_true": [[1, 2]] * N}, "y_true: expected strings, booleans or numbers, found a list"),
    ({"y_true": pd.date_range("2020", periods=N)}, "y_true: expected strings, .* found a Timestamp"),
    ({"y_true": REPAID.reset_index(drop=True)}, "y_true: has the row label 0, which the table has not"),
    ({"y_true": REPAID[:-1]}, "y_true: expected 300 values, one for each row, found 299"),
    ({"y_true": REPAID.to_numpy()[:-1]}, "y_true: expected 300 values, one for each row, found 299"),
    ({"y_true": "truth"}, "y_true: no column 'truth'"),
    ({"y_true": [None] * N}, "y_true: expected the true labels of some rows at least, all are"),
    ({"y_true": TABLE["repaid"]}, "y_true: has the labels 'no', 'yes', the model answers"),
    ({"y_true": np.where(REPAID, 1, -1)}, "y_true: has the labels -1, 1, the model answers False, True"),
    ({"y_true": np.zeros((N, 2))}, r"y_true: expected one value for each row, found shape \(300, 2\)"),
    (
        {"model": lambda rows: 0.3 * rows["age"], "y_true": [np.inf, *range(1, N)]},
        "y_true: expected finite or missing numbers, found inf",
    ),
    ({"pos_label": [1]}, r"pos_label: expected a label, found \[1\]"),
    ({"schema": {"age": {"edges": "ab"}}}, "schema: feature 'age': expected increasing numbers as edges"),
    ({"schema": {"job": {"edges": [1]}}}, "schema: edges: column 'job' has type category, expected numbers"),
    ({"schema": {"age": 3}}, "schema: feature 'age': expected a list of values, found 3"),
    ({"sensitive_features": ["sex", "sex"]}, "sensitive_features: 'sex' is named twice"),
    ({"y_true": "sex"}, "y_true: 'sex' is also among sensitive"),
    ({"y_true": "member", "features": ["member"]}, "y_true: 'member' is also among features"),
    ({"schema": {"wage": [1]}}, "schema: 'wage' is not among the columns"),
    ({"schema": {"member": [True]}}, "schema: column 'member' holds False, not among its values"),
    ({"schema": "no-such-file.yaml"}, "schema: .*no-such-file"),
    ({"schema": 3}, "schema: expected a Schema, a mapping or a path, found int"),
    (
        {
            "model": SimpleNamespace(
                classes_=np.arange(3), predict_proba=lambda rows: np.full((len(rows), 3), [0.2, 0.3, 0.5])
            ),
            "pos_label": 1,
        },
        "decision_threshold: the model has 3 classes and no predict; give a threshold",
    ),
]
ANSWERS = [
    (np.where(HIGH, "yes", "no"), {}, "pos_label: the labels are 'no', 'yes'; which one is favourable?"),
    (np.arange(60) % 3, {}, "pos_label: the labels are 0, 1, 2; which one is favourable, one against the rest?"),
    (np.where(HIGH, 1, 2), {}, "pos_label: the labels are 1, 2; which one"),
    (
        np.where(HIGH, "yes", "no"),
        {"pos_label": "Yes"},
        "pos_label: 'Yes' is not among the labels; did you mean 'yes'\\? \\(known: 'no', 'yes'\\)",
    ),
    (
        np.where(HIGH, 1, 0),
        {"pos_label": "1"},
        r"pos_label: '1' is not among the labels; did you mean 1\? \(known: 0, 1\)",
    ),
    (np.where(HIGH, "yes", "no"), {"pos_label": PrintedLabel("other")}, "pos_label: 'other' is not among the"),
    (np.where(HIGH, "1", "0"), {"pos_label": 1}, "did you mean '1'\\? \\(known: '0', '1'\\)"),
    (
        HIGH,
        {"decision_threshold": 0.5},
        "decision_threshold: the model gives the labels False, True; leave the threshold out",
    ),
    (
        np.where(HIGH, "yes", "no"),
        {"decision_threshold": 0.5, "pos_label": "yes"},
        "decision_threshold: the model gives the labels",
    ),
    (np.where(HIGH, 1.0, np.nan), {}, "model: 45 of 60 answers are missing, expected one for each row"),
    (np.where(HIGH, 1.0, np.inf), {}, "model: answers infinite or complex numbers"),
    (np.where(HIGH, 1e200, 2.0), {}, "model: expected numbers of a size from 1e-75 to 1e\\+75, found 1e\\+200"),
    (np.where(HIGH, None, "a"), {"pos_label": "a"}, "model: 15 of 60 answers are missing"),
    (lambda rows: HIGH[:-1], {}, "model: expected 60 values, one for each row, found 59"),
    (lambda rows: True, {}, "model: expected one value for each row, found bool"),
    (lambda rows: "yes", {}, "model: expected one value for each row, found str"),
    (lambda rows: rows["wage"], {}, "model: fails on the rows of the table: KeyError: 'wage'"),
    (lambda rows: sys.exit(0), {}, "model: fails on the rows of the table: SystemExit: 0"),
    (lambda rows: rows.pop("x")[1:] > 9, {}, "model: expected 60 values, one for each row, found 59"),
    (lambda rows: csr_matrix(np.eye(len(rows), 2)), {}, "model: expected dense answers, found sparse ones"),
    (lambda rows: pd.arrays.SparseArray(HIGH), {}, "model: expected dense answers, found sparse ones"),
    (
        np.zeros(60),
        {"y_true": np.where(HIGH, "yes", "no"), "pos_label": "yes"},
        "y_true: has the labels 'no', 'yes', the model answers 0.0; make them alike",
    ),
    (lambda rows: {"a": 1}, {}, "model: expected one value for each row, found dict"),
    (lambda rows: None, {}, "model: expected one value for each row, found NoneType"),
    (lambda rows: [[1, 2]] * 60, {}, "model: expected strings, booleans or numbers, found a list"),
    (lambda rows: pd.date_range("2020", periods=60), {}, "model: expected strings, .* found a Timestamp"),
    (lambda rows: np.full((60, 2), "a"), {}, "model: returned several columns that are no numbers"),
    (lambda rows: HIGH * 1j, {}, "model: answers infinite or complex numbers"),
    (lambda rows: rows[["x", "x"]], {}, "model: returned 2 columns, .* Network.model, from_logits=True"),
    (lambda rows: np.ones((2, 2, 2)), {}, "model: expected one value for each row, found shape"),
    (lambda rows: pd.Series(HIGH, index=range(1, 61)), {}, "model: has the row label 60, which the table has not"),
    (
        lambda rows: (rows["x"] - rows["x"].mean()) / rows["x"].std(),
        {},
        r"model: 1 of 1 answers are missing, .* \(rows sent again, in other batches\)",
    ),
    # thresholds that no probability or every one reaches
    *(
        (answer, {"decision_threshold": threshold}, f"expected one above 0, at most 1, found {threshold}")
        for answer in (HIGH.astype(int), lambda rows: rows["x"] / 100)
        for threshold in (2, 1.01, 0, -1)
    ),
    # numbers beside labels, which are no regression, and one probability a row, which is not that of the other label
    *(
        (
            SCORE * 60 - 30.5,
            options,
            f"decision_threshold: the model gives numbers from -30.5 to 28.5, {found}; give decision_threshold=, or "
            r"Network\(model, from_logits=True\) for a network that ends in logits",
        )
        for options, found in BESIDE_LABELS
    ),
    *(
        (1 - SCORE, {"pos_label": label}, f"pos_label: {label} is favourable, and one value .* speaks for 1; expected")
        for label in (0, False, -1)
    ),
]
CLASSES = [
    (None, [1, 2, 3], 1, "the labels are 1, 2, 3, and nothing says which class"),
    (None, [1, 2], 1, "the labels are 1, 2, and nothing says which class"),
    (["c", "a", "b"], ["a", "b", "d"], "a", "y_true: holds 'd'; the model's classes are 'a', 'b', 'c'"),
    (["c", "a", "b"], None, "d", "pos_label: 'd' is not among the model's classes, 'a', 'b', 'c'"),
    (["1", "2", "3"], [1, 2, 3], 1, "pos_label: 1 is not among the model's classes, '1', '2', '3'"),
]
LATER = [
    (then(HIGH.astype(int), 2), {}, ""),
    (then(np.where(HIGH, "a", "b"), None), {"pos_label": "a"}, ""),
    (then(HIGH.astype(float), 0.4), {"pos_label": 1}, "answers 0.4 after labels; scores need decision_threshold"),
    (then(SCORE, 1.5), {"decision_threshold": 0.5}, ""),
    (then(SCORE, np.nan), {"decision_threshold": 0.5}, ""),
    (
        lambda rows: np.where(rows["x"] < 60, rows["x"] / 60, (rows["x"] - 60) / 26),
        {"decision_threshold": 0.5},
        "gives 1.5 after values within 0 and 1",  # and not the 0 before it
    ),
    (
        lambda rows: rows["x"] > 5 // int(rows["x"].max() < 60),
        {},
        "fails on rows that a method made, .* such as sex f, x 60: ZeroDivisionError",
    ),
    *(
        (changing(classes, then), {"pos_label": classes[1]}, f"answers '?{then}'?; its classes are ")
        for classes, then in ((["no", "yes"], 1), ([2, 3, 4], 0), ([0, 1], 2))
    ),
]
NO_CLASSES = [
    ([0.2, 0.7, 1.0], "returned .*0.2.*, expected one class per row; scores and probabilities need decision_thr"),
    ([0.5, 0.5 + 1e-12, 0.5], "need decision_threshold"),
    (np.array([0.5, 1, 0], dtype=object), "need decision_threshold"),
    ([0.0, np.nan, np.nan], "no class for 2 of 3 rows: nan"),
    (np.array(["yes", None, "no"], dtype=object), "no class for 1 of 3 rows: None"),
    ([0.0, np.inf, 1.0], "returned .*inf"),
]
NEITHER_ZERO_NOR_ONE = [
    ([0.0, 0.7], r"returned 0\.7 on input \(0 0\.0, 1 0\.0\), expected 0 or 1"),
    ([0, 2], "returned 2 on input"),
    (["0", "1"], "returned '0' on input"),
    ([None, 1], "returned None on input"),
    ([0, np.nan], "returned nan on input"),
    (np.zeros((2, 2)), r"expected one value for each row, found shape \(2, 2\)"),
]


REFUSED = [
    *((partial(examined, **changes), message) for changes, message in CHANGES),
    *((partial(case_of, answer, **options), message) for answer, options, message in ANSWERS),
    *((partial(of_classes, *given), message) for *given, message in CLASSES),
    *((partial(decide_later, model, **options), f"model: {message}") for model, options, message in LATER),
    *(
        (partial(answers_of, "classes_of", make(answer)), f"model: .*{message}")
        for answer, message in NO_CLASSES
        for make in (list, np.asarray)
    ),
    *((partial(answers_of, "binary_of", answer), f"model: {message}") for answer, message in NEITHER_ZERO_NOR_ONE),
    (lambda: wrap_model(lambda X: [0]).binary_of(np.zeros((2, 1))), "model: expected 2 values, .* found 1"),
    (
        lambda: wrap_model(HALVES).classes_of(np.zeros((2, 1))),
        "expected predict, found scores of SimpleNamespace only; give decision_thr",
    ),
    *(  # classes of a network are numbers
        (
            partial(
                Case,
                keras_network(),
                POINTS.assign(b=np.arange(40) % 2),
                sensitive_features="b",
                y_true=np.resize(labels, 40),
                pos_label=label,
            ),
            "nothing says which class of the model is which",
        )
        for labels, label in ((("no", "yes"), "no"), ((1, 2), 1), (("no", "yes"), "yes"))
    ),
    # dates and decimals that are no numbers of their own
    (partial(of_values, Decimal("1E+400"), Decimal(1)), "column 'value' holds infinite values"),
    (
        partial(of_values, Decimal("0.1"), Decimal("0.10000000000000000001")),
        "holds 0.1 and 0.10000000000000000001, which are one n",
    ),
    (partial(of_values, *TOO_CLOSE), "which are one number, 18262; round them"),
    (
        partial(columns_of, pd.DataFrame({"sex": ["f", "m"], "value": pd.to_datetime([10**18 + 100, 10**18 + 110])})),
        "which are one number, .* leave the column out by",
    ),
    *(
        (
            partial(of_values, *[datetime.datetime(2020, 1, 1), pd.Timestamp("2020-01-01", tz="UTC")][::step]),
            "expected .* time zone",
        )
        for step in (1, -1)
    ),
    # names of columns that are no strings, and text that no file can hold
    *(
        (
            partial(of_columns, columns, name),
            r"table: expected strings as names of columns, found .*table\.columns = ",
        )
        for columns in (
            [0, 1],
            [("who", "sex"), "x"],
            ["sex", 1.5],
            [None, "sex"],
            [b"sex", "x"],
            pd.MultiIndex.from_tuples([("who", "sex"), ("what", "x")]),
        )
        for name in (0, [0], "0", ("who", "sex"), "sex")
    ),
    (partial(of_columns, ["sex", "\ud800"]), "names of columns: expected text, found the lone surrogate"),
    *(
        (
            partial(of_columns, ["sex", "x"], note=make(pd.Series(["x", "\ud800"] * 30, dtype=object))),
            r"column 'note': expected text, found the lone surrogate '.ud800'",
        )
        for make in (pd.Series, pd.Categorical)
    ),
]
OUT_OF_RANGE = [
    (partial(examined, decision_threshold=1j), "decision_threshold: expected a finite number, found 1j"),
    (partial(examined, decision_threshold=True), "decision_threshold: expected a finite number, found True"),
    (partial(gap, low=0.3), r"low: expected at most high \(0\.2\), found 0\.3"),
    (partial(gap, p_value=1.5), r"p_value: expected a number within 0 and 1, or nan, found 1\.5"),
]


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [*((CaseError, *row) for row in REFUSED), *((ValueError, *row) for row in OUT_OF_RANGE)],
)
def test_what_is_refused(error, call, message):
    with pytest.raises(error, match=message):
        call()
