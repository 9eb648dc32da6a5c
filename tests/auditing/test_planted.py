"""Twelve planted biases are named for what they are, first; of twenty-four fair models hardly one is accused."""

import planted
import pytest
from scipy.stats import binom

from fairlab import Case, audit

BUDGET = 60_000
MODELS = {model.name: model for model in planted.biased()}


def audited(model):
    options = {"decision_threshold": 0.5} if model.by_score else {}
    case = Case(
        model.model,
        model.table,
        sensitive_features=list(model.sensitive_features),
        features=model.features,
        y_true=model.y_true,
        pos_label=True,
        **options,
    )
    return audit(case, budget=BUDGET, progress=False)


@pytest.mark.parametrize("name", MODELS)
def test_a_planted_bias_is_named_first(name):
    report = audited(MODELS[name])
    assert report.verdict == "difference found"
    first = report.findings[0]
    assert (first.sensitive_features, first.measure) in MODELS[name].expected
    assert first.population == "people"


@pytest.mark.slow
def test_fair_models_are_accused_no_more_often_than_chance_allows():
    accused = [model.name for model in planted.fair() if audited(model).significant]
    assert binom.sf(len(accused) - 1, planted.N_FAIR, 0.05) > 0.01, accused
