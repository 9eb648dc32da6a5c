import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from toy_project import with_flipped_bit

from fairlab.paths import write_text
from fairlab.suite.run import (
    CURRENT,
    FORGOTTEN_SECONDS,
    SUMS,
    Run,
    UnreadableRunError,
    failure_file,
    publish,
    run_folder,
    work_folder,
)


@pytest.fixture
def run():
    return Run("toy/mean", "quick", 0, {"n": 1})


def test_run_round_trip(run, tmp_path):
    run.records.append({"artefact": "a", "id": "x", "reading": "as_published", "values": [1.0, 2.0]})
    run.note_load(
        {"variant": "lipton", "source": "generated", "data_hash": "ff"}, {"n_points": np.int64(3), "cost": abs}
    )
    run.about = {"commit": "abc", "seconds": 1.5}
    run.write(tmp_path)
    assert Run.unpublished(tmp_path) == run
    assert json.loads((tmp_path / "run.json").read_text())["data"][0]["options"] == {"n_points": 3, "cost": str(abs)}


def test_the_word_for_several_loads_is_the_weakest(run):
    assert run.source() == "generated", "what loads nothing draws its inputs itself"
    for word in ("real", "generated", "reconstructed"):
        run.note_load({"variant": word, "source": word}, {})
        assert run.source() == word
    for source in ("surrogate", "real", "real"):
        run.note_load({"variant": "adult-uci", "source": source}, {"label": source})
    sources = {word: word for word in ("real", "generated", "reconstructed")} | {"adult-uci": "surrogate"}
    assert (run.sources(), run.source(), run.source(["real", "generated"])) == (sources, "surrogate", "generated")
    # The same rows loaded in the same way are recorded once.
    assert (run.missing(), run.missing(["real"]), len(run.data)) == (["adult-uci"], [], 5)
    run.note_load({"variant": "real", "source": "surrogate", "missing": ["a/file"]}, {})
    assert run.missing() == ["adult-uci", "a/file"]


def finished(word):
    """Return the work folder of a run that is complete and not published, with its word in all files."""
    folder = work_folder()
    record = {"artefact": "table-1", "id": "x", "reading": "as_published", "values": [float(word)]}
    Run("toy/mean", "quick", 0, {"word": word}, records=[record]).write(folder)
    for name in ("tables/table-1.csv", "figures/figure-1.png", "notebook.ipynb"):
        write_text(folder / name, word)
    return folder


def published_word():
    """Return the word of the published run, after checking that all of it is of one run."""
    folder = run_folder("toy/mean", "quick")
    run = Run.read(folder)
    word = run.parameters["word"]
    assert (run.records[0]["values"], (folder / "tables" / "table-1.csv").read_text()) == ([float(word)], word)
    return word


def test_what_is_a_week_old_is_deleted_but_for_the_last_two_runs(toy):
    folders, left = [publish(finished(str(k))) for k in range(4)], [work_folder(), work_folder()]
    mine = folders[0].parent / "my_notes_of_may"
    mine.mkdir()
    for second, path in enumerate((*folders, left[0], mine), -10):
        for each in (*path.rglob("*"), path):
            os.utime(each, (time.time() - FORGOTTEN_SECONDS + second,) * 2)
    failure_file("toy/mean", "quick").write_text("it failed")
    last = [publish(finished(str(k))) for k in (4, 5)]
    assert (Run.read(last[0]).parameters["word"], published_word()) == ("4", "5")
    kept = [path.exists() for path in (*folders, failure_file("toy/mean", "quick"), *last, mine, *left)]
    assert kept == [False] * 5 + [True] * 2 + [True, False, True]


FORKS = multiprocessing.get_context("fork")
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.symlink", "shutil.copyfile"}  # audit events


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks")
def test_killed_at_any_step_of_publishing_a_complete_run_is_there(toy):
    publish(finished("0"))
    seen, instant, status = set(), 0, None
    while status != 0:
        before, instant = published_word(), instant + 1
        process = FORKS.Process(target=publish_and_die, args=(finished(str(instant)), instant))
        process.start()
        process.join()
        status = process.exitcode
        assert published_word() in (before, str(instant))
        seen.add(published_word() == before)
    assert seen == {True, False} and instant > 5


def publish_and_die(folder, instant):
    """Publish a run, killed before the change of a file that has this number."""
    steps = itertools.count(1)

    def kill(event, _):
        if event in CHANGES and next(steps) == instant:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    publish(folder)


def publish_until(end, word):
    while time.monotonic() < end:
        publish(finished(str(word)))
        word += 1


def read_until(end):
    while time.monotonic() < end:
        published_word()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="publishes in forks")
@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_three_that_publish_all_the_time_and_two_that_read_do_not_hinder_each_other(toy, seconds):
    publish(finished("0"))
    end = time.monotonic() + seconds
    processes = [FORKS.Process(target=publish_until, args=(end, first)) for first in (1_000, 2_000, 3_000)]
    processes += [FORKS.Process(target=read_until, args=(end,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 5
    assert int(published_word()) >= 1_000


def test_every_flipped_bit_of_a_run_is_noticed(toy):
    folder = publish(finished("0"))
    files = [*(file for file in folder.rglob("*") if file.is_file()), folder.parent / CURRENT]
    draws = random.Random(0)
    for _ in range(300):
        file = draws.choice(files)
        whole = file.read_bytes()
        file.write_bytes(with_flipped_bit(whole, draws.randrange(8 * len(whole))))
        with suppress(UnreadableRunError):
            # A flipped bit of the white space behind the name.
            assert (published_word(), file.name) == ("0", CURRENT)
        file.write_bytes(whole)
    (folder / SUMS).unlink()
    with pytest.raises(UnreadableRunError, match=r"records.json.*corrupted[^;]*$"):
        Run.read(folder)
