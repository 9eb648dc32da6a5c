import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import (
    Flipset,
    agreement_table,
    by_map,
    fit_table,
    flipset_intervals,
    flipsets_by_map,
    size_spread,
    size_table,
    transparency_report,
    usable_maps,
    validate_map,
)

X = pd.DataFrame({"a": [1.0, 1.0, -1.0, -1.0], "b": 0.0}, index=list("pqrs"))


def positive(table):
    return (table["a"] > 0).astype(int)


@pytest.fixture(scope="module")
def validations():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(1000, 2))
    maps = {name: rng.normal(shift, size=(1000, 2)) for name, shift in (("good", 0), ("shifted", 1))}
    maps["diverged"] = np.full((1000, 2), np.nan)
    return {name: validate_map(target, image, X_source=target) for name, image in maps.items()}


def test_maps_off_target_are_told_apart_and_counted(validations):
    good, shifted = validations["good"], validations["shifted"]
    note = "1 of 3 maps are off target (KS above 0.2) and left out"
    assert usable_maps({"x": shifted, "y": good, "z": good}) == (["y", "z"], note)
    assert usable_maps({"y": good}) == (["y"], "")
    names, note = usable_maps({"x": shifted, "z": shifted})
    assert names == ["x", "z"]
    assert note == "all 2 maps are off target (KS above 0.2)"


def test_diverged_maps_are_never_used(validations):
    note = "1 of 3 maps diverged and left out; 1 of 3 maps are off target (KS above 0.2) and left out"
    assert usable_maps(validations) == (["good"], note)
    names, note = usable_maps({name: validations[name] for name in ("diverged", "shifted")})
    assert names == ["shifted"]
    assert note == "1 of 2 maps diverged and left out; all 1 maps are off target (KS above 0.2)"
    assert usable_maps({"diverged": validations["diverged"]})[0] == []


def test_one_row_of_fit_per_map(validations):
    table = fit_table(validations, labels={"x0": "first"})
    assert table.index.tolist() == ["good", "shifted", "diverged"]
    assert table.index.name == "map"
    assert table["off target"].tolist() == [False, True, True]
    assert (table["largest KS"][:2] == table[["KS first", "KS x1"]].max(axis=1)[:2]).all()
    assert table.loc["diverged"].drop("off target").isna().all()
    pairs = fit_table({(0.1, 0): validations["good"], (0.1, 1): validations["good"]})
    assert pairs.index.nlevels == 2


def test_flipsets_of_maps_that_have_images():
    images = {"identity": X, "swap": -X, "diverged": X * np.nan}
    flips = flipsets_by_map(positive, X, images)
    table = size_table(flips)
    assert table.to_dict("index") == {"identity": {"F+": 0, "F−": 0}, "swap": {"F+": 2, "F−": 2}}


def test_agreement_is_with_the_first_map():
    swap, half = -X, X.assign(a=[-1.0, 1.0, 1.0, -1.0])
    table = agreement_table(flipsets_by_map(positive, X, {"swap": swap, "half": half, "identity": X}))
    assert table["Jaccard F+"].tolist() == [1, 0.5, 0]
    assert table["Jaccard F−"].tolist() == [1, 0.5, 0]
    assert table["F+"].tolist() == [2, 1, 0]


def flips(n_positive, n_negative, n=100):
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_spread_over_maps_by_hand():
    intervals = {name: flipset_intervals(flips(*sizes)) for name, sizes in (("A", (10, 30)), ("B", (14, 30)))}
    stacked = by_map(intervals)
    assert stacked.columns.tolist() == ["map", "flipset", "size", "low", "high"]
    table = size_spread(stacked)
    assert table.loc["positive", ["mean size", "smallest", "largest", "maps"]].tolist() == [12, 10, 14, 2]
    assert table.loc["positive", "standard deviation over maps"] == pytest.approx(np.sqrt(8))
    assert table.loc["negative", "standard deviation over maps"] == 0
    half = [(table["high"] - table["low"])["positive"] / 2 for table in intervals.values()]
    assert table.loc["positive", "half-width over people"] == pytest.approx(np.mean(half))
    pd.testing.assert_frame_equal(table, size_spread(stacked.set_index(["map", "flipset"])))


def test_results_are_stacked_with_the_name_of_the_map_in_front():
    image = X.assign(a=[-1.0, 1.0, 1.0, -1.0])
    report = transparency_report(flipsets_by_map(positive, X, {"m": image})["m"], X, image)
    table = by_map({"m": report, "n": report})
    assert table.columns.tolist()[:4] == ["map", "flipset", "size", "feature"]
    assert table["map"].tolist() == ["m"] * 4 + ["n"] * 4
    assert by_map({2: X}, name="seen").columns.tolist() == ["seen", "a", "b"]


def test_agreement_of_none():
    with pytest.raises(ValueError, match="flips: expected one for each map"):
        agreement_table({})
