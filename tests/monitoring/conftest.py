import pytest

pytest.importorskip("fastapi")

from monitoring.streams import Monitor


@pytest.fixture
def monitor(tmp_path):
    return Monitor(f"sqlite:///{tmp_path}/monitor.db")
