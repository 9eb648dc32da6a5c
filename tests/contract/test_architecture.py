"""Import layers, one package for each method, and one vocabulary."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import fairlab
from fairlab.data.project import project

ROOT = project().root
PACKAGE = Path(fairlab.__file__).parent


def contracts():
    """Return the contracts of pyproject.toml, with the packages of the methods in the place of `methods`."""
    classes = [
        path
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^class .*\bMethod\):", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    methods = sorted({path.relative_to(PACKAGE).with_suffix("").parts[0] for path in classes})
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace('"methods"', f'"{" | ".join(methods)}"')
    return text.replace('"fairlab.methods"', ", ".join(f'"fairlab.{name}"' for name in methods))


def test_imports_keep_to_the_layers(tmp_path):
    # Function-level imports count.
    (tmp_path / "contracts.toml").write_text(contracts(), encoding="utf-8")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", "--config", str(tmp_path / "contracts.toml")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


# Whose code computes the numbers of each method, in an audit and in no other package.
PACKAGES = {
    "group rates": "fairtest",
    "FlipTest": "fliptest",
    "FairTest": "fairtest",
    "individual fairness": "individual_fairness",
    "Themis": "themis",
    "ADF": "adf",
    "AEQUITAS": "adf",
}


def traced(call):
    """Return what a call returns, and the modules of fairlab whose functions it entered."""
    entered = set()

    def note(frame, *_):
        if (name := frame.f_globals.get("__name__", "")).startswith("fairlab."):
            entered.add(name)

    sys.setprofile(note)
    try:
        return call(), entered
    finally:
        sys.setprofile(None)


def test_an_audit_computes_every_methods_numbers_in_its_package():
    people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    score = lambda rows: rows["points"] / 50 + 0.2 * (rows["sex"] == "m")  # noqa: E731
    case = fairlab.Case(score, people, sensitive_features="sex", y_true=people["points"] > 20, decision_threshold=0.5)
    fairlab.audit(case, budget=5_000, progress=False)  # imports are no numbers
    for title, package in PACKAGES.items():
        report, entered = traced(lambda title=title: fairlab.audit(case, methods=[title], budget=5_000, progress=False))
        assert len(report.findings) > 0
        methods = {name.split(".")[1] for name in entered} & {*PACKAGES.values()}
        assert methods - {"fairtest"} == {package} - {"fairtest"}, title  # rates by group are in every report
        _, entered = traced(report.to_html)
        assert not {name for name in entered if name.startswith(("fairlab.statistics", "fairlab.fairtest"))}


# One vocabulary in the library: what stands in place of a name that readers stumbled over, of a parameter or attribute.
VOCABULARY = {
    "sensitive_features": ("sensitive", "protected", "characteristics"),
    "pos_label": ("positive", "favourable_label"),
    "confidence_level": ("conf", "confidence"),
    "decision_threshold": ("threshold",),
    "model": ("software", "program", "classifier"),
    "random_state": ("seed",),
    "n_jobs": ("n_workers", "n_processes"),
    'variant, which is "sound" or "published"': ("reading", "as_described", "as_released"),
    "warnings, or skipped": ("notices", "remarks", "not_examined"),
    "run": ("examine",),
}
IN_ANOTHER_SENSE = {
    ("GlobalPhase", "seed"),
    ("Trace", "seed"),
    ("TransparencyReport", "positive"),
    ("Flipset", "positive"),
}


def names_of_users(tree):
    """Yield the owner and the name of each parameter of what is public, and of each method and field of a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, each.name) for each in node.body if isinstance(each, ast.FunctionDef))
            yield from ((node.name, each.target.id) for each in node.body if isinstance(each, ast.AnnAssign))
        elif isinstance(node, ast.FunctionDef) and (node.name == "__init__" or node.name[0] != "_"):
            yield from ((node.name, each.arg) for each in (*node.args.args, *node.args.kwonlyargs))


def test_parameters_and_attributes_of_the_library_have_the_names_of_its_vocabulary():
    instead = {name: word for word, names in VOCABULARY.items() for name in names}
    others = {"papers", "suite", "labs", "site", "monitoring", "benchmarks", "data", "cli"}
    paths = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).with_suffix("").parts[0] not in others]
    assert len(paths) > 60
    found = [
        f"{path.relative_to(PACKAGE)}: {owner}: expected {instead[name]}, found {name}"
        for path in paths
        for owner, name in names_of_users(ast.parse(path.read_text(encoding="utf-8")))
        if name in instead and (owner, name) not in IN_ANOTHER_SENSE
    ]
    assert not found, "\n".join(found)
