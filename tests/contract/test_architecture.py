"""Import layers, file names and the top level."""

import subprocess
import sys
from pathlib import Path

import pytest

import fairlab
from fairlab.paths import project

ROOT = project().root

PACKAGE = Path(fairlab.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.stem not in ("__init__", "__main__"))
FOLDERS = {".binder", ".ci", ".github", "data_scripts", "docs", "experiments", "figures", "notebooks", "src", "tests"}
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc"}


def contracts():
    """Return the contracts of pyproject.toml, with the packages of the methods in the place of `methods`."""
    probes = (PACKAGE / "auditing" / "probes").glob("*.py")
    methods = sorted(path.stem for path in probes if (PACKAGE / path.stem).is_dir())
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace('"methods"', f'"{" | ".join(methods)}"')
    return text.replace('"fairlab.methods"', ", ".join(f'"fairlab.{name}"' for name in methods))


def test_imports_keep_to_the_layers(tmp_path):
    # Function-level imports count.
    (tmp_path / "contracts.toml").write_text(contracts(), encoding="utf-8")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", "--config", str(tmp_path / "contracts.toml")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_files_are_nouns_of_the_field():
    assert not [path.relative_to(PACKAGE).as_posix() for path in MODULES if VAGUE & set(path.stem.split("_"))]


def test_top_level_folders_are_known():
    command = ["git", "ls-tree", "-d", "--name-only", "HEAD"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip("not a git checkout")
    assert set(answer.stdout.split()) <= FOLDERS
