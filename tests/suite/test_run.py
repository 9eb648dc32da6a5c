import contextlib
import itertools
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from fairlab.suite import locks
from fairlab.suite import run as runs
from fairlab.suite.run import Run, failure_file, publish, run_folder
from fairlab.suite.staging import cleanup, temporary_folder


@pytest.fixture
def run():
    return Run("toy/mean", "quick", 0, {"n": 1})


def test_run_round_trip(run, tmp_path):
    run.records.append({"artefact": "a", "id": "x", "reading": "as_published", "values": [1.0, 2.0]})
    run.note_load({"variant": "lipton", "source": "generated", "data_hash": "ff"}, {"n_points": np.int64(3)})
    run.about = {"commit": "abc", "seconds": 1.5}
    run.write(tmp_path)
    assert Run.read(tmp_path) == run
    assert json.loads((tmp_path / "run.json").read_text())["data"][0]["options"] == {"n_points": 3}


def test_a_value_is_found_by_its_reading(run):
    run.records += [
        {"artefact": "a", "id": "x", "reading": reading, "values": values}
        for reading, values in (("as_published", [1.0]), ("as_described", [2.0]))
    ]
    assert run.ours("a", "x").mean == 1
    assert run.ours("a", "x", "as_described").mean == 2
    assert run.ours("a", "y") is None
    assert run.paper == "toy"


def test_one_surrogate_among_the_loads_makes_a_variant_one(run):
    for source in ("real", "surrogate", "real"):
        run.note_load({"variant": "adult-uci", "source": source}, {"label": source})
    run.note_load({"variant": "berkeley", "source": "real"}, {})
    assert run.sources() == {"adult-uci": "surrogate", "berkeley": "real"}
    assert (run.source(), run.source(["berkeley"])) == ("surrogate", "real")
    assert (run.missing(), run.missing(["berkeley"])) == (["adult-uci"], [])
    run.note_load({"variant": "berkeley", "source": "surrogate", "missing": ["a/file"]}, {})
    assert run.missing() == ["adult-uci", "a/file"]


def test_the_word_for_several_data_sets_is_the_weakest(run):
    assert run.source() == "generated", "what loads nothing draws its inputs itself"
    for word in ("real", "generated", "reconstructed", "surrogate"):
        run.note_load({"variant": word, "source": word}, {})
        assert run.source() == word
    assert run.source(["real", "generated"]) == "generated"


def test_options_outside_json_are_written_as_text(run):
    run.note_load({"variant": "lipton", "source": "generated"}, {"cost": abs, "kept": (1, 2)})
    assert run.data[0]["options"] == {"cost": "<built-in function abs>", "kept": [1, 2]}


def test_a_published_run_replaces_the_earlier_one_of_its_seed(results):
    for seed, word in ((0, "first"), (0, "second"), (3, "other")):
        staged = temporary_folder("toy/mean")
        (staged / "word").write_text(word)
        failure_file("toy/mean", "quick", seed).parent.mkdir(parents=True, exist_ok=True)
        failure_file("toy/mean", "quick", seed).write_text("it failed")
        publish(staged, "toy/mean", "quick", seed)
        assert not failure_file("toy/mean", "quick", seed).exists()
    assert (run_folder("toy/mean", "quick") / "word").read_text() == "second"
    assert (run_folder("toy/mean", "quick", 3) / "word").read_text() == "other"
    assert sorted(path.name for path in (results / "quick" / "toy").iterdir()) == ["mean", "mean.seed-3"]
    assert list((results / ".staging").iterdir()) == []


def staged_run(word):
    folder = temporary_folder("toy/mean")
    record = {"artefact": "table-1", "id": "x", "reading": "as_published", "values": [float(word)]}
    Run("toy/mean", "quick", 0, {"word": word}, records=[record]).write(folder)
    (folder / "tables").mkdir()
    (folder / "tables" / "table-1.csv").write_text(word)
    return folder


def published_word():
    folder = run_folder("toy/mean", "quick")
    word = Run.read(folder).parameters["word"]
    assert (folder / "tables" / "table-1.csv").read_text() == word
    return word


def publish_killed_at(staged, instant):
    """Publish in a process that is killed before its step of this number; return whether it ended before."""
    child = os.fork()
    if not child:
        steps = itertools.count(1)
        sys.addaudithook(lambda *_: next(steps) == instant and os.kill(os.getpid(), signal.SIGKILL))
        publish(staged, "toy/mean", "quick")
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks")
@pytest.mark.parametrize("exchanged", [True, False])
def test_killed_at_any_step_of_publishing_a_complete_run_is_there(results, monkeypatch, exchanged):
    if not exchanged:
        monkeypatch.setattr(runs, "_exchange", lambda one, other: False)
    publish(staged_run("0"), "toy/mean", "quick")
    seen, instant, ended = set(), 0, False
    while not ended:
        before = published_word()
        instant += 1
        ended = publish_killed_at(staged_run(str(instant)), instant)
        assert published_word() in (before, str(instant))
        seen.add(published_word() == before)
        cleanup(temporary_folder("toy/mean"))  # the next command, which clears what dead processes left
        assert published_word() in (before, str(instant))
    assert seen == {True, False}
    assert instant > 5
    assert published_word() == str(instant)
    left = ["mean"] if exchanged else [".mean.publishing", "mean"]
    assert sorted(path.name for path in (results / "quick" / "toy").iterdir()) == left


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_run_that_another_replaces_while_it_is_read_is_read_whole(results, monkeypatch, exchanged):
    if not exchanged:
        monkeypatch.setattr(runs, "_exchange", lambda one, other: False)
    publish(staged_run("0"), "toy/mean", "quick")
    folder, words, n_opened, instant = run_folder("toy/mean", "quick"), itertools.count(1), 0, 0

    def opened():
        nonlocal n_opened
        n_opened += 1
        if n_opened == instant:
            publish(staged_run(str(next(words))), "toy/mean", "quick")

    def telling(read):
        return lambda *arguments, **options: [opened(), read(*arguments, **options)][1]

    for name in ("read_text", "read_bytes"):
        monkeypatch.setattr(Path, name, telling(getattr(Path, name)))
    while instant == 0 or n_opened >= instant:
        instant, n_opened = instant + 1, 0
        run = Run.read(folder)
        assert run.records[0]["values"] == [float(run.parameters["word"])]
    assert instant > 6


def test_a_run_that_is_replaced_at_every_look_is_not_read(results, monkeypatch):
    publish(staged_run("0"), "toy/mean", "quick")
    looks = itertools.count()
    monkeypatch.setattr(runs, "_identity", lambda folder: next(looks))
    with pytest.raises(runs.UnreadableRunError, match="it is being replaced continually"):
        Run.read(run_folder("toy/mean", "quick"))


def test_another_that_was_faster_where_there_are_no_locks_is_replaced(results, monkeypatch):
    monkeypatch.setattr(runs, "_exchange", lambda one, other: False)
    publish(staged_run("0"), "toy/mean", "quick")
    replace, done = Path.replace, []

    def replaced(path, target):  # by another, between this one's two steps
        answer = replace(path, target)
        if target.name == ".mean.earlier" and not done:
            done.append(replace(staged_run("2"), path))
        return answer

    monkeypatch.setattr(Path, "replace", replaced)
    publish(staged_run("1"), "toy/mean", "quick")
    assert done
    assert published_word() == "1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="publishes in forks")
@pytest.mark.parametrize("exchanged", [True, False])
def test_two_that_publish_all_the_time_do_not_hinder_each_other(results, monkeypatch, exchanged):
    monkeypatch.setattr(locks, "LOOK_SECONDS", 0.001)
    if not exchanged:
        monkeypatch.setattr(runs, "_exchange", lambda one, other: False)
    publish(staged_run("0"), "toy/mean", "quick")
    children = []
    for first in (1, 1_000):
        children.append(os.fork())
        if not children[-1]:
            status = 1
            with contextlib.suppress(Exception):
                for word in range(first, first + 60):
                    publish(staged_run(str(word)), "toy/mean", "quick")
                status = 0
            os._exit(status)
    while children:
        ended = {child: os.waitpid(child, os.WNOHANG) for child in children}
        children = [child for child, (pid, status) in ended.items() if not pid]
        assert all(status == 0 for _, status in ended.values())
        run = Run.read(run_folder("toy/mean", "quick"))
        assert run.records[0]["values"] == [float(run.parameters["word"])]
    assert published_word() in ("60", "1059")


@pytest.mark.skipif(sys.platform != "linux", reason="where it is known to be there")
def test_two_folders_change_places_in_one_step(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert runs._exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one" / "other").exists()
    assert not runs._exchange(tmp_path / "one", tmp_path / "missing")


def test_a_published_run_that_was_changed_is_not_read(results):
    publish(staged_run("0"), "toy/mean", "quick")
    folder = run_folder("toy/mean", "quick")
    for name in ("records.json", "tables/table-1.csv", "sums.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole.replace(b"0", b"1", 1) if b"0" in whole else whole + b" ")
        with pytest.raises(runs.UnreadableRunError, match=r"corrupted or changed|no run that this version"):
            Run.read(folder)
        (folder / name).write_bytes(whole)
    (folder / "records.json").unlink()
    with pytest.raises(runs.UnreadableRunError, match="corrupted or changed"):
        Run.read(folder)
