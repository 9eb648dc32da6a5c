import time

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from fairlab.transport import GANEnsemble, gan_blocks
from fairlab.transport.gan_training import Recipe


def test_short_memory_trains_fewer_blocks_at_once_with_the_same_result(groups, small, monkeypatch):
    running, most = [], []
    train = gan_blocks.train_block

    def counted(*args):
        running.append(1)
        time.sleep(0.2)
        most.append(len(running))
        result = train(*args)
        running.pop()
        return result

    monkeypatch.setattr(gan_blocks, "train_block", counted)
    images = {}
    for n_blocks in (2, 1):
        monkeypatch.setattr(gan_blocks, "affordable_blocks", lambda *_, n_blocks=n_blocks, **__: n_blocks)
        images[n_blocks] = GANEnsemble(range(10), n_threads=2, **small).fit(*groups).transform(groups[0])
        assert max(most) == n_blocks
        most.clear()
    np.testing.assert_array_equal(images[1], images[2])


def test_as_many_blocks_as_memory_lasts_for():
    source, target = np.zeros((10, 100, 2), np.float32), np.zeros((10, 200, 2), np.float32)
    sizes = {"widths": (2, 8, 2), "recipe": Recipe(batch_size=4, critic_steps=2)}
    # 42 weights; in a block of 5: 16 * 42 weights, 4 * 12 rows in 12 layer outputs, 3 * 300 points of 2 features.
    kept, per_block = 4 * 10 * 42, 4 * 5 * (16 * 42 + 4 * 12 * 12 + 3 * 300 * 2)
    for n_blocks in (1, 2, 7):
        limit = (kept + n_blocks * per_block + 3) / 2**30
        assert gan_blocks.affordable_blocks(source, target, **sizes, block=5, memory_limit_gb=limit) == n_blocks
    with pytest.raises(MemoryError, match="training networks of 42 weights on 100"):
        gan_blocks.affordable_blocks(source, target, **sizes, block=5, memory_limit_gb=(kept + per_block - 9) / 2**30)
