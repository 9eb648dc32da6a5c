"""The real files: run with FAIRLAB_DATA_MIRROR set, skipped without."""

import json
import re

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from fidelity import compare
from fit_surrogates import fit_model

from fairlab.data import documents, load, registry, state_of, tables, verify
from fairlab.paths import project

# Without a hash, data was not at hand when the registry was written. Surrogates with genres and labels of images, which
# exclude each other, are less near; their own tests say how much.
WITH_SURROGATE = [
    name
    for name, variant in registry.project_registry().variants.items()
    if variant.surrogate and variant.sha256 and name not in ("image-tagger", "movie-recommender")
]

pytestmark = pytest.mark.usefixtures("mirror")


@pytest.mark.parametrize("name", list(registry.project_registry().variants))
def test_every_variant_is_real(mirror, name):
    variant = registry.project_registry().variant(name)
    if all((mirror / path).is_file() for path in variant.raw):
        assert state_of(name) == variant.source
        dataset = load(name)
        assert dataset.provenance.source == variant.source
        assert len(dataset.features) == dataset.provenance.rows <= variant.rows
        assert list(dataset.provenance.files) == list(variant.raw)
        assert (verify(name)["state"] == "ok").all()


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
    variant = registry.project_registry().variant(name)
    key, values, _ = fit_model(variant)
    committed = documents.read_yaml(project().data_scripts / variant.surrogate.file)[key]
    (text, numbers), (own_text, own_numbers) = (parted(json.dumps(each)) for each in (committed, values))
    assert own_text == text
    assert own_numbers == pytest.approx(numbers, rel=1e-6, abs=1e-9)


def parted(text):
    """Return a text without its numbers, and the numbers."""
    parts = re.split(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return parts[::2], [float(number) for number in parts[1::2]]


STAPLES = tables.load_script(project().data_scripts / "make_staples.py")


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
