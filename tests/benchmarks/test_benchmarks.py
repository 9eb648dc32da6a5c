"""How benchmarks are found, run and reported; those that take seconds are run."""

import json

import numpy as np
import pandas as pd
import pytest

from fairlab import benchmarks, plotting
from fairlab.benchmarks import __main__, auditing, figures


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
    return tmp_path / "benchmarks.json"


@pytest.fixture
def registry(monkeypatch):
    """Two benchmarks of which the first is broken."""

    def broken(*, quick):
        raise RuntimeError("broken")

    def works(*, quick):
        yield benchmarks.missing("not_there", "s", "no such library")
        yield benchmarks.speed_up("a_vs_b", baseline=6, ours=2)

    known = {"broken": broken, "works": works}
    monkeypatch.setattr(benchmarks, "discover", lambda: known)
    return known


def test_a_failure_does_not_end_the_others_and_the_report_has_all(results, registry, capsys):
    assert __main__.main(["--quick"]) == 1
    report = json.loads(results.read_text())
    assert report["failed"] == {"broken": "RuntimeError: broken"}
    assert [(row["name"], row["value"]) for row in report["benchmarks"]] == [("not_there", None), ("a_vs_b", 3)]
    assert (report["benchmarks"][1]["baseline"], report["benchmarks"][1]["ours"]) == (6, 2)
    assert report["quick"] is True
    assert report["machine"]["versions"]["numpy"] == np.__version__
    printed = capsys.readouterr().out
    assert "failed: RuntimeError: broken" in printed
    assert "a_vs_b" in printed


def test_names_are_chosen_and_listed(results, registry, capsys):
    assert __main__.main(["three"]) == 2
    assert "unknown benchmarks: three; there are broken, works" in capsys.readouterr().err
    assert not results.exists()
    assert __main__.main(["works"]) == 0
    assert __main__.main(["--list"]) == 0
    assert "\nworks" in capsys.readouterr().out


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


# Keras warns when a frozen critic is trained, which would make the baseline too fast.
@pytest.mark.filterwarnings("error:The model does not have any trainable weights")
@pytest.mark.filterwarnings("ignore::fairlab.data.errors.SurrogateWarning")
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("fairtest_adult", {"fairtest_adult_seconds", "fairtest_adult_vs_divexplorer"}),
        ("gan_small", {"gan_small_100_vs_per_step", "gan_small_100_share_of_gemm"}),
        ("gan_big", {"gan_big_10_vs_per_step", "gan_big_10_per_map_vs_1"}),
        ("themis", {"themis_search_2_characteristics_seconds", "themis_search_3_characteristics_seconds"}),
        ("trial_cache", {"trial_cache_write_small_mb_per_second", "trial_cache_read_large_vs_pickle"}),
    ],
)
def test_rows_of_small_sizes(name, keys):
    rows = {row.name: row for row in benchmarks.discover()[name](quick=True)}
    assert keys <= set(rows)
    for row in rows.values():
        assert row.value is None or row.value > 0
        assert row.baseline is None or row.value == pytest.approx(row.baseline / row.ours)


def test_an_audit_of_small_sizes(monkeypatch):
    small = {"adult": 300, "generated": (300, 6)}
    monkeypatch.setattr(auditing, "in_fresh_process", lambda work, kind, *_: (work(kind, small[kind], 3_000), 5e8))
    rows = {row.name: row.value for row in auditing.audit(quick=False)}
    assert {"audit_million_seconds", "audit_five_million_peak_gb", "audit_200_columns_seconds"} <= set(rows)
    assert 300 <= rows["audit_queries"] <= 3_000
    assert rows["audit_peak_gb"] == 0.5
    assert rows["import_seconds"] < 1


def test_a_line_is_drawn_as_a_figure_that_may_be_saved(tmp_path):
    figure = figures.line(pd.DataFrame({"x": [0, 1, 2], "y": [3.0, 5.0, 4.0]}))
    assert figure.axes[0].lines[0].get_ydata().tolist() == [3, 5, 4]
    plotting.save(figure, tmp_path / "line")
