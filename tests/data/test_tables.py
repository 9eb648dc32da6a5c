import hashlib

import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataError, load, tables
from fairlab.data.encoding import Rule, check_published, codes, encode, published_text
from fairlab.data.files import git_blob_sha1
from fairlab.data.registry import ColumnSpec, Registry, Sensitive, Variant, project_registry

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
    (toy / "make_toy.py").write_text(SCRIPT + "\n# changed\n")
    assert tables.prepare(VARIANT)[2] != first[2], "another script is another digest"


def test_a_script_that_makes_something_else_is_an_error_and_keeps_nothing(toy):
    (toy / "make_toy.py").write_text(SCRIPT.replace('sep=";")', 'sep=";").assign(x=1.0)'))
    with pytest.raises(DataError, match=r"toy: the table of make_toy\.py has SHA-256"):
        tables.prepare(VARIANT)
    assert prepared() == []


def test_any_one_of_several_sources_will_do(toy, monkeypatch, make_file):
    raw = {
        path: make_file(path=path, bytes=len(RAW), sha256=hashlib.sha256(RAW).hexdigest())
        for path in ("toy/other.csv", "toy/raw.csv")
    }
    variant = changed(VARIANT, raw=tuple(raw), any_raw=True, sha256=None)
    monkeypatch.setattr(tables, "project_registry", lambda: Registry(raw, {"toy": variant}))
    (toy / "make_toy.py").write_text(SCRIPT.replace('raw["toy/raw.csv"]', "*raw.values()"))
    table, files, _ = tables.prepare(variant)
    assert list(files) == ["toy/raw.csv"]
    assert len(table) == 3


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


@pytest.mark.parametrize("column", ["name", "First Name", "DOB", "date_of_birth", "last-name", "E-Mail"])
def test_columns_that_identify_people_are_refused(column):
    with pytest.raises(DataError, match=f"toy: columns identify people: {column}; drop them in make_toy.py"):
        tables.check_table(TABLE.assign(**{column: "x"}), VARIANT)


def test_text_that_looks_missing_is_kept(tmp_path):
    variant = changed(
        VARIANT, columns=VARIANT.columns | {"y": ColumnSpec(type="category", categories=("NA", "nan", "?"))}
    )
    table = TABLE.assign(y=["NA", "nan", "?"])
    tables.write_table(table, tmp_path / "t.csv")
    assert tables.read_table(tmp_path / "t.csv", variant)["y"].tolist() == ["NA", "nan", "?"]


PEOPLE = pd.DataFrame({"age": [17, 30], "balance": [-51, 9000], "pdays": ["-1", "40"], "sex": ["f", "m"]})


def test_rules_by_hand():
    rules = {
        "balance": Rule(width=50, clip=(-20, 179)),
        "sex": Rule(codes={"f": 0, "m": 1}),
        "age": Rule(),
        "pdays": Rule(equals=-1),
    }
    table = encode(PEOPLE, rules)
    assert table.to_dict("list") == {"balance": [-2, 179], "sex": ["0", "1"], "age": [17, 30], "pdays": [1, 0]}
    assert published_text(table, final_newline=True) == "a,b,c,d\n-2,0,17,1\n179,1,30,0\n"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"race": Rule()}, "the raw table lacks the columns race"),
        ({"sex": Rule(codes={"f": 0})}, "column 'sex': 'm' has no code"),
        ({"sex": Rule()}, "column 'sex': Unable to parse"),
    ],
)
def test_rules_that_do_not_fit(rules, message):
    with pytest.raises(DataError, match=message):
        encode(PEOPLE, rules)


def test_another_table_than_the_published_one_is_an_error():
    file = project_registry().file("encoded/census")
    table = encode(PEOPLE, {"age": Rule()})
    same = file.model_copy(update={"sha256": hashlib.sha256(b"a\n17\n30").hexdigest()})
    assert check_published(table, same, final_newline=False) is table
    with pytest.raises(DataError, match=r"the encoded table has SHA-256 .*, encoded/census has"):
        check_published(table, file, final_newline=False)


@pytest.mark.parametrize(
    ("name", "path", "in_words", "final_newline", "blob"),
    [
        ("census-themis", "encoded/census", False, False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("census-balanced", "encoded/census_sample", False, True, "de072f11bf15151fa5ebd4fc5203b5a477a97a15"),
        ("credit-themis", "encoded/credit_themis", False, False, "c34327a1d03eca92d1c4f89e5aa3b4cf2767897f"),
        ("census-adf", "encoded/census", True, False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("credit-adf", "encoded/credit_sample", True, True, "0a02e3664c9ed21bf23d0c63adad42baac787477"),
        ("bank-adf", "encoded/bank", True, True, "340eac6bbb4a38ae92926b77ea6d86d983dd1fdf"),
    ],
)
def test_encoded_variants_have_the_published_bytes(mirror, tmp_path, name, path, in_words, final_newline, blob):
    dataset, made = load(name, surrogate=False), tmp_path / "made"
    table = dataset.features.join(dataset.target)
    made.write_text(published_text(codes(table) if in_words else table, final_newline=final_newline))
    assert git_blob_sha1(made) == blob == project_registry().file(path).git_blob_sha1
