import json
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("duckdb")

import pyarrow as pa

from fairlab.auditing.loading import read_table
from fairlab.cases.tables import (
    FilesError,
    Folder,
    encode,
    encoding,
)
from fairlab.cases.tables import folder as of_codes


def people(n=5_000, *, first=0, seed=0):
    rng = np.random.default_rng([seed, first])
    town = pd.Series(rng.choice(["Ulm", "Bath", "a 'b' \"c\", d", "NA"], n)).mask(rng.random(n) < 0.1)
    return pd.DataFrame(
        {
            "id": rng.permutation(n) + first,
            "sex": rng.choice(["f", "m"], n),
            "town": town,
            "age": rng.integers(18, 90, n),
            "income": rng.normal(50_000, 1_000, n).round(2),
            "remote": rng.random(n) < 0.3,
            'odd "name"': rng.choice([0.5, 1.5, np.nan], n),
        }
    )


def write(folder, kind, *frames):
    folder.mkdir(exist_ok=True)
    for i, frame in enumerate(frames):
        getattr(frame, "to_csv" if kind == "csv" else "to_parquet")(folder / f"part-{i}.{kind}", index=False)
    return str(folder / f"*.{kind}")


def meta_of(folder):
    return json.loads((folder / "meta.json").read_text())


def decoded(folder):
    """Return the values that a folder of codes holds, as a frame."""
    columns = {}
    for name, about in meta_of(folder)["columns"].items():
        codes = np.fromfile(folder / about["file"], dtype=about["dtype"])
        columns[name] = np.array(about["values"], dtype=object)[codes] if "values" in about else codes
    return pd.DataFrame(columns)


def same(found, expected):
    """Check that frames have the same values: missing ones are None in the first and what pandas has in the second."""
    both = (frame.astype(object).where(frame.notna(), "missing") for frame in (found[[*expected]], expected))
    pd.testing.assert_frame_equal(*(frame.reset_index(drop=True) for frame in both), check_exact=True)


def refused(message, files, folder, **options):
    """Check that files are not encoded, and that no folder passes for whole."""
    with pytest.raises(FilesError, match=message):
        encode(files, folder, **options)
    assert not (folder / "meta.json").exists()


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch):
    monkeypatch.setattr(encoding, "BATCH_ROWS", 1_000)
    monkeypatch.setattr(encoding, "BATCHES", 1)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("most", [2**16, 1_000])
def test_codes_hold_what_the_files_do(tmp_path, kind, most, monkeypatch):
    monkeypatch.setattr(encoding, "MOST_CODES", most)
    frames = [people(), people(2_000, first=5_000)]
    folder = encode(write(tmp_path / "files", kind, *frames), tmp_path / "codes", key="id")
    whole, about = pd.concat(frames), meta_of(folder)
    same(decoded(folder), whole)
    assert (about["n_rows"], about["left_out"]) == (7_000, {})
    towns, values = whole["town"].value_counts(dropna=False), [None, "Bath", "NA", "Ulm", "a 'b' \"c\", d"]
    assert about["columns"]["town"]["values"] == values
    assert about["columns"]["town"]["counts"] == [towns[np.nan], *towns[values[1:]]]
    assert ("values" in about["columns"]["income"]) == (most == 2**16)
    codes = {column["file"] for column in about["columns"].values()}
    assert {file.name for file in folder.iterdir()} == codes | {"meta.json", ".lock"}


# Integers that are equal as floats; of many of them numbers are kept.
CLOSE = pd.DataFrame({"few": [2**53, 2**53 + 1] * 150, "many": 2**60 + np.arange(300)})
WIDE = [Decimal(12345678901234567890), Decimal(12345678901234567891), Decimal(7)] * 20  # without places: integers
EQUAL = "holds integers that are equal as floats"


@pytest.mark.parametrize(
    ("frames", "kept", "left_out"),
    [
        (
            [pd.DataFrame({"sex": ["f", "m"], "day": pd.NaT})],
            ["sex"],
            {"day": "holds values of the type TIMESTAMP_NS"},
        ),
        (
            [pd.DataFrame({"site": pd.Series(WIDE, dtype=pd.ArrowDtype(pa.decimal128(38, 0))), "n": range(60)})],
            ["n"],
            {"site": EQUAL},
        ),
        ([CLOSE.head(1), CLOSE.tail(-1)], ["many"], {"few": EQUAL}),
    ],
)
def test_columns_that_codes_cannot_hold_are_left_out_and_it_is_said(tmp_path, frames, kept, left_out):
    about = meta_of(encode(write(tmp_path / "files", "parquet", *frames), tmp_path / "codes"))
    assert (list(about["columns"]), about["left_out"]) == (kept, left_out)


LETTERS = "01234,1,2020-01-01,true,None,yes,F,0x1\n" * 2 + "11234,NA,2020-01-02,false,,no,T,1\n"


@pytest.mark.filterwarnings("ignore:.* read as")
@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (
            f"zip,n,day,ok,word,said,letter,hex\n{LETTERS}",
            {"zip": {"01234": 2, "11234": 1}, "said": {"yes": 2, "no": 1}},
        ),
        (  # DuckDB guesses from the first 20,480 rows
            "sex,n\n" + "f,1\n" * 30_000 + '"f",1\n"m, or not",2\n#N,3\n',
            {"sex": {"f": 30_001, "m, or not": 1, "#N": 1}},
        ),
    ],
    ids=["identifiers and markers", "what only later rows have"],
)
def test_a_csv_is_read_as_where_it_is_read_into_memory(tmp_path, text, counts):
    (tmp_path / "x.csv").write_text(text)
    found = decoded(encode(tmp_path / "x.csv", tmp_path / "codes"))
    same(found, read_table(tmp_path / "x.csv"))
    assert {name: found[name].value_counts().to_dict() for name in counts} == counts


def test_kinds_of_a_csv_go_by_all_rows(tmp_path):
    file, n = tmp_path / "x.csv", 25_000  # DuckDB guesses from the first 20,480 rows
    ids = ["12345678901234567890", "12345678901234567891"]
    early, late = ["1,true,1,5", "2,false,2,5"], [f"0.4,1,{ids[0]},5", f"2.6,0,{ids[1]},5"]
    file.write_text("\n".join(["rating,ok,site,n", *early * n, *late * 10]) + "\n")
    found = decoded(encode(file, tmp_path / "codes"))
    assert found["rating"].value_counts().to_dict() == {1: n, 2: n, 0.4: 10, 2.6: 10}
    assert found["ok"].value_counts().to_dict() == {"true": n, "false": n, "1": 10, "0": 10}
    assert found["site"].value_counts().to_dict() == {"1": n, "2": n, ids[0]: 10, ids[1]: 10}


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["n", *["1"] * 25_000, "1_000"], {}, "column 'n' holds 1_000, expected integers"),
        (
            ["id,n", *(f"{k},1" for k in range(25_000)), "0.4,1"],
            {"key": "id"},
            "column 'id' holds 0.4, expected integers",
        ),
        (["sex,hired,hired", "f,1,0"], {}, "x.csv: has two columns 'hired'"),
    ],
    ids=["late text", "late fraction", "two columns of one name"],
)
def test_a_csv_that_cannot_be_encoded_is_refused(tmp_path, lines, options, message):
    (tmp_path / "x.csv").write_text("\n".join([*lines, ""]))
    refused(message, tmp_path / "x.csv", tmp_path / "codes", **options)


def test_columns_of_a_file_come_before_those_of_its_folders(tmp_path):
    for year, name in (("x", "a"), ("y", "b")):
        folder = tmp_path / f"sex={year}"
        folder.mkdir()
        pd.DataFrame({"sex": ["f", "m"] * 20, "n": range(40)}).to_parquet(folder / f"{name}.parquet")
    files = str(tmp_path / "*" / "*.parquet")
    assert decoded(encode(files, tmp_path / "codes"))["sex"].value_counts().to_dict() == {"f": 40, "m": 40}
    deep = tmp_path / "year=2020" / "sex=x"
    deep.mkdir(parents=True)
    pd.DataFrame({"sex": ["f"], "n": [1]}).to_parquet(deep / "c.parquet")
    refused("column 'sex' is in the file and in the name of its folder", deep / "c.parquet", tmp_path / "more")


KILLED = """
    import os, signal
    from fairlab.cases.tables import encoding
    encoding.BATCH_ROWS, encoding.BATCHES = 1_000, 1
    save, saved = encoding._save, []
    def save_and_die(*arguments):
        save(*arguments)
        saved.append(1)
        if len(saved) == {n}:
            {end}
    encoding._save = save_and_die
    encoding.encode({files!r}, {folder!r}, key="id")
"""


@pytest.mark.parametrize(("kind", "n"), [("parquet", 1), ("parquet", 4), ("csv", 9)])
def test_a_killed_call_goes_on_where_its_state_was_saved(tmp_path, kind, n):
    files = write(tmp_path / "files", kind, people(), people(4_000, first=5_000))
    whole, folder = encode(files, tmp_path / "whole", key="id"), tmp_path / "codes"
    code = KILLED.format(files=files, folder=str(folder), n=n, end="os.kill(os.getpid(), signal.SIGKILL)")
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    state = json.loads((folder / "progress.json").read_text())
    assert not (folder / "meta.json").exists()
    assert state["n_rows"] == {1: 0, 4: 3_000, 9: 7_000}[n]
    sex = folder / state["columns"]["sex"]["file"]
    with sex.open("ab") as more:
        more.write(b"\7\7\7")  # what was written after the state
    if state["n_rows"]:  # what is there is not encoded again
        with sex.open("r+b") as content:
            content.write(b"\5")
    encode(files, folder, key="id")
    for name, about in meta_of(whole)["columns"].items():
        expected, found = (bytearray((place / about["file"]).read_bytes()) for place in (whole, folder))
        if name == "sex" and state["n_rows"]:
            assert found[0] == 5
            found[0] = expected[0]
        assert found == expected, name
    assert meta_of(whole) == meta_of(folder) and not (folder / "progress.json").exists()


def test_codes_that_were_lost_are_noticed(tmp_path):
    files, folder = write(tmp_path / "files", "parquet", people()), tmp_path / "codes"
    code = KILLED.format(files=files, folder=str(folder), n=4, end="os._exit(0)")
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    (folder / "001.codes").write_bytes(b"")
    refused("001.codes: expected at least 3,000 bytes, found 0", files, folder, key="id")


def test_a_full_disk_is_named_and_the_rest_is_encoded_later(tmp_path):
    files, folder = write(tmp_path / "files", "parquet", people()), tmp_path / "codes"
    code = f"""
        import resource
        from fairlab.cases.tables import encoding
        encoding.BATCH_ROWS, encoding.BATCHES = 1_000, 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            encoding.encode({files!r}, {str(folder)!r}, key="id", columns=["sex", "age"])
        except OSError as error:
            print(error)
    """
    said = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert f"File too large: '{folder / '000.codes'}'" in said.stdout
    assert not (folder / "meta.json").exists()
    same(decoded(encode(files, folder, key="id", columns=["sex", "age"])), people()[["id", "sex", "age"]])


def test_too_little_memory_is_said_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "MEMORY_GB", 0.002)
    files = write(tmp_path / "files", "parquet", people(100_000))
    refused("part-0.parquet: Out of Memory Error", files, tmp_path / "codes")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda files: None, {"key": "id"}, "made for .* found .*; delete the folder, or name another one"),
        (
            lambda files: people(first=10_000).to_parquet(files / "part-2.parquet"),
            {},
            "part-2.parquet: .* was made without it",
        ),
        (lambda files: people(first=7_000).to_parquet(files / "part-1.parquet"), {}, "part-1.parquet: changed since"),
        (lambda files: (files / "part-1.parquet").unlink(), {}, "part-1.parquet: .* was made of it, too"),
    ],
)
def test_a_folder_is_of_the_files_that_it_was_made_of(tmp_path, change, options, message):
    files = write(tmp_path / "files", "parquet", people(), people(first=5_000))
    made = [(encode(files, tmp_path / "codes") / "meta.json").stat().st_mtime_ns for _ in range(2)]
    assert made[0] == made[1]
    refused("expected a new folder, or one of an earlier call", files, tmp_path / "files")
    change(tmp_path / "files")
    with pytest.raises(FilesError, match=message):
        encode(files, tmp_path / "codes", **options)


def test_answers_are_words_in_all_files_if_they_are_in_one(tmp_path):
    parts = [
        pd.DataFrame({"said": words * 20, "n": range(60)}) for words in (["yes", "no", "yes"], ["no", "later", "yes"])
    ]
    folder = Folder(encode(write(tmp_path / "files", "csv", *parts), tmp_path / "codes"))
    assert sorted(folder.values("said")) == ["later", "no", "yes"]


GOOD, LATE = people(), pd.concat([people(30_000)] * 2).astype({"age": str})
LATE.iloc[-1, 3] = "old"


@pytest.mark.parametrize(
    ("frames", "kind", "options", "message"),
    [
        (
            [GOOD, GOOD.astype({"age": str})],
            "parquet",
            {},
            "part-1.parquet: column 'age' holds text, expected integers as in .*part-0",
        ),
        ([GOOD, GOOD.drop(columns="age")], "parquet", {}, "part-1.parquet: has no column 'age', which .*part-0"),
        ([GOOD.drop(columns="age"), GOOD], "parquet", {}, "part-0.parquet: has no column 'age', which .*part-1"),
        (
            [GOOD, GOOD.astype({"age": object}).replace({"age": 20}, "old")],
            "csv",
            {},
            "part-1.csv: column 'age' holds text",
        ),
        ([LATE], "csv", {}, "part-0.csv: column 'age' holds old, expected integers"),
        ([GOOD], "parquet", {"columns": ["sexx"]}, "column 'sexx': not in the files; did you mean 'sex'"),
        ([CLOSE.head(1), CLOSE.tail(-1)], "parquet", {"columns": ["few"]}, f"column 'few': {EQUAL}"),
        (
            [GOOD.assign(id=[7, *range(4_999)])],
            "parquet",
            {"key": "id"},
            "column 'id': expected a key of its own for each row, 7 occurs twice",
        ),
        (
            [GOOD.assign(id=pd.array([None, *range(4_999)], "Int64"))],
            "parquet",
            {"key": "id"},
            "part-0.parquet: column 'id': .* 1 are missing",
        ),
        (
            [GOOD],
            "parquet",
            {"key": "sex"},
            "column 'sex': expected a key of its own for each row, f occurs twice",
        ),
        (
            [GOOD],
            "parquet",
            {"key": "income"},
            "column 'income': expected integers or text as the key, found numbers",
        ),
        ([GOOD.head(0)], "parquet", {}, "part-0.parquet: expected rows, found none"),
        (
            [GOOD.assign(day=pd.Timestamp("2020-01-01"))],
            "parquet",
            {"columns": ["day"]},
            "column 'day': holds values of the type TIMESTAMP",
        ),
        ([], "parquet", {}, r"\*.parquet: expected files, found none"),
    ],
)
def test_files_that_do_not_fit_are_named_with_their_column(tmp_path, frames, kind, options, message):
    refused(message, write(tmp_path / "files", kind, *frames), tmp_path / "codes", **options)


@pytest.mark.parametrize(
    "change",
    [lambda content: content[:-1_000], lambda content: content[:200] + bytes(19_800) + content[20_000:]],
    ids=["cut short", "damaged"],
)
def test_a_damaged_file_is_named(tmp_path, change):
    files, file = write(tmp_path, "parquet", GOOD, GOOD), tmp_path / "part-1.parquet"
    file.write_bytes(change(file.read_bytes()))
    refused("part-1.parquet: ", files, tmp_path / "codes")


def test_texts_of_one_digest_are_different_keys(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "DIGEST_IN_DUCKDB", "cast({} as bigint) // 10")  # five texts have one
    monkeypatch.setattr(encoding, "KEYS_AT_ONCE", 1_000)  # parts in which some digests occur twice and no text does
    good = people().assign(id=lambda frame: (2 * np.arange(len(frame))).astype(str))
    assert meta_of(encode(write(tmp_path / "good", "parquet", good), tmp_path / "codes", key="id"))["n_rows"] == 5_000
    for text in ("4", "24", "44", "64", "84"):  # in several parts
        bad = write(tmp_path / f"bad {text}", "parquet", good.assign(id=[*good["id"][:-1], text]))
        said = f"column 'id': expected a key of its own for each row, {text} occurs"
        refused(said, bad, tmp_path / f"codes {text}", key="id")


# folders of codes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda ages, people: ages.with_name("meta.json").unlink(),
            "meta.json; fairlab.cases.tables.encode writes and",
        ),
        (
            lambda ages, people: ages.write_bytes(ages.read_bytes()[:-1]),
            "expected 5,000 bytes of column 'age', found 4,999",
        ),
        (lambda ages, people: ages.unlink(), "expected 5,000 bytes of column 'age', found none"),
        (lambda ages, people: people.write_bytes(b""), "part-0.parquet: changed since"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(tmp_path, change, message, monkeypatch):
    whole = encode(write(tmp_path / "files", "parquet", people()), tmp_path / "codes")
    monkeypatch.setattr(of_codes, "ROWS_AT_ONCE", 777)
    assert Folder(whole).span("number of the row") == (0, 4_999)
    with pytest.raises(FilesError, match="expected 'number of the row', the key of"):
        Folder(whole).key_column("age")
    change(whole / meta_of(whole)["columns"]["age"]["file"], tmp_path / "files" / "part-0.parquet")
    with pytest.raises(FilesError, match=message):
        Folder(whole)
