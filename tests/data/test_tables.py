import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataError, DataUnavailableError, tables
from fairlab.data.registry import ColumnSpec, Registry, Sensitive, Variant
from fairlab.paths import project

RAW = b"sex;x;y\nf;0.1;no\nm;2.5;yes\nm;3;no\n"
PREPARED = b"sex,x,y\nf,0.1,no\nm,2.5,yes\nm,3.0,no\n"
SCRIPT = '''
import pandas as pd

def make(raw):
    """Read the toy."""
    return pd.read_csv(raw["toy/raw.csv"], sep=";")
'''
VARIANT = Variant(
    name="toy",
    description="a toy",
    source="real",
    rows=3,
    label="y",
    sensitive_features={"sex": Sensitive(privileged="m")},
    columns={
        "sex": ColumnSpec(type="category", categories=("f", "m")),
        "x": ColumnSpec(type="float", min=0, max=5),
        "y": ColumnSpec(type="category", categories=("no", "yes")),
    },
    citation="Anon",
    positive_label="yes",
    raw=("toy/raw.csv",),
    make="make_toy.py",
    sha256=hashlib.sha256(PREPARED).hexdigest(),
)
TABLE = pd.DataFrame({"sex": ["f", "m", "m"], "x": [0.1, 2.5, 3.0], "y": ["no", "yes", "no"]})


def changed(variant, **parts):
    return variant.model_copy(update=parts)


@pytest.fixture
def toy(tmp_path, monkeypatch, make_file):
    """A registry of one file and one variant, with its script in a folder of its own; returns the folder."""
    raw = make_file(path="toy/raw.csv", bytes=len(RAW), sha256=hashlib.sha256(RAW).hexdigest())
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    (tmp_path / "mirror" / "toy" / "raw.csv").write_bytes(RAW)
    (tmp_path / "data_scripts").mkdir()
    (tmp_path / "data_scripts" / "make_toy.py").write_text(SCRIPT)
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    monkeypatch.setattr(tables, "project_registry", lambda: Registry({"toy/raw.csv": raw}, {"toy": VARIANT}))
    return tmp_path / "data_scripts"


def prepared():
    return sorted((tables.cache_folder() / "prepared").iterdir())


def test_prepare_makes_checks_and_keeps_the_table(toy):
    table, files, data_hash = tables.prepare(VARIANT)
    assert table.astype({"sex": str, "y": str}).equals(TABLE.astype({"sex": str, "y": str}))
    assert files == {"toy/raw.csv": hashlib.sha256(RAW).hexdigest()}
    (path,) = prepared()
    assert path.name == f"toy-{data_hash[:16]}.csv"
    assert path.read_bytes() == PREPARED


def test_cached_table_is_used_and_altered_one_rebuilt(toy):
    first = tables.prepare(VARIANT)
    (path,) = prepared()
    before = path.stat().st_mtime_ns
    assert tables.prepare(VARIANT)[2] == first[2]
    assert path.stat().st_mtime_ns == before
    path.write_bytes(PREPARED.replace(b"2.5", b"2.6"))
    assert tables.prepare(VARIANT)[0].equals(first[0])
    assert path.read_bytes() == PREPARED


def test_another_script_is_another_digest(toy):
    first = tables.prepare(VARIANT)[2]
    (toy / "make_toy.py").write_text(SCRIPT + "\n# changed\n")
    assert tables.prepare(VARIANT)[2] != first


def test_a_script_that_makes_something_else_is_an_error_and_keeps_nothing(toy):
    (toy / "make_toy.py").write_text(SCRIPT.replace('sep=";")', 'sep=";").assign(x=1.0)'))
    with pytest.raises(DataError, match=r"toy: the table of make_toy\.py has SHA-256"):
        tables.prepare(VARIANT)
    assert prepared() == []


def test_a_full_disk_leaves_nothing_behind(toy, monkeypatch):
    def fill(table, path):
        Path(path).write_bytes(PREPARED[:7])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tables, "write_table", fill)
    with pytest.raises(DataError, match="No space left on device"):
        tables.prepare(VARIANT)
    assert prepared() == []


def two_sources(toy, monkeypatch, make_file):
    """Let the toy be made from either of two files, without a hash of the result."""
    raw = {
        path: make_file(path=path, bytes=len(RAW), sha256=hashlib.sha256(RAW).hexdigest())
        for path in ("toy/other.csv", "toy/raw.csv")
    }
    variant = changed(VARIANT, raw=tuple(raw), any_raw=True, sha256=None)
    monkeypatch.setattr(tables, "project_registry", lambda: Registry(raw, {"toy": variant}))
    (toy / "make_toy.py").write_text(SCRIPT.replace('raw["toy/raw.csv"]', "*raw.values()"))
    return variant


def test_any_one_of_several_sources_will_do(toy, monkeypatch, make_file):
    variant = two_sources(toy, monkeypatch, make_file)
    table, files, _ = tables.prepare(variant)
    assert list(files) == ["toy/raw.csv"]
    assert len(table) == 3


def test_no_source_at_hand_names_all(toy, monkeypatch, make_file):
    variant = two_sources(toy, monkeypatch, make_file)
    (toy.parent / "mirror" / "toy" / "raw.csv").unlink()
    with pytest.raises(DataUnavailableError, match=r"(?s)toy/other\.csv.*toy/raw\.csv"):
        tables.prepare(variant)


def test_table_without_hash_is_rebuilt_and_checked(toy, monkeypatch, make_file):
    variant = two_sources(toy, monkeypatch, make_file)
    tables.prepare(variant)
    assert not (tables.cache_folder() / "prepared").exists()
    with pytest.raises(DataError, match="toy: 3 rows, expected 4"):
        tables.prepare(changed(variant, rows=4))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.drop(columns="x"), "columns are sex, y; expected sex, x, y"),
        (TABLE[["x", "sex", "y"]], "columns are x, sex, y; expected sex, x, y"),
        (TABLE.head(2), "2 rows, expected 3"),
        (TABLE.assign(sex=["f", "m", "u"]), "column 'sex' holds 'u', expected one of f, m"),
        (TABLE.assign(sex=["f", None, "m"]), "column 'sex' misses 1 values"),
        (TABLE.assign(x=[0.1, np.nan, 3]), "column 'x' misses 1 values"),
        (TABLE.assign(x=[0.1, np.inf, 3]), "column 'x' holds infinite values"),
        (TABLE.assign(x=[0.1, 6, 3]), "column 'x' spans 0.1 to 6.0, expected 0 to 5"),
        (TABLE.assign(x=["a", "b", "c"]), "column 'x' has type .*, expected float"),
    ],
)
def test_check_table(table, message):
    tables.check_table(TABLE, VARIANT)
    with pytest.raises(DataError, match=f"toy: {message}"):
        tables.check_table(table, VARIANT)


def test_fractions_are_no_integers():
    whole = changed(VARIANT, columns=VARIANT.columns | {"x": ColumnSpec(type="int")})
    with pytest.raises(DataError, match="column 'x' has type float64, expected int"):
        tables.check_table(TABLE, whole)


@pytest.mark.parametrize("bad", ["", 3, None])
def test_free_text_is_never_empty(bad):
    free = changed(VARIANT, columns=VARIANT.columns | {"y": ColumnSpec(type="text")})
    table = TABLE.assign(y=["a|b", "NA", "?"])
    tables.check_table(table, free)
    assert tables.as_dataset(table, free, tables.Provenance("toy", "real", "0", 3)).target.tolist() == [
        "a|b",
        "NA",
        "?",
    ]
    message = "misses 1 values" if bad is None else f"holds {bad!r}, expected text"
    with pytest.raises(DataError, match=f"toy: column 'y' {message}"):
        tables.check_table(table.assign(y=pd.Series(["a", bad, "b"], dtype=object)), free)


@pytest.mark.parametrize("column", ["name", "First Name", "DOB", "date_of_birth", "last-name", "E-Mail"])
def test_columns_that_identify_people_are_refused(column):
    with pytest.raises(DataError, match=f"toy: columns identify people: {column}; drop them in make_toy.py"):
        tables.check_table(TABLE.assign(**{column: "x"}), VARIANT)


def test_as_dataset_splits_and_encodes(toy):
    table, *_ = tables.prepare(VARIANT)
    dataset = tables.as_dataset(table, VARIANT, tables.Provenance("toy", "real", "0", 3))
    assert list(dataset.features.columns) == ["sex", "x"]
    assert dataset.features["sex"].cat.codes.tolist() == [0, 1, 1]
    assert dataset.target.tolist() == ["no", "yes", "no"]
    assert dataset.encoding == {"sex": ("f", "m"), "y": ("no", "yes")}
    assert list(dataset.sensitive_features.columns) == ["sex"]


def test_text_that_looks_missing_is_kept(tmp_path):
    variant = changed(
        VARIANT, columns=VARIANT.columns | {"y": ColumnSpec(type="category", categories=("NA", "nan", "?"))}
    )
    table = TABLE.assign(y=["NA", "nan", "?"])
    tables.write_table(table, tmp_path / "t.csv")
    assert tables.read_table(tmp_path / "t.csv", variant)["y"].tolist() == ["NA", "nan", "?"]


def test_digest_depends_on_names_and_values_only():
    assert tables.digest(a=1, b={"x": 1, "y": 2}) == tables.digest(b={"y": 2, "x": 1}, a=1)
    assert tables.digest(a=1, b=2) != tables.digest(a=2, b=1)


def test_a_make_script_runs_on_its_own(tmp_path):
    script = project().data_scripts / "make_berkeley.py"
    done = subprocess.run([sys.executable, script, tmp_path / "b.csv"], capture_output=True, text=True, check=True)
    variant = tables.project_registry().variant("berkeley")
    assert done.stdout == f"berkeley: 4,425 rows, SHA-256 {variant.sha256}\n"
    assert hashlib.sha256((tmp_path / "b.csv").read_bytes()).hexdigest() == variant.sha256
