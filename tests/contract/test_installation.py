"""What an installation needs: a light core without what the extras bring, and one set of versions everywhere."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fairlab
from fairlab.checks import EXTRAS
from fairlab.data.project import project
from fairlab.suite import run as runs

ROOT = project().root

PACKAGE = Path(fairlab.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BATCH_IMAGE = ROOT / "experiments" / "containers" / "Dockerfile"
LOCKS = (
    "requirements.lock",
    "tests/browser/requirements.lock",
    "notebooks/labs/requirements.lock",
    "experiments/containers/monitor.lock",
)
PROGRAMS = "tests/cluster/requirements.lock"  # of an environment of its own
NOT_LIBRARY = ("papers", "bakeoff", "suite", "labs", "site", "benchmarks", "cli.py", "__main__.py")
# Of the monitor, what is statistics; the service is imported by commands only, which name its extra.
STATISTICS = ("__init__", "effects", "looks", "registration")
LIBRARY = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if (parts := path.relative_to(PACKAGE).parts)[0] not in NOT_LIBRARY
    and (parts[0] != "monitoring" or (path.stem in STATISTICS and len(parts) == 2))
]

# The whole example of the page on models.
EXAMPLE = re.search(
    r"^## A whole example\n.*?^```python\n(.*?)^```",
    (ROOT / "docs" / "your_model.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)[1]

# A finder that lets the packages of the extras be absent.
BLOCK = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def requirements(*extras):
    """Return requirements of the core, or of extras, by name; of packages that differ by platform, all."""
    texts = [t for extra in extras for t in PROJECT["optional-dependencies"][extra]] or PROJECT["dependencies"]
    return [Requirement(text) for text in texts]


def names(*extras):
    return {canonicalize_name(requirement.name) for requirement in requirements(*extras)}


def locked():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(";")[0].rstrip(" \\").split("==") for line in lines if line and line[0] not in "# -")
    return {canonicalize_name(name): version for name, version in pairs}


def run(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def imports_of(path):
    """Yield line and top-level package of every import statement of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module.partition(".")[0]


def test_the_library_imports_packages_of_the_core_only():
    core = names() | {"pillow", "pydantic-core", "requests", "urllib3"}  # parts of matplotlib, pydantic and pooch
    homes = {package: set(map(canonicalize_name, found)) for package, found in packages_distributions().items()}
    others = [
        f"{path.relative_to(PACKAGE)}:{line} imports {package}, which is not of the core; take it by `optional`"
        for path in LIBRARY
        for line, package in imports_of(path)
        if package != "fairlab" and package not in sys.stdlib_module_names and not core & homes.get(package, set())
    ]
    assert not others, "\n".join(others)


def test_every_optional_package_is_in_the_extra_that_an_error_names():
    # Parts of a package of the extra: IPython of its kernel, nbclient and nbformat of papermill.
    parts = {"IPython": ["ipykernel"], "nbclient": ["papermill"], "nbformat": ["papermill"]}
    homes = packages_distributions() | parts
    brought = {package: set(map(canonicalize_name, homes.get(package, [package]))) for package in EXTRAS}
    assert {package: extra for package, extra in EXTRAS.items() if not brought[package] & names(extra)} == {}


def test_commands_of_the_monitor_name_the_extra_that_is_missing():
    commands = [["monitor", "--help"], ["monitor", "serve"], ["monitor", "token", "list"]]
    answer = run(f"{BLOCK}\nfrom fairlab.cli import main\nprint([main(arguments) for arguments in {commands}])")
    assert answer.stdout.endswith("[0, 1, 1]\n"), answer.stdout + answer.stderr
    assert answer.stderr.count("fairlab[monitor]") == 2, answer.stderr


def test_the_whole_example_of_the_page_on_models_runs_without_the_extras_and_without_a_clone(tmp_path):
    asked = 'assert report.significant and report.budget == 20_000 and list(case.sensitive_features) == ["sex", "race"]'
    answer = run(f"{BLOCK}\n{EXAMPLE}\n{asked}", cwd=tmp_path, env=os.environ | {"FAIRLAB_ROOT": str(tmp_path)})
    assert (answer.returncode, answer.stderr) == (0, "")
    verdict = "Difference found: hiring model, tested on 3,000 people for differences by sex and race: "
    assert answer.stdout.startswith(verdict) and "The selection rate of Female is " in answer.stdout
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


# Methods that a model without gradients needs.
WITHOUT_NETWORKS = """
import numpy as np
import fairlab.fair_metric, fairlab.models, fairlab.networks, fairlab.transport
from fairlab.adf import ADF, Aequitas
from fairlab.cases import Schema, wrap_model
from fairlab.models import LinearClassifier
from fairlab.networks import FeedForward, initial_network
from fairlab.transport import ExactTransport
X = np.eye(4)
FeedForward(initial_network(np.random.default_rng(0), (4, 3, 2))).predict(X)
wrap_model(LinearClassifier([1.0, 0, 0, 0], 0.0)).classes_of(X)
ExactTransport().fit(X, X + 1).transform(X)
schema = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})
score = lambda X: X[:, 0] + 0.9 * X[:, 1]
adf = ADF(score, schema, "sex", decision_threshold=4.5, n_local=5)
assert adf.generate(schema.sample(9), n_seeds=4).n_discriminatory
assert Aequitas(score, schema, "sex", decision_threshold=4.5, n_local=5).generate(n_samples=40).n_discriminatory
"""


def test_importing_takes_under_a_second_and_none_of_the_extras_and_methods_no_tensorflow():
    # Seconds of the processor: those of the clock depend on what else the machine does.
    code = f"""
import sys, time
started = time.process_time()
import fairlab, fairlab.fliptest, fairlab.fairtest, fairlab.individual_fairness, fairlab.themis, fairlab.adf
seconds = time.process_time() - started
imported = {{name.partition(".")[0] for name in sys.modules}}
print(seconds, *sorted(imported & set({sorted(EXTRAS)})))
{WITHOUT_NETWORKS}
print(sorted({{"tensorflow", "keras"}} & set(sys.modules)))
"""
    first, second = run(code).stdout.splitlines()
    seconds, *imported = first.split()
    assert float(seconds) < 1
    assert (imported, second) == ([], "[]")


def test_the_lock_holds_what_the_core_and_the_extras_ask_for():
    extras = ("networks", "symbolic", "suite", "labs", "site", "monitor", "tables", "dev")
    asked = {each: locked().get(canonicalize_name(each.name)) for each in requirements() + requirements(*extras)}
    others = [f"{each}: {has}" for each, has in asked.items() if has is None or not each.specifier.contains(has)]
    assert others == [], "run `make lock`"


def rows_of(page):
    """Return the first two columns of every table of a guide, without the markup of code."""
    text = (ROOT / "docs" / "guide" / page).read_text(encoding="utf-8")
    return re.findall(r"^\| `?([\w.-]+)`? \| ([^|]+?) \|", text, flags=re.MULTILINE)


def test_guides_name_every_package_with_its_extras_and_every_extra():
    content, wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")), {}
    extras = PROJECT["optional-dependencies"]
    for extra, texts in (extras | content["dependency-groups"]).items():
        for name in (Requirement(text).name for text in texts if extra != "all"):
            wanted.setdefault(name, set()).add(extra)
    core = {Requirement(text).name for text in PROJECT["dependencies"]}
    listed = [row for row in rows_of("dependencies.md") if row[0] not in ("package", "---")]
    assert {name for name, _ in listed[: len(core)]} == core
    assert {name: {*groups.split(", ")} for name, groups in listed[len(core) :]} == wanted
    extra = [name for name, _ in rows_of("running.md") if name not in ("extra", "---")]
    assert sorted(extra) == sorted(extras.keys() - {"dev"})


@pytest.mark.parametrize("name", [*LOCKS, PROGRAMS])
def test_a_lock_has_a_hash_for_every_package_and_no_version_of_its_own(name):
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text(encoding="utf-8").strip())
    assert not [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)]
    versions = {canonicalize_name(entry.partition("==")[0]): re.split("==| ", entry)[1] for entry in entries}
    others = {package for package, version in versions.items() if locked().get(package, version) != version}
    assert name == PROGRAMS or not others, "run `make lock`"


def test_runs_in_a_container_know_the_commit_that_it_was_built_from(tmp_path, monkeypatch):
    text = BATCH_IMAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    (noted,) = re.findall("^RUN (.*COMMIT.*)$", text, flags=re.MULTILINE)
    built = [
        subprocess.run(["sh", "-c", noted], cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 0
        for env in ({}, {"COMMIT": "0123456789ab"})
    ]
    assert built == [False, True]
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    assert runs._commit() == "0123456789ab"


def test_conda_users_get_fairlab_and_the_locked_versions_by_one_command():
    *conda, pip = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert pip == {"pip": ["-e .", *re.findall(r"^(\S.*) \\$", lock, flags=re.MULTILINE)]}
    assert len(pip["pip"]) == len(locked()) + 1
    python = next(Requirement(text.replace("=", "==")) for text in conda if text.startswith("python"))
    (version,) = (clause.version for clause in python.specifier)
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(version)


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == fairlab.__version__ == version("fairlab")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.search(r"^## (\S+) \((.+)\)$", changes, flags=re.MULTILINE).groups()
    assert (newest, date) == (fairlab.__version__, str(citation.get("date-released", "not released yet")))


# The newest PuLP is 3.3 on Python 3.11, and 4 or later on others.
SOLVERS = """
import sys
import numpy as np, pulp
from fairlab.transport import ExactTransport
assert (sys.version_info >= (3, 12)) == (int(pulp.__version__.split(".")[0]) >= 4), pulp.__version__
women, men = np.random.default_rng(0).normal(size=(2, 30, 2))
first, second = (ExactTransport(solver).fit(women, men[:20]).cost_ for solver in ("lp", "network_simplex"))
assert np.isclose(first, second, rtol=1e-6), (first, second)
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_an_empty_environment_audits_a_file_on_every_python(version, tmp_path):
    python = shutil.which(f"python{version}") or "false"
    if subprocess.run([python, "-V"], capture_output=True, check=False).returncode:  # a shim may be empty
        pytest.skip(f"there is no python{version} that runs")
    made = tmp_path / "environment"
    subprocess.run([python, "-m", "venv", made], check=True)
    subprocess.run([made / "bin/python", "-m", "pip", "install", "--quiet", "--prefer-binary", ROOT], check=True)
    subprocess.run([made / "bin/python", "-c", f"{EXAMPLE}\nassert report.significant"], cwd=tmp_path, check=True)
    subprocess.run([made / "bin/python", "-c", SOLVERS], cwd=tmp_path, check=True)
