"""The printed numbers go in as if they were ours: then every value is recorded, and every claim about them holds."""

import itertools

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.individual_fairness import learners, simulation, tables
from fairlab.suite.published import load_paper

ARTEFACTS = load_paper("individual_fairness").artefacts


def printed_rows(artefact):
    """Return the printed means as the numbers of every split, indexed by method and split."""
    values = {id: float(v.value) for id, v in ARTEFACTS[artefact].values.items() if not id.endswith(".std")}
    columns = list(dict.fromkeys(id.split(".", 1)[1] for id in values))
    table = pd.DataFrame({column: {m: values[f"{m}.{column}"] for m in learners.METHODS} for column in columns})
    rows = pd.concat(dict.fromkeys(range(10), table), names=["split", "method"])
    return rows.swaplevel().loc[list(learners.METHODS)]


@pytest.mark.parametrize(
    ("place", "value", "failing"),
    [
        (None, None, set()),
        (("baseline", "aod_race"), [-0.1, 0.06] * 5, {"baseline-unfair", "reduction-best-group-fairness"}),
        (("baseline", "zero_one.reject_prop"), 0.9, {"baseline-unfair", "tests-agree"}),
        (("project", "entropy.t_n"), 3.7, {"project-mostly-rejected"}),
        (("project", "zero_one.t_n"), 2.3, {"project-mostly-rejected"}),
        (("project", "zero_one.reject_prop"), 0.9, {"tests-agree"}),
        (("sensr", "entropy.reject_prop"), 0.1, {"sensr-passes", "tests-agree"}),
        (("sensr", "bal_acc"), 0.81, {"sensr-lowest-accuracy"}),
        (("reduction", "zero_one.t_n"), 2.0, {"reduction-worsens-individual-fairness"}),
        (("sensr", "aod_gender"), -0.2, {"sensr-improves-group-fairness"}),
    ],
)
def test_adult(recorded, place, value, failing):
    own = printed_rows("table-3")
    if value is not None:
        own.loc[place] = value
    rows = pd.concat({"as_published": own, "as_described": own}, names=["reading"])
    notes = {"project.bal": "plain networks", "project": "swapped"}
    exp = recorded("individual_fairness/adult", rows, notes=notes, baseline=learners.BalancedMLP(n_steps=2))
    assert failing <= exp.failed
    assert bool(failing) == bool(exp.failed)
    exp.check_records({("table-1", "project.bal_acc"): [0.825] * 10, ("table-2", "num_steps"): [2]})
    notes = [exp.notes["table-1", "project.bal_acc", reading] for reading in tables.READINGS]
    assert notes == ["plain networks; swapped", ""]


@pytest.mark.parametrize(
    ("place", "value", "failing"),
    [
        (("sensr", "t_n"), 1.098, {"reduction-still-rejected"}),  # as printed: better by more than slightly
        (("reduction", "t_n"), 2.2, set()),
        (("baseline", "aod_gender"), 0.1, {"baseline-unfair"}),
        (("reduction", "t_n"), 3.0, {"reduction-still-rejected", "both-improve-all"}),
        (("reduction", "aod_race"), 0.3, {"reduction-best-group-fairness", "both-improve-all"}),
        (("project", "reject_prop"), 0.3, {"project-rarely-rejected"}),
        (("sensr", "t_n"), 1.2, {"sensr-passes"}),
        (("sensr", "aod_race"), 0.1, {"sensr-gender-aod"}),
        (("sensr", "bal_acc"), 0.7, {"sensr-lowest-accuracy"}),
    ],
)
def test_compas(recorded, place, value, failing):
    rows = printed_rows("table-4")
    rows.loc[place] = value
    both = pd.concat({"as_published": rows, "as_described": rows + 100}, names=["reading"])
    exp = recorded("individual_fairness/compas", both)
    assert failing <= exp.failed
    assert bool(failing) == bool(exp.failed)
    method, column = place
    assert exp.records["table-4", f"{method}.{column}", "as_described"] == [100 + value] * 10


def test_means_and_deviations_by_hand(recorded):
    rows = printed_rows("table-4")
    rows.loc[("sensr", 0), "t_n"] += 1  # of ten values: the squares add up to 1 - 1/10, and n - 1 = 9
    exp = recorded("individual_fairness/compas", pd.concat({"as_published": rows}, names=["reading"]))
    exp.check_records({("table-4", "sensr.t_n.std"): pytest.approx([0.1**0.5])})


@pytest.mark.parametrize(("study", "artefacts"), [("adult", ["table-1", "table-3"]), ("compas", ["table-4"])])
def test_without_the_stored_files_nothing_is_as_published(recorded, study, artefacts):
    rows = pd.concat({"as_described": printed_rows(artefacts[-1])}, names=["reading"])
    options = {"notes": {}, "baseline": learners.BalancedMLP()} if study == "adult" else {}
    exp = recorded(f"individual_fairness/{study}", rows, missing="no files", **options)
    assert {reading for artefact, _, reading in exp.records if artefact in artefacts} == {"as_described"}
    ids = [(name, id) for name in artefacts for part in ("values", "claims") for id in getattr(ARTEFACTS[name], part)]
    assert (exp.judged, exp.skipped) == ({}, dict.fromkeys(ids, "no files"))


def points(last, *, sensr=1.02, first=1.01):
    """Return bounds of two splits at two times; Reductions has later times than the others."""
    rows = [
        (method, split, time * (2.5 if method == "reduction" else 1), bound)
        for method in learners.METHODS
        for split in (0, 1)
        for time, bound in ((0.1, first), (1.0, sensr if method == "sensr" else last))
    ]
    return pd.DataFrame(rows, columns=["method", "split", "time", "lower_bound"])


@pytest.mark.parametrize(
    ("printed", "failing"),
    [
        (points(2.0), set()),
        (points(1.2), {"others-need-long-t"}),
        (points(2.0, first=1.3), {"others-need-long-t", "sensr-never-rejected", "increasing-in-t"}),
        (points(2.0, sensr=1.3), {"sensr-never-rejected"}),
        (points(2.0, sensr=1.005), {"increasing-in-t"}),
    ],
)
def test_stopping_time(recorded, printed, failing):
    assert recorded("individual_fairness/stopping_time", printed).failed == failing


GROUPS = pd.DataFrame({"x1": [-1.5, 1.5], "x2": [0.0, 0.01], "people": [360, 40]}, index=["majority", "minority"])


@pytest.mark.parametrize(
    ("groups", "failing"),
    [
        (GROUPS, set()),
        (GROUPS.assign(x1=[-1.0, 1.0], people=[300, 100]), {"groups-differ-in-x1", "minority-is-small"}),
        (GROUPS.assign(x2=[0.0, 0.2]), {"groups-differ-in-x1"}),
    ],
)
def test_simulation(recorded, groups, failing):
    axis = simulation.weight_axis()
    bounds = pd.DataFrame(1 + abs(axis)[:, None] / 5 + 0 * axis, index=axis, columns=axis)
    exp = recorded("individual_fairness/simulation", simulation.map_claims({0: bounds, 5: bounds}), groups)
    assert exp.failed == failing | {"misspecification-tilts-boundary"}
    exp.check_records({("figure-1", "rotation.right_degrees"): [10]})


STEPS = {"short_attack": 20, "long_attack": 50}


def code(method, test, n_steps, split):
    """Return a bound that says where it comes from."""
    return 1000 * learners.METHODS.index(method) + 100 * (test == "error-rate ratio") + n_steps + split / 10


@pytest.fixture
def audits():
    keys = itertools.product(learners.METHODS, ("loss ratio", "error-rate ratio"), STEPS.values())
    frame = pd.DataFrame(keys, columns=["method", "test", "n_steps"])
    bounds = {split: [code(*row, split) for row in frame.itertuples(index=False)] for split in (0, 1)}
    return tables.by_split([frame.assign(lower_bound=bounds[split], rejected=split == 1) for split in bounds])


@pytest.fixture
def groups():
    index = pd.MultiIndex.from_product([(0, 1), learners.METHODS], names=["split", "method"])
    values = np.arange(8) % 4 + np.arange(8) // 4 / 10
    return pd.DataFrame(dict.fromkeys(tables.GROUP_COLUMNS, values), index=index)


@pytest.mark.parametrize(
    ("reading", "method", "of", "loss_steps", "error_of", "error_steps"),
    [
        ("as_published", "baseline", "baseline", 20, "baseline", 50),
        ("as_published", "project", "baseline", 20, "project", 50),
        ("as_published", "reduction", "reduction", 50, "reduction", 50),
        ("as_published", "sensr", "sensr", 20, "sensr", 50),
        ("as_described", "project", "project", 20, "project", 20),
        ("as_described", "reduction", "reduction", 20, "reduction", 20),
    ],
)
def test_what_stands_in_a_row(audits, groups, reading, method, of, loss_steps, error_of, error_steps):
    row = tables.adult_rows(audits, groups, reading=reading, **STEPS).loc[method]
    columns = ["bal_acc", "entropy.t_n", "zero_one.t_n", "entropy.reject_prop", "zero_one.reject_prop"]
    for split in (0, 1):
        bounds = code(of, "loss ratio", loss_steps, split), code(error_of, "error-rate ratio", error_steps, split)
        assert row.loc[split, columns].tolist() == [learners.METHODS.index(of) + split / 10, *bounds, split, split]


def stored_output(algo, step_size, splits=(1, 0)):
    """Return lines of the authors' output, in another order than the splits."""
    rows = [
        {"algo": algo, "split": k, "step_size": step_size, "t_n": 40 + k, "reject_prop": 1.0 * k}
        | dict.fromkeys(tables.GROUP_COLUMNS, 50 + k)
        for k in splits
    ]
    return pd.DataFrame(rows)


def test_rows_of_the_stored_models_are_filled_up_from_the_output(audits, groups):
    stored = tables.adult_rows(audits, groups, reading="as_published", **STEPS)
    frames = [audits[(audits["method"] == "reduction") & (audits["n_steps"] == 50)].loc[k] for k in (0, 1)]
    mixed = tables.by_split(frames).assign(lower_bound=[7.0, -1.0, 9.0, -1.0], rejected=[True, False, False, False])
    lines = [stored_output("baseline", 0.01, (2, 1, 0)), stored_output("baseline", 0.001), stored_output("sensr", 0.01)]
    rows = tables.published_rows(stored, mixed, pd.concat(lines))
    assert rows.loc["reduction", ["entropy.t_n", "entropy.reject_prop"]].to_numpy().tolist() == [[7, 1], [9, 0]]
    assert rows.loc["baseline", tables.NOT_RELEASED].to_numpy().tolist() == [[50, 50, 50, 40, 0], [51, 51, 51, 41, 1]]
    for method in ("project", "sensr"):
        pd.testing.assert_frame_equal(rows.loc[method], stored.loc[method])


def test_steps_are_equal_for_all(audits):
    table = tables.equal_steps(audits)
    assert table.loc[("loss ratio", 50), ("sensr", "T_n")] == code("sensr", "loss ratio", 50, 0.5)
    assert (table.xs("rejected", axis=1, level=1) == 0.5).all(axis=None)


def test_curves_have_their_published_names():
    points = pd.DataFrame(
        {"method": learners.METHODS, "split": 1, "step_size": 0.01, "lower_bound": [1.0, 2.0, 3.0, 4.0]}
    )
    curves = tables.with_published_names(points, stored_output("baseline", 0.01)).set_index("method")["lower_bound"]
    assert curves.to_dict() == dict(zip(learners.METHODS, [41, 1, 3, 4], strict=True))


def test_means_and_deviations_over_splits(audits, groups):
    readings = {reading: tables.adult_rows(audits, groups, reading=reading, **STEPS) for reading in tables.READINGS}
    table = tables.over_splits(pd.concat(readings, names=["reading"])).loc[("as_published", "sensr"), "entropy.t_n"]
    bounds = [code("sensr", "loss ratio", 20, split) for split in (0, 1)]
    assert table.to_dict() == pytest.approx({"mean": np.mean(bounds), "std": np.std(bounds, ddof=1)})


def test_first_rejections_by_hand():
    bounds = {("baseline", 0): [1.0, 1.3, 1.4], ("baseline", 1): [1.0], ("sensr", 0): [1.26]}
    rows = [(*key, 1.0 + k, bound) for key, several in bounds.items() for k, bound in enumerate(several)]
    flow = pd.DataFrame(rows, columns=["method", "split", "time", "lower_bound"])
    first = tables.first_rejections(flow, threshold=1.25).set_index(["method", "split"])["time"]
    assert (len(first), first.dropna().to_dict()) == (8, {("baseline", 0): 2, ("sensr", 0): 1})
