import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from audited import finding, people, report

import fairlab
from fairlab import audit
from fairlab.auditing import report as module
from fairlab.cases import MethodResult
from fairlab.cli import main

SCHEMA = json.loads((Path(module.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))
STATUS = {"difference found": 3, "no difference found": 0, "not assessed": 4}


def generated_case(number):
    """Return the case of a model that is fair, prefers a group, or of which nothing can be tested."""
    rng = np.random.default_rng([number, 77])
    n = 200
    group = rng.choice(["a", "b"], n)
    if number % 5 == 0:
        group = np.where(np.arange(n) < 3, "rare", "others")
    table = pd.DataFrame({"group": group, "points": rng.integers(0, 50, n), "job": rng.choice(["x", "y"], n)})
    worth = 20 if number % 2 else 0
    features = ["points", "job"] if number % 5 == 0 else ["group", "points", "job"]

    def rule(rows):
        return rows["points"] + (worth * (rows["group"] == "a") if "group" in rows else 0) > 30

    return fairlab.Case(rule, table, sensitive_features="group", features=features)


def verdicts(found):
    """Return what each export of a report says, as verdicts."""
    content = json.loads(found.to_json())
    jsonschema.validate(content, SCHEMA)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    failed, errors = (len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error"))
    assert (int(suite.get("failures")), int(suite.get("errors"))) == (failed, errors)
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    [run] = json.loads(found.to_sarif())["runs"]
    card = found.to_model_card()
    text = found.to_html()
    return {
        "JSON": content["verdict"],
        "JUnit": "not assessed" if errors else "difference found" if failed else "no difference found",
        "SARIF": "not assessed"
        if not run["invocations"][0]["executionSuccessful"]
        else "difference found"
        if any(result["level"] == "error" for result in run["results"])
        else "no difference found",
        "model card": yaml.safe_load(card.split("---")[1])["fairness_verdict"],
        "HTML": "not assessed"
        if "<h1>" in text and ": not assessed</h1>" in text
        else "difference found"
        if 'class="verdict found"' in text
        else "no difference found",
    }


def test_python_and_every_export_say_the_same_of_a_hundred_cases():
    said = []
    for number in range(100):
        found = audit(generated_case(number), methods=["rates", "themis"], budget=1_500, progress=False)
        assert set(verdicts(found).values()) == {found.verdict}, number
        said.append(found.verdict)
    assert all(said.count(verdict) >= 20 for verdict in STATUS)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_shell_says_the_same(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    case = generated_case(number)
    case.table.to_csv("table.csv", index=False)
    worth, name = 20 if number % 2 else 0, f"rule_{number}"
    lines = ["def predict(rows):"]
    lines += [f"    return rows['points'] + ({worth} * (rows['group'] == 'a') if 'group' in rows else 0) > 30"]
    Path(f"{name}.py").write_text("\n".join(lines))
    call = ["audit", f"{name}:predict", "table.csv", "--sensitive-features", "group", "--methods", "rates,themis"]
    files = [("--json", "a.json"), ("--junit", "a.xml"), ("--sarif", "a.sarif"), ("--model-card", "a.md")]
    features = ["--features", ",".join(case.features), "--budget", "1500"]
    status = main([*call, *features, *(part for pair in files for part in pair)])
    found = audit(case, methods=["rates", "themis"], budget=1_500, progress=False)
    assert status == STATUS[found.verdict]
    assert json.loads(Path("a.json").read_text())["verdict"] == found.verdict
    assert all(Path(path).stat().st_size for _, path in files)
    assert found.summary.split(" on ")[-1][:20] in capsys.readouterr().out


def test_names_and_values_are_text_in_every_export():
    evil = "<script>alert('|')</script>\x00 & \"'"
    bad = finding(people(), sensitive_features=evil, where="everyone", effect=evil, method=evil, sentence=evil)
    found = report(MethodResult(evil, (bad,), (evil,), 0, 0), warnings=(evil,), model_name=evil)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    assert "alert('|')" in suite.find("testcase/failure").text
    assert json.loads(found.to_sarif())["runs"][0]["properties"]["model"] == evil
    card = found.to_model_card()
    assert "<script" not in card.split("---", 2)[2]
    assert yaml.safe_load(card.split("---")[1])["model_name"] == evil


def test_inputs_alone_are_a_note_and_no_failure():
    inputs = finding(people(), 1e-9, population="generated inputs", where="generated inputs")
    found = report(MethodResult("Themis", (inputs, finding(people(), 0.9)), (), 0, 0))
    [result] = json.loads(found.to_sarif())["runs"][0]["results"]
    assert result["level"] == "note"
    assert "<failure" not in found.to_junit()


def test_every_feature_without_a_test_is_an_error_of_junit():
    few = people().head(12).assign(sex=["f", "m"] * 6, race=["a", "b"] * 6, points=range(12))
    case = fairlab.Case(lambda rows: rows["points"] > 5, few, sensitive_features=["sex", "race"], features=["points"])
    found = audit(case, progress=False)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    assert (found.n_tests, suite.get("errors"), len(suite.findall("testcase/error"))) == (0, "2", 2)
