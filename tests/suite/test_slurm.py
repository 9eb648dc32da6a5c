import subprocess
from types import SimpleNamespace

import pytest

pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra `cluster` is not installed")

from fairlab.suite import slurm
from fairlab.suite.cluster import Attempt


@pytest.fixture
def says(monkeypatch):
    """Let SLURM's commands say what a test wants: a text, or None for a failure."""
    texts, asked = {"squeue": "", "sacct": None, "sinfo": "", "scancel": ""}, []

    def run(command, **options):
        asked.append(command)
        text = texts[command[0]]
        if text is None:
            raise subprocess.CalledProcessError(1, command)
        return SimpleNamespace(stdout=text)

    monkeypatch.setattr(slurm.subprocess, "run", run)
    texts["asked"] = asked
    return texts


@pytest.fixture
def watch(says, tmp_path):
    one = slurm.Watch("name")
    return lambda *ids: one.look({id: [tmp_path / f"{id}.done"] for id in ids or ("1",)})


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED"])
def test_how_a_job_ended_is_known_without_accounting(says, watch, state):
    says["squeue"] = "1|RUNNING|n1|0|\n"
    assert watch() == {}
    says["squeue"] = f"1|{state}|n1|0|\n"
    assert watch() == {"1": Attempt("1", state, "n1")}


def test_forgotten_job_is_judged_by_its_files(says, watch, tmp_path):
    (tmp_path / "2.done").touch()
    says["squeue"] = "1|RUNNING|n1|0|\n2|RUNNING|n2|0|\n"
    watch("1", "2")
    says["squeue"] = ""
    for _ in range(slurm.PATIENCE - 1):
        assert watch("1", "2") == {}
    assert watch("1", "2") == {"1": Attempt("1", "VANISHED", "n1"), "2": Attempt("2", "COMPLETED", "n2")}


def test_accounting_is_queried_for_forgotten_jobs(says, watch):
    says["sacct"] = "1|CANCELLED by 1000|n2|0\n"
    assert watch() == {"1": Attempt("1", "CANCELLED", "n2")}


def test_a_controller_that_is_restarted_is_waited_for(says, watch):
    says["squeue"] = None
    for _ in range(10):
        assert watch() == {}


def test_requeued_job_is_reported_and_continues(says, watch):
    for text, told in (
        ("1|RUNNING|n1|0|\n", {}),
        ("1|PENDING||1|\n", {"1": Attempt("1", "REQUEUED", "n1")}),
        ("1|RUNNING|n2|1|\n", {}),
        ("1|RUNNING|n3|2|\n", {"1": Attempt("1", "REQUEUED", "n2")}),
    ):
        says["squeue"] = text
        assert watch() == told


def test_a_node_that_is_silent_is_not_waited_for(says, watch):
    says["squeue"], says["sinfo"] = "1|RUNNING|n1|0|\n2|RUNNING|n2|0|\n", "n1 allocated*\nn2 mixed\n"
    for _ in range(slurm.PATIENCE - 1):
        assert watch("1", "2") == {}
    assert watch("1", "2") == {"1": Attempt("1", "NODE_FAIL", "n1")}
    assert ["scancel", "1"] in says["asked"]


def test_job_without_heartbeat_is_cancelled_and_reported(says, watch, tmp_path, monkeypatch):
    now, beat = [0.0], tmp_path / "1.heartbeat"
    monkeypatch.setattr(slurm.HeartbeatMonitor.is_silent.__globals__["time"], "monotonic", lambda: now[0])
    for second in range(100):  # SLURM says all the time that it runs
        says["squeue"] = "1|RUNNING|n1|0|\n9|RUNNING|n1|0|\n"
        if second < 50:
            beat.write_text(f"1/0 {second}")
        now[0] = second
        if second % slurm.LOOK_SECONDS == 0 and (told := watch()):
            break
    assert told == {"1": Attempt("1", "SILENT", "n1")}
    assert second < 50 + 60
    assert says["asked"][-1] == ["scancel", "1"]
    assert str(told["1"]) == "job 1 sent no heartbeat on n1"


def test_a_job_that_waits_again_is_not_silent(says, watch, tmp_path, monkeypatch):
    now, beat = [0.0], tmp_path / "1.heartbeat"
    monkeypatch.setattr(slurm.HeartbeatMonitor.is_silent.__globals__["time"], "monotonic", lambda: now[0])
    for state, text in (("RUNNING", "1"), ("RUNNING", "2"), ("SUSPENDED", "2"), ("RUNNING", "2"), ("RUNNING", "3")):
        now[0] += 30
        beat.write_text(f"1/0 {text}")
        says["squeue"] = f"1|{state}|n1|0|\n"
        assert watch() == {}


def test_polling_interval_is_seconds(monkeypatch):
    executor = object.__new__(slurm.Executor)
    executor.next_seconds_between_status_checks = 180
    assert executor.next_seconds_between_status_checks * slurm.PATIENCE < 60


def test_shares_of_an_experiment_go_as_an_array_and_the_rest_alone():
    def job(rule, name, k=0):
        return SimpleNamespace(rule=SimpleNamespace(name=rule), wildcards=SimpleNamespace(name=name, k=k))

    executor, sent = object.__new__(slurm.Executor), []
    executor._main_event_loop = None
    executor._submit_array_jobs = lambda jobs: sent.append([job.wildcards.k for job in jobs])
    executor._submit_job = lambda job: sent.append(job.wildcards.name)
    jobs = [job("shard", "a", 0), job("experiment", "b"), job("shard", "c"), job("shard", "a", 1)]
    executor.run_jobs(jobs)
    assert sent == ["b", [0, 1], "c"]


def test_snakemake_takes_this_executor(monkeypatch):
    monkeypatch.setattr(slurm.plugin, "Executor", None)
    slurm.install()
    assert slurm.plugin.Executor is slurm.Executor


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("slurmstepd-n1: error: Exceeded job memory limit", "OUT_OF_MEMORY"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.", "OUT_OF_MEMORY"),
        ("MemoryError: not enough for the step", "FAILED"),
    ],
)
def test_out_of_memory_is_read_from_the_log(line, state, tmp_path):
    log = tmp_path / "7.log"
    assert slurm.attempt_from_log(log, Attempt("7", "FAILED", "n1")).state == "FAILED"
    log.write_text(f"Storing output in storage.\n{line}\n")
    assert slurm.attempt_from_log(log, Attempt("7", "FAILED", "n1")) == Attempt("7", state, "n1")
    assert slurm.attempt_from_log(log, Attempt("7", "CANCELLED", "n1")).state == "CANCELLED"
    of_an_array = tmp_path / "toy_mean" / "7.log"
    assert slurm.attempt_from_log(of_an_array, Attempt("7", "FAILED", "n1")).state == state
