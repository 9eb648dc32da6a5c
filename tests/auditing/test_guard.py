import json
import re
import shlex
import sys
from datetime import date
from functools import partial
from xml.etree import ElementTree

import joblib
import numpy as np
import pandas as pd
import pytest
import yaml
from audited import finding, people, report

from fairlab import Case, audit
from fairlab.auditing import loading
from fairlab.auditing.guard import Accepted, Rule, failures
from fairlab.auditing.loading import command_model, label, load_model, read_table
from fairlab.cases import MethodResult
from fairlab.cli import main
from fairlab.paths import project
from fairlab.statistics import difference_bounds, difference_p_value

TODAY = date(2026, 11, 24)
ACCEPTED = {"measure": "selection_rate_difference", "sensitive_features": "sex", "reason": "as agreed"}


def rate(hits, totals, **changes):
    """Return a selection rate difference as an audit finds it."""
    low, high = map(float, difference_bounds(hits, totals, confidence_level=0.95))
    test, estimate = partial(difference_p_value, hits, totals), hits[0] / totals[0] - hits[1] / totals[1]
    parts = {"measure": "selection_rate_difference", "effect": "selection rate difference, f minus m", "low": low}
    return finding(people(), test(), estimate, **(parts | {"high": high, "test": test} | changes))


def found(*findings):
    return report(MethodResult("group rates", findings, (), 0, 0))


CLEAR = rate([400, 520], [1000, 1000])  # 12 points, certainly more than 5, not certainly more than 10


def test_a_rule_is_a_test_against_its_margin_not_against_zero():
    rules = [[Rule.of(f"selection_rate_difference > {limit}")] for limit in (0.05, 0.1)]
    assert [len(failures(found(CLEAR), rules=some)[0]) for some in rules] == [1, 0]
    assert found(CLEAR).verdict == "difference found"
    # Ten tests of one rule are corrected together: p = 0.02 against the margin is not enough.
    weak = [rate([400, 490], [1000, 1000]), *[rate([450, 450], [1000, 1000])] * 9]
    assert weak[0].test(0.05) <= 0.1 < 10 * weak[0].test(0.05)
    assert failures(found(*weak), rules=rules[0])[0] == []


def test_impact_ratios_below_a_limit():
    case = Case(lambda rows: rows["age"] > 30 + 25 * (rows["sex"] == "man"), people(2_000), sensitive_features="sex")
    found = audit(case, methods=["rates"], progress=False)
    below = {limit: failures(found, rules=[Rule.of(f"impact_ratio < {limit}")])[0] for limit in (0.8, 0.3)}
    assert ([text[:28] for text in below[0.8]], below[0.3]) == (["impact_ratio < 0.8: sex man "], [])


def test_a_baseline_fails_what_is_new_or_worse(tmp_path):
    path = tmp_path / "before.json"
    found(rate([400, 500], [1000, 1000]), rate([450, 450], [1000, 1000], sensitive_features="race")).to_json(path)
    same, worse, new = (
        failures(found(rate([hits, 500 + extra], [1000, 1000], sensitive_features=name)), baseline=path)
        for hits, extra, name in ((410, 5, "sex"), (200, 0, "sex"), (300, 0, "race"))
    )
    assert same == ([], [])
    assert (worse[0][0][:17], new[0][0][:5]) == ("worse than -0.1: ", "new: ")
    path.write_text("{}")
    with pytest.raises(ValueError, match="baseline: expected a report"):
        failures(found(CLEAR), baseline=path)


@pytest.mark.parametrize(
    ("entry", "day", "failing", "accepted"),
    [
        ({"expires": "2026-11-24"}, TODAY, None, "accepted until 2026-11-24: as agreed"),
        ({"expires": "2026-11-24"}, date(2026, 11, 25), "it was accepted until 2026-11-24", None),
        ({"expires": TODAY, "where": "age < 30"}, TODAY, "", None),
    ],
)
def test_a_finding_is_accepted_with_a_reason_until_a_day(entry, day, failing, accepted):
    said = failures(found(CLEAR), accepted=[Accepted.of(ACCEPTED | entry)], today=day)
    for texts, end in zip(said, (failing, accepted), strict=True):
        assert [text.endswith(end) for text in texts] == ([] if end is None else [True])


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (Rule.of, "selection_rate_diference > 0.05", "did you mean 'selection_rate_difference'"),
        (Rule.of, "selection_rate_difference < 0.05", "expected > after selection_rate_difference"),
        (Rule.of, "impact_ratio > 0.8", "expected < after impact_ratio"),
        (Rule.of, "selection_rate_difference", "expected MEASURE > NUMBER"),
        (Rule.of, "loss_ratio > 1.2.3", "expected a number at the end"),
        (Rule.of, 3, "expected MEASURE > NUMBER"),
        (Accepted.of, ACCEPTED | {"expires": TODAY, "reason": " "}, "expected text as reason"),
        (Accepted.of, ACCEPTED | {"expires": "soon"}, "expected a date as expires"),
        (Accepted.of, ACCEPTED | {"expires": None}, "expected a date as expires"),
        (Accepted.of, ACCEPTED | {"mesure": "x"}, "unknown key 'mesure'; did you mean 'measure'"),
    ],
)
def test_what_is_no_rule_and_what_accepts_nothing_is_refused(read, given, message):
    with pytest.raises(ValueError, match=message):
        read(given)


CONFIG = """
model = "bank_of_guard:predict"
table = "table.csv"
sensitive-features = ["sex"]
methods = ["rates"]
fail_on = ["selection_rate_difference > 0.1"]
json = "audit.json"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current directory with people, a configuration and modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    people(1_000).to_csv("table.csv", index=False)
    rule = "rows['age'] > 45 + 25 * (rows['sex'] == 'man')"
    (tmp_path / "bank_of_guard.py").write_text(f"def predict(rows):\n    return {rule}\n\npredict.itself = predict\n")
    (tmp_path / "broken_of_guard.py").write_text("import nothing_of_the_kind\n")
    (tmp_path / "audit.toml").write_text(CONFIG)
    return tmp_path


def test_a_configuration_has_the_options_and_the_command_line_comes_first(folder, capsys):
    def run(*options):
        return main(["audit", "--config", "audit.toml", *options])

    assert run() == 3
    assert "fails: selection_rate_difference > 0.1: The selection rate of man is" in capsys.readouterr().out
    assert json.loads((folder / "audit.json").read_text())["provenance"]["budget"] == 200_000
    assert run("--fail-on", "selection_rate_difference > 0.6") == 0
    assert run("--fail-on", "impact_ratio > 0.6") == 2
    accept = '[[accept]]\nmeasure = "selection_rate_difference"\nsensitive_features = "sex"\nreason = "agreed"\n'
    (folder / "audit.toml").write_text(CONFIG + accept + "expires = 2999-01-31\n")
    assert run() == 0
    assert "accepted until 2999-01-31: agreed" in capsys.readouterr().out
    assert run("--baseline", "audit.json", "--fail-on", "loss_ratio > 9") == 0


@pytest.mark.parametrize(
    ("text", "message"), [("modle = 'x'", "unknown key 'modle'"), ("model =", "expected a TOML file")]
)
def test_a_wrong_configuration_is_a_wrong_call(folder, capsys, text, message):
    (folder / "audit.toml").write_text(text)
    assert main(["audit", "--config", "audit.toml"]) == 2
    assert message in capsys.readouterr().err


def test_the_recipes_of_the_guide_are_yaml_and_their_commands_run(folder):
    guide = (project().docs / "your_model.md").read_text(encoding="utf-8")
    config, *recipes = (
        block
        for language in ("toml", "yaml")
        for block in re.findall(rf"^```{language}\n(.*?)^```", guide, flags=re.MULTILINE | re.DOTALL)
    )
    table = pd.read_csv("table.csv").head(300)
    table["race"] = np.where(table["age"] % 2, "x", "y")
    table.assign(repaid=np.where(table["age"] > 50, "yes", "no")).to_csv("table.csv", index=False)
    model = "def predict(rows):\n    return ['yes' if age > 40 else 'no' for age in rows['age']]\n"
    (folder / "mymodule.py").write_text(model)
    (folder / "audit.toml").write_text(config)
    assert all(map(yaml.safe_load, recipes))
    commands = re.findall(r"fairlab (audit [^\n]*)", "".join(recipes))
    assert [main([*shlex.split(command), "--budget", "1000"]) for command in commands] == [0, 0, 0]
    assert ElementTree.parse("audit.xml").getroot().tag == "testsuites"
    assert json.loads((folder / "audit.sarif").read_text())["version"] == "2.1.0"


# loading


def test_a_function_is_imported_from_the_current_directory(folder):
    assert load_model("bank_of_guard:predict.itself")(people(9)).shape == (9,)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("predict", "model: expected module:name, a Keras file"),
        ("no_such_module:predict", "model: no module 'no_such_module' in"),
        ("bank_of_guard:missing", "model: module 'bank_of_guard' has no 'missing'"),
        ("broken_of_guard:predict", "model: module 'broken_of_guard' needs 'nothing_of_the_kind'"),
        ("gone.keras", "model: there is no file gone.keras"),
        ("gone.pkl", "model: there is no file gone.pkl"),
    ],
)
def test_what_cannot_be_found_is_named(folder, name, error):
    with pytest.raises(ValueError, match=error):
        load_model(name)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PICKLE"])
def test_a_pickle_is_opened_only_when_trusted(folder, suffix):
    joblib.dump({"a": 1}, folder / f"model{suffix}")
    with pytest.raises(ValueError, match=r"runs whatever code is in it, with all your rights; .*--trust-pickle"):
        load_model(f"model{suffix}")
    assert load_model(f"model{suffix}", trust_pickle=True) == {"a": 1}


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_code_in_a_keras_file_is_never_run_unless_an_old_keras_is_trusted_with_it(folder, suffix, monkeypatch):
    keras = pytest.importorskip("keras")
    code = keras.layers.Lambda(lambda x: (__import__("pathlib").Path("ran").touch(), x)[1], output_shape=(2,))
    keras.Sequential([keras.Input((2,)), code, keras.layers.Dense(1)]).save(folder / f"network{suffix}")
    (folder / "ran").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"deserialization of a `Lambda` layer .* arbitrary code execution"):
        load_model(f"network{suffix}")
    opened = []
    monkeypatch.setattr(keras, "__version__", "3.11.3")
    monkeypatch.setattr(keras.models, "load_model", lambda path, **options: opened.append(path.name))
    with pytest.raises(ValueError, match=r"expected Keras 3.12 or later, found 3.11.3, .* upgrade it, or if you made"):
        load_model(f"network{suffix}")
    load_model(f"network{suffix}", trust_pickle=True)
    assert (opened, (folder / "ran").exists()) == ([f"network{suffix}"], False)


@pytest.mark.parametrize(("name", "text"), [("t.csv", "a,b\n1,x\n2,y\n"), ("t.tsv", "a\tb\n1\tx\n2\ty\n")])
def test_tables_are_read_as_they_are(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_table(tmp_path / name).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@pytest.fixture
def people_csv(tmp_path):
    file = tmp_path / "people.csv"
    (tmp_path / "empty.csv").touch()
    file.write_text("zip,age,income\n90210,31,0\n02139,08,10.5\n,44,3\n")
    return file


@pytest.mark.parametrize("chunk", [1, 200_000])
def test_numbers_that_begin_with_a_zero_are_text(people_csv, monkeypatch, chunk):
    monkeypatch.setattr(loading, "ROWS_AT_A_TIME", chunk)
    with pytest.warns(UserWarning) as said:
        table = read_table(people_csv).astype({"zip": object})
    assert [str(w.message).split(" is read")[0] for w in said] == ["zip", "age"]
    assert "02139 begins with a zero" in str(said[0].message)
    assert table["zip"].fillna("missing").tolist() == ["90210", "02139", "missing"]
    assert table["income"].tolist() == [0, 10.5, 3]


def test_types_may_be_given(people_csv, recwarn):
    table = read_table(people_csv, {"zip": "str", "age": "int64", "income": "str"})
    expected = {"zip": ["90210", "02139"], "age": [31, 8], "income": ["0", "10.5"]}
    assert (table[:2].to_dict("list"), recwarn.list) == (expected, [])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda file: read_table(file, {"wage": "str"}), "dtype: .*no column wage"),
        (lambda file: read_table(file, {"zip": "int64"}), "dtype: .*zip cannot be read as 'int64'"),
        (lambda file: read_table(file, {"age": "many"}), "dtype: .*age cannot be read as 'many'"),
        (lambda file: read_table(file.with_name("gone.csv")), "table: there is no file"),
        (lambda file: read_table(file.with_name("empty.csv")), "could not be read as a table"),
        (lambda file: command_model("python 'score.py"), "is no command line"),
        (lambda file: command_model(" "), "expected a command line"),
    ],
)
def test_what_cannot_be_read_is_refused(people_csv, call, message):
    with pytest.raises(ValueError, match=message):
        call(people_csv)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("1", [0, 1], 1),
        ("1", ["0", "1"], "1"),
        ("True", [True, False], True),
        ("yes", None, "yes"),
        ("1", None, 1),
        ("0.5", None, 0.5),
        ("true", None, True),
    ],
)
def test_a_label_is_found_by_what_it_looks_like(text, values, expected):
    found = label(text, None if values is None else pd.Series(values))
    assert (found, isinstance(found, str)) == (expected, isinstance(expected, str))
