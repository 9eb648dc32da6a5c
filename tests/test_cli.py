import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from audited import finding, people
from toy_project import write_program

from fairlab import Case, audit
from fairlab.auditing.audits import METHODS
from fairlab.cli import main


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["list"], 0, r"experiment .*\ntoy/mean +table-1, figure-1 .*\n"),
        (["data", "describe", "lipton"], 0, r".*Hiring data of Lipton.*"),
        (
            ["run", "toy", "-p", "n", "3", "--seed", "2", "--dry-run"],
            0,
            r"toy/mean: about [\d.]+ min of one core at the sizes of quick\n",
        ),
    ],
)
def test_calls_end_with_their_status_and_say_what_they_are_asked(toy, capsys, arguments, status, said):
    assert main(arguments) == status
    assert re.fullmatch(said, "".join(capsys.readouterr()), flags=re.DOTALL)
    assert not (toy / "results").exists()


def test_folders_of_the_environment_may_be_relative(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    monkeypatch.setenv("FAIRLAB_ROOT", toy.name)
    monkeypatch.setenv("FAIRLAB_RESULTS", "own")
    assert main(["run", "toy/mean", "--profile", "smoke"]) == 0
    assert {path.name for path in (toy.parent / "own").iterdir()} == {"smoke", "trials", ".partial"}
    assert {path.name for path in (toy / "notebooks" / "toy").iterdir()} == {"mean.ipynb"}


def test_characters_that_a_locale_lacks_are_printed_as_escapes(toy):
    ascii_only = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "fairlab", "scorecard", "toy"]
    done = subprocess.run(command, env=ascii_only, capture_output=True, check=False)
    assert (done.returncode, done.stderr, rb"0.50 \xb1 0.10" in done.stdout) == (0, b"", True)


LOADED = """
import sys
from fairlab.__main__ import main
assert main() == 0
heavy = "papermill", "tensorflow", "scipy", "sklearn", "matplotlib"
print([name for name in sys.modules if name in heavy or "audit" in sys.argv and name.startswith("fairlab.suite")])
"""


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"]])
def test_help_loads_no_heavy_library_and_commands_on_models_nothing_of_the_suite(toy, arguments):
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("group", "commands"),
    [("labs", ["list", "build", "check"]), ("monitor token", ["create", "list", "revoke"])],
)
def test_a_group_has_its_own_commands_only(capsys, group, commands):
    assert main([*group.split(), "--help"]) == 0
    shown = capsys.readouterr().out.partition("Commands:\n")[2]
    assert re.findall(r"^  (\S+)", shown, flags=re.MULTILINE) == commands


def test_all_that_follows_snakemake_is_for_snakemake(toy, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "fairlab.suite.cluster.run_on_cluster", lambda *given, **more: calls.append((given, more)) or {}
    )
    call = ["run", "--all", "--dry-run", "--scheduler", "slurm", "--jobs", "3"]
    assert main([*call, "--snakemake", "--default-resources", "a=b", "--jobs", "9", "-p"]) == 0
    [((names, *place), more)] = calls
    assert (names, place) == (["toy/mean"], ["quick", "slurm"])
    rest = ["--default-resources", "a=b", "--jobs", "9", "-p"]
    assert more == {"jobs": 3, "cores": None, "dry_run": True, "arguments": rest}


MODEL = "import numpy as np\n\n\ndef predict(rows):\n    return np.where(rows['age'] > 40, 'yes', 'no')\n"


@pytest.fixture
def model(here, monkeypatch):
    """A module, a table and stand-ins for all methods, that find something in `p_values`; returns these."""
    (here / "bank.py").write_text(MODEL)
    people().assign(repaid="yes").to_csv("table.csv", index=False)
    joblib.dump(print, "bank.pkl")
    p_values = {}

    def stand_in(name, method, examination):
        examination.skip(f"{name} is a stand-in.")
        if name in p_values:
            yield finding(examination.case.table, p_values[name], method=name)

    for name, method in METHODS.items():
        monkeypatch.setattr(method, "findings", lambda its, case, name=name: stand_in(name, its, case))
        monkeypatch.setattr(method, "needs", ())
    return p_values


AUDIT = [
    "audit",
    "bank:predict",
    "table.csv",
    "--sensitive-features",
    "sex",
    "--y-true",
    "repaid",
    "--pos-label",
    "yes",
]


def test_an_audit_ends_with_4_without_a_test_with_0_without_and_3_with_significant_findings(model, capsys):
    assert main(AUDIT) == 4
    assert capsys.readouterr().out.startswith("Not assessed: no statistical test was possible, so this audit says")
    model["themis"] = 0.2
    assert main(AUDIT) == 0
    model["fliptest"] = 0.001
    assert main(AUDIT) == 3
    printed, errors = capsys.readouterr()
    assert "Comparisons: a difference of more than 0.5 percentage points is found in 1 of 2 comparisons" in printed
    assert "--html FILE or --json FILE writes 2 comparisons, and 7 reasons why others were not made." in printed
    assert re.match(r"fairlab: the model will take [1-9]\d* s at most$", errors, re.MULTILINE)
    assert main([*AUDIT, "--methods", "themis", "--require-within"]) == 3
    assert "\nfails: undecided: " in capsys.readouterr().out


def test_what_is_written_to_standard_output_stands_there_alone(model, capfd):
    assert main([*AUDIT, "--methods", "themis", "--json", "/dev/stdout"]) in (0, 4)
    printed, errors = capfd.readouterr()
    assert json.loads(printed)["methods"][0]["method"] == "Themis" and "Written to /dev/stdout" in errors


def test_audit_writes_requested_files(model, tmp_path):
    model["fliptest"] = 0.001
    assert main([*AUDIT, "--html", "a.html", "--json", "a.json", "--rows", "none", "--methods", "fliptest,themis"]) == 3
    assert "Example rows are left out" in (tmp_path / "a.html").read_text()
    content = json.loads((tmp_path / "a.json").read_text())
    assert [method["method"] for method in content["methods"]] == ["FlipTest", "Themis"]
    assert content["rows"] == "none"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("audit --html table.csv", "--html: expected a file of its own, found table.csv, which is read"),
        ("audit --json bank.py", "--json: expected a file of its own, found bank.py, which is read"),
        ("audit --baseline old.json --json old.json", "found old.json, which is read"),
        ("audit --config a.toml --junit a.toml", "found a.toml, which is read"),
        ("audit --html x --model-card x", "--model-card: expected a file of its own, found x, which --html writes"),
        ("audit --junit ''", "--junit: expected the name of a file, found an empty text"),
        ("audit --html /proc/a.html", "/proc/a.html"),
        ("audit --baseline old.json", "baseline: expected a report that to_json wrote, found old.json"),
        ("audit --config accept.toml", "accept: expected sensitive features, sex, or several"),
        ("compare bank:predict --html table.csv", "--html: expected a file of its own, found table.csv, which is read"),
        ("compare bank:predict --html x --json x", "--json: expected a file of its own, found x, which --html writes"),
    ],
)
def test_outputs_are_checked_before_the_model_is_called(model, tmp_path, capsys, call, message):
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "a.toml").write_text("seed = 1")
    accept = {"measure": "impact_ratio", "sensitive_features": "sxe", "reason": "agreed", "expires": "2999-01-01"}
    (tmp_path / "accept.toml").write_text("[[accept]]\n" + "\n".join(f"{k} = '{v}'" for k, v in accept.items()))
    (tmp_path / "bank.py").write_text("def predict(rows):\n    open('called', 'w')\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main([*shlex.split(call), *AUDIT[1:]]) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


HANGING = """
import time


def at_once(rows):
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass
"""


@pytest.mark.parametrize(
    "model",
    [
        ["audit", "hanging:at_once"],
        ["audit", "hanging_to_load:x"],
        ["audit", "./hang.sh", "--program"],
        ["audit", "./hang.sh", "--batch-program"],
        ["compare", "hanging:at_once", "hanging:at_once"],
    ],
)
def test_max_seconds_bounds_a_model_that_does_not_answer(here, capsys, model):
    pd.DataFrame({"sex": ["f", "m"] * 100, "hours": range(200)}).to_csv("t.csv", index=False)
    (here / "hanging.py").write_text(HANGING)
    (here / "hanging_to_load.py").write_text("import time\ntime.sleep(60)\n")
    write_program(here / "hang.sh", "echo $$ >> started\nexec sleep 60")
    (here / "started").touch()
    assert main([*model, "t.csv", "--sensitive-features", "sex", "--max-seconds", "1", "--json", "r.json"]) == 1
    assert capsys.readouterr().err == "fairlab: --max-seconds: the model did not answer within 1 seconds\n"
    processes = (here / "started").read_text().split()
    assert not [number for number in processes if Path(f"/proc/{number}/cmdline").exists()]
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_what_was_found_before_a_model_hung_is_reported():
    hangs = []

    def model(rows):
        while hangs:
            pass
        return rows["hours"] > 100

    case = Case(model, pd.DataFrame({"sex": ["f", "m"] * 100, "hours": range(200)}), sensitive_features="sex")
    hangs.append(True)
    report = audit(case, max_seconds=1, methods=["rates", "themis", "adf"], progress=False)
    assert {finding.measure for finding in report.findings} == {"selection_rate_difference"}
    assert ("Themis", "the seconds that the audit may take were over.") in report.skipped


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["--sensitive-features", '"sex, as stated", "the ""group"""'], ""),
        ([], """sensitive_features = ['sex, as stated', 'the "group"']"""),
    ],
)
def test_names_may_have_commas(here, names, line):
    table = pd.DataFrame({"sex, as stated": ["f", "m"] * 100, 'the "group"': list("aabb") * 50, "hours": range(200)})
    table.to_csv("t.csv", index=False)
    (here / "bank.py").write_text("def predict(rows):\n    return rows['hours'] + 50 * (rows.index % 2) > 100\n")
    (here / "a.toml").write_text(line)
    call = ["audit", "bank:predict", "t.csv", "--methods", "rates", "--json", "r.json", "--config", "a.toml"]
    assert main([*call, *names]) == 3
    assert json.loads((here / "r.json").read_text())["sensitive_features"] == list(table)[:2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("html = ['a.html']", "html: expected a string, found ['a.html']"),
        ("y_true = 1", "y_true: expected a string, found 1"),
        ("seed = '1'", "seed: expected a whole number, found '1'"),
        ("budget = true", "budget: expected a whole number, found True"),
        ("budget = 1e3", "budget: expected a whole number, found 1000.0"),
        ("margin = '0.1'", "margin: expected a number, found '0.1'"),
        ("proxies = 'no'", "proxies: expected true or false, found 'no'"),
        ("sensitive_features = 3", "sensitive_features: expected a string or a list of strings, found 3"),
        ("features = ['age', 3]", "features: expected a string or a list of strings, found ['age', 3]"),
        ("fail_on = 3", "fail_on: expected a string or a list of strings, found 3"),
        ("dtype = {age = 'int'}", "dtype: expected a string or a list of strings, found {'age': 'int'}"),
        ("pos_label = ['yes']", "pos_label: expected a label, found ['yes']"),
        ("rows = 'some'", "'some' is not one of"),
        ("accept = 'all'", "accept: expected a list of tables, found 'all'"),
        ("trust-pickle = true", "trust-pickle: expected on the command line only, found in a configuration"),
        ("config = 'b.toml'", "config: expected on the command line only"),
        ("fail-onn = 'x'", "unknown key 'fail-onn'; did you mean 'fail_on'"),
        ("dtypes = 'x=str'", "unknown key 'dtypes'; did you mean 'dtype'"),
        ("model =", "expected a TOML file"),
    ],
)
def test_a_configuration_has_values_of_the_right_kind(model, tmp_path, capsys, line, message):
    (tmp_path / "a.toml").write_text(line)
    assert main([*AUDIT, "--config", "a.toml"]) == 2
    assert message in capsys.readouterr().err


ONE_TEXT_EACH = """
fail_on = 'selection_rate_difference > 0.9'
dtype = 'age=float'
methods = 'themis,fliptest'
sensitive-features = 'sex'
pos_label = 'yes'
"""


def test_a_list_of_a_configuration_may_be_one_text(model, tmp_path, capsys):
    (tmp_path / "a.toml").write_text(ONE_TEXT_EACH)
    model["themis"] = 0.2
    assert main(shlex.split("audit bank:predict table.csv --y-true repaid --config a.toml --json r.json")) == 4
    assert "not judged: selection_rate_difference > 0.9, by sex: group rates did not run" in capsys.readouterr().out
    content = json.loads((tmp_path / "r.json").read_text())
    assert [method["method"] for method in content["methods"]] == ["FlipTest", "Themis"]


def test_people_without_a_true_label_are_not_labelled_for_a_program(here):
    (here / "prog.py").write_text("import sys\nprint(int(float(sys.argv[2]) > 40))\n")
    columns = {"sex": ["f", "m"] * 20, "hours": [*range(30, 50)] * 2, "paid": (["yes"] * 3 + ["no"] * 2 + [""] * 2) * 6}
    table = pd.DataFrame({name: values[:40] for name, values in columns.items()})
    table.to_csv("t.csv", index=False)
    call = (
        f"audit '{sys.executable} -S prog.py' t.csv --program --sensitive-features sex --y-true paid "
        "--pos-label yes --methods rates --budget 80 --json r.json"
    )
    assert main(shlex.split(call)) in (0, 3, 4)
    groups = json.loads((here / "r.json").read_text())["groups"]
    assert {row["group"]: (row["labelled"], row["negatives"]) for row in groups} == {
        sex: (sum(rows["paid"] != ""), sum(rows["paid"] == "no")) for sex, rows in table.groupby("sex")
    }


@pytest.mark.parametrize("column", ["name", "rare"])
def test_a_guard_does_not_pass_a_model_of_which_nothing_could_be_tested(here, capsys, column):
    """With the methods as they are: identifiers, or a group of three, which the model does not get."""
    (here / "bank.py").write_text(MODEL)
    table = people(200).assign(name=[f"person {k}" for k in range(200)], rare=["yes"] * 3 + ["no"] * 197)
    table.to_csv("table.csv", index=False)
    call = ["audit", "bank:predict", "table.csv", "--features", "age,job", "--pos-label", "yes", "--sensitive-features"]
    assert main([*call, column]) == 4
    assert re.match(
        r"Not assessed: no statistical test was possible, so this audit says nothing about .*\n"
        rf"{column} was not assessed\. group rates: {column}: fewer than 30 people are ",
        capsys.readouterr().out,
    )
    assert main([*call, f"sex,{column}"]) == 0
    assert main([*call, f"sex,{column}", "--within", "0.9", "--require-within"]) == 4
    assert f"\nnot judged: {column} was not assessed: group rates: " in capsys.readouterr().out


@pytest.mark.parametrize("command", [["list"], ["run", "--all"], ["data", "status"], ["scorecard"], ["figures"]])
def test_library_without_project_prints_one_line(monkeypatch, tmp_path, capsys, command):
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    assert main(command) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "Without a clone there is the library alone, without notebooks" in line


LOADING = """
import signal, sys
signal.signal(signal.{name}, signal.SIG_DFL)  # it may be ignored where tests run
class Importer:
    def find_spec(self, name, path=None, target=None):
        if name == "fairlab.cli":
            signal.raise_signal(signal.{name})
sys.meta_path.insert(0, Importer())
from fairlab.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupt_during_import_prints_one_line(name):
    done = subprocess.run([sys.executable, "-c", LOADING.format(name=name)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "fairlab: interrupted\n")


def test_an_audit_that_is_interrupted_speaks_of_no_trials(model, here, capsys):
    (here / "bank.py").write_text("def predict(rows):\n    raise KeyboardInterrupt\n")
    assert main(AUDIT) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "fairlab: interrupted"


def test_two_models_are_compared_and_worse_is_3_and_nothing_is_4(here, capsys):
    pd.DataFrame({"sex": ["f", "m"] * 300, "points": np.arange(600) % 60}).to_csv("table.csv", index=False)
    pd.DataFrame({"sex": ["f", "m"] * 8, "points": range(16)}).to_csv("few.csv", index=False)
    (here / "two_models.py").write_text(
        "def fair(rows):\n    return rows['points'] > 30\n\n\n"
        "def unfair(rows):\n    return rows['points'] > 20 + 20 * (rows['sex'] == 'f')\n"
    )

    def status(first, second, table="table.csv"):
        models = (f"two_models:{name}" for name in (first, second))
        return main(["compare", *models, table, "--sensitive-features", "sex", "--html", "c.html", "--json", "c.json"])

    assert status("fair", "unfair") == 3
    assert "Worse: selection rate difference" in capsys.readouterr().out
    assert "<main>" in (here / "c.html").read_text()
    assert json.loads((here / "c.json").read_text())["is_worse"] is True
    assert (status("unfair", "fair"), status("fair", "nothing"), status("unfair", "fair", "few.csv")) == (0, 2, 4)


@pytest.fixture
def decisions(here):
    """Write the decisions of two quarters, the second of which is biased."""
    rng = np.random.default_rng(0)
    for name, bias in (("last.csv", 0), ("this.csv", 40)):
        points, sex = rng.integers(0, 100, 600), np.array(["f", "m"] * 300)
        columns = {"sex": sex, "points": points, "w": rng.uniform(1, 2, 600), "id": np.arange(600) // 2}
        hired = np.where(points + bias * (sex == "m") > 60, "yes", "no")
        pd.DataFrame(columns | {"hired": hired, "score": points}).to_csv(name, index=False)


OF_DECISIONS = ["--decisions", "hired", "--pos-label", "yes", "--sensitive-features", "sex", "--features", "points"]
OF_FILES = ["audit", "--decisions", "hired", "--sensitive-features", "sex"]
YES = ["--pos-label", "yes"]


@pytest.fixture
def files(here):
    """Write decisions into two files; women of one town are hired less."""
    pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 4_000), "town": rng.choice(["a", "b", "c"], 4_000)})
    unfair = (people["sex"] == "f") & (people["town"] == "b")
    people["hired"] = np.where(rng.random(4_000) < 0.5 - 0.3 * unfair, "yes", "no")
    people["day"] = pd.Timestamp("2020-01-01")
    Path("files").mkdir()
    people.head(1_500).to_parquet("files/a.parquet")
    people.tail(2_500).to_parquet("files/b.parquet")
    return people


def test_decisions_in_files_are_all_counted_also_from_their_codes_alone(files, capsys):
    assert main([*OF_FILES, *YES, "files/*.parquet", "--codes", "codes", "--json", "r.json"]) == 3
    out = capsys.readouterr().out
    assert "4,000 decisions, all counted" in out and "town: b" in out
    assert "Column 'day' is left out: it holds values of the type TIMESTAMP" in out
    selected = (files["hired"] == "yes").groupby(files["sex"]).mean()
    content = json.loads(Path("r.json").read_text("utf-8"))
    assert content["rates"]["sex"]["f"]["selection rate"] == pytest.approx(selected["f"], abs=1e-9)
    assert main([*OF_FILES, *YES, "codes"]) == 3
    assert capsys.readouterr().out == out


def test_decisions_are_audited_and_compared_without_a_model(decisions, tmp_path, capsys):
    assert main(["audit", *OF_DECISIONS, "last.csv"]) == 0
    out, errors = capsys.readouterr()
    assert "a table of decisions without a model, tested on 600 people" in out and "the model will" not in errors
    assert main(["audit", *OF_DECISIONS, "this.csv", "--scores", "score", "--weights", "w", "--json", "r.json"]) == 3
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["groups"][0]["weight"] > 300
    assert {"method": "Themis", "reason": "There is no model to query, only decisions."} in content["skipped"]
    (tmp_path / "a.toml").write_text(
        'table = "this.csv"\ndecisions = "hired"\npos_label = "yes"\nsensitive_features = "sex"\n'
    )
    calls = (
        ["audit", "--config", "a.toml", "--fail-on", "selection_rate_difference > 0.05"],
        ["compare", *OF_DECISIONS, "last.csv", "this.csv", "--html", "c.html"],
        ["compare", *OF_DECISIONS, "last.csv", "last.csv"],
    )
    assert [main(call) for call in calls] == [3, 3, 0]


def changed(changes):
    """Return the call of an audit with other arguments at some places."""
    return list((dict(enumerate(AUDIT)) | changes).values())


@pytest.mark.parametrize(
    ("where", "call", "message"),
    [
        # what exists
        ("toy", ["run", "toy/meen"], "did you mean 'toy/mean'"),
        ("toy", ["run", "toy/mean", "--profile", "fast"], "unknown profile 'fast'"),
        ("toy", ["run", "toy/mean", "--profile", "fast", "--scheduler", "slurm"], "unknown profile 'fast'"),
        ("toy", ["run", "toy/mean", "-p", "seed", "3"], "seed: not a parameter of the experiment; expected --seed"),
        ("toy", ["run"], "name experiments or give --all"),
        ("toy", ["run", "--all", "-p", "n", "3"], "for one experiment at a time"),
        ("toy", ["run", "toy/mean", "-p", "m", "3", "--dry-run"], "no parameter 'm'"),
        ("toy", ["run", "toy/mean", "-p", "n", "3", "-p", "n", "4"], "n: given twice"),
        ("toy", ["run", "toy/mean", "-p", "n", "many"], "n: expected"),
        ("toy", ["run", "toy/mean", "--snakemake", "--forceall"], "--snakemake is for a cluster: --scheduler slurm"),
        ("toy", ["run", "--all", "--seed", "1"], "for one experiment at a time"),
        ("toy", ["run", "--all", "--scheduler", "slurmm"], "unknown scheduler 'slurmm'; did you mean 'slurm'"),
        ("toy", ["run", "--all", "--jobs", "0"], "Invalid value for '--jobs': 0 is not in the range x>=1"),
        ("toy", ["site", "--jobs", "0"], "Invalid value for '--jobs': 0 is not in the range x>=1"),
        ("toy", ["run", "toy/mean", "--seed", "-1"], "Invalid value for '--seed': -1 is not in the range x>=0"),
        ("toy", ["rum"], "Did you mean 'run'"),
        ("toy", ["run", "--al"], "Did you mean one of: '--all'"),
        ("toy", ["data", "fetsh"], "Did you mean 'fetch'"),
        ("toy", ["scorecard", "--profile", "fast"], "'fast' is not one of 'smoke', 'quick', 'paper'"),
        ("toy", ["scorecard", "toy:table-2"], "found 'toy:table-2'; did you mean 'toy:table-1'"),
        ("toy", ["scorecard", "toy/mena"], "found 'toy/mena'; did you mean 'toy/mean'"),
        ("toy", ["scorecard", "results/quick/toy/none"], "or rows, as adf:table-4, found 'results/quick/toy/none'"),
        (
            "toy",
            ["figures", "toy/table-1"],
            "expected a paper, or a table or figure as in adf/table-4, found 'toy/table-1'",
        ),
        ("toy", ["scorecard", "toy", "--write"], "--write: expected no rows and no --json beside it"),
        ("toy", ["scorecard", "--json", "--write"], "--write: expected no rows and no --json beside it"),
        ("toy", ["figures", "--write", "--output", "here"], "--write and --output exclude each other"),
        ("toy", ["data", "describe"], "Missing"),
        ("toy", [], "Usage: fairlab"),
        # an audit of a model
        ("model", changed({1: "bank:missing"}), "has no 'missing'"),
        ("model", changed({1: "bank.pkl"}), "--trust-pickle"),
        ("model", changed({2: "tabel.csv"}), "no file tabel.csv"),
        ("model", changed({4: "sxe"}), "sxe"),
        ("model", changed({4: '"sex, as stated'}), "expected names with commas between them, found"),
        ("model", changed({6: "repayed"}), "--y-true: the table has no column 'repayed'; did you mean 'repaid'"),
        ("model", changed({8: "maybe"}), "maybe"),
        ("model", changed({9: "--budget", 10: "0"}), "budget: expected a positive integer, found 0"),
        ("model", changed({9: "--methods", 10: "themes"}), "did you mean 'themis'"),
        ("model", changed({9: "--features", 10: "age,hight"}), "hight"),
        ("model", changed({9: "--weights", 10: "age"}), "--weights needs --decisions"),
        # decisions in files
        ("files", [*OF_FILES, "files/*.parquet"], "pos_label: expected the favourable one of no, yes, found none"),
        ("files", [*OF_FILES, "files/*.parquet", "--html", "r.html"], "--html is for tables in memory"),
        (
            "files",
            [*OF_FILES, "files/*.parquet", *YES, "--decisions", "tow"],
            "decisions: no column 'tow'; did you mean 'town'",
        ),
        (
            "files",
            [*OF_FILES, "files/*.parquet", *YES, "--sensitive-features", "tow"],
            "sensitive_features: no column 'tow'; did you mean 'town'",
        ),
        ("files", [*OF_FILES, "none/*.parquet", *YES], "none/*.parquet: expected files, found none"),
        # decisions in tables
        (
            "decisions",
            ["audit", *OF_DECISIONS, "model:predict", "this.csv"],
            "expected TABLE with --decisions, and no model, found model:predict",
        ),
        ("decisions", ["audit", *OF_DECISIONS], "expected TABLE with --decisions, and no model, found nothing"),
        (
            "decisions",
            ["compare", *OF_DECISIONS, "this.csv"],
            "expected TABLE TABLE with --decisions, and no model, found this.csv",
        ),
        ("decisions", ["audit", *OF_DECISIONS, "this.csv", "--proxies"], "--proxies is for models, found --decisions"),
        ("decisions", ["audit", *OF_DECISIONS, "this.csv", "--program"], "--program is for models, found --decisions"),
        (
            "decisions",
            ["audit", *OF_DECISIONS, "this.csv", "--weights", "weight"],
            "--weights: the table has no column 'weight'",
        ),
        (
            "decisions",
            ["audit", *OF_DECISIONS, "this.csv", "--scores", "hired"],
            "scores: 'hired' is also given as decisions",
        ),
        (
            "decisions",
            ["audit", *OF_DECISIONS, "this.csv", "--person", "id"],
            "person: expected each person in one group of sex, found 300",
        ),
        ("decisions", ["audit", *OF_DECISIONS, "this.csv", "--y-true", "id"], "y_true: has the labels"),
        ("decisions", ["audit", *OF_DECISIONS, "this.csv", "--html", "this.csv"], "this.csv"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_why(request, capsys, where, call, message):
    request.getfixturevalue(where)
    assert main(call) == 2
    assert message in capsys.readouterr().err
