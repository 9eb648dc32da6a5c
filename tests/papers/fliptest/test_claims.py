from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import Flipset, transparency_report
from fairlab.papers.fliptest import claims
from fairlab.papers.fliptest.strategic_subjects import LABELS


def flip(n_positive, n_negative, n=10):
    """Return a flipset whose first rows are F+ and whose next rows are F-."""
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def found(several):
    return {(artefact, id): holds for artefact, judged in several.items() for id, (holds, _) in judged.items()}


def report(flips, X, **changes):
    """Return the report of people whose images differ by `changes`, the same for everyone."""
    image = X.copy()
    for name, change in changes.items():
        image[name] -= change
    return {name: transparency_report(of_map, X, image) for name, of_map in flips.items()}


@pytest.fixture
def hiring():
    women = pd.DataFrame(
        {"work_experience": [0.0, 0, 1, 1, 0, 0, 0, 0, 0, 0], "hair_length": [2.0, 2, -2, -2, *[0.0] * 6]}
    )
    flips = {"GAN 0": flip(2, 2), "GAN 1": flip(2, 2)}
    directions = pd.DataFrame({"F+": [10, 8], "F−": [8, 10]}, index=["women to men", "men to women"])
    reports = report(flips, women, work_experience=-1.0, hair_length=1.0)
    return {"women": women, "flips": flips, "reports": reports, "directions": directions}


def test_hiring_claims_hold_of_what_they_describe(hiring):
    assert set(found(claims.lipton(**hiring)).values()) == {True}


def test_hiring_claims_can_fail(hiring):
    weak = report(hiring["flips"], hiring["women"], work_experience=-0.7, hair_length=0.7)
    other = hiring["directions"].assign(**{"F+": [10, 5]})
    short = hiring["women"].assign(
        hair_length=-hiring["women"]["hair_length"], work_experience=[1, 1, 0, 0, *[0.0] * 6]
    )
    result = found(claims.lipton(women=short, flips=hiring["flips"], reports=weak, directions=other))
    assert set(result.values()) == {False}


def test_an_empty_flipset_is_no_claim(hiring):
    flips = hiring["flips"] | {"GAN 2": flip(0, 2)}
    reports = report(flips, hiring["women"], work_experience=-1.0, hair_length=1.0)
    result = found(claims.lipton(**hiring | {"flips": flips, "reports": reports}))
    assert result["figure-1", "positive-flipset-longer-hair"] is None
    assert result["figure-5", "advantaged-longer-hair"] is None
    assert result["figure-1", "negative-flipset-less-experience"]


def law_school(gan=0.5, lsat=-1.5, gpa=-1.0, male=-0.1, score=36.0):
    rows = [("counterfactual", 30.0, 3.0), ("GAN", score, 3.1)]
    return claims.law_school(
        shift=pd.Series({"counterfactual": 0.5, "GAN": gan}),
        members=pd.DataFrame(rows, columns=["map", "mean LSAT in F−", "mean GPA in F−"]),
        report=pd.DataFrame(
            {"counterfactual": [-0.1, -2.0, -1.0], "GAN": [male, lsat, gpa]}, index=["male", "LSAT", "GPA"]
        ),
    )


def test_law_school_claims():
    assert set(found(law_school()).values()) == {True}
    assert found(law_school(gan=0.62))["figure-6", "both-shift-up"]
    assert not found(law_school(gan=0.64))["figure-6", "both-shift-up"]
    assert not found(law_school(gan=-0.5))["figure-6", "both-shift-up"]
    for change in ({"lsat": -0.9, "gpa": -0.5}, {"gpa": -1.6}, {"male": 0.3}):
        assert not found(law_school(**change))["figure-12", "lsat-above-gpa"]
    assert not found(law_school(score=29.0))["figure-7", "gan-flipset-higher-scores"]
    assert found(law_school(score=np.nan))["figure-7", "gan-flipset-higher-scores"] is None


def test_arrests_claims():
    subgroups = pd.DataFrame({"subgroup": ["everyone", "few"], "correlation": [0.3, -0.2]})
    flips = pd.DataFrame({"share with more arrests": [1.0, 1.0]})
    assert set(found(claims.arrests(subgroups=subgroups, flips=flips)).values()) == {True}
    worse = claims.arrests(subgroups=subgroups.assign(correlation=[0.3, -0.4]), flips=flips * 0.9)
    assert set(found(worse).values()) == {False}
    nobody = claims.arrests(subgroups=subgroups.head(1), flips=flips * np.nan)
    assert list(found(nobody).values()) == [True, None]
    assert "no subgroup found" in nobody["section-5.5"]["subgroups-weaken-correlation"][1]


@pytest.mark.parametrize(
    ("plus", "minus", "holds"),
    [(150, 150, True), (100, 200, True), (90, 200, False), (60, 60, False), (400, 400, False)],
)
def test_three_percent_and_of_similar_size(plus, minus, holds):
    result = claims.gan_validation(counts=pd.DataFrame({"F+": [plus], "F−": [minus]}), n_points=10_000)
    assert list(found(result).values()) == [holds]


@pytest.fixture
def chicago_flips():
    people = pd.DataFrame(0.0, index=range(10), columns=list(LABELS))
    people.loc[:2, "age"], people.loc[:2, "narcotics_arrests"] = -1.0, 2.0
    people.loc[:2, ["gang_affiliation", "crime_trend"]] = 0.9, -0.5
    flips = {"GAN 0": flip(3, 0), "GAN 1": flip(3, 0)}
    return {"people": people, "flips": flips, "reports": report(flips, people, narcotics_arrests=3.0)}


def parity(chicago_flips, **changes):
    gangs = pd.Series([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 0])
    proxies = SimpleNamespace(proxies=["narcotics_arrests", "weapons_arrests"])
    judged = chicago_flips | {"gangs": gangs, "proxies": proxies}
    judged |= {"proxy_flips": judged["flips"], "proxy_reports": judged["reports"]}
    return found(claims.ssl_parity(**judged | changes))


def test_parity_claims(chicago_flips):
    result = parity(chicago_flips)
    assert not result.pop(("section-5.2.1", "asymmetric"))  # 3 people are not hundreds of times one
    assert set(result.values()) == {True}
    many = {"GAN 0": flip(100, 1, n=200)}
    people = pd.DataFrame(0.0, index=range(200), columns=list(LABELS))
    reports = report(many, people, age=1.0)
    result = parity(
        chicago_flips, people=people, gangs=pd.Series([1.0] * 100 + [0.0] * 100), flips=many, reports=reports
    )
    assert result["section-5.2.1", "asymmetric"]
    assert not result["figure-8", "narcotics-first"]
    assert not result["figure-3", "flipset-is-younger"]
    assert not result["figure-3", "gang-marginal-overlaps"]


def test_parity_without_flips(chicago_flips):
    nobody = {"GAN 0": flip(0, 0)}
    reports = report(nobody, chicago_flips["people"])
    result = parity(chicago_flips, flips=nobody, reports=reports, proxy_flips=nobody, proxy_reports=reports)
    assert sum(holds is None for holds in result.values()) == 6
    assert len(result) == 7


def test_fairtest_claim():
    def section(*attributes, significant=True):
        everyone = SimpleNamespace(is_significant=significant)
        others = [
            SimpleNamespace(node=SimpleNamespace(conditions=[SimpleNamespace(attribute=name)])) for name in attributes
        ]
        return SimpleNamespace(everyone=everyone, reported=[everyone, *others])

    rates = pd.Series({"BLK": 0.2, "WHI": 0.1})
    for holds, reported, of_race in (
        (True, section("age"), rates),
        (False, section("age", "narcotics_arrests"), rates),
        (False, section(significant=False), rates),
        (False, section(), rates[::-1].set_axis(["BLK", "WHI"])),
    ):
        assert list(found(claims.fairtest_on_ssl(section=reported, rates=of_race)).values()) == [holds]


def test_odds_claims(chicago_flips):
    people = chicago_flips["people"]
    flips = {"negatives": chicago_flips["flips"], "positives": {"GAN 0": flip(3, 2)}}
    reports = {
        "negatives": chicago_flips["reports"],
        "positives": report(flips["positives"], people, narcotics_arrests=1.0, age=2.0),
    }
    result = claims.ssl_odds(black_negatives=people, flips=flips, reports=reports)
    assert set(found(result).values()) == {True}
    older = report(flips["positives"], people, narcotics_arrests=1.0, age=-2.0)
    result = found(claims.ssl_odds(black_negatives=-people, flips=flips, reports=reports | {"positives": older}))
    assert not result["section-5.2.2", "positives-minus-name-age"]
    assert not result["figure-4", "younger-more-narcotics-more-gang"]
    nobody = {"negatives": {"GAN 0": flip(0, 0)}, "positives": {"GAN 0": flip(0, 0)}}
    result = claims.ssl_odds(black_negatives=people, flips=nobody, reports=reports)
    assert set(found(result).values()) == {None}


def intervals(gan=0.1, exact=(1.0, 0.8), gan_mean=1.0):
    rows = {}
    for title in ("independent", "correlated"):
        for dimension, pulled in zip((1, 16), exact, strict=True):
            means = {"exact": pulled, "GAN": gan_mean, "Seguy et al.": 1.0}
            variances = {"exact": 0.5, "GAN": gan, "Seguy et al.": 0.2}
            for name in means:
                for quantity, values in (("variance", variances), ("mean", means)):
                    value = values[name]
                    rows[name, title, dimension, quantity] = {"value": value, "low": value - 0.1, "high": value + 0.1}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.names = ["map", "features", "dimension", "quantity"]
    return table


def test_stability_claims():
    def judge(**changes):
        return {id: holds for (_, id), holds in found(claims.stability(intervals=intervals(**changes))).items()}

    assert set(judge().values()) == {True}
    assert not judge(gan=0.3)["gan-variance-below-exact"]
    assert not judge(gan=0.21)["gan-variance-below-seguy"]
    assert judge(gan=0.21)["gan-variance-below-exact"]
    for pulled in ({"exact": (1.0, 0.95)}, {"exact": (0.8, 0.85)}, {"gan_mean": 0.85}):
        assert not judge(**pulled)["exact-regresses-to-mean"]
        assert not judge(**pulled)["correlated-features-same"]
