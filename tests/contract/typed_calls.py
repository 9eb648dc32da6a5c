"""Calls of the public interface for mypy, which `make lint` runs; nothing here is executed.

A line with ``type: ignore`` is wrong on purpose: mypy fails if it does not report it.
"""

from typing import assert_type

import numpy as np
import pandas as pd

import fairlab
from fairlab.adf import ADF, Aequitas, SearchResult
from fairlab.auditing import ModelComparison, Report, forecast, run
from fairlab.cases import Finding, MethodResult, Schema
from fairlab.fairtest import AssociationReport, DataSource, Investigation, investigate
from fairlab.fliptest import Flipset, flipset
from fairlab.individual_fairness import RatioTest, loss_ratio_test
from fairlab.themis import Themis


def audits(model: object, table: pd.DataFrame) -> None:
    case = fairlab.Case(model, table, sensitive_features=["sex"], y_true="income", pos_label=">50K")
    assert_type(fairlab.audit(case, budget=20_000), Report)
    assert_type(fairlab.compare(case, case), ModelComparison)
    assert_type(run("themis", case).findings, tuple[Finding, ...])
    assert_type(ADF(n_local=50).run(case, budget=2_000), MethodResult)
    assert_type(Aequitas().run(case).findings, tuple[Finding, ...])
    fairlab.Case(model, table, sensitive_features=3)  # type: ignore[arg-type]
    fairlab.audit(case, confidence="0.95")  # type: ignore[call-arg]
    fairlab.audit(case).to_htm("audit.html")  # type: ignore[attr-defined]
    forecast(case, budget=None)  # type: ignore[arg-type]


def methods(model: object, table: pd.DataFrame, schema: Schema, numbers: np.ndarray) -> None:
    source = DataSource(table, budget=2)
    assert_type(investigate(source, Investigation(sensitive_features="sex", output="income")), AssociationReport)
    assert_type(flipset(model, table, table), Flipset)
    assert_type(loss_ratio_test(numbers, numbers), RatioTest)
    assert_type(Themis(model, schema).group_score("sex"), Finding)
    assert_type(ADF(model, schema, "sex").generate(table), SearchResult)
    Investigation(sensitive_features="sex", output="income", top_k="all")  # type: ignore[arg-type]
    loss_ratio_test(numbers, numbers, delta="small")  # type: ignore[call-arg]
