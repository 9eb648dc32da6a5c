"""CONTRIBUTING.md to the letter: a paper runs and is judged, a method is part of the audit, with no edit elsewhere."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from fairlab.data.project import project
from fairlab.paths import write_text

ROOT = project().root

COPIED = ("src", "experiments", "notebooks", "data_scripts", "figures", "tests", "pyproject.toml", "REPRODUCTION.json")


def files_of_the_text(section):
    """Return the files that a section prints, by name."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^ +`([\w/.]+)`:\n\n +```\w+\n(.*?)^ +```$", section, flags=re.MULTILINE | re.DOTALL)
    return {name: textwrap.dedent(body) for name, body in blocks}


@pytest.fixture(scope="module")
def contributed(tmp_path_factory):
    """A copy of the project with the files of the text."""
    root = tmp_path_factory.mktemp("contributed") / "project"
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    for name, body in (files_of_the_text("Adding a paper") | files_of_the_text("Adding a method")).items():
        script = root / name.replace(".ipynb", ".py")
        write_text(script, body)
        if name.endswith(".ipynb"):  # by the command that the text names
            call(root, "-m", "jupytext", "--quiet", "--to", "ipynb", script)
            script.unlink()
    return root


def call(root, *command):
    """Run Python on the copied project and return what it printed; a failure fails the test."""
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "FAIRLAB_ROOT": str(root), "FAIRLAB_RESULTS": ""}
    options = {"cwd": root, "env": environment, "capture_output": True, "text": True, "check": False}
    ran = subprocess.run([sys.executable, *command], **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_paper_runs_and_is_judged(contributed):
    call(contributed, "-m", "fairlab", "run", "toy/coin", "--profile", "smoke")
    card = json.loads(call(contributed, "-m", "fairlab", "scorecard", "--json"))
    rows = {row["id"]: (row["verdict"], row["n_trials"]) for row in card if row["paper"] == "toy"}
    assert rows == {"heads": ("agrees", 5), "unfair": ("holds", None)}


def test_the_data_set_is_loaded(contributed, tmp_path, monkeypatch):
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding a data set\n")[1]
    registry = (contributed / "data_scripts" / "registry.yaml").read_text(encoding="utf-8")
    for key, entry in zip(("groups", "variants"), re.findall(r"```yaml\n(.*?)```", section, re.DOTALL), strict=False):
        own = textwrap.indent(textwrap.dedent("   " + entry.lstrip()), "  ")
        registry = registry.replace(f"\n{key}:\n", f"\n{key}:\n{own}", 1)
    write_text(contributed / "data_scripts" / "registry.yaml", registry)
    script = "data_scripts/make_loans.py"
    write_text(contributed / script, files_of_the_text("Adding a data set")[script])
    write_text(
        tmp_path / "loans/loans.csv", "sex,income,repaid\nwoman,1000,yes\nman,900,no\nwoman,500,no\nman,2000,yes\n"
    )
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path))
    assert "loans: 4 rows, SHA-256 b891cf32" in call(contributed, script, tmp_path / "out.csv")
    assert call(contributed, "-m", "fairlab", "data", "fetch", "loans") == "loans: real, 4 rows from loans/loans.csv\n"
    said = call(contributed, "-c", "import fairlab; print(fairlab.load('loans').target.tolist())")
    assert said == "['yes', 'no', 'no', 'yes']\n"


AUDIT = """
import fairlab, pandas as pd
people = pd.DataFrame({"sex": ["f", "m"] * 100, "points": range(200)})
case = fairlab.Case(lambda rows: rows["points"] + 50 * (rows["sex"] == "m") > 100, people, sensitive_features="sex")
from fairlab.four_fifths import FourFifths
report = fairlab.audit(case, methods=["fliptest", FourFifths()], budget=1000)
print(sorted(set(report.to_frame()["method"])), report.results[-1].description)
"""


def test_the_method_is_part_of_the_audit(contributed):
    said = call(contributed, "-c", AUDIT)
    assert "['FlipTest', 'four-fifths rule'] The four-fifths rule compares selection rates" in said


# What takes minutes says nothing about a new paper or method.
CHOSEN = "(toy or four_fifths or imports) and not boosting and not program and not every_form"


def test_paper_and_method_keep_every_contract(contributed):
    names = ("experiments", "architecture", "reference", "bad_input", "any_model")
    tests = [f"tests/contract/test_{name}.py" for name in names] + ["tests/test_four_fifths.py"]
    said = call(contributed, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests, "-k", CHOSEN)
    assert " passed" in said
