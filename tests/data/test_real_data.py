"""The real files: run with FAIRLAB_DATA_MIRROR set, skipped without."""

import hashlib
import json
import re

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from fidelity import compare
from fit_surrogates import fit_model
from sklearn.model_selection import train_test_split

from fairlab.data import load, state_of, verify
from fairlab.data.documents import read_yaml
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script
from fairlab.paths import project

# Without a hash, data was not at hand when the registry was written. Surrogates with genres and labels of images, which
# exclude each other, are less near; their own tests say how much.
WITH_SURROGATE = [
    name
    for name, variant in project_registry().variants.items()
    if variant.surrogate and variant.sha256 and name not in ("image-tagger", "movie-recommender")
]

pytestmark = pytest.mark.usefixtures("mirror")


@pytest.mark.parametrize("name", list(project_registry().variants))
def test_every_variant_is_real(mirror, name):
    variant = project_registry().variant(name)
    if all((mirror / path).is_file() for path in variant.raw):
        assert state_of(name) == variant.source
        dataset = load(name)
        assert dataset.provenance.source == variant.source
        assert len(dataset.features) == dataset.provenance.rows <= variant.rows
        assert list(dataset.provenance.files) == list(variant.raw)
        assert (verify(name)["state"] == "ok").all()


def test_adult_individual_is_adult_less_what_is_unknown():
    dataset, every = load("adult-individual"), load("adult-uci").features
    kept = every[(every["occupation"] != "?") & (every["native-country"] != "?")]
    columns = list(dataset.features)
    assert not (kept == "?").any(axis=None)
    assert dataset.features.astype(str).to_numpy().tolist() == kept[columns].astype(str).to_numpy().tolist()
    assert ((dataset.sensitive_features["race"] == "White").to_numpy() == (kept["race"] == "White")).all()


def test_compas_individual(mirror):
    dataset = load("compas-individual")
    raw = pd.read_csv(mirror / "compas" / "compas-scores-two-years.csv")
    analysed = raw.query("-30 <= days_b_screening_arrest <= 30 and is_recid != -1 and c_charge_degree != 'O'")
    analysed = analysed[analysed["score_text"].notna()]
    assert len(analysed) == 6172  # ProPublica's number
    assert round(dataset.target.mean(), 3) == 0.470
    assert set(dataset.features) == {"sex", "race", "priors_count", "age_cat", "c_charge_degree"}


def test_law_school(mirror):
    dataset = load("law-school")
    raw = pd.read_csv(mirror / "law" / "law_data.csv")
    made = dataset.features.assign(ZFYA=dataset.target)[["LSAT", "UGPA", "ZFYA"]]
    assert made.to_numpy().tolist() == raw[["LSAT", "UGPA", "ZFYA"]].to_numpy().tolist()
    assert ((dataset.features["sex"] == "female") == (raw["sex"] == 1)).all()


# Largest distance of a marginal, mean and largest difference of an association. Rare categories are left out, which
# counts for more among fewer rows; the registry says what is lost.
NEAR = {"census-balanced": (0.03, 0.015, 0.1), "credit-themis": (0.1, 0.05, 0.3)}


@pytest.mark.parametrize("name", WITH_SURROGATE)
def test_surrogates_are_near(drawn_once, name):
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
def test_the_parameters_of_surrogates_are_those_that_the_scripts_fit(name):
    variant = project_registry().variant(name)
    key, values, _ = fit_model(variant)
    committed = read_yaml(project().data_scripts / variant.surrogate.file)[key]
    (text, numbers), (own_text, own_numbers) = (parted(json.dumps(each)) for each in (committed, values))
    assert own_text == text
    assert own_numbers == pytest.approx(numbers, rel=1e-6, abs=1e-9)


def parted(text):
    """Return a text without its numbers, and the numbers."""
    parts = re.split(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return parts[::2], [float(number) for number in parts[1::2]]


# Of the file that FairTest's study of Adult reads: its header, and the id that git gives to it.
HEADER = (
    "age,Workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)
BLOB = "cf18946d6fccb8af0aa25a840ba488716b2f2800"


def test_is_the_file_of_fairtest():
    adult = load("adult-uci")
    rows = adult.features.assign(income=adult.target).to_csv(index=False, header=False, lineterminator="\n")
    content = f"{HEADER}\n{rows.replace(',', ', ')}".encode()
    assert hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == BLOB


def test_held_out_half_of_adult_has_the_published_counts():
    dataset = load("adult-uci")
    half = train_test_split(dataset.target, train_size=0.5, random_state=0)[1]
    counts = pd.crosstab(half, dataset.features.loc[half.index, "sex"])
    assert counts.loc[["<=50K", ">50K"]].to_numpy().tolist() == [[7218, 11_422], [876, 4905]]


def test_held_out_half_of_berkeley_has_the_published_counts():
    dataset = load("berkeley")
    half = train_test_split(dataset.target, train_size=0.5, random_state=0)[1]
    applicants = dataset.features.loc[half.index]
    assert len(half) == 2213
    assert pd.crosstab(half, applicants["gender"]).loc[["No", "Yes"]].to_numpy().tolist() == [[615, 680], [295, 623]]
    for department, published in {"A": [[9, 161], [51, 269]], "B": [[3, 93], [7, 176]]}.items():
        own = applicants["department"] == department
        counts = pd.crosstab(half[own], applicants.loc[own, "gender"])
        assert counts.loc[["No", "Yes"]].to_numpy().tolist() == published


def test_shares_of_labels_in_the_held_out_half():
    # Figure 9 of the paper, in percent, with the split of its code.
    published = {"cart": (4, 0), "drum": (4, 0), "helmet": (8, 3), "face powder": (1, 10), "maillot": (4, 15)}
    dataset = load("image-tagger")
    half = train_test_split(dataset.features, train_size=0.5, random_state=0)[1]
    shares = half.groupby(dataset.target.loc[half.index], observed=True).mean()
    assert len(half) == 1308
    assert {label: tuple((100 * shares[label]).round()) for label in published} == published


STAPLES = load_script(project().data_scripts / "make_staples.py")


@pytest.mark.parametrize(("reading", "share"), [("as_published", 1.0), ("as_described", 0.797)])
def test_prices_of_the_authors_sample(mirror, reading, share):
    columns = ["distance", "zipcode", "city", "state", "gender", "race", "band", "price"]
    path = mirror / "fairtest" / "staples" / "simulation_staples.csv"
    sample = pd.read_csv(path, header=None, names=columns, dtype=str).drop_duplicates("zipcode").set_index("zipcode")
    homes = STAPLES.read(mirror / STAPLES.ZIP_CODES, "zip codes", ["zip", "latitude", "longitude"]).set_index("zip")
    stores = STAPLES.read(mirror / STAPLES.STORES, "stores", ["zipcode", "latitude", "longitude"])
    prices = STAPLES.price(homes.loc[sample.index], stores, coordinates=STAPLES.READINGS[reading])
    assert (prices == sample["price"]).mean() == pytest.approx(share, abs=0.001)


# The notebook on published bias audits, run on the file itself where it is at hand.


@pytest.mark.slow
def test_the_notebook_runs_and_names_its_numbers(tmp_path, mirror):
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        project().notebooks / "bias_audits.ipynb", out, kernel_name="python3", progress_bar=False
    )
    outputs = [each for cell in nbformat.read(out, 4).cells for each in cell.get("outputs", [])]
    said = " ".join(each["data"].get("text/markdown", "") for each in outputs if "data" in each)
    assert "come out to the digit" in said
    assert "tables state people of unknown sex or race" in said
    assert any("image/png" in each.get("data", {}) for each in outputs)
