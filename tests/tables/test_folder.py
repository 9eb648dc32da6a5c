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
