import functools
import sys

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from toy_project import fill

from fairlab.benchmarks.figures import line
from fairlab.suite.artefacts import missing_artefacts
from fairlab.suite.experiment import Experiment, _write_csv
from fairlab.suite.run import Run, run_folder

# Worker processes cannot import a test module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def draw(trial, calls):
    with calls.open("a") as file:
        file.write("x")
    return trial.name, trial.rng("draw").normal()


@pytest.fixture
def experiment(toy):
    return Experiment("toy/mean", profile="smoke")


def test_a_session_publishes_a_complete_run(experiment):
    fill(experiment)
    experiment.compare()
    run = Run.read(run_folder("toy/mean", "smoke"))
    assert run.parameters == {"n": 10, "n_trials": 2}
    assert run.ours("table-1", "mean").mean == pytest.approx(0.55)
    assert run.sources()["berkeley"] == "real"
    assert {"commit", "libraries", "seconds", "peak_memory_gb", "python"} <= set(run.about)
    names = {path.name for path in (run_folder("toy/mean", "smoke") / "figures").iterdir()}
    assert names == {f"figure-1.{suffix}" for suffix in ("png", "svg", "csv", "json")}


def test_an_incomplete_run_is_not_kept(experiment, capsys):
    experiment.record("table-1", "mean", 0.5)
    experiment.compare()
    assert "nothing was written for figure-1" in capsys.readouterr().err
    assert not run_folder("toy/mean", "smoke").exists()


def test_changed_parameters_make_a_custom_run(toy):
    experiment = Experiment("toy/mean", profile="smoke", n=11)
    fill(experiment)
    experiment.compare()
    assert run_folder("toy/mean", "custom").exists()
    assert not run_folder("toy/mean", "smoke").exists()


def test_a_skipped_artefact_counts_as_written(experiment):
    experiment.record("table-1", "mean", 0.5)
    experiment.run.skipped.append({"artefact": "figure-1", "id": "x", "reason": "no data"})
    experiment.compare()
    assert missing_artefacts(run_folder("toy/mean", "smoke")) == []


def test_surrogates_are_marked_in_figures_and_tables(experiment, tmp_path):
    experiment.run.note_load({"variant": "law-school", "source": "surrogate"}, {})
    experiment.figure("figure-1", line, data=pd.DataFrame({"x": [0, 1], "y": [0, 1]}))
    experiment.table("table-1", pd.DataFrame({"y": [0, 1]}))
    for file in ("figures/figure-1.csv", "figures/figure-1.json", "tables/table-1.csv"):
        assert "surrogate data" in (experiment.folder / file).read_text()


def test_what_rests_on_stored_files_is_real_whatever_else_was_loaded(experiment):
    experiment.load("berkeley")
    experiment.note_fallback("berkeley", ["a/file"])
    experiment.record("table-1", "rows", 4425, data=experiment.stored("a/suite"))
    experiment.record("table-1", "lost", 1, data=[])
    words = {row.id: row.data for row in experiment.compare().rows}
    assert (words["rows"], words["lost"]) == ("real", "generated")


def test_results_on_a_fallback_count_as_surrogate(experiment):
    fill(experiment)
    experiment.note_fallback("berkeley", ["a/file"])
    row = next(row for row in experiment.compare().rows if row.id == "mean")
    assert (row.verdict, row.data) == ("surrogate", "surrogate")
    assert "fairlab data fetch a/file gets the real" in row.reason


def test_trial_functions_are_functions_of_a_module(experiment):
    with pytest.raises(TypeError, match="expected a function of a module, found partial"):
        experiment.trials(functools.partial(print), 1)
    with pytest.raises(TypeError, match=r"put it into the paper's trials\.py"):
        experiment.trials(lambda trial: 1, 1)


def test_unknown_names_raise_with_known_ones(experiment):
    with pytest.raises(KeyError, match="did you mean 'toy/mean'"):
        Experiment("toy/maen")
    with pytest.raises(KeyError, match="smoke, quick, paper"):
        Experiment("toy/mean", profile="fast")
    with pytest.raises(TypeError, match="no parameter 'm'"):
        Experiment("toy/mean", m=3)
    with pytest.raises(ValueError, match="seed: expected an integer"):
        Experiment("toy/mean", seed="zero")
    with pytest.raises(KeyError, match=r"table-1 has no value 'maen'; did you mean 'mean'"):
        experiment.record("table-1", "maen", 1)
    with pytest.raises(KeyError, match="does not declare the table or figure 'table-2'"):
        experiment.record("table-2", "mean", 1)
    with pytest.raises(KeyError, match="no claim 'negative'"):
        experiment.claim("table-1", "negative", True)
    with pytest.raises(KeyError, match="does not declare the data 'adult-uci'"):
        experiment.load("adult-uci")
    with pytest.raises(KeyError, match="no value or claim 'maen'"):
        experiment.skip("table-1", "maen", "because")


def test_bad_records_are_refused(experiment):
    with pytest.raises(ValueError, match="trial 1 is nan"):
        experiment.record("table-1", "mean", [0.5, np.nan])
    with pytest.raises(ValueError, match=r"found shape \(2, 2\)"):
        experiment.record("table-1", "mean", [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match=r"found shape \(0,\)"):
        experiment.record("table-1", "mean", [])
    with pytest.raises(ValueError, match="expected one of as_published, as_described"):
        experiment.record("table-1", "mean", 1, reading="as_hoped")
    with pytest.raises(TypeError, match="expected True or False"):
        experiment.claim("table-1", "positive", "yes")
    with pytest.raises(TypeError, match=r"expected the detail as text, found 0\.5"):
        experiment.claim("table-1", "positive", True, detail=0.5)
    with pytest.raises(KeyError, match="not loaded in this run: lipton"):
        experiment.record("table-1", "mean", 1, data=["lipton"])
    experiment.record("table-1", "mean", 0.5)
    experiment.record("table-1", "mean", 0.4, reading="as_described")
    with pytest.raises(ValueError, match="recorded twice"):
        experiment.record("table-1", "mean", 0.5)
    with pytest.raises(ValueError, match="n_trials: expected at least 1"):
        experiment.trials(lambda trial: 1, 0)


def test_a_read_only_results_folder_is_named(toy, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("FAIRLAB_RESULTS", str(blocked / "results"))
    with pytest.raises(PermissionError, match=r"cannot write to the results folder .*set FAIRLAB_RESULTS"):
        Experiment("toy/mean")


def test_trials_are_resumed_over_sessions(toy):
    calls = toy / "calls"
    first = Experiment("toy/mean", n_jobs=1).trials(draw, 2, calls=calls)
    second = Experiment("toy/mean", n_jobs=1).trials(draw, 3, calls=calls)
    other_seed = Experiment("toy/mean", n_jobs=1, seed=1).trials(draw, 2, calls=calls)
    assert second[:2] == first != other_seed
    assert len(calls.read_text()) == 5


def test_experiments_of_a_paper_share_the_trials_of_a_function(toy):
    calls = toy / "calls"
    (toy / "experiments" / "toy" / "other.yaml").write_text((toy / "experiments" / "toy" / "mean.yaml").read_text())
    mean, other = (Experiment(name, n_jobs=1) for name in ("toy/mean", "toy/other"))
    own = mean.trials(draw, 2, calls=calls)
    assert other.trials(draw, 3, calls=calls)[:2] == own
    assert len(calls.read_text()) == 3
    assert [name for name, _ in own] == ["toy"] * 2


def test_a_notebook_is_opened_by_its_parameters_cell(toy):
    cell = {"experiment": "toy/mean", "profile": "smoke", "seed": 3, "n": 10, "n_trials": 2}
    run = Experiment.open(cell | {"pd": pd}).run
    assert (run.name, run.profile, run.seed, run.parameters) == ("toy/mean", "smoke", 3, {"n": 10, "n_trials": 2})
    assert Experiment.open(cell | {"n": 11}).run.profile == "custom"
    with pytest.raises(KeyError, match="does not set seed, n_trials"):
        Experiment.open({key: value for key, value in cell.items() if key not in ("seed", "n_trials")})
    with pytest.raises(KeyError, match="does not set experiment"):
        Experiment.open({})


def test_published_values_as_table(experiment):
    table = experiment.published("table-1")
    assert list(table.index) == ["mean", "rows", "lost"]
    assert table.loc["mean", ["printed", "value", "std", "n"]].tolist() == ["0.50 ± 0.10", 0.5, 0.1, 10]
    with pytest.raises(KeyError, match="does not declare the table or figure 'table-9'"):
        experiment.published("table-9")


def test_every_load_of_a_variant_is_noted(toy, monkeypatch):
    experiment = Experiment("toy/mean", profile="smoke")
    monkeypatch.setattr(type(experiment.specification), "data", ("lipton",), raising=False)
    object.__setattr__(experiment.specification, "data", ("lipton",))
    for n_points in (20, 30, 20):
        experiment.load("lipton", n_points=n_points)
    loads = experiment.run.data
    assert [(load["variant"], load["options"]["n_points"], load["rows"]) for load in loads] == [
        ("lipton", 20, 40),
        ("lipton", 30, 60),
    ]
    assert len({load["data_hash"] for load in loads}) == 2


def test_run_with_another_seed_is_stored_separately(toy):
    for seed in (0, 7):
        experiment = Experiment("toy/mean", profile="smoke", seed=seed)
        fill(experiment)
        experiment.compare()
    assert Run.read(run_folder("toy/mean", "smoke")).seed == 0
    beside = run_folder("toy/mean", "smoke", 7)
    assert beside.parent.name == "mean.seed-7"
    assert Run.read(beside).seed == 7


def test_a_long_table_is_recorded_number_by_number(experiment):
    found = pd.DataFrame({"what": ["mean", "mean"], "share": [0.5, 0.7]})
    experiment.record_frame("table-1", found, id="{what}", values="share")
    assert experiment.run.ours("table-1", "mean").values.tolist() == [0.5, 0.7]


def test_a_wide_table_is_recorded_by_its_columns_and_index(experiment):
    wide = pd.DataFrame({"mean": [0.5]}, index=pd.Index(["as_described"], name="reading"))
    experiment.record_frame("table-1", wide, id="{column}")
    assert experiment.run.ours("table-1", "mean", "as_described").mean == 0.5


def test_a_table_without_a_column_of_the_id_is_refused(experiment):
    with pytest.raises(KeyError, match="no column method; it has share"):
        experiment.record_frame("table-1", pd.DataFrame({"share": [0.5]}), id="{method}", values="share")


def test_a_claim_that_nothing_judges_is_left_out_with_its_reason(experiment):
    experiment.claims("table-1", {"positive": (None, "nobody was asked")})
    assert experiment.run.skipped[-1]["reason"] == "nobody was asked"
    assert not experiment.run.claims


def test_published_numbers_beside_recorded_ones(experiment):
    experiment.record("table-1", "mean", [0.4, 0.6])
    beside = experiment.beside("table-1").loc["mean"]
    assert (beside["ours"], beside["n_trials"]) == (0.5, 2)
    assert beside["low"] == pytest.approx(0.5 - 12.706 * 0.1, abs=1e-3)
    assert beside["published_low"] < beside["published"] < beside["published_high"]
    with pytest.raises(KeyError, match="no value of the form"):
        experiment.beside("table-1", id="{method}.gdiff")


def test_cells_that_a_spreadsheet_would_calculate_are_quoted(tmp_path):
    texts = ["=1+1", "@sum", "+cmd", "-cmd", "-1 to 3", "+0.5", "a=b"]
    frame = pd.DataFrame({"=x": texts, "y": [-1.5, np.inf, -np.inf, 0, 1, 2, np.nan]}, index=["-a", *"bcdefg"])
    _write_csv(frame, tmp_path / "table.csv")
    written = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    assert written == [
        ",'=x,y",
        "'-a,'=1+1,-1.5",
        "b,'@sum,inf",
        "c,'+cmd,-inf",
        "d,'-cmd,0",
        "e,-1 to 3,1",
        "f,+0.5,2",
        "g,a=b,",
    ]
