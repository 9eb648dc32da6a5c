import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

pytest.importorskip("numba")

from fairlab.transport import GANEnsemble, gan_maps
from fairlab.transport.gan_training import CHUNK, Recipe


def test_short_memory_trains_fewer_at_once_with_the_same_result(groups, small, monkeypatch):
    running, most = [], []
    train = gan_maps.train_map

    def counted(*args):
        running.append(1)
        time.sleep(0.05)
        most.append(len(running))
        result = train(*args)
        running.pop()
        return result

    monkeypatch.setattr(gan_maps, "train_map", counted)
    images = {}
    for n_maps in (2, 1):
        monkeypatch.setattr(gan_maps, "affordable_maps", lambda *_, n_maps=n_maps, **__: n_maps)
        images[n_maps] = GANEnsemble(range(6), n_threads=2, **small).fit(*groups).transform(groups[0])
        assert max(most) == n_maps
        most.clear()
    np.testing.assert_array_equal(images[1], images[2])


def test_as_many_maps_as_memory_lasts_for():
    source, target = np.zeros((10, 100, 2), np.float32), np.zeros((10, 200, 2), np.float32)
    sizes = {"widths": (2, 8, 2), "recipe": Recipe(batch_size=4, critic_steps=2)}
    # 42 weights, kept twice; a map takes them eight times, eight layers of at most 8 * 4, and draws of 5 batches.
    kept, per_map = 4 * 2 * 10 * 42, 4 * (8 * 42 + 8 * 8 * 4) + 8 * CHUNK * 5 * 4
    for n_maps in (1, 2, 7):
        limit = (kept + n_maps * per_map + 3) / 2**30
        assert gan_maps.affordable_maps(source, target, **sizes, memory_limit_gb=limit) == n_maps
    with pytest.raises(MemoryError, match="training networks of 42 weights on batches of 4"):
        gan_maps.affordable_maps(source, target, **sizes, memory_limit_gb=(kept + per_map - 9) / 2**30)


def test_matrix_products_have_one_thread_in_training_and_as_many_as_before_after_it(groups, small, monkeypatch):
    seen, train = [], gan_maps.train_map

    def watched(*args):
        seen.append(threads())
        return train(*args)

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    monkeypatch.setattr(gan_maps, "train_map", watched)
    with gan_maps.threadpool_limits(2, "blas"):
        GANEnsemble([0], **small).fit(*groups)
        assert set(seen[0]) == {1}
        assert set(threads()) == {2}
    assert "scipy" in str([pool["filepath"] for pool in threadpool_info()])
