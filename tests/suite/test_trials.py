"""Cached trials: files that say what they are, computed once, in parallel, whatever is killed or damaged."""

import importlib
import math
import os
import platform
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from toy_project import with_flipped_bit

from fairlab.paths import write_text
from fairlab.suite.processes import WORKER_ENVIRONMENT
from fairlab.suite.seeds import Trial
from fairlab.suite.trials import read, run_trials, trial_keys, write

# Worker processes cannot import a test module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

TRIALS = [Trial("toy/mean", index) for index in range(5)]


def test_what_is_not_the_file_of_its_key_is_refused(tmp_path):
    file, other = (tmp_path / f"{key * 6}.trial" for key in ("ab12", "cd34"))
    for each in (file, other):
        write(each, {"mean": 0.5, "draws": np.arange(5.0), "text": ["a", None]}, 0)
    content = file.read_bytes()
    cut = (content[:length] for length in range(0, len(content), 17))
    flipped = (with_flipped_bit(content, bit) for bit in random.Random(0).sample(range(8 * len(content)), 400))
    for wrong in [*cut, *flipped, other.read_bytes()]:
        file.write_bytes(wrong)
        with pytest.raises(ValueError, match="does not match its checksum"):
            read(file)


def test_results_come_back_as_they_were_and_scalars_of_numpy_as_those_of_python(tmp_path):
    table = pd.DataFrame({"a": pd.Categorical(["u", None]), ("two", 1): np.float32([1.1, 2.2])}, index=["x", "y"])
    scalars = [np.float32(1.1), np.bool_(True), np.int64(-3), np.str_("ab"), {np.int8(1): 2}]
    value = {"table": [table], (1, "b"): (np.asfortranarray(np.eye(2, 3)), -0.0, None), "scalars": scalars}
    write(tmp_path / f"{'0' * 24}.trial", value, 0)
    found, _ = read(tmp_path / f"{'0' * 24}.trial")
    pd.testing.assert_frame_equal(found["table"][0], table, check_exact=True)
    assert found[1, "b"][0].flags.f_contiguous
    expected = [float(np.float32(1.1)), True, -3, "ab", {1: 2}]
    assert [(type(each), each) for each in found["scalars"]] == [(type(each), each) for each in expected]


def run(*args, **options):
    """Return the results alone."""
    return run_trials(*args, progress=False, **options)[0]


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


def busy(trial):
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass


def settings(trial):
    return {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}


def test_results_are_in_the_order_of_the_trials(tmp_path):
    expected = [draw(trial) for trial in TRIALS]
    for n_jobs, batch in ((1, None), (2, None), (1, 2), (2, 10)):
        options = {"cache": tmp_path / f"{n_jobs}-{batch}", "n_jobs": n_jobs, "batch": batch}
        assert run(draw_all if batch else draw, TRIALS, {}, **options) == expected


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_core_seconds_are_those_of_all_trials_whoever_computed_them(tmp_path, n_jobs):
    for _ in "here", "in an earlier run":
        _, seconds = run_trials(busy, TRIALS[:3], {}, cache=tmp_path, n_jobs=n_jobs, progress=False)
        assert sum(seconds.values()) >= 0.27  # clocks tick


def test_corrupted_results_are_computed_again_and_reported_once(tmp_path, capsys):
    expected = run(draw, TRIALS, {}, cache=tmp_path)
    cut, renamed, other, *_ = sorted(tmp_path.glob("*.trial"))
    cut.write_bytes(cut.read_bytes()[:-1])
    renamed.write_bytes(other.read_bytes())
    capsys.readouterr()
    for told in ("2 of 5 cached trials of draw cannot be read and are computed again\n", ""):
        assert (run(draw, TRIALS, {}, cache=tmp_path), capsys.readouterr().err) == (expected, told)


def test_a_failing_trial_keeps_the_others(tmp_path):
    with pytest.raises(ZeroDivisionError, match="trial 3"):
        run(draw_and_tell, TRIALS, {"told": tmp_path / "fails"}, cache=tmp_path / "cache")
    results = [read(file)[0] for file in (tmp_path / "cache").glob("[!.]*.trial")]  # none in flight
    assert {0, 1, 2} <= set(results) <= {0, 1, 2, 4}


def test_a_trial_may_get_a_value_of_its_own(tmp_path):
    each = {"start": [10.0, 20.0, 30.0, 40.0, 50.0]}
    for function, batch in ((take, None), (take_all, 2)):
        found = run(function, TRIALS, {"offset": 1}, each=each, batch=batch, cache=tmp_path)
        assert found == [11.0, 21.0, 31.0, 41.0, 51.0]
    changed = {"start": [10.0, 20.0, 30.0, 40.0, 0.0]}
    keys, others = (trial_keys(take, TRIALS, {"offset": 1}, values) for values in (each, changed))
    assert [key == other for key, other in zip(keys, others, strict=True)] == [True] * 4 + [False]


def no_data(trial):
    return {"model": [1, lambda: trial]}


@pytest.mark.parametrize(
    ("function", "options", "error", "message"),
    [
        (take, {"each": {"start": [1, 2]}}, ValueError, "start: expected one value for each of 5 trials, found 2"),
        (lambda trials: [1], {"batch": 5}, ValueError, "returned 1 results for 5 trials"),
        (no_data, {}, TypeError, r"no_data returned what cannot be cached \(.*lambda.*\); a trial returns numbers"),
    ],
)
def test_functions_that_cannot_be_trials_are_refused(tmp_path, function, options, error, message):
    with pytest.raises(error, match=message):
        run(function, TRIALS, {}, cache=tmp_path, **options)


@pytest.mark.parametrize("line", ["from beside import scale", "import beside"])
def test_a_module_beside_the_notebook_that_changed_is_named(tmp_path, monkeypatch, line):
    module, space = tmp_path / "beside.py", {"__name__": "__main__"}
    monkeypatch.setattr("fairlab.suite.trials._IS_WORKER", True)  # workers of another test do not find the module
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    for factor, error in ((1, nullcontext()), (2, pytest.raises(RuntimeError, match="beside has changed since"))):
        module.write_text(f"def scale(x):\n    return {factor} * x\n")
        os.utime(module, (factor, factor))
        if factor > 1:
            importlib.reload(sys.modules["beside"])
        called = line.rpartition(" ")[2].replace("beside", "beside.scale")
        exec(f"{line}\ndef scaled(trial):\n    return {called}(trial.index)\n", space)
        with error:  # workers would have the old one
            assert run(space["scaled"], TRIALS, {}, cache=tmp_path / "cache") == [0, 1, 2, 3, 4]


def test_a_key_depends_on_the_trial_and_on_all_that_it_is_given():
    calls = [
        (draw, Trial("toy/mean", 0), 1.0),
        (draw, Trial("toy/mean", 0, 1), 1.0),
        (draw, Trial("toy/other", 0), 1.0),
        (draw, Trial("toy/mean", 1), 1.0),
        (draw, Trial("toy/mean", 0), 2.0),
        (draw_all, Trial("toy/mean", 0), 1.0),
    ]
    keys, again = ([trial_keys(f, [trial], {"scale": scale})[0] for f, trial, scale in calls] for _ in range(2))
    assert keys == again
    assert len(set(keys)) == len(calls)


def test_one_trial_runs_under_the_same_settings_as_one_of_many(tmp_path):
    # As in a notebook opened by hand, whose process was started with none of them.
    alone = run(settings, TRIALS[:1], {}, cache=tmp_path / "one")
    assert alone + alone == run(settings, TRIALS[:2], {}, cache=tmp_path / "two", n_jobs=2) == [WORKER_ENVIRONMENT] * 2


MAP = """
from pathlib import Path

from fairlab.suite.processes import KERNEL_ENVIRONMENT, WORKER_ENVIRONMENT
from fairlab.suite.seeds import Trial
from fairlab.suite.trials import run_trials

def image(trial):
    from fairlab.transport import GANTransport

    people = trial.rng("people").normal(size=(2, 100, 3))
    return GANTransport(n_steps=50, random_state=0).fit(*people).transform(people[0])

if __name__ == "__main__":
    assert KERNEL_ENVIRONMENT.items() >= WORKER_ENVIRONMENT.items()
    results, *_ = run_trials(image, [Trial("toy/mean", 0)], {}, cache=Path("cache"), progress=False)
    print(results[0].tobytes().hex())
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="OpenBLAS has several kernels on x86-64 only")
def test_a_trained_map_has_the_same_bits_on_every_processor(tmp_path):
    images = set()
    # Another processor has other kernels of OpenBLAS, and vectors of another width in what numba compiles.
    for core_type, features in (("Haswell", ""), ("Prescott", "+avx2,+fma,+prefer-128-bit")):
        folder = tmp_path / core_type
        write_text(folder / "maps.py", MAP)
        environment = os.environ | {"OPENBLAS_CORETYPE": core_type, "PYTHONPATH": str(folder)}
        environment |= {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder)}
        options = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "check": True}
        images.add(subprocess.run([sys.executable, "maps.py"], **options).stdout)
    assert len(images) == 1, "trials ran other kernels"


def die(trial, deaths, folder):
    """Kill the worker at trials of some numbers, as many times as `deaths` says."""
    died = len([*folder.glob(f"{trial.index}-*")])
    if died < deaths.get(trial.index, 0):
        (folder / f"{trial.index}-{died}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return trial.index


@pytest.mark.parametrize(("deaths", "n_jobs"), [({2: 1}, 2), ({1: 1, 3: 1}, 1)])
def test_a_trial_whose_worker_is_killed_is_computed_once_more(tmp_path, deaths, n_jobs):
    given = {"deaths": deaths, "folder": tmp_path}
    assert run(die, TRIALS, given, cache=tmp_path / "cache", n_jobs=n_jobs) == list(range(5))
    assert len(list(tmp_path.glob("?-?"))) == len(deaths)


def test_a_trial_whose_worker_is_killed_again_and_again_fails(tmp_path):
    with pytest.raises(RuntimeError, match="died twice during a trial"):
        run(die, TRIALS, {"deaths": {2: 4}, "folder": tmp_path}, cache=tmp_path / "cache", n_jobs=2)


def draw_while_another_works(trial, told, other):
    """Compute trial 1, while another process writes the result of trial 2."""
    if trial.index == 1:
        write(other, 2, 0)
    return draw_and_tell(trial, told)


def test_what_another_process_has_done_meanwhile_is_not_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.suite.trials._IS_WORKER", True)  # so that all is computed here
    monkeypatch.setattr("fairlab.suite.trials.trial_keys", lambda *_: [f"{k:024}" for k in range(5)])
    log, other = tmp_path / "told", tmp_path / "cache" / f"{2:024}.trial"
    assert run(draw_while_another_works, TRIALS, {"told": log, "other": other}, cache=other.parent) == [0, 1, 2, 3, 4]
    assert log.read_text().split() == ["0", "1", "3", "4"]


def process(trial):
    return os.getpid()


@pytest.mark.parametrize(("seconds", "alone"), [(math.inf, True), (0, False)])
def test_workers_are_started_once_a_process_has_worked_for_some_seconds(tmp_path, monkeypatch, seconds, alone):
    monkeypatch.setattr("fairlab.suite.trials._IS_WORKER", True)
    monkeypatch.setattr("fairlab.suite.trials.SECONDS_ALONE", seconds)
    computed_by = run(process, TRIALS, {}, cache=tmp_path, n_jobs=2)
    assert [pid == os.getpid() for pid in computed_by] == [alone] * 5
