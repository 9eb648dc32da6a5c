import json
import re

import numpy as np
import pandas as pd
import pytest
from fidelity import compare
from fit_copula import MOST_VALUES, SMALLEST_COUNT, fit_copula
from fit_surrogates import count_cells, fit_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from fairlab.data import DataError, Dataset, Provenance, load
from fairlab.data.documents import read_yaml
from fairlab.data.registry import project_registry
from fairlab.data.surrogates.copula import Counts
from fairlab.data.surrogates.label_rates import ImageGroup
from fairlab.data.tables import load_script
from fairlab.paths import project


@pytest.fixture(scope="module")
def table():
    """Two groups that differ in everything, and one too small to publish."""
    rng = np.random.default_rng(0)
    n = 6000
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    skill = rng.normal(size=n) + (sex == "m")
    years = rng.poisson(8, n)
    grade = pd.cut(skill + rng.normal(size=n), [-9, -0.5, 0.5, 1.5, 9], labels=["d", "c", "b", "a"]).astype(str)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "score": skill.round(2),
            "years": years,
            "grade": grade,
            "points": pd.Series(grade).map({"d": 1, "c": 2, "b": 3, "a": 4}),
            "hired": np.where(skill + years / 4 + rng.normal(size=n) > 3, "yes", "no"),
        }
    )
    frame.loc[:2, "grade"], frame.loc[:2, "points"] = "rare", 9
    frame.loc[3:5, "sex"] = "u"
    return frame.astype({"grade": "category"})


@pytest.fixture(scope="module")
def copula(table):
    return fit_copula(table, sensitive=["sex"], score=(table["hired"] == "yes").astype(float))


@pytest.fixture(scope="module")
def sample(copula):
    return copula.sample(20000, random_state=0)


def test_marginals_by_group(table, sample):
    for column in ("score", "years"):
        real, drawn = (t.groupby("sex")[column].agg(["mean", "std"]).loc[["f", "m"]] for t in (table, sample))
        np.testing.assert_allclose(drawn, real, rtol=0.05, atol=0.04)
    real, drawn = (pd.crosstab(t["sex"], t["hired"], normalize="index").loc[["f", "m"], "yes"] for t in (table, sample))
    np.testing.assert_allclose(drawn, real, atol=0.02)


def test_rare_values_are_not_published(table, copula, sample):
    assert "u" not in set(sample["sex"])
    assert "rare" not in str(copula)
    marginals = [marginal for stratum in copula.strata for marginal in stratum.marginals.values()]
    counts = [count for marginal in marginals if isinstance(marginal, Counts) for count in marginal.counts]
    counts += [count for stratum in copula.strata for *_, count in stratum.groups]
    assert min(counts) >= SMALLEST_COUNT
    assert table["score"].nunique() > MOST_VALUES
    extremes = {table["score"].min(), table["score"].max()}
    assert extremes.isdisjoint(q for s in copula.strata for q in s.marginals["score"].quantiles)


@settings(deadline=None, max_examples=15)
@given(rho=st.floats(-0.9, 0.9), levels=st.integers(2, 6), seed=st.integers(0, 1000))
def test_spearman_of_the_sample_is_the_fitted_one(rho, levels, seed):
    z = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 3000)
    frame = pd.DataFrame({"g": "one", "a": z[:, 0].round(3), "b": np.floor(z[:, 1] * levels / 2).astype(int)})
    drawn = fit_copula(frame, sensitive=["g"], score=frame["a"]).sample(20000, random_state=seed)
    # four standard errors of the difference
    assert spearmanr(drawn["a"], drawn["b"]).statistic == pytest.approx(
        spearmanr(frame["a"], frame["b"]).statistic, abs=0.03
    )


@given(rows=st.lists(st.tuples(*[st.sampled_from("pqr")] * 3), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_all_records_come_back_in_another_order(rows, seed):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    drawn = count_cells(table).sample(len(table), random_state=seed)
    assert sorted(drawn.itertuples(index=False, name=None)) == sorted(rows)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), images=st.integers(1, 30), seed=st.integers(0, 99))
def test_each_label_is_given_to_so_many_images_and_all_images_have_as_many(data, images, seed):
    counts = data.draw(st.lists(st.integers(1, images), min_size=1, max_size=8))
    group = ImageGroup(values={}, images=images, counts={f"l{k}": count for k, count in enumerate(counts)})
    has = group.draw(np.random.default_rng(seed))
    assert has.sum(axis=0).tolist() == counts
    assert np.ptp(has.sum(axis=1)) <= 1


def test_labels_come_together_by_chance():
    # Two labels of four images each, two labels in all: 8 places in 8 images, one each, so never together.
    apart = ImageGroup(values={}, images=8, counts={"a": 4, "b": 4})
    assert not apart.draw(np.random.default_rng(0)).all(axis=1).any()
    # One image has both if a third label fills up the others: all are as likely to be it.
    group, rng = ImageGroup(values={}, images=3, counts={"a": 2, "b": 2, "c": 2}), np.random.default_rng(1)
    where = [group.draw(rng)[:, :2].all(axis=1).argmax() for _ in range(600)]
    np.testing.assert_allclose(np.bincount(where, minlength=3) / 600, 1 / 3, atol=0.08)


PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "x": [1.0, 2, 3, 4, 5, 6, 7, 8],
        "job": ["a", "a", "b", "b", "a", "b", "b", "b"],
        "y": ["no", "no", "no", "yes", "no", "yes", "yes", "yes"],
    }
)


def people(table, **changes):
    parts = {
        "features": table[["sex", "x", "job"]].astype({"sex": "category", "job": "category"}),
        "target": table["y"],
        "sensitive_features": table[["sex"]],
        "positive_label": "yes",
        "privileged_group": {"sex": "m"},
        "encoding": {},
        "provenance": Provenance("toy", "real", "0" * 64, len(table)),
    }
    return Dataset(**parts | changes)


def test_differences_by_hand():
    # One woman of job b becomes a man of job a who is hired, and everybody's x grows by 2.
    other = PEOPLE.copy()
    other.loc[2] = ["m", 3, "a", "yes"]
    other["x"] += 2
    fidelity = compare(people(PEOPLE), people(other))
    expected = {"sex": 0.125, "x": 0.25, "job": 0.125, "y": 0.125}
    assert fidelity.marginals["distance"].to_dict() == pytest.approx(expected)
    expected = {"rows_real": 4, "rows_surrogate": 3, "real": 0.25, "surrogate": 1 / 3}
    assert fidelity.groups.loc[("sex", "f")].to_dict() == pytest.approx(expected)
    assert fidelity.to_frame().loc[0, ["difference", "largest", "where"]].tolist() == ["marginal", 0.25, "x"]


def test_associations_are_spearmans_with_categories_in_the_order_of_their_mean_label():
    reversed_x = PEOPLE.assign(x=9 - PEOPLE["x"])
    associations = compare(people(PEOPLE), people(reversed_x)).associations
    # Job a is hired in none of three cases, b in four of five: b counts as the higher one. So does m.
    numbers = PEOPLE.assign(
        **{c: PEOPLE[c].map({"a": 1, "b": 2, "f": 1, "m": 2, "no": 1, "yes": 2}) for c in ("sex", "job", "y")}
    )
    real, surrogate = (of.corr(method="spearman") for of in (numbers, numbers.assign(x=-numbers["x"])))
    pairs = [(real.loc[pair], surrogate.loc[pair]) for pair in associations.index]
    expected = pd.DataFrame(pairs, columns=["real", "surrogate"])
    expected["difference"] = expected["surrogate"] - expected["real"]
    np.testing.assert_allclose(associations[list(expected)], expected)


# Of the real files, where FAIRLAB_DATA_MIRROR names them.

DATA_SCRIPTS = project().data_scripts
# Without a hash, data was not at hand when the registry was written. Surrogates with genres and labels of images, which
# exclude each other, are less near; their own tests say how much.
WITH_SURROGATE = [
    name
    for name, variant in project_registry().variants.items()
    if variant.surrogate and variant.sha256 and name not in ("image-tagger", "movie-recommender")
]
# Largest distance of a marginal, mean and largest difference of an association. Rare categories are left out, which
# counts for more among fewer rows; the registry says what is lost.
NEAR = {"census-balanced": (0.03, 0.015, 0.1), "credit-themis": (0.1, 0.05, 0.3)}


@pytest.mark.parametrize("name", WITH_SURROGATE)
def test_surrogates_are_near(mirror, drawn_once, name):
    real, surrogate = load(name, surrogate=False), load(name, surrogate=True)
    fidelity = compare(real, surrogate)
    chance = 1.25 / np.sqrt(len(real.features))  # a perfect surrogate of few rows differs, too
    marginal, mean, largest = NEAR.get(name, (max(0.015, chance), max(0.015, chance), max(0.1, 3 * chance)))
    assert fidelity.marginals["distance"].max() < marginal
    assert fidelity.associations["difference"].abs().mean() < mean
    assert fidelity.associations["difference"].abs().max() < largest
    large = fidelity.groups.query("rows_real >= 800")
    assert ((large["surrogate"] - large["real"]).abs() < 0.05).all()


@pytest.mark.parametrize("name", ["law-school", "compas-individual", "credit-adf", "staples", "image-tagger"])
def test_the_parameters_of_surrogates_are_those_that_the_scripts_fit(mirror, name):
    variant = project_registry().variant(name)
    key, values, _ = fit_model(variant)
    committed = read_yaml(DATA_SCRIPTS / variant.surrogate.file)[key]
    (text, numbers), (own_text, own_numbers) = (parted(json.dumps(each)) for each in (committed, values))
    assert own_text == text
    assert own_numbers == pytest.approx(numbers, rel=1e-6, abs=1e-9)


def parted(text):
    """Return a text without its numbers, and the numbers."""
    parts = re.split(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return parts[::2], [float(number) for number in parts[1::2]]


# scripts

HEALTH = load_script(DATA_SCRIPTS / "make_health.py")
CLAIM = dict.fromkeys(HEALTH.FILES["Claims.csv"]) | {"MemberID": "1", "Year": "Y1", "ProviderID": "p", "PCP": "q"}


def claim(**values):
    return CLAIM | {"PayDelay": "10", "DSFS": "0- 1 month", "CharlsonIndex": "0", "SupLOS": "0"} | values


def contest():
    """One man with three claims in the first year and one in the second, and people who are left out."""
    claims = [
        claim(PayDelay="162+", DSFS="2- 3 months", CharlsonIndex="3-4", LengthOfStay="1- 2 weeks", Vendor="v",
              PrimaryConditionGroup="AMI", PlaceSvc="Urgent Care", Specialty="Internal", ProcedureGroup="EM"),
        claim(PayDelay="21", CharlsonIndex="1-2", LengthOfStay="2 days", PlaceSvc="Urgent Care", ProviderID="r",
              PrimaryConditionGroup="AMI", Specialty="Surgery"),
        claim(SupLOS="1", PrimaryConditionGroup="UTI"),
        claim(Year="Y2", Vendor="v", DSFS=None, PlaceSvc="Home"),
        claim(MemberID="2"), claim(MemberID="3"), claim(Year="Y3"),
    ]  # fmt: skip
    months = [["1", "Y1", "3"], ["1", "Y1", "7+"], ["1", "Y3", "2"], ["9", "Y1", "1"]]
    rows = {
        "Members.csv": [["1", "70-79", "M"], ["2", None, "F"], ["3", "0-9", None], ["4", "80+", "F"]],
        "DrugCount.csv": months,
        "LabCount.csv": [["1", "Y2", "10+"]],
        "DaysInHospital_Y2.csv": [["1", "1", "4"], ["2", "0", "0"], ["3", "0", "0"]],
        "DaysInHospital_Y3.csv": [["1", "0", "0"]],
    }
    tables = {name: pd.DataFrame(table, columns=HEALTH.FILES[name], dtype=object) for name, table in rows.items()}
    return tables | {"Claims.csv": pd.DataFrame(claims)[HEALTH.FILES["Claims.csv"]]}


def test_attributes_by_hand():
    table = HEALTH.attributes(contest())
    assert len(table) == 2
    first = {
        "Age": 75, "Gender": "male", "days": 4, "Suppressed Claims": 1,
        "Number Of Claims": 3, "Number Of Providers": 2, "Number of Vendors": 1, "Number of Primary Physicians": 1,
        "Number of Places Where Treated": 1, "Number Of Specialties": 2, "Number of Primary Condition Groups": 2,
        "Number of Procedure Groups": 1,
        "Average Payment Delay": 64, "Max Payment Delay": 162, "Min Payment Delay": 10,
        "Average Days Since First Service": 1, "Max Days Since First Service": 3, "Min Days Since First Service": 1,
        "Range Days Since First Service": 2,
        "Average Charlson Index": 2, "Max Charlson Index": 4, "Min Charlson Index": 0, "Range Charlson IndexI_range": 4,
        "Stdev Charlson Index": 2.0,
        "Average Length Of Stay": 6, "Max Length Of Stay": 11, "Min Length Of Stay": 2,
        "Known Length Of Stay": 2, "Unknown Length Of Stay": 0, "Supressed Length Of Stay": 1,
        "Condition AMI": 2, "Condition UTI": 1, "Condition NULL": 0, "Speciality NULL": 1, "Treated at Urgent Care": 2,
        "Treated at NULL": 1, "Treatment Code EM": 1, "Treatment Code NULL": 2,
        "Average Drug Count": 5.0, "Max Drug Count": 7, "Min Drug Count": 3, "Drug Months": 2, "No Drug Count": 0,
        "Lab Months": 0, "No Lab Count": 1, "Max Lab Count": 0,
    }  # fmt: skip
    assert table.loc[0, list(first)].to_dict() == first
    assert table.loc[0, "Stdev Length Of Stay"] == pytest.approx(9 / np.sqrt(2))
    second = {
        "days": 0, "Number Of Claims": 1, "Average Days Since First Service": 0, "Range Days Since First Service": -1,
        "Stdev Days Since First Service": 0.0, "Stdev Length Of Stay": 0.0, "Unknown Length Of Stay": 1,
        "Treated at Home": 1, "No Drug Count": 1, "Average Lab Count": 10.0, "Lab Months": 1,
    }  # fmt: skip
    assert table.loc[1, list(second)].to_dict() == second


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("Members.csv", {"AgeAtFirstClaim": "70-80"}, "'AgeAtFirstClaim' holds '70-80', expected one of 0-9, 10-19"),
        ("Claims.csv", {"PayDelay": "soon"}, "'PayDelay' holds 'soon', expected numbers"),
        ("Claims.csv", {"PlaceSvc": "Moon"}, "'PlaceSvc' holds 'Moon', expected one of Ambulance"),
        ("Claims.csv", {"MemberID": "8"}, "no claims of 2 members with days in hospital"),
        ("DrugCount.csv", {"DrugCount": "many"}, "'DrugCount' holds 'many'"),
    ],
)
def test_strange_values_are_errors(file, change, message):
    tables = contest()
    tables[file] = tables[file].assign(**change)
    with pytest.raises(DataError, match=message):
        HEALTH.attributes(tables)


SSL = load_script(DATA_SCRIPTS / "make_ssl.py")
OFFICIAL = {
    "score": "SSL SCORE",
    "age": "PREDICTOR RAT AGE AT LATEST ARREST",
    "shooting_victim": "PREDICTOR RAT VICTIM SHOOTING INCIDENTS",
    "assault_victim": "PREDICTOR RAT VICTIM BATTERY OR ASSAULT",
    "violent_arrests": "PREDICTOR RAT ARRESTS VIOLENT OFFENSES",
    "gang_affiliation": "PREDICTOR RAT GANG AFFILIATION",
    "narcotics_arrests": "PREDICTOR RAT NARCOTIC ARRESTS",
    "crime_trend": "PREDICTOR RAT TREND IN CRIMINAL ACTIVITY",
    "weapons_arrests": "PREDICTOR RAT UUW ARRESTS",
    "sex": "SEX CODE CD",
    "race": "RACE CODE CD",
}
ROWS = [
    [500, "20-30", 0, 1, 4, 1, 1, 1.0, 1, "M", "BLK"],
    [388, "less than 20", 1, 0, 2, 0, 0, -0.5, 0, "F", "WHI"],
    [388, "less than 20", 0, 0, 2, 0, 0, 1.5, 0, "F", "WWH"],
    [139, "70-80", 0, 0, 0, 0, 3, 0.0, 0, "X", "U"],
]


def export(**columns):
    """Return a small table like the city's export, with a column that is not used in front."""
    table = pd.DataFrame(ROWS, columns=list(OFFICIAL.values())).astype(str)
    table.insert(0, "LATITUDE", "41.8")
    return table.assign(**{OFFICIAL[name]: values for name, values in columns.items()})


def prepare(table, source=SSL.EXPORT):
    return SSL.prepare(table, source, rows=len(table))


def test_columns_become_numbers_and_codes():
    table = prepare(export())
    assert table.iloc[0].to_dict() == dict(zip(OFFICIAL, [500, 20, 0, 1, 4, 1, 1, 1.0, 1, "M", "BLK"], strict=True))
    assert table["age"].tolist() == [20, 10, 10, 70]
    assert (table.dtypes["narcotics_arrests"], table.dtypes["crime_trend"]) == (np.int64, np.float64)


STYLES = {
    "portal": str,
    "interface": lambda name: name.lower().replace(" ", "_"),
    "title": lambda name: name.title(),
    "squeezed": lambda name: f" {name.replace(' ', '  ')} ",
    "dots": lambda name: name.replace(" ", "."),
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_any_style_of_columns_and_any_order_give_the_same_table(style):
    shuffled = export().sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2).rename(columns=style)
    pd.testing.assert_frame_equal(prepare(shuffled), prepare(export()))


def test_rows_without_age_or_race_are_dropped():
    table = prepare(export(age=["20-30", None, "less than 20", "70-80"], race=["BLK", "WHI", "WWH", None]))
    assert table["score"].tolist() == [500, 388]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            export(age=["20-29", "less than 20", "18-20", "70-80"]),
            "unknown age bands 18-20, 20-29; expected less than 20",
        ),
        (
            export().drop(columns=[OFFICIAL["age"], OFFICIAL["race"]]),
            "misses the columns predictor_rat_age_at_latest_arrest, race_code_cd; found LATITUDE",
        ),
        (export(narcotics_arrests=["1", "two", "0", "0"]), "'narcotics_arrests' holds 'two', expected whole numbers"),
        (export(violent_arrests=["1", "0.5", "0", "0"]), "'violent_arrests' holds '0.5', expected whole numbers"),
        (export(crime_trend=["1", "up", "0", "0"]), "'crime_trend' holds 'up', expected numbers"),
        (export(score=["1", None, "0", "0"]), "'score' holds"),
    ],
)
def test_other_files_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        prepare(table)


STAPLES = load_script(DATA_SCRIPTS / "make_staples.py")


def by_haversine(homes, stores, first, second):
    """The authors' formula, pair by pair."""
    prices = []
    for _, home in homes.iterrows():
        miles = []
        for _, store in stores.iterrows():
            a, b = np.radians(home[first]), np.radians(store[first])
            angle = np.radians(store[second] - home[second])
            h = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(angle / 2) ** 2
            miles.append(2 * 3956 * np.arcsin(np.sqrt(h)))
        prices.append("low" if min(miles) <= 20 else "high")
    return prices


@pytest.mark.parametrize("coordinates", STAPLES.READINGS.values(), ids=STAPLES.READINGS)
def test_price_is_that_of_the_haversine_formula(coordinates):
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"latitude": rng.uniform(25, 48, 150), "longitude": rng.uniform(-122, -80, 150)})
    stores = homes[:40] + rng.uniform(-0.5, 0.5, (40, 2))
    stores = stores.assign(zipcode=[str(k) for k in range(40)])
    prices = STAPLES.price(homes, stores, coordinates=coordinates)
    assert prices.tolist() == by_haversine(homes, stores, *coordinates)
    assert set(prices) == {"low", "high"}


@pytest.mark.parametrize(("reading", "share"), [("as_published", 1.0), ("as_described", 0.797)])
def test_prices_of_the_authors_sample(mirror, reading, share):
    columns = ["distance", "zipcode", "city", "state", "gender", "race", "band", "price"]
    path = mirror / "fairtest" / "staples" / "simulation_staples.csv"
    sample = pd.read_csv(path, header=None, names=columns, dtype=str).drop_duplicates("zipcode").set_index("zipcode")
    homes = STAPLES.read(mirror / STAPLES.ZIP_CODES, "zip codes", ["zip", "latitude", "longitude"]).set_index("zip")
    stores = STAPLES.read(mirror / STAPLES.STORES, "stores", ["zipcode", "latitude", "longitude"])
    prices = STAPLES.price(homes.loc[sample.index], stores, coordinates=STAPLES.READINGS[reading])
    assert (prices == sample["price"]).mean() == pytest.approx(share, abs=0.001)
