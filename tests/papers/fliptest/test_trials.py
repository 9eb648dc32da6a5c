import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fliptest.trials import train_maps
from fairlab.seeds import Trial

pytest.importorskip("tensorflow")
RECIPE = {"hidden_layers": (8,), "n_steps": 4, "batch_size": 8}


def test_a_map_depends_on_its_trial_and_its_stream_only():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]) for _ in range(2))
    trials = [Trial("x/y", k, 0) for k in range(2)]
    first, second = train_maps(trials, source=source, target=target, **RECIPE)
    [alone] = train_maps(trials[1:], source=source, target=target, **RECIPE)
    [other] = train_maps(trials[1:], source=source, target=target, stream="other", **RECIPE)
    assert second.random_state == trials[1].seed("gan")
    np.testing.assert_array_equal(second.transform(source), alone.transform(source))
    for different in (first, other):
        assert not np.array_equal(second.transform(source), different.transform(source))
