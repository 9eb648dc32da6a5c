"""The printed numbers go in as if they were ours: then every value is recorded, and every claim about them holds."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.individual_fairness import loss_ratio_test
from fairlab.papers.individual_fairness import simulation, tables
from fairlab.papers.individual_fairness.learners import METHODS, BalancedMLP
from fairlab.suite.published import load_paper

ARTEFACTS = load_paper("individual_fairness").artefacts


def printed_rows(artefact, n_splits=10):
    """Return the printed means as the numbers of every split, indexed by method and split."""
    values = {id: float(value.value) for id, value in ARTEFACTS[artefact].values.items()}
    columns = list(dict.fromkeys(id.split(".", 1)[1] for id in values))
    table = pd.DataFrame({column: {m: values[f"{m}.{column}"] for m in METHODS} for column in columns})
    rows = pd.concat(dict.fromkeys(range(n_splits), table), names=["split", "method"])
    return rows.swaplevel().loc[list(METHODS)]


@pytest.mark.parametrize(
    ("place", "value", "failing"),
    [
        (None, None, set()),
        (("baseline", "aod_race"), -0.02, {"baseline-unfair", "reduction-best-group-fairness"}),
        (("baseline", "zero_one.reject_prop"), 0.9, {"baseline-unfair", "tests-agree"}),
        (("project", "entropy.t_n"), 3.7, {"project-mostly-rejected"}),
        (("project", "zero_one.reject_prop"), 0.6, {"tests-agree"}),
        (("sensr", "entropy.reject_prop"), 0.1, {"sensr-passes", "tests-agree"}),
        (("sensr", "bal_acc"), 0.81, {"sensr-lowest-accuracy"}),
        (("reduction", "zero_one.t_n"), 2.0, {"reduction-worst-individual-fairness"}),
        (("sensr", "aod_gender"), -0.2, {"sensr-improves-group-fairness"}),
    ],
)
def test_adult(recorded, place, value, failing):
    own = printed_rows("table-3")
    if value is not None:
        own.loc[place] = value
    rows = pd.concat({"as_published": own, "as_described": own}, names=["reading"])
    notes = {"project.bal": "plain networks", "project": "swapped"}
    exp = recorded("individual_fairness/adult", rows, own, notes=notes, baseline=BalancedMLP(n_steps=2))
    assert failing <= exp.failed
    assert bool(failing) == bool(exp.failed)
    assert exp.records["table-1", "project.bal_acc", "as_published"] == [0.825] * 10
    assert exp.notes["table-1", "project.bal_acc", "as_published"] == "plain networks; swapped"
    assert exp.notes["table-1", "project.bal_acc", "as_described"] == ""
    assert exp.records["table-2", "num_steps", "as_published"] == [2]


@pytest.mark.parametrize(
    ("place", "value", "failing"),
    [
        (("sensr", "t_n"), 1.098, set()),
        (("baseline", "aod_gender"), 0.1, {"baseline-unfair"}),
        (("reduction", "t_n"), 3.0, {"reduction-still-rejected"}),
        (("reduction", "aod_race"), 0.3, {"reduction-best-group-fairness"}),
        (("project", "reject_prop"), 0.5, {"project-rarely-rejected"}),
        (("sensr", "t_n"), 1.2, {"sensr-passes"}),
        (("sensr", "aod_race"), 0.1, {"sensr-gender-aod"}),
        (("sensr", "bal_acc"), 0.7, {"accuracy-cost"}),
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


def test_overview(recorded):
    parts = {"X_train": range(8), "X_test": range(2)}
    exp = recorded("individual_fairness/overview", SimpleNamespace(**parts))
    values = {id: value for (_, id, _), [value] in exp.records.items()}
    assert values == {"rows": 10, "train_share": 0.8, "hidden_units": 50}


def points(last, *, sensr=1.02, first=1.01):
    """Return bounds of two splits at two times; Reductions has later times than the others."""
    rows = [
        (method, split, time * (2.5 if method == "reduction" else 1), bound)
        for method in METHODS
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
    assert exp.records["figure-1", "rotation.right_degrees", "as_published"] == [10]


@pytest.mark.parametrize(
    ("options", "failing"), [({}, set()), ({"max_loss_ratio": 1.2}, {"threshold-is-five-fourths"})]
)
def test_calibration(recorded, options, failing):
    test = loss_ratio_test([1.0, 2.0], [1.0, 2.0], **options)
    assert recorded("individual_fairness/calibration", test).failed == failing


STEPS = {"short_attack": 20, "long_attack": 50}


def code(method, test, n_steps, split):
    """Return a bound that says where it comes from."""
    return 1000 * METHODS.index(method) + 100 * (test == "error-rate ratio") + n_steps + split / 10


@pytest.fixture
def audits():
    keys = itertools.product(METHODS, ("loss ratio", "error-rate ratio"), STEPS.values())
    frame = pd.DataFrame(keys, columns=["method", "test", "n_steps"])
    bounds = {split: [code(*row, split) for row in frame.itertuples(index=False)] for split in (0, 1)}
    return tables.by_split([frame.assign(lower_bound=bounds[split], rejected=split == 1) for split in bounds])


@pytest.fixture
def groups():
    index = pd.MultiIndex.from_product([(0, 1), METHODS], names=["split", "method"])
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
        ("own models", "project", "project", 20, "project", 50),
        ("own models", "reduction", "reduction", 50, "reduction", 50),
    ],
)
def test_what_stands_in_a_row(audits, groups, reading, method, of, loss_steps, error_of, error_steps):
    row = tables.adult_rows(audits, groups, reading=reading, **STEPS).loc[method]
    columns = ["bal_acc", "entropy.t_n", "zero_one.t_n", "entropy.reject_prop", "zero_one.reject_prop"]
    for split in (0, 1):
        bounds = code(of, "loss ratio", loss_steps, split), code(error_of, "error-rate ratio", error_steps, split)
        assert row.loc[split, columns].tolist() == [METHODS.index(of) + split / 10, *bounds, split, split]


def test_rows_of_the_stored_models_are_filled_up_with_ours(audits, groups):
    stored = tables.adult_rows(audits, groups, reading="as_published", **STEPS)
    frames = [audits[(audits["method"] == "reduction") & (audits["n_steps"] == 50)].loc[k] for k in (0, 1)]
    mixed = tables.by_split(frames).assign(lower_bound=[7.0, -1.0, 9.0, -1.0], rejected=[True, False, False, False])
    ours = (stored + 0.25).drop(index=1, level="split")
    rows = tables.published_rows(stored, mixed, ours)
    assert rows.loc["reduction", ["entropy.t_n", "entropy.reject_prop"]].to_numpy().tolist() == [[7, 1], [9, 0]]
    first, second = rows.loc["baseline", tables.NOT_RELEASED].to_numpy()
    assert first.tolist() == ours.loc[("baseline", 0), tables.NOT_RELEASED].tolist()
    assert np.isnan(second).all()
    for method in ("project", "sensr"):
        pd.testing.assert_frame_equal(rows.loc[method], stored.loc[method])
    claimed = tables.claimed_rows(stored, mixed, audits, long_attack=50)["entropy.t_n"]
    assert claimed["reduction", 1] == 9
    assert claimed["baseline", 1] == code("baseline", "loss ratio", 50, 1)


def test_steps_are_equal_for_all(audits):
    table = tables.equal_steps(audits)
    assert table.loc[("loss ratio", 50), ("sensr", "T_n")] == code("sensr", "loss ratio", 50, 0.5)
    assert (table.xs("rejected", axis=1, level=1) == 0.5).all(axis=None)


def test_the_curve_printed_as_project_is_of_plain_networks():
    points = pd.DataFrame({"method": METHODS, "split": 0, "time": 2.0, "lower_bound": [1.0, 2.0, 3.0, 4.0]})
    curves = tables.with_plain_networks(points).set_index("method")["lower_bound"]
    assert curves.to_dict() == dict(zip(METHODS, [1, 1, 3, 4], strict=True))


def test_means_and_deviations_over_splits(audits, groups):
    readings = {reading: tables.adult_rows(audits, groups, reading=reading, **STEPS) for reading in tables.READINGS}
    table = tables.over_splits(pd.concat(readings, names=["reading"])).loc[("as_published", "sensr"), "entropy.t_n"]
    bounds = [code("sensr", "loss ratio", 20, split) for split in (0, 1)]
    assert table.to_dict() == pytest.approx({"mean": np.mean(bounds), "std": np.std(bounds, ddof=1)})
    values = ARTEFACTS["table-3"].values
    published = pd.DataFrame({part: {k: getattr(v, part) for k, v in values.items()} for part in ("value", "std")})
    plain = tables.baseline_by_steps(audits, published.astype(float))
    assert plain.loc[50, ["min", "max"]].tolist() == [code("baseline", "loss ratio", 50, split) for split in (0, 1)]
    assert plain.loc["printed", ["mean", "std"]].tolist() == [3.676, 2.164]


def test_first_rejections_by_hand():
    bounds = {("baseline", 0): [1.0, 1.3, 1.4], ("baseline", 1): [1.0], ("sensr", 0): [1.26]}
    rows = [(*key, 1.0 + k, bound) for key, several in bounds.items() for k, bound in enumerate(several)]
    flow = pd.DataFrame(rows, columns=["method", "split", "time", "lower_bound"])
    first = tables.first_rejections(flow, threshold=1.25).set_index(["method", "split"])["time"]
    assert len(first) == 8
    assert first.dropna().to_dict() == {("baseline", 0): 2, ("sensr", 0): 1}
