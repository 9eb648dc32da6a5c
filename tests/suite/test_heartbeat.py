import time

import pytest

from fairlab.suite import heartbeat
from fairlab.suite.heartbeat import Pulse, beating, file_of


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [1000.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
    return now


def test_a_job_beats_until_its_end(tmp_path, monkeypatch):
    file = file_of(tmp_path / "mean.share-0-of-3.done")
    assert file.name == "mean.share-0-of-3.beat"
    monkeypatch.setenv(heartbeat.FILE_VARIABLE, str(file))
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    texts, deadline = set(), time.monotonic() + 10
    with pytest.raises(KeyboardInterrupt), beating():
        while len(texts) < 4 and time.monotonic() < deadline:
            texts.add(file.read_text() if file.exists() else "")
        raise KeyboardInterrupt
    assert len(texts) == 4
    assert not file.exists()


def test_no_other_process_beats(tmp_path, monkeypatch):
    monkeypatch.delenv(heartbeat.FILE_VARIABLE, raising=False)
    with beating():
        assert list(tmp_path.iterdir()) == []


def test_whoever_beats_is_alive_whatever_the_other_clock_says(tmp_path, clock):
    pulse, file = Pulse(), tmp_path / "a.beat"
    for number in range(10):
        file.write_text(f"{number}")
        assert not pulse.is_silent("1", file)
        clock[0] += heartbeat.SILENT_SECONDS - 1
    assert not pulse.is_silent("1", file)
    clock[0] += 2
    assert pulse.is_silent("1", file)
    assert heartbeat.BEAT_SECONDS + heartbeat.SILENT_SECONDS + 10 < 60  # and a look: within a minute


def test_a_job_that_begins_or_ends_has_time_whatever_an_earlier_one_left(tmp_path, clock):
    pulse, left, none, ended = Pulse(), tmp_path / "left.beat", tmp_path / "none.beat", tmp_path / "ended.beat"
    left.write_text("of an earlier job")
    ended.write_text("1")
    files = (left, none, ended)
    assert [pulse.is_silent(file, file) for file in files] == [False] * 3
    ended.unlink()
    clock[0] += 10
    assert not pulse.is_silent(ended, ended)
    clock[0] += heartbeat.FIRST_SECONDS - 11
    assert [pulse.is_silent(file, file) for file in files] == [False] * 3
    clock[0] += 12
    assert [pulse.is_silent(file, file) for file in files] == [True] * 3


def test_a_job_that_was_held_begins_anew(tmp_path, clock):
    pulse, file = Pulse(), tmp_path / "a.beat"
    for text in "12":
        file.write_text(text)
        assert not pulse.is_silent("1", file)
    pulse.forget("1")
    clock[0] += heartbeat.SILENT_SECONDS + 1
    assert not pulse.is_silent("1", file)
