from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from fairlab import data
from fairlab.data import DataUnavailableError
from fairlab.suite import catalogue, cluster
from fairlab.suite.cluster import Attempt
from fairlab.suite.run import failure_file
from fairlab.suite.workflow import marker


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in (cluster.OPTIONS_VARIABLE, *(variable for _, variable in cluster.OWN.values())):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def batch(toy):
    marker("toy/mean", "smoke").parent.mkdir(parents=True)
    failure_file("toy/mean", "smoke").parent.mkdir(parents=True)
    return toy


def test_options_of_sbatch_become_resources():
    text = "-p long --account=fair --qos high -t 1-02:00:00 --mem=8G --constraint='a b' --exclude n1"
    assert cluster.resources(text) == {
        "slurm_partition": "long",
        "slurm_account": "fair",
        "qos": "high",
        "runtime": 26 * 60,
        "mem_mb": 8192,
        "slurm_extra": "'--constraint=a b' --exclude n1",
    }


def test_a_flag_comes_before_the_variable_and_that_before_slurms_own(monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "c")
    monkeypatch.setenv("SBATCH_ACCOUNT", "x")
    assert cluster.resources() == {"slurm_partition": "c", "slurm_account": "x"}
    monkeypatch.setenv(cluster.OPTIONS_VARIABLE, "-p b -t 10")
    assert cluster.resources("-t 5") == {"slurm_partition": "b", "slurm_account": "x", "runtime": 5}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--cpus-per-task=4", "--cpus-per-task is set by fairlab; see --cores"),
        ("--array=1-3", "see --shards"),
        ("-J name", "-J is set by fairlab$"),
        ("-t soon", "expected a time such as"),
        ("--mem=much", "expected a memory such as"),
        ("--partition", "expected one argument"),
    ],
)
def test_invalid_options_are_rejected_before_submission(options, said):
    with pytest.raises(ValueError, match=said):
        cluster.resources(options)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("90:30", 91), ("1:30:00", 90), ("2-12", 3600), ("1-00:30", 1470), ("1-00:30:30", 1471)],
)
def test_times_are_read_as_sbatch_reads_them(text, minutes):
    assert cluster.minutes(text) == minutes


@pytest.mark.parametrize(("text", "mb"), [("4000", 4000), ("500M", 500), ("8G", 8192), ("2t", 2097152), ("1K", 1)])
def test_memory_is_read_as_sbatch_reads_it(text, mb):
    assert cluster.megabytes(text) == mb


def test_an_experiment_is_spread_as_far_as_a_share_is_worth_a_job(toy):
    assert cluster.n_shards("toy/mean", "smoke", 16, 2) == 6  # of 60 minutes
    assert cluster.n_shards("toy/mean", "smoke", 4, 2) == 4
    assert cluster.n_shards("toy/mean", "smoke", 16, 60) == 1
    assert cluster.n_shards("toy/mean", "smoke", 1, 1) == 1


def test_what_ran_out_gets_twice_as_much(batch):
    assert cluster.need("toy/mean", "smoke", {}) == {"mem_mb": 6000, "runtime": 250}
    for state in ("OUT_OF_MEMORY", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"):
        cluster.note("toy/mean", "smoke", Attempt(f"1{state}", state, "n1"))
    assert cluster.need("toy/mean", "smoke", {"mem_mb": 1000, "runtime": 10}) == {"mem_mb": 4000, "runtime": 20}


def test_a_job_asks_for_the_memory_that_its_experiment_needs(batch):
    file = batch / "experiments" / "toy" / "mean.yaml"
    file.write_text(file.read_text() + "gigabytes: {smoke: 0.1, quick: 1, paper: 10}\n")
    assert cluster.need("toy/mean", "quick", {"cores": 2})["mem_mb"] == cluster.MEMORY_MB
    assert 24_000 < cluster.need("toy/mean", "paper", {"cores": 2})["mem_mb"] < 26_000
    given = ("toy/mean",), "paper", "slurm", 2
    assert cluster.refusals(*given, "") == {}
    said = "needs 20.8 GB of memory on 2 cores, 12.9 GB are available; it fits with --cores 1"
    assert cluster.refusals(*given, "--mem=12G") == {"toy/mean": said}


def test_lost_jobs_are_reported_once_with_the_action(batch):
    for _ in range(2):
        cluster.note("toy/mean", "smoke", Attempt("7_2", "NODE_FAIL", "n3"))
    assert cluster.lost(["toy/mean"], "smoke") == ["toy/mean: job 7_2 lost its node on n3; given up"]
    assert cluster.reason("toy/mean", "smoke") == "job 7_2 lost its node on n3"
    marker("toy/mean", "smoke").touch()
    assert cluster.lost(["toy/mean"], "smoke") == ["toy/mean: job 7_2 lost its node on n3; resubmitted"]


def test_each_lost_job_is_logged_once_during_the_batch(batch):
    watch, said = cluster._Watch(["toy/first", "toy/mean"], [], "smoke"), []
    watch.progress = SimpleNamespace(log=said.append)
    for name in ("toy/mean", "toy/first", "toy/mean"):
        cluster.note(name, "smoke", Attempt(f"{len(said)}", "TIMEOUT", "n1"))
        watch.look()
    jobs = ("toy/mean: job 0", "toy/first: job 1", "toy/mean: job 2")
    assert said == [f"{job} ran out of time on n1" for job in jobs]


def test_an_experiment_that_failed_by_itself_is_not_lost(batch):
    failure_file("toy/mean", "smoke").write_text("cell 3 failed\n")
    cluster.note("toy/mean", "smoke", Attempt("1", "FAILED", "n1"))
    assert cluster.attempts("toy/mean", "smoke") == []
    assert cluster.reason("toy/mean", "smoke") == "cell 3 failed"
    cluster.note("toy/mean", "smoke", Attempt("1", "OUT_OF_MEMORY", "n1"))  # it said that its kernel died
    assert not failure_file("toy/mean", "smoke").exists()
    assert cluster.reason("toy/mean", "smoke") == "job 1 ran out of memory on n1"


def test_failed_submission_names_the_log(batch):
    assert "could not be submitted; see" in cluster.reason("toy/mean", "smoke")


def test_data_are_fetched_before_anything_is_submitted(toy, capsys):
    assert cluster.fetched(["toy/mean"]) == ["berkeley"]
    assert "berkeley: real, 4,425 rows" in capsys.readouterr().out


def test_what_was_fetched_is_never_replaced_by_a_surrogate_whatever_its_provenance(toy, monkeypatch):
    words = ["real", "generated", "reconstructed", "cached", "surrogate", "missing", "error"]
    monkeypatch.setattr(data, "fetch", lambda names, **options: pd.DataFrame({"state": words}, index=words))
    assert cluster.fetched(["toy/mean"]) == ["real", "generated", "reconstructed", "cached"]


def test_files_are_fetched_and_listed_for_jobs(toy, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    file = catalogue.EXPERIMENTS / "toy" / "mean.yaml"
    file.write_text(file.read_text() + "files: [adf_networks]\n")
    assert cluster.fetched(["toy/mean"]) == ["berkeley"]
    assert "adf_networks: missing, 0 of 6 files" in capsys.readouterr().out
    index = "adf_networks/census.index"
    monkeypatch.setattr("fairlab.data.inventory.fetch_file", lambda file: Path(file.path))
    assert {"berkeley", index} < set(cluster.fetched(["toy/mean"]))

    def but_one(file):
        if file.path == index:
            raise DataUnavailableError("gone")
        return Path(file.path)

    monkeypatch.setattr("fairlab.data.inventory.fetch_file", but_one)
    found = cluster.fetched(["toy/mean"])
    assert index not in found
    assert "adf_networks/bank.index" in found


def test_missing_slurm_raises(toy, monkeypatch):
    monkeypatch.setattr(cluster, "required", lambda name: None)
    monkeypatch.setattr(cluster.shutil, "which", lambda name: None)
    given = {"real": [], "jobs": None, "cores": None, "options": "", "shards": 1}
    with pytest.raises(RuntimeError, match="sbatch not found"):
        cluster.run(["toy/mean"], ["toy/mean"], "smoke", "slurm", **given)
