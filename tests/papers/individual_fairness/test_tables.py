import itertools

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.individual_fairness import tables
from fairlab.papers.individual_fairness.learners import METHODS
from fairlab.suite.published import load_paper

STEPS = {"short_attack": 20, "long_attack": 50}
COLUMNS = ["bal_acc", "aod_gender", "aod_race", "entropy.t_n", "entropy.reject_prop", "zero_one.t_n"]
COLUMNS += ["zero_one.reject_prop"]


def code(method, test, n_steps, split):
    """Return a bound that says where it comes from."""
    return 1000 * METHODS.index(method) + 100 * (test == "error-rate ratio") + n_steps + split / 10


@pytest.fixture
def audits():
    keys = itertools.product(METHODS, ("loss ratio", "error-rate ratio"), STEPS.values())
    frame = pd.DataFrame(keys, columns=["method", "test", "n_steps"])
    frames = []
    for split in (0, 1):
        bounds = [code(*row, split) for row in frame.itertuples(index=False)]
        frames.append(frame.assign(lower_bound=bounds, rejected=split == 1))
    return tables.by_split(frames)


@pytest.fixture
def groups():
    index = pd.MultiIndex.from_product([(0, 1), METHODS], names=["split", "method"])
    values = np.arange(8) % 4 + np.arange(8) // 4 / 10
    return pd.DataFrame(dict.fromkeys(tables.GROUP_COLUMNS, values), index=index)


def test_frames_of_splits_are_stacked():
    frames = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [3, 4]})]
    dropped = tables.by_split(frames)
    assert (dropped.index.name, dropped.index.tolist()) == ("split", [0, 0, 1, 1])
    kept = tables.by_split([frame.set_axis(["x", "y"]) for frame in frames], "method")
    assert kept.index.names == ["split", "method"]
    assert kept.loc[(1, "x"), "a"] == 3


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
    assert row.columns.tolist() == COLUMNS
    for split in (0, 1):
        assert row.loc[split, "bal_acc"] == METHODS.index(of) + split / 10
        assert row.loc[split, "entropy.t_n"] == code(of, "loss ratio", loss_steps, split)
        assert row.loc[split, "zero_one.t_n"] == code(error_of, "error-rate ratio", error_steps, split)
        assert row.loc[split, "entropy.reject_prop"] == row.loc[split, "zero_one.reject_prop"] == split


def test_rows_of_the_stored_models_are_filled_up_with_ours(audits, groups):
    stored = tables.adult_rows(audits, groups, reading="as_published", **STEPS)
    frames = [audits[(audits["method"] == "reduction") & (audits["n_steps"] == 50)].loc[k] for k in (0, 1)]
    mixed = tables.by_split(frames).assign(lower_bound=[7.0, -1.0, 9.0, -1.0], rejected=[True, False, False, False])
    ours = (stored + 0.25).drop(index=1, level="split")
    rows = tables.published_rows(stored, mixed, ours)
    assert rows.loc[("reduction", 0), ["entropy.t_n", "entropy.reject_prop"]].tolist() == [7, 1]
    assert rows.loc[("reduction", 1), ["entropy.t_n", "entropy.reject_prop"]].tolist() == [9, 0]
    assert (rows.loc[("baseline", 0), tables.NOT_RELEASED] == ours.loc[("baseline", 0), tables.NOT_RELEASED]).all()
    assert rows.loc[("baseline", 1), tables.NOT_RELEASED].isna().all()
    kept = [("project", COLUMNS), ("sensr", COLUMNS), ("baseline", ["zero_one.t_n"]), ("reduction", ["zero_one.t_n"])]
    for method, columns in kept:
        pd.testing.assert_frame_equal(rows.loc[method, columns], stored.loc[method, columns])

    claimed = tables.claimed_rows(stored, mixed, audits, long_attack=50)
    assert claimed.loc[("reduction", 1), "entropy.t_n"] == 9
    assert claimed.loc[("baseline", 1), "entropy.t_n"] == code("baseline", "loss ratio", 50, 1)
    assert claimed.loc["baseline", "bal_acc"].equals(stored.loc["baseline", "bal_acc"])


def test_steps_are_equal_for_all(audits):
    table = tables.equal_steps(audits)
    assert table.columns.get_level_values(0).unique().tolist() == list(METHODS)
    assert table.loc[("loss ratio", 50), ("sensr", "T_n")] == code("sensr", "loss ratio", 50, 0.5)
    assert (table.xs("rejected", axis=1, level=1) == 0.5).all(axis=None)


def test_the_curve_printed_as_project_is_of_plain_networks():
    points = pd.DataFrame({"method": METHODS, "split": 0, "time": 2.0, "lower_bound": [1.0, 2.0, 3.0, 4.0]})
    curves = tables.with_plain_networks(points)
    assert curves["method"].tolist() == list(METHODS)
    assert curves["lower_bound"].tolist() == [1, 1, 3, 4]


def test_means_and_deviations_over_splits(audits, groups):
    rows = pd.concat(
        {reading: tables.adult_rows(audits, groups, reading=reading, **STEPS) for reading in tables.READINGS},
        names=["reading"],
    )
    table = tables.over_splits(rows)
    keys = [(r, m, s) for r in tables.READINGS for m in METHODS for s in ("mean", "std")]
    assert table.index.tolist() == keys
    bounds = [code("sensr", "loss ratio", 20, split) for split in (0, 1)]
    assert table.loc[("as_published", "sensr", "mean"), "entropy.t_n"] == pytest.approx(np.mean(bounds))
    assert table.loc[("as_published", "sensr", "std"), "entropy.t_n"] == pytest.approx(np.std(bounds, ddof=1))

    values = load_paper("individual_fairness").artefacts["table-3"].values
    published = pd.DataFrame(
        {"value": {k: v.value for k, v in values.items()}, "std": {k: v.std for k, v in values.items()}}
    )
    plain = tables.baseline_by_steps(audits, published)
    assert plain.loc[50, ["min", "max"]].tolist() == [code("baseline", "loss ratio", 50, split) for split in (0, 1)]
    assert plain.loc["printed", ["mean", "std"]].tolist() == [3.676, 2.164]


def test_first_rejections_by_hand():
    flow = pd.DataFrame(
        [
            ("baseline", 0, 1.0, 1.0), ("baseline", 0, 2.0, 1.3), ("baseline", 0, 3.0, 1.4),
            ("baseline", 1, 1.0, 1.0), ("sensr", 0, 1.0, 1.26),
        ],
        columns=["method", "split", "time", "lower_bound"],
    )  # fmt: skip
    first = tables.first_rejections(flow, threshold=1.25).set_index(["method", "split"])["time"]
    assert len(first) == 8
    assert first["baseline", 0] == 2
    assert first["sensr", 0] == 1
    assert first.drop([("baseline", 0), ("sensr", 0)]).isna().all()
