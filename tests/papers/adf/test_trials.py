import numpy as np
import pytest
from plain_data import is_plain

from fairlab.adf import ADF, SearchResult, discriminatory
from fairlab.adf.discrimination import Trace
from fairlab.cases import Schema
from fairlab.papers.adf import trials
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS
from fairlab.seeds import Trial

TRIAL = Trial("adf/versus_aequitas", 0)
SMALL = {"n_seeds": 20, "n_local": 5}


@pytest.fixture
def gender(credit):
    return {"name": "credit.gender", "weights": credit.weights}


# Class 1 where the first attribute is at least 5 and the second is 1.
RULE = [np.array([[0.0, 1], [0, 10]]), np.array([0, -14.5])]


def result(inputs, partner):
    schema = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})
    trace = Trace(np.array(inputs), np.array(partner), np.zeros(len(inputs), dtype=int))
    return SearchResult(schema, ("sex",), trace, np.array([0]), np.array([True]), 0.5)


def test_a_tally_counts_what_a_search_found():
    tally = trials.tally(result([[5, 1], [7, 0], [3, 1]], [0, 1, -1]), RULE, TRIAL)
    counts = [tally[name] for name in ("n_inputs", "n_discriminatory", "n_successful", "n_wrong", "n_outside")]
    assert counts == [3, 2, 1, 0, 0]
    assert tally["success_rate"] == pytest.approx(2 / 3)
    assert tally["sample"].tolist() in ([[5, 1]], [[7, 0]])
    assert is_plain(tally)


@pytest.mark.parametrize(
    ("inputs", "partner", "wrong", "outside"),
    [
        ([[5, 1], [5, 0]], [0, 1], 1, 0),  # one input twice, but for the sex
        ([[5, 1], [3, 1]], [0, 0], 1, 0),  # the second is not discriminatory
        ([[5, 1], [11, 1]], [0, 0], 0, 1),  # the second lies outside of the domain
        ([[5, 1]], [-1], 0, 0),
    ],
)
def test_a_tally_checks_what_a_search_reports(inputs, partner, wrong, outside):
    tally = trials.tally(result(inputs, partner), RULE, TRIAL)
    assert (tally["n_wrong"], tally["n_outside"]) == (wrong, outside)


class Runner:
    """Runs trials as an experiment does."""

    def trials(self, function, n_trials, **parameters):
        return [function(Trial("adf/versus_aequitas", k), **parameters) for k in range(n_trials)]


@pytest.mark.parametrize("reading", ["as_published", "as_described"])
def test_both_searches_report_nothing_wrong(credit, gender, reading, monkeypatch):
    monkeypatch.setattr(trials, "BENCHMARKS", {"credit.gender": BENCHMARKS["credit.gender"]})
    found = trials.search_both(Runner(), dict.fromkeys(SCHEMAS, credit), 2, n_runs=2, reading=reading, **SMALL)
    assert list(found) == [("credit.gender", "adf"), ("credit.gender", "aequitas")]
    for first, second in found.values():
        assert (first["n_wrong"], first["n_outside"]) == (0, 0)
        assert first["n_inputs"] >= first["n_discriminatory"] >= first["n_successful"] > 0
        assert len(first["sample"]) == int(np.ceil(0.05 * first["n_discriminatory"]))
        assert discriminatory(credit.network, first["sample"], "sex", schema=SCHEMAS["credit"]).all()
        assert not np.array_equal(first["sample"], second["sample"]), "trials have seeds of their own"
        assert is_plain(first)


def test_runs_together_are_those_of_trials_one_after_the_other(gender):
    options = gender | SMALL | {"reading": "as_published"}
    together = trials.runs_of_aequitas(TRIAL, n_runs=2, **options)
    alone = [trials.runs_of_aequitas(Trial(TRIAL.name, k), n_runs=1, **options)[0] for k in range(2)]
    for one, other in zip(together, alone, strict=True):
        assert one["n_inputs"] == other["n_inputs"]
        assert (one["sample"] == other["sample"]).all()


def test_never_more_seeds_than_the_benchmark_has(credit, gender, monkeypatch):
    monkeypatch.setitem(trials.BENCHMARKS, "credit.gender", type(BENCHMARKS["credit.gender"])("credit", "sex", 7))
    budget = {"n_seeds": 1000, "n_local": 0, "reading": "as_published"}
    assert len(trials.searched_by_adf(TRIAL, X=credit.X, **gender, **budget)["iterations"]) == 7
    assert len(trials.runs_of_aequitas(TRIAL, n_runs=1, **gender, **budget)[0]["iterations"]) == 7


def test_other_attributes_than_the_benchmarks(credit, gender):
    [alone, together] = [
        trials.searched_by_adf(
            TRIAL, X=credit.X, reading="as_published", sensitive_features=sensitive_features, **gender, **SMALL
        )
        for sensitive_features in (None, ("age", "sex"))
    ]
    assert together["n_successful"] >= alone["n_successful"]


def test_credit_tries_an_age_outside_of_the_domain_as_published_only(credit, needs_an_age):
    budget = {"name": "credit.age", "weights": needs_an_age, "X": credit.X, "n_seeds": 10, "n_local": 0}
    found = {
        reading: trials.searched_by_adf(TRIAL, reading=reading, **budget)
        for reading in ("as_published", "as_described")
    }
    assert found["as_published"]["n_successful"] == 10
    assert found["as_described"]["n_successful"] == 0
    assert (
        trials.searched_by_adf(TRIAL, reading="as_published", sensitive_features="age", **budget)["n_successful"] == 0
    )


def test_symbolic_generation_explores_from_the_seeds_of_adf(credit, gender):
    found = trials.searched_by_sg(TRIAL, X=credit.X, n_seeds=6, n_inputs=8, **gender)
    assert (found["n_inputs"], found["n_wrong"]) == (8, 0)
    assert len(found["iterations"]) == 6
    assert is_plain(found)


def test_courses_go_on_until_there_is_enough(credit, gender):
    shared = gender | {"X": credit.X, "n_seeds": 20}
    by_rows = trials.course_by_adf(TRIAL, n_rows=20_000, **shared)
    assert by_rows["rows"].iloc[-1] >= 20_000
    by_finds = trials.course_by_adf(TRIAL, n_found=30, **shared)
    assert by_finds["found"].iloc[-1] >= 30
    assert by_finds[: len(by_rows)].equals(by_rows[: len(by_finds)]), "the same walks, however far they are followed"
    assert trials.course_by_aequitas(TRIAL, n_seeds=20, n_found=30, **gender)["found"].iloc[-1] == 30
    by_sg = trials.course_by_sg(TRIAL, n_inputs=6, **shared)
    assert by_sg["inputs"].iloc[-1] == 6
    assert by_sg["rows"].diff().iloc[1:].min() > 5000
    assert trials.course_by_sg(TRIAL, n_inputs=1, n_found=2, **shared)["found"].iloc[-1] == 2


def test_courses_follow_from_the_seed_alone(credit, gender):
    shared = gender | {"X": credit.X, "n_seeds": 20}
    for function, options in (
        (trials.course_by_adf, shared | {"n_found": 20}),
        (trials.course_by_aequitas, gender | {"n_seeds": 20, "n_found": 20}),
        (trials.course_by_sg, shared | {"n_inputs": 5}),
    ):
        first, again = (function(TRIAL, **options).drop(columns="seconds", errors="ignore") for _ in range(2))
        assert first.equals(again)


def test_seconds_are_scaled_up_where_too_little_was_found(credit, gender, monkeypatch):
    class Search:
        """Finds as many as it is asked for, at most 4, in a second."""

        def generate(self, *_, max_found=None, **__):
            return type("Result", (), {"seconds": 1.0, "n_discriminatory": min(max_found, 4)})

    for search in ("_adf", "_aequitas"):
        monkeypatch.setattr(trials, search, lambda trial, name, network: Search())
    seconds = trials.seconds_to_find(TRIAL, X=credit.X, n_seeds=9, n_wanted=8, **gender)
    assert seconds == {"adf": 2.0, "aequitas": 2.0}


def test_local_yields_are_of_the_same_starts(credit, gender):
    sizes = {"n_seeds": 20, "n_runs": 2, "n_starts": 3, "n_starts_sg": 1, "n_local": (10, 4), "n_local_sg": 3}
    yields = trials.local_yields(TRIAL, X=credit.X, **gender, **sizes)
    walks = yields[yields["method"] != "sg"]
    assert yields.groupby(["method", "steps"]).size().to_dict() == {
        **dict.fromkeys([("adf", 4), ("adf", 10), ("aequitas", 4), ("aequitas", 10)], 2),
        ("sg", 3): 2,
    }
    assert walks["repeats"].between(0, 1).all()
    assert (walks["distinct"] <= walks["repeats"]).all()
    assert walks["repeats"].max() > 0


def test_shares_of_walks_by_hand():
    first = Trace(np.array([[4, 0], [5, 0]]), np.array([1, -1]), np.array([0, 1]))
    second = Trace(np.array([[4, 1], [5, 0], [5, 1]]), np.array([1, 1, 1]), np.array([0, 1, 0]))
    # Four candidates; the fifth input is a neighbour. Walk 0 finds one input twice, but for the protected column.
    assert trials.shares_of_walks([first, second], [1]) == {"repeats": 0.75, "distinct": 0.5}


def test_where_no_seed_succeeds_nothing_is_found(credit, constant):
    shared = {"name": "credit.gender", "weights": constant, "X": credit.X, "n_seeds": 6, "n_runs": 2}
    assert trials.local_yields(TRIAL, n_starts=2, n_starts_sg=1, n_local=(3,), n_local_sg=2, **shared).empty
    growth = trials.same_starts(TRIAL, n_local=3, n_runs_adf=1, **shared)
    assert all(curve.empty for curves in growth.values() for curve in curves)
    del shared["n_runs"]
    assert trials.discriminatory_seeds(TRIAL, **shared) == {"n_successful": 0}


def test_same_starts_count_every_input_once_the_starts_among_them(credit, gender):
    growth = trials.same_starts(TRIAL, X=credit.X, n_runs=2, n_runs_adf=1, **gender, **SMALL)
    benchmark = BENCHMARKS["credit.gender"]
    adf = ADF(credit.network, benchmark.schema, "sex", n_local=5, variant="published", random_state=TRIAL.seed("adf"))
    phase = adf.global_search(adf.seeds(credit.X, 20))
    sex = benchmark.schema.positions("sex")
    walk = adf.local_evaluations(phase)
    known, curve = set(), []
    for seed in phase.seed:  # one after the other, whatever an earlier one has tried is known
        known |= {tuple(x) for x in np.delete(walk.inputs[walk.seed == seed], sex, axis=1)}
        curve.append(len(known))
    [by_adf] = growth["adf"]
    assert by_adf["inputs"].tolist() == curve
    assert {tuple(x) for x in np.delete(phase.inputs, sex, axis=1)} <= known
    assert len(growth["aequitas"][0]) == len(by_adf) == len(phase.seed)
    assert all((run.diff().iloc[1:] >= 0).all(axis=None) for run in growth["aequitas"])
    assert not growth["aequitas"][0].equals(growth["aequitas"][1])


def test_same_starts_try_the_ages_that_the_other_trials_try(credit, needs_an_age):
    """The flip of this network needs an age that the authors' global phase tried outside of the domain."""
    shared = {"name": "credit.age", "weights": needs_an_age, "X": credit.X, "n_seeds": 10}
    alone = trials.searched_by_adf(TRIAL, n_local=0, reading="as_published", **shared)
    [growth] = trials.same_starts(TRIAL, n_local=2, n_runs=1, n_runs_adf=1, **shared)["adf"]
    assert len(growth) == alone["n_successful"] == 10


def test_discriminatory_seeds_need_no_search(credit, gender):
    searched = trials.searched_by_adf(TRIAL, X=credit.X, n_seeds=80, n_local=0, reading="as_published", **gender)
    n_as_they_stand = searched["iterations"].tolist().count(0)
    assert trials.discriminatory_seeds(TRIAL, X=credit.X, n_seeds=80, **gender) == {"n_successful": n_as_they_stand}


def test_retraining_is_assessed_by_trial_and_method(credit, gender):
    both = [Trial("adf/retraining", k) for k in range(2)]
    frames = trials.retrained(
        both,
        X=credit.X,
        y=credit.y,
        samples={"adf": credit.X[:5], "nothing": credit.X[:0]},
        voters=[credit.weights],
        n_epochs=1,
        n_points=200,
        **gender,
    )
    [alone] = trials.retrained(
        both[1:],
        X=credit.X,
        y=credit.y,
        samples={"nothing": credit.X[:0]},
        voters=[credit.weights],
        n_epochs=1,
        n_points=200,
        **gender,
    )
    assert [frame.index.tolist() for frame in frames] == [["adf", "nothing"]] * 2
    assert frames[1].loc["nothing"].tolist() == pytest.approx(alone.loc["nothing"].tolist()), "whatever is beside it"
    assert all(frame["accuracy"].between(0.5, 1).all() for frame in frames)


def test_a_network_is_assessed_by_hand(credit):
    found = trials.assessed(credit.weights, credit.X, 1 - credit.y, name="credit.gender", n_points=500, seed=3)
    draws = SCHEMAS["credit"].sample(500, random_state=3)
    others = draws.copy()
    others[:, 8] = 1 - others[:, 8]
    assert found == {"share": (credit.network.predict(draws) != credit.network.predict(others)).mean(), "accuracy": 0}


def test_networks_are_trained_together(credit):
    both = [Trial("adf/models", k) for k in range(2)]
    first, second = trials.trained(both, X=credit.X, y=credit.y, n_steps=1)
    [again] = trials.trained(both[1:], X=credit.X, y=credit.y, n_steps=1)
    assert [part.shape for part in first[:2]] == [(20, 64), (64,)]
    assert all(np.allclose(one, other, atol=1e-5) for one, other in zip(second, again, strict=True))
    assert not np.allclose(first[0], second[0])
    assert is_plain([first, second])
