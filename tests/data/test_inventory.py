import pytest

from fairlab import data
from fairlab.data import load
from fairlab.data.files import cache_folder
from fairlab.data.loading import recipes
from fairlab.data.registry import project_registry


@pytest.fixture
def altered(monkeypatch, tmp_path):
    """A mirror whose law school file is wrong."""
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))
    path = tmp_path / "mirror" / "law" / "law_data.csv"
    path.parent.mkdir(parents=True)
    path.write_text("not it")
    return path


def test_states_without_any_file():
    states = [data.state_of(name) for name in ("lipton", "berkeley", "law-school", "staples-population")]
    assert states == ["generated", "real", "surrogate", "reconstructed"]


def test_every_variant_that_is_not_real_says_so_in_the_registry():
    words = {name: variant.source for name, variant in project_registry().variants.items()}
    assert {name: word for name, word in words.items() if word != "real"} == {
        "arrests": "generated",
        "individual-simulation": "generated",
        "lipton": "generated",
        "staples": "generated",
        "staples-population": "reconstructed",
    }
    assert "Provenance: reconstructed" in data.describe("staples-population")
    registered = project_registry().variants
    assert {name for name in words if words[name] == "generated"} <= set(recipes()) <= set(registered)


def test_status_has_a_row_for_every_file_and_variant(altered):
    status, registry = data.status(), project_registry()
    assert list(status.index) == [*registry.variants, *registry.files]
    assert status.loc["law/law_data.csv", "state"] == "corrupt"
    assert "has 6 bytes, expected 1,087,805" in status.loc["law/law_data.csv", "detail"]
    assert status.loc["adult/adult.data", ["state", "bytes"]].tolist() == ["missing", 3974305]
    assert not cache_folder().exists()


def test_fetch_keeps_going_when_asked():
    lines, variants = [], project_registry().variants
    result = data.fetch(keep_going=True, report=lines.append)
    real = {name for name, variant in variants.items() if variant.source == "real"}
    expected = {name: "surrogate" if name in real else variants[name].source for name in variants}
    assert result["state"].to_dict() == expected | {"berkeley": "real", "staples": "surrogate"}
    assert "To provide it yourself, put the file" in result.loc["law-school", "detail"]
    assert lines[1] == "law-school: surrogate, law/law_data.csv is not available"
    assert len(lines) == len(result)


def test_folder_is_fetched_and_reported_in_one_line():
    lines = []
    result = data.fetch(["adf_networks"], keep_going=True, report=lines.append)
    assert lines == ["adf_networks: missing, 0 of 6 files"]
    assert list(result.index) == [path for path in project_registry().files if path.startswith("adf_networks/")]
    assert set(data.verify("adf_networks")["state"]) == {"missing"}


def test_verify_finds_what_was_altered():
    assert data.verify().empty
    data.fetch("berkeley")
    (name,) = data.verify().index
    path = cache_folder() / name
    states = [data.verify().loc[name, "state"]]
    path.write_bytes(path.read_bytes().replace(b"Yes", b"No ", 1))
    assert [*states, data.verify().loc[name, "state"]] == ["ok", "corrupt"]
    raw = cache_folder() / "adult" / "adult.names"
    raw.parent.mkdir()
    raw.write_text("short")
    assert "has 5 bytes, expected 5,229" in data.verify("adult/adult.names").loc["adult/adult.names", "detail"]
    assert data.verify("law-school").loc["law/law_data.csv", "state"] == "missing"


def test_berkeley_needs_no_file():
    dataset = load("berkeley")
    assert (dataset.provenance.source, dataset.provenance.files) == ("real", {})
    admitted = (dataset.target == "Yes").groupby(dataset.features["gender"], observed=True).agg(["sum", "size"])
    assert admitted.loc[["Male", "Female"]].to_numpy().tolist() == [[1192, 2590], [560, 1835]]
