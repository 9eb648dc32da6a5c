"""A server as it is started: takes rows, looks in a process of its own, and stops when it is told to."""

import json
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
from monitoring.streams import REGISTRATION, decisions

LONGEST = 300  # seconds: a busy machine is no fault of the monitor


def fairlab(folder, *arguments):
    return [sys.executable, "-m", "fairlab", "monitor", *arguments, "--database", f"sqlite:///{folder}/m.db"]


@pytest.fixture
def server(tmp_path):
    """A server's process and a client with an administrator's token."""
    created = subprocess.run(
        fairlab(tmp_path, "token", "create", "--role", "admin"), capture_output=True, text=True, check=True
    )
    process = subprocess.Popen(fairlab(tmp_path, "serve", "--port", "0"), stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        event = json.loads(line)["event"]
        if event.startswith("Uvicorn running on "):
            break
    client = httpx.Client(base_url=event.split()[3], headers={"Authorization": f"Bearer {created.stdout.strip()}"})
    client.timeout = LONGEST
    yield process, client
    process.kill()
    process.wait()


def test_a_look_is_taken_when_it_is_due_and_the_server_stops_gracefully(server, tmp_path):
    process, client = server
    number = client.post("/investigations", json=REGISTRATION).json()["id"]
    sent = client.post(f"/investigations/{number}/decisions", json=decisions(2000))
    assert sent.json()["new"] == 2000
    until, looks = time.monotonic() + LONGEST, []
    while (not looks or looks[0]["state"] == "running") and time.monotonic() < until:
        time.sleep(0.5)
        looks = client.get(f"/investigations/{number}/looks").json()["looks"]
    assert [one["state"] for one in looks] == ["done"]
    second = subprocess.run(fairlab(tmp_path, "serve", "--port", "0"), capture_output=True, text=True, check=False)
    assert second.returncode == 1 and "another server uses" in second.stderr
    process.send_signal(signal.SIGTERM)
    lines = [json.loads(line) for line in process.stderr]
    assert process.wait(LONGEST) == 0
    assert [line["state"] for line in lines if line["event"] == "look"] == ["done"]
    assert not [line for line in lines if line["level"] == "ERROR"]
    if os.name == "posix":
        assert not (tmp_path / "m.db-wal").exists() or not (tmp_path / "m.db-wal").stat().st_size
