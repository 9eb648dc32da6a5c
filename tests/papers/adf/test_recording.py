import numpy as np
import pandas as pd
import pytest

from fairlab.papers.adf import recording
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.tables import METHODS, POINTS, growth_table, printed_averages
from fairlab.suite.experiment import Experiment
from fairlab.suite.published import load_paper

PAPER = load_paper("adf")
pytestmark = pytest.mark.usefixtures("results")


def printed(artefact):
    return {id: value.value for id, value in PAPER.artefact(artefact).values.items()}


class Notes(Experiment):
    """An experiment that has loaded its data, and looks at what it was told."""

    def __init__(self, name):
        super().__init__(f"adf/{name}", profile="smoke")
        for variant in self.specification.data:
            self.run.note_load({"variant": variant, "source": "real"}, {})

    @property
    def records(self):
        return {(r["artefact"], r["id"], r["reading"]): np.mean(r["values"]) for r in self.run.records}

    @property
    def judged(self):
        return {(claim["artefact"], claim["id"]): claim["holds"] for claim in self.run.claims}

    @property
    def skipped(self):
        return [(skipped["artefact"], skipped["id"]) for skipped in self.run.skipped]

    def check_complete(self):
        noted = {key[:2] for key in [*self.records, *self.judged, *self.skipped]}
        artefacts = [PAPER.artefact(name) for name in self.specification.artefacts]
        assert noted == {(a.id, id) for a in artefacts for part in (a.values, a.claims) for id in part}

    def check_as_printed(self):
        """Compare the records as published with the published numbers, to their precision."""
        for (artefact, id, reading), ours in self.records.items():
            value = PAPER.artefact(artefact).values[id]
            assert reading != "as_published" or ours == pytest.approx(value.value, abs=1.01 * value.step), id


def counted_as_printed(artefact, methods):
    """Return the published counts as a table of runs."""
    values, rows = printed(artefact), []
    for name in BENCHMARKS:
        for method in methods:
            inputs, finds = values[f"{name}.{method}.gdiff"], values[f"{name}.{method}.id"]
            counts = {"n_inputs": inputs, "n_discriminatory": finds, "success_rate": finds / inputs}
            rows.append({"reading": "as_published", "benchmark": name, "method": method, "run": 0} | counts)
    return pd.DataFrame(rows)


def test_the_printed_counts_give_the_printed_means_and_claims_of_table_4():
    notes = Notes("versus_aequitas")
    recording.versus_aequitas(notes, counted=counted_as_printed("table-4", ("adf", "aequitas")))
    notes.check_complete()
    notes.check_as_printed()
    assert all(notes.judged.values())


def test_runs_of_aequitas_stand_against_the_mean_of_adf():
    notes, found = Notes("versus_aequitas"), counted_as_printed("table-4", ("adf", "aequitas"))
    of_aequitas = found["method"] == "aequitas"
    odd = found[of_aequitas].assign(success_rate=0.9)
    recording.versus_aequitas(notes, counted=pd.concat([found, found, odd]))
    assert notes.records["table-4", "mean.id_ratio_adf_to_aequitas", "as_published"] == pytest.approx(24.95, abs=0.01)
    assert not notes.judged["table-4", "adf-higher-success-rate"], "of the means over runs"


def test_without_finds_a_ratio_is_skipped():
    notes, found = Notes("versus_aequitas"), counted_as_printed("table-4", ("adf", "aequitas"))
    nothing = (found["benchmark"] == "bank.age") & (found["method"] == "aequitas")
    found.loc[nothing, ["n_discriminatory", "success_rate"]] = 0
    both = [found.assign(reading=reading) for reading in ("as_published", "as_described", "as_released")]
    recording.versus_aequitas(notes, counted=pd.concat(both))
    notes.check_complete()
    assert notes.skipped == [("table-4", "mean.id_ratio_adf_to_aequitas")]
    assert {reading for *_, reading in notes.records} == {"as_published", "as_described"}


def budgets_as_printed():
    names = {"n_inputs": "inputs", "n_discriminatory": "found", "success_rate": "success rate"}
    return counted_as_printed("table-5", ("adf", "sg")).rename(columns=names)


def test_the_printed_counts_give_the_printed_means_and_claims_of_table_5():
    notes = Notes("versus_symbolic")
    recording.versus_symbolic(notes, counted=budgets_as_printed())
    notes.check_complete()
    notes.check_as_printed()
    assert all(notes.judged.values())


def test_nothing_found_by_symbolic_generation():
    notes, counted = Notes("versus_symbolic"), budgets_as_printed()
    counted.loc[(counted["benchmark"] == "bank.age") & (counted["method"] == "sg"), ["found", "success rate"]] = 0
    recording.versus_symbolic(notes, counted=counted)
    notes.check_complete()
    assert notes.skipped == [("table-5", "mean.id_ratio_adf_to_sg")]


def phases_as_printed():
    six, seven = printed("table-6"), printed("table-7")
    points = Notes("phases").beside("figure-3", POINTS)["published"].unstack("counted")
    curves = {}
    for method, its in points.rename(columns={"id": "discriminatory"}).groupby("method"):
        known = its.droplevel("method").set_axis(its.index.get_level_values("seeds").astype(int)).sort_index()
        every = known.reindex(range(1, 335)).interpolate(limit_direction="both")
        every.loc[1:25] = known.loc[25].to_numpy() * np.arange(1, 26)[:, None] / 25  # from nothing to the first point
        curves[method] = [every]
    pairs = pd.MultiIndex.from_product([BENCHMARKS, METHODS], names=["benchmark", "method"])
    successes = pd.DataFrame({"n_successful": [six[".".join(pair)] for pair in pairs]}, index=pairs).reset_index()
    return {
        "successes": successes.assign(reading="as_published"),
        "yields": pd.DataFrame([[seven[".".join(pair)] for pair in pairs]], columns=pairs),
        "growth": growth_table(curves),
        "n_starts": 5,
    }


def test_the_printed_counts_and_curves_give_the_printed_means_and_claims_of_the_phases():
    notes = Notes("phases")
    recording.phases(notes, **phases_as_printed())
    notes.check_complete()
    notes.check_as_printed()
    assert all(notes.judged.values())
    assert not notes.skipped


@pytest.mark.parametrize("n_seeds", [0, 1])
def test_short_curves_and_methods_without_finds_are_skipped(n_seeds):
    notes, arguments = Notes("phases"), phases_as_printed()
    arguments["growth"] = arguments["growth"].query("seeds <= @n_seeds")
    arguments["yields"]["bank.age", "sg"] = 0
    recording.phases(notes, **arguments)
    notes.check_complete()
    assert ("table-7", "mean.improvement_over_sg") in notes.skipped
    assert {"adf-linear", "aequitas-saturates", "adf-ends-higher", "adf.id.seed_25"} <= {id for _, id in notes.skipped}
    assert not notes.judged["table-7", "sg-second"]


def test_one_flat_run_makes_no_flat_curve():
    notes, arguments = Notes("phases"), phases_as_printed()
    straight = arguments["growth"].query("method == 'aequitas'").assign(run=1)
    straight["inputs"] = straight["discriminatory"] = 500 * straight["seeds"]
    arguments["growth"] = pd.concat([arguments["growth"], straight])
    recording.phases(notes, **arguments)
    assert not notes.judged["figure-3", "aequitas-saturates"]


def test_the_ratios_of_section_1_follow_from_the_printed_tables():
    notes = Notes("overview")
    recording.overview(notes, ours=printed_averages())
    notes.check_complete()
    assert not notes.skipped
    assert notes.judged["section-1", "headline"]
    ours = {id: ratio for (_, id, _), ratio in notes.records.items()}
    assert ours == pytest.approx(printed("section-1"), rel=0.08)


def test_without_the_tables_behind_them_ratios_are_skipped():
    notes = Notes("overview")
    recording.overview(notes, ours={"table-6:mean.improvement_over_sg": 300.0})
    notes.check_complete()
    assert list(notes.records) == [("section-1", "intro.global_success_over_sg", "as_published")]
    assert not notes.judged


def test_what_the_second_half_adds():
    assert recording.second_half(pd.Series([1, 2, 3, 4])) == 1
    assert recording.second_half(pd.Series([3, 6, 6])) == 1
    assert recording.second_half(pd.Series([4, 8, 8, 10])) == 0.25


def cost_as_printed():
    eight, nine = printed("table-8"), printed("table-9")
    pairs = pd.MultiIndex.from_product([BENCHMARKS, METHODS], names=["benchmark", "method"])
    seconds = pd.DataFrame([[eight[".".join(pair)] for pair in pairs]], columns=pairs)
    both = pd.MultiIndex.from_product([BENCHMARKS, ("all", "successful")], names=["benchmark", "seeds"])
    iterations = pd.DataFrame({"iterations": [nine[".".join(pair)] for pair in both]}, index=both).reset_index()
    return {
        "rows": {"as_published": seconds},
        "seconds": seconds,
        "iterations": iterations.assign(reading="as_published"),
        "n_seeds": 1000,
    }


def test_the_printed_seconds_and_iterations_give_the_printed_means_and_claims():
    notes = Notes("cost")
    recording.cost(notes, **cost_as_printed())
    notes.check_complete()
    notes.check_as_printed()
    assert all(notes.judged.values())


def test_iterations_of_a_benchmark_without_success_are_skipped():
    notes, arguments = Notes("cost"), cost_as_printed()
    arguments["iterations"] = arguments["iterations"].query("benchmark != 'bank.age'")
    recording.cost(notes, **arguments)
    notes.check_complete()
    assert [id for _, id in notes.skipped] == ["bank.age.all", "bank.age.successful"]
    assert not notes.judged["table-9", "consistent-with-table-6"]


def shares_as_printed():
    values = printed("table-10")
    after = {
        (name, 0, m): values[f"{name}.after.{m}"] / 100 if m != "nothing" else 0.5
        for name in BENCHMARKS
        for m in ("nothing", *METHODS)
    }
    results = pd.DataFrame({"share": after}).rename_axis(["benchmark", "trial", "added"])
    return pd.DataFrame({"share": {name: values[f"{name}.before"] / 100 for name in BENCHMARKS}}), results


def test_the_printed_shares_give_the_printed_means_and_claims_of_table_10():
    notes = Notes("retraining")
    before, results = shares_as_printed()
    recording.retraining(notes, before=before, results=results)
    notes.check_complete()
    notes.check_as_printed()
    assert all(notes.judged.values())


def test_without_discrimination_before_there_is_no_improvement():
    notes = Notes("retraining")
    before, results = shares_as_printed()
    before.loc["bank.age"] = 0
    recording.retraining(notes, before=before, results=results)
    notes.check_complete()
    assert len(notes.skipped) == 3
    assert not notes.judged["table-10", "every-method-helps"]


def test_sizes_and_parameters_of_the_models():
    notes = Notes("models")

    def subject(name, n_rows):
        n = len(SCHEMAS[name].names)
        weights = [np.tile([1, 1.25], (n, 1)).astype(np.float32), np.array([0, 1], dtype=np.float32)]
        return Subject(SCHEMAS[name].sample(n_rows, random_state=0), np.ones(n_rows, dtype=int), weights)

    recording.models(notes, subjects={name: subject(name, 120) for name in SCHEMAS})
    notes.check_complete()
    values = {id: value for (_, id, _), value in notes.records.items()}
    assert (values["census.instances"], values["bank.attributes"], values["layers"]) == (120, 16, 1)
    assert (values["max_total_instances"], values["c_num"], values["max_iter"]) == (1_001_000, 4, 10)
    for artefact in ("section-4.1", "table-2"):
        of_runs = {id for id, value in PAPER.artefact(artefact).values.items() if value.setting}
        assert {id: values[id] for id in of_runs} == {id: printed(artefact)[id] for id in of_runs}
    assert notes.judged["table-3", "credit-memorised"]
