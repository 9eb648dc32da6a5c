import pytest

from fairlab.benchmarks import transport


def test_exact_transport_quick():
    rows = {row.name: row for row in transport.exact(quick=True)}
    for name in ("exact", "exact_hungarian", "exact_lp"):
        assert 0 < rows[f"{name}_100_peak_gb"].value < 4
        assert {f"{name}_50_seconds", f"{name}_growth"} <= set(rows)
    assert {"exact_100_vs_pot", "exact_100_vs_scipy"} <= set(rows)


def test_operations_of_a_step_by_hand():
    # One row a batch and one critic step, 2-3-2 and 2-3-1: the generator maps two rows (12 products each); two
    # updates of the critic (9 forward, 9 by weights, 3 by hidden units); its own step (9 + 9, 12 by weights, 6).
    assert transport.step_operations((3,), 2, batch=1, critic_steps=1) == 2 * (
        12 + 2 * (9 + 9 + 3) + 12 + 9 + 9 + 12 + 6
    )
    assert transport.share_of_gemm("share", (8, 8), 2, 1e-3).value > 0


# Keras warns when a frozen critic is trained, which would make the baseline too fast.
@pytest.mark.filterwarnings("error:The model does not have any trainable weights")
def test_gan_quick(monkeypatch):
    monkeypatch.setattr(transport, "BIG", (256, 256))
    small, big = (
        {row.name: row for row in benchmark(quick=True)} for benchmark in (transport.gan_small, transport.gan_big)
    )
    for rows, name in ((small, "gan_small"), (big, "gan_big")):
        for size in transport.ENSEMBLES:
            ratio, seconds = rows[f"{name}_{size}_vs_per_step"], rows[f"{name}_{size}_seconds_per_map"]
            assert ratio.value == pytest.approx(ratio.baseline / ratio.ours)
            assert seconds.value == pytest.approx(ratio.ours * transport.PAPER_STEPS)
    assert {"gan_small_10_per_map_vs_1", "gan_small_10_one_thread_per_map_vs_1", "gan_small_10_seconds"} <= set(small)
    assert "gan_big_10_per_map_vs_1" in big
