import subprocess
import sys

import psutil
import pytest

from fairlab.suite import workflow

PARENT = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
PARENT += "print('begun', flush=True); time.sleep(60)"


def test_markers_are_beside_the_results(toy, results):
    assert workflow.marker("toy/mean", "smoke") == results / ".batch" / "smoke" / "toy" / "mean.done"
    assert workflow.marker("toy/mean", "smoke", ".jobs").name == "mean.jobs"
    assert workflow.batch_log("smoke") == results / "smoke" / "batch.log"


def test_minutes_that_are_not_planned_are_many(toy):
    assert workflow.planned_minutes("toy/mean", "smoke") == 60
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(file.read_text() + "minutes: {smoke: 0.5, quick: 1, paper: 2}\n")
    assert workflow.planned_minutes("toy/mean", "smoke") == 0.5


def test_only_producers_of_the_batch_are_waited_for(toy):
    folder = toy / "experiments" / "toy"
    (folder / "second.yaml").write_text((folder / "mean.yaml").read_text() + "after: [toy/mean]\n")
    assert workflow.producers("toy/second", ["toy/second", "toy/mean"]) == ["toy/mean"]
    assert workflow.producers("toy/second", ["toy/second"]) == []


def test_a_tree_of_processes_is_ended():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    parent.stdout.readline()
    child, *_ = psutil.Process(parent.pid).children()
    workflow.kill_trees([parent.pid, 2**22 + 1])  # of which the second is nobody's
    parent.wait()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_snakemake_failure_names_its_log(toy, results, monkeypatch):
    monkeypatch.setattr(workflow, "SNAKEMAKE", "raise SystemExit('no'){also}")
    workflow.batch_log("smoke").parent.mkdir(parents=True)
    with pytest.raises(RuntimeError, match=r"Snakemake ended with status 1; see its messages in .*batch\.log"):
        workflow.snakemake(["toy/mean"], "smoke", "local", [])
