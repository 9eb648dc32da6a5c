"""Each function records everything that its experiment's artefacts have published, and nothing else."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import Flipset, transparency_report
from fairlab.papers.fliptest import recording
from fairlab.papers.fliptest.ensembles import Ensemble, MapFits, validate_map
from fairlab.papers.fliptest.strategic_subjects import LABELS

RNG = np.random.default_rng(0)
WOMEN = pd.DataFrame(RNG.normal(size=(10, 2)), columns=["work_experience", "hair_length"])
PEOPLE = pd.DataFrame(RNG.normal(size=(10, 8)), columns=list(LABELS))


def flip(n_positive, n_negative, n=10):
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def report(of_map, X):
    return transparency_report(of_map, X, X - 1)


def hiring(*sizes):
    flips = {f"GAN {k}": flip(*pair) for k, pair in enumerate(sizes)}
    reports = {name: report(of_map, WOMEN) for name, of_map in flips.items()}
    readings = ["as_published", "as_described"]
    return {
        "hired": pd.DataFrame({reading: {"women": 0.3, "men": 0.2} for reading in readings}),
        "coef": {"work_experience": 1.4, "hair_length": 1.2},
        "women": WOMEN,
        "flips": dict.fromkeys(readings, flips),
        "reports": dict.fromkeys(readings, reports),
        "directions": pd.DataFrame({"F+": [3, 2], "F−": [2, 3]}, index=["women to men", "men to women"]),
        "note": "",
    }


def test_lipton(recorder):
    exp = recorder("fliptest/lipton")
    recording.lipton(exp, **hiring((3, 2), (4, 0)))
    assert exp.missing() == (set(), set())
    for reading in ("as_published", "as_described"):
        assert exp.records["section-5.3", "women_to_men.f_plus", reading] == [3, 4]
        assert exp.records["section-5.3", "transparency.f_minus.hair_length", reading] == [1]  # one map has no F-
    assert exp.records["section-5.3", "model.weight.hair_length", "as_published"] == [1.2]
    assert exp.skipped[("figure-1", "negative-flipset-less-experience")] == "a flipset is empty under some map"


def test_lipton_without_any_flip(recorder):
    exp = recorder("fliptest/lipton")
    recording.lipton(exp, **hiring((0, 0)))
    assert exp.missing() == (set(), set())
    assert exp.skipped["section-5.3", "transparency.f_plus.hair_length"] == "the flipset is empty under every map"


def test_law_school(recorder):
    exp = recorder("fliptest/law_school")
    flips = {("counterfactual", 0): flip(0, 4), ("counterfactual", 1): flip(1, 4), ("GAN", 3): flip(0, 5)}
    rows = [("counterfactual", 30.0, 3.0), ("GAN", 31.0, 3.1)]
    recording.law_school(
        exp,
        flips=flips | {("exact", 0): flip(2, 2)},
        shift=pd.Series({"counterfactual": 0.5, "GAN": 0.5}),
        members=pd.DataFrame(rows, columns=["map", "mean LSAT in F−", "mean GPA in F−"]),
        report=pd.DataFrame({"counterfactual": [0.0, 2, 1], "GAN": [0.0, 2, 1]}, index=["male", "LSAT", "GPA"]),
        note="",
    )
    assert exp.missing() == (set(), set())
    assert exp.records["figure-7", "counterfactual.f_plus", "as_published"] == [0, 1]
    assert exp.records["figure-7", "gan.f_minus", "as_published"] == [5]


@pytest.mark.parametrize("empty", [False, True])
def test_arrests(recorder, empty):
    exp = recorder("fliptest/arrests")
    subgroups = pd.DataFrame(
        {"subgroup": ["all"], "correlation": [0.3], "low": [0.25], "high": [0.35], "reported": [True]}
    )
    share, difference = ([np.nan, np.nan], [np.nan, np.nan]) if empty else ([1.0, np.nan], [1.5, np.nan])
    flips = {"F+": [3, 0], "F−": [0, 0], "share with more arrests": share, "mean difference": difference}
    recording.arrests(exp, subgroups=subgroups, flips=pd.DataFrame(flips), note="")
    assert exp.missing() == (set(), set())
    assert exp.records["section-5.5", "fairtest.correlation", "as_published"] == [0.25, 0.35]
    assert exp.records["section-5.5", "fliptest.f_plus", "as_published"] == [3, 0]
    assert ("section-5.5", "fliptest.mean_difference") in exp.skipped if empty else not exp.skipped


def test_gan_validation(recorder):
    exp = recorder("fliptest/gan_validation")
    rows = {"mean_l1": 1.0, "mean_squared_l1": 2.0}
    listed = {
        "lipton": {"work_experience": "work_experience", "hair_length": "hair_length"},
        "law_school": {"work_experience": "lsat", "hair_length": "gpa"},
        "ssl_dp": {"work_experience": "age", "hair_length": "gang", "third": "narcotics"},
    }
    listed["ssl_eo_negative"] = listed["ssl_dp"]
    X = WOMEN.assign(third=RNG.normal(size=10))
    good, bad = validate_map(X, X, X_source=X + 1), validate_map(X, X + 9, X_source=X)
    maps = Ensemble(X, {"GAN 0": X, "GAN 1": X}, {"GAN 0": good, "GAN 1": bad})
    blocks = {name: MapFits(of_block, maps, [rows], []) for name, of_block in listed.items()}
    recording.gan_validation(
        exp,
        counts=pd.DataFrame({"F+": [3, 5], "F−": [4, 4]}),
        n_points=100,
        note="",
        blocks=blocks,
        one_regression=pd.Series([0.5, 0.7]),
    )
    assert exp.missing() == (set(), set())
    assert exp.records["section-5.1", "f_plus", "as_published"] == [3, 5]
    assert exp.records["table-1", "ssl_dp.narcotics.ks", "as_published"] == [0]
    assert exp.records["table-1", "lipton.work_experience.mse_diff", "as_described"] == [0.5, 0.7]
    assert exp.records["table-1", "lipton.distance.gan", "as_published"] == pytest.approx([3])
    assert exp.records["table-1", "lipton.distance.gan", "as_described"] == pytest.approx([9])
    assert exp.records["table-1", "lipton.distance.exact", "as_described"] == [2]


def test_ssl_parity(recorder):
    exp = recorder("fliptest/ssl_parity")
    flips = {"GAN 0": flip(3, 2), "GAN 1": flip(3, 1)}
    reports = {name: report(of_map, PEOPLE) for name, of_map in flips.items()}
    everyone = SimpleNamespace(is_significant=True)
    recording.ssl_parity(
        exp,
        flips=flips,
        note="",
        section=SimpleNamespace(everyone=everyone, reported=[everyone]),
        rates=pd.Series({"BLK": 0.2, "WHI": 0.1}),
        people=PEOPLE,
        gangs=(PEOPLE["gang_affiliation"] > 0).astype(int),
        reports=reports,
        proxies=SimpleNamespace(proxies=["narcotics_arrests"]),
        proxy_flips=flips,
        proxy_reports=reports,
    )
    assert exp.missing() == (set(), set())
    assert exp.records["section-5.2.1", "black_high_risk", "as_published"] == [3]
    assert exp.records["section-5.2.1", "black_low_risk", "as_published"] == [7]
    assert exp.records["section-5.2.1", "f_plus_share_of_high_risk", "as_published"] == [1, 1]


def test_ssl_odds(recorder):
    exp = recorder("fliptest/ssl_odds")
    flips = {"negatives": {"GAN 0": flip(3, 2)}, "positives": {"GAN 1": flip(4, 1)}}
    reports = {
        truth: {name: report(of_map, PEOPLE) for name, of_map in several.items()} for truth, several in flips.items()
    }
    groups = {"negatives": {"black": PEOPLE, "white": PEOPLE[:4]}, "positives": {"black": PEOPLE, "white": PEOPLE[:6]}}
    notes = {"negatives": "", "positives": ""}
    recording.ssl_odds(exp, groups=groups, flips=flips, reports=reports, notes=notes)
    missing, unexpected = exp.missing()
    assert (missing, unexpected) == (set(), set())
    assert exp.records["section-5.2.2", "positives.black_high_risk", "as_published"] == [4]
    assert exp.records["section-5.2.2", "positives.black_low_risk", "as_published"] == [6]
    assert exp.records["section-5.2.2", "positives.white_total", "as_published"] == [6]
    assert exp.records["section-5.2.2", "negatives.f_minus", "as_published"] == [2]


def test_stability(recorder):
    exp = recorder("fliptest/stability")
    keys = [
        (name, title, 1, quantity)
        for name in ("exact", "Seguy et al.", "GAN")
        for title in ("independent features", "correlated features")
        for quantity in ("variance", "mean")
    ]
    index = pd.MultiIndex.from_tuples(keys, names=["map", "features", "dimension", "quantity"])
    recording.stability(exp, intervals=pd.DataFrame({"value": 0.5, "low": 0.4, "high": 0.6}, index=index))
    assert exp.missing() == (set(), set())
    assert exp.claimed["figure-2", "gan-variance-below-exact"] is False


@pytest.mark.parametrize(("more", "holds"), [([0, 2], True), ([1, 2], False), ([0, 0], False)])
def test_overview(recorder, more, holds):
    exp = recorder("fliptest/overview")
    recording.overview(exp, models=pd.DataFrame({"F+": [3, 5], "F−": [3, 4], "more positives": more}))
    assert exp.missing() == (set(), set())
    assert exp.claimed["proposition-2", "balance-is-demographic-parity"] is holds
