import pytest

from fairlab.cli import main
from fairlab.suite import fitting
from fairlab.suite.fitting import most_cores, need_gb, refusals
from fairlab.suite.memory import VARIABLE

NAME, UNKNOWN = "toy/mean", "toy/unknown"


@pytest.fixture
def sized(toy):
    """The toy project, in which `toy/mean` says what it needs and `toy/unknown` does not."""
    file = toy / "experiments" / "toy" / "mean.yaml"
    (file.parent / "unknown.yaml").write_text(file.read_text())
    file.write_text(file.read_text() + "gigabytes: {smoke: 0.25, quick: 1, paper: 4}\n")
    return toy


def test_the_need_grows_with_cores_and_with_the_batch(sized):
    assert need_gb(NAME, "quick", 3, 20) == fitting.OWN_GB + 20 * fitting.JOB_GB + 3
    assert need_gb(NAME, "quick", 3) == fitting.ALONE_GB + 3 * (1 + fitting.LIBRARIES_GB)
    assert need_gb(UNKNOWN, "paper", 64, 20) == 0


def test_a_paper_profile_that_was_not_measured_needs_at_least_what_quick_does(toy):
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(file.read_text() + "gigabytes: {smoke: 0.25, quick: 1}\n")
    assert need_gb(NAME, "paper", 2, 1) == need_gb(NAME, "quick", 2, 1) > need_gb(NAME, "smoke", 2, 1)
    assert refusals([NAME], "paper", 1, 1.0, 1)[NAME].startswith("needs at least 1.5 GB")
    assert refusals([NAME], "quick", 1, 1.0, 1)[NAME].startswith("needs 1.5 GB")


def test_as_many_cores_as_fit_and_never_none(sized):
    assert most_cores([NAME, UNKNOWN], "quick", 8, need_gb(NAME, "quick", 5, 2), 2) == 5
    assert most_cores([NAME], "quick", 8, 1e9) == 8
    assert most_cores([NAME, UNKNOWN], "paper", 8, 2.0, 2) == 8  # what does not fit at all takes nothing from the rest
    assert most_cores([UNKNOWN], "paper", 8, 0.1) == 8


@pytest.mark.parametrize(
    ("profile", "n_cores", "left", "said"),
    [
        ("quick", 4, 3.0, "needs 4.5 GB of memory on 4 cores, 3.0 GB are available; it fits with --jobs 2"),
        ("paper", 1, 2.0, "needs 4.5 GB of memory on 1 core, 2.0 GB are available; it fits with --profile quick"),
        (
            "paper",
            2,
            1.0,
            "needs 8.5 GB of memory on 2 cores, 1.0 GB are available; it fits with --profile smoke --jobs 1",
        ),
        ("smoke", 1, 0.5, "needs 0.8 GB of memory on 1 core, 0.5 GB are available; no smaller size fits"),
    ],
)
def test_rejection_names_needed_and_fitting_size(sized, profile, n_cores, left, said):
    assert refusals([UNKNOWN, NAME], profile, n_cores, left, 1) == {NAME: said}


def test_single_experiment_is_rejected_before_start(sized, results, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "2")
    assert main(["run", NAME, "--profile", "paper"]) == 1
    assert "fairlab: toy/mean needs 4.6 GB of memory on 1 core, 2.0 GB are available; it" in capsys.readouterr().err
    assert main(["run", NAME, "--profile", "quick", "--jobs", "2"]) == 1
    assert "needs 2.8 GB of memory on 2 cores, 2.0 GB are available; it fits with --jobs 1" in capsys.readouterr().err
    assert not results.exists()
