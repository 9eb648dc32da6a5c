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
            digest, *found = original(name)
            return digest + "changed" * (name == module), *found

        monkeypatch.setattr(fingerprint, "_read", read)

    return change


def test_comments_docstrings_and_layout_do_not_count(define):
    plain = define("def f(x):\n    return x + 1\n")
    dressed = define('"""One."""\ndef f(x):\n    """Add one."""\n    # here\n    return (x\n            + 1)\n')
    assert value_fingerprint(plain) == value_fingerprint(dressed)


NOTEBOOK = """
import numpy as np
from fairlab.seeds import derive_seed
seed, scale, unused = 0, 2.0, 1

class Model:
    bound = 3
    def predict(self, x):
        return x > limit(x)

def limit(x):
    return scale * np.mean(x)

def f(trial, model=Model(), *, depth=1):
    values = [trial.seed("name") + scale for _ in range(depth)]
    return model.predict(np.array(values)) if values else f(trial, depth=derive_seed(2))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale, unused = 0, 2.0", "scale, unused = 0, 3.0"),  # a constant that it names, here and in `limit`
        ("x > limit", "x < limit"),  # a method of a class of the notebook, through a default
        ("bound = 3", "bound = 4"),
        ("np.mean", "np.median"),  # of a function that a method names
        ("depth=1", "depth=2"),
        ("+ scale for", "- scale for"),  # in a comprehension
        ("fairlab.seeds import derive_seed", "fairlab.suite.seeds import Trial as derive_seed"),
    ],
)
def test_what_a_function_of_a_notebook_names_counts_at_any_depth(define, old, new):
    assert NOTEBOOK.count(old) == 1
    assert value_fingerprint(define(NOTEBOOK)) != value_fingerprint(define(NOTEBOOK.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed, scale, unused = 0,", "seed, scale, unused = 7,"),  # `trial.seed` is an attribute, not this constant
        ("unused = 0, 2.0, 1", "unused = 0, 2.0, 2"),
        ("def limit(x):", 'def limit(x):\n    "Say what it is."  # why'),
        ("class Model:", "title = 'a title'\n\nclass Model:"),
    ],
)
def test_what_it_does_not_name_does_not_count(define, old, new):
    assert NOTEBOOK.count(old) == 1
    assert value_fingerprint(define(NOTEBOOK)) == value_fingerprint(define(NOTEBOOK.replace(old, new)))


def test_modules_of_the_project_that_it_reaches_count(define, changed):
    inner = "from fairlab.networks import forward\n    return transport.GANTransport, forward"
    function = define(f"from fairlab import transport\ndef f(x):\n    {inner}\n")
    base = value_fingerprint(function)
    for module in ("fairlab.fliptest.flipsets", "fairlab.transport.gan", "fairlab.networks"):
        with pytest.MonkeyPatch.context():
            changed(module)
            assert (value_fingerprint(function) == base) == (module == "fairlab.fliptest.flipsets"), module


def test_a_function_in_an_argument_counts_by_its_code(define):
    rules = [define(f"def f(x):\n    return x > {bound}\n") for bound in (1, 1, 2)]
    first, again, other = (value_fingerprint({"rule": [functools.partial(rule, 1)]}) for rule in rules)
    assert first == again != other


def test_lambdas_and_inner_functions_count_with_what_is_around_them():
    def make(bound):
        return lambda x: x > bound

    assert value_fingerprint(make(1)) == value_fingerprint(make(1)) != value_fingerprint(make(2))


def test_lambdas_that_stand_in_one_line_or_in_a_call_are_told_apart():
    rules = [lambda x: x > 1, lambda x: x > 2, lambda x: x < 1, lambda x: {1: x}[1], lambda x: x.real, lambda x: x.imag]
    assert len({value_fingerprint(rule) for rule in rules}) == len(rules)
    same = [value_fingerprint(rule) for rule in (lambda x: x > 1,)]
    assert same == [value_fingerprint(rules[0])]


def test_names_that_no_worker_can_get_are_refused(define):
    with pytest.raises(TypeError, match="f uses open_file, a TextIOWrapper"):
        value_fingerprint(define("open_file = open(__file__)\ndef f(x):\n    return open_file\n"))


@pytest.mark.parametrize("module", ["transport.gan", "transport.gan_training", "data.loading", "suite.experiment"])
def test_lazy_imports_are_followed(changed, module):
    source = "from fairlab import Experiment, load\nfrom fairlab.transport import GANTransport\n"
    base = notebook_fingerprint(source)
    changed(f"fairlab.{module}")
    assert notebook_fingerprint(source) != base


def test_another_version_is_another_fingerprint(monkeypatch):
    base, versions = modules_fingerprint(["fairlab.benchmarks.symbolic"]), fingerprint._required()
    for name, counts in (("lime", True), ("sklearn", True), ("seaborn", False)):
        monkeypatch.setattr(fingerprint, "_required", lambda name=name: versions | {name: "0.0"})
        fingerprint._version.cache_clear()
        assert (modules_fingerprint(["fairlab.benchmarks.symbolic"]) != base) == counts, name
    fingerprint._version.cache_clear()


def test_versions_are_those_that_reading_every_package_finds():
    every = metadata.packages_distributions()
    for library in ("sklearn", "lime", "yaml", "ot", "numpy", "lazy_loader", "markdown_it"):
        assert fingerprint._version(library) == " ".join(map(metadata.version, every[library])), library


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
        "rule = lambda x: x in {'x', 'y', 'z'};"
        "print(f({'b': pd.DataFrame({'s': ['x', 'y', 'x']}), 'a': (1, 2.5, 'text'), 'c': rule}))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_a_notebook_counts_with_its_imports_and_texts():
    base = notebook_fingerprint("from fairlab.suite.seeds import Trial\nx = 1\n", "data real")
    assert base == notebook_fingerprint("from fairlab.suite.seeds import Trial  # comment\nx = 1\n", "data real")
    for name, x, data in (("suite.seeds", 2, "real"), ("paths", 1, "real"), ("suite.seeds", 1, "surrogate")):
        assert base != notebook_fingerprint(f"from fairlab.{name} import Trial\nx = {x}\n", f"data {data}")


@pytest.mark.parametrize("module", ["checks", "plotting", "data.files", "networks"])
def test_words_looks_and_downloads_outdate_no_trial_and_looks_outdate_an_experiment(changed, module):
    source = "from fairlab.networks import FeedForward\nfrom fairlab import plotting"
    trial, notebook = modules_fingerprint(["fairlab.papers.adf.searches"]), notebook_fingerprint(source)
    changed(f"fairlab.{module}")
    assert (modules_fingerprint(["fairlab.papers.adf.searches"]) != trial) == (module == "networks")
    assert (notebook_fingerprint(source) != notebook) == (module in ("networks", "plotting", "checks"))
