import os
import signal
import subprocess
import sys
import textwrap
import time

import cloudpickle
import pytest

from fairlab.seeds import Trial
from fairlab.suite.trials import run_trials, trial_key


def run(*args, **options):
    """Return the results alone."""
    return run_trials(*args, **options)[0]


# Worker processes cannot import a test module; notebooks' functions travel by value too.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

TRIALS = [Trial("toy/mean", index) for index in range(5)]


def draw(trial, scale=1.0):
    return scale * trial.rng("draw").normal()


def draw_all(trials, scale=1.0):
    return [draw(trial, scale) for trial in trials]


def test_results_stand_in_the_order_of_the_trials(tmp_path):
    expected = [draw(trial) for trial in TRIALS]
    assert run(draw, TRIALS, {}, cache=tmp_path / "a", progress=False) == expected
    assert run(draw, TRIALS, {}, cache=tmp_path / "b", n_jobs=2, progress=False) == expected
    assert run(draw_all, TRIALS, {}, cache=tmp_path / "c", batch=2, progress=False) == expected
    assert run(draw_all, TRIALS, {}, cache=tmp_path / "d", n_jobs=2, batch=10, progress=False) == expected


def test_a_trial_that_was_done_is_never_done_again(tmp_path):
    seen = []

    def count(trial):
        seen.append(trial.index)
        return trial.index

    run(count, TRIALS[:3], {}, cache=tmp_path, progress=False)
    run(count, TRIALS, {}, cache=tmp_path, progress=False)
    assert seen == [0, 1, 2, 3, 4]


def test_seconds_of_cached_trials_are_remembered(tmp_path):
    def slow(trial):
        time.sleep(0.05)

    assert run_trials(slow, TRIALS[:2], {}, cache=tmp_path, progress=False)[1] == 0
    assert run_trials(slow, TRIALS, {}, cache=tmp_path, progress=False)[1] == pytest.approx(0.1, abs=0.05)


def test_a_damaged_result_is_computed_again(tmp_path):
    expected = run(draw, TRIALS, {}, cache=tmp_path, progress=False)
    (tmp_path / "2.pickle").write_bytes(b"\x80\x05 cut off")
    assert run(draw, TRIALS, {}, cache=tmp_path, progress=False) == expected


def test_a_failing_trial_keeps_the_others(tmp_path):
    def fail_at_three(trial):
        if trial.index == 3:
            raise ZeroDivisionError("trial 3")
        return trial.index

    with pytest.raises(ZeroDivisionError, match="trial 3"):
        run(fail_at_three, TRIALS, {}, cache=tmp_path, progress=False)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.pickle", "1.pickle", "2.pickle"]


def test_a_batched_function_must_answer_for_every_trial(tmp_path):
    with pytest.raises(ValueError, match="returned 1 results for 5 trials"):
        run(lambda trials: [1], TRIALS, {}, cache=tmp_path, batch=5, progress=False)


def test_key_depends_on_everything_but_the_number_of_trials():
    base = trial_key(draw, "toy/mean", 0, {"scale": 1.0})
    assert base == trial_key(draw, "toy/mean", 0, {"scale": 1.0})
    others = [
        trial_key(draw, "toy/mean", 1, {"scale": 1.0}),
        trial_key(draw, "toy/other", 0, {"scale": 1.0}),
        trial_key(draw, "toy/mean", 0, {"scale": 2.0}),
        trial_key(draw_all, "toy/mean", 0, {"scale": 1.0}),
    ]
    assert len({base, *others}) == 5


def test_workers_use_one_thread_each(tmp_path):
    def threads(trial):
        return os.environ["OMP_NUM_THREADS"], os.environ["TF_NUM_INTRAOP_THREADS"]

    assert run(threads, TRIALS[:2], {}, cache=tmp_path, n_jobs=2, progress=False) == [("1", "1")] * 2


def test_killed_at_any_moment_a_run_loses_only_the_trials_in_flight(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from pathlib import Path
            from fairlab.seeds import Trial
            from fairlab.suite.trials import run_trials
            def slow(trial):
                time.sleep(0.15)
                return trial.rng("draw").normal()
            trials = [Trial("toy/mean", index) for index in range(12)]
            print(run_trials(slow, trials, {}, cache=Path(sys.argv[1]), progress=False)[0])
            """
        )
    )

    def start(cache):
        return subprocess.Popen([sys.executable, script, cache], stdout=subprocess.PIPE, text=True)

    whole, _ = start(tmp_path / "whole").communicate()
    cache = tmp_path / "pieces"
    for pieces in (2, 5):
        process = start(cache)
        deadline = time.monotonic() + 60
        while len(list(cache.glob("[0-9]*.pickle"))) < pieces and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = {file: file.stat().st_mtime_ns for file in cache.glob("[0-9]*.pickle")}
        assert pieces <= len(kept) < 12
    pieced, _ = start(cache).communicate()
    assert pieced == whole
    assert all(file.stat().st_mtime_ns == time_written for file, time_written in kept.items())
