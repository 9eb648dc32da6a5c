import re
import sys
import tomllib
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fairlab.checks import (
    EXTRAS,
    MissingExtraError,
    align,
    check_array,
    check_features,
    check_number,
    check_same_columns,
    estimator_features,
    is_number,
    optional,
    required,
    suggestion,
)
from fairlab.paths import project

ROOT = project().root

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


def test_arrays_of_numbers_become_floats():
    assert check_array([[1, 2], [3, 4]], "X").dtype == float
    assert np.isnan(check_array([np.nan], "X", finite=False)).all()
    with pytest.raises(ValueError, match="X: 2 values are missing or infinite"):
        check_array([[np.nan, 1], [np.inf, 2]], "X")
    with pytest.raises(ValueError, match="X: expected numbers, found object"):
        check_array([1, None], "X")


def test_features_of_a_table_become_floats():
    values, columns = check_features(TABLE)
    assert columns == ["age", "member", "score"]
    assert values.dtype == float
    assert values.tolist() == [[30, 1, 0.5], [40, 0, 1.5]]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (TABLE.assign(age=["a", "b"]), {}, r"X: column 'age' has type (object|str), expected numbers; encode it first"),
        (TABLE.astype({"age": "category"}), {}, "X: column 'age' has type category, expected numbers"),
        ([["a", "b"]], {}, "X: expected a table of numbers"),
        ([1.0, 2.0], {}, r"X: expected shape \(n_rows, n_features\), found \(2,\)"),
        (pd.DataFrame(index=[0, 1]), {}, "X: has no columns"),
        (np.empty((2, 0)), {}, "X: has no columns"),
        (pd.concat([TABLE, TABLE[["age"]]], axis=1), {}, "X: columns occur twice: age"),
        (TABLE[:0], {}, "X: is empty, expected at least 1"),
        (TABLE[:1], {"min_rows": 2}, "X: has 1 row, expected at least 2"),
        (TABLE, {"min_rows": 3}, "X: has 2 rows, expected at least 3"),
        (TABLE.assign(score=[1.0, np.nan]), {}, "X: column 'score' holds nan in row 1; 1 values in all"),
        ([[np.inf, 1.0], [1.0, -np.inf]], {}, "X: column 'x0' holds inf in row 0; 2 values in all are missing or inf"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), {}, "X: column 'a' holds nan in row 1"),
        (TABLE.assign(age=7), {"varying": True}, "X: constant columns: age; drop them first"),
        (TABLE[:0], {"name": "source"}, "source: is empty"),
    ],
)
def test_features_that_are_refused(X, options, message):
    with pytest.raises(ValueError, match=message):
        check_features(X, **options)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["a", "b"], ["b", "a"], "men and women differ in columns: their order differs"),
        (["a", "b"], ["a", "c"], "differ in columns: only in men: b; only in women: c"),
        (["a"], ["a", "c"], "differ in columns: only in women: c"),
        (["x0", "x1"], ["x0"], "men has 2 columns, women has 1"),
        (["x0", "age"], ["x0"], "differ in columns: only in men: age"),
    ],
)
def test_columns_that_differ(first, second, message):
    with pytest.raises(ValueError, match=message):
        check_same_columns(first, second, "men", "women")


def test_an_estimator_is_held_to_the_columns_of_its_fit():
    estimator, frame = BaseEstimator(), pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    np.testing.assert_array_equal(estimator_features(estimator, frame, fitting=True), [[1, 0.5], [2, 1.5]])
    assert (estimator.n_features_in_, estimator.feature_names_in_.tolist()) == (2, ["a", "b"])
    for other, message in (
        (frame[["b", "a"]], "same order"),
        (frame.rename(columns={"b": "c"}), "unseen at fit time:\n- c\n"),
        (frame.assign(b=["u", "v"]), "Y: column 'b' has type"),
        (frame.assign(b=[0.5, None]), "Y: column 'b' holds nan in row 1"),
        (frame[:1], "Y: has 1 row, expected at least 2"),
        (frame.to_numpy()[:, :1], "X has 1 features, but BaseEstimator is expecting 2"),
        (frame.to_numpy()[0], "Reshape your data"),
    ):
        with pytest.raises(ValueError, match=message), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator_features(estimator, other, fitting=False, name="Y", min_rows=2)
    with pytest.raises(ValueError, match="X: constant columns: a"):
        estimator_features(estimator, frame.assign(a=1), fitting=True, varying=True)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        estimator_features(estimator, csr_array(frame.to_numpy()), fitting=False)


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
    aligned = align(values, INDEX, "y")
    assert aligned.index.equals(INDEX)
    assert aligned.tolist() == [1, 2, 3]


def test_aligned_values_keep_their_types():
    assert align([1, "1", None], INDEX, "y").tolist() == [1, "1", None]
    assert align([True, False, True], INDEX, "y").dtype == bool


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "y: expected 3 values, one for each row, found 2"),
        (pd.Series([1, 2], index=[10, 20]), "y: expected 3 values, one for each row, found 2"),
        (pd.Series([1, 2, 3]), "y: has the row label 0, which the table has not; expected the same index"),
        (pd.Series([1, 2, 3], index=[10, 10, 20]), "y: row labels occur twice, so that its order cannot be told"),
        (np.zeros((3, 2)), r"y: expected one value for each row, found shape \(3, 2\)"),
        (pd.DataFrame(np.zeros((3, 2)), index=INDEX), "y: expected one column, found 2"),
        ("abc", "y: expected one value for each row, found str"),
        (1, "y: expected one value for each row, found int"),
        (None, "y: expected one value for each row, found NoneType"),
        ({1: 2}, "y: expected one value for each row, found dict"),
        ({1, 2, 3}, "y: expected one value for each row, found set"),
    ],
)
def test_values_that_cannot_be_aligned(values, message):
    with pytest.raises(ValueError, match=message):
        align(values, INDEX, "y")


@pytest.fixture
def without_lime(monkeypatch):
    """Let `lime` be a package that is not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lime", None)


def test_a_package_is_imported_when_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "seaborn_of_the_test.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXTRAS, "seaborn_of_the_test", "suite")
    module = optional("seaborn_of_the_test")
    assert "seaborn_of_the_test" not in sys.modules
    assert module.answer == 42
    with pytest.raises(AttributeError, match="question"):
        _ = module.question


def test_a_missing_package_is_an_error_that_names_the_extra(without_lime):
    module = optional("lime.lime_tabular")
    with pytest.raises(MissingExtraError, match=re.escape("lime, which is not installed; the extra 'symbolic'")) as e:
        _ = module.LimeTabularExplainer
    assert "pip install 'fairlab[symbolic]'" in str(e.value)
    assert e.value.name == "lime"


def test_what_fails_inside_a_package_is_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_of_the_test.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXTRAS, "broken_of_the_test", "suite")
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name") as error:
        required("broken_of_the_test")
    assert not isinstance(error.value, MissingExtraError)


def test_every_extra_is_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])


@pytest.mark.parametrize(
    ("value", "bounds", "expected"),
    [
        (-1, {"least": 0}, "expected a finite number of at least 0, found -1"),
        (0, {"above": 0}, "expected a finite number above 0, found 0"),
        (95, {"above": 0, "below": 1}, "expected a number between 0 and 1, found 95"),
        (np.inf, {}, "expected a finite number, found inf"),
        (np.nan, {"infinite": True}, "expected a number, found nan"),
        ("1", {}, "expected a finite number, found '1'"),
        (True, {}, "expected a finite number, found True"),
        (1j, {}, "expected a finite number, found 1j"),
    ],
)
def test_numbers_are_held_to_their_bounds(value, bounds, expected):
    with pytest.raises(ValueError, match=f"^share: {re.escape(expected)}$"):
        check_number(value, "share", **bounds)


def test_numbers_within_bounds_are_floats():
    assert check_number(np.int64(3), "share", least=3) == 3.0
    assert check_number(np.inf, "share", least=0, infinite=True) == np.inf


def test_numbers_are_neither_booleans_nor_categories():
    for values in ([1, 2], [0.5, np.nan], pd.array([1, None], dtype="Int64")):
        assert is_number(pd.Series(values))
    for values in ([True, False], pd.array([True, None], dtype="boolean"), ["a"], pd.Categorical([1, 2])):
        assert not is_number(pd.Series(values))
