import time

import pytest

from fairlab.suite import heartbeat
from fairlab.suite.heartbeat import HeartbeatMonitor, file_of, send_heartbeats


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [1000.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
    return now


def test_a_job_beats_until_its_end(tmp_path, monkeypatch):
    file = file_of(tmp_path / "mean.shard-0-of-3.done")
    assert file.name == "mean.shard-0-of-3.heartbeat"
    monkeypatch.setenv(heartbeat.FILE_VARIABLE, str(file))
    monkeypatch.setattr(heartbeat, "INTERVAL_SECONDS", 0.01)
    texts, deadline = set(), time.monotonic() + 10
    with pytest.raises(KeyboardInterrupt), send_heartbeats():
        while len(texts) < 4 and time.monotonic() < deadline:
            texts.add(file.read_text() if file.exists() else "")
        raise KeyboardInterrupt
    assert len(texts) == 4
    assert not file.exists()


def test_no_other_process_beats(tmp_path, monkeypatch):
    monkeypatch.delenv(heartbeat.FILE_VARIABLE, raising=False)
    with send_heartbeats():
        assert list(tmp_path.iterdir()) == []


def test_liveness_ignores_the_clock_of_the_job(tmp_path, clock):
    monitor, file = HeartbeatMonitor(), tmp_path / "a.heartbeat"
    for number in range(10):
        file.write_text(f"1/0 {number}")
        assert not monitor.is_silent("1/0", file)
        clock[0] += heartbeat.SILENT_SECONDS - 1
    assert not monitor.is_silent("1/0", file)
    clock[0] += 2
    assert monitor.is_silent("1/0", file)
    assert heartbeat.INTERVAL_SECONDS + heartbeat.SILENT_SECONDS + 10 < 60  # and a look: within a minute


def test_one_beat_is_enough_to_be_missed(tmp_path, clock):
    monitor, file = HeartbeatMonitor(), tmp_path / "a.heartbeat"
    file.write_text("1/0 0")
    assert not monitor.is_silent("1/0", file)
    clock[0] += heartbeat.SILENT_SECONDS + 1
    assert monitor.is_silent("1/0", file)


@pytest.mark.parametrize("left", ["", "1/0 8", "2/1 8"])  # nothing, another job's, that of the same job begun anew
def test_a_job_that_begins_has_time_whatever_an_earlier_one_left(tmp_path, clock, left):
    monitor, file = HeartbeatMonitor(), tmp_path / "a.heartbeat"
    if left:
        file.write_text(left)
    assert not monitor.is_silent("2/0", file)
    clock[0] += heartbeat.FIRST_SECONDS - 1
    assert not monitor.is_silent("2/0", file)
    clock[0] += 2
    assert monitor.is_silent("2/0", file)


def test_a_job_that_ends_has_time(tmp_path, clock):
    monitor, file = HeartbeatMonitor(), tmp_path / "a.heartbeat"
    file.write_text("2/0 8")
    assert not monitor.is_silent("2/0", file)
    file.unlink()
    clock[0] += heartbeat.SILENT_SECONDS + 1
    assert not monitor.is_silent("2/0", file)


def test_held_job_restarts_its_clock(tmp_path, clock):
    monitor, file = HeartbeatMonitor(), tmp_path / "a.heartbeat"
    file.write_text("2/0 8")
    assert not monitor.is_silent("2/0", file)
    monitor.forget("2/0")
    clock[0] += heartbeat.SILENT_SECONDS + 1
    assert not monitor.is_silent("2/0", file)


def test_a_job_knows_its_name_in_slurms_words(monkeypatch):
    for name in ("ARRAY_JOB_ID", "ARRAY_TASK_ID", "RESTART_COUNT"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    assert heartbeat.own_job() == "9/0"
    for name, value in (("ARRAY_JOB_ID", "7"), ("ARRAY_TASK_ID", "2"), ("RESTART_COUNT", "1")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert heartbeat.own_job() == "7_2/1"
