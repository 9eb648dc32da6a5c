import pytest

from fairlab import data
from fairlab.data import DataError
from fairlab.data.files import cache_folder
from fairlab.data.registry import project_registry


@pytest.fixture
def altered(monkeypatch, tmp_path):
    """A mirror whose law school file is wrong."""
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))
    path = tmp_path / "mirror" / "law" / "law_data.csv"
    path.parent.mkdir(parents=True)
    path.write_text("not it")
    return path


def test_available():
    assert data.available() == sorted(project_registry().variants)


def test_states_without_any_file():
    assert data.state_of("lipton") == "generated"
    assert data.state_of("berkeley") == "real"
    assert data.state_of("law-school") == "surrogate"
    with pytest.raises(DataError, match="unknown data set 'x'"):
        data.state_of("x")


def test_every_variant_that_is_not_real_says_so_in_the_registry():
    words = {name: variant.source for name, variant in project_registry().variants.items()}
    assert {name: word for name, word in words.items() if word != "real"} == {
        "arrests": "generated",
        "individual-simulation": "generated",
        "lipton": "generated",
        "staples": "generated",
        "staples-population": "reconstructed",
    }
    assert data.load("staples-population", n_users=10).provenance.source == "reconstructed"
    assert data.state_of("staples-population") == "reconstructed"
    assert "Provenance: reconstructed" in data.describe("staples-population")


def test_describe_shows_registry_surrogate_and_datasheet():
    shown = " ".join(data.describe("credit-adf").split())
    for piece in (
        "credit-adf: The Credit subject of ADF",
        "600 rows; 20 features; target: class (positive: 1); sensitive: sex (privileged: male)",
        "Cite: Hofmann, H. (1994)",
        "Inaccurate: anything about three columns together.",
        "Datasheet of `credit-adf`",
    ):
        assert piece in shown
    generated = data.describe("lipton")
    assert "Lipton's hiring data" in generated
    assert "surrogate gets right" not in generated
    with pytest.raises(DataError, match="unknown data set 'lipto'; did you mean 'lipton'"):
        data.describe("lipto")


@pytest.mark.parametrize("name", data.available())
def test_everything_can_be_described(name):
    assert data.describe(name).startswith(f"{name}: ")


def test_status_has_a_row_for_every_file_and_variant(altered):
    status = data.status()
    registry = project_registry()
    assert list(status.index) == [*registry.variants, *registry.files]
    assert status.loc["law/law_data.csv", "state"] == "corrupt"
    assert "has 6 bytes, expected 1,087,805" in status.loc["law/law_data.csv", "detail"]
    assert status.loc["adult/adult.data", "state"] == "missing"
    assert status.loc["adult/adult.data", "bytes"] == 3974305
    assert status.loc["compas/compas-scores-two-years.csv", "redistribution"] == "unclear"
    assert not cache_folder().exists()


def test_fetch_keeps_going_when_asked():
    lines = []
    result = data.fetch(keep_going=True, report=lines.append)
    assert result["state"].to_dict() == {
        "lipton": "generated",
        "law-school": "surrogate",
        "adult-uci": "surrogate",
        "adult-individual": "surrogate",
        "compas-individual": "surrogate",
        "individual-simulation": "generated",
        "berkeley": "real",
        "arrests": "generated",
        "ssl": "surrogate",
        "health": "surrogate",
        "staples": "surrogate",
        "staples-population": "reconstructed",
        "image-tagger": "surrogate",
        "movie-recommender": "surrogate",
        "census-themis": "surrogate",
        "census-balanced": "surrogate",
        "credit-themis": "surrogate",
        "census-adf": "surrogate",
        "credit-adf": "surrogate",
        "bank-adf": "surrogate",
    }
    assert "To provide it yourself, put the file" in result.loc["law-school", "detail"]
    assert lines[1] == "law-school: surrogate, law/law_data.csv is not available"
    assert len(lines) == len(result)


def test_fetch_stops_at_the_first_failure():
    with pytest.raises(DataError, match=r"adult/adult\.names is not available"):
        data.fetch(["berkeley", "adult/adult.names"])
    assert data.fetch("adult/adult.names", keep_going=True).loc["adult/adult.names", "state"] == "missing"


def test_folder_is_fetched_and_reported_in_one_line():
    lines = []
    result = data.fetch(["adf_networks"], keep_going=True, report=lines.append)
    assert lines == ["adf_networks: missing, 0 of 6 files"]
    assert list(result.index) == [path for path in project_registry().files if path.startswith("adf_networks/")]
    assert set(data.verify("adf_networks")["state"]) == {"missing"}


def test_unknown_names_are_errors_before_anything_is_fetched():
    for call in (lambda names: data.fetch(names, keep_going=True), data.verify):
        with pytest.raises(DataError, match="unknown data set or file 'nothing'"):
            call(["berkeley", "nothing"])
    assert not cache_folder().exists()


def test_verify_finds_what_was_altered():
    assert data.verify().empty
    data.fetch("berkeley")
    (name,) = data.verify().index
    assert data.verify().loc[name, "state"] == "ok"
    path = cache_folder() / name
    path.write_bytes(path.read_bytes().replace(b"Yes", b"No ", 1))
    assert data.verify().loc[name, "state"] == "corrupt"
    raw = cache_folder() / "adult" / "adult.names"
    raw.parent.mkdir()
    raw.write_text("short")
    assert "has 5 bytes, expected 5,229" in data.verify("adult/adult.names").loc["adult/adult.names", "detail"]
    assert data.verify("law-school").loc["law/law_data.csv", "state"] == "missing"
