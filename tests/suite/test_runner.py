import subprocess
import sys
import threading
from multiprocessing.connection import Listener

import pytest

from fairlab.suite import pool, runner
from fairlab.suite.run import failure_file


@pytest.mark.parametrize(("answer", "good"), [(True, True), (False, False), (None, False)])
def test_a_job_asks_the_batch_and_fails_with_it(monkeypatch, answer, good):
    asked = []

    def batch(listener):
        with listener.accept() as connection:
            asked.append(connection.recv())
            if answer is not None:  # else it was stopped
                connection.send(answer)

    with Listener(authkey=b"key") as listener:
        monkeypatch.setenv(pool.ADDRESS_VARIABLE, str(listener.address))
        monkeypatch.setenv(pool.KEY_VARIABLE, b"key".hex())
        thread = threading.Thread(target=batch, args=(listener,))
        thread.start()
        assert runner.main(["toy/mean", "--profile", "smoke"]) == (0 if good else 1)
        thread.join()
    assert asked == [("experiment", "toy/mean")]


def test_without_a_batch_a_job_runs_by_itself(monkeypatch):
    monkeypatch.delenv(pool.ADDRESS_VARIABLE, raising=False)
    ran = []
    monkeypatch.setattr(runner.os, "execv", lambda *command: ran.append(command))
    runner.main(["toy/mean", "--jobs", "2"])
    assert ran == [(sys.executable, [sys.executable, "-m", "fairlab", "run", "toy/mean", "--jobs", "2"])]


def test_a_job_that_waits_is_small():
    code = "import sys, fairlab.suite.runner; print([m for m in ('numpy', 'pandas', 'pydantic') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_on_a_cluster_what_failed_by_itself_is_not_tried_again(toy, monkeypatch, capsys):
    monkeypatch.delenv(pool.ADDRESS_VARIABLE, raising=False)
    monkeypatch.setenv("FAIRLAB_CLUSTER_JOB", "1")
    monkeypatch.setattr(runner.os, "execv", lambda *command: 1 / 0)
    failure_file("toy/mean", "smoke").parent.mkdir(parents=True)
    failure_file("toy/mean", "smoke").write_text("cell 3 failed")
    assert runner.main(["toy/mean", "--profile", "smoke"]) == 1
    assert "not retried: cell 3 failed" in capsys.readouterr().err
    failure_file("toy/mean", "smoke").unlink()
    with pytest.raises(ZeroDivisionError):
        runner.main(["toy/mean", "--profile", "smoke"])
