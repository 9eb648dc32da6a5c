import json
from pathlib import Path

import pytest
from toy_project import fill

from fairlab.cli import main
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run, run_folder
from fairlab.suite.scorecard import published_runs, scorecard, to_markdown, unexplained, write


def rows():
    return {row.id: row for row in scorecard().rows}


def publish(profile="quick", source="real", mean=0.55):
    experiment = Experiment("toy/mean", profile=profile)
    fill(experiment)
    experiment.run.records[0]["values"] = [mean]
    experiment.run.data[0]["source"] = source
    experiment.record("table-1", "rows", 4425)
    experiment.compare()


def test_nothing_was_run(toy):
    assert {row.verdict for row in rows().values()} == {"not run"}
    assert rows()["mean"].reason == "not run here yet: fairlab run toy/mean"


def test_verdicts(toy):
    publish()
    table = rows()
    assert (table["mean"].verdict, table["mean"].ours, table["mean"].data) == ("agrees", "0.55", "real")
    assert table["rows"].verdict == "exact"
    assert table["positive"].verdict == "holds"
    assert (table["lost"].verdict, table["lost"].reason) == ("not run", "toy/mean does not record it")


def test_same_conclusion_and_difference(toy):
    publish(mean=3.0)
    assert rows()["mean"].verdict == "same conclusion"
    folder = run_folder("toy/mean", "quick")
    claims = json.loads((folder / "claims.json").read_text())
    (folder / "claims.json").write_text(json.dumps([claims[0] | {"holds": False}]))
    assert (rows()["mean"].verdict, rows()["positive"].verdict) == ("differs", "fails")
    assert {row.id for row in unexplained(scorecard())} == {"mean", "positive"}
    deviations = toy / "experiments" / "toy" / "deviations.md"
    deviations.write_text("# Toy\n\n## table-1: means\n\n`mean` differs because ...\n")
    assert {row.id for row in unexplained(scorecard())} == {"positive"}


def test_a_smaller_profile_is_not_comparable(toy):
    publish("smoke")
    assert (rows()["mean"].verdict, rows()["mean"].profile) == ("not comparable", "smoke")
    assert rows()["mean"].reason == "not the size of the published protocol: n 10 instead of 50"
    assert rows()["positive"].verdict == "not comparable"


def test_surrogates_never_count(toy):
    publish(source="surrogate")
    assert {rows()[id].verdict for id in ("mean", "rows", "positive")} == {"surrogate"}
    assert rows()["mean"].data == "surrogate"


def test_the_best_run_is_shown(toy):
    publish("paper", source="surrogate")
    publish("quick")
    assert rows()["mean"].profile == "quick"
    publish("paper")
    assert rows()["mean"].profile == "paper"
    assert {row.profile for row in scorecard("quick").rows} == {"quick", None}


def test_custom_runs_never_enter(toy):
    experiment = Experiment("toy/mean", n=49)
    fill(experiment)
    experiment.compare()
    assert Run.read(run_folder("toy/mean", "custom")).profile == "custom"
    assert {row.verdict for row in rows().values()} == {"not run"}


def test_json_has_a_row_for_everything_published(toy, capsys):
    publish()
    assert main(["scorecard", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in content] == ["mean", "rows", "lost", "positive"]
    assert {"paper", "artefact", "id", "published", "ours", "verdict", "profile", "data"} <= set(content[0])


def test_markdown_and_readme(toy, results):
    publish()
    readme = toy / "README.md"
    readme.write_text("before\n<!-- scorecard -->\nstale\n<!-- end of scorecard -->\nafter\n")
    assert write(scorecard()) == [results / "REPRODUCTION.md"]
    assert "stale" in readme.read_text()
    assert write(scorecard(), publish=True) == [results / "REPRODUCTION.md", toy / "REPRODUCTION.md", readme]
    assert "stale" not in readme.read_text()
    assert readme.read_text().startswith("before\n")
    assert readme.read_text().endswith("after\n")
    text = Path(toy / "REPRODUCTION.md").read_text()
    assert text == to_markdown(scorecard(), published_runs())
    assert "`fairlab run toy/mean --profile quick`" in text
    assert "| mean | 0.50 ± 0.10 | 0.55 | **agrees** |" in text


def test_seed_commit_and_profile_stand_in_the_scorecard(toy):
    publish("smoke")
    publish("paper")
    file = run_folder("toy/mean", "paper") / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seed": 5, "commit": "abc"}))
    text = to_markdown(scorecard(), published_runs())
    assert "`fairlab run toy/mean --profile paper --seed 5`" in text
    assert "at commit abc" in text
    assert "--profile smoke`" in to_markdown(scorecard("smoke"), published_runs("smoke"))


def test_a_run_from_before_a_size_parameter_is_not_comparable(toy):
    publish("paper")
    file = toy / "experiments" / "toy" / "mean.yaml"
    text = file.read_text().replace("size: [n]", "size: [n, m]").replace("{n:", "{m: 1, n:")
    file.write_text(text)
    assert rows()["mean"].reason == "not the size of the published protocol: m None instead of 1"


def test_a_failure_is_the_reason_for_not_run(toy):
    from fairlab.paths import write_text
    from fairlab.suite.run import failure_file

    write_text(failure_file("toy/mean", "quick"), "cell 3 failed: ZeroDivisionError: division by zero\n")
    assert rows()["mean"].reason == "failed at quick: cell 3 failed: ZeroDivisionError: division by zero"


@pytest.mark.parametrize("arguments", [["scorecard"], ["list"], ["list", "--json"]])
def test_commands_print(toy, capsys, arguments):
    assert main(arguments) == 0
    assert "toy" in capsys.readouterr().out
