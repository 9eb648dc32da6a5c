import io

import pytest

from fairlab.suite import progress
from fairlab.suite.progress import Progress, duration, ended, status


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("seconds", "text"), [(21.4, "0:21"), (60, "1:00"), (3725, "1:02:05")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_line_per_experiment():
    line = ended("themis/pruning", "59 of 62 numbers agree", 21, 20)
    assert line.split("  ")[0] == "themis/pruning"
    assert line.endswith("0:21")
    assert "59 of 62 numbers agree" in line


def test_status_line_has_running_and_remaining():
    line = status({"adf/cost": 40.0}, 3, 1, 32, 9.4)
    assert line == "3 of 32 done, 1 failed · running adf/cost 0:40 · about 9 min left"
    assert status({}, 3, 0, 4, 0.3).endswith("less than a minute left")


def test_terminal_redraws_the_status_line(monkeypatch):
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.01)
    stream = Terminal()
    with Progress(lambda: "live", stream) as shown:
        while "live" not in stream.getvalue():
            pass
        shown.log("ended")
    text = stream.getvalue()
    assert text.endswith("\r\x1b[K")
    assert "\r\x1b[Kended\n" in text
    assert text.count("\n") == 1


def test_elsewhere_it_is_a_line_of_its_own_now_and_then(monkeypatch):
    monkeypatch.setattr(progress, "REPEAT_SECONDS", 0.01)
    stream = io.StringIO()
    with Progress(lambda: "live", stream) as shown:
        while "live" not in stream.getvalue():
            pass
        shown.log("ended")
    lines = stream.getvalue().splitlines()
    assert set(lines) == {"live", "ended"}
