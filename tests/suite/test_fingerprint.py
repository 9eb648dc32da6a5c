import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairlab.suite.fingerprint import code_fingerprint, modules_fingerprint, notebook_fingerprint, value_fingerprint

OFFSET = 1


def _define(source, **names):
    """Define a function the way a notebook does, with its source at hand."""
    import linecache

    file = f"<cell {hash(source)} {sorted(names)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": "__main__"} | names
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"]


def test_comments_docstrings_and_layout_do_not_count():
    plain = _define("def f(x):\n    return x + 1\n")
    dressed = _define('def f(x):\n    """Add one."""\n    # here\n    return (x\n            + 1)\n')
    assert code_fingerprint(plain) == code_fingerprint(dressed)


def test_code_counts():
    assert code_fingerprint(_define("def f(x):\n    return x + 1\n")) != code_fingerprint(
        _define("def f(x):\n    return x + 2\n")
    )


def test_global_values_and_functions_count_also_inside_nested_functions():
    source = "def f(x):\n    return [g(v) + offset for v in x]\n"
    first = _define("def f(v):\n    return v\n")
    second = _define("def f(v):\n    return -v\n")
    base = code_fingerprint(_define(source, g=first, offset=1))
    assert base == code_fingerprint(_define(source, g=first, offset=1))
    assert base != code_fingerprint(_define(source, g=first, offset=2))
    assert base != code_fingerprint(_define(source, g=second, offset=1))


def test_closures_count():
    def make(offset):
        def add(x):
            return x + offset

        return add

    assert code_fingerprint(make(1)) == code_fingerprint(make(1)) != code_fingerprint(make(2))


def test_defaults_count():
    source = "def f(x, scale=SCALE, *, shift=SHIFT):\n    return x * scale + shift\n"
    base = code_fingerprint(_define(source, SCALE=1, SHIFT=0))
    assert base == code_fingerprint(_define(source, SCALE=1, SHIFT=0))
    assert base != code_fingerprint(_define(source, SCALE=2, SHIFT=0))
    assert base != code_fingerprint(_define(source, SCALE=1, SHIFT=1))


def test_classes_count_with_their_bases_attributes_and_methods():
    def of_class(base_shift=0, attribute=1, static=2):
        class Base:
            def shift(self):
                return base_shift

        class Model(Base):
            scale = attribute

            @staticmethod
            def offset():
                return static

        return code_fingerprint(_define("def f(x):\n    return Model().scale * x\n", Model=Model))

    assert of_class() == of_class()
    assert len({of_class(), of_class(base_shift=1), of_class(attribute=2), of_class(static=3)}) == 4


def test_wrappers_count():
    import functools

    def scaled(factor):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(x):
                return factor * function(x)

            return wrapper

        return decorate

    inner = _define("def f(x):\n    return x\n")
    other = _define("def f(x):\n    return -x\n")
    digests = {code_fingerprint(scaled(factor)(function)) for factor in (1, 2) for function in (inner, other)}
    assert len(digests) == 4


def test_recursion_ends():
    def f(n):
        return 1 if n == 0 else n * f(n - 1)

    assert code_fingerprint(f)


def test_library_code_counts_with_what_it_imports(monkeypatch):
    from fairlab.suite import fingerprint

    base = modules_fingerprint(["fairlab.suite.trials"])
    original = fingerprint._module_digest
    monkeypatch.setattr(
        fingerprint, "_module_digest", lambda name: original(name) + "changed" * (name == "fairlab.seeds")
    )
    assert modules_fingerprint(["fairlab.suite.trials"]) != base
    monkeypatch.setattr(
        fingerprint, "_module_digest", lambda name: original(name) + "changed" * (name == "fairlab.cli")
    )
    assert modules_fingerprint(["fairlab.suite.trials"]) == base


def test_functions_of_the_library_are_followed():
    from fairlab.seeds import derive_seed

    source = "def f():\n    return derive_seed(1)\n"
    used = code_fingerprint(_define(source, derive_seed=derive_seed))
    assert used != code_fingerprint(_define(source, derive_seed=np.sum))


@pytest.mark.parametrize(
    "module", ["transport.gan", "transport.gan_training", "data.lipton", "data.tables", "experiment"]
)
def test_notebooks_follow_lazy_imports(monkeypatch, module):
    from fairlab.suite import fingerprint

    source = "from fairlab import Experiment\nfrom fairlab.transport import GANEnsemble\n"
    base = notebook_fingerprint(source)
    original = fingerprint._module_digest
    monkeypatch.setattr(
        fingerprint, "_module_digest", lambda name: original(name) + "changed" * (name == f"fairlab.{module}")
    )
    assert notebook_fingerprint(source) != base


def test_a_data_set_counts_by_its_content():
    import dataclasses

    from fairlab.data import load

    data = load("lipton", n_points=20)
    assert value_fingerprint(data) == value_fingerprint(load("lipton", n_points=20))
    narrow = dataclasses.replace(data, features=data.features[["hair_length"]])
    assert value_fingerprint(narrow) != value_fingerprint(data)


def test_values_of_any_kind():
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


def test_notebook_fingerprint_follows_imports_and_texts():
    base = notebook_fingerprint("from fairlab.seeds import Trial\nx = 1\n", "data real")
    assert base == notebook_fingerprint("from fairlab.seeds import Trial  # comment\nx = 1\n", "data real")
    assert base != notebook_fingerprint("from fairlab.seeds import Trial\nx = 2\n", "data real")
    assert base != notebook_fingerprint("from fairlab.suite.trials import Trial\nx = 1\n", "data real")
    assert base != notebook_fingerprint("from fairlab.seeds import Trial\nx = 1\n", "data surrogate")
