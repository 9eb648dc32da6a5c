"""Each function records all that its experiment publishes; claims hold of what they describe and fail otherwise."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import Flipset, flipset, transparency_report
from fairlab.papers.fliptest import figures
from fairlab.papers.fliptest.ensembles import Ensemble, MapFits, validate_map
from fairlab.papers.fliptest.strategic_subjects import LABELS


def flip(n_positive, n_negative, n=10):
    """Return a flipset whose first rows are F+ and whose next rows are F-."""
    prediction, image = np.zeros((2, n), dtype=int)
    prediction[:n_positive] = 1
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def flips_of(*sizes):
    return {f"GAN {k}": flip(*pair) for k, pair in enumerate(sizes)}


def report(flips, X, **changes):
    """Return the reports of people whose images differ by `changes`, the same for everyone."""
    image = X.assign(**{name: X[name] - change for name, change in changes.items()})
    return {name: transparency_report(of_map, X, image) for name, of_map in flips.items()}


WOMEN = pd.DataFrame({"work_experience": [0.0, 0, 1, 1, *[0] * 6], "hair_length": [2.0, 2, -2, -2, *[0] * 6]})
TURNED = WOMEN.assign(hair_length=-WOMEN["hair_length"], work_experience=[1.0, 1, 0, 0, *[0] * 6])
AWAY = {"work_experience": -1.0, "hair_length": 1.0}
WEAK = {"work_experience": -0.7, "hair_length": 0.7}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {}),
        ({"gan": 0.62}, {}),
        ({"of_white": -0.1}, {"race-has-weight": False}),
        ({"of_lsat": 0.1}, {"lsat-weighs-more": False}),
        ({"gan": 0.64}, {"both-shift-up": False}),
        ({"gan": -0.5}, {"both-shift-up": False}),
        ({"lsat": -0.9, "gpa": -0.5}, {"lsat-above-gpa": False}),
        ({"gpa": -1.6}, {"lsat-above-gpa": False}),
        ({"male": 0.3}, {"lsat-above-gpa": False}),
        ({"score": 29.0}, {"gan-flipset-higher-scores": False}),
        ({"score": np.nan}, {"gan-flipset-higher-scores": None}),
    ],
)
def test_law_school(recorded, change, expected):
    values = {"gan": 0.5, "lsat": -1.5, "gpa": -1.0, "male": -0.1, "score": 36.0, "of_white": 0.1, "of_lsat": 0.4}
    values |= change
    rows = [("counterfactual", 30.0, 3.0), ("GAN", values["score"], 3.1)]
    weights = [-0.1, values["of_white"], values["of_lsat"], 0.2]
    features = {"counterfactual": [-0.1, -2.0, -1.0], "GAN": [values[name] for name in ("male", "lsat", "gpa")]}
    exp = recorded(
        "fliptest/law_school",
        flips={("counterfactual", 0): flip(0, 4), ("counterfactual", 1): flip(1, 4), ("GAN", 3): flip(0, 5)},
        shift=pd.Series({"counterfactual": 0.5, "GAN": values["gan"]}),
        members=pd.DataFrame(rows, columns=["map", "mean LSAT in F−", "mean GPA in F−"]),
        report=pd.DataFrame(features, index=["male", "LSAT", "GPA"]),
        weights=pd.DataFrame(
            {"weight": weights, "weight per standard deviation": weights}, ["black", "white", "LSAT", "GPA"]
        ),
        note="",
    )
    judged = {id: holds for (_, id), holds in exp.judged.items()} | dict.fromkeys((id for _, id in exp.skipped), None)
    assert judged == dict.fromkeys(judged, True) | expected
    exp.check_records({("figure-7", "counterfactual.f_plus"): [0, 1], ("figure-7", "gan.f_minus"): [5]})


@pytest.mark.parametrize(
    ("correlations", "shares", "judged"),
    [
        ([0.3, -0.2], [1.0, np.nan], [True, True]),
        ([0.3, -0.4], [0.9, 0.9], [False, False]),
        ([0.3], [np.nan, np.nan], [True]),
    ],
)
def test_arrests(recorded, correlations, shares, judged):
    subgroups = pd.DataFrame({"correlation": correlations, "low": 0.25, "high": 0.35, "reported": True})
    subgroups = subgroups.assign(subgroup=["everyone", "few"][: len(subgroups)])
    flips = {"F+": [3, 0], "F−": [0, 0], "share with more arrests": shares, "mean difference": shares}
    exp = recorded("fliptest/arrests", subgroups=subgroups, flips=pd.DataFrame(flips), note="")
    assert list(exp.judged.values()) == judged
    numbers = {"fairtest.correlation": [[0.25, 0.35]], "fliptest.f_plus": [3, 0]}
    exp.check_records({("section-5.5", id): values for id, values in numbers.items()})
    assert (("section-5.5", "fliptest.mean_difference") in exp.skipped) == np.isnan(shares).all()


@pytest.mark.parametrize(
    ("plus", "minus", "holds"),
    [(150, 150, True), (130, 170, True), (100, 200, False), (110, 110, False), (190, 190, False)],
)
def test_gan_validation(recorded, plus, minus, holds):
    listed = {
        "lipton": {"work_experience": "work_experience", "hair_length": "hair_length"},
        "law_school": {"work_experience": "lsat", "hair_length": "gpa"},
        "ssl_dp": {"work_experience": "age", "hair_length": "gang", "third": "narcotics"},
    }
    listed["ssl_eo_negative"] = listed["ssl_dp"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=[*WOMEN, "third"])
    good, bad = validate_map(X, X, X_source=X + 1), validate_map(X, X + 9, X_source=X)
    maps = Ensemble(X, {"GAN 0": X, "GAN 1": X}, {"GAN 0": good, "GAN 1": bad})
    near = validate_map(X, X.mask(X.eq(X.min()), X.max(), axis=1), X_source=X)  # the least of each feature is its most
    ensembles = dict.fromkeys(listed, maps)
    ensembles["law_school"] = Ensemble(X, maps.images, {"GAN 0": good, "GAN 1": near})
    exact = [{"mean_l1": 1.0, "mean_squared_l1": 2.0}]
    exp = recorded(
        "fliptest/gan_validation",
        counts=pd.DataFrame({"F+": [plus], "F−": [minus]}),
        n_points=10_000,
        note="",
        blocks={name: MapFits(of_block, ensembles[name], exact, []) for name, of_block in listed.items()},
        one_regression=pd.Series([0.5, 0.7]),
    )
    assert list(exp.judged.values()) == [holds]
    assert exp.records["section-5.1", "f_plus", "as_published"] == [plus]
    values = {
        ("ssl_dp.narcotics.ks", "as_published"): [0],
        ("lipton.work_experience.mse_diff", "as_described"): [0.5, 0.7],
        ("lipton.distance.gan", "as_published"): [pytest.approx(3)],
        ("lipton.distance.gan", "as_described"): [pytest.approx(9)],
        ("lipton.distance.exact", "as_described"): [2],
    }
    assert {key: exp.records["table-1", *key] for key in values} == values
    assert ("table-1", "lipton.hair_length.ks.std") in exp.skipped, "of one map on target"
    ks = exp.records["table-1", "law_school.gpa.ks", "as_published"]
    assert np.std(ks) > 0
    assert exp.records["table-1", "law_school.gpa.ks.std", "as_published"] == [pytest.approx(np.std(ks, ddof=1))]


SUBJECTS = pd.DataFrame(0.0, index=range(10), columns=list(LABELS))
SUBJECTS.loc[:2, ["age", "narcotics_arrests", "gang_affiliation", "crime_trend"]] = -1.0, 2.0, 0.9, -0.5
ARRESTED = {"narcotics_arrests": 3.0}


COUNTS = SimpleNamespace(
    name="ssl-counts",
    features=pd.DataFrame({"score": [344, 345, 500, 345], "race": ["Black", "Black", "Black", "White"]}),
    target=pd.Series([60, 20, 10, 10]),
)
WEIGHTS = pd.Series({"age": -52.0, "narc": 4.0, "vbatt": -7.5})


def record_parity(
    recorded,
    flips,
    people=SUBJECTS,
    change=ARRESTED,
    gangs=(1.0, 0, 0, 0, 1, 0, 1, 0, 0, 0),
    rates=(0.2, 0.1),
    found=(),
):
    everyone = SimpleNamespace(is_significant=True)
    others = [SimpleNamespace(node=SimpleNamespace(conditions=[SimpleNamespace(attribute=name)])) for name in found]
    reports = report(flips, people, **change)
    return recorded(
        "fliptest/ssl_parity",
        flips=flips,
        note="",
        section=SimpleNamespace(everyone=everyone, reported=[everyone, *others]),
        rates=pd.Series(rates, index=["BLK", "WHI"]),
        people=people,
        gangs=pd.Series(gangs),
        reports=reports,
        proxies=SimpleNamespace(proxies=["narcotics_arrests", "weapons_arrests"]),
        proxy_flips=flips,
        proxy_reports=reports,
        counts=COUNTS,
        weights=WEIGHTS,
    )


def test_ssl_parity(recorded):
    exp = record_parity(recorded, flips_of((3, 0), (3, 0)), found=["age"])
    assert exp.failed == {"asymmetric"}  # 3 people are not hundreds of times one
    numbers = {"black_high_risk": [3], "black_low_risk": [7], "f_plus_share_of_high_risk": [1, 1]}
    exp.check_records({("section-5.2.1", id): values for id, values in numbers.items()})
    exp.check_records({("section-5.2", "share_above_threshold"): [40], ("section-5.2", "weight.age"): [-52]})
    assert exp.judged["section-5.2", "others-below-10"]
    people = pd.DataFrame(0.0, index=range(200), columns=list(LABELS))
    many = {"GAN 0": flip(100, 1, n=200)}
    other = record_parity(recorded, many, people, change={"age": 1.0}, gangs=[1.0] * 100 + [0.0] * 100)
    assert other.judged["section-5.2.1", "asymmetric"]
    assert {"transparency-names-narcotics", "flipset-is-younger", "gang-marginal-overlaps"} <= other.failed
    positive = np.ones(10, dtype=int)
    nobody = record_parity(recorded, {"GAN 0": Flipset(positive, positive, pd.RangeIndex(10))})
    assert len(nobody.judged) == 3  # of six claims on flipsets one, that on FairTest and that on weights


@pytest.mark.parametrize("change", [{"found": ["age", "narcotics_arrests"]}, {"rates": (0.1, 0.2)}])
def test_fairtest_finds_what_the_paper_says_or_not(recorded, change):
    good, bad = (
        record_parity(recorded, flips_of((3, 0)), **options).failed for options in ({"found": ["age"]}, change)
    )
    assert len(bad - good) == 1


@pytest.mark.parametrize(
    ("sizes", "change", "people", "failed"),
    [
        ([(3, 0), (3, 2)], {"narcotics_arrests": 1.0, "age": 2.0}, SUBJECTS, set()),
        (
            [(3, 0), (3, 2)],
            {"narcotics_arrests": 1.0, "age": -2.0},
            -SUBJECTS,
            {"positives-minus-name-age", "younger-more-narcotics-more-gang"},
        ),
        ([(0, 0), (0, 0)], {"narcotics_arrests": 1.0, "age": 2.0}, SUBJECTS, None),  # no claim is judged
    ],
)
def test_ssl_odds(recorded, sizes, change, people, failed):
    flips = {"negatives": flips_of(sizes[0]), "positives": flips_of(sizes[1])}
    exp = recorded(
        "fliptest/ssl_odds",
        groups={truth: {"black": people, "white": people[:n]} for truth, n in (("negatives", 4), ("positives", 6))},
        flips=flips,
        reports={
            "negatives": report(flips["negatives"], people, **ARRESTED),
            "positives": report(flips["positives"], people, **change),
        },
        notes={"negatives": "", "positives": ""},
        counts=COUNTS,
    )
    assert (exp.failed, bool(exp.judged)) == (failed or set(), failed is not None)
    n_high = sizes[1][0]
    counts = {"black_high_risk": n_high, "black_low_risk": 10 - n_high, "white_total": 2, "black_total": 6}
    exp.check_records({("section-5.2.2", f"positives.{id}"): [count] for id, count in counts.items()})


PULLED = {"exact-regresses-to-mean", "correlated-features-same"}


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, set()),
        ({"gan": 0.3}, {"gan-variance-below-exact", "gan-variance-below-seguy", "correlated-features-same"}),
        ({"gan": 0.21}, {"gan-variance-below-seguy"}),
        ({"exact": (1.0, 0.95)}, PULLED),
        ({"exact": (0.8, 0.85)}, PULLED),
        ({"gan_mean": 0.85}, PULLED),
    ],
)
def test_stability(recorded, changes, failed):
    values = {"gan": 0.1, "exact": (1.0, 0.8), "gan_mean": 1.0} | changes
    rows = {
        (name, title, dimension, quantity): {"value": value, "low": value - 0.1, "high": value + 0.1}
        for title in ("independent", "correlated")
        for dimension, mean in zip((1, 16), values["exact"], strict=True)
        for name, numbers in (
            ("exact", {"variance": 0.5, "mean": mean}),
            ("GAN", {"variance": values["gan"], "mean": values["gan_mean"]}),
            ("Seguy et al.", {"variance": 0.2, "mean": 1.0}),
        )
        for quantity, value in numbers.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.names = ["map", "features", "dimension", "quantity"]
    assert recorded("fliptest/stability", intervals=table).failed == failed


@pytest.mark.parametrize(("more", "holds"), [([0, 2], True), ([1, 2], False), ([0, 0], False)])
def test_overview(recorded, more, holds):
    models = pd.DataFrame({"F+": [3, 5], "F−": [3, 4], "more positives": more})
    exp = recorded("fliptest/overview", models=models)
    assert exp.judged == {("proposition-2", "balance-is-demographic-parity"): holds}


# figures

RNG = np.random.default_rng(0)
SOURCE = pd.DataFrame({"work": RNG.normal(size=60), "sex": RNG.integers(0, 2, 60).astype(float)})
IMAGES = SOURCE + RNG.normal(size=(60, 2))
FLIPS = flipset(lambda table: (np.asarray(table)[:, 0] > 0).astype(int), SOURCE, IMAGES)


def test_marginals_count_everyone_and_both_flipsets():
    table = figures.marginal_table(SOURCE, FLIPS)
    totals = table.groupby("feature", sort=False)[["everyone", "positive", "negative"]].sum()
    assert totals.to_numpy().tolist() == [[60, FLIPS.n_positive, FLIPS.n_negative]] * 2
    assert table.loc[table["feature"] == "sex", ["low", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [0.5, 1.5]]
    work = table[table["feature"] == "work"]
    assert work.loc[work["positive"] > 0, "low"].min() > -0.2 > work.loc[work["negative"] > 0, "high"].max() - 0.4


def test_bands_have_their_names_whatever_values_are_there():
    ages = pd.DataFrame({"age": [20, 20, 10, 40]})
    flip = flipset(lambda table: np.ones(len(table), dtype=int), ages, ages)
    bands = {"age": {10: "under 20", 20: "20–29", 30: "30–39", 40: "40–49"}}
    table = figures.marginal_table(ages, flip, bands=bands)
    assert table["everyone"].tolist() == [1, 2, 0, 1]


def test_predictions_before_and_after_are_densities():
    before, after = RNG.normal(0, 1, 200), RNG.normal(3, 1, 200)
    table = figures.density_table(before, {"GAN": after})
    grid = table["prediction"]
    for column, mean in (("before", 0), ("after", 3)):
        assert np.trapezoid(table[column], grid) == pytest.approx(1, abs=0.05)
        assert grid[table[column].idxmax()] == pytest.approx(mean, abs=0.5)


def test_maps_of_one_feature_count_the_people_of_each_pair_and_have_a_line_of_values():
    x, exact = np.array([2, 0, 0, 2, 0, 9]), np.array([1, 0, 0, 1, 1, 4])
    table = figures.one_feature_table(x, exact, {"GAN 0": np.array([1.2, 0.1, 0.1, 1.2, 0.1, 5])}, most=5)
    pairs = [["exact", 0, 0, 2], ["exact", 0, 1, 1], ["exact", 2, 1, 2]]
    assert table.to_numpy().tolist() == [*pairs, ["GAN 0", 0, 0.1, 3], ["GAN 0", 2, 1.2, 2]]
