"""Any model, any table, every method: which form of the same model comes in does not matter."""

import datetime
import re
from decimal import Decimal
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fairlab.auditing import audit, run
from fairlab.auditing.audits import METHODS as KNOWN
from fairlab.cases import Case

METHODS, SEARCHES = list(KNOWN), ["adf", "aequitas"]
BUDGET = 3000
N = 240

# The rule of all models: whole numbers, so that no form of it rounds to the other side of the threshold.
LEAST = 69.5
KERNEL = np.array([[40, 1, 10]]) / 10  # of sex, age and member, in a network, which takes tenths of points


def tables():
    """The same people in two tables: as they are, with all that a table may hold, and as numbers."""
    rng = np.random.default_rng(0)
    sex, age, member = rng.random(N) < 0.5, rng.integers(18, 66, N), rng.random(N) < 0.4
    mixed = pd.DataFrame(
        {
            "race": rng.choice(["green", "(missing)", "blue"], N),
            "sex": np.where(sex, "m", "f"),
            "income": rng.normal(30_000, 8000, N).round(2),
            "age": age,
            "class": pd.Categorical(rng.choice(["low", "mid", "high"], N), ["low", "mid", "high", "top"], ordered=True),
            "member": member,
            "children": pd.array(np.where(rng.random(N) < 0.1, None, rng.integers(0, 4, N)), dtype="Int64"),
        },
        index=[f"person {k}" for k in rng.permutation(N)],
    )
    mixed["race"] = mixed["race"].where(rng.random(N) > 0.1, None)
    numbers = pd.DataFrame({"sex": sex.astype(int), "age": age, "member": member}, index=mixed.index)
    return {"mixed": mixed, "numbers": numbers}


TABLES = tables()
SENSITIVE = {"mixed": ["sex", "race"], "numbers": ["sex"]}


def points(rows):
    """The score of the rule, for either table."""
    sex = rows["sex"] == "m" if not pd.api.types.is_numeric_dtype(rows["sex"]) else rows["sex"] == 1
    return 40.0 * sex + rows["age"] + 10.0 * rows["member"] - LEAST


def regression(kind):
    """A pipeline from strings to a logistic regression, or a bare one, with the rule as its weights."""
    table = TABLES[kind]
    encode = make_column_transformer((OneHotEncoder(drop="if_binary"), ["sex"]), ("passthrough", ["age", "member"]))
    model = make_pipeline(encode if kind == "mixed" else "passthrough", LogisticRegression())
    model.fit(table, np.where(points(table) > 0, "yes", "no"))
    model[-1].coef_, model[-1].intercept_ = KERNEL, np.array([-LEAST / 10])
    return model


def keras_network(kind):
    """One sigmoid, with the rule as its weights."""
    keras = pytest.importorskip("keras", reason="Keras is not installed")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    model.set_weights([KERNEL.T, np.array([-LEAST / 10])])
    return model


def torch_network(kind):
    """One logit, with the rule as its weights."""
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed; its extra brings it: pip install 'fairlab[torch]'"
    )
    model = torch.nn.Sequential(torch.nn.Linear(3, 1))
    model.load_state_dict({"0.weight": torch.tensor(KERNEL), "0.bias": torch.tensor([-LEAST / 10])})
    return model


def probabilities(rows):
    return expit(points(rows) / 10)


class Form(NamedTuple):
    """One form of the rule: how to make the model, whether it has scores, the two labels, what else a case is told."""

    make: object
    scores: bool
    labels: tuple = (0, 1)
    options: dict = {}  # noqa: RUF012


def decided(labels):
    return Form(lambda kind: lambda rows: np.where(points(rows) > 0, *labels[::-1]), False, labels)


FORMS = {
    "labels": decided((0, 1)),
    "booleans": decided((False, True)),
    "minus one and one": decided((-1, 1)),
    "strings": decided(("no", "yes"))._replace(options={"pos_label": "yes"}),
    "pipeline": Form(regression, True, ("no", "yes"), {"pos_label": "yes"}),
    "probabilities": Form(
        lambda kind: lambda rows: expit(points(rows) / 10), True, options={"decision_threshold": 0.5}
    ),
    "log odds": Form(lambda kind: lambda rows: points(rows) / 10, True, options={"decision_threshold": 0}),
    "columns of probabilities": Form(
        lambda kind: lambda rows: np.column_stack([1 - probabilities(rows), probabilities(rows)]),
        True,
        options={"decision_threshold": 0.5},
    ),
    "keras": Form(keras_network, True),
    "torch": Form(torch_network, True),
}
NUMBERS_ONLY = {"keras", "torch"}
PAIRS = [(kind, name) for kind in TABLES for name in FORMS if kind == "numbers" or name not in NUMBERS_ONLY]


def case_of(kind, name):
    form, table = FORMS[name], TABLES[kind]
    y_true = np.where(table["age"] > 40, *form.labels[::-1])
    return Case(form.make(kind), table, sensitive_features=SENSITIVE[kind], y_true=y_true, **form.options)


@cache
def examined(method, kind, name):
    """What a method finds about one form."""
    return run(method, case_of(kind, name), budget=BUDGET, random_state=0)


def table_of(result):
    return result.to_frame().set_index(["method", "sensitive_features", "where", "effect"])


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in PAIRS if FORMS[name].scores])
def test_scores_are_those_of_the_rule(kind, name):
    case = case_of(kind, name)
    rows = case.schema.decode(case.schema.sample_codes(500, random_state=1))
    expected = points(rows) / 10 if name == "log odds" else probabilities(rows)
    np.testing.assert_allclose(case.score(rows), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_every_method_finds_the_same_in_every_form(method, kind, name):
    result = examined(method, kind, name)
    reference = examined(method, kind, "probabilities" if FORMS[name].scores else "labels")
    found, expected = table_of(result), table_of(reference)
    if method == "individual_fairness" and name == "log odds":  # a score of no known unit has another loss
        assert len(found) == len(expected)
        return
    if method == "individual_fairness" and name in NUMBERS_ONLY:  # networks are attacked
        own, other = ([(each.who, each.p_value <= 0.05) for each in its.findings] for its in (result, reference))
        assert own == other and "under attack" in found.index[0][-1]
        return
    assert found.index.tolist() == expected.index.tolist()
    assert result.skipped == reference.skipped
    if method in ("rates", "fliptest", "fairtest", "themis"):
        pd.testing.assert_frame_equal(found, expected)
    assert not (found["low"] > expected["high"] + 1e-9).any()  # a search has no interval
    assert not (found["high"] < expected["low"] - 1e-9).any()


@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_cannot_examine_it_says_and_does_not_raise(method):
    table = TABLES["mixed"]
    others = [name for name in table.columns if name not in SENSITIVE["mixed"]]
    blind = Case(lambda rows: rows["member"], table, sensitive_features=SENSITIVE["mixed"], features=others)
    numbers = Case(lambda rows: points(rows) * 7.3, table, sensitive_features=SENSITIVE["mixed"])
    rng = np.random.default_rng(7)
    with pytest.warns(UserWarning, match="not deterministic"):
        noisy = Case(lambda rows: rng.random(len(rows)) < 0.5, table, sensitive_features=SENSITIVE["mixed"])
    for case in (blind, numbers, noisy):
        result = run(method, case, budget=600, random_state=0)
        assert result.findings or result.skipped
    assert not table_of(result)["p_value"].le(0.001).any(), "of noise"


@pytest.mark.parametrize("method", ["themis", "aequitas"])
def test_noise_that_is_too_rare_to_be_seen_at_first_is_no_discrimination(method):
    rng, share = np.random.default_rng(1), 0.0
    drawn = rng.integers(0, 90, (4_000, 2))
    table = pd.DataFrame({"sex": ["f", "m"] * 2_000, "points": drawn[:, 0], "years": drawn[:, 1]})
    case = Case(
        lambda rows: (rows["points"] + rows["years"] > 90).to_numpy() ^ (rng.random(len(rows)) < share),
        table,
        sensitive_features="sex",
    )
    share = 0.001  # of 1,333 rows that the case sent twice, none changes in one case of four
    assert case.queries.is_deterministic
    report = audit(case, methods=[method], margin=0, progress=False)
    assert not case.queries.is_deterministic and not report.significant
    assert any("not deterministic" in said for said in report.warnings)
    skipped = [str(said) for said in report.results[0].skipped]
    assert method == "themis" or "its own noise would count as discrimination" in skipped[0]
    counted = len(table.drop_duplicates()) + report.n_repeated + sum(result.n_queries for result in report.results)
    assert report.n_queries == counted


def test_evidence_of_a_deterministic_model_is_sent_once_more():
    for seconds, n_pairs in ((0.0, 10), (1e6, 1)):  # a slow model is asked about fewer
        case = case_of("mixed", "booleans")
        case.queries.seconds += seconds
        result = run("themis", case, budget=5_000)
        assert result.findings and case.queries.is_deterministic
        shown = [min(len(finding.evidence), n_pairs) for finding in result.findings]
        assert case.queries.n_confirmed == 2 * sum(shown) > 0


@pytest.mark.parametrize("budget", [0, 1, 17, 500])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_asks_no_more_than_it_may(method, budget):
    case = case_of("mixed", "booleans")
    asked = case.queries.n_queries
    result = run(method, case, budget=budget)
    assert case.queries.n_queries - asked == result.n_queries <= budget


# Every dtype with every kind of missing value.

DAYS = [datetime.date(2000, 1, 1), datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]
TIMES = [pd.Timestamp("2000-01-01 05:30"), pd.Timestamp("2010-03-01")]
ACCOUNTS = [Decimal("12345678901234567890.12"), Decimal("5.00")]
FEW = 120


def repeated(values, missing, dtype=object):
    """A column of some values in turn, of which every seventh is missing."""
    return pd.Series([missing if k % 7 == 0 else values[k % len(values)] for k in range(FEW)], dtype=dtype)


def categories(values, **options):
    return repeated(range(len(values)), -1, "int8").pipe(
        lambda codes: pd.Series(pd.Categorical.from_codes(codes, values, **options))
    )


def arrow(values, make):
    return repeated(values, None, pd.ArrowDtype(make(pytest.importorskip("pyarrow"))))


KINDS = {
    **{
        f"{name} and {missing}": partial(repeated, values, missing)
        for missing in (None, np.nan, pd.NA)
        for name, values in {
            "booleans": [True, False],
            "strings": ["a", "nan", "None", "<NA>"],
            "integers": [1, 2, 2**70],
            "fractions": [0.5, 2.0],
            "decimals": ACCOUNTS,
            "dates": DAYS,
        }.items()
    },
    "booleans of NumPy": lambda: repeated([np.True_, np.False_], np.nan),
    "dates and NaT": lambda: repeated(DAYS, pd.NaT),
    "times of Python": lambda: repeated([datetime.datetime(1, 1, 1, 3), datetime.datetime(9999, 1, 1)], None),
    "times of a zone": lambda: repeated([time.tz_localize("Europe/Paris") for time in TIMES], pd.NaT),
    "boolean": lambda: repeated([True, False], pd.NA, "boolean"),
    "Int64": lambda: repeated([1, 2**60 + 1], pd.NA, "Int64"),
    "UInt64": lambda: repeated([1, 2**64 - 1], pd.NA, "UInt64"),
    "Float64": lambda: repeated([0.5, 2.0], pd.NA, "Float64"),
    "float32": lambda: repeated([0.5, 2.0], np.nan, "float32"),
    "string": lambda: repeated(["a", "b"], pd.NA, "string"),
    "str": lambda: repeated(["a", "b"], np.nan, "str"),
    "categories of strings": lambda: categories(["b", "a", "unused"]),
    "categories of integers": lambda: categories([2, 1, 3], ordered=True),
    "categories of fractions": lambda: categories([1.5, 0.5]),
    "categories of booleans": lambda: categories([True, False]),
    "categories of times": lambda: categories(TIMES),
    "categories of dates": lambda: categories(DAYS),
    "categories of intervals": lambda: categories(pd.interval_range(0, 3)),
    "datetime64[s]": lambda: repeated([pd.Timestamp("9999-12-31"), TIMES[0]], pd.NaT, "datetime64[s]"),
    "datetime64[ns]": lambda: repeated([TIMES[0] + pd.Timedelta(1, "ns"), TIMES[1]], pd.NaT, "datetime64[ns]"),
    "datetime64 of a zone": lambda: repeated(
        [time.tz_localize("Europe/Paris") for time in TIMES], pd.NaT, pd.DatetimeTZDtype("us", "Europe/Paris")
    ),
    "timedelta64": lambda: repeated([pd.Timedelta("1D"), pd.Timedelta("90min")], pd.NaT, "timedelta64[ms]"),
    "booleans of Arrow": lambda: arrow([True, False], lambda pa: pa.bool_()),
    "integers of Arrow": lambda: arrow([1, 200], lambda pa: pa.uint8()),
    "fractions of Arrow": lambda: arrow([0.5, 2.0], lambda pa: pa.float64()),
    "strings of Arrow": lambda: arrow(["a", "b"], lambda pa: pa.string()),
    "times of Arrow": lambda: arrow([time.tz_localize("UTC") for time in TIMES], lambda pa: pa.timestamp("ns", "UTC")),
    "dates of Arrow": lambda: arrow(DAYS, lambda pa: pa.date32()),
    "durations of Arrow": lambda: arrow([pd.Timedelta("1D"), pd.Timedelta("2h")], lambda pa: pa.duration("us")),
    "decimals of Arrow": lambda: arrow(ACCOUNTS, lambda pa: pa.decimal128(30, 2)),
}


def typed(values):
    """The values of a column with their types, all missing ones as one, which is equal to itself."""
    return {"missing" if pd.isna(value) else (type(value), value) for value in values.array}


def people_with(**columns):
    return pd.DataFrame({"sex": np.tile(["f", "m"], FEW // 2), "hours": np.arange(FEW) * 7 % 31} | columns)


def examined_with(people, sensitive_features, methods):
    """Apply methods to a rule on these people, whose rows must have their dtypes and, but for one method, values."""
    seen = {name: set() for name in people}

    def model(rows):
        assert rows.dtypes.equals(people.dtypes)
        for name, values in rows.items():
            seen[name] |= typed(values)
        return (rows["hours"] - 20 + 9 * (rows["sex"] == "m") + 5 * rows.iloc[:, -1].isna()).astype(float)

    case = Case(model, people, sensitive_features=sensitive_features, decision_threshold=0.5)
    for method in methods:
        result = run(method, case, budget=1500)
        assert result.findings or method == "fairtest"  # no association is no finding
        assert not [text for text in result.skipped if "cannot" in text]
        for name, values in people.items():
            if method != "individual_fairness":
                assert seen[name] <= typed(values)
            else:  # moves people to values that the table does not have
                assert {type(each) for each in seen[name]} <= {type(each) for each in typed(values)}
            seen[name] = set()
    assert (case.decide(people[::-1]) == (model(people[::-1]) >= 0.5)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype_may_have_missing_values(kind):
    examined_with(people_with(some=KINDS[kind]()), ["sex", "some"], [name for name in METHODS if name not in SEARCHES])


def test_a_search_gets_through_every_dtype_with_missing_values():
    examined_with(people_with(**{kind: make() for kind, make in KINDS.items()}), ["sex"], SEARCHES)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not re.search("date|time|decimal|duration|interval", kind)])
def test_every_dtype_of_true_labels_may_lack_some(kind):
    column = KINDS[kind]()
    favourable = column.dropna().iloc[0]
    case = Case(
        lambda rows: rows["hours"] / 9.0,
        people_with(truth=column),
        sensitive_features="sex",
        y_true="truth",
        pos_label=favourable,
        decision_threshold=2,
    )
    assert (case.labelled == column.notna()).all()
    assert case.y_true.tolist() == [not pd.isna(value) and value == favourable for value in column.array]


def test_audits_of_one_case_are_those_of_fresh_cases():
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "sex": np.append(rng.choice(["f", "m"], 148), ["d", "d"]),
            "age": rng.normal(40, 12, 150).round(2),
            "points": rng.integers(0, 5, 150),
        }
    )

    def new():
        return Case(
            lambda rows: expit(rows["points"] + 1.5 * (rows["sex"] == "m") + (rows["age"] > 45) - 3.3),
            people,
            sensitive_features=["sex", "age"],
            decision_threshold=0.5,
        )

    def told(report):
        warnings = [text for text in report.warnings if not text.startswith("The model is slow")]  # on a busy machine
        return report.n_queries, warnings, [(each.skipped, each.n_queries) for each in report.results]

    one = new()
    for budget in (1200, 90, 600, 160, 1200, 40, 300):
        again, fresh = (audit(case, budget=budget, progress=False) for case in (one, new()))
        pd.testing.assert_frame_equal(again.to_frame(), fresh.to_frame())
        assert told(again) == told(fresh)
    assert one.queries.n_sent < one.queries.n_queries, "answers are remembered"
