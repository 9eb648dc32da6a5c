from types import SimpleNamespace

import pytest

from fairlab.suite import memory
from fairlab.suite.memory import memory_left_gb, refusal

GB = 10**9


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Control groups that a test makes up: a function of their files and of what this process belongs to."""
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=16 * GB))

    def make(membership, **files):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            file = tmp_path / "cgroup" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")

    return make


def test_a_containers_limit_counts_and_what_the_system_can_drop_does_not(groups):
    groups("0::/\n", **{"memory.max": 2 * GB, "memory.current": GB, "memory.stat": f"anon 5\ninactive_file {GB // 2}"})
    assert memory_left_gb() == 1.5


def test_the_limit_of_a_group_above_counts(groups):
    groups(
        "0::/slurm/job_7/step_0\n",
        **{"slurm/job_7/step_0/memory.max": "max", "slurm/job_7/memory.max": 3 * GB, "memory.max": "max"},
    )
    assert memory_left_gb() == 3


def test_the_limit_of_the_first_version_counts(groups):
    stat = f"cache 9\ntotal_inactive_file {GB}"
    groups(
        "5:devices:/\n4:cpu,memory:/docker/abc\n0::/\n",  # the host's name of a group that is not there
        **{
            "memory/memory.limit_in_bytes": 2 * GB,
            "memory/memory.usage_in_bytes": GB + GB // 4,
            "memory/memory.stat": stat,
        },
    )
    assert memory_left_gb() == 1.75


def test_without_limits_it_is_what_the_machine_has_left(groups):
    groups("4:memory:/\n0::/\n", **{"memory/memory.limit_in_bytes": 2**63 - 4096})
    assert memory_left_gb() == 16
    groups("nonsense\n")
    assert memory_left_gb() == 16


def test_one_may_say_what_there_is(groups, monkeypatch):
    groups("0::/\n", **{"memory.max": GB})
    monkeypatch.setenv(memory.VARIABLE, "2.5")
    assert memory_left_gb() == 2.5
    monkeypatch.setenv(memory.VARIABLE, "2 GB")
    with pytest.raises(ValueError, match="FAIRLAB_MEMORY_GB: expected a number of GB, found '2 GB'"):
        memory_left_gb()


def test_what_does_not_fit_is_refused_with_what_would(toy):
    assert refusal("toy/mean", "smoke", 64, 0.1) is None, "nothing is known of it"
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(file.read_text() + "gigabytes: {smoke: 0.1, quick: 1}\n")
    assert refusal("toy/mean", "quick", 2, 3.0) is None
    need = "needs 4.6 GB of memory on 4 cores, 3.0 GB are available; it fits with --cores 1"
    assert refusal("toy/mean", "quick", 4, 3.0) == need
    assert refusal("toy/mean", "paper", 1, 1.5).endswith("choose a smaller --profile")
