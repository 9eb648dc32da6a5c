import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import cloudpickle
import pytest

from fairlab.seeds import Trial
from fairlab.suite import cache as kept
from fairlab.suite import trials as trials_module
from fairlab.suite.processes import WORKER_ENVIRONMENT
from fairlab.suite.trials import WorkerDiedError, run_trials, trial_keys


def run(*args, **options):
    """Return the results alone."""
    return run_trials(*args, progress=False, **options)[0]


# Worker processes cannot import a test module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

TRIALS = [Trial("toy/mean", index) for index in range(5)]


def draw(trial, scale=1.0):
    return scale * trial.rng("draw").normal()


def draw_all(trials, scale=1.0):
    return [draw(trial, scale) for trial in trials]


def draw_and_tell(trial, told):
    with told.open("a") as file:
        file.write(f"{trial.index} ")
    if trial.index == 3 and told.name == "fails":
        raise ZeroDivisionError("trial 3")
    return trial.index


def take(trial, start, offset):
    return start + offset


def take_all(trials, start, offset):
    return [value + offset for value in start]


def slow(trial):
    time.sleep(0.05)


def settings(trial):
    return {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}


def one_for_all(trials):
    return [1]


def no_data(trial):
    return {"model": [1, Trial("a", 0)]}


def test_results_are_in_the_order_of_the_trials(tmp_path):
    expected = [draw(trial) for trial in TRIALS]
    assert run(draw, TRIALS, {}, cache=tmp_path / "a") == expected
    assert run(draw, TRIALS, {}, cache=tmp_path / "b", n_jobs=2) == expected
    assert run(draw_all, TRIALS, {}, cache=tmp_path / "c", batch=2) == expected
    assert run(draw_all, TRIALS, {}, cache=tmp_path / "d", n_jobs=2, batch=10) == expected


def test_a_trial_that_was_done_is_never_done_again(tmp_path):
    told = tmp_path / "told"
    run(draw_and_tell, TRIALS[:3], {"told": told}, cache=tmp_path / "cache")
    assert run(draw_and_tell, TRIALS, {"told": told}, cache=tmp_path / "cache") == [0, 1, 2, 3, 4]
    assert told.read_text().split() == ["0", "1", "2", "3", "4"]


def test_seconds_of_cached_trials_are_remembered(tmp_path):
    assert run_trials(slow, TRIALS[:2], {}, cache=tmp_path, progress=False)[1] == 0
    assert 0.1 <= run_trials(slow, TRIALS, {}, cache=tmp_path, progress=False)[1] < 1


def test_corrupted_results_are_computed_again_and_reported_once(tmp_path, capsys):
    expected = run(draw, TRIALS, {}, cache=tmp_path)
    cut, flipped, renamed, other, _ = sorted(tmp_path.glob("*.trial"))
    cut.write_bytes(cut.read_bytes()[:-1])
    content = bytearray(flipped.read_bytes())
    content[-3] ^= 1  # in the number's text
    flipped.write_bytes(content)
    renamed.write_bytes(other.read_bytes())
    capsys.readouterr()
    assert run(draw, TRIALS, {}, cache=tmp_path) == expected
    assert capsys.readouterr().err == "3 of 5 cached trials of draw are corrupted and computed again\n"
    assert run(draw, TRIALS, {}, cache=tmp_path) == expected
    assert capsys.readouterr().err == ""


class Bomb:
    def __reduce__(self):
        return os.abort, ()


def test_a_crafted_file_runs_no_code(tmp_path):
    expected = run(draw, TRIALS[:1], {}, cache=tmp_path)
    [file] = tmp_path.glob("*.trial")
    for content in (pickle.dumps(Bomb()), pickle.dumps((Bomb(), 1.0)), file.read_bytes()[:47] + pickle.dumps(Bomb())):
        file.write_bytes(content)
        assert run(draw, TRIALS[:1], {}, cache=tmp_path) == expected


def test_a_failing_trial_keeps_the_others(tmp_path):
    with pytest.raises(ZeroDivisionError, match="trial 3"):
        run(draw_and_tell, TRIALS, {"told": tmp_path / "fails"}, cache=tmp_path / "cache")
    results = [kept.read(file)[0] for file in (tmp_path / "cache").glob("[!.]*.trial")]  # none in flight
    assert {0, 1, 2} <= set(results) <= {0, 1, 2, 4}


def test_a_trial_may_get_a_value_of_its_own(tmp_path):
    starts = [10.0, 20.0, 30.0, 40.0, 50.0]
    expected = [11.0, 21.0, 31.0, 41.0, 51.0]
    assert run(take, TRIALS, {"offset": 1}, each={"start": starts}, cache=tmp_path) == expected
    assert run(take_all, TRIALS, {"offset": 1}, each={"start": starts}, batch=2, cache=tmp_path) == expected
    changed = [*starts[:4], 0.0]
    keys, others = (trial_keys(take, TRIALS, {"offset": 1}, {"start": values}) for values in (starts, changed))
    assert keys[:4] == others[:4]
    assert keys[4] != others[4]
    with pytest.raises(ValueError, match="start: expected one value for each of 5 trials, found 2"):
        run(take, TRIALS, {"offset": 1}, each={"start": [1, 2]}, cache=tmp_path)


def test_a_batched_function_must_answer_for_every_trial(tmp_path):
    with pytest.raises(ValueError, match="returned 1 results for 5 trials"):
        run(one_for_all, TRIALS, {}, cache=tmp_path, batch=5)


def test_a_key_depends_on_the_trial_and_on_all_that_it_is_given():
    [base] = trial_keys(draw, TRIALS[:1], {"scale": 1.0})
    assert [base] == trial_keys(draw, [Trial("toy/mean", 0)], {"scale": 1.0})
    others = [
        *trial_keys(draw, [Trial("toy/mean", 0, 1)], {"scale": 1.0}),
        *trial_keys(draw, [Trial("toy/other", 0)], {"scale": 1.0}),
        *trial_keys(draw, TRIALS[1:2], {"scale": 1.0}),
        *trial_keys(draw, TRIALS[:1], {"scale": 2.0}),
        *trial_keys(draw_all, TRIALS[:1], {"scale": 1.0}),
    ]
    assert len({base, *others}) == 6


def test_only_plain_data_is_kept(tmp_path):
    with pytest.raises(TypeError, match=r"no_data returned result\['model'\]\[1\], a Trial; a trial returns numbers"):
        run(no_data, TRIALS[:1], {}, cache=tmp_path)


def test_one_trial_runs_under_the_same_settings_as_one_of_many(tmp_path):
    # As in a notebook opened by hand, whose process was started with none of them.
    alone = run(settings, TRIALS[:1], {}, cache=tmp_path / "one")
    assert alone + alone == run(settings, TRIALS[:2], {}, cache=tmp_path / "two", n_jobs=2) == [WORKER_ENVIRONMENT] * 2


def deadly(trial, times, folder):
    deaths = sum((Path(folder) / str(k)).exists() for k in range(times))
    if trial.index == 2 and deaths < times:
        (Path(folder) / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return trial.index


def test_a_trial_whose_worker_is_killed_is_computed_once_more(tmp_path):
    asked = {"times": 1, "folder": str(tmp_path)}
    assert run(deadly, TRIALS, asked, cache=tmp_path / "one", n_jobs=2) == list(range(5))
    asked = {"times": 4, "folder": str(tmp_path)}
    with pytest.raises(WorkerDiedError, match="died twice during a trial"):
        run(deadly, TRIALS, asked, cache=tmp_path / "three", n_jobs=2)


def each_once(trial, folder):
    mark = Path(folder) / str(trial.index)
    if trial.index in (1, 3) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return trial.index


def test_workers_of_different_trials_may_be_killed_once_each(tmp_path):
    asked = {"folder": str(tmp_path)}
    assert run(each_once, TRIALS, asked, cache=tmp_path / "kept", n_jobs=1) == list(range(5))
    assert {"1", "3"} < {path.name for path in tmp_path.iterdir()}


def test_killed_at_any_moment_a_run_loses_only_the_trials_in_flight(tmp_path):
    (tmp_path / "slow_trials.py").write_text(
        textwrap.dedent(
            """
            import sys, time
            from pathlib import Path
            from fairlab.seeds import Trial
            from fairlab.suite.trials import run_trials
            def slow(trial):
                time.sleep(0.15)
                return trial.rng("draw").normal()
            def main():
                trials = [Trial("toy/mean", index) for index in range(12)]
                print(run_trials(slow, trials, {}, cache=Path(sys.argv[1]), progress=False)[0])
            """
        )
    )

    def start(cache):
        code = "import slow_trials; slow_trials.main()"
        environment = os.environ | WORKER_ENVIRONMENT
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-c", code, cache]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    whole, _ = start(tmp_path / "whole").communicate()
    cache = tmp_path / "pieces"
    for pieces in (2, 5):
        process = start(cache)
        deadline = time.monotonic() + 60
        while len(list(cache.glob("[0-9a-f]*.trial"))) < pieces and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        written = {file: file.stat().st_mtime_ns for file in cache.glob("[0-9a-f]*.trial")}
        assert pieces <= len(written) < 12
    pieced, _ = start(cache).communicate()
    assert pieced == whole
    assert all(file.stat().st_mtime_ns == time_written for file, time_written in written.items())


def draw_while_another_job_works(trial, told, other):
    """Compute trial 4, while another job writes the result of trial 2."""
    if trial.index == 4:
        kept.write(other, 2, {"seconds": 0})
    return draw_and_tell(trial, told)


def test_a_shard_computes_its_own_and_then_what_the_others_have_not_done(tmp_path, monkeypatch):
    monkeypatch.setattr(trials_module, "_IS_WORKER", True)  # so that all is computed here
    monkeypatch.setattr(trials_module, "trial_keys", lambda *_: [f"{k:024}" for k in range(5)])
    log, other = tmp_path / "told", tmp_path / "cache" / f"{2:024}.trial"
    asked = {"told": log, "other": other}
    assert run(draw_while_another_job_works, TRIALS, asked, cache=other.parent, shard="1/3") == [0, 1, 2, 3, 4]
    assert log.read_text().split() == ["1", "4", "0", "3"]
