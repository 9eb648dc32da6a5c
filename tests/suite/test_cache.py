import random

import numpy as np
import pytest

from fairlab.cli import main
from fairlab.suite import cache

ABOUT = {"function": "toy_trials:mean", "code": "as it was", "versions": {"numpy": "2"}, "host": "a", "seconds": 2.0}
RESULT = {"mean": 0.5, "draws": np.arange(5.0), "text": ["a", None]}


@pytest.fixture
def kept(results):
    """Two cached trials."""
    for key in ("ab12", "cd34"):
        cache.write(cache.folder() / "toy" / "mean" / f"{key * 6}.trial", RESULT, ABOUT)
    return sorted(cache.folder().rglob("*.trial"))


def test_entry_has_provenance(kept):
    result, about = cache.read(kept[0])
    assert result["mean"] == 0.5
    assert (result["draws"] == RESULT["draws"]).all()
    assert ABOUT.items() <= about.items()
    assert about["written"].startswith("20")
    assert cache.provenance(cache.status).keys() == {"function", "code", "versions", "host"}


def test_every_flipped_bit_is_found(kept):
    content = kept[0].read_bytes()
    for bit in random.Random(0).sample(range(8 * len(content)), 200):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        kept[0].write_bytes(flipped)
        with pytest.raises(cache.CorruptedError):
            cache.read(kept[0])
    for length in range(0, len(content), 17):
        kept[0].write_bytes(content[:length])
        with pytest.raises(cache.CorruptedError):
            cache.read(kept[0])


def test_a_result_is_that_of_its_key(kept):
    kept[0].replace(kept[1])
    with pytest.raises(cache.CorruptedError):
        cache.read(kept[1])


def test_status_verify_and_prune(kept, capsys):
    assert main(["cache", "verify"]) == 0
    assert main(["cache", "status"]) == 0
    assert "toy_trials:mean current" in " ".join(capsys.readouterr().out.split())
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    stale = kept[0].with_name("ef56" * 6 + ".trial")
    cache.write(stale, RESULT, ABOUT | {"function": "fairlab.seeds:Trial"})
    others = [
        "notes.md",
        ".env.db_admin",
        "toy/notes",
        "toy/mean/my.trial",
        "toy/mean/ef56.pickle",
        f"{'0' * 24}.trial",
    ]
    for name in others:
        (cache.folder() / name).write_text("mine")
    assert main(["cache", "verify"]) == 1
    output = capsys.readouterr().out
    assert f"corrupted: {kept[0]}" in output
    assert "2 corrupted: they will be computed again" in output
    assert set(cache.status()["state"]) == {"current", "stale", "corrupted"}
    assert main(["cache", "prune"]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[:-1] == [f"removed, corrupted: {kept[0]}", f"removed, stale: {stale}"]
    assert "2 files removed" in output
    assert [(cache.folder() / name).read_text() for name in others] == ["mine"] * len(others)
    assert {file for file in cache.folder().rglob("*") if file.is_file()} == {
        kept[1],
        *(cache.folder() / name for name in others),
    }


def test_empty_cache(results, capsys):
    assert [main(["cache", verb]) for verb in ("status", "verify", "prune")] == [0, 0, 0]
    assert "no cached trials" in capsys.readouterr().out
