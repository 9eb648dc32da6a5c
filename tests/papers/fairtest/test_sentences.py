from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import AssociationReport, Correlation
from fairlab.papers.fairtest import sentences
from fairlab.papers.fairtest.contexts import NATIVE, WHITE

INF = np.inf


@pytest.fixture
def shoppers():
    """Native shoppers get the high price in half of the cases, white ones in a quarter; two live in Alaska."""
    features = pd.DataFrame({"race": [NATIVE] * 4 + [WHITE] * 4, "state": ["AK", "NY"] + ["NY"] * 5 + ["AK"]})
    target = pd.Series(["high", "high", "low", "low", "high", "low", "low", "low"])
    return SimpleNamespace(features=features, target=target)


def test_high_prices_by_race_and_in_alaska(shoppers):
    assert sentences.high_prices(shoppers).to_dict() == {NATIVE: 0.5, WHITE: 0.25}
    alaska = sentences.high_prices_in_alaska(shoppers)
    assert alaska.loc[NATIVE, ("size", "Alaska")] == 1
    assert alaska.loc[WHITE, ("mean", "elsewhere")] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("income", "race", "holds"),
    [
        ((0.01, 0.02, 0.01), (0.03, 0.04, 0.01), True),
        ((0.05, 0.06, 0.01), (0.03, 0.04, 0.01), False),  # more with income
        ((0.00, 0.02, 0.06), (0.03, 0.04, 0.01), False),  # income not significant
    ],
)
def test_staples(section, shoppers, income, race, holds):
    report = AssociationReport((section({(): income}, protected="income"), section({(): race}, protected="race")))
    answer = sentences.staples(report, shoppers)
    assert answer[0] is holds
    assert f"{NATIVE}, 50%" in answer[1]


def test_staples_needs_native_shoppers_to_pay_most(section, shoppers):
    report = AssociationReport(
        tuple(section({(): (low, 0.1, 0.01)}, protected=p) for p, low in (("income", 0), ("race", 0.05)))
    )
    shoppers.target[:] = ["low"] * 4 + ["high"] * 4
    assert not sentences.staples(report, shoppers)[0]


def test_health(association):
    def corr(low, high):
        return association(low, high, metric=Correlation())

    assert sentences.health(corr(0.2, 0.3), corr(0.1, 0.2))[0]
    assert not sentences.health(corr(0.2, 0.3), corr(-0.1, 0.2))[0]  # nothing is left
    assert not sentences.health(corr(0.2, 0.3), corr(0.25, 0.3))[0]  # not less
    assert not sentences.health(corr(-0.3, -0.2), corr(-0.2, -0.1))[0]  # falls with age


def test_tagger_and_movies(association):
    labels = [association(0.1, 0.2, p, part=name) for name, p in (("cart", 0.01), ("tree", 0.9))]
    answer = sentences.tagger(labels)
    assert answer[0]
    assert answer[1] == "1 of 2 labels tested: cart, ..."
    assert not sentences.tagger(labels[1:])[0]
    assert sentences.movies(association(0.1, 0.2, 0.01))[0]
    assert not sentences.movies(association(0.1, 0.2, 0.06))[0]
    assert not sentences.movies(association(-0.2, -0.1, 0.01))[0]


def test_adult_looks_at_lower_bounds_of_twelve_years_and_nothing_else(section):
    tree = {
        (): (0.02, 0.04, 0.01),
        (("education-num", (11.5, INF)),): (0.03, 0.05, 0.01),
        (("education-num", (-INF, 11.5)),): (0.01, 0.05, 0.01),
        (("education-num", (13.5, INF)),): (0.01, 0.05, 0.01),
        (("education-num", (11.5, INF)), ("age", (30.0, INF))): (0.01, 0.05, 0.01),
    }
    assert [str(finding.node) for finding in sentences.educated(section(tree))] == ["education-num > 11.5"]
    assert sentences.adult(section(tree))[0]
    tree[(("education-num", (11.5, INF)),)] = (0.01, 0.05, 0.01)
    assert not sentences.adult(section(tree))[0]
    assert not sentences.adult(section({(): (0.02, 0.04, 0.01)}))[0]


def test_berkeley(association):
    assert sentences.berkeley(association(-0.2, -0.1, 0.001), association(-0.1, 0.1, 0.8))[0]
    assert not sentences.berkeley(association(-0.2, -0.1, 0.001), association(0.1, 0.2, 0.01))[0]
    assert not sentences.berkeley(association(-0.2, 0.1, 0.3), association(-0.1, 0.1, 0.8))[0]
