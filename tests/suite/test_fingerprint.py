import dataclasses
import functools
import importlib
import itertools
import subprocess
import sys
from importlib import metadata

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.suite import fingerprint
from fairlab.suite.fingerprint import (
    code_fingerprint,
    modules_fingerprint,
    notebook_fingerprint,
    value_fingerprint,
)

NUMBERS = itertools.count()  # of modules: one of another test must not be taken for this one's


@pytest.fixture
def define(tmp_path, monkeypatch):
    """Return a function that writes a module with a function ``f`` and returns it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(source):
        name = f"trial_module_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name).f

    return write


@pytest.fixture
def changed(monkeypatch):
    """Return a function that makes a module of the package look as if its code had changed."""
    original = fingerprint._read

    def change(module):
        def read(name):
            digest, *imported = original(name)
            return digest + "changed" * (name == module), *imported

        monkeypatch.setattr(fingerprint, "_read", read)

    return change


def test_comments_docstrings_and_layout_do_not_count(define):
    plain = define("def f(x):\n    return x + 1\n")
    dressed = define('"""One."""\ndef f(x):\n    """Add one."""\n    # here\n    return (x\n            + 1)\n')
    assert code_fingerprint(plain) == code_fingerprint(dressed)


def test_all_code_of_the_module_counts(define):
    base = code_fingerprint(define("def f(x):\n    return x + 1\n"))
    assert base != code_fingerprint(define("def f(x):\n    return x + 2\n"))
    assert base != code_fingerprint(define("OFFSET = 1\n\ndef f(x):\n    return x + 1\n"))
    assert base != code_fingerprint(define("from fairlab.seeds import Trial\n\ndef f(x):\n    return x + 1\n"))


def test_what_cannot_be_read_off_a_module_is_refused(define):
    def nested(trial):
        return 1

    for odd, words in (
        (nested, "top of a module, found .*nested"),
        (lambda trial: 1, "top of a module, found"),
        (functools.partial(print), "expected a function of a module, found partial"),
    ):
        with pytest.raises(TypeError, match=words):
            code_fingerprint(odd)


def test_modules_count_with_what_they_import(changed):
    base = modules_fingerprint(["fairlab.suite.trials"])
    changed("fairlab.seeds")
    assert modules_fingerprint(["fairlab.suite.trials"]) != base
    changed("fairlab.cli")
    assert modules_fingerprint(["fairlab.suite.trials"]) == base


@pytest.mark.parametrize("module", ["transport.gan", "transport.gan_training", "data.loading", "suite.experiment"])
def test_lazy_imports_are_followed(changed, module):
    source = "from fairlab import Experiment, load\nfrom fairlab.transport import GANTransport\n"
    base = notebook_fingerprint(source)
    changed(f"fairlab.{module}")
    assert notebook_fingerprint(source) != base


def test_another_version_is_another_fingerprint(monkeypatch):
    base, distributions = modules_fingerprint(["fairlab.benchmarks.symbolic"]), fingerprint._distributions
    for name in ("lime", "scikit-learn"):
        changed = {name: "0.0"}

        def found(library, changed=changed):
            return [(own, changed.get(own, old)) for own, old in distributions(library)]

        monkeypatch.setattr(fingerprint, "_distributions", found)
        assert modules_fingerprint(["fairlab.benchmarks.symbolic"]) != base, name


def test_versions_are_those_that_reading_every_package_finds():
    every = metadata.packages_distributions()
    for library in ("sklearn", "lime", "yaml", "ot", "numpy", "lazy_loader", "markdown_it"):
        expected = {(name, metadata.version(name)) for name in every[library]}
        assert set(fingerprint._distributions(library)) == expected, library


def test_values_of_any_kind():
    data = load("lipton", n_points=20)
    narrow = dataclasses.replace(data, features=data.features[["hair_length"]])
    assert value_fingerprint(data) == value_fingerprint(load("lipton", n_points=20)) != value_fingerprint(narrow)
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert value_fingerprint(frame) == value_fingerprint(frame.copy())
    assert value_fingerprint(frame) != value_fingerprint(frame.assign(a=[1, 3]))
    assert value_fingerprint(np.arange(3)) != value_fingerprint(np.arange(3.0))


def test_values_have_the_same_fingerprint_in_another_process():
    code = (
        "import pandas as pd; from fairlab.suite.fingerprint import value_fingerprint as f;"
        "print(f({'b': pd.DataFrame({'s': ['x', 'y', 'x']}), 'a': (1, 2.5, 'text')}))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_a_notebook_counts_with_its_imports_and_texts():
    base = notebook_fingerprint("from fairlab.seeds import Trial\nx = 1\n", "data real")
    assert base == notebook_fingerprint("from fairlab.seeds import Trial  # comment\nx = 1\n", "data real")
    assert base != notebook_fingerprint("from fairlab.seeds import Trial\nx = 2\n", "data real")
    assert base != notebook_fingerprint("from fairlab.paths import project as Trial\nx = 1\n", "data real")
    assert base != notebook_fingerprint("from fairlab.seeds import Trial\nx = 1\n", "data surrogate")


@pytest.mark.parametrize("module", ["checks", "plotting", "data.files", "networks"])
def test_words_looks_and_downloads_outdate_no_trial_and_looks_outdate_an_experiment(changed, module):
    source = "from fairlab.networks import FeedForward\nfrom fairlab import plotting"
    trial, notebook = modules_fingerprint(["fairlab.papers.adf.trials"]), notebook_fingerprint(source)
    changed(f"fairlab.{module}")
    assert (modules_fingerprint(["fairlab.papers.adf.trials"]) != trial) == (module == "networks")
    assert (notebook_fingerprint(source) != notebook) == (module in ("networks", "plotting", "checks"))
