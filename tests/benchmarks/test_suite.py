from fairlab.benchmarks import suite


def test_overhead_is_what_one_notebook_more_costs(monkeypatch):
    ran = []

    def run(names, folder, *options):
        for name in names:
            marker = suite.Path(folder, ".batch", "smoke", f"{name}.done")
            marker.parent.mkdir(parents=True, exist_ok=True)
            assert not marker.exists()
            marker.touch()
        ran.append((len(names), options))
        return 100.0 if not options else 5.0 + 1.5 * len(names)

    monkeypatch.setattr(suite, "run_seconds", run)
    whole, overhead = suite.batch(quick=True)
    assert (whole.name, whole.value) == ("reproduce_smoke_seconds", 100.0)
    assert (overhead.name, overhead.value) == ("notebook_overhead_seconds", 1.5)
    n = suite.FEW + 1
    assert ran == [(n, ()), (suite.FEW, ("--jobs", "1")), (n, ("--jobs", "1"))]


def test_the_light_experiments_exist():
    assert set(suite.LIGHT) <= set(suite.experiment_names())
    assert len(suite.LIGHT) > 2


def test_kept_trials_are_written_and_read_by_both(monkeypatch):
    monkeypatch.setattr(suite, "KEPT", {"small": (20, 16)})
    rows = suite.trial_cache(quick=True)
    names = [
        f"trial_cache_{verb}_small_{kind}" for verb in ("write", "read") for kind in ("mb_per_second", "vs_pickle")
    ]
    assert [row.name for row in rows] == names
    assert all(row.value > 0 for row in rows)
