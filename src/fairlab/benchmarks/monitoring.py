"""The monitor: rows a second during a look, the time of a look, and memory."""

import json
import socket
import subprocess
import sys
import tempfile
import threading
import uuid

import numpy as np
import psutil

from fairlab.benchmarks import GB, Measurement, benchmark, missing, postgresql, timed

ROWS_AT_ONCE = 1_000
REGISTRATION = {
    "name": "benchmark",
    "columns": {
        "sex": {"type": "category", "categories": ["f", "m"]},
        "race": {"type": "category"},
        "region": {"type": "category"},
        "age": {"type": "number"},
        "offer": {"type": "boolean"},
    },
    "sensitive_features": ["sex"],
    "output": "offer",
    "look_every": {"rows": 10**9},
}


@benchmark
def monitor(*, quick: bool) -> list[Measurement]:
    """Return rows a second of a monitor on SQLite and PostgreSQL, the time of a look, and memory."""
    sizes = (20_000, 10_000) if quick else (1_000_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        found = _measured("monitor", f"sqlite:///{folder}/monitor.db", *sizes)
    if postgresql.MISSING:
        return [*found, missing("monitor_postgresql_rows_per_second", "rows/s", postgresql.MISSING)]
    server = postgresql.Server()
    try:
        return [*found, *_measured("monitor_postgresql", server.url(), *sizes)]
    finally:
        server.remove()


def _measured(name: str, database: str, n_rows: int, n_more: int) -> list[Measurement]:
    """Fill a monitor, look at all rows, and send more meanwhile."""
    from fairlab.monitoring import Client

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "fairlab", "monitor"]
    role = [*command, "token", "create", "--database", database, "--role", "admin"]
    token = subprocess.run(role, check=True, capture_output=True, text=True).stdout.strip()
    process = subprocess.Popen(
        [*command, "serve", "--database", database, "--port", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        memory = _Memory(process.pid)
        with Client(f"http://127.0.0.1:{port}", token) as client:
            number = client.register(REGISTRATION)
            rng = np.random.default_rng(0)
            bodies = [_body(rng) for _ in range((n_rows + n_more) // ROWS_AT_ONCE)]
            alone, _ = timed(lambda: [_send(client, number, body) for body in bodies[: n_rows // ROWS_AT_ONCE]])
            client.request("POST", f"/investigations/{number}/looks")
            rest = bodies[n_rows // ROWS_AT_ONCE :]
            during, _ = timed(lambda: [_send(client, number, body) for body in rest])
            is_under_way = client.looks(number)["state"].iloc[0] == "running"
            looking, _ = timed(lambda: client.wait(number))
        memory.stop()
    finally:
        process.terminate()
        process.wait()
    sent = f"JSON in batches of {ROWS_AT_ONCE:,}, one client"
    while_looking = f"{sent}, while a look at {n_rows:,} rows {'goes on' if is_under_way else 'was going on, in part'}"
    return [
        Measurement(f"{name}_rows_per_second", n_more / during, "rows/s", note=while_looking),
        Measurement(f"{name}_rows_per_second_alone", n_rows / alone, "rows/s", note=sent),
        Measurement(f"{name}_look_seconds", during + looking, "s", note=f"{n_rows:,} rows, others arrive meanwhile"),
        Measurement(f"{name}_server_peak_gb", memory.server / GB, "GB", note="resident, of the server"),
        Measurement(f"{name}_look_peak_gb", memory.look / GB, "GB", note="resident, of the process that looks"),
    ]


def _body(rng) -> bytes:
    n = ROWS_AT_ONCE
    columns = {
        "event_id": [uuid.UUID(bytes=each).hex for each in (rng.bytes(16) for _ in range(n))],
        "sex": rng.choice(["f", "m"], n).tolist(),
        "race": rng.choice([*"abcdef"], n).tolist(),
        "region": rng.choice([f"r{k}" for k in range(50)], n).tolist(),
        "age": rng.integers(18, 90, n).tolist(),
        "offer": (rng.random(n) < 0.5).tolist(),
    }
    return json.dumps([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]).encode()


def _send(client, number: int, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    client.request("POST", f"/investigations/{number}/decisions", headers=headers, content=body)


class _Memory:
    """The largest resident memory of a server and of its processes that look, in bytes."""

    def __init__(self, pid: int):
        self.server = self.look = 0
        self._process, self._stopping = psutil.Process(pid), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopping.wait(0.1):
            self.server = max(self.server, self._process.memory_info().rss)
            for child in self._process.children():
                try:
                    self.look = max(self.look, child.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue

    def stop(self) -> None:
        """Stop watching."""
        self._stopping.set()
        self._thread.join()
