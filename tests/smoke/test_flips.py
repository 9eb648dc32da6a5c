"""A bit is flipped somewhere, nine hundred times: whatever is read afterwards is right, or refused."""

import json
import random
import warnings
from collections import Counter

import pytest

from fairlab.data import DataError, load
from fairlab.data.files import mirror_folder
from fairlab.seeds import Trial
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import run_experiment
from fairlab.suite.run import Run, UnreadableRunError
from fairlab.suite.trials import run_trials

TRIALS, RUNS, DATA = 400, 300, 200  # flips
VARIANT = "credit-adf"

pytestmark = pytest.mark.slow


def flip(file, chance):
    """Flip a bit of a file and return what the file was."""
    whole = file.read_bytes()
    content = bytearray(whole)
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    return whole


def draws(trial):
    rng = trial.rng("draw")
    return {"mean": rng.normal(), "draws": rng.normal(size=20), "name": str(trial.index), "n": trial.index}


def as_text(value):
    return json.dumps(value, default=lambda part: getattr(part, "tolist", part.__repr__)(), sort_keys=True)


def test_no_corrupted_trial_is_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fairlab.suite.trials._IS_WORKER", True)
    chance, trials, counts = random.Random(1), [Trial("toy", index) for index in range(3)], Counter()

    def results():
        return as_text(run_trials(draws, trials, {}, cache=tmp_path, progress=False)[0])

    truth = results()
    files = sorted(tmp_path.glob("*.trial"))
    for _ in range(TRIALS):
        flip(chance.choice(files), chance)
        counts["right" if results() == truth else "WRONG"] += 1
    counts["computed again"] = capsys.readouterr().err.count("are corrupted and computed again")
    print(dict(counts))
    assert counts["WRONG"] == 0
    assert counts["computed again"] == TRIALS


def test_no_corrupted_run_is_read(toy):
    folder = run_experiment(specification("toy/mean"), "smoke")
    chance, truth, noticed = random.Random(2), Run.read(folder), Counter()
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    assert {".ipynb", ".json", ".csv", ".svg", ".png"} <= {file.suffix for file in files}
    for _ in range(RUNS):
        file = chance.choice(files)
        whole = flip(file, chance)
        with pytest.raises(UnreadableRunError):
            Run.read(folder)
        noticed[file.suffix] += 1
        file.write_bytes(whole)
    print(dict(noticed))
    assert Run.read(folder) == truth


def test_no_corrupted_row_of_data_is_used(tmp_path, monkeypatch):
    if mirror_folder() is None:
        pytest.skip("needs the real data: FAIRLAB_DATA_MIRROR is not set")
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    chance, counts = random.Random(3), Counter()

    def rows():
        data = load(VARIANT, surrogate=False)
        return data.features.to_csv() + data.target.to_csv(), data.provenance.data_hash

    truth = rows()
    files = [file for file in sorted((tmp_path / "cache").rglob("*")) if file.is_file()]
    for number in range(DATA):
        if number == DATA // 2:  # from here on there is no other source
            monkeypatch.delenv("FAIRLAB_DATA_MIRROR")
        file = chance.choice(files)
        whole = flip(file, chance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a surrogate would be one
                counts["right" if rows() == truth else "WRONG"] += 1
        except DataError:
            counts["refused"] += 1
            file.write_bytes(whole)
    print(dict(counts), f"{len(files)} files of {VARIANT}")
    assert counts["WRONG"] == 0
    assert counts["right"] >= DATA // 2
