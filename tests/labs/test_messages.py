"""Thirty and more mistakes that beginners make, in every exercise of every lab: each gets a sentence that helps."""

import ast
import re
from contextlib import redirect_stdout, suppress
from fractions import Fraction
from io import StringIO
from pathlib import Path
from unittest import mock

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import yaml
from graded_labs import GRADED, HIDDEN, answers_and_tests, function_of

from fairlab.labs.course import card
from fairlab.labs.expectation import explained
from fairlab.labs.masters import as_lab, read, solved

MISTAKES = yaml.safe_load((Path(__file__).parent / "common" / "mistakes.yaml").read_text(encoding="utf-8"))
SLOW = {"audit", "counterparts", "gradient", "looking", "metric", "program"}


class Lab:
    """A lab that was run with its solutions: its names, and its exercises that ask for a function."""

    def __init__(self, key, hides_tests=True):
        mpl.use("agg")
        self.names = {"__name__": "__main__", "display": print}
        master = as_lab(read(card(key).notebook))
        for cell in master.cells:
            cell.source = HIDDEN.sub("", cell.source) if hides_tests else cell.source
        notebook = solved(master)
        with redirect_stdout(StringIO()):
            for cell in notebook.cells:
                exec(cell.source if cell.cell_type == "code" else "", self.names)
        pairs = [(answer.source, test.source) for answer, test in answers_and_tests(notebook)]
        self.exercises = {function_of(code).name: (code, test) for code, test in pairs if function_of(code)}

    def said(self, name, answer):
        """Return what the test of an exercise says to another answer, code or a function, "" if it passes."""
        with mock.patch.dict(self.names), redirect_stdout(StringIO()):
            try:
                if callable(answer):
                    self.names[name] = answer
                else:
                    del self.names[name]
                    exec(answer, self.names)
                exec(self.exercises[name][1], self.names)
            except Exception as error:
                return f"{type(error).__name__}: {explained(error)}"
        return ""

    def answer(self, name):
        """Return the first argument and the first answer of a right function in its test."""
        seen, right = [], self.names[name]

        def spy(*given, **more):
            seen.append((given[0] if given else None, right(*given, **more)))
            return seen[-1][1]

        assert self.said(name, spy) == ""
        return seen[0]


TYPES = {"truth": bool | np.bool_, "set": set, "number": int | float | np.number, "series": pd.Series}


def kinds(value):
    """Return the kinds of an answer."""
    kind = next((kind for kind, own in TYPES.items() if isinstance(value, own)), None)
    with suppress(TypeError, ValueError):
        kind = kind or {1: "list", 2: "table"}.get(np.asarray(value, dtype=float).ndim)
    is_fraction = kind in ("number", "series") and np.asarray(value).dtype.kind == "f"
    is_share = is_fraction and np.all((value >= 0) & (value <= 1)) and np.any(value) and not np.array_equal(value, 1)
    return {"any", kind} | ({"share"} if is_share else set())


def is_like(data, other):
    """Return whether one is a table with the columns of the other, or an array of as many dimensions."""
    if isinstance(other, pd.DataFrame):
        return isinstance(data, pd.DataFrame) and set(other) <= set(data)
    return isinstance(other, np.ndarray) and isinstance(data, np.ndarray) and data.ndim == other.ndim


def sentences(test):
    """Return what a test says of mistakes: the keys of a dictionary, and the messages of `require`."""
    for node in ast.walk(ast.parse(test)):
        own = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
            own = ast.walk(node.args[1])
        yield from (each.value.strip() for each in own if isinstance(each, ast.Constant) and len(str(each.value)) > 12)


def attempts(lab, name, mistake):
    """Return what is said to a mistake in an exercise, nothing if it cannot be made there."""
    code = lab.exercises[name][0]
    given, value = lab.answer(name)
    if "returns" in mistake:
        if mistake["for"] not in kinds(value):
            return []
        right, names = lab.names[name], {"np": np, "pd": pd}
        return [lab.said(name, lambda *a, **k: eval(mistake["returns"], names, {"value": right(*a, **k)}))]
    if "global" in mistake:
        first = function_of(code).args.args[0].arg
        others = (each for each, other in lab.names.items() if is_like(other, given) and each not in code)
        before, told, body = code.split('"""', 2)
        wrong = [f'{before}"""{told}"""' + re.sub(rf"\b{first}\b", data, body) for data in others if data[0] != "_"]
        return [lab.said(name, each) for each in wrong[:1]]
    wrong = re.sub(mistake["code"], mistake["by"], code, count=1)
    return [lab.said(name, wrong)] if wrong != code else []


EVERY = pytest.mark.parametrize(
    "key",
    [pytest.param(lab.key, marks=pytest.mark.slow if lab.key in SLOW else ()) for lab in GRADED],
)


@EVERY
def test_common_mistakes_get_their_sentences(key):
    lab, left = Lab(key), []
    for name, (_, test) in lab.exercises.items():
        for mistake in MISTAKES:
            for said in attempts(lab, name, mistake):
                says = mistake["says"], "another type than its description says"
                if said and not any(each in said for each in says) and not any(own in said for own in sentences(test)):
                    left.append(f"{name}: {mistake['mistake']}: {said}")
    assert not left, "\n".join(left)


# The same answer in other forms.
FORMS = {
    pd.DataFrame: (lambda table: table[table.columns[::-1]], lambda table: table.astype(object)),
    pd.Series: (lambda column: column[::-1], pd.Series.to_dict, lambda column: column.rename("other").astype(object)),
    np.ndarray: (np.ndarray.tolist, tuple),
    list | tuple: (tuple, list),
    bool | np.bool_: (np.bool_, bool),
    int | float | np.number: (np.float64, Fraction, lambda share: round(share, 9)),
}


@EVERY
def test_right_answers_in_other_forms_are_right(key):
    lab, left = Lab(key, hides_tests=False), []
    for name in lab.exercises:
        right, value = lab.names[name], lab.answer(name)[1]
        forms = next((forms for kind, forms in FORMS.items() if isinstance(value, kind)), ())
        for number, form in enumerate(forms):
            if said := lab.said(name, lambda *a, right=right, form=form, **k: form(right(*a, **k))):
                left.append(f"{name}, form {number} of {type(value).__name__}: {said}")
    assert not left, "\n".join(left)


@pytest.mark.parametrize("library", ["numpy as np", "pandas as pd", "matplotlib.pyplot as plt"])
def test_a_library_that_no_cell_imports_is_named(library):
    name = library.split()[-1]
    with pytest.raises(NameError) as caught:
        exec(f"{name}.mean([1])", {"n": 1, "p": 2, "pl": 3})
    assert str(explained(caught.value)).endswith(f"; write `import {library}` first")


def test_a_mean_that_is_divided_by_the_largest_weight_is_explained():
    said = Lab("berkeley").said("weighted_gap", lambda gap, size: (gap * size).sum() / size.max())
    assert "you divided by the largest department; divide by the sum of the weights" in said
