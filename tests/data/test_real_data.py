"""The real files: run with FAIRLAB_DATA_MIRROR set, skipped without."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from fidelity import compare

from fairlab.data import load, state_of, status, verify
from fairlab.data.registry import project_registry

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


def test_no_copy_of_the_mirror_is_corrupt():
    assert "corrupt" not in set(status()["state"])


def test_adult_is_the_training_part_then_the_test_part(mirror):
    dataset = load("adult-uci")
    lines = [
        line.removesuffix(".").replace(", ", ",")
        for part in ("adult.data", "adult.test")
        for line in (mirror / "adult" / part).read_text().splitlines()
        if line.count(",") == 14
    ]
    table = dataset.features.assign(income=dataset.target)
    assert table.to_csv(index=False, header=False).splitlines() == lines
    assert (dataset.target == ">50K").sum() == 11687
    assert (dataset.features["occupation"] == "?").sum() > 0


def test_adult_individual_is_adult_less_what_is_unknown():
    dataset = load("adult-individual")
    every = load("adult-uci").features
    kept = every[(every["occupation"] != "?") & (every["native-country"] != "?")]
    assert not (kept == "?").any(axis=None)
    for column in dataset.features:
        assert dataset.features[column].astype(str).tolist() == kept[column].astype(str).tolist()
    assert ((dataset.sensitive_features["race"] == "White").to_numpy() == (kept["race"] == "White")).all()
    assert sum(len(categories) for name, categories in dataset.encoding.items() if name in dataset.features) + 5 == 39


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
    for column in ("LSAT", "UGPA"):
        assert dataset.features[column].tolist() == raw[column].tolist()
    assert dataset.target.tolist() == raw["ZFYA"].tolist()
    assert ((dataset.features["sex"] == "female") == (raw["sex"] == 1)).all()
    # What the datasheet says of the columns left out and of the coding of sex.
    assert (raw["sander_index"] - 0.4 * raw["UGPA"] / 4.2 - 0.6 * raw["LSAT"] / 48).abs().max() < 1e-9
    assert (raw["sex"] == 1).mean() == pytest.approx(0.44, abs=0.005)
    assert (raw.loc[raw["race"] == "Black", "sex"] == 1).mean() == pytest.approx(0.62, abs=0.005)


def test_berkeley_is_the_file_row_for_row(mirror):
    dataset = load("berkeley")
    raw = pd.read_csv(mirror / "berkeley" / "berkeley.csv", skipinitialspace=True)
    made = dataset.features.assign(accepted=dataset.target).astype(str)
    assert made.to_numpy().tolist() == raw.to_numpy().tolist()


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


def test_the_digest_does_not_depend_on_where_the_files_lie(mirror):
    dataset = load("law-school")
    raw = (mirror / "law" / "law_data.csv").read_bytes()
    assert dataset.provenance.files == {"law/law_data.csv": hashlib.sha256(raw).hexdigest()}
    assert load("law-school").provenance == dataset.provenance
