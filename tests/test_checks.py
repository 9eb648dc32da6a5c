import errno
import os
import stat
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fairlab import paths
from fairlab.checks import (
    EXTRAS,
    MissingExtraError,
    align,
    check_array,
    check_binary,
    check_features,
    check_number,
    check_same_columns,
    estimator_features,
    is_number,
    optional,
    suggestion,
)
from fairlab.data.project import Project, project
from fairlab.paths import atomic_path, check_outputs, write_text
from fairlab.seeds import derive_seed
from fairlab.suite.seeds import Trial

TABLE = pd.DataFrame({"age": [30, 40], "member": [True, False], "score": [0.5, 1.5]})


@pytest.mark.parametrize(
    ("name", "known", "tail"),
    [
        ("quik", ["smoke", "quick"], "; did you mean 'quick'? (known: smoke, quick)"),
        ("zzz", iter(["smoke", "quick"]), " (known: smoke, quick)"),
        ("ab", ["abc", "abd"], "; did you mean 'abd' or 'abc'? (known: abc, abd)"),
        ("x", [], " (known: none)"),
    ],
)
def test_suggestions(name, known, tail):
    assert suggestion(name, known) == tail


def test_numbers_arrays_and_features_of_a_table_become_floats():
    assert [check_number(np.int64(3), "share", least=3), check_number(np.inf, "share", infinite=True)] == [3, np.inf]
    assert check_array([[1, 2], [3, 4]], "X").dtype == float
    assert np.isnan(check_array([np.nan], "X", finite=False)).all()
    values, columns = check_features(TABLE)
    assert (columns, values.dtype, values.tolist()) == ([*TABLE], float, [[30, 1, 0.5], [40, 0, 1.5]])


def differ(first, second):
    return lambda: check_same_columns(first, second, "men", "women")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_array([[np.nan, 1], [np.inf, 2]], "X"), "X: 2 values are missing or infinite"),
        (lambda: check_array([1, None], "X"), "X: expected numbers, found object"),
        (lambda: check_binary([[0, 1], [2, 1]], "y"), "y: expected 0 and 1, or booleans, found 2"),
        (differ(["a", "b"], ["b", "a"]), "men and women differ in columns: their order differs"),
        (differ(["a", "b"], ["a", "c"]), "differ in columns: only in men: b; only in women: c"),
        (differ(["a"], ["a", "c"]), "differ in columns: only in women: c"),
        (differ(["x0", "x1"], ["x0"]), "men has 2 columns, women has 1"),
        (differ(["x0", "age"], ["x0"]), "differ in columns: only in men: age"),
        # features of a table
        (
            lambda: check_features(TABLE.assign(age=["a", "b"])),
            r"X: column 'age' has type (object|str), expected numbers; encode it first",
        ),
        (
            lambda: check_features(TABLE.astype({"age": "category"})),
            "X: column 'age' has type category, expected numbers",
        ),
        (lambda: check_features([["a", "b"]]), "X: expected a table of numbers"),
        (lambda: check_features([1.0, 2.0]), r"X: expected shape \(n_rows, n_features\), found \(2,\)"),
        (lambda: check_features(pd.DataFrame(index=[0, 1])), "X: has no columns"),
        (lambda: check_features(np.empty((2, 0))), "X: has no columns"),
        (lambda: check_features(pd.concat([TABLE, TABLE[["age"]]], axis=1)), "X: columns occur twice: age"),
        (lambda: check_features(TABLE[:0]), "X: is empty, expected at least 1"),
        (lambda: check_features(TABLE[:1], min_rows=2), "X: has 1 row, expected at least 2"),
        (lambda: check_features(TABLE, min_rows=3), "X: has 2 rows, expected at least 3"),
        (
            lambda: check_features(TABLE.assign(score=[1.0, np.nan])),
            "X: column 'score' holds nan in row 1; 1 values in all",
        ),
        (
            lambda: check_features([[np.inf, 1.0], [1.0, -np.inf]]),
            "X: column 'x0' holds inf in row 0; 2 values in all are missing or inf",
        ),
        (
            lambda: check_features(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})),
            "X: column 'a' holds nan in row 1",
        ),
        (lambda: check_features(TABLE[:0], name="source"), "source: is empty"),
        # values that cannot be aligned
        (lambda: align([1, 2], INDEX, "y"), "y: expected 3 values, one for each row, found 2"),
        (
            lambda: align(pd.Series([1, 2], index=[10, 20]), INDEX, "y"),
            "y: expected 3 values, one for each row, found 2",
        ),
        (
            lambda: align(pd.Series([1, 2, 3]), INDEX, "y"),
            "y: has the row label 0, which the table has not; expected the same index",
        ),
        (
            lambda: align(pd.Series([1, 2, 3], index=[10, 10, 20]), INDEX, "y"),
            "y: row labels occur twice, so that its order cannot be told",
        ),
        (
            lambda: align(pd.Series([1, 2, 3]), pd.Index([2, 0, 1]), "y"),
            "y: its row labels count from 0, and the table's stand in another order; hand in an array",
        ),
        (lambda: align(np.zeros((3, 2)), INDEX, "y"), r"y: expected one value for each row, found shape \(3, 2\)"),
        (lambda: align(pd.DataFrame(np.zeros((3, 2)), index=INDEX), INDEX, "y"), "y: expected one column, found 2"),
        (lambda: align("abc", INDEX, "y"), "y: expected one value for each row, found str"),
        (lambda: align(1, INDEX, "y"), "y: expected one value for each row, found int"),
        (lambda: align(None, INDEX, "y"), "y: expected one value for each row, found NoneType"),
        (lambda: align({1: 2}, INDEX, "y"), "y: expected one value for each row, found dict"),
        (lambda: align({1, 2, 3}, INDEX, "y"), "y: expected one value for each row, found set"),
        # numbers out of their bounds
        (lambda: check_number(-1, "share", least=0), "^share: expected a finite number of at least 0, found -1$"),
        (lambda: check_number(0, "share", above=0), "^share: expected a finite number above 0, found 0$"),
        (lambda: check_number(95, "share", above=0, below=1), "^share: expected a number between 0 and 1, found 95$"),
        (lambda: check_number(np.inf, "share"), "^share: expected a finite number, found inf$"),
        (lambda: check_number(np.nan, "share", infinite=True), "^share: expected a number, found nan$"),
        (lambda: check_number("1", "share"), "^share: expected a finite number, found '1'$"),
        (lambda: check_number(True, "share"), "^share: expected a finite number, found True$"),
        (lambda: check_number(1j, "share"), "^share: expected a finite number, found 1j$"),
    ],
)
def test_arrays_columns_values_and_numbers_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NUMBERED, NAMED = pd.DataFrame([[1, 0.5], [2, 1.5]]), pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})


@pytest.mark.parametrize(
    ("frame", "other", "message"),
    [
        (NUMBERED, NUMBERED[[1, 0]], "same order"),
        (NAMED, NAMED[["b", "a"]], "same order"),
        (NAMED, NAMED.rename(columns={"b": "c"}), "unseen at fit time:\n- c\n"),
        (NAMED, NAMED.assign(b=["u", "v"]), "Y: column 'b' has type"),
        (NAMED, NAMED.assign(b=[0.5, None]), "Y: column 'b' holds nan in row 1"),
        (NAMED, NAMED[:1], "Y: has 1 row, expected at least 2"),
        (NAMED, NAMED.to_numpy()[:, :1], "X has 1 features, but BaseEstimator is expecting 2"),
        (NAMED, NAMED.to_numpy()[0], "Reshape your data"),
        (NAMED, csr_array(NAMED.to_numpy()), "Sparse data was passed"),
    ],
)
def test_an_estimator_is_held_to_the_columns_of_its_fit(frame, other, message):
    estimator = BaseEstimator()
    for fitting in (True, False):
        np.testing.assert_array_equal(estimator_features(estimator, frame, fitting=fitting), [[1, 0.5], [2, 1.5]])
    assert (estimator.n_features_in_, [*estimator.feature_names_in_]) == (2, [*map(str, frame)])
    with pytest.raises((ValueError, TypeError), match=message), warnings.catch_warnings(action="ignore"):
        estimator_features(estimator, other, fitting=False, name="Y", min_rows=2)


INDEX = pd.Index([30, 10, 20])


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        (1, 2, 3),
        np.array([[1], [2], [3]]),
        pd.array([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], index=INDEX),
        pd.Series([2, 3, 1], index=[10, 20, 30]),
        pd.DataFrame({"a": [1, 2, 3]}, index=INDEX),
        range(1, 4),
    ],
)
def test_values_are_aligned_by_index_or_by_order(values):
    assert list(align(values, INDEX, "y").items()) == [(30, 1), (10, 2), (20, 3)]


def test_aligned_values_keep_their_types():
    assert align([1, "1", None], INDEX, "y").tolist() == [1, "1", None]
    assert align([True, False, True], INDEX, "y").dtype == bool


def test_a_package_is_imported_when_it_is_used_and_fails_by_its_own_error(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name, code in (("plain_of_the_test", "answer = 42\n"), ("broken_of_the_test", "import nothing_of_that_name\n")):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.setitem(EXTRAS, name, "suite")
    plain, broken = optional("plain_of_the_test"), optional("broken_of_the_test")
    assert not {"plain_of_the_test", "broken_of_the_test"} & set(sys.modules)
    assert plain.answer == 42
    with pytest.raises(AttributeError, match="question"):
        _ = plain.question
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name") as error:
        _ = broken.answer
    assert not isinstance(error.value, MissingExtraError)


def test_a_missing_package_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lime", None)
    monkeypatch.delitem(sys.modules, "lime.lime_tabular", raising=False)
    said = r"lime, which is not installed; the extra 'symbolic'.*pip install 'fairlab\[symbolic\]'"
    with pytest.raises(MissingExtraError, match=said) as error:
        _ = optional("lime.lime_tabular").LimeTabularExplainer
    assert error.value.name == "lime"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        *((values, True) for values in ([1, 2], [0.5, np.nan], pd.array([1, None], dtype="Int64"))),
        *((values, False) for values in ([True, False], pd.array([True, None], dtype="boolean"))),
        *((values, False) for values in (["a"], pd.Categorical([1, 2]))),
    ],
)
def test_numbers_are_neither_booleans_nor_categories(values, expected):
    assert is_number(pd.Series(values)) == expected


# paths


def test_the_project_is_the_clone_above_the_package_or_the_one_of_the_variable(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRLAB_ROOT", raising=False)
    own = project()
    own.check()
    assert Path(paths.__file__).is_relative_to(own.root)
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    assert project() == Project(tmp_path) != own
    with pytest.raises(FileNotFoundError, match=f"no fairlab project found in FAIRLAB_ROOT={tmp_path}: expected data_"):
        project().check()
    monkeypatch.delenv("FAIRLAB_ROOT")
    monkeypatch.setattr(sys.modules["fairlab.data.project"], "__file__", str(tmp_path / "fairlab/data/project.py"))
    with pytest.raises(FileNotFoundError, match=r"above the installed package: .* `pip install -e "):
        project().check()


def test_the_results_folder_is_that_of_the_variable_or_of_the_project(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
    assert project().results == tmp_path
    monkeypatch.setenv("FAIRLAB_RESULTS", "")
    assert Project(tmp_path / "clone").results == tmp_path / "clone" / "results"


def test_text_is_written_with_its_folder_and_the_usual_rights(tmp_path):
    path = tmp_path / "new" / "note.txt"
    write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    path.with_name("plain.txt").touch()
    assert path.stat().st_mode == path.with_name("plain.txt").stat().st_mode


def test_nobody_sees_half_a_file_and_a_failed_write_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "table.csv"
    with atomic_path(path) as temporary:
        temporary.write_text("whole")
        # On the same disk, so that moving is one step; writers choose the format by the suffix.
        assert (temporary.parent, temporary.suffix, path.exists()) == (path.parent, ".csv", False)
    with pytest.raises(OSError, match=r"No space left on device: '.*table\.csv'"), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        raise RuntimeError
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"table.csv": "whole"}


def test_a_link_is_followed_and_rights_are_kept(tmp_path):
    (tmp_path / "folder").mkdir()
    own, link, dangling = tmp_path / "folder" / "own.txt", tmp_path / "link", tmp_path / "dangling"
    own.touch(0o600)
    link.symlink_to("folder/own.txt")
    dangling.symlink_to("folder/new.txt")
    write_text(link, "after")
    write_text(dangling, "new")
    assert (link.is_symlink(), dangling.is_symlink(), stat.S_IMODE(own.stat().st_mode)) == (True, True, 0o600)
    assert {path.name: path.read_text() for path in own.parent.iterdir()} == {"own.txt": "after", "new.txt": "new"}


def test_pipes_and_devices_are_written_to(tmp_path):
    pipe, read, write = tmp_path / "pipe", *os.pipe()
    os.mkfifo(pipe)
    reader = ThreadPoolExecutor().submit(pipe.read_text)
    check_outputs({"--html": pipe, "--json": f"/dev/fd/{write}", "--junit": "/dev/null", "--model-card": "/dev/null"})
    write_text(pipe, "a page")
    write_text(f"/dev/fd/{write}", "an object")
    write_text("/dev/null", "nothing")
    os.close(write)
    with open(read) as stream:  # noqa: PTH123
        assert (reader.result(), stream.read()) == ("a page", "an object")
    assert (list(tmp_path.iterdir()), pipe.is_fifo(), Path("/dev/null").is_char_device()) == ([pipe], True, True)


def test_what_is_written_to_a_redirection_comes_after_what_was_printed(tmp_path):
    code = (
        "from fairlab.paths import write_text; print('first'); write_text('/dev/stdout', 'second\\n'); print('third')"
    )
    with (tmp_path / "out.txt").open("w") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert (tmp_path / "out.txt").read_text() == "first\nsecond\nthird\n"


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"--html": "table.csv"}, "--html: expected a file of its own, found table.csv, which is read"),
        ({"--html": "./folder/../table.csv"}, "table.csv, which is read"),
        ({"--html": "link"}, "table.csv, which is read"),
        ({"--html": "linked.csv"}, "table.csv, which is read"),
        ({"--html": "a", "--json": "folder/../a"}, "--json: expected a file of its own, found a, which --html writes"),
        ({"--html": "gone", "--json": "dangling"}, "--json: expected a file of its own, found gone, which --html"),
        ({"--html": "pipe", "--json": "pipe"}, "--json: expected a file of its own, found pipe, which --html writes"),
        ({"--html": ""}, "--html: expected the name of a file, found an empty text"),
        ({"--html": "new/"}, "--html: expected the name of a file, found new/"),
        ({"--html": "folder"}, "expected a file to write, found a folder or socket: 'folder'"),
        ({"--html": "table.csv/a"}, "Not a directory: 'table.csv/a'"),
        ({"--html": "a" * 300}, "File name too long"),
        ({"--html": "a\0b"}, "embedded null"),
        ({"--html": "/proc/page"}, "'/proc/page'"),
        ({"--html": "/dev/fd/999"}, "'/dev/fd/999'"),
    ],
)
def test_outputs_that_would_destroy_something_or_cannot_be_written_are_refused(tmp_path, monkeypatch, outputs, message):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("table.csv").write_text("a\n1\n")
    Path("link").symlink_to("table.csv")
    Path("linked.csv").hardlink_to("table.csv")
    Path("dangling").symlink_to("gone")
    os.mkfifo("pipe")
    with pytest.raises((ValueError, OSError), match=message):
        check_outputs(outputs, ["table.csv", "gone.csv", "x" * 5000, "python -c 'print()'"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "dangling",
        "folder",
        "link",
        "linked.csv",
        "pipe",
        "table.csv",
    ]


# seeds


def test_seeds_depend_on_names_only():
    names = [(0, "a", 1), (0, "a", 2), (1, "a", 1), (0, "b", 1), (0, "a1", ""), (0, "a", "1", "")]
    assert len({derive_seed(*name) for name in names}) == len(names)
    assert all(0 <= derive_seed(*name) < 2**32 for name in names)


def test_known_value_never_changes():
    # A change here changes every result of the project.
    assert derive_seed(0, "fliptest/lipton", 0, "gan") == Trial("fliptest/lipton", 0).seed("gan") == 993360987
    assert Trial("fliptest", 0).rng("gan").integers(2**32) == 2719223057


def test_generators_have_all_the_entropy_that_numpy_asks_for():
    seeds = [derive_seed("a", k, bits=128) for k in range(100)]
    assert len({seed >> 96 for seed in seeds}) == len({seed % 2**32 for seed in seeds}) == 100
    assert all(0 <= seed < 2**128 for seed in seeds)
