import copy

import pytest
import yaml

from fairlab.data import DataError, RegistryError
from fairlab.data.registry import project_registry, read_registry
from fairlab.paths import DATA_SCRIPTS

REGISTRY = {
    "redistribution": {"ok": "yes"},
    "groups": {
        "toy": {
            "terms": "public domain",
            "redistribution": "ok",
            "citation": "Anon",
            "files": {
                "toy/a.csv": {
                    "sha256": "0" * 64,
                    "urls": [{"url": "https://example.org/a.zip", "kind": "official", "member": "a.csv"}],
                }
            },
        }
    },
    "variants": {
        "toy": {
            "description": "a toy",
            "source": "real",
            "raw": ["toy/a.csv"],
            "make": "make_toy.py",
            "sha256": "1" * 64,
            "rows": 3,
            "label": "y",
            "positive_label": "yes",
            "sensitive": {"sex": {"privileged": "m"}},
            "columns": {
                "sex": {"type": "category", "categories": ["f", "m"]},
                "x": {"type": "float", "min": 0},
                "y": {"type": "category", "categories": ["no", "yes"]},
            },
        }
    },
}


def read(tmp_path, content):
    path = tmp_path / "registry.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return read_registry(path)


def test_values_and_defaults(tmp_path):
    registry = read(tmp_path, REGISTRY)
    file, variant = registry.file("toy/a.csv"), registry.variant("toy")
    assert (file.group, file.terms, file.citation) == ("toy", "public domain", "Anon")
    assert file.urls[0].member == "a.csv"
    assert variant.features == ("sex", "x")
    assert variant.privileged_group == {"sex": "m"}
    assert variant.citation == "Anon"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("extra",), 1, "registry.yaml: unknown key 'extra'"),
        (("groups", "toy", "licence"), "MIT", "group toy: unknown key 'licence'; known: citation, files"),
        (("groups", "toy", "files", "toy/a.csv", "sha265"), "0", "file toy/a.csv: unknown key 'sha265'"),
        (("groups", "toy", "files", "toy/a.csv", "sha256"), "abc", "sha256 is 'abc', expected 64 hexadecimal digits"),
        (("groups", "toy", "files", "toy/a.csv", "sha256"), None, "nothing could tell a right copy from a wrong one"),
        (("groups", "toy", "files", "toy/a.csv", "bytes"), -1, "bytes is -1, expected a positive integer"),
        (("groups", "toy", "files", "../a.csv"), {"sha256": "0" * 64, "urls": []}, "stay inside the cache"),
        (
            ("groups", "toy", "files", "toy/a.csv", "redistribution"),
            "perhaps",
            "'perhaps' is not among the values explained",
        ),
        (("groups", "toy", "files", "toy/a.csv", "urls"), [{"url": "https://x", "kind": "odd"}], "kind 'odd'"),
        (("groups", "toy", "files", "toy/a.csv", "urls"), [{"url": "x", "kind": "page"}], "expected http or https"),
        (("variants", "toy", "lable"), "y", "variant toy: unknown key 'lable'"),
        (("variants", "toy", "raw"), ["toy/b.csv"], "raw file toy/b.csv is not in the registry"),
        (("variants", "toy", "label"), "z", "column 'z' is used but not described"),
        (("variants", "toy", "sensitive"), {"sex": {"privileged": "x"}}, "'x' is no category of 'sex'"),
        (("variants", "toy", "columns", "x", "type"), "real", "type 'real', expected one of int, float, category"),
        (("variants", "toy", "columns", "y", "categories"), [True, False], "categories must be text; quote them"),
        (("variants", "toy", "columns", "sex", "categories"), ["m", "m"], "a category is listed twice"),
        (("variants", "toy", "columns", "x", "categories"), ["1"], "no other, lists its categories"),
        (("variants", "toy", "columns", "sex"), {"type": "text", "max": 3}, "a text column has no min and max"),
        (("variants", "toy", "make"), None, "a real variant, and no other, has make"),
        (("variants", "toy", "source"), "invented", "source 'invented'"),
        (("variants", "toy", "columns"), [], "columns: expected keys and values, found list"),
    ],
)
def test_mistakes_are_errors_that_name_the_entry(tmp_path, place, value, message):
    content = copy.deepcopy(REGISTRY)
    entry = content
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value
    with pytest.raises(RegistryError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)


def test_missing_keys_are_named(tmp_path):
    content = copy.deepcopy(REGISTRY)
    del content["variants"]["toy"]["rows"], content["variants"]["toy"]["label"]
    with pytest.raises(RegistryError, match="variant toy: misses label, rows"):
        read(tmp_path, content)


def test_what_is_not_yaml_is_an_error(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text("a: [1")
    with pytest.raises(RegistryError, match="not YAML"):
        read_registry(path)


def test_unknown_names_list_what_exists():
    with pytest.raises(DataError, match=r"unknown data set 'adlut'; there are: .*, adult-uci, arrests, "):
        project_registry().variant("adlut")
    with pytest.raises(DataError, match="unknown data file"):
        project_registry().file("adult/adult")


def test_every_variant_has_its_files():
    for variant in project_registry().variants.values():
        for script in filter(None, (variant.make, variant.surrogate)):
            assert (DATA_SCRIPTS / script).is_file(), f"{variant.name}: no data_scripts/{script}"


def test_official_addresses_come_first():
    rank = {"official": 0, "pinned": 1, "page": 2}
    for file in project_registry().files.values():
        kinds = [rank[address.kind] for address in file.urls if address.kind != "page"]
        assert kinds == sorted(kinds), file.path


def test_a_file_has_an_address_or_says_what_it_was_made_from():
    for file in project_registry().files.values():
        assert bool(file.urls) != bool(file.made_from), file.path
