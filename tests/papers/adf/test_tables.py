import numpy as np
import pandas as pd
import pytest

from fairlab.adf import discriminatory
from fairlab.networks import FeedForward
from fairlab.papers.adf import tables
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS
from fairlab.papers.adf.courses import ROWS_OF_500_SECONDS
from fairlab.suite.experiment import Experiment
from fairlab.suite.published import load_paper
from fairlab.suite.run import Run

pytestmark = pytest.mark.usefixtures("results")


def beside(experiment, artefact, form, ours):
    """Return what is published with `ours` beside it, a number or a Series by the published index."""
    return Experiment(f"adf/{experiment}", profile="smoke").beside(artefact, form).assign(ours=ours)


def test_counts_have_a_row_per_run():
    run = dict.fromkeys(tables.COUNTS, 1) | {"sample": np.zeros((2, 3)), "iterations": np.zeros(4)}
    searches = {"as_published": {("a", "adf"): [run, run | {"n_inputs": 5}], ("b", "sg"): [{"n_successful": 7}]}}
    frame = tables.counts(searches)
    assert frame.columns.tolist() == ["reading", "benchmark", "method", *tables.COUNTS]
    assert frame[["benchmark", "method", "n_inputs", "n_successful"]].fillna(0).to_numpy().tolist() == [
        ["a", "adf", 1, 1],
        ["a", "adf", 5, 1],
        ["b", "sg", 0, 7],
    ]


def test_published_counts_have_their_place_among_runs():
    rows = [
        {"reading": reading, "benchmark": name, "method": "aequitas", "n_inputs": n, "n_discriminatory": 1}
        for reading in ("as_published", "as_released")
        for name in BENCHMARKS
        for n in (0, 10**9)
    ]
    published = {id: value.value for id, value in load_paper("adf").artefact("table-4").values.items()}
    places = tables.places_among_runs(pd.DataFrame(rows), pd.Series(published))
    assert (places["gdiff"] == 0.5).all(axis=None)
    assert (places["id"] == 1).all(axis=None)


def test_a_certain_network_is_sharp(credit, constant):
    schema = SCHEMAS["credit"]
    soft = tables.sharpness(credit.network, schema, n=200, random_state=0)
    assert soft["gradient of the margin is 0"] == 0
    assert soft["gradient of the loss is 0"] < 0.02, "where both classes are as likely, and nowhere else"
    flat = tables.sharpness(FeedForward([200 * part for part in constant]), schema, n=50, random_state=0)
    assert set(flat.values()) == {1}


def test_domains_are_as_large_as_their_bounds():
    sizes = tables.domains()
    assert sizes.loc["census", "attributes"] == 13
    assert sizes.loc["bank", "inputs"] == pytest.approx(
        9 * 12 * 3 * 4 * 2 * 200 * 2 * 2 * 3 * 31 * 12 * 100 * 63 * 41 * 2 * 4
    )


def test_networks_are_compared_on_the_same_inputs(credit, constant, monkeypatch):
    monkeypatch.setattr(tables, "BENCHMARKS", {"credit.gender": BENCHMARKS["credit.gender"]})
    frame = tables.networks_compared({"credit": credit}, {"credit": [constant]}, n=300, random_state=1)
    draws = SCHEMAS["credit"].sample(300, random_state=1)
    share = discriminatory(credit.network, draws, "sex", schema=SCHEMAS["credit"]).mean()
    assert frame["network"].tolist() == ["authors", 0]
    assert frame["discriminatory share"].tolist() == [share, 0]
    assert frame["accuracy"].tolist() == [1, (credit.y == 0).mean()]


@pytest.fixture
def courses():
    """Runs of ADF that ask 10 rows for each input, half of them finds, and of symbolic generation that asks 100."""
    n = np.arange(1, 201)
    adf = pd.DataFrame({"rows": 10 * n, "inputs": n, "found": n // 2, "seed": 0})
    return {("a", "adf"): [adf, adf], ("a", "sg"): [adf.assign(rows=100 * n, found=n // 4)]}


def test_equal_budgets_are_rows_or_the_inputs_of_symbolic_generation(courses):
    spent = tables.budgets_spent(courses, n_rows=1005, n_inputs={"a": 40})
    spent = spent.set_index(["reading", "method", "run"])[["rows", "inputs", "found", "success rate"]]
    assert spent.loc["as_described", "adf", 1].tolist() == [1000, 100, 50, 0.5]
    assert spent.loc["as_published", "adf", 0].tolist() == [1000, 100, 50, 0.5]
    assert spent.loc["as_described", "sg", 0].tolist() == [1000, 10, 2, 0.2]
    assert spent.loc["as_published", "sg", 0].tolist() == [4000, 40, 10, 0.25]


def test_a_budget_below_the_first_input_pays_for_nothing(courses):
    spent = tables.budgets_spent(courses, n_rows=50, n_inputs={"a": 1}).set_index(["reading", "method"])
    assert spent.loc[("as_described", "sg"), ["rows", "inputs", "found", "success rate"]].to_numpy().sum() == 0


def test_rows_to_the_finds_and_what_they_are_in_equal_time(courses):
    rows = tables.rows_to_find(courses, n_found=20, n_rows=1000, n_inputs={"a": 50})
    assert rows["as_described"]["a", "adf"].tolist() == [400, 400]
    assert rows["as_described"]["a", "sg"].dropna().tolist() == [8000]
    assert rows["as_published"]["a", "sg"].dropna().tolist() == [80 * 1000 / 50]
    more = tables.rows_to_find(courses, n_found=100, n_rows=1000, n_inputs={"a": 50})
    assert more["as_described"]["a", "sg"].dropna().tolist() == [40_000], "scaled up: 50 were found in 20,000 rows"


def test_networks_of_one_class_have_no_vote(credit, constant):
    assert tables.with_several_classes([credit.weights, constant], credit.X) == [credit.weights]


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
    assert list(found) == ["100 steps, repeats", "100 steps, distinct", "1000 steps, repeats", "1000 steps, distinct"]
    short = found["100 steps, repeats"]
    assert short["a", "adf"].tolist() == [600, 800]
    assert short["a", "aequitas"].tolist() == [700, 900]
    assert short["a", "sg"].tolist() == [500, 500]
    assert (short["b"] == 0).all(axis=None), "where nothing succeeds nothing is found"
    assert (found["1000 steps, distinct"]["a"] == 250).all(axis=None)


def test_rates_of_table_5_need_no_clock():
    index = pd.MultiIndex.from_product([BENCHMARKS, ["adf", "sg"]])
    sides = beside("versus_symbolic", "table-5", tables.COUNTED, 20.0)
    sides.loc[sides.index.get_level_values("counted") == "id", "ours"] = 5.0
    rates = tables.rates_beside(sides, pd.Series(1000.0, index=index))
    rates = rates.set_index(["quantity", "method", "data", "feature"]).sort_index()
    adf, sg = (rates.loc["per_row", method, "census", "age"] for method in ("adf", "sg"))
    assert adf["published"] == pytest.approx(1000 * 3453 / ROWS_OF_500_SECONDS)
    assert sg["published"] == pytest.approx(1000 * 544 / (1290 * 1000 / 20))
    assert (rates.loc["per_row", "ours"] == 5).all()
    assert rates.loc["share", "sg", "census", "age"].tolist() == pytest.approx([100 * 544 / 1290, 25])


def test_shares_of_table_10_are_those_of_repetitions_and_the_published_ones():
    before = pd.Series(0.2, index=list(BENCHMARKS))
    index = pd.MultiIndex.from_product([BENCHMARKS, [0, 1]], names=["benchmark", "trial"])
    after = pd.DataFrame({"nothing": 0.1, "adf": 0.05}, index=index)
    published = beside("retraining", "table-10", "{id}", 0)["published"]
    shares = tables.shares_beside(published, before, after)
    first = shares[shares["benchmark"] == "census.age"].groupby(["added", "series"])["share"].mean()
    assert first["before", "published"] == pytest.approx(0.1088)
    assert first["before", "ours"] == pytest.approx(0.2)
    assert first["adf", "published"] == pytest.approx(0.0226)
    assert first["adf", "ours"] == pytest.approx(0.05)
    assert shares.groupby(["added", "series"]).size()["nothing", "ours"] == 2 * len(BENCHMARKS)
    assert shares.groupby(["added", "series"]).size()["before", "ours"] == len(BENCHMARKS)
    assert ("nothing", "published") not in first.index


def test_growth_has_a_row_per_run_and_seed():
    run = pd.DataFrame({"inputs": [3, 5], "discriminatory": [1, 2]}, index=pd.Index([1, 2], name="seeds"))
    growth = tables.growth_table({"adf": [run, run], "aequitas": [run, run.iloc[:0]]})
    assert growth.columns.tolist() == ["method", "run", "seeds", "inputs", "discriminatory"]
    assert growth.groupby(["method", "run"]).size().to_dict() == {("adf", 0): 2, ("adf", 1): 2, ("aequitas", 0): 2}


@pytest.fixture
def run():
    """A run of table 6 that found all but one number, and one of them in the other reading."""
    values = load_paper("adf").artefact("table-6").values
    common = {"artefact": "table-6", "note": "", "data": []}
    records = [
        common | {"id": id, "reading": "as_published", "values": [value.value] * 2}
        for id, value in values.items()
        if id != "census.race.sg"
    ]
    records.append(common | {"id": "census.age.adf", "reading": "as_described", "values": [900.0]})
    claims = [{"artefact": "table-6", "id": "adf-best", "holds": True, "detail": "x", "data": []}]
    parameters = {"n_seeds": 1000, "n_local": 1000, "n_local_sg": 1000}
    return Run("adf/phases", "quick", 0, parameters, records=records, claims=claims)


def test_ratios_follow_from_averages():
    found = tables.ratios({"table-4:mean.id_ratio_adf_to_aequitas": 25.0, "table-8:mean.time_share_of_sg": 20.0})
    assert found == {"abstract.id_times": 25, "intro.id_times_more": 24, "intro.efficiency_over_sg": 5}
    assert set(tables.RATIOS) == set(load_paper("adf").artefact("section-1").values)


def test_averages_of_the_printed_rows_are_the_printed_averages():
    values = load_paper("adf").artefacts
    for source, average in tables.printed_averages().items():
        artefact, _, id = source.partition(":")
        value = values[artefact].values[id]
        assert average == pytest.approx(value.value, abs=1.01 * value.step), source


def test_averages_are_of_what_was_recorded_as_published(run):
    averages = tables.recorded_averages([run])
    assert averages["table-6:census.age.adf"] == 658
    assert "table-6:census.race.sg" not in averages
