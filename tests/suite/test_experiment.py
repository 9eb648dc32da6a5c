import subprocess
import sys

import cloudpickle
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.figure import Figure
from toy_project import SPECIFICATION, add_experiment, fill, line

from fairlab.data.files import cache_folder, mirror_folder
from fairlab.data.project import project
from fairlab.suite import batch
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run, run_folder, work_folder

# Worker processes cannot import a test module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

DATA = pd.DataFrame({"y": [1, 2]})


def draw(trial, calls):
    with calls.open("a") as file:
        file.write("x")
    return trial.name, trial.rng("draw").normal()


@pytest.fixture
def experiment(toy):
    return Experiment("toy/mean", profile="smoke")


@pytest.mark.parametrize(
    ("given", "published", "other"),
    [
        ({"profile": "smoke"}, "smoke", "custom"),
        ({"profile": "smoke", "n": 11}, "custom", "smoke"),
        ({"profile": "smoke", "seed": 7}, "custom", "smoke"),
    ],
)
def test_a_session_publishes_a_complete_run_of_its_profile_or_else_a_custom_one(toy, given, published, other):
    fill(Experiment("toy/mean", **given)).compare()
    folder = run_folder("toy/mean", published)
    run = Run.read(folder)
    found = (run.parameters, run.seed, run.sources()["berkeley"], run.ours("table-1", "mean").number)
    assert found == ({"n": given.get("n", 10), "n_trials": 2}, given.get("seed", 0), "real", pytest.approx(0.55))
    assert {"commit", "libraries", "core_seconds", "peak_memory_gb", "python"} <= set(run.about)
    drawn = {f"figure-1.{suffix}" for suffix in ("png", "svg", "csv", "json")}
    assert {path.name for path in (folder / "figures").iterdir()} == drawn
    assert not run_folder("toy/mean", other).exists()


def test_earlier_runs_are_those_at_the_same_profile_and_seed(toy):
    add_experiment(toy, "sum", more="after: [toy/mean]\n")
    fill(Experiment("toy/mean", profile="smoke")).compare()

    def found(**given):
        return [run.parameters for run in Experiment("toy/sum", **given).earlier_runs()]

    smoke = {"n": 10, "n_trials": 2}
    assert (found(profile="smoke"), found(profile="smoke", n_trials=9), found()) == ([smoke], [smoke], [])
    assert found(profile="smoke", seed=7) == []
    fill(Experiment("toy/mean", profile="smoke", seed=7)).compare()
    assert (found(profile="smoke", seed=7), found(seed=7)) == ([smoke], [])
    fill(Experiment("toy/mean", profile="smoke", seed=7, n=11)).compare()
    assert found(profile="smoke", seed=7) == [], "a run of other parameters"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_notebook_of_another_seed_says_that_its_text_is_of_the_committed_run(toy, capsys, seed):
    Experiment.open({"experiment": "toy/mean", "profile": "smoke", "n": 10, "n_trials": 2, "seed": seed})
    assert ("texts and titles describe the committed run" in capsys.readouterr().out) == bool(seed)


def test_a_parameter_that_was_changed_after_the_experiment_was_opened_is_named_but_a_list_may_be_sorted(toy):
    lists = SPECIFICATION.replace("n: 10", "n: [4, 2, 2]").replace("n: 50", "n: [8]")
    add_experiment(toy, "mean", specification=lists)
    names = {"experiment": "toy/mean", "profile": "smoke", "n": [4, 2, 2], "n_trials": 2, "seed": 0}
    exp = fill(Experiment.open(names))
    names |= {"n": [2, 4], "n_trials": 3}
    with pytest.raises(ValueError, match="n_trials: expected 2, as when the experiment was opened, found 3"):
        exp.compare()
    assert not run_folder("toy/mean", "smoke").exists()
    names["n_trials"] = 2
    exp.compare()
    assert run_folder("toy/mean", "smoke").exists()


def test_folders_of_the_environment_are_those_of_the_project_in_a_notebook_too(toy, monkeypatch):
    monkeypatch.chdir(toy / "notebooks" / "toy")  # where kernels run
    for name in ("FAIRLAB_RESULTS", "FAIRLAB_DATA_CACHE", "FAIRLAB_DATA_MIRROR"):
        monkeypatch.setenv(name, f"own/{name}")
    folders = [project().results, cache_folder(), mirror_folder()]
    assert [folder.parent for folder in folders] == [toy / "own"] * 3
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", "https://mirror.example/own")
    assert mirror_folder() is None


def test_an_incomplete_run_is_not_kept(experiment, capsys):
    experiment.record("table-1", "mean", 0.5)
    experiment.table("figure-1", pd.DataFrame({"x": [0]}))
    experiment.compare()
    assert "nothing was written for figure-1" in capsys.readouterr().err, "a table is no figure"
    assert not run_folder("toy/mean", "smoke").exists()
    experiment.run.skipped.append({"artefact": "figure-1", "id": "", "reason": "no numbers"})
    experiment.compare()
    assert run_folder("toy/mean", "smoke").exists()


def test_what_rests_on_stored_files_is_real_whatever_else_was_loaded(experiment):
    experiment.load("berkeley")
    experiment.note_fallback("berkeley", ["a/file"])
    experiment.record("table-1", "rows", 4425, data=experiment.stored("a/suite"))
    experiment.record("table-1", "lost", 1, data=[])
    experiment.record("table-1", "mean", 0.5)
    mean, rows, lost, _ = experiment.compare().rows
    assert (rows.data, lost.data, mean.data, mean.verdict) == ("real", "generated", "surrogate", "surrogate")
    assert "fairlab data fetch a/file gets the real" in mean.reason


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # unknown names, with known ones
        (lambda _: Experiment("toy/maen"), KeyError, "did you mean 'toy/mean'"),
        (lambda _: Experiment("toy/mean", profile="fast"), KeyError, "smoke, quick, paper"),
        (lambda _: Experiment("toy/mean", m=3), TypeError, "no parameter 'm'"),
        (lambda _: Experiment("toy/mean", n=0), ValueError, "n: expected a positive integer, found 0"),
        (lambda _: Experiment("toy/mean", seed="zero"), ValueError, "seed: expected an integer"),
        (
            lambda _: Experiment.open({"experiment": "toy/mean", "profile": "smoke", "n": 10}),
            KeyError,
            "does not set seed, n_trials",
        ),
        (lambda _: Experiment.open({}), KeyError, "does not set experiment"),
        # what `papermill -p profile smoke` makes of a notebook, which has the sizes of quick
        (
            lambda _: Experiment.open(
                {"experiment": "toy/mean", "profile": "smoke", "seed": 0, "n": 50, "n_trials": 3}
            ),
            ValueError,
            r"the sizes of smoke \(n=10, n_trials=2\), found those of quick; fairlab run toy/mean --profile smoke",
        ),
        (lambda exp: exp.record("table-1", "maen", 1), KeyError, "table-1 has no value 'maen'; did you mean 'mean'"),
        (lambda exp: exp.record("table-2", "mean", 1), KeyError, "does not declare the table or figure 'table-2'"),
        (lambda exp: exp.published("table-9"), KeyError, "does not declare the table or figure 'table-9'"),
        (lambda exp: exp.claims("table-1", {"negative": (True, "")}), KeyError, "no claim 'negative'"),
        (lambda exp: exp.load("adult-uci"), KeyError, "does not declare the data 'adult-uci'"),
        (lambda exp: exp.skip("table-1", "maen", "because"), KeyError, "no value or claim 'maen'"),
        (lambda exp: exp.published("table-1", id="{method}.gdiff"), KeyError, "no value of the form"),
        # values that are none
        (lambda exp: exp.record("table-1", "mean", [0.5, np.nan]), ValueError, "trial 1 is nan"),
        (
            lambda exp: exp.record_frame("table-1", pd.DataFrame({"gap": [0.5, np.nan]}), id="mean", values="gap"),
            ValueError,
            "trial 1 is nan",
        ),
        (lambda exp: exp.record("table-1", "mean", [[0, 1], [0, 1]]), ValueError, r"found shape \(2, 2\)"),
        (lambda exp: exp.record("table-1", "mean", []), ValueError, r"found shape \(0,\)"),
        (
            lambda exp: exp.record("table-1", "mean", 1, reading="as_hoped"),
            ValueError,
            "one of as_published, as_specified",
        ),
        (lambda exp: exp.record("table-1", "mean", 1, data=["lipton"]), KeyError, "not loaded in this run: lipton"),
        (lambda exp: [exp.record("table-1", "mean", k) for k in range(2)], ValueError, "recorded twice"),
        (lambda exp: [exp.claims("table-1", {"positive": (True, "")}) for _ in "ab"], ValueError, "claimed twice"),
        (lambda exp: exp.claims("table-1", {"positive": ("yes", "")}), TypeError, "expected True or False"),
        (
            lambda exp: exp.claims("table-1", {"positive": (True, "", [1])}),
            TypeError,
            "function of the trials, found True",
        ),
        (lambda exp: exp.claims("table-1", {"positive": (True, 0.5)}), TypeError, r"detail as text, found 0\.5"),
        (lambda exp: exp.trials(draw, 0), ValueError, "n_trials: expected a positive integer, found 0"),
        (lambda exp: exp.trials("draw", 1), TypeError, "function: expected a function, found str"),
        (lambda exp: exp.trials(lambda trial: exp.name, 1), TypeError, "uses exp, a Experiment that no worker can get"),
        (lambda exp: exp.figure("figure-1", Figure(), data=DATA), ValueError, "expected a title that says"),
        (lambda exp: exp.figure("figure-1", line, data=DATA), TypeError, "figure: expected a Figure, found function"),
        (
            lambda exp: exp.figure("figure-1", line(DATA), data=DATA, caption=None),
            TypeError,
            "caption: expected a str, found NoneType",
        ),
        (lambda exp: exp.claims("table-1", {"positive": (True, {"mean": "x"})}), ValueError, "could not convert"),
        (
            lambda exp: exp.record_frame("table-1", pd.DataFrame({"share": [0.5]}), id="{method}", values="share"),
            KeyError,
            "no column method; it has share",
        ),
    ],
)
def test_wrong_calls_are_refused(experiment, call, error, message):
    with pytest.raises(error, match=message):
        call(experiment)


def test_a_notebook_can_import_what_it_could_without_fairlab():
    code = "from fairlab import Experiment\nExperiment.open\nimport webcolors, uri_template"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("call", [work_folder, lambda: batch.run_batch(["toy/mean"], "smoke")])
def test_a_results_folder_that_cannot_be_written_is_named(toy, monkeypatch, call):
    monkeypatch.setenv("FAIRLAB_RESULTS", f"{__file__}/results")
    with pytest.raises(OSError, match=r"test_experiment\.py/results"):
        call()


def test_trials_are_resumed_over_sessions_and_shared_by_the_experiments_of_a_paper(toy):
    add_experiment(toy, "other")
    calls = toy / "calls"
    first, second, other, other_seed = (
        Experiment(f"toy/{name}", n_jobs=1, seed=seed).trials(draw, n_trials, calls=calls)
        for name, n_trials, seed in (("mean", 2, 0), ("mean", 3, 0), ("other", 3, 0), ("mean", 2, 1))
    )
    assert (second[:2], other, len(calls.read_text())) == (first, second, 5)
    assert first != other_seed


@pytest.mark.parametrize(
    ("is_terminal", "is_notebook"), [(True, False), (False, True), (False, False)], ids=["terminal", "notebook", "log"]
)
def test_progress_is_shown_to_people(toy, monkeypatch, capsys, is_terminal, is_notebook):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    if not is_notebook:
        monkeypatch.delitem(sys.modules, "ipykernel")
    Experiment("toy/mean", n_jobs=1).trials(draw, 2, calls=toy / "calls")
    assert ("trial/s" in capsys.readouterr().err) == (is_terminal or is_notebook)


def judged(claim):
    """Return the row of a claim."""
    experiment = Experiment("toy/mean")
    experiment.claims("table-1", {"positive": claim})
    return next(row for row in experiment.compare().rows if row.id == "positive")


def test_trials_without_a_value_are_left_out_and_a_number_without_any_is_skipped(experiment):
    experiment.record("table-1", "mean", [0.5, np.nan, 0.7], note="one map of three", missing="nobody flips")
    experiment.record_frame("table-1", pd.DataFrame({"lost": [np.nan] * 3}), id="{column}", missing="nobody flips")
    mean, _, lost, _ = experiment.compare().rows
    assert (mean.ours, mean.n_trials, lost.verdict, lost.reason) == (pytest.approx(0.6), 2, "not run", "nobody flips")
    assert "one map of three" in mean.reason


@pytest.mark.parametrize(
    ("claim", "verdict", "reason", "unsettled"),
    [
        # a missing number is not judged
        ((True, {"mean": [0.5, 0.75], "ratio": 2}), "holds", "mean 0.5 to 0.75, ratio 2", None),
        ((True, {"mean": [0.5, np.nan]}), "not run", "not every trial has a value: mean", None),
        ((True, {"mean": []}), "not run", "not every trial has a value: mean", None),
        # trials settle it, a single one says nothing of others
        ((lambda drawn: drawn.mean() > 0, {"mean": [0.5, 0.75]}, [0.5, 0.75]), "holds", "mean 0.5 to 0.75", 0.0),
        ((lambda drawn: drawn.mean() > 0, "of one", [3.0]), "holds", "of one", None),
        ((lambda drawn: drawn.mean() > 0, "of two", [-1.0, -2.0]), "fails", "of two", 0.0),
    ],
)
def test_a_claim_is_judged_from_numbers_that_are_there_and_from_trials(toy, claim, verdict, reason, unsettled):
    row = judged(claim)
    assert (row.column, row.reason, row.unsettled) == (verdict, reason, unsettled)


@pytest.mark.parametrize("as_frame", [False, True])
def test_a_claim_that_other_trials_would_turn_is_unsettled(toy, as_frame):
    trials = pd.DataFrame({"held": np.arange(20) < 11, "other": 1.0})
    of_frame = (lambda drawn: drawn["held"].mean() > 0.5, "11 of 20", trials)
    row = judged(of_frame if as_frame else (trials["held"].to_numpy(), "11 of 20"))
    chance = pytest.approx(scipy.stats.binom.cdf(10, 20, 11 / 20), abs=0.07)
    assert (row.verdict, row.column, row.unsettled) == ("holds", "unsettled", chance)


def test_published_numbers_beside_recorded_ones(experiment):
    experiment.record("table-1", "mean", [0.4, 0.6])
    beside = experiment.published("table-1").loc["mean"]
    low = pytest.approx(0.5 - 12.706 * 0.1, abs=1e-3)
    assert (beside["ours"], beside["ours_low"], beside["value"], beside["std"]) == (0.5, low, 0.5, 0.1)


def test_names_in_ids_are_split_at_the_last_dots():
    found = (
        Experiment("adf/versus_aequitas", profile="smoke").published("table-4", id="{benchmark}.{method}.gdiff").index
    )
    assert set(found) >= {("census.age", "adf"), ("census.age", "aequitas")}
