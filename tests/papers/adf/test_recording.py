from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.adf import recording
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.headline import printed_averages
from fairlab.papers.adf.tables import METHODS, read_off
from fairlab.seeds import Trial
from fairlab.suite.published import load_paper

PAPER = load_paper("adf")


def printed(artefact):
    return {id: value.value for id, value in PAPER.artefact(artefact).values.items()}


class Notes:
    """Takes an experiment's notes, and asks for each published value and claim once."""

    def __init__(self):
        self.specification = SimpleNamespace(published=PAPER)
        self.records, self.claims, self.skipped = {}, {}, {}

    def published(self, artefact):
        return pd.DataFrame({"value": printed(artefact)})

    def trial(self, index=0):
        return Trial("adf/models", index)

    def record(self, artefact, id, values, *, reading="as_published", **_):
        assert id in PAPER.artefact(artefact).values
        assert (artefact, id, reading) not in self.records
        self.records[artefact, id, reading] = np.mean(values)

    def claim(self, artefact, id, holds, *, detail, **_):
        assert id in PAPER.artefact(artefact).claims
        assert (artefact, id) not in self.claims
        assert detail
        self.claims[artefact, id] = bool(holds)

    def skip(self, artefact, id, reason):
        assert reason
        self.skipped[artefact, id] = reason

    def check_complete(self, *artefacts):
        noted = {key[:2] for key in [*self.records, *self.claims, *self.skipped]}
        wanted = {
            (a, id) for a in artefacts for part in ("values", "claims") for id in getattr(PAPER.artefact(a), part)
        }
        assert noted == wanted

    def check_as_printed(self, artefact):
        """Compare the records as published with the print, to its precision."""
        for id, value in PAPER.artefact(artefact).values.items():
            ours = self.records.get((artefact, id, "as_published"))
            assert ours is None or ours == pytest.approx(value.value, abs=1.01 * value.step), id


@pytest.fixture
def notes():
    return Notes()


def tallies(artefact, methods):
    """Return what the print says, as tallies by benchmark and method."""
    values = printed(artefact)
    found = {}
    for name in BENCHMARKS:
        for method in methods:
            inputs, finds = values[f"{name}.{method}.gdiff"], values[f"{name}.{method}.id"]
            found[name, method] = [{"n_inputs": inputs, "n_discriminatory": finds, "success_rate": finds / inputs}]
    return found


def test_the_printed_counts_give_the_printed_means_and_claims_of_table_4(notes):
    found = tallies("table-4", ("adf", "aequitas"))
    recording.versus_aequitas(notes, searches={("as_published", *key): runs for key, runs in found.items()})
    notes.check_complete("table-4")
    notes.check_as_printed("table-4")
    assert all(notes.claims.values())


def test_runs_of_aequitas_stand_against_the_mean_of_adf(notes):
    found = tallies("table-4", ("adf", "aequitas"))
    found = {key: runs * (2 if key[1] == "adf" else 3) for key, runs in found.items()}
    for name in BENCHMARKS:
        found[name, "aequitas"][2] = found[name, "aequitas"][2] | {"success_rate": 0.9}
    recording.versus_aequitas(notes, searches={("as_published", *key): runs for key, runs in found.items()})
    assert notes.records["table-4", "mean.id_ratio_adf_to_aequitas", "as_published"] == pytest.approx(24.95, abs=0.01)
    assert not notes.claims["table-4", "adf-higher-success-rate"], "of the means over runs"


def test_without_finds_a_ratio_is_skipped(notes):
    found = tallies("table-4", ("adf", "aequitas"))
    found["bank.age", "aequitas"] = [{"n_inputs": 5, "n_discriminatory": 0, "success_rate": 0}]
    both = {(reading, *key): runs for reading in ("as_published", "as_described") for key, runs in found.items()}
    recording.versus_aequitas(notes, searches=both)
    notes.check_complete("table-4")
    assert list(notes.skipped) == [("table-4", "mean.id_ratio_adf_to_aequitas")]


def counted_as_printed():
    """Return what table 5 prints, as a table of runs."""
    counts = [
        {"reading": "as_published", "benchmark": name, "method": method, "run": 0}
        | {"inputs": run["n_inputs"], "found": run["n_discriminatory"], "success rate": run["success_rate"]}
        for (name, method), [run] in tallies("table-5", ("adf", "sg")).items()
    ]
    return pd.DataFrame(counts)


def test_the_printed_counts_give_the_printed_means_and_claims_of_table_5(notes):
    recording.versus_symbolic(notes, counted=counted_as_printed())
    notes.check_complete("table-5")
    notes.check_as_printed("table-5")
    assert all(notes.claims.values())


def test_nothing_found_by_symbolic_generation(notes):
    counted = counted_as_printed()
    counted.loc[(counted["benchmark"] == "bank.age") & (counted["method"] == "sg"), ["found", "success rate"]] = 0
    recording.versus_symbolic(notes, counted=counted)
    notes.check_complete("table-5")
    assert list(notes.skipped) == [("table-5", "mean.id_ratio_adf_to_sg")]


def phases_as_printed():
    six, seven = printed("table-6"), printed("table-7")
    curves = read_off(pd.DataFrame({"value": printed("figure-3")}))
    every = {
        method: curve.reindex(range(1, 335)).interpolate(limit_direction="both").rename_axis("seeds")
        for method, curve in curves.items()
    }
    for method, curve in every.items():  # straight from nothing to the first point read off
        curve.loc[1:25] = curves[method].loc[25].to_numpy() * np.arange(1, 26)[:, None] / 25
    return {
        "successes": {("as_published", name, m): [six[f"{name}.{m}"]] for name in BENCHMARKS for m in METHODS},
        "yields": pd.DataFrame({(name, m): [seven[f"{name}.{m}"]] for name in BENCHMARKS for m in METHODS}),
        "growth": {method: [curve] for method, curve in every.items()},
        "n_starts": 5,
    }


def test_the_printed_counts_and_curves_give_the_printed_means_and_claims_of_the_phases(notes):
    recording.phases(notes, **phases_as_printed())
    notes.check_complete("table-6", "table-7", "figure-3")
    for artefact in ("table-6", "table-7", "figure-3"):
        notes.check_as_printed(artefact)
    assert all(notes.claims.values())
    assert not notes.skipped


def test_short_curves_and_methods_without_finds_are_skipped(notes):
    arguments = phases_as_printed()
    arguments["growth"] = {method: [curve.iloc[:1]] for method, [curve] in arguments["growth"].items()}
    arguments["yields"]["bank.age", "sg"] = 0
    recording.phases(notes, **arguments)
    notes.check_complete("table-6", "table-7", "figure-3")
    assert ("table-7", "mean.improvement_over_sg") in notes.skipped
    assert {"adf-linear", "aequitas-saturates", "adf-ends-higher", "adf.id.seed_25"} <= {id for _, id in notes.skipped}
    assert not notes.claims["table-7", "sg-second"]


def test_one_flat_run_makes_no_flat_curve(notes):
    arguments = phases_as_printed()
    [flat] = arguments["growth"]["aequitas"]
    arguments["growth"]["aequitas"] = [flat, flat * 0 + 500 * flat.index.to_numpy()[:, None]]
    recording.phases(notes, **arguments)
    assert not notes.claims["figure-3", "aequitas-saturates"]


def test_the_ratios_of_section_1_follow_from_the_printed_tables(notes):
    recording.overview(notes, ours=printed_averages())
    notes.check_complete("section-1")
    assert not notes.skipped
    assert notes.claims["section-1", "headline"]
    ours = {id: ratio for (_, id, _), ratio in notes.records.items()}
    assert ours == pytest.approx(printed("section-1"), rel=0.08)


def test_without_the_tables_behind_them_ratios_are_skipped(notes):
    recording.overview(notes, ours={"table-6:mean.improvement_over_sg": 300.0})
    notes.check_complete("section-1")
    assert list(notes.records) == [("section-1", "intro.global_success_over_sg", "as_published")]
    assert not notes.claims


def test_what_the_second_half_adds():
    assert recording.second_half(pd.Series([1, 2, 3, 4])) == 1
    assert recording.second_half(pd.Series([3, 6, 6])) == 1
    assert recording.second_half(pd.Series([4, 8, 8, 10])) == 0.25


def cost_as_printed():
    eight, nine = printed("table-8"), printed("table-9")
    seconds = pd.DataFrame({(name, m): [eight[f"{name}.{m}"]] for name in BENCHMARKS for m in METHODS})
    return {
        "rows": {"as_published": seconds},
        "seconds": seconds,
        "iterations": {
            ("as_published", name, which): [nine[f"{name}.{which}"]]
            for name in BENCHMARKS
            for which in ("all", "successful")
        },
        "n_seeds": 1000,
    }


def test_the_printed_seconds_and_iterations_give_the_printed_means_and_claims(notes):
    recording.cost(notes, **cost_as_printed())
    notes.check_complete("table-8", "table-9")
    notes.check_as_printed("table-8")
    notes.check_as_printed("table-9")
    assert all(notes.claims.values())


def test_iterations_of_a_benchmark_without_success_are_skipped(notes):
    arguments = cost_as_printed()
    arguments["iterations"] = {key: runs for key, runs in arguments["iterations"].items() if key[1] != "bank.age"}
    recording.cost(notes, **arguments)
    notes.check_complete("table-8", "table-9")
    assert [id for _, id in notes.skipped] == ["bank.age.all", "bank.age.successful"]
    assert not notes.claims["table-9", "consistent-with-table-6"]


def shares_as_printed():
    values = printed("table-10")
    after = {
        (name, 0, m): values[f"{name}.after.{m}"] / 100 if m != "nothing" else 0.5
        for name in BENCHMARKS
        for m in ("nothing", *METHODS)
    }
    results = pd.DataFrame({"share": after}).rename_axis(["benchmark", "trial", "added"])
    return pd.DataFrame({"share": {name: values[f"{name}.before"] / 100 for name in BENCHMARKS}}), results


def test_the_printed_shares_give_the_printed_means_and_claims_of_table_10(notes):
    before, results = shares_as_printed()
    recording.retraining(notes, before=before, results=results)
    notes.check_complete("table-10")
    notes.check_as_printed("table-10")
    assert all(notes.claims.values())


def test_without_discrimination_before_there_is_no_improvement(notes):
    before, results = shares_as_printed()
    before.loc["bank.age"] = 0
    recording.retraining(notes, before=before, results=results)
    notes.check_complete("table-10")
    assert len(notes.skipped) == 3
    assert not notes.claims["table-10", "every-method-helps"]


def test_sizes_and_parameters_of_the_models(notes):
    def subject(name, n_rows):
        n = len(SCHEMAS[name].names)
        weights = [np.tile([1, 1.25], (n, 1)).astype(np.float32), np.array([0, 1], dtype=np.float32)]
        return Subject(SCHEMAS[name].sample(n_rows, random_state=0), np.ones(n_rows, dtype=int), weights)

    recording.models(notes, subjects={name: subject(name, 120) for name in SCHEMAS})
    notes.check_complete("section-4.1", "table-2", "table-3")
    values = {id: value for (_, id, _), value in notes.records.items()}
    assert (values["census.instances"], values["bank.attributes"], values["layers"]) == (120, 16, 1)
    assert (values["max_total_instances"], values["c_num"], values["max_iter"]) == (1_001_000, 4, 10)
    for artefact in ("section-4.1", "table-2"):
        of_runs = {id for id, value in PAPER.artefact(artefact).values.items() if value.setting}
        assert {id: values[id] for id in of_runs} == {id: printed(artefact)[id] for id in of_runs}
    assert notes.claims["table-3", "credit-memorised"]
