import numpy as np
import pytest

from fairlab.fair_metric import sensitive_directions
from fairlab.models import loops, sensr_dense, sensr_training
from fairlab.models.mlp import BalancedMLP
from fairlab.models.sensr import SenSR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.5).astype(np.int32)
SENSITIVE = (X[:, [1]] + 0.3 * RNG.normal(size=(400, 1)) > 0).astype(int)


def test_learns_to_withstand_moves_in_the_subspace():
    small = {"n_hidden": 16, "learning_rate": 0.01, "n_steps": 300, "random_state": 0}
    robust = SenSR(**small, batch_size=100, subspace_rate=0.5, full_steps=3).fit(X, Y, sensitive_features=SENSITIVE)
    plain = BalancedMLP(**small, batch_size=100).fit(X, Y)
    moved = X + 0.5 * sensitive_directions(X, SENSITIVE, scaled=False, confidence=None)
    changes = [np.abs(m.predict_proba(moved) - m.predict_proba(X))[:, 1].mean() for m in (robust, plain)]
    assert changes[0] < changes[1] / 2
    assert robust.score(X, Y) > 0.65
    assert 0 < robust.penalty_ <= 10
    assert 0 <= robust.n_skipped_ < 300
    assert robust.directions_.shape == (1, 4)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_trains_with_what_is_installed(monkeypatch, is_compiled):
    used = []
    monkeypatch.setattr(loops, "IS_COMPILED", is_compiled)
    for module in (sensr_training, sensr_dense):
        monkeypatch.setattr(module, "train", lambda *data, m=module: used.append(m) or (data[3], 1.0, 0))
    SenSR(n_steps=3, batch_size=10).fit(X, Y, sensitive_features=SENSITIVE)
    assert used == [sensr_training if is_compiled else sensr_dense]
