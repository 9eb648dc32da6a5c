"""A server as it is started: takes rows, looks in a process of its own, and stops when it is told to."""

import json
import signal
import subprocess
import time
from contextlib import suppress

import pandas as pd
import psutil
from monitoring.streams import REGISTRATION, Server, command, decisions

from fairlab.monitoring import Client


def workers(server):
    """Return the processes of a server that look."""
    children = psutil.Process(server.process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def test_a_look_is_taken_when_it_is_due_and_the_server_stops_gracefully(tmp_path):
    database = ["--database", f"sqlite:///{tmp_path}/m.db"]
    created = subprocess.run(
        command("token", "create", "--role", "admin", *database), capture_output=True, text=True, check=True
    )
    with (tmp_path / "log").open("w") as log:
        server = Server(database[1], log)
    with Client(server.url, created.stdout.strip(), max_seconds=300) as client:
        for process in workers(server):  # as if there had been too little memory
            process.kill()
        number = client.register(REGISTRATION | {"look_every": {"rows": 2000}})
        assert client.send(number, pd.DataFrame(decisions(2000)))["new"] == 2000
        while client.looks(number).empty:
            time.sleep(0.05)
        client.wait(number)
        assert client.looks(number)["state"].tolist() == ["done"]
    second = subprocess.run(command("serve", "--port", "0", *database), capture_output=True, text=True, check=False)
    assert second.returncode == 1 and "another server uses" in second.stderr
    (worker,) = workers(server)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(300) == 0 and not worker.is_running()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["state"] for line in lines if line["event"] == "look"] == ["done"]
    assert not [line for line in lines if line["level"] == "ERROR"]
    assert not (tmp_path / "m.db-wal").exists() or not (tmp_path / "m.db-wal").stat().st_size


def test_a_server_that_is_killed_takes_its_worker_with_it(tmp_path):
    server = Server(f"sqlite:///{tmp_path}/m.db")
    (worker,) = workers(server)
    server.process.kill()
    server.process.wait()
    with suppress(psutil.NoSuchProcess):
        while worker.status() != psutil.STATUS_ZOMBIE:  # nobody may be there to wait for it
            time.sleep(0.05)
