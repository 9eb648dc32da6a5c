import pytest

import fairlab
from fairlab.data import DataError, load
from fairlab.data.loading import recipes
from fairlab.data.registry import project_registry


def test_unknown_name_lists_what_exists():
    with pytest.raises(DataError, match=r"unknown data set 'law_school'; did you mean 'law-school'"):
        load("law_school")


def test_unknown_options_are_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'label'"):
        load("law-school", label="sex")
    with pytest.raises(TypeError, match="unexpected keyword argument 'surrogate'"):
        load("lipton", surrogate=True)


def test_every_recipe_is_of_the_registry_and_every_generated_variant_has_one():
    registered = project_registry().variants
    assert set(recipes()) <= set(registered)
    assert {name for name, variant in registered.items() if variant.source == "generated"} <= set(recipes())


def test_is_the_load_of_the_package():
    assert fairlab.load is load


def test_berkeley_needs_no_file():
    dataset = load("berkeley")
    assert dataset.provenance.source == "real"
    assert dataset.provenance.files == {}
    admitted = (dataset.target == "Yes").groupby(dataset.features["gender"], observed=True).agg(["sum", "size"])
    assert admitted.loc["Male"].tolist() == [1192, 2590]
    assert admitted.loc["Female"].tolist() == [560, 1835]
    blocks = dataset.features["department"].astype(str)
    assert blocks[blocks != blocks.shift()].tolist() == ["A", "C", "B", "E", "D", "F"]
