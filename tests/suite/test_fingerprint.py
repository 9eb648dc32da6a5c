import dataclasses
import functools
import importlib
import itertools
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.data.registry import project_registry
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


NOTEBOOK = """
from functools import cache

import numpy as np
from fairlab.seeds import derive_seed
seed, scale, unused = 0, 2.0, 1

class Model:
    bound = 3
    def predict(self, x):
        return x > limit(x)

@cache
def limit(x):
    return scale * np.mean(x)

def f(trial, model=Model(), *, depth=1):
    values = [trial.seed("name") + scale for _ in range(depth)]
    return model.predict(np.array(values)) if values else f(trial, depth=derive_seed(2))
"""


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("scale, unused = 0, 2.0", "scale, unused = 0, 3.0", True),  # a constant that it names, here and in `limit`
        ("x > limit", "x < limit", True),  # a method of a class of the notebook, through a default
        ("bound = 3", "bound = 4", True),
        ("np.mean", "np.median", True),  # of a function that a method names
        ("depth=1", "depth=2", True),
        ("+ scale for", "- scale for", True),  # in a comprehension
        ("fairlab.seeds import derive_seed", "fairlab.suite.seeds import Trial as derive_seed", True),
        ("seed, scale, unused = 0,", "seed, scale, unused = 7,", False),  # `trial.seed` is an attribute
        ("unused = 0, 2.0, 1", "unused = 0, 2.0, 2", False),
        ("def limit(x):", 'def limit(x):\n    "Say what it is."  # why', False),
        ("return scale * np.mean(x)", "return (scale *\n        np.mean(x))", False),
        ("class Model:", "title = 'a title'\n\nclass Model:", False),
    ],
)
def test_what_a_function_of_a_notebook_names_counts_at_any_depth_and_nothing_else(define, old, new, counts):
    assert NOTEBOOK.count(old) == 1
    changed = value_fingerprint(define(NOTEBOOK)) != value_fingerprint(define(NOTEBOOK.replace(old, new)))
    assert changed == counts


def test_lambdas_and_functions_in_arguments_count_by_their_code_and_what_is_around_them(define):
    def make(bound):
        return lambda x: x > bound

    rules = [lambda x: x > 1, lambda x: x > 2, lambda x: x < 1, lambda x: {1: x}[1], lambda x: x.real, lambda x: x.imag]
    others = [make(1), make(2), *(define(f"def f(x):\n    return x > {bound}\n") for bound in (1, 2))]
    values = [*rules, *others, {"rule": [functools.partial(others[2], 1)]}, {"rule": [functools.partial(others[3], 1)]}]
    assert len({value_fingerprint(value) for value in values}) == len(values)
    again = (make(1), define("def f(x):\n    return x > 1\n"))
    assert [value_fingerprint(each) for each in again] == [value_fingerprint(others[k]) for k in (0, 2)]


def test_names_that_no_worker_can_get_are_refused(define):
    with pytest.raises(TypeError, match="f uses open_file, a TextIOWrapper"):
        value_fingerprint(define("open_file = open(__file__)\ndef f(x):\n    return open_file\n"))


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
    data, frame = load("lipton", n_points=20), pd.DataFrame({"a": [1, 2], "provenance": ["x", "y"]})
    narrow = dataclasses.replace(data, features=data.features[["hair_length"]])
    for one, same, other in (
        (data, load("lipton", n_points=20), narrow),
        (data, data, dataclasses.replace(data, positive_label=7)),
        (frame, frame.copy(), frame.assign(a=[1, 3])),
        (np.arange(3), np.arange(3), np.arange(3.0)),
    ):
        assert value_fingerprint(one) == value_fingerprint(same) != value_fingerprint(other)


def test_values_have_the_same_fingerprint_in_another_process():
    code = (
        "import pandas as pd; from fairlab.suite.fingerprint import value_fingerprint as f;"
        "rule = lambda x: x in {'x', 'y', 'z'};"
        "print(f({'b': pd.DataFrame({'s': ['x', 'y', 'x']}), 'a': (1, 2.5, 'text'), 'c': rule}))"
    )
    command = [sys.executable, "-c", code]
    first, second = (subprocess.check_output(command, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2"))
    assert first == second


def test_a_notebook_counts_with_its_imports_and_texts():
    base = notebook_fingerprint("from fairlab.suite.seeds import Trial\nx = 1\n", "data real")
    assert base == notebook_fingerprint("from fairlab.suite.seeds import Trial  # comment\nx = 1\n", "data real")
    for name, x, data in (("suite.seeds", 2, "real"), ("paths", 1, "real"), ("suite.seeds", 1, "surrogate")):
        assert base != notebook_fingerprint(f"from fairlab.{name} import Trial\nx = {x}\n", f"data {data}")
    assert notebook_fingerprint("%time x = 1") != notebook_fingerprint("%time x = 2")


WHOLE = "from fairlab import Experiment, load\nfrom fairlab.transport import GANTransport\n"
PLAIN = "from fairlab import plotting\nfrom fairlab.networks import FeedForward\n"


@pytest.mark.parametrize(
    ("source", "module", "of_notebook", "of_trial"),
    [
        (WHOLE, "transport.gan", True, True),
        (WHOLE, "transport.gan_training", True, True),  # lazy imports are followed
        (WHOLE, "data.loading", True, False),
        (WHOLE, "suite.experiment", True, False),
        (PLAIN, "networks", True, True),
        (PLAIN, "plotting", True, False),
        (PLAIN, "checks", True, False),
        (PLAIN, "data.files", False, False),
        (PLAIN, "fliptest.flipsets", False, False),
        (f"%matplotlib inline\n{WHOLE}", "transport.gan_training", True, True),
        (f"%matplotlib inline\n{PLAIN}", "fliptest.flipsets", False, False),
    ],
)
def test_modules_that_a_notebook_or_a_trial_reaches_outdate_it(define, changed, source, module, of_notebook, of_trial):
    """Words and looks outdate no trial, and downloads nothing."""
    inner = "from fairlab.networks import forward\n    return transport.GANTransport, forward"
    trial = define(f"from fairlab import transport\ndef f(x):\n    {inner}\n")
    before = notebook_fingerprint(source), value_fingerprint(trial)
    changed(f"fairlab.{module}")
    assert (notebook_fingerprint(source) != before[0], value_fingerprint(trial) != before[1]) == (of_notebook, of_trial)


CHANGES = """
import os
from pathlib import Path
import fairlab.seeds
from fairlab.suite.fingerprint import modules_fingerprint

file, before = Path(fairlab.seeds.__file__), modules_fingerprint(["fairlab.seeds"])
for seconds, more in enumerate(("# a remark", "more = 1")):
    file.write_text(f"{file.read_text()}{more}\\n")
    os.utime(file, (seconds, seconds))
    try:
        print(modules_fingerprint(["fairlab.seeds"]) == before)
    except RuntimeError as error:
        print(error)
"""


def test_a_module_that_has_changed_since_it_was_read_is_named(tmp_path):
    copy = shutil.copytree(Path(fingerprint.__file__).parents[1], tmp_path / "fairlab")
    environment = os.environ | {"PYTHONPATH": str(copy.parent)}
    done = subprocess.run([sys.executable, "-c", CHANGES], env=environment, capture_output=True, text=True, check=True)
    remark, change = done.stdout.splitlines()
    assert (remark, change.partition(";")[0]) == ("True", "fairlab.seeds has changed since this process read it")


def test_stored_files_that_are_fetched_later_outdate_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    file = next(path for path in project_registry().files if path.startswith("individual_fairness_models/adult/"))
    (tmp_path / file).parent.mkdir(parents=True)
    before = [fingerprint.state(f"individual_fairness/{name}") for name in ("adult", "compas")]
    (tmp_path / file).touch()
    after = [fingerprint.state(f"individual_fairness/{name}") for name in ("adult", "compas")]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]
