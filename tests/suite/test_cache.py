import random

import numpy as np
import pandas as pd
import pytest

from fairlab.cli import main
from fairlab.suite import cache

ABOUT = {"function": "toy_trials:mean", "code": "as it was", "versions": {"numpy": "2"}, "host": "a", "seconds": 2.0}
RESULT = {"mean": 0.5, "draws": np.arange(5.0), "text": ["a", None]}

TABLE = pd.DataFrame(
    {
        "text": ["x", None],
        "number": [1.5, np.nan],
        "category": pd.Categorical(["u", "v"], categories=["v", "u"], ordered=True),
        "day": pd.to_datetime(["2020-01-01", None]),
        "whole": pd.array([1, 2], dtype="Int64"),
        "anything": pd.Series([(1, 2), ["a", None]], dtype=object),
        "words": pd.Series(["p", "q"], dtype=object),
        ("two", 1): [True, False],
    }
)
LEVELS = TABLE.set_index(["text", "number"])
VALUES = [
    *(None, True, 1, 10**30, -0.0, float("inf"), float("nan"), 0.1 + 0.2, "é", "\ud800"),
    *(np.float32(1.1), np.bool_(True), np.int64(-3), np.str_("ab"), np.datetime64("2020-01-01")),
    *(np.zeros((3, 0)), np.array(3.5), np.array(["a", "bc"]), np.array([True]), np.asfortranarray(np.eye(2, 3))),
    *([], (), {}, [1, (2.0, "three")], {1: 2, (1, "a"): {None: []}, np.int64(3): (4,)}),
    *(
        pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"]),
        TABLE[["whole"]],
        TABLE,
        LEVELS,
        TABLE[["text", "number"]].T,
        pd.DataFrame(),
        pd.DataFrame(index=["a"]),
        pd.DataFrame(columns=["a"]),
    ),
    *(TABLE["text"], TABLE["category"], pd.Series([1, 2], index=pd.RangeIndex(0, 4, 2, name="r"), name=("a", 1))),
    *(LEVELS.index, pd.Index(["a", "b"], name="n"), pd.CategoricalIndex(["a", "b", "a"])),
    *(pd.Index([(1, 2), (3, 4)], tupleize_cols=False), pd.DatetimeIndex(["2020-01-01"])),
]


@pytest.fixture
def kept(results):
    """Two cached trials."""
    for key in ("ab12", "cd34"):
        cache.write(cache.folder() / "toy" / "mean" / f"{key * 6}.trial", RESULT, ABOUT)
    return sorted(cache.folder().rglob("*.trial"))


def test_entry_has_provenance(kept):
    result, about = cache.read(kept[0])
    assert result["mean"] == 0.5
    assert (result["draws"] == RESULT["draws"]).all()
    assert ABOUT.items() <= about.items()
    assert about["written"].startswith("20")
    assert cache.provenance(cache.status).keys() == {"function", "code", "versions", "host"}


def test_every_flipped_bit_is_found(kept):
    content = kept[0].read_bytes()
    for bit in random.Random(0).sample(range(8 * len(content)), 200):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        kept[0].write_bytes(flipped)
        with pytest.raises(cache.CorruptedError):
            cache.read(kept[0])
    for length in range(0, len(content), 17):
        kept[0].write_bytes(content[:length])
        with pytest.raises(cache.CorruptedError):
            cache.read(kept[0])


def test_a_result_is_that_of_its_key(kept):
    kept[0].replace(kept[1])
    with pytest.raises(cache.CorruptedError):
        cache.read(kept[1])


def test_status_verify_and_prune(kept, capsys):
    assert main(["cache", "verify"]) == 0
    assert main(["cache", "status"]) == 0
    assert "toy_trials:mean current" in " ".join(capsys.readouterr().out.split())
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    stale = kept[0].with_name("ef56" * 6 + ".trial")
    cache.write(stale, RESULT, ABOUT | {"function": "fairlab.seeds:Trial"})
    others = [
        "notes.md",
        ".env.db_admin",
        "toy/notes",
        "toy/mean/my.trial",
        "toy/mean/ef56.pickle",
    ]
    for name in others:
        (cache.folder() / name).write_text("mine")
    assert main(["cache", "verify"]) == 1
    output = capsys.readouterr().out
    assert f"corrupted: {kept[0]}" in output
    assert "1 corrupted: they will be computed again" in output
    assert set(cache.status()["state"]) == {"current", "stale", "corrupted"}
    assert main(["cache", "prune"]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[:-1] == [f"removed, corrupted: {kept[0]}", f"removed, stale: {stale}"]
    assert "2 files removed" in output
    assert [(cache.folder() / name).read_text() for name in others] == ["mine"] * len(others)
    assert {file for file in cache.folder().rglob("*") if file.is_file()} == {
        kept[1],
        *(cache.folder() / name for name in others),
    }


def test_empty_cache(results, capsys):
    assert [main(["cache", verb]) for verb in ("status", "verify", "prune")] == [0, 0, 0]
    assert "no cached trials" in capsys.readouterr().out


def again(value, folder):
    file = folder / f"{'0' * 24}.trial"
    cache.write(file, value, {})
    return cache.read(file)[0]


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert_same(list(a), list(b))
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif isinstance(a, np.ndarray | np.generic):
        assert (a.dtype, a.shape, a.tobytes(), a.flags.c_contiguous) == (
            b.dtype,
            b.shape,
            b.tobytes(),
            b.flags.c_contiguous,
        )
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
        for k in range(a.shape[1]):
            assert_same(list(a.iloc[:, k]), list(b.iloc[:, k]))
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b, check_exact=True)
    elif isinstance(a, pd.Index):
        pd.testing.assert_index_equal(a, b, exact=True)
    else:
        assert repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_round_trip_is_exact(value, tmp_path):
    assert_same(value, again(value, tmp_path))


def test_arrays_come_back_free_to_be_changed(tmp_path):
    array = again(np.zeros(3), tmp_path)
    array[0] = 1
    assert array[0] == 1
    table = again(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), tmp_path)
    table.loc[0, "a"] = 5.0
    assert table["a"].tolist() == [5.0, 2.0]


class Special(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": np.array([object()])}, r"result\['a'\], a ndarray of object"),
        ([lambda: 1], r"result\[0\], a function"),
        ((np.zeros(2).view(Special),), r"result\[0\], a Special"),
        (pd.DataFrame({"a": [1, print]}), r"result.values\[1\], a builtin"),
        ({len: 1}, r"result.keys\(\)\[0\], a builtin"),
        (np.void(b"ab"), "result, a void"),
        ([pd.Timestamp("2020-01-01")], r"result\[0\], a Timestamp"),
    ],
)
def test_other_objects_are_named_in_the_error(value, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        cache.write(tmp_path / f"{'0' * 24}.trial", value, {})
