import psutil
import pytest

from fairlab.transport.memory import GIB, free_bytes, require_memory


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine with 2 GiB free."""
    free = type("Memory", (), {"available": 2 * GIB})
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)


def test_the_lower_of_limit_and_free_memory_counts():
    assert free_bytes(None) == free_bytes(3.0) == 2 * GIB
    assert free_bytes(0.5) == GIB // 2


def test_what_fits_passes():
    require_memory(2 * GIB, "it", limit_gb=None, advice="")
    require_memory(GIB, "it", limit_gb=1, advice="")


def test_what_does_not_fit_is_refused_with_advice():
    with pytest.raises(MemoryError, match=r"^the plan needs about 3 GiB, this machine has free 2 GiB; take less$"):
        require_memory(3 * GIB, "the plan", limit_gb=None, advice="take less")
    with pytest.raises(MemoryError, match=r"needs about 1\.5 GiB, the limit is 1 GiB"):
        require_memory(3 * GIB // 2, "the plan", limit_gb=1, advice="take less")


@pytest.mark.parametrize("limit", [0, -1, "2", float("nan")])
def test_limits_are_above_zero(limit):
    with pytest.raises(ValueError, match="memory_limit_gb: expected a finite number above 0"):
        free_bytes(limit)
