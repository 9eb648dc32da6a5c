"""Twelve planted biases are named for what they are, first; of twenty-four fair models hardly one is accused."""

import other_measures
import other_tools
import pandas as pd
import planted
import pytest

BUDGET = 60_000
MODELS = {model.name: model for model in planted.biased()}


@pytest.mark.parametrize("budget", [BUDGET // 3, pytest.param(BUDGET, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_a_planted_bias_is_named_first(name, budget):
    report = other_tools.audited(MODELS[name], budget=budget)
    first = report.findings[0]
    assert (report.verdict, first.population) == ("difference found", "people")
    assert (first.who, first.measure) in MODELS[name].expected


@pytest.mark.slow
def test_the_table_beside_other_tools_holds_what_the_audit_says():
    rows = pd.read_csv(other_tools.TABLE)
    assert (rows.groupby("tool").size() == len(MODELS) + planted.N_FAIR).all()
    ours = rows[rows["tool"] == "fairlab"].drop(columns="seconds").reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.DataFrame(other_tools.answers("fairlab"))[list(ours)], ours)
    summary = other_tools.summary(rows).rename_axis("tool").reset_index()
    pd.testing.assert_frame_equal(summary, pd.read_csv(other_tools.SUMMARY), check_dtype=False)


@pytest.mark.slow
def test_the_tables_of_measures_hold_what_the_tools_say():
    people, columns = other_measures.tables(), ["data", "measure", "fairlab", "fairlearn", "why"]
    rows = [row for tool in ("fairlab", "fairlearn") for row in other_measures.answers(tool, people)]
    committed = pd.read_csv(other_measures.TABLE, keep_default_na=False, dtype=str)
    pd.testing.assert_frame_equal(other_measures.arranged(rows)[columns], committed[columns])
    pd.testing.assert_frame_equal(
        other_measures.scores().astype(str), pd.read_csv(other_measures.SCORES, dtype=str, keep_default_na=False)
    )
