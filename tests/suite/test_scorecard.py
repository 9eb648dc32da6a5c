import json

import pytest
from toy_project import fill

from fairlab.cli import main
from fairlab.paths import write_text
from fairlab.suite import run as runs
from fairlab.suite.comparison import Comparison
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run, failure_file, run_folder
from fairlab.suite.scorecard import (
    head,
    published_runs,
    scorecard,
    table,
    to_markdown,
    unreadable,
    write,
)


def rows():
    return {row.id: row for row in scorecard().rows}


def publish(profile="quick", source="real", mean=0.55, holds=True):
    experiment = Experiment("toy/mean", profile=profile)
    fill(experiment)
    experiment.run.records[0]["values"] = [mean]
    experiment.run.claims[0]["holds"] = holds
    experiment.run.data[0]["source"] = source
    experiment.record("table-1", "rows", 4425)
    experiment.compare()


def test_nothing_was_run(toy):
    assert {row.verdict for row in rows().values()} == {"not run"}
    assert rows()["mean"].reason == "not run here yet: fairlab run toy/mean"
    write_text(failure_file("toy/mean", "quick"), "cell 3 failed: ZeroDivisionError: division by zero\n")
    assert rows()["mean"].reason == "failed at quick: cell 3 failed: ZeroDivisionError: division by zero"


def test_verdicts(toy):
    publish()
    found = {id: row.verdict for id, row in rows().items()}
    assert found == {"mean": "agrees", "rows": "exact", "lost": "not run", "positive": "holds"}


def test_same_conclusion_and_difference(toy):
    published = toy / "experiments" / "toy" / "published.yaml"
    publish(mean=3.0)
    assert rows()["mean"].verdict == "same conclusion"
    text = published.read_text()
    for change in ("rows: [mean]", "rows: [lost]"), ("kind: statistic", "kind: statistic, inferred: by its fit"):
        published.write_text(text.replace(*change))
        assert rows()["mean"].verdict == "differs", "the claim is judged on other numbers, or the protocol by its fit"
    published.write_text(text)
    publish(mean=3.0, holds=False)
    assert (rows()["mean"].verdict, rows()["positive"].verdict) == ("differs", "fails")


def rewrite(file, content):
    """Write a file of a published run, and its sums anew."""
    file.write_text(content)
    runs.publish(file.parent)


def test_a_claim_that_was_not_judged_speaks_for_no_number(toy):
    publish(mean=3.0)
    file = run_folder("toy/mean", "quick") / "run.json"
    content = json.loads(file.read_text())
    content["data"].append(content["data"][0] | {"variant": "other", "source": "surrogate"})
    rewrite(file, json.dumps(content))
    records = file.with_name("records.json")
    rewrite(records, json.dumps([record | {"data": ["berkeley"]} for record in json.loads(records.read_text())]))
    claims = file.with_name("claims.json")
    rewrite(claims, json.dumps([claim | {"data": None} for claim in json.loads(claims.read_text())]))
    assert (rows()["mean"].verdict, rows()["positive"].verdict) == ("differs", "surrogate")


def test_a_smaller_profile_is_not_comparable(toy):
    publish("smoke")
    assert (rows()["mean"].verdict, rows()["mean"].profile) == ("not comparable", "smoke")
    assert rows()["mean"].reason == "not the size of the published protocol: n 10 instead of 50"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content | {"data": {"berkeley": {"source": "real"}}},  # as an older version had it
        lambda content: {key: value for key, value in content.items() if key != "seed"},
        lambda content: [content],
        lambda content: "{",
    ],
)
def test_a_run_of_an_older_version_is_named_with_what_to_do(toy, capsys, damage):
    publish("paper")
    file = run_folder("toy/mean", "paper") / "run.json"
    rewrite(file, json.dumps(damage(json.loads(file.read_text()))).replace('"{"', "{"))
    assert main(["scorecard", "toy"]) == 1
    captured = capsys.readouterr()
    sentence = f"{file.parent} has no run that this version can read"
    assert sentence in captured.err
    assert f"run it again: fairlab run toy/mean --profile paper, or delete {file.parents[1]}" in captured.err
    assert sentence in captured.out, "the reason of what was not run"
    publish("quick")
    assert rows()["mean"].profile == "quick"
    assert len(unreadable()) == 1
    assert unreadable("quick") == []


def test_surrogates_never_count(toy):
    publish(source="surrogate")
    assert {rows()[id].verdict for id in ("mean", "rows", "positive")} == {"surrogate"}
    assert rows()["mean"].reason.startswith("surrogate data: fairlab data fetch berkeley gets the real data")


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


def test_write_and_publish(toy, results):
    publish()
    own = [results / "REPRODUCTION.json", results / "REPRODUCTION.md"]
    assert write(scorecard()) == own
    committed = [toy / "REPRODUCTION.json", toy / "REPRODUCTION.md"]
    assert write(scorecard(), publish=True) == [*own, *committed]
    assert head(scorecard()) in committed[1].read_text()
    assert committed[1].read_text() == to_markdown(scorecard(), published_runs())
    assert head(Comparison.read(committed[0])) == head(scorecard())


def test_page_has_differences_reasons_and_runs(toy):
    publish(mean=3.0, holds=False)
    deviations = toy / "experiments" / "toy" / "deviations.md"
    deviations.write_text("# Toy\n\n## table-1: means\n\nThe mean is\nanother one.\n\n`mean`, `positive`\n")
    file = run_folder("toy/mean", "quick") / "run.json"
    rewrite(file, json.dumps(json.loads(file.read_text()) | {"seed": 5, "commit": "abc", "seconds": 90}))
    text = to_markdown(scorecard(), published_runs())
    link = "experiments/toy/deviations.md#table-1-means"
    assert f"| toy table-1 | 1 of 3 | 1 | `mean` +500% | The mean is another one. [more]({link}) |" in text
    assert "| toy | 1 | quick | 2 | real | 5 | abc |" in text


def test_the_table_counts_every_row_once(toy):
    publish()
    counted = table(scorecard())
    assert list(counted.index) == ["toy", "all"]
    assert counted.loc["toy"].drop("median difference").sum() == len(scorecard().rows)
    assert counted.loc["all", "median difference"] == "5.0%"  # 10% and 0


def test_the_ending_has_the_table_and_what_is_not_explained(toy, capsys):
    publish(mean=3.0, holds=False)
    capsys.readouterr()
    assert main(["scorecard"]) == 0
    text = capsys.readouterr().out
    assert text.split()[:4] == ["exact", "differs", "fails", "not"]
    assert "2 rows differ or fail without an entry" in text


def test_rows_of_a_paper_or_an_artefact(toy, capsys):
    publish()
    capsys.readouterr()
    assert main(["scorecard", "toy"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "toy table-1:mean  agrees: 0.50 ± 0.10, our result 0.55 (+10%)"


def test_exact_numbers_say_what_they_rest_on(toy):
    spec = toy / "experiments" / "toy" / "mean.yaml"
    publish()
    assert scorecard().bases() == {"real": 1}
    for kind, words in ("outputs", "1 score outputs that the authors stored"), ("models", "1 score models that"):
        spec.write_text(spec.read_text() + f"\nstored: {{{kind}: ['table-1:rows']}}\n")
        assert rows()["rows"].evidence == f"stored {kind}"
        assert words in scorecard().headline()
        assert "\n| toy | · | · | · |" in head(scorecard())
        spec.write_text(spec.read_text().rpartition("\nstored")[0])
