import pytest

from fairlab.benchmarks import transport


def test_exact_transport_quick():
    rows = {row.name: row for row in transport.exact(quick=True)}
    for name in ("exact", "exact_hungarian", "exact_lp"):
        assert 0 < rows[f"{name}_100_peak_gb"].value < 4
        assert {f"{name}_50_seconds", f"{name}_growth"} <= set(rows)


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
