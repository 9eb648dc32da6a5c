import json

import numpy as np
import pytest

from fairlab import benchmarks
from fairlab.benchmarks import Measurement, __main__


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
    return tmp_path / "benchmarks.json"


@pytest.fixture
def registry(monkeypatch):
    known = {
        "one": lambda *, quick: [
            Measurement("one_seconds", 2.0, "s"),
            benchmarks.speed_up("a_vs_b", baseline=6, ours=2),
        ]
    }
    monkeypatch.setattr(benchmarks, "discover", lambda: known)
    return known


def test_every_module_is_discovered():
    assert {"gan_small", "gan_big", "exact"} <= set(benchmarks.discover())


def test_report_has_both_sides_of_a_ratio_and_the_machine(results, registry):
    benchmarks.run(quick=True)
    report = json.loads(results.read_text())
    assert [row["name"] for row in report["benchmarks"]] == ["one_seconds", "a_vs_b"]
    assert report["benchmarks"][1] | {"note": ""} == {
        "name": "a_vs_b", "value": 3, "unit": "times as fast", "baseline": 6, "ours": 2, "note": ""
    }  # fmt: skip
    assert report["quick"] is True
    assert report["machine"]["cores"] >= 1
    assert report["machine"]["versions"]["numpy"] == np.__version__


def test_a_failure_does_not_end_the_others(results, registry, capsys):
    def broken(*, quick):
        raise RuntimeError("broken")

    registry |= {"one": broken, "two": registry["one"]}
    assert __main__.main([]) == 1
    report = json.loads(results.read_text())
    assert [row["name"] for row in report["benchmarks"]] == ["one_seconds", "a_vs_b"]
    assert report["failed"] == {"one": "RuntimeError: broken"}
    assert "failed: RuntimeError: broken" in capsys.readouterr().out


def test_rows_are_shown_as_they_come(results, registry):
    shown = []

    def generous(*, quick):
        yield Measurement("first", 1.0, "s")
        assert [row.name for row in shown] == ["first"]
        yield benchmarks.missing("second", "s", "no such library")

    registry["one"] = generous
    rows, failed = benchmarks.run(show=shown.append)
    assert rows == shown
    assert not failed
    assert json.loads(results.read_text())["benchmarks"][1]["value"] is None


def test_unknown_name_lists_what_exists(results, registry, capsys):
    assert __main__.main(["three"]) == 2
    assert "unknown benchmarks: three; there are one" in capsys.readouterr().err
    assert not results.exists()


def test_command_line_prints_a_table(results, registry, capsys):
    assert __main__.main(["one"]) == 0
    printed = capsys.readouterr().out
    assert "a_vs_b" in printed
    assert str(results) in printed
    assert __main__.main(["--list"]) == 0
    assert capsys.readouterr().out.startswith("one")


def test_measure_takes_the_median(monkeypatch):
    clock = iter([0, 1, 10, 15, 20, 22])
    monkeypatch.setattr(benchmarks.time, "perf_counter", lambda: next(clock))
    assert benchmarks.measure(lambda: None, repeats=3) == 2


def test_peak_memory_is_that_of_a_fresh_process():
    held = np.ones(300_000_000, dtype=np.uint8)
    _, small = benchmarks.in_fresh_process(eval, "len(b'0' * 1)")
    answer, large = benchmarks.in_fresh_process(eval, "len(b'0' * 200_000_000)")
    del held
    assert answer == 200_000_000
    assert 150_000_000 < large - small < 250_000_000
