"""A bit is flipped somewhere in the data, two hundred times: whatever is read afterwards is right, or refused."""

import random
import warnings
from collections import Counter

import pytest

from fairlab.data import DataError, load
from fairlab.data.files import mirror_folder

DATA = 200  # flips
VARIANT = "credit-adf"

pytestmark = pytest.mark.slow


def flip(file, chance):
    """Flip a bit of a file and return what the file was."""
    whole = file.read_bytes()
    content = bytearray(whole)
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    return whole


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
