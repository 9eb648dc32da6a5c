import pandas as pd
import pytest

from fairlab import data
from fairlab.suite import cluster


def test_an_experiment_is_spread_as_far_as_a_shard_is_worth_a_job(toy):
    assert cluster.n_shards("toy/mean", "smoke", 16) == 12  # of 60 minutes
    assert cluster.n_shards("toy/mean", "smoke", 4) == 4
    assert cluster.n_shards("toy/mean", "smoke", 1) == 1


def test_a_job_asks_for_what_its_experiment_needs_and_twice_as_much_when_it_is_tried_again(toy):
    assert cluster.resources("toy/mean", "smoke", 2, 1) == {"mem_mb": 2000, "runtime": 250}
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(
        file.read_text() + "gigabytes: {smoke: 0.1, quick: 1, paper: 10}\nminutes: {smoke: 1, quick: 2, paper: 3}\n"
    )
    assert cluster.resources("toy/mean", "paper", 2, 1) == {"mem_mb": 25_750, "runtime": 22}
    assert cluster.resources("toy/mean", "paper", 2, 3) == {"mem_mb": 103_000, "runtime": 88}


@pytest.fixture
def snakemake(monkeypatch):
    """Record what Snakemake would be called with, and let it succeed with the given experiments."""
    calls = []

    class Called:
        def __init__(self, command, env):
            calls.append((command, env))

        def wait(self):
            for name in calls[-1][0][-1].partition("names=")[2].split(","):
                if name != "toy/lost":
                    cluster.marker(name, "smoke").parent.mkdir(parents=True, exist_ok=True)
                    cluster.marker(name, "smoke").touch()

    monkeypatch.setattr(cluster, "required", lambda name: None)
    monkeypatch.setattr(cluster.subprocess, "Popen", Called)
    return calls


def test_data_are_fetched_before_anything_is_submitted_and_stay_what_they_are(toy, snakemake, monkeypatch, capsys):
    words = ["real", "generated", "reconstructed", "cached", "surrogate", "missing", "error"]
    asked = []
    monkeypatch.setattr(data, "fetch", lambda names, **_: asked.append(names) or pd.DataFrame({"state": words}, words))
    given = ["--default-resources", "slurm_partition=long"]
    assert cluster.run_on_cluster(["toy/mean"], "smoke", "slurm", shards=3, arguments=given) == {}
    (command, environment), *_ = snakemake
    assert asked == [["berkeley"]]
    assert environment["FAIRLAB_REAL_DATA"] == "real,generated,reconstructed,cached"
    assert str(cluster.marker("toy/mean", "smoke")) in command
    assert command[-6:] == [*given, "--config", "profile=smoke", "shards=3", "names=toy/mean"]


def test_a_job_that_was_lost_is_reported_and_what_is_done_is_not_submitted(toy, snakemake, monkeypatch):
    file = toy / "experiments" / "toy" / "mean.yaml"
    (toy / "experiments" / "toy" / "lost.yaml").write_text(file.read_text())
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    notebook.with_name("lost.ipynb").write_text(notebook.read_text())
    names = ["toy/mean", "toy/lost"]
    assert cluster.run_on_cluster(names, "smoke", "slurm") == {"toy/lost": "its job was lost or not run; see above"}
    monkeypatch.setattr(cluster, "outdated", lambda names, profile: {})
    assert cluster.run_on_cluster(names, "smoke", "slurm") == {}
    assert len(snakemake) == 1


def test_an_unknown_scheduler_is_refused_with_those_there_are(toy):
    with pytest.raises(KeyError, match="unknown scheduler 'slurmm'; did you mean 'slurm'"):
        cluster.run_on_cluster(["toy/mean"], "smoke", "slurmm")


def test_experiments_whose_trials_others_reuse_run_first(toy):
    file = toy / "experiments" / "toy" / "mean.yaml"
    (toy / "experiments" / "toy" / "later.yaml").write_text(file.read_text() + "after: [toy/mean]\n")
    assert cluster.producers("toy/later", ["toy/mean", "toy/later"]) == ["toy/mean"]
    assert cluster.producers("toy/later", ["toy/later"]) == []
