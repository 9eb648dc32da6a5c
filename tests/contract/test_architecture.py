"""Import layers, and one package for each method."""

import cProfile
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
    methods = sorted(
        {
            path.relative_to(PACKAGE).with_suffix("").parts[0]
            for path in PACKAGE.rglob("*.py")
            if re.search(r"^class .*\bMethod\):", path.read_text(encoding="utf-8"), re.MULTILINE)
        }
    )
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


def traced(call, *arguments, **options):
    """Return what a call returns, and the packages and modules of fairlab whose functions it entered."""
    profile = cProfile.Profile()
    returned = profile.runcall(call, *arguments, **options)
    files = [Path(entry.code.co_filename) for entry in profile.getstats() if not isinstance(entry.code, str)]
    return returned, {file.relative_to(PACKAGE).parts[0] for file in files if file.is_relative_to(PACKAGE)}


def test_an_audit_computes_every_methods_numbers_in_its_package():
    people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    case = fairlab.Case(
        lambda rows: rows["points"] / 50 + 0.2 * (rows["sex"] == "m"),
        people,
        sensitive_features="sex",
        y_true=people["points"] > 20,
        decision_threshold=0.5,
    )
    fairlab.audit(case, budget=5_000, progress=False)  # imports are no numbers
    for title, package in PACKAGES.items():
        report, entered = traced(fairlab.audit, case, methods=[title], budget=5_000, progress=False)
        assert len(report.findings) > 0
        methods = entered & {*PACKAGES.values()}
        assert methods - {"fairtest"} == {package} - {"fairtest"}, title  # rates by group are in every report
        assert not traced(report.to_html)[1] & {"statistics.py", "fairtest"}
