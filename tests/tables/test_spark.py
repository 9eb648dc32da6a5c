"""A Spark cluster of three processes that loses one of its two workers while FairTest counts."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlab.cases.tables import EngineTable
from fairlab.fairtest import DataSource, Investigation, investigate

pytestmark = pytest.mark.slow


def people(n=20_000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(n), "sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n)})
    return frame.assign(offer=rng.random(n) < 0.3 + 0.2 * ((frame["sex"] == "m") & (frame["age"] > 40)))


def listens(port):
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A session of a master with two workers on this machine, and the processes of the workers."""
    pyspark = pytest.importorskip("pyspark", reason="the extra spark-test is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    home = Path(pyspark.__file__).parent
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path / "cluster.log").open("w")

    def start(name, *options):
        return subprocess.Popen(
            [
                home / "bin" / "spark-class",
                f"org.apache.spark.deploy.{name}",
                *options,
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
            ],
            stdout=log,
            stderr=log,
            cwd=tmp_path,
            start_new_session=True,
        )

    started = [start("master.Master", "--port", str(port))]
    try:
        for _ in range(120):
            if listens(port):
                break
            time.sleep(0.5)
        master = f"spark://127.0.0.1:{port}"
        started += [start("worker.Worker", "-c", "1", "-m", "700m", "-d", str(tmp_path), master) for _ in range(2)]
        options = {
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
        }
        builder = pyspark.sql.SparkSession.builder.master(master)
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session, started[1:]
        session.stop()
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        log.close()


def test_a_lost_worker_changes_nothing(cluster, tmp_path, monkeypatch):
    session, workers = cluster
    for number, part in enumerate(np.array_split(np.arange(20_000), 4)):
        people().iloc[part].to_parquet(tmp_path / f"part{number}.parquet")
    tabulate, calls = EngineTable.tabulate, []

    def and_kill(self, keys_list):
        calls.append(keys_list)
        if len(calls) == 3:
            threading.Timer(0.3, os.killpg, (workers[0].pid, signal.SIGKILL)).start()
        return tabulate(self, keys_list)

    monkeypatch.setattr(EngineTable, "tabulate", and_kill)
    looked_at = Investigation("sex", "offer", max_depth=2)
    options = {"split": "hash", "key": "id"}
    found = investigate(DataSource(session.read.parquet(str(tmp_path / "part*.parquet")), **options), looked_at)
    assert workers[0].poll() is not None and len(calls) > 4
    expected = investigate(DataSource(people(), **options), looked_at)
    pd.testing.assert_frame_equal(*(each.frame.drop(columns=["node", "counts"]) for each in (found, expected)))
