import json

import numpy as np
import pytest

from fairlab.suite.run import Run, failure_file, publish, run_folder, stage


@pytest.fixture
def run():
    return Run("toy/mean", "quick", 0, {"n": 1})


def test_what_is_written_is_read_again(run, tmp_path):
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


def test_options_that_json_cannot_hold_are_told_in_words(run):
    run.note_load({"variant": "lipton", "source": "generated"}, {"cost": abs, "kept": (1, 2)})
    assert run.data[0]["options"] == {"cost": "<built-in function abs>", "kept": [1, 2]}


def test_a_published_run_replaces_the_earlier_one_of_its_seed(results):
    for seed, word in ((0, "first"), (0, "second"), (3, "other")):
        staged = stage("toy/mean")
        (staged / "word").write_text(word)
        failure_file("toy/mean", "quick", seed).parent.mkdir(parents=True, exist_ok=True)
        failure_file("toy/mean", "quick", seed).write_text("it failed")
        publish(staged, "toy/mean", "quick", seed)
        assert not failure_file("toy/mean", "quick", seed).exists()
    assert (run_folder("toy/mean", "quick") / "word").read_text() == "second"
    assert (run_folder("toy/mean", "quick", 3) / "word").read_text() == "other"
    assert sorted(path.name for path in (results / "quick" / "toy").iterdir()) == ["mean", "mean.seed-3"]
    assert list((results / ".staging").iterdir()) == []
