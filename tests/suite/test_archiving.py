import hashlib
import json
import platform

import yaml
from toy_project import fill

from fairlab.cli import main
from fairlab.paths import project
from fairlab.suite.archiving import METADATA
from fairlab.suite.drawing import read_index
from fairlab.suite.experiment import Experiment
from fairlab.suite.published import paper_keys
from fairlab.suite.scorecard import scorecard


def test_a_crate_lists_its_files_with_hashes_and_is_a_results_folder(toy, tmp_path, monkeypatch):
    experiment, crate = Experiment("toy/mean"), tmp_path / "crate"
    fill(experiment)
    experiment.record("table-1", "rows", 4425)
    experiment.compare()
    rows = scorecard().to_json()
    assert main(["scorecard", "--crate", str(crate)]) == 0
    text = (crate / METADATA).read_text()
    entities = {entity["@id"]: entity for entity in json.loads(text)["@graph"]}
    listed = {part["@id"] for part in entities["./"]["hasPart"]}
    assert listed | {METADATA} == {file.relative_to(crate).as_posix() for file in crate.rglob("*") if file.is_file()}
    [run] = (entity for entity in entities.values() if entity["@type"] == "CreateAction")
    for result in (entities[one["@id"]] for one in run["result"]):
        assert result["sha256"] == hashlib.sha256((crate / result["@id"]).read_bytes()).hexdigest()
    assert {entities[one["@id"]]["name"] for one in run["object"]} >= {"berkeley", "seed"}
    assert entities[run["instrument"]["@id"]]["name"] == "notebooks/toy/mean.ipynb"
    assert run["startTime"] <= run["endTime"]
    assert platform.node() not in text
    assert main(["scorecard", "--crate", str(crate)]) == 1, "a folder with files is left alone"
    monkeypatch.setenv("FAIRLAB_RESULTS", str(crate))
    assert scorecard().to_json() == rows


def test_the_list_for_a_codecheck_has_the_numbers_and_the_picture_of_every_figure():
    manifest = yaml.safe_load((project().root / "codecheck.yml").read_text(encoding="utf-8"))["manifest"]
    expected = {"REPRODUCTION.json": "every published number, our result, the verdict: make reproduce"}
    for paper in paper_keys():
        for stem, entry in read_index(project().figures / paper).items():
            by = f"of {paper}'s {stem}: fairlab run {entry['experiment']} --profile {entry['profile']}"
            stem = f"figures/{paper}/{stem}"
            expected |= {f"{stem}.csv": f"numbers {by}", f"{stem}.png": f"picture {by}"}
    assert {entry["file"]: entry["comment"] for entry in manifest} == expected
    assert all((project().root / file).exists() for file in expected)
