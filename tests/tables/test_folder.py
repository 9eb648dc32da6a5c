import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("duckdb")

from fairlab.tables import (
    Code,
    Column,
    Cut,
    FilesError,
    Folder,
    Hash,
    InMemory,
    Split,
    encode,
    encoding,
    find_thresholds,
    folder,
)


@pytest.fixture
def codes(tmp_path):
    rng = np.random.default_rng(0)
    n = 5_000
    frame = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "pay": rng.lognormal(3, 1, n), "age": rng.integers(18, 80, n)}
    )
    frame.to_parquet(tmp_path / "people.parquet")
    return frame, tmp_path


@pytest.mark.skipif(not folder.IS_COMPILED, reason="numba is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_do_what_numpy_does(seed):
    rng = np.random.default_rng(seed)
    plain, compiled = ({loop.__name__.split("_")[-1]: loop for loop in some} for some in folder.LOOPS.values())
    keys = rng.integers(-(2**60), 2**60, 1_000)
    coefficients = np.array(Hash.keyed("id", seed).coefficients)
    hashed = Hash.keyed("id", seed).of(keys)
    for loops in (plain, compiled):
        np.testing.assert_array_equal(loops["hashed"](keys, coefficients), hashed)
    for thresholds in (np.array([-0.5, 0.0, 0.5]), np.arange(-2, 2, 0.05)):
        numbers = rng.choice([*thresholds, *rng.normal(size=99)], 1_000)
        below = (thresholds < numbers[:, None]).sum(axis=1)
        for loops in (plain, compiled):
            np.testing.assert_array_equal(loops["cut"](numbers, thresholds), below)
    parents, codes = rng.integers(-1, 4, 1_000).astype(np.int32), rng.integers(0, 3, (2, 1_000)).astype(np.uint16)
    line, starts = np.array([0, -1, 1, 0], np.int32), np.array([0, 3, 3, 6])
    parts = rng.integers(-1, 5, 9).astype(np.int32)
    found = [loops["follow"](parents, codes, line, starts, parts) for loops in (plain, compiled)]
    np.testing.assert_array_equal(*found)
    assert set(found[0][parents == 1]) == {-1} and {*found[0]} > {-1}
    kinds = rng.integers(-1, 7, 1_000)
    more = rng.integers(-1, 3, 1_000).astype(np.int32)
    expected = [-1 if a < 0 or b < 0 else a * 3 + b for a, b in zip(kinds.tolist(), more.tolist(), strict=True)]
    counts = np.ones((2, 21), np.int64)
    for loops, some in zip((plain, compiled), counts, strict=True):
        assert loops["combine"](kinds, more, 3).tolist() == expected
        loops["add"](kinds, more, 3, some)
    np.testing.assert_array_equal(counts[0], 1 + np.bincount([each for each in expected if each >= 0], minlength=21))
    np.testing.assert_array_equal(*counts)


@pytest.mark.parametrize("loops", ["plain", "compiled"])
def test_parts_of_any_size_give_the_same_counts_and_thresholds(codes, loops, monkeypatch):
    frame, place = codes
    monkeypatch.setattr(encoding, "MOST_CODES", 1_000)  # so that pay is kept as numbers
    monkeypatch.setattr(folder, "ROWS", 77)
    monkeypatch.setattr(folder, "N_BINS", 5)
    for loop in folder.LOOPS[loops]:
        monkeypatch.setattr(folder, loop.__name__.split("_")[-1], loop)
    table = Folder(encode(place / "people.parquet", place / "codes"))
    assert table.names[-1] == "number of the row"
    table.add(Column("sex", None, ("m", "f")), {"f": 1, "m": 0})  # in another order than in the file
    memory = InMemory(
        {
            "sex": Column("sex", (frame["sex"] == "f").to_numpy().astype(int), ("m", "f")),
            "pay": Column("pay", frame["pay"].to_numpy()),
            "age": Column("age", frame["age"].to_numpy()),
            "number of the row": Column("number of the row", np.arange(len(frame))),
        }
    )
    half = Cut(Hash.keyed("number of the row", 0), (2.0**30,))
    pay, age, sex = Cut("pay", (10.0, 20.0)), Cut("age", (30.5, 60.0)), Code("sex", 2)
    split = Split(sex, ((pay, (0, -1, 1)), (age, (2, 3, -1))), 4)
    lists = [(half, sex), (pay, split, age), (), (split, half, sex), (age,)]
    for one, other in ((table, memory), (table.among(half, 1), memory.among(half, 1))):
        for some in (lists, lists[:1], [(sex, split), (pay, split)]):
            for found, expected in zip(one.tabulate(some), other.tabulate(some), strict=True):
                np.testing.assert_array_equal(found, expected)
    rows = memory.codes(half) == 0
    for max_bins in (3, 10):
        for name in ("pay", "age"):
            [found] = table.among(half, 0).thresholds([name], max_bins)
            np.testing.assert_array_equal(found, find_thresholds(frame[name].to_numpy()[rows], max_bins))


def test_a_folder_that_is_not_whole_is_refused(codes):
    _, place = codes
    whole = encode(place / "people.parquet", place / "codes")
    meta = json.loads((whole / "meta.json").read_text())
    with pytest.raises(FilesError, match=r"meta.json; fairlab.tables.encode writes and resumes"):
        Folder(place)
    with pytest.raises(FilesError, match="expected 'number of the row', the key of"):
        Folder(whole).key_column("age")
    file = whole / meta["columns"]["age"]["file"]
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(FilesError, match="expected 5,000 bytes of column 'age', found 4,999"):
        Folder(whole)
    file.unlink()
    with pytest.raises(FilesError, match="expected 5,000 bytes of column 'age', found none"):
        Folder(whole)
    file.write_bytes(content)
    (place / "people.parquet").write_bytes(b"")
    with pytest.raises(FilesError, match=r"people.parquet: changed since"):
        Folder(whole)
