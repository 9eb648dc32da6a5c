import pickle
import re
import sys
import tomllib

import pytest

from fairlab.checks import EXTRAS, MissingExtraError, optional, required
from fairlab.paths import ROOT


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


def test_an_optional_module_can_be_pickled():
    assert repr(pickle.loads(pickle.dumps(optional("lime.lime_tabular")))) == "optional('lime.lime_tabular')"


def test_only_what_an_extra_brings_is_optional():
    with pytest.raises(KeyError, match="numpy"):
        optional("numpy")


def test_every_extra_is_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])
