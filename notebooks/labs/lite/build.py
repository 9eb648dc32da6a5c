"""The labs in a browser tab: a JupyterLite site with a Python of its own (Pyodide), which loads nothing from elsewhere.

``fetch FOLDER`` puts Pyodide and the packages that the labs need into a folder, as far as the npm registry and PyPI
have them. ``build FOLDER SITE`` makes the site, or says in one line which packages the folder does not have. A folder
into which Pyodide's own distribution (``pyodide-<version>.tar.bz2`` of its releases) was unpacked serves as well.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION, PYODIDE_VERSION
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.suite.labs.course import write_requirements
from fairlab.suite.labs.masters import cards
from fairlab.suite.site.notebooks import write_labs

LABS = (1, 2, 3, 5, 6, 7, 9)  # the others need POT, or take too long
# What these labs, `check` and the kernel import; what Pyodide's lock does not know comes from PyPI, without a compiler.
NEEDED = ["numpy", "pandas", "scipy", "scikit-learn", "matplotlib", "statsmodels", "pydantic", "pyyaml", "lazy-loader"]
NEEDED += ["ipython", "jedi", "micropip", "packaging", "jsonschema"]
MORE = {"nbformat": "nbformat", "fastjsonschema": "fastjsonschema", "jupyter-core": "jupyter_core"}
MORE |= {"platformdirs": "platformdirs", "comm": "comm", "ipython-pygments-lexers": "ipython_pygments_lexers"}
CORE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]
CHECK = 'from fairlab.suite.labs.checking import as_text, check\n\nprint(as_text(check("berkeley.ipynb")))'


def needed(lock: dict) -> dict:
    """Return the entries of a lock that `NEEDED` needs, by name."""
    found, left = {}, list(NEEDED)
    while left:
        name = left.pop().replace("_", "-").lower()
        if name not in found:
            found[name] = lock["packages"][name]
            left += found[name]["depends"]
    return found


def pip(folder: Path, *packages: str) -> bool:
    """Download wheels for Pyodide; return whether all were found."""
    abi = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]["abi_version"]
    python = f"cp{PYODIDE_PYTHON_VERSION.replace('.', '')}"
    target = ["--implementation", "cp", "--python-version", PYODIDE_PYTHON_VERSION, "--abi", python, "--abi", "none"]
    target += ["--platform", f"pyemscripten_{abi}_wasm32", "--only-binary=:all:", "--no-deps", "-d", str(folder)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *target, *packages]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def wheel(folder: Path, name: str) -> Path | None:
    """Return the file of a package in a folder, if it is there."""
    found = [path for path in folder.glob("*.whl") if path.name.split("-")[0].replace("_", "-").lower() == name]
    return found[0] if found else None


def fetch(folder: Path) -> None:
    """Fetch Pyodide's core by npm and packages by pip, each if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CORE[-1]).exists():
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["npm", "pack", "--silent", f"pyodide@{PYODIDE_VERSION}"], cwd=place, check=True)
            shutil.unpack_archive(next(Path(place).glob("*.tgz")), place, filter="data")
            for name in CORE:
                shutil.copy(Path(place, "package", name), folder)
    entries = needed(json.loads((folder / CORE[-1]).read_text(encoding="utf-8")))
    for name, version in [
        *((name, f"=={entry['version']}") for name, entry in entries.items()),
        *dict.fromkeys(MORE, "").items(),
    ]:
        if not wheel(folder, name):
            pip(folder, name + version)
    print(_said(folder) or f"{folder}: complete")


def _said(folder: Path) -> str:
    """Return what is missing in a folder, in one line."""
    if not (folder / CORE[-1]).exists():
        return f"JupyterLite is left out: {folder} has no Pyodide {PYODIDE_VERSION} (docs/labs.md, In a browser)"
    entries = needed(json.loads((folder / CORE[-1]).read_text(encoding="utf-8")))
    missing = sorted(name for name in [*entries, *MORE] if not wheel(folder, name))
    return f"JupyterLite is left out: {folder} has no wheels for Pyodide of {', '.join(missing)}" if missing else ""


def build(folder: Path, site: Path) -> None:
    """Write the site, if all that it needs is there."""
    if said := _said(folder):
        print(said)
        return
    lock = json.loads((folder / CORE[-1]).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="fairlab-lite-") as place:
        own, static = Path(place), Path(place, "static", "pyodide")
        static.mkdir(parents=True)
        for name in CORE[:-1]:
            shutil.copy(folder / name, static)
        write_requirements(own)  # makes fairlab's wheel
        entries = needed(lock)
        for name in MORE:
            entries[name] = {"name": name, "version": wheel(folder, name).name.split("-")[1], "imports": [MORE[name]]}
        (fairlab,) = own.glob("*.whl")
        depends = [*NEEDED, *MORE]
        entries["fairlab"] = {"name": "fairlab", "version": fairlab.name.split("-")[1], "imports": ["fairlab"]}
        for name, entry in entries.items():
            file = Path(shutil.copy(fairlab if name == "fairlab" else wheel(folder, name), static))
            entry |= {"file_name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            rest = {"install_dir": "site", "package_type": "package", "unvendored_tests": False}
            entries[name] = rest | {"depends": depends if name == "fairlab" else []} | entry
        (static / CORE[-1]).write_text(json.dumps(lock | {"packages": entries}), encoding="utf-8")
        write_notebooks(own / "files")
        kernel = {
            "disablePyPIFallback": True,
            "loadPyodideOptions": {"packages": ["fairlab", "comm", "jedi", "ipython"]},
        }
        settings = {"@jupyterlite/pyodide-kernel-extension:kernel": kernel}
        config = {"jupyter-lite-schema-version": 0, "jupyter-config-data": {"litePluginSettings": settings}}
        (own / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", place, "--contents", own / "files"]
        command += ["--output-dir", site.resolve(), "--no-sourcemaps", "--no-unused-shared-packages"]
        subprocess.run(list(map(str, command)), cwd=place, check=True, stdout=subprocess.DEVNULL)
    print(f"{site}: {len(LABS)} labs in a browser")


def write_notebooks(folder: Path) -> None:
    """Write the labs as students receive them, and a notebook that checks them."""
    folder.mkdir()
    with tempfile.TemporaryDirectory() as place:
        write_labs(Path(place))
        for card in cards():
            if card.number in LABS:
                shutil.copy(Path(place, "students", card.notebook.name), folder)
    text = "# Check a lab\n\nSave the lab, put its name below, and run the cell."
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    cells = [new_markdown_cell(text), new_code_cell(CHECK)]
    nbformat.write(new_notebook(cells=cells, metadata=metadata), folder / "check.ipynb")


if __name__ == "__main__":
    {"fetch": fetch, "build": build}[sys.argv[1]](*map(Path, sys.argv[2:]))
