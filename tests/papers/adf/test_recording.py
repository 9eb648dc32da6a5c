"""The printed numbers go in as if they were ours: then means come out as printed, and every claim holds."""

import numpy as np
import pandas as pd
import pytest

from fairlab.papers.adf import recording, tables
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject
from fairlab.papers.adf.courses import ROWS_OF_500_SECONDS
from fairlab.papers.adf.tables import METHODS, growth_table, printed_averages
from fairlab.suite.experiment import Experiment
from fairlab.suite.published import half_step, load_paper
from fairlab.suite.run import Run

PAPER = load_paper("adf")
PAIRS = pd.MultiIndex.from_product([BENCHMARKS, METHODS], names=["benchmark", "method"])


def printed(artefact, ids=None):
    """Return published values by id, or those of some ids whose parts are given."""
    values = {id: float(value.value) for id, value in PAPER.artefact(artefact).values.items()}
    return values if ids is None else [values[".".join(id)] for id in ids]


def counted_as_printed(artefact, methods):
    """Return the published counts as a table of runs."""
    values = printed(artefact)
    rows = pd.DataFrame([(name, method) for name in BENCHMARKS for method in methods], columns=["benchmark", "method"])
    ids = (rows["benchmark"] + "." + rows["method"]).tolist()
    counts = {"n_inputs": [values[f"{id}.gdiff"] for id in ids], "n_discriminatory": [values[f"{id}.id"] for id in ids]}
    rows = rows.assign(reading="as_published", run=0, **counts)
    return rows.assign(success_rate=rows["n_discriminatory"] / rows["n_inputs"])


def versus_aequitas():
    return {"counted": counted_as_printed("table-4", ("adf", "aequitas"))}


def versus_symbolic():
    names = {"n_inputs": "inputs", "n_discriminatory": "found", "success_rate": "success rate"}
    counted = counted_as_printed("table-5", ("adf", "sg")).rename(columns=names)
    explored = counted[counted["method"] == "sg"].rename(columns={"inputs": "gdiff"})
    return {"counted": counted, "explored": explored[["benchmark", "run", "gdiff"]]}


def phases():
    points = pd.Series(printed("figure-3"))
    points.index = points.index.str.split(".seed_|[.]", regex=True).map(tuple)
    curves = {}
    for method in ("adf", "aequitas"):
        known = points[method].rename({"id": "discriminatory"}).unstack(0)
        known.index = known.index.astype(int)
        every = known.sort_index().reindex(range(1, 335)).interpolate(limit_direction="both")
        every.loc[1:25] = known.loc[25].to_numpy() * np.arange(1, 26)[:, None] / 25  # from nothing to the first point
        curves[method] = [every.rename_axis("seeds")]
    successes = pd.DataFrame({"n_successful": printed("table-6", PAIRS)}, index=PAIRS).reset_index()
    yields = pd.DataFrame([printed("table-7", PAIRS)], columns=PAIRS)
    successes["reading"] = "as_published"
    return {"successes": successes, "yields": yields, "growth": growth_table(curves), "n_starts": 5}


def cost():
    seconds = pd.DataFrame([printed("table-8", PAIRS)], columns=PAIRS)
    both = pd.MultiIndex.from_product([BENCHMARKS, ("all", "successful")], names=["benchmark", "seeds"])
    iterations = pd.DataFrame({"iterations": printed("table-9", both)}, index=both).reset_index()
    iterations["reading"] = "as_published"
    return {"rows": {"as_published": seconds}, "seconds": seconds, "iterations": iterations, "n_seeds": 1000}


def retraining():
    values = pd.Series(printed("table-10")) / 100
    after = {
        (name, 0, m): values[f"{name}.after.{m}"] if m != "nothing" else 0.5
        for name in BENCHMARKS
        for m in ("nothing", *METHODS)
    }
    results = pd.DataFrame({"share": after}).rename_axis(["benchmark", "trial", "added"])
    return {
        "before": pd.DataFrame({"share": {name: values[f"{name}.before"] for name in BENCHMARKS}}),
        "results": results,
    }


@pytest.mark.parametrize("arguments", [versus_aequitas, versus_symbolic, phases, cost, retraining])
def test_the_printed_numbers_give_the_printed_means_and_claims(recorded, arguments):
    exp = recorded(f"adf/{arguments.__name__}", **arguments())
    exp.check_as_printed()
    assert set(exp.judged.values()) == {True}
    assert not exp.skipped


@pytest.mark.parametrize(
    ("arguments", "other", "failed"),
    [
        (versus_aequitas, "aequitas", {"adf-more-instances", "adf-more-ids", "adf-higher-success-rate"}),
        (versus_symbolic, "sg", {"adf-more-instances", "adf-more-ids"}),
        (phases, "aequitas", {"adf-best", "sg-second", "adf-linear", "aequitas-saturates", "adf-ends-higher"}),
        (cost, "aequitas", {"adf-fastest"}),
        (cost, "sg", {"adf-fastest", "sg-slowest"}),
        (retraining, "aequitas", {"adf-best"}),
    ],
)
def test_claims_fail_where_methods_are_exchanged(recorded, arguments, other, failed):
    names = {"adf": other, other: "adf"}
    exchanged = {}
    for key, value in arguments().items():
        value = value["as_published"] if key == "rows" else value
        if isinstance(value, pd.DataFrame):
            value = value.rename(columns=names, index=names)
            value = value.assign(method=value["method"].replace(names)) if "method" in value else value
        exchanged[key] = {"as_published": value} if key == "rows" else value
    assert recorded(f"adf/{arguments.__name__}", **exchanged).failed == failed


def test_without_finds_a_ratio_is_skipped(recorded):
    for arguments, other, columns in (
        (versus_aequitas, "aequitas", ["n_discriminatory", "success_rate"]),
        (versus_symbolic, "sg", ["found", "success rate"]),
    ):
        given = arguments()
        counted = given["counted"]
        counted.loc[(counted["benchmark"] == "bank.age") & (counted["method"] == other), columns] = 0
        both = pd.concat([counted, counted.assign(reading="as_described")])
        exp = recorded(f"adf/{arguments.__name__}", **given | {"counted": both})
        assert [id for _, id in exp.skipped] == [f"mean.id_ratio_adf_to_{other}"]
        assert ("as_described" in {reading for *_, reading in exp.records}) == (other == "aequitas")


@pytest.mark.parametrize("n_seeds", [0, 1])
def test_short_curves_and_methods_without_finds_are_skipped(recorded, n_seeds):
    arguments = phases()
    arguments["growth"] = arguments["growth"].query("seeds <= @n_seeds")
    arguments["yields"]["bank.age", "sg"] = 0
    exp = recorded("adf/phases", **arguments)
    skipped = {"adf-linear", "aequitas-saturates", "adf-ends-higher", "adf.id.seed_25", "mean.improvement_over_sg"}
    assert skipped <= {id for _, id in exp.skipped}
    assert not exp.judged["table-7", "sg-second"]


def test_one_flat_run_makes_no_flat_curve(recorded):
    arguments = phases()
    straight = arguments["growth"].query("method == 'aequitas'").assign(run=1)
    straight["inputs"] = straight["discriminatory"] = 500 * straight["seeds"]
    arguments["growth"] = pd.concat([arguments["growth"], straight])
    assert "aequitas-saturates" in recorded("adf/phases", **arguments).failed


def test_the_ratios_of_section_1_follow_from_the_printed_tables(recorded):
    over_sg = {f"table-5:{id}": ratio for id, ratio in printed("table-5").items() if id.endswith("ratio_adf_to_sg")}
    exp = recorded("adf/overview", ours=printed_averages() | over_sg)
    assert exp.judged == {("section-1", "headline"): True}
    assert {id: ratio for (_, id, _), [ratio] in exp.records.items()} == pytest.approx(printed("section-1"), rel=0.08)
    alone = recorded("adf/overview", ours={"table-6:mean.improvement_over_sg": 300.0})
    assert list(alone.records) == [("section-1", "intro.global_success_over_sg", "as_published")]


@pytest.mark.parametrize(("curve", "added"), [([1, 2, 3, 4], 1), ([3, 6, 6], 1), ([4, 8, 8, 10], 0.25)])
def test_what_the_second_half_adds(curve, added):
    assert recording.second_half(pd.Series(curve)) == added


def test_iterations_of_a_benchmark_without_success_are_skipped(recorded):
    arguments = cost()
    exp = recorded("adf/cost", **arguments | {"iterations": arguments["iterations"].query("benchmark != 'bank.age'")})
    assert [id for _, id in exp.skipped] == ["bank.age.all", "bank.age.successful"]
    assert exp.failed == {"consistent-with-table-6"}


def test_without_discrimination_before_there_is_no_improvement(recorded):
    arguments = retraining()
    arguments["before"].loc["bank.age"] = 0
    exp = recorded("adf/retraining", **arguments)
    assert (len(exp.skipped), exp.failed) == (3, {"every-method-helps"})


def test_sizes_and_parameters_of_the_models(recorded):
    subjects = {}
    for name, schema in SCHEMAS.items():
        weights = [np.tile([1, 1.25], (len(schema.names), 1)).astype(np.float32), np.array([0, 1], dtype=np.float32)]
        subjects[name] = Subject(schema.sample(120, random_state=0), np.ones(120, dtype=int), weights)
    steps = ("direction", "moved", "probability")
    example = {step: [printed("section-3")[f"{step}.{name}"] for name in SCHEMAS["census"].names] for step in steps}
    exp = recorded("adf/models", subjects=subjects, example=example, becomes_discriminatory=True)
    values = {id: value for (_, id, _), [value] in exp.records.items()}
    published = PAPER.artefact("section-4.1").values | PAPER.artefact("table-2").values
    fixed = {id: float(value.value) for id, value in published.items() if value.setting}
    assert values == values | fixed | {"census.instances": 120, "bank.attributes": 16, "layers": 1}
    assert exp.judged["table-3", "credit-memorised"]


# Tables of runs beside the published numbers, and the figures drawn from them.

pytestmark = pytest.mark.usefixtures("results")


def beside(experiment, artefact, form, ours):
    """Return what is published with `ours` beside it, a number or a Series by the published index."""
    return Experiment(f"adf/{experiment}", profile="smoke").beside(artefact, form).assign(ours=ours)


def test_counts_have_a_row_per_run():
    run = dict.fromkeys(tables.COUNTS, 1) | {"sample": np.zeros((2, 3)), "iterations": np.zeros(4)}
    searches = {"as_published": {("a", "adf"): [run, run | {"n_inputs": 5}], ("b", "sg"): [{"n_successful": 7}]}}
    frame = tables.counts(searches)[["benchmark", "method", "n_inputs", "n_successful"]]
    assert frame.fillna(0).to_numpy().tolist() == [["a", "adf", 1, 1], ["a", "adf", 5, 1], ["b", "sg", 0, 7]]


def test_published_counts_have_their_place_among_runs():
    rows = [
        {"reading": reading, "benchmark": name, "method": "aequitas", "n_inputs": n, "n_discriminatory": 1}
        for reading in ("as_published", "as_released")
        for name in BENCHMARKS
        for n in (0, 10**9)
    ]
    places = tables.places_among_runs(pd.DataFrame(rows), pd.Series(printed("table-4")))
    assert (places["gdiff"] == 0.5).all(axis=None)
    assert (places["id"] == 1).all(axis=None)


@pytest.fixture
def courses():
    """Runs of ADF that ask 10 rows for each input, half of them finds, and of symbolic generation that asks 100."""
    n = np.arange(1, 201)
    adf = pd.DataFrame({"rows": 10 * n, "inputs": n, "found": n // 2, "seed": 0})
    return {("a", "adf"): [adf, adf], ("a", "sg"): [adf.assign(rows=100 * n, found=n // 4)]}


@pytest.mark.parametrize(
    ("n_rows", "n_inputs", "expected"),
    [
        (
            1005,
            40,
            {
                ("equal rows", "adf"): [1000, 100, 50, 0.5],
                ("as_published", "adf"): [1000, 100, 50, 0.5],
                ("equal rows", "sg"): [1000, 10, 2, 0.2],
                ("as_published", "sg"): [4000, 40, 10, 0.25],
            },
        ),
        (50, 1, {("equal rows", "sg"): [0, 0, 0, 0]}),  # below the first input
    ],
)
def test_equal_budgets_are_rows_or_the_inputs_of_symbolic_generation(courses, n_rows, n_inputs, expected):
    spent = tables.budgets_spent(courses, n_rows=n_rows, n_inputs={"a": n_inputs}).query("run == 0")
    found = spent.set_index(["reading", "method"])[["rows", "inputs", "found", "success rate"]].T.to_dict("list")
    assert found | expected == found


def test_inputs_in_the_time_of_as_many_finds(courses):
    explored = tables.explored_in_time(courses, n_found=20, seconds={"a": 100.0}, limit=50)
    assert explored.to_dict("records") == [{"benchmark": "a", "run": 0, "gdiff": 40.0}]  # 20 are found in 80 inputs


def test_rows_to_the_finds_and_what_they_are_in_equal_time(courses):
    rows = tables.rows_to_find(courses, n_found=20, n_rows=1000, n_inputs={"a": 50})
    assert rows["as_described"]["a", "adf"].tolist() == [400, 400]
    assert rows["as_described"]["a", "sg"].dropna().tolist() == [8000]
    assert rows["as_published"]["a", "sg"].dropna().tolist() == [80 * 1000 / 50]
    more = tables.rows_to_find(courses, n_found=100, n_rows=1000, n_inputs={"a": 50})
    assert more["as_described"]["a", "sg"].dropna().tolist() == [40_000], "scaled up: 50 were found in 20,000 rows"


def test_iterations_of_all_seeds_and_of_the_successful_ones():
    run = {"iterations": np.array([0, 4, 10, 10]), "successful": np.array([True, True, False, False])}
    failed = run | {"successful": np.zeros(4, dtype=bool)}
    found = tables.iterations_of({"as_published": {"a": [run], "b": [run, failed]}})
    assert found.to_numpy().tolist() == [["as_published", "a", "all", 6.0], ["as_published", "a", "successful", 2.0]]


def test_finds_are_counted_by_protocol():
    lines = [(run, method, steps) for run in (0, 1) for method in ("adf", "aequitas") for steps in (100, 1000)]
    lines += [(0, "sg", 7), (1, "sg", 7)]
    around = pd.DataFrame(lines, columns=["run", "method", "steps"]).assign(repeats=0.5, distinct=0.25)
    around.loc[around["steps"] == 100, "repeats"] = [0.6, 0.7, 0.8, 0.9]
    found = tables.finds_by_protocol({"a": around, "b": around.iloc[:0]})
    short = found["100 steps, repeats"]
    by_method = {"adf": [600, 800], "aequitas": [700, 900], "sg": [500, 500]}
    assert {method: short["a", method].tolist() for method in by_method} == by_method
    assert (short["b"] == 0).all(axis=None), "where nothing succeeds nothing is found"
    assert (found["1000 steps, distinct"]["a"] == 250).all(axis=None)


def test_rates_of_table_5_need_no_clock():
    index = pd.MultiIndex.from_product([BENCHMARKS, ["adf", "sg"]])
    sides = beside("versus_symbolic", "table-5", tables.COUNTED, 20.0)
    sides.loc[sides.index.get_level_values("counted") == "id", "ours"] = 5.0
    rates = tables.rates_beside(sides, pd.DataFrame({"rows": 1000.0, "inputs": 20.0}, index=index))
    rates = rates.set_index(["quantity", "method", "data", "feature"]).sort_index()
    adf, sg = (rates.loc["per_row", method, "census", "age"] for method in ("adf", "sg"))
    assert adf["published"] == pytest.approx(1000 * 3453 / ROWS_OF_500_SECONDS)
    assert sg.tolist() == pytest.approx([1000 * 544 / (1290 * 1000 / 20), 5])
    assert rates.loc["share", "sg", "census", "age"].tolist() == pytest.approx([100 * 544 / 1290, 25])


def test_shares_of_table_10_are_those_of_repetitions_and_the_published_ones():
    before = pd.Series(0.2, index=list(BENCHMARKS))
    index = pd.MultiIndex.from_product([BENCHMARKS, [0, 1]], names=["benchmark", "trial"])
    after = pd.DataFrame({"nothing": 0.1, "adf": 0.05}, index=index)
    shares = tables.shares_beside(beside("retraining", "table-10", "{id}", 0)["published"], before, after)
    found = shares[shares["benchmark"] == "census.age"].groupby(["added", "series"])["share"].agg(["mean", "size"])
    expected = {("before", "published"): [0.1088, 1], ("before", "ours"): [0.2, 1], ("nothing", "ours"): [0.1, 2]}
    expected |= {("adf", "published"): [0.0226, 1], ("adf", "ours"): [0.05, 2]}
    assert {key: found.loc[key].tolist() for key in expected} == {k: pytest.approx(v) for k, v in expected.items()}


def test_ratios_follow_from_averages():
    found = tables.ratios({"table-4:mean.id_ratio_adf_to_aequitas": 25.0, "table-8:mean.time_share_of_sg": 20.0})
    assert found == {"abstract.id_times": 25, "intro.id_times_more": 24, "intro.efficiency_over_sg": 5}


def test_averages_of_the_printed_rows_are_the_printed_averages():
    averages = tables.printed_averages()
    values = {source: PAPER.artefact(source.split(":")[0]).values[source.split(":")[1]] for source in averages}
    assert averages == {
        id: pytest.approx(float(of.value), abs=1.01 * half_step(of.printed_value)) for id, of in values.items()
    }


def test_averages_are_of_what_was_recorded_as_published():
    common = {"artefact": "table-6", "id": "census.age.adf", "note": "", "data": []}
    values = {"as_published": [600.0, 716.0], "as_described": [900.0]}
    records = [common | {"reading": reading, "values": found} for reading, found in values.items()]
    parameters = {"n_seeds": 1000, "n_local": 1000, "n_local_sg": 1000}
    averages = tables.recorded_averages([Run("adf/phases", "quick", 0, parameters, records=records)])
    assert averages == {"table-6:census.age.adf": 658}
