import ast
import re
from importlib import import_module

import pytest

from fairlab.data.registry import project_registry
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

SCRIPTS = sorted(DATA_SCRIPTS.glob("make_*.py"))


def test_every_script_makes_a_variant():
    made = {variant.make for variant in project_registry().variants.values() if variant.make}
    assert {path.name for path in SCRIPTS} == made


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_datasheet_names_only_what_exists(path):
    datasheet = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    [variant] = [variant for variant in project_registry().variants.values() if variant.make == path.name]
    assert datasheet.startswith(f"Datasheet of `{variant.name}`: ")
    for name in re.findall(r"fairlab(?:\.\w+)+", datasheet):
        module, _, attribute = name.rpartition(".")
        try:
            found = hasattr(import_module(module), attribute)
        except ModuleNotFoundError:
            found = False
        if not found:
            import_module(name)
