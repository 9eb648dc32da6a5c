"""Import layers."""

import subprocess
import sys
from pathlib import Path

import fairlab
from fairlab.paths import project

ROOT = project().root

PACKAGE = Path(fairlab.__file__).parent


def contracts():
    """Return the contracts of pyproject.toml, with the packages of the methods in the place of `methods`."""
    classes = [path for path in PACKAGE.rglob("*.py") if "(Method):" in path.read_text(encoding="utf-8")]
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
