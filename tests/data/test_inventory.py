import pytest

from fairlab import data
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
