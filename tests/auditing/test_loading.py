import bz2
import gzip
import pickle
import re
import zipfile
from datetime import datetime

import joblib
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from fairlab.auditing.loading import command_model, label, load_model, read_table

MODULES = {
    "bank_to_load": "def predict(rows):\n    return rows['age'] > 45\n\npredict.itself = predict\n",
    "broken_to_load": "import nothing_of_the_kind\n",
    "failing_to_load": "table = {}\ntable['weights']\n",
    "misspelt_to_load": "def predict(rows:\n",
    "ending_to_load": "import sys\nsys.exit()\n",
}


@pytest.fixture
def folder(here):
    """A current directory with modules."""
    for name, code in MODULES.items():
        (here / f"{name}.py").write_text(code)
    return here


def test_a_function_is_imported_from_the_current_directory(folder):
    assert load_model("bank_to_load:predict.itself")(pd.DataFrame({"age": range(9)})).shape == (9,)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PICKLE"])
def test_a_pickle_is_opened_only_when_trusted(folder, suffix):
    joblib.dump({"a": 1}, folder / f"model{suffix}")
    with pytest.raises(ValueError, match=r"runs any code in it, with all your permissions; .*--trust-pickle"):
        load_model(f"model{suffix}")
    assert load_model(f"model{suffix}", trust_pickle=True) == {"a": 1}


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_code_in_a_keras_file_is_never_run_unless_an_old_keras_is_trusted_with_it(folder, suffix, monkeypatch):
    keras = pytest.importorskip("keras")
    code = keras.layers.Lambda(lambda x: (__import__("pathlib").Path("ran").touch(), x)[1], output_shape=(2,))
    keras.Sequential([keras.Input((2,)), code, keras.layers.Dense(1)]).save(folder / f"network{suffix}")
    (folder / "ran").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"deserialization of a `Lambda` layer .* arbitrary code execution"):
        load_model(f"network{suffix}")
    opened = []
    monkeypatch.setattr(keras, "__version__", "3.11.3")
    monkeypatch.setattr(keras.models, "load_model", lambda path, **options: opened.append(path.name))
    with pytest.raises(ValueError, match=r"expected Keras 3.12 or later, found 3.11.3, .* upgrade it, or if you made"):
        load_model(f"network{suffix}")
    load_model(f"network{suffix}", trust_pickle=True)
    assert (opened, (folder / "ran").exists()) == ([f"network{suffix}"], False)


# pickles and tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("of_a_script.pkl", b"c__main__\nClassOfAScript\n."),  # a pickle of what a script had defined
        ("short.pkl", pickle.dumps(list(range(100)))[:50]),
        ("empty.joblib", b""),
        ("text.pkl", b"age,sex\n"),
        ("wrong.keras", b"age,sex\n"),
    ],
)
def test_a_file_that_cannot_be_opened_is_a_sentence(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"^model: {name} could not be opened: [A-Z][A-Za-z]*Error") as caught:
        load_model(name, trust_pickle=True)
    assert "\n" not in str(caught.value)
    assert ("define it in a module" in str(caught.value)) == (name == "of_a_script.pkl")


@pytest.fixture
def read(here, recwarn):
    """Return a function of a CSV's text: its columns, None for a missing value, and what was warned of."""

    def of_text(text, dtype=None, name="t.csv", **options):
        (here / name).write_bytes(text.encode(errors="surrogateescape"))
        table = read_table(here / name, dtype, **options).astype(object)
        return table.where(table.notna(), None).to_dict("list"), [str(recwarn.pop().message) for _ in list(recwarn)]

    return of_text


def lines(texts):
    """Return a CSV of these texts in its first column."""
    return "\n".join(["a,b", *(f"{text},x" for text in texts)])


def read_column(column, kind):
    """Return a column of a file that has types of its own, read as another type."""
    pd.DataFrame({"a": column}).to_parquet("t.parquet")
    return read_table("t.parquet", {"a": kind})["a"].tolist()


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_large_integers_beside_missing_ones_stay_what_they_are(tmp_path, name):
    values = [2**60 + 1, None, 2**60 + 2]
    table = pd.DataFrame({"id": pd.array(values, dtype="Int64"), "n": pd.array([1, None, 3], dtype="int64[pyarrow]")})
    pyarrow_table = pa.Table.from_pandas(table).replace_schema_metadata()
    write = feather.write_feather if name == "t.feather" else parquet.write_table
    write(pyarrow_table, tmp_path / name)
    found = read_table(tmp_path / name)
    assert (found["id"].tolist()[::2], found["id"].isna().tolist()) == (values[::2], [False, True, False])
    assert found["n"].dtype == float


ENDINGS = {
    "t.csv": lambda path, text: path.write_text(text),
    "T.CSV": lambda path, text: path.write_text("\ufeff" + text, encoding="utf-8"),
    "t.tsv": lambda path, text: path.write_text(text.replace(",", "\t")),
    "t.2024.csv.gz": lambda path, text: path.write_bytes(gzip.compress(text.encode())),
    "t.tsv.BZ2": lambda path, text: path.write_bytes(bz2.compress(text.replace(",", "\t").encode())),
    "t.csv.zip": lambda path, text: zipfile.ZipFile(path, "w").writestr("t.csv", text),
    "t.parquet": lambda path, text: pd.DataFrame({"a": [1, 2], "b": ["x", "NA"]}).to_parquet(path),
    "t.PQ": lambda path, text: pd.DataFrame({"a": [1, 2], "b": ["x", "NA"]}).to_parquet(path),
    "t.feather": lambda path, text: pd.DataFrame({"a": [1, 2], "b": ["x", "NA"]}).to_feather(path),
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.filterwarnings("ignore:b. NA is read as text")
def test_tables_are_read_by_their_ending(tmp_path, name):
    if "csv" not in name.lower() and "tsv" not in name.lower():
        pytest.importorskip("pyarrow")
    ENDINGS[name](tmp_path / name, "a,b\n1,x\n\n2,NA\n")
    assert read_table(tmp_path / name).to_dict("list") == {"a": [1, 2], "b": ["x", "NA"]}


TEXTS = 'country,status,none\nNA,None,\n,null,\n"",n/a,\nZA,x,\n'
AS_TEXT = {"country": ["NA", None, None, "ZA"], "status": ["None", "null", "n/a", "x"], "none": [None] * 4}
READ = {  # the file, types that are asked for, the columns, and how each warning begins
    "text is missing only where a field is empty": (
        TEXTS,
        {},
        AS_TEXT,
        ["country: NA is read as text", "status: None, null, n/a is read as text"],
    ),
    **{
        f"text as {kind}": (TEXTS, dict.fromkeys(("country", "status"), kind), AS_TEXT, [])
        for kind in ("str", "string", "object", "category")
    },
    "marked numbers and booleans are missing": (
        "pay,member,share\n1,True,.5\nNA,n/a,\n30,false,-1e-3\n",
        {},
        {"pay": [1, None, 30], "member": [True, None, False], "share": [0.5, None, -0.001]},
        ["pay: NA is read as a missing value", "member: n/a is read as a missing value"],
    ),
    "a marker among texts": ("pay\n1\nNA\n", {"pay": "str"}, {"pay": ["1", "NA"]}, []),
    "blanks among numbers are missing": (
        "pay,member,name\n 1,True, NA\n NA ,  , \n30,false,x\n",
        {},
        {"pay": [1, None, 30], "member": [True, None, False], "name": [" NA", " ", "x"]},
        ["pay: NA is read as a missing value", "member: '  ' is read as a missing value", "name: "],
    ),
    "blanks around a marker": ("pay,b\n1,x\n NA,x\n", {"pay": "Int64"}, {"pay": [1, None], "b": ["x", "x"]}, []),
    "a column without a name is named": (
        ",a\n0,x\n1,y\n",
        {},
        {"Unnamed: 0": [0, 1], "a": ["x", "y"]},
        ["column 1 has no name in the first line and is given one"],
    ),
    "identifiers stay text": (
        "zip,card,order,code,huge\n90210,123456789012345678901,9007199254740993,1e5,1e400\n02139,1,,A1,-1e5\n",
        {},
        {
            "zip": ["90210", "02139"],
            "card": ["123456789012345678901", "1"],
            "order": ["9007199254740993", None],
            "code": ["1e5", "A1"],
            "huge": ["1e400", "-1e5"],
        },
        [
            "zip is read as text, not as numbers: 02139 begins with a zero, as identifiers do",
            "card is read as text, not as numbers: 123456789012345678901 has too many digits to be held exactly",
            "order is read as text, not as numbers: 9007199254740993 has too many digits to be held exactly",
            "huge is read as text, not as numbers: 1e400 is too large",
        ],
    ),
    "numbers are read to the last bit": (
        "a,b\n0.1,9223372036854775807\n0.3333333333333333,-9223372036854775808\n123456.789012345,0\n",
        {},
        {"a": [0.1, 1 / 3, 123456.789012345], "b": [2**63 - 1, -(2**63), 0]},
        [],
    ),
    "unsigned numbers": ("a\n18446744073709551615\n1\n", {}, {"a": [2**64 - 1, 1]}, []),
}


@pytest.mark.parametrize("case", READ)
def test_a_csv_is_read_as_it_stands(read, case):
    text, dtype, expected, beginnings = READ[case]
    found, said = read(text, dtype)
    assert found == expected
    assert [line[: len(start)] for line, start in zip(said, beginnings, strict=True)] == beginnings


def test_columns_that_are_to_be_text_need_not_be_there(read):
    assert read("a,b\n01,1\n", texts=["a", "c"]) == ({"a": ["01"], "b": [1]}, [])


TYPED = [  # what stands in the file, the type, and the values
    (["True", "false", "TRUE"], "bool", [True, False, True]),
    (["1", "0", "0"], "bool", [True, False, False]),
    (["1.0", "0.0", ""], "boolean", [True, False, None]),
    (["1", "NA", ""], "Int64", [1, None, None]),
    (["9007199254740993", "", "0"], "Int64", [9007199254740993, None, 0]),
    (["007", "8", "9"], "int64", [7, 8, 9]),
    (["1.0", "8", "9"], "int8", [1, 8, 9]),
    (["1", "NA", ""], "float", [1, None, None]),
    (["1", "2.5", ""], "Float64", [1, 2.5, None]),
    (["1", "01", ""], "category", ["1", "01", None]),
    (["2024-02-01", "", "9999-12-31"], "date", [pd.Timestamp("2024-02-01"), None, datetime(9999, 12, 31)]),
    (["2024-02-01 08:30", "NA", ""], "datetime64", [pd.Timestamp("2024-02-01 08:30"), None, None]),
    (["2024-02-01", "", "2024-03-01"], "datetime64[s]", [pd.Timestamp("2024-02-01"), None, pd.Timestamp("2024-03-01")]),
]


@pytest.mark.parametrize(("texts", "kind", "expected"), TYPED)
def test_a_type_that_is_asked_for_keeps_the_values(read, texts, kind, expected):
    assert read(lines(texts), {"a": kind}) == ({"a": expected, "b": ["x"] * 3}, [])


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [(["False", "true"], "bool", [False, True]), ([0.0, 1.0], "bool", [False, True]), ([1, 0], "str", ["1", "0"])],
)
def test_types_hold_for_other_formats(here, column, kind, expected):
    assert read_column(column, kind) == expected


NOT_FOUND = [
    ("predict", "model: expected module:name, a Keras file"),
    ("no_such_module:predict", "model: no module 'no_such_module' in"),
    ("bank_to_load:missing", "model: module 'bank_to_load' has no 'missing'"),
    ("broken_to_load:predict", "model: module 'broken_to_load' needs 'nothing_of_the_kind'"),
    ("failing_to_load:predict", r"'failing_to_load' could .*: KeyError: 'weights' \(failing_to_load.py, line 2"),
    ("misspelt_to_load:predict", "'misspelt_to_load' could not be opened: SyntaxError: .*misspelt_to_load.py"),
    ("ending_to_load:predict", "module 'ending_to_load' could not be opened: SystemExit"),
    ("gone.keras", "model: there is no file gone.keras"),
    ("gone.pkl", "model: there is no file gone.pkl"),
]
ASKEW = [
    ("a;b\n1,5;2\n", "expected columns separated by ',' and numbers like 1.5, found ';'"),
    ("a\tb\n1\t2\n", r"expected columns separated by ',' and numbers like 1.5, found '\\t'"),
    ("a,b\n1,2,3\n4,5,6\n", "expected 2 fields in each row, as in the first line, found 3 in line 2"),
    ('a,b\n"1\n1",2\n4\n', "found 1 in line 4"),
    ("a,b,\n1,2\n", "expected 3 fields"),
    ("a,b,a\n1,2,3\n", "expected a name for each column, found 'a' twice"),
    ('a,b\n"1,2\n', "unexpected end of data"),
    ("\n", "it is empty"),
    ("a,b\n1,\udcff\n", "'utf-8' codec can't decode byte 0xff.*; save it as UTF-8"),
    ("town,age\nK\udcf6ln,1\n", "'utf-8' codec can't decode byte 0xf6.*; save it as UTF-8"),
]
OF_OTHER_TYPES = [
    (["yes", "no"], "bool", "found 'yes'"),
    (["2", "1"], "bool", "found '2'"),
    (["True", ""], "bool", "a value is missing"),
    (["1", "NA"], "int64", "a value is missing"),
    (["300", "1"], "int8", "found 300"),
    (["-1", "1"], "uint8", "found -1|out of bounds"),
    (["1.5", "1"], "Int64", "found 1.5|cannot safely cast"),
    (["1e300", "1"], "float32", "found 1e"),
    (["1_000", "1"], "float", "found '1_000'"),
    (["9007199254740992", "9007199254740993"], "float", "found 9007199254740993"),  # which two would be one
    (["16777216", "16777217"], "float32", "found 16777217"),
    (["soon", "2024-01-01"], "datetime64[ns]", "soon"),
    (["2024-01-01", "02.01.2024"], "date", "expected the year first, as in 2025-01-31, found '02.01.2024'"),
    (["2024-01-01", "2024-13-01"], "datetime64", "13"),
    (["women", "wombats"], "U3", "expected 'str', which does not truncate text"),
    (["2500-01-01", "2024-01-01"], "datetime64[ns]", "[Oo]ut of bounds"),
]
TWO = "zip,age\n1,2\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda read, name=name: load_model(name), message) for name, message in NOT_FOUND),
        *(
            (lambda read, text=text: read(text), f"t.csv could not be read as a table: .*{message}")
            for text, message in ASKEW
        ),
        *(
            (
                lambda read, texts=texts, kind=kind: read(lines(texts), {"a": kind}),
                rf"dtype: a cannot be read as '{re.escape(kind)}': .*({found})",
            )
            for texts, kind, found in OF_OTHER_TYPES
        ),
        *(
            (
                lambda read, column=column, kind=kind: read_column(column, kind),
                f"a cannot be read as '{kind}': found {column[0]}",
            )
            for column, kind in (([2, 1], "bool"), ([300, 1], "int8"), ([1.5, 1.0], "int64"))
        ),
        (lambda read: read(TWO, {"wage": "str"}), "dtype: .*no column wage"),
        (lambda read: read(TWO, {"age": "many"}), "dtype: .*age cannot be read as 'many'"),
        (lambda read: read_table("gone.csv"), "table: there is no file"),
        (lambda read: command_model("python 'score.py"), "is no command line"),
        (lambda read: command_model(" "), "expected a command line"),
        *(
            (
                lambda read, name=name: read(TWO, name=name),
                r"one of \.csv, \.tsv \(also with \.gz, .*\.parquet, \.pq, \.feather, found",
            )
            for name in ("t.xlsx", "t", "t.csv.rar", "t.parquet.gz", "t.gz")
        ),
    ],
)
def test_what_cannot_be_found_or_read_is_refused(folder, read, call, message):
    with pytest.raises(ValueError, match=message):
        call(read)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("1", [0, 1], 1),
        ("1", ["0", "1"], "1"),
        ("True", [True, False], True),
        ("yes", None, "yes"),
        ("1", [0.0, 1.0, None], 1),
        ("true", [True, False], True),
        ("true", ["true", "false"], "true"),
        ("1", None, "1"),  # among those of the model, once they are known
    ],
)
def test_a_label_is_found_by_what_it_looks_like(text, values, expected):
    found = label(text, None if values is None else pd.Series(values))
    assert (found, isinstance(found, str)) == (expected, isinstance(expected, str))
