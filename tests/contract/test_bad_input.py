"""Bad input: every public callable refuses bad values of its parameters, with an error that names the parameter.

Bad values are made by the kind of a parameter, which its name tells. A new public callable needs a valid call here; a
parameter of a new name needs a kind.
"""

import inspect
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audited import report

import fairlab
from fairlab import adf, auditing, cases, checks, data, fairtest, fliptest, models, networks, seeds, themis, transport
from fairlab import individual_fairness as fairness
from fairlab.data.project import project
from fairlab.fair_metric import FairMetric, check_over_metric, sensitive_directions
from fairlab.papers.themis.settings import read_settings
from fairlab.site.building import packages
from fairlab.transport.maps import check_widths

NAN = float("nan")
YES = np.array([0, 0, 1, 1, 0, 1, 1, 0])
AGES = pd.DataFrame({"age": [25, 31, 38, 42, 47, 55, 61, 29], "income": [1.0, 2.5, 2.0, 4.0, 3.0, 5.5, 4.5, 1.5]})
MOVED = AGES + 1.0
TEXTS = AGES.assign(age=[*"abcdefgh"])
PEOPLE = AGES.assign(sex=[*"fmfmfmfm"], repaid=YES)
MANY = pd.concat([PEOPLE] * 50, ignore_index=True)
SCHEMA = cases.Schema.from_dict({"sex": [0, 1], "age": range(5), "skill": range(4)})
CODES = np.array([[0, 1, 2], [1, 3, 0], [0, 4, 3], [1, 0, 1]] * 3)
INPUTS = pd.DataFrame(CODES, columns=SCHEMA.names)
LOSS = np.arange(1.0, 9.0)
WEIGHTS = [np.ones((3, 2), np.float32), np.zeros(2, np.float32)]

# Bad values by kind, and the names of parameters of that kind. None is bad as well, unless it is the default.
NUMBERS = ("many", [["a", "b"], ["c", "d"]], np.full((8, 2), NAN), np.full((8, 2), 1j))
KINDS = {
    "count": (
        (0, -1, 1.5, NAN, "many", True),
        "batch_size bins budget critic_steps in_flight log_every max_bins max_found max_rows max_samples max_size "
        "min_leaf_size n n_clusters n_columns n_epochs n_jobs n_people n_resamples n_rows n_samples n_seeds n_steps "
        "n_walks refresh smallest_size top_k global_step local_step",
    ),
    "count or zero": ((-1, 1.5, NAN, "many", True), "index max_depth max_iter min_samples n_local n_discriminatory"),
    "fraction": ((-0.5, 0, 1, 95, NAN, "high"), "alpha confidence_level error_bound significance train_size"),
    "probability": ((-0.5, 95, NAN, "high"), "margin min_score smallest_share"),
    "positive": ((0, -1, NAN, "small"), "clip learning_rate max_loss_ratio penalty step_size timeout"),
    "zero or more": ((-1, NAN, "small"), "regularizer smoothing within"),
    "number": ((NAN, "high", [1]), "decision_threshold degrees"),
    "seed": ((-1, 1.5, "zero", True), "random_state seed root"),
    "choice": (
        ("printed", 3),
        "dtype measure method number profile rows schedule score_aggregation solver stop strategy variant verdict_on",
    ),
    "flag": (
        ("no", 3),
        "anew binary exact from_logits keep_going progress prune requested rounded_loss scaled squared trajectory",
    ),
    "model": ((3, "model"), "model score"),
    "callable": ((3, "far"), "cost decide output_distance report"),
    "schema": ((3, {"sex": [0, 1]}), "schema"),
    "table": ((3, "people.csv", [[1, 2], [3, 4]]), "column data frame inputs table"),
    "features": ((3, *NUMBERS, AGES[:0], AGES["age"], TEXTS), "X X_image X_source X_target"),
    "numbers": (NUMBERS, "attacked_loss coef directions intercept loss matrix projection scale"),
    "labels": (([0, 1], np.full(8, 0.5), np.full(8, NAN), [*"abcdefgh"]), "attacked_wrong wrong y"),
    "columns": ((3, "wage", ["sex", "wage"], []), "context features names numbers categories sensitive_features"),
    "column name": ((3, "wage"), "explanatory ground_truth name output y_true"),
    "text": ((3, [1]), "message model_name model_version what missing"),
    "path": ((3, [1]), "path"),
    "case": ((3, PEOPLE, "case"), "case case_a case_b"),
    "flipset": ((3, PEOPLE), "flip flipset"),
    "metric": ((3, "NMI"), "metric label_metric"),
    "random states": (([], 3, [-1], [0.5], "zero"), "random_states"),
}


class Lazy:
    """A good value that takes long to make."""

    def __init__(self, make):
        self.make = make


@dataclass
class Use:
    """A valid call of a public callable.

    Attributes
    ----------
    call : callable
    good : dict
        Arguments by name.
    then : callable
        What is done with the result: estimators check their parameters when they are used.
    bad : dict
        By parameter, a kind that its name does not tell, bad values of its own, or None if it takes everything.
    """

    call: Callable
    good: dict = field(default_factory=dict)
    then: Callable = lambda result: None
    bad: dict = field(default_factory=dict)

    @property
    def name(self):
        call = getattr(self.call, "func", self.call)
        return f"{call.__module__}.{call.__qualname__}".removeprefix("fairlab.")

    def run(self, **changes):
        given = {name: value.make() if isinstance(value, Lazy) else value for name, value in self.good.items()}
        with warnings.catch_warnings(action="ignore"):
            return self.then(self.call(**given | changes))


def at_40(rows):
    """A model: 1 from 40 years on."""
    return (np.asarray(rows)[:, 0].astype(float) >= 40).astype(int)


def skilled(inputs):
    """A model over the schema: 1 for the skilled."""
    return (np.asarray(inputs)[:, 2] > 1).astype(int)


def skill(inputs):
    """Scores over the schema."""
    return np.asarray(inputs)[:, 2] / 4


@cache
def keras_network():
    from fairlab.benchmarks.adf import dense_network

    return dense_network(WEIGHTS)


def settings():
    path = project().results / "settings.xml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("<a><input><name>sex</name><type>categorical</type><value>f</value></input></a>")
    return path


CASE = cases.Case(at_40, PEOPLE, sensitive_features="sex", features=["age", "income"])
METRIC = FairMetric.from_directions([[1.0, 0.0]])
LINE = models.LinearClassifier([0.1, -0.1], 0.0)
THEMIS = themis.Themis(skilled, SCHEMA, max_samples=50)
FLIPS = fliptest.flipset(at_40, AGES, MOVED)
ATTACK = {"model": LINE, "metric": METRIC, "X": AGES, "y": YES, "regularizer": 1.0, "step_size": 0.1, "n_steps": 1}
FITTED = transport.ExactTransport().fit(AGES, MOVED)
GROUPS = fairtest.Column("sex", np.array([0, 1] * 10), ("f", "m"))
KERAS = Lazy(keras_network)


def fits(result):
    return result.fit(AGES, MOVED)


NO_SUCH = ("none such", 3)
COUNTS = {"hits": ([[0, -1]], [[9, 9]], "many", [[NAN, 1]]), "totals": ([[1, 1]], "many", [3])}
PLAIN = {"warnings": [], "sections": []}
NOT_PLAIN = (3, "report", {}, [PLAIN])
USES = [
    # Cases, audits, data
    Use(
        cases.Case,
        {"model": at_40, "table": PEOPLE, "sensitive_features": "sex", "features": ["age", "income"]},
        bad={"pos_label": NO_SUCH, "schema": (3, SCHEMA), "y_true": (3, "wage", YES[:5]), "max_rows": (1, -1, 2.5)},
    ),
    Use(CASE.sample, {"n_rows": 4}),
    Use(CASE.groups, {"name": "sex"}),
    Use(CASE.decide, {"rows": PEOPLE}, bad={"rows": (3, PEOPLE[["age"]], AGES.astype(str))}),
    Use(CASE.queries.limit, {"n_rows": 3}, lambda limit: limit.__enter__(), {"n_rows": (-1, NAN, "many")}),
    Use(cases.Queries),
    Use(cases.AnswerCache),
    Use(cases.wrap_model, {"model": at_40}),
    Use(cases.Encoding, {"table": AGES}),
    Use(CASE.encoding.transform, {"rows": AGES}, bad={"rows": "table"}),
    Use(CASE.encoding.inverse_transform, {"matrix": np.zeros((2, 2))}, bad={"matrix": (3, *NUMBERS, np.ones((2, 9)))}),
    Use(
        cases.Feature,
        {"name": "age", "values": [1, 2]},
        bad={"name": "text", "values": (3, (), "ab", (1, 1)), "edges": ("ab", [3, 1])},
    ),
    Use(
        cases.Feature.between,
        {"name": "age", "low": 0, "high": 3},
        bad={"name": None, "low": ("0", 9, 0.5), "high": ("0", -1, 0.5)},
    ),
    Use(cases.Schema, {"features": (cases.Feature("age", [1, 2]),)}, bad={"features": (3, (), (3,))}),
    Use(cases.Schema.from_dict, {"content": {"age": [1, 2]}}, bad={"content": (3, [1, 2])}),
    Use(cases.Schema.from_bounds, {"bounds": {"age": (1, 2)}}, bad={"bounds": (3, [1, 2])}),
    Use(cases.Schema.from_frame, {"table": AGES}, bad={"bins": "count or None"}),
    Use(SCHEMA.sample, {"n": 3}, bad={"n": "count or zero"}),
    Use(SCHEMA.encode, {"inputs": INPUTS}, bad={"inputs": (3, INPUTS[["sex"]])}),
    Use(SCHEMA.decode, {"codes": CODES}, bad={"codes": (3, CODES[:, :2], CODES - 1, CODES + 9, CODES / 2)}),
    Use(SCHEMA.check, {"X": CODES}, bad={"X": (3, CODES[:, :2], CODES / 2, CODES + 2.0**60), "name": None}),
    Use(
        auditing.audit,
        {"case": CASE, "methods": ["themis"], "budget": 100, "progress": False},
        bad={
            "methods": ((), 3, "luck"),
            "max_seconds": "positive or None",
            "proxies": (3, "yes", {"sex": ["wage"]}, {"wage": ["sex"]}),
        },
    ),
    Use(
        auditing.run,
        {"method": "themis", "case": CASE, "budget": 100},
        bad={"budget": "count or zero", "proxies": (3, "yes", {"sex": ["wage"]})},
    ),
    Use(auditing.forecast, {"case": CASE}),
    Use(auditing.compare, {"case_a": CASE, "case_b": CASE}),
    Use(
        fairlab.impact_table,
        {"counts": pd.DataFrame({"people": [9, 9], "selected": [3, 4]}, index=["f", "m"])},
        bad={"counts": (3, "people.csv", PEOPLE, PEOPLE[:0]), "unknown": (3, "f")},
    ),
    Use(report().to_html),
    Use(report().to_json),
    Use(data.available),
    Use(data.status),
    Use(data.load, {"name": "lipton"}),
    Use(data.describe, {"name": "lipton"}, bad={"name": NO_SUCH}),
    Use(data.state_of, {"name": "lipton"}, bad={"name": NO_SUCH}),
    Use(data.fetch, {"names": []}, bad={"names": NO_SUCH}),
    Use(data.verify, {"names": []}, bad={"names": NO_SUCH}),
    Use(fairlab.Experiment, {"name": "fliptest/lipton", "profile": "smoke"}),
    # Metrics, networks, seeds
    Use(
        FairMetric,
        {"projection": np.diag([0.0, 1.0])},
        bad={"feature_names": (3, ["age"])},
    ),
    Use(FairMetric.from_directions, {"directions": [[1.0, 0.0]]}, bad={"feature_names": (3, ["age"])}),
    Use(METRIC.rotated, {"degrees": 10}),
    Use(
        METRIC.squared_distance,
        {"first": AGES, "second": AGES},
        bad=dict.fromkeys(("first", "second"), (3, np.ones((8, 3)))),
    ),
    Use(
        sensitive_directions,
        {"X": AGES, "sensitive_features": PEOPLE[["repaid"]]},
        bad={
            "sensitive_features": (3, TEXTS, AGES, PEOPLE[["repaid"]][:5]),
            "confidence_level": "fraction or None",
            "solver": "callable",
        },
    ),
    Use(
        check_over_metric,
        {"metric": METRIC, "X": AGES, "n_features": 2},
        bad={"metric": None, "X": None, "n_features": None},
    ),
    Use(networks.FeedForward, {"weights": WEIGHTS}, bad={"weights": (3, [], WEIGHTS[:1], WEIGHTS[::-1])}),
    Use(networks.FeedForward(WEIGHTS).predict, {"X": CODES}, bad={"X": (3, CODES[0], CODES[:, :2])}),
    Use(networks.Network, {"model": KERAS}),
    Use(partial(seeds.derive_seed, 0), bad={"bits": (12, 0, 512, "32")}),
    # Models
    Use(models.LinearClassifier, {"coef": [1.0, -1.0], "intercept": 0.0}),
    Use(LINE.predict, {"X": AGES}, bad={"X": ("many", TEXTS, np.ones((4, 3)))}),
    Use(models.KerasClassifier, {"model": KERAS}),
    Use(
        models.CommandModel,
        {"command": ["true"]},
        bad={"command": (3, [], "python decide.py", [3])},
    ),
    # ADF
    Use(
        adf.ADF,
        {"model": skill, "decision_threshold": 0.5, "schema": SCHEMA, "sensitive_features": "sex", "n_local": 5},
        lambda search: search.generate(CODES, n_seeds=1),
    ),
    Use(
        adf.ADF(skill, SCHEMA, "sex", decision_threshold=0.5).generate,
        {"X": CODES, "n_seeds": 1},
    ),
    Use(
        adf.Aequitas,
        {"model": skilled, "schema": SCHEMA, "sensitive_features": "sex", "n_local": 5},
        lambda search: search.generate(n_samples=3),
    ),
    Use(adf.Aequitas(skilled, SCHEMA, "sex", n_local=5).generate, {"n_samples": 3}),
    Use(adf.Fairness(10, 2).interval),
    Use(
        adf.FiniteDifferences,
        {"score": skill, "schema": SCHEMA, "sensitive_features": "sex", "decision_threshold": 0.5},
        bad={"score": None},
    ),
    Use(adf.discriminatory, {"model": skilled, "X": CODES, "sensitive_features": "sex", "schema": SCHEMA}),
    Use(adf.estimate_unfairness, {"model": skilled, "sensitive_features": "sex", "schema": SCHEMA, "n": 9}),
    # FairTest
    Use(
        fairtest.DataSource,
        {"data": MANY},
        bad={
            "numbers": (3, "wage", ["wage"]),
            "categories": (3, "wage", ["wage"]),
            "train": (3, "many", [True], [True] * 400),
        },
    ),
    Use(
        fairtest.Investigation,
        {"sensitive_features": "sex", "output": "repaid"},
        lambda investigation: investigation.fit(fairtest.DataSource(MANY)).test(),
        {"context": (3, "wage", ["wage"])},
    ),
    Use(fairtest.Investigation("sex", "repaid").fit(fairtest.DataSource(MANY)).test),
    Use(fairtest.Investigation("sex", "repaid").fit, {"source": fairtest.DataSource(MANY)}, bad={"source": (3, MANY)}),
    Use(
        fairtest.investigate,
        {"source": fairtest.DataSource(MANY, budget=9), "investigations": fairtest.Investigation("sex", "repaid")},
        bad={"source": (3, MANY), "investigations": (3, [], [3])},
    ),
    Use(fairtest.NMI),
    Use(fairtest.Correlation),
    Use(fairtest.Difference),
    Use(fairtest.Ratio),
    Use(fairtest.Regression),
    Use(fairtest.compare_reports, {"before": PLAIN, "now": PLAIN}, bad=dict.fromkeys(("before", "now"), NOT_PLAIN)),
    Use(fairtest.findings, {"report": PLAIN}, bad={"report": NOT_PLAIN}),
    Use(
        fairtest.adaptive_level,
        {"largest_p_values": [0.3, 0.1], "alpha": 0.05},
        bad={"largest_p_values": ([0.5, 1.5], [-0.1], "many", [NAN])},
    ),
    Use(fairtest.look_level, {"number": 1, "alpha": 0.05}, bad={"number": (0, -1, 1.5, True, "many")}),
    *(
        Use(sequence, {"hits": [[2, 3]], "totals": [[5, 5]]}, bad=COUNTS)
        for sequence in (fairtest.group_sequences, fairtest.rate_sequence, fairtest.difference_sequence)
    ),
    Use(
        fairtest.Column,
        {"name": "sex", "values": np.array([0, 1]), "categories": ("f", "m")},
        bad={"name": None, "values": (3, [[0, 1]], np.array([0, 7]), ["a"]), "categories": None},
    ),
    Use(
        fairtest.Sample,
        {"sensitive_features": GROUPS, "output": GROUPS},
        bad=dict.fromkeys(("sensitive_features", "output", "explanatory"), (3, "sex")),
    ),
    # FlipTest and transport
    Use(fliptest.flipset, {"model": at_40, "X": AGES, "X_image": MOVED}),
    Use(
        fliptest.compare_flipsets,
        {"flips": {"GAN": FLIPS, "exact": FLIPS}},
        bad={"flips": (3, {}, {"GAN": 3}, {"GAN": FLIPS, "exact": fliptest.flipset(at_40, AGES[:3], MOVED[:3])})},
    ),
    Use(
        fliptest.counterpart_test,
        {"tables": (MANY[["age"]],) * 2, "decisions": (np.arange(400) % 2 > 0,) * 2, "n_people": 30},
        bad={
            "tables": (3, (MANY,), (MANY[["age"]], AGES[["age"]])),
            "decisions": (3, (YES > 0,) * 2, (3, 3)),
            "cost": (3, "far"),
            "n_people": "count",
        },
    ),
    Use(fliptest.flipset_intervals, {"flip": FLIPS, "n_resamples": 9}, bad={"method": "choice"}),
    Use(
        fliptest.transparency_report,
        {"flipset": FLIPS, "X": AGES, "X_image": MOVED},
        bad={"scale": ([0, 1], [1], "std")},
    ),
    Use(
        transport.ColumnCosts,
        bad={"columns": (3, {"age": "cubic"}), "number": "choice", "weights": (3, {"age": -1}, {"age": "x"})},
    ),
    Use(transport.ExactTransport, {}, fits),
    Use(
        transport.ExactTransport().fit,
        {"X_source": AGES, "X_target": MOVED},
        bad=dict.fromkeys(("source_weight", "target_weight"), (3, [1, 2], -LOSS, LOSS * NAN, [*"abcdefgh"])),
    ),
    Use(FITTED.transform, {"X": AGES}, bad={"X": (3, MOVED)}),
    Use(transport.GANTransport, {"n_steps": 1}, fits, {"hidden_layers": (3, (0,), "wide")}),
    Use(transport.marginal_distances, {"X_target": AGES, "X_image": MOVED}),
    Use(
        transport.squared_l1,
        {"X_source": AGES, "X_target": MOVED},
        bad=dict.fromkeys(("X_source", "X_target"), (3, *NUMBERS, np.ones((2, 3)))),
    ),
    # Individual fairness
    Use(fairness.audit, ATTACK),
    Use(fairness.gradient_flow_attack, ATTACK),
    Use(fairness.loss_ratio_test, {"loss": LOSS, "attacked_loss": LOSS + 1}),
    Use(fairness.error_rate_ratio_test, {"wrong": YES > 0, "attacked_wrong": YES > 0}),
    # Themis
    Use(
        themis.Themis,
        {"model": skilled, "schema": SCHEMA, "max_samples": 50},
        lambda it: it.causal_score("sex"),
    ),
    Use(THEMIS.causal_score, {"sensitive_features": "sex"}),
    Use(THEMIS.search, {"min_score": 0.5, "max_size": 1}),
    Use(
        themis.causal_score,
        {"table": np.eye(2), "positions": 0},
        bad={"table": (3, [0.5], []), "positions": (7, "sex")},
    ),
    Use(
        themis.group_score,
        {"table": np.eye(2), "positions": 0},
        bad={"table": (3, [0.5], []), "positions": (7, -1, "sex", [0, 0])},
    ),
    Use(themis.output_table, {"model": skilled, "schema": SCHEMA}),
    Use(read_settings, {"path": Lazy(settings)}),
    Use(THEMIS.estimate, {"measure": "causal", "sets": ["sex"]}, bad={"sets": (3, "sex")}),
]
REFUSALS = (TypeError, ValueError, KeyError, data.DataError)
MIXED = fairtest.Sample(GROUPS, fairtest.Column("job", np.array([0, 1, 2, 0] * 5), ("cook", "clerk", "driver")))
COPIES = pd.concat([AGES, AGES[["age"]]], axis=1)
LABELLED = pd.Series(YES, index=range(10, 18))


def case(model=at_40, table=PEOPLE, **changes):
    return cases.Case(model, table, **{"sensitive_features": "sex", "features": ["age", "income"]} | changes)


def moved(cost):
    return transport.ExactTransport(cost=cost).fit(AGES, MOVED)


def looked_at(**columns):
    return fairtest.DataSource(MANY.assign(**columns))


def apart(distance):
    return themis.Themis(skill, SCHEMA, output_distance=distance)


def spent():
    with CASE.queries.limit(1):
        CASE.decide(PEOPLE.assign(age=PEOPLE["age"] + 1))


COPY = "context: column 'copy' says the same as the output "
# Values that fit by themselves, but not to the rest of the call or to the model's answers; with what users are told.
MESSAGES = [
    (lambda: case(lambda rows: 1), "model: expected one value for each row, found int (answers of the model)"),
    (
        lambda: case(lambda rows: np.ones(9)),
        "model: expected 8 values, one for each row, found 9 (answers of the model)",
    ),
    (lambda: case(lambda rows: [None] * 8), "model: 8 of 8 answers are missing, expected one for each row"),
    (lambda: case(table=PEOPLE[:1]), "table: expected at least 2 rows, found 1"),
    (lambda: case(table=COPIES.assign(sex="f")), "table: columns occur twice: age"),
    (lambda: case(table=PEOPLE.assign(sex="f")), "column 'sex' has one value only, expected at least two groups"),
    (lambda: case(table=PEOPLE.assign(income=1j)), "column 'income' has type complex128; make it real numbers"),
    (
        lambda: cases.Schema.from_frame(PEOPLE.assign(age=pd.Timedelta("1 day"))),
        "make it a number, as .dt.total_seconds() does",
    ),
    (lambda: case(sensitive_features="gender"), "sensitive_features: no column 'gender' (known: age"),
    (lambda: case(y_true=LABELLED), "which the table has not; expected the same index"),
    (lambda: case(y_true="repaid", pos_label="yes"), "pos_label: 'yes' is not among the labels (known: 0, 1)"),
    (CASE.score, "model: gives labels, expected a score; hand in an object with predict_proba"),
    (spent, "limit: expected at most 1 more model queries, found 8"),
    (
        lambda: auditing.audit(PEOPLE),
        "case: expected a Case, found DataFrame; wrap model and table in one",
    ),
    (lambda: auditing.audit(CASE, margin=0.1, within=0.05), "within: expected a finite number of at least 0.1"),
    (
        lambda: auditing.audit(CASE, methods=["rates", fliptest.FlipTest(confidence_level=0.9)]),
        "expected FlipTest with the confidence_level of the audit, 0.95, found 0.9",
    ),
    *(
        (
            lambda methods=methods: auditing.audit(CASE, methods=methods),
            "methods: expected each method once, found FlipTest 2 times",
        )
        for methods in (
            [fliptest.FlipTest(), "fliptest"],
            [fliptest.FlipTest(), fliptest.FlipTest(random_state=1)],
        )
    ),
    (
        lambda: fairlab.impact_table(pd.DataFrame({"people": [9], "selected": [3]}, index=["f"]), unknown=["F"]),
        "unknown: expected names of groups, f, found 'F'",
    ),
    (lambda: auditing.audit(CASE, methods="flipest"), "methods: unknown method 'flipest'; did you mean 'fliptest' or"),
    (lambda: SCHEMA.encode(INPUTS + 2), "column 'sex' holds 2, not among its values"),
    (lambda: SCHEMA.decode(np.array([[0, 9, 0]])), "codes: expected 0 to 4 of feature 'age', found 9"),
    (lambda: SCHEMA.check([[0.5, 1, 1]]), "X: column 'sex' holds fractions, expected integers"),
    (lambda: CASE.draw(-1, np.random.default_rng(0)), "n_rows: expected an integer, at least 0, found -1"),
    (lambda: cases.Schema.from_frame(COPIES), "two features of the schema are named 'age'"),
    (lambda: adf.ADF().generate(CODES), "model: expected a model, found None; a case is examined by run(case)"),
    (lambda: adf.Aequitas(skill, SCHEMA, "sex").generate(), "scores and probabilities need decision_threshold"),
    (lambda: FairMetric([[1.0, 1.0], [0.0, 1.0]]), "projection: expected a symmetric matrix P with P P = P, found one"),
    (
        lambda: FairMetric.from_directions(np.eye(2)),
        "directions: span all 2 features; a sensitive subspace of full",
    ),
    (lambda: networks.FeedForward(WEIGHTS).predict(AGES), "X: the network takes 3 columns, was given shape (8, 2)"),
    (
        lambda: networks.Network(keras_network()).predict(CODES + 1e300),
        "X: column 0 holds 1e+300 in row 0, expected numbers within float32",
    ),
    (lambda: models.LinearClassifier(np.eye(3), [0.0, 0.0]), "coef has shape (3, 3), intercept (2,)"),
    (lambda: LINE.loss(AGES, [1]), "y: expected one label for each of 8 points, found shape (1,)"),
    (lambda: fairness.audit(**ATTACK | {"y": LABELLED}), "expected the same index"),
    (lambda: fairness.loss_ratio_test(-LOSS, LOSS), "loss: expected zero or more, found -1.0"),
    (
        lambda: fairness.audit(**ATTACK | {"regularizer": 1e30, "step_size": 1e20}),
        "step_size: the attack diverged at 8 of 8 points",
    ),
    (lambda: fliptest.flipset(at_40, AGES, MOVED[["age"]]), "X and X_image differ in columns: only in X: income"),
    (
        lambda: moved(lambda a, b: np.ones((2, 2))),
        "cost: returned shape (2, 2), expected (8, 8), a row per source point",
    ),
    (lambda: moved(lambda a, b: -np.ones((8, 8))), "expected costs of at least 0"),
    (lambda: FITTED.transform(MOVED), "these are not the fitted rows in the fitted order"),
    (lambda: fairtest.Correlation().check(MIXED), "has 3: cook, clerk, driver"),
    (lambda: fairtest.Investigation("sex", "repaid").test(), "not fitted yet"),
    (lambda: fairtest.Investigation("sex", "repaid").with_explanatory("age"), "not fitted yet"),
    (lambda: fairtest.Investigation("sex", "repaid").fit(looked_at(copy=MANY["repaid"])), COPY + "'repaid'"),
    (
        lambda: fairtest.Investigation("sex", "repaid").fit(looked_at(copy=MANY["repaid"].map({0: "no", 1: "yes"}))),
        COPY + "'repaid'",
    ),
    (lambda: fairtest.Investigation("sex", "age").fit(looked_at(copy=MANY["age"])), COPY + "'age'"),
    (
        lambda: fairtest.Investigation("zip", "repaid").fit(looked_at(zip=[f"z{k // 2}" for k in range(400)])),
        "sensitive_features: column 'zip' has 200 categories, expected at most 100",
    ),
    (
        lambda: fairtest.Investigation("sex", ["tag", "other"]).fit(looked_at(tag=0, other=0)),
        "output: each of 2 labels has one value in the training set",
    ),
    (
        lambda: fairtest.DataSource(
            cases.Case.from_decisions(MANY, "repaid", sensitive_features="sex", weights=np.linspace(1, 3, 400) ** 0.5)
        ),
        "data: people are counted, expected a case without weights",
    ),
    (lambda: fairtest.DataSource(PEOPLE[:1]), "data: 1 rows are too few for a training set and 1 test sets"),
    (lambda: themis.Themis(skill, SCHEMA).causal_score("sex"), "expected 0 or 1"),
    (lambda: apart(lambda a, b: abs(a - b)).group_score("sex"), "group score needs binary outputs"),
    (lambda: apart(lambda a, b: 1.1 + 0 * a).causal_score("sex"), "output_distance: expected"),
    (lambda: data.load("lypton"), "unknown data set 'lypton'; did you mean 'lipton'?"),
    (
        lambda: fairlab.Experiment("fliptest/liptn"),
        "unknown experiment 'fliptest/liptn'; did you mean 'fliptest/l",
    ),
    (lambda: fairlab.Experiment("fliptest/lipton", n_point=3), "fliptest/lipton has no parameter 'n_point'"),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=[message[:40] for _, message in MESSAGES])
def test_what_users_are_told(call, message):
    with pytest.raises((*REFUSALS, cases.BudgetSpentError), match=re.escape(message)):
        call()


KIND_OF = {name: kind for kind, (_, names) in KINDS.items() for name in names.split()}


def named_parameters(call):
    parameters = inspect.signature(call).parameters.values()
    return [each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]


def parameters_of(use):
    """Return the parameters of a call with their defaults, those that it passes on included."""
    named = {each.name: each.default for each in named_parameters(use.call)}
    return dict.fromkeys(use.good, inspect.Parameter.empty) | named


def bad_values(use, name, default):
    own = use.bad.get(name, KIND_OF.get(name, ()))
    if not isinstance(own, str):
        return own or ()
    may_be_none = default is None or own == "seed" or own.endswith(" or None")
    return (*KINDS[own.removesuffix(" or None")][0], *(() if may_be_none else (None,)))


BAD = [
    pytest.param(use, name, value, id=f"{use.name}-{name}-{' '.join(repr(value).split())[:20]}")
    for use in USES
    for name, default in parameters_of(use).items()
    for value in bad_values(use, name, default)
]


@pytest.mark.parametrize(("use", "name", "value"), BAD)
def test_a_bad_value_is_refused_by_name(use, name, value, results):
    with pytest.raises(REFUSALS) as caught:
        use.run(**{name: value})
    message = str(caught.value)
    is_named = re.search(rf"\b{name.removesuffix('s')}", message) or re.search(rf"unknown .*{value!r}", message)
    assert is_named, f"{message} does not name {name}"
    raised_in = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    assert "fairlab" in Path(raised_in).parts, f"{caught.value}: a crash in {raised_in}"


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_the_same_call_with_good_values_is_accepted(use, results):
    use.run()


# Constraints that a call declares: a value outside each is refused with its message, before anything else happens.
OUTSIDE = {
    checks.check_count: (1.5, NAN, "many", True),
    checks.check_number: (NAN, "many", True, [1]),
    checks.check_choice: ("none such", 3),
    checks.check_flag: ("no", 3),
    checks.check_function: (3,),
    checks.check_kind: (3, "table"),
    checks.check_seed: (-1, 1.5, "zero", True),
    checks.check_text: (3, [1]),
    checks.check_array: ("many", [NAN]),
    check_widths: (3, "wide", (0,)),
}
INSIDE = {checks.check_count: 3, checks.check_number: 0.5, checks.check_array: [1.0]}


def outside(constraint):
    constraint = getattr(constraint, "keywords", {}).get("constraint", constraint)  # None is as good as what is within
    function, bounds = getattr(constraint, "func", constraint), getattr(constraint, "keywords", {})
    ends = [bounds[name] for name in ("above", "below") if name in bounds]
    if function in (checks.check_count, checks.check_number) and "above" not in bounds:
        ends += [bounds.get("least", 1 if function is checks.check_count else -np.inf) - 1]
    return (*OUTSIDE[function], *ends)


def inside(constraint):
    """Return a value within a constraint; where only a kind is asked for, an empty one of it."""
    if kind := getattr(constraint, "keywords", {}).get("kind"):
        return kind.__new__(kind)
    return INSIDE.get(getattr(constraint, "func", constraint), object())


def declaring(thing):
    """Return what declares constraints of a public name: a function, a class of estimators, methods of a class."""
    within = list(vars(thing).values()) if inspect.isclass(thing) else []
    return [each for each in (thing, *within) if isinstance(getattr(each, "constraints", None), dict)]


DECLARED = [
    pytest.param(call, name, value, id=f"{call.__qualname__}-{name}-{value!r}")
    for package in packages()[1:]
    for own in import_module(package).__all__
    for call in declaring(getattr(import_module(package), own))
    for name, constraint in call.constraints.items()
    for value in outside(constraint)
]


@pytest.mark.parametrize(("call", "name", "value"), DECLARED)
def test_a_value_outside_a_declared_constraint_is_refused_with_its_message(call, name, value):
    required = [each.name for each in named_parameters(call) if each.default is each.empty]
    given = {each: inside(call.constraints.get(each)) for each in required}
    with pytest.raises(REFUSALS, match=f"^{name}: ") as expected:
        call.constraints[name](value, name)
    with pytest.raises(type(expected.value)) as caught:
        # An estimator takes parameters as they are, and checks them when it is used.
        checks.check_parameters(call(**given | {name: value}))
    assert str(caught.value) == str(expected.value)


def test_what_is_checked_is_what_the_call_gets_and_none_is_where_it_is_the_default():
    @checks.checked(n=checks.check_count, most=checks.check_count, share=checks.FRACTION)
    def call(n, *, most=None, share: float | None = 0.5):
        return n, most, share

    assert call(3.0) == call(n=3.0, most=None) == (3, None, 0.5)
    assert isinstance(call(3.0, share=None)[0], int)
    with pytest.raises(ValueError, match=r"^n: expected a positive integer, found None"):
        call(None)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        call()
