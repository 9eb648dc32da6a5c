from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.transport import GANEnsemble, GANTransport
from fairlab.transport.options import check_options, single_precision


def test_options_in_range():
    check_options(SimpleNamespace(hidden_layers=(3, 4), n=2, rate=0.1), counts=["n"], positive=["rate"])
    check_options(SimpleNamespace(hidden_layers=()))


@pytest.mark.parametrize("width", [0, -1, 2.5, "8", np.nan, None])
def test_bad_widths(width):
    with pytest.raises(ValueError, match="hidden_layers"):
        check_options(SimpleNamespace(hidden_layers=(3, width)))
    with pytest.raises(ValueError, match="hidden_layers"):
        check_options(SimpleNamespace(hidden_layers=width))


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1", None, 1j, [1, 2]])
def test_bad_positive_numbers(value):
    with pytest.raises(ValueError, match="rate: expected a finite number above 0, found"):
        check_options(SimpleNamespace(hidden_layers=(), rate=value), positive=["rate"])


@pytest.mark.parametrize("name", ["n_steps", "batch_size", "critic_steps", "log_every"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", np.nan, None])
def test_counts_of_a_gan_are_whole(name, value):
    with pytest.raises(ValueError, match=f"{name}: expected"):
        GANTransport(**{name: value}).fit(np.zeros((3, 1)), np.zeros((3, 1)))


def test_numbers_beyond_single_precision(ensemble):
    assert single_precision(np.array([1e38]), "X").dtype == np.float32
    with pytest.raises(ValueError, match=r"X: holds -1e\+39, expected at most 3.4e\+38"):
        single_precision(np.array([0, -1e39]), "X")
    huge = np.full((2, 2), 1e39)
    for transport in (ensemble, ensemble.maps_[0]):
        with pytest.raises(ValueError, match=r"X: holds 1e\+39"):
            transport.transform(huge)
    for model in (GANTransport(), GANEnsemble([0, 1])):
        with pytest.raises(ValueError, match=r"X_source: holds 1e\+39"):
            model.fit(huge, np.zeros((2, 2)))
        with pytest.raises(ValueError, match=r"X_target: holds 1e\+39"):
            model.fit(np.zeros((2, 2)), huge)
