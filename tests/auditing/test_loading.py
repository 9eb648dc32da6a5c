import sys

import joblib
import pandas as pd
import pytest

from fairlab.auditing import loading
from fairlab.auditing.loading import command_model, label, load_model, read_table


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("my_module", "my_broken_module"):
        sys.modules.pop(name, None)


def test_a_function_is_imported_from_the_current_directory(here):
    (here / "my_module.py").write_text("class bank:\n    def predict(rows):\n        return rows\n")
    assert load_model("my_module:bank.predict")(3) == 3


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("predict", "model: expected module:name, a Keras file"),
        ("no_such_module:predict", "model: no module 'no_such_module' in"),
        ("my_module:missing", "model: module 'my_module' has no 'missing'"),
        ("my_broken_module:predict", "model: module 'my_broken_module' needs 'nothing_of_the_kind'"),
        ("gone.keras", "model: there is no file gone.keras"),
        ("gone.pkl", "model: there is no file gone.pkl"),
    ],
)
def test_what_cannot_be_found_is_named(here, name, error):
    (here / "my_module.py").write_text("predict = print\n")
    (here / "my_broken_module.py").write_text("import nothing_of_the_kind\n")
    with pytest.raises(ValueError, match=error):
        load_model(name)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PICKLE"])
def test_a_pickle_is_opened_only_when_trusted(here, suffix):
    joblib.dump({"a": 1}, here / f"model{suffix}")
    with pytest.raises(ValueError, match=r"runs whatever code is in it, with all your rights; .*--trust-pickle"):
        load_model(f"model{suffix}")
    assert load_model(f"model{suffix}", trust_pickle=True) == {"a": 1}


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_code_in_a_keras_file_is_never_run_unless_an_old_keras_is_trusted_with_it(here, suffix, monkeypatch):
    keras = pytest.importorskip("keras")
    code = keras.layers.Lambda(lambda x: (__import__("pathlib").Path("ran").touch(), x)[1], output_shape=(2,))
    keras.Sequential([keras.Input((2,)), code, keras.layers.Dense(1)]).save(here / f"network{suffix}")
    (here / "ran").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"deserialization of a `Lambda` layer .* arbitrary code execution"):
        load_model(f"network{suffix}")
    opened = []
    monkeypatch.setattr(keras, "__version__", "3.11.3")
    monkeypatch.setattr(keras.models, "load_model", lambda path, **options: opened.append(path.name))
    with pytest.raises(ValueError, match=r"expected Keras 3.12 or later, found 3.11.3, .* upgrade it, or if you made"):
        load_model(f"network{suffix}")
    load_model(f"network{suffix}", trust_pickle=True)
    assert (opened, (here / "ran").exists()) == ([f"network{suffix}"], False)


def test_a_program_is_a_model():
    yes = command_model(f"{sys.executable} -c 'print(1)'")
    assert yes(pd.DataFrame({"a": [1, 2]})).tolist() == [True, True]
    with pytest.raises(ValueError, match="is no command line"):
        command_model("python 'score.py")
    with pytest.raises(ValueError, match="expected a command line"):
        command_model(" ")


def test_tables_are_read_as_they_are(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "t.tsv").write_text("a\tb\n1\tx\n2\ty\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("t.csv", "t.tsv"):
        assert read_table(tmp_path / name).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    for name, message in (("u.csv", "table: there is no file"), ("empty.csv", "could not be read as a table")):
        with pytest.raises(ValueError, match=message):
            read_table(tmp_path / name)


ZIPS = "zip,age,income\n90210,31,0\n02139,08,10.5\n,44,3\n"


@pytest.mark.parametrize("chunk", [1, 200_000])
def test_numbers_that_begin_with_a_zero_are_text(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(loading, "ROWS_AT_A_TIME", chunk)
    file = tmp_path / "people.csv"
    file.write_text(ZIPS)
    with pytest.warns(UserWarning) as said:
        table = read_table(file)
    assert [str(w.message).split(" is read")[0] for w in said] == ["zip", "age"]
    assert "02139 begins with a zero" in str(said[0].message)
    assert table["zip"].tolist()[:2] == ["90210", "02139"]
    assert table["zip"].isna().tolist() == [False, False, True]
    assert table["income"].tolist() == [0, 10.5, 3]


def test_types_may_be_given(tmp_path, recwarn):
    file = tmp_path / "people.csv"
    file.write_text(ZIPS)
    table = read_table(file, {"zip": "str", "age": "int64", "income": "str"})
    assert table["zip"].tolist()[1] == "02139"
    assert table["age"].tolist() == [31, 8, 44]
    assert table["income"].tolist() == ["0", "10.5", "3"]
    assert not recwarn.list
    for dtype, message in (
        ({"wage": "str"}, "no column wage"),
        ({"zip": "int64"}, "zip cannot be read as 'int64'"),
        ({"age": "many"}, "age cannot be read as 'many'"),
    ):
        with pytest.raises(ValueError, match=f"dtype: .*{message}"):
            read_table(file, dtype)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("1", [0, 1], 1),
        ("1", ["0", "1"], "1"),
        ("True", [True, False], True),
        ("yes", None, "yes"),
        ("1", None, 1),
        ("0.5", None, 0.5),
        ("true", None, True),
    ],
)
def test_a_label_is_found_by_what_it_looks_like(text, values, expected):
    found = label(text, None if values is None else pd.Series(values))
    assert (found, isinstance(found, str)) == (expected, isinstance(expected, str))
