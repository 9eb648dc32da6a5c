import numpy as np
import pytest

from fairlab.data import load

SIZES = {"caffe": (1372, 1243, 200), "overfeat": (1404, 1243, 745)}

pytestmark = pytest.mark.usefixtures("drawn_once")


@pytest.mark.parametrize("tagger", SIZES)
def test_surrogate(tagger):
    dataset = load("image-tagger", labels=tagger, surrogate=True)
    black, white, labels = SIZES[tagger]
    assert dataset.target.value_counts().to_dict() == {"Black": black, "White": white}
    assert dataset.features.shape == (black + white, labels)
    assert dataset.features.columns.is_monotonic_increasing
    assert np.isin(dataset.features, [0, 1]).all()
    assert set(dataset.features.sum(axis=1)) == ({5} if tagger == "caffe" else {4, 5})
    assert dataset.encoding == {"race": ("Black", "White")}
    assert dataset.provenance.rows == black + white
    assert dataset.provenance.note.endswith(f"labels={tagger}")


def test_unknown_tagger():
    with pytest.raises(ValueError, match="labels: expected one of caffe, overfeat, found 'resnet'"):
        load("image-tagger", labels="resnet")
