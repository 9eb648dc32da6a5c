import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.connection import Client

import psutil
import pytest

from fairlab.suite import pool as pools
from fairlab.suite.pool import Pool, WorkerDiedError, compute


def double(shared, task):
    return pickle.loads(shared) * pickle.loads(task)


def fail(shared, task):
    raise ValueError(f"no {pickle.loads(task)}")


class OddError(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail_oddly(shared, task):
    raise OddError("one", "two")


def die_at_first(shared, task):
    told = pickle.loads(shared)
    if not told.exists():
        told.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die(shared, task):
    os.kill(os.getpid(), signal.SIGKILL)


def who(shared, task):
    return os.getpid()


def beside(shared, task):
    import neighbour_of_a_notebook

    print("printed by a trial", flush=True)
    return neighbour_of_a_notebook.NAME


def wait_long(shared, task):
    pickle.loads(shared).write_text(str(os.getpid()))
    time.sleep(60)


@pytest.fixture
def pool(tmp_path, monkeypatch, light_forks):
    with Pool(2, tmp_path / "pool.log") as pool:
        for name, value in pool.environment.items():
            monkeypatch.setenv(name, value)
        yield pool


def run(function, tasks=(1, 2, 3), shared=None):
    return list(compute(function, pickle.dumps(shared), [pickle.dumps(task) for task in tasks]))


def test_every_task_is_answered_by_warm_workers(pool):
    assert sorted(run(double, shared=10)) == [10, 20, 30]
    assert sorted(run(double, range(20), shared=2)) == [2 * k for k in range(20)]
    first = set(run(who, range(8)))
    assert len(first) <= 2
    assert set(run(who, range(8))) | first <= {worker._process.pid for worker in pool._crew if worker._process}
    assert os.getpid() not in first


def test_what_a_task_raises_is_raised_with_its_traceback(pool):
    with pytest.raises(ValueError, match="no 7") as caught:
        run(fail, [7])
    assert "in fail" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="OddError: one"):
        run(fail_oddly, [7])
    assert run(double, [1], shared=3) == [3]


def test_the_task_of_a_worker_that_dies_is_tried_once_more(pool, tmp_path):
    assert run(die_at_first, [1], shared=tmp_path / "told")
    with pytest.raises(WorkerDiedError, match="a worker died twice during a trial"):
        run(die, [1])
    assert run(double, [1], shared=3) == [3]


def test_a_worker_that_holds_too_much_is_replaced(pool, monkeypatch):
    monkeypatch.setattr(pools, "MOST_GB", 0.0)
    assert len(set(run(who, range(4)))) == 4


def test_modules_beside_a_notebook_are_those_of_its_own_folder(pool, tmp_path, monkeypatch):
    logs = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "neighbour_of_a_notebook.py").write_text(f"NAME = {name!r}")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        logs.append(tmp_path / f"{name}.log")
        monkeypatch.setenv(pools.LOG_VARIABLE, str(logs[-1]))
        assert set(run(beside, range(4))) == {name}
    assert all("printed by a trial" in log.read_text() for log in logs)
    assert set(pool.seconds) == {str(log) for log in logs}


def test_abandoned_tasks_are_cancelled(pool, tmp_path):
    told = tmp_path / "told"
    told.touch()
    context = multiprocessing.get_context("fork")
    kernel = context.Process(target=run, args=(wait_long, range(4), told))
    kernel.start()
    deadline = time.monotonic() + 20
    while not told.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    kernel.kill()
    assert run(double, [1], shared=3) == [3]  # long before the minute is over
    assert not psutil.pid_exists(int(told.read_text()))


def test_wrong_key_is_rejected(pool):
    with pytest.raises((multiprocessing.AuthenticationError, EOFError, OSError)):
        Client(pool.environment[pools.ADDRESS_VARIABLE], authkey=b"guess")
    assert run(double, [1], shared=3) == [3]


def nap(shared, task):
    time.sleep(pickle.loads(task))


def test_no_experiment_waits_for_all_of_another(pool, tmp_path):
    ends = {}

    def ask(log, n):
        content = {
            "log": str(tmp_path / log),
            "folder": str(tmp_path),
            "path": sys.path,
            "function": pickle.dumps(nap),
            "shared": b"",
        }
        with pools.call("compute", content, [pickle.dumps(0.1)] * n) as connection:
            for _ in range(n):
                connection.recv_bytes()
        ends[log] = time.monotonic()

    threads = [threading.Thread(target=ask, args=each) for each in (("long", 60), ("short", 4))]
    for thread in threads:
        thread.start()
        time.sleep(0.3)
    for thread in threads:
        thread.join()
    assert ends["short"] < ends["long"] - 1


def test_a_closed_pool_leaves_no_worker(tmp_path, monkeypatch, light_forks):
    with Pool(2, tmp_path / "pool.log") as pool:
        for name, value in pool.environment.items():
            monkeypatch.setenv(name, value)
        workers = set(run(who, range(8)))
    deadline = time.monotonic() + 5
    while any(map(psutil.pid_exists, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(psutil.pid_exists, workers))
