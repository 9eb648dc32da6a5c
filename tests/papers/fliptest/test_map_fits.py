import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import validate_map
from fairlab.papers.fliptest.map_fits import MapFits


@pytest.fixture(scope="module")
def block():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"]) for _ in range(2))
    images = {"GAN 0": source, "GAN 1": source + 2, "GAN 2": source + 0.1}
    fits = {name: validate_map(target, image, X_source=source) for name, image in images.items()}
    exact = [{"mean_l1": 1.0, "mean_squared_l1": 3.0}, {"mean_l1": 2.0, "mean_squared_l1": 5.0}]
    return MapFits({"b": "bee"}, fits, exact, ["lipton"])


def test_maps_off_target_are_shown_and_not_used(block):
    assert block.usable == ["GAN 0", "GAN 2"]
    assert block.note == "1 of 3 maps are off target (KS above 0.2) and left out"
    table = block.to_frame()
    assert table.index.tolist() == ["GAN 0", "GAN 1", "GAN 2", "exact 0", "exact 1"]
    assert table["used"].tolist()[:3] == [True, False, True]
    assert "ks a" not in table
    assert table.loc["GAN 2", "mean_l1"] == pytest.approx(0.2)
    assert table.loc["exact 1", ["mean_l1", "mean_squared_l1"]].tolist() == [2, 5]


def test_the_summary_is_the_mean_over_the_usable(block):
    summary = block.summary()
    ks = [block.fits[name].features.loc["b", "ks"] for name in block.usable]
    assert summary["bee.ks"] == pytest.approx(np.mean(ks))
    assert summary["distance.gan"] == pytest.approx(0.1)
    assert summary["distance.exact"] == 1.5
