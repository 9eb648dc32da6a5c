import copy
import re

import pytest
import yaml

from fairlab.data import RegistryError
from fairlab.data.registry import project_registry, read_registry
from fairlab.paths import project

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
            "sensitive_features": {"sex": {"privileged": "m"}},
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


FILE = ("groups", "toy", "files", "toy/a.csv")
TOY = ("variants", "toy")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("extra",), 1, "extra: unknown key 'extra' (known: redistribution, groups, variants)"),
        (
            ("groups", "toy", "licence"),
            "MIT",
            "groups > toy > licence: unknown key 'licence' (known: terms, redistribution, ",
        ),
        (
            (*FILE, "sha265"),
            "0",
            "groups > toy > files > toy/a.csv > sha265: unknown key 'sha265'; did you mean 'sha256'? (known: ",
        ),
        (
            (*FILE, "sha256"),
            "abc",
            "groups > toy > files > toy/a.csv > sha256: expected text like '^[0-9a-f]{64}$', found 'abc'",
        ),
        (
            (*FILE, "sha256"),
            None,
            "toy/a.csv: needs sha256, git_blob_sha1 or lines, or nothing could tell a right copy",
        ),
        ((*FILE, "bytes"), -1, "toy/a.csv > bytes: expected greater than 0, found -1"),
        ((*FILE, "bytes"), True, "toy/a.csv > bytes: expected an integer, found True"),
        (("groups", "toy", "files", "../a.csv"), {"sha256": "0" * 64, "urls": []}, "stay inside the cache"),
        (
            (*FILE, "urls"),
            [{"url": "https://x", "kind": "odd"}],
            "urls > number 1 > kind: expected 'official', 'pinned' or",
        ),
        ((*FILE, "urls"), [{"url": "x", "kind": "page"}], "url: expected text like '^https?://', found 'x'"),
        ((*TOY, "lable"), "y", "variants > toy > lable: unknown key 'lable'; did you mean 'label'? (known: name, "),
        ((*TOY, "label"), "z", "column 'z' is used but not described"),
        (
            (*TOY, "sensitive_features"),
            {"sex": {"privileged": "x"}},
            "toy > sensitive_features > sex: privileged group 'x' is no category",
        ),
        (
            (*TOY, "columns", "x", "type"),
            "real",
            "x > type: expected 'int', 'float', 'category' or 'text', found 'real'",
        ),
        ((*TOY, "columns", "y", "categories"), [True, False], "number 1: expected text, found True"),
        ((*TOY, "columns", "x", "categories"), ["1"], "no other, lists its categories"),
        ((*TOY, "columns", "x", "min"), "low", "min: expected an integer or a number, found 'low'"),
        ((*TOY, "columns", "sex"), {"type": "text", "max": 3}, "a text column has no min and max"),
        ((*TOY, "source"), "surrogate", "source: expected 'real', 'generated' or 'reconstructed', found 'surrogate'"),
        ((*TOY, "columns"), [], "columns: expected keys and values, found a list"),
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
    assert re.match(r".*registry\.yaml:\d+: ", str(caught.value))


def test_every_variant_has_its_files():
    registry = project_registry()
    for variant in registry.variants.values():
        for script in filter(None, (variant.make, variant.surrogate and variant.surrogate.file)):
            assert (project().data_scripts / script).is_file(), f"{variant.name}: no data_scripts/{script}"
        assert set(variant.raw) <= set(registry.files), variant.name
        assert variant.make or not (variant.source == "real" or variant.sha256), variant.name
        for name, column in variant.columns.items():
            assert len(set(column.categories)) == len(column.categories), f"{variant.name}: {name}"
