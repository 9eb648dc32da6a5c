"""Streams of decisions with an effect in one town, and a monitor that takes them."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import uuid
from types import SimpleNamespace

import httpx
from fastapi.testclient import TestClient

from fairlab.monitoring import migrations
from fairlab.monitoring.scheduler import take_look
from fairlab.monitoring.service import MOST_BYTES, create_app
from fairlab.monitoring.store import Store

REGISTRATION = {
    "name": "offers",
    "columns": {
        "sex": {"type": "category", "categories": ["f", "m"]},
        "town": {"type": "category"},
        "age": {"type": "number"},
        "offer": {"type": "boolean"},
    },
    "sensitive_features": ["sex"],
    "output": "offer",
    "look_every": {"rows": 1000},
    "min_leaf_size": 50,
}


def decisions(n, seed=0, *, effect=0.4, town="a"):
    """Return rows; in one town women get the offer less often."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        row = {"event_id": str(uuid.UUID(int=draw.getrandbits(128))), "sex": draw.choice("fm")}
        row |= {"town": draw.choice("abc"), "age": draw.randrange(18, 80)}
        lower = effect * (row["sex"] == "f" and row["town"] == town)
        rows.append(row | {"offer": draw.random() < 0.6 - lower})
    return rows


def numbers(store):
    """Return the numbers of all investigations."""
    return [one.id for one in store.overview()]


def command(*arguments):
    """Return a command of the monitor."""
    return [sys.executable, "-m", "fairlab", "monitor", *arguments]


class Server:
    """A server in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, database, log=subprocess.DEVNULL):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url, self._log = f"http://127.0.0.1:{self.port}", log
        self._command = command("serve", "--database", database, "--port", str(self.port))
        self.start()

    def start(self):
        self.process = subprocess.Popen(self._command, stderr=self._log, start_new_session=True)
        for _ in range(1200):
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise TimeoutError("the server does not start")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Monitor:
    """A monitor without a network, with a client for each role."""

    def __init__(self, url, *, most_bytes=MOST_BYTES, internal=(), **settings):
        self.store = migrations.migrated(Store(url, **settings))
        self.app = create_app(self.store, most_bytes=most_bytes, internal=internal)
        self.tokens = {role: self.store.create_token(role) for role in ("admin", "writer", "reader")}
        self.as_ = SimpleNamespace(**{role: self.client(token) for role, token in self.tokens.items()})

    def client(self, token):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TestClient(self.app, headers=headers, raise_server_exceptions=False)

    def register(self, **changes):
        answer = self.as_.admin.post("/investigations", json=REGISTRATION | changes)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def send(self, number, rows, key=None, kind="decisions"):
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        return self.as_.writer.post(f"/investigations/{number}/{kind}", content=json.dumps(rows), headers=headers)

    def look(self, number):
        look = self.as_.admin.post(f"/investigations/{number}/looks").json()["number"]
        take_look(self.store, number, look)
        return self.as_.reader.get(f"/investigations/{number}/looks/{look}").json()
