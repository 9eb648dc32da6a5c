import sys

import joblib
import numpy as np
import pandas as pd
import pytest

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


def test_a_keras_file_is_loaded(here):
    keras = pytest.importorskip("keras")
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])
    network.save(here / "network.keras")
    assert load_model("network.keras").predict(np.ones((1, 2)), verbose=0).shape == (1, 1)


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_code_in_a_keras_file_is_never_run_unless_an_old_keras_is_trusted_with_it(here, suffix, monkeypatch):
    keras = pytest.importorskip("keras")
    code = keras.layers.Lambda(lambda x: (__import__("pathlib").Path("ran").touch(), x)[1], output_shape=(2,))
    keras.Sequential([keras.Input((2,)), code, keras.layers.Dense(1)]).save(here / f"network{suffix}")
    (here / "ran").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"deserialization of a `Lambda` layer .* arbitrary code execution"):
        load_model(f"network{suffix}")
    monkeypatch.setattr(keras, "__version__", "3.11.3")
    opened = []
    monkeypatch.setattr(keras.models, "load_model", lambda path, **options: opened.append(path.name))
    with pytest.raises(ValueError, match=r"expected Keras 3.12 or later, found 3.11.3, .* upgrade it, or if you made"):
        load_model(f"network{suffix}")
    assert not opened
    load_model(f"network{suffix}", trust_pickle=True)
    assert opened == [f"network{suffix}"]
    assert not (here / "ran").exists()


def test_a_program_is_a_model():
    yes = command_model(f"{sys.executable} -c 'print(1)'")
    assert yes(pd.DataFrame({"a": [1, 2]})).tolist() == [True, True]
    with pytest.raises(ValueError, match="is no command line"):
        command_model("python 'score.py")
    with pytest.raises(ValueError, match="expected a command line"):
        command_model(" ")


def test_tables_are_read_as_they_are(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.tsv").write_text("a\tb\n1\tx\n")
    assert read_table(tmp_path / "t.csv").shape == (2, 2)
    assert read_table(tmp_path / "t.tsv").columns.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="table: there is no file"):
        read_table(tmp_path / "u.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="could not be read as a table"):
        read_table(tmp_path / "empty.csv")


def test_a_label_is_found_by_what_it_looks_like():
    assert label("1", pd.Series([0, 1])) == 1
    assert label("1", pd.Series(["0", "1"])) == "1"
    assert label("True", pd.Series([True, False])) == True  # noqa: E712
    assert label("yes", None) == "yes"
    assert label("1", None) == 1
    assert label("0.5", None) == 0.5
    assert label("true", None) is True
