import warnings

import pandas as pd
import pytest

from fairlab.data import DataError, DataUnavailableError, SurrogateWarning, load
from fairlab.data.registry import project_registry
from fairlab.data.tables import check_table
from fairlab.papers.adf.benchmarks import stored_weights

WITH_SURROGATE = [name for name, variant in project_registry().variants.items() if variant.surrogate]
# Data sets whose loader returns every column of the prepared table as it is.
WHOLE = [name for name in WITH_SURROGATE if name not in ("image-tagger", "staples")]


def warned(name, **options):
    """Load a data set and return it with the surrogate warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = load(name, **options)
    return dataset, [w for w in caught if w.category is SurrogateWarning]


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("name", WITH_SURROGATE)
def test_falls_back_with_exactly_one_line(name):
    dataset, (warning,) = warned(name)
    [line] = str(warning.message).splitlines()
    assert line.startswith(f"{name}: ")
    assert f"`fairlab data fetch {name}`" in line
    assert "Rejected" not in line
    assert (warning.filename, dataset.provenance.source) == (__file__, "surrogate")


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("name", WHOLE)
def test_a_surrogate_obeys_the_registry(name):
    variant = project_registry().variant(name)
    dataset, caught = warned(name, surrogate=True)
    parts = dict(dataset.features.items()) | {variant.label: dataset.target} | dict(dataset.sensitive_features.items())
    table = pd.DataFrame({name: parts[name] for name in variant.columns})
    check_table(table, variant)
    assert dataset.provenance.rows == len(dataset.features) == variant.rows
    assert (caught, dataset.provenance.files) == ([], {})
    for column, categories in dataset.encoding.items():
        assert tuple(table[column].cat.categories) == categories == variant.columns[column].categories


def test_a_rejected_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path))
    (tmp_path / "law").mkdir()
    (tmp_path / "law" / "law_data.csv").write_text("<html>moved</html>")
    dataset, (warning,) = warned("law-school")
    assert "Rejected: mirror is a web page, not the file; has 18 bytes, expected 1,087,805" in str(warning.message)
    assert dataset.provenance.source == "surrogate"


def test_an_unwritable_cache_is_no_reason_for_a_surrogate(tmp_path, monkeypatch):
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "blocked"))
    with pytest.raises(DataError, match="cannot write"):
        load("berkeley")


def test_what_was_real_when_a_job_was_submitted_is_never_replaced(monkeypatch):
    with pytest.raises(DataUnavailableError):
        stored_weights("census")
    monkeypatch.setenv("FAIRLAB_REAL_DATA", "adult-uci,law-school,adf_networks/census.index")
    with pytest.raises(DataUnavailableError, match="real data was available when this job was submitted, but"):
        load("law-school")
    assert load("law-school", surrogate=True).provenance.source == "surrogate"  # asked for
    with pytest.raises(DataError, match=r"census\.index: real data was .*; no surrogate is used") as found:
        stored_weights("census")
    assert not isinstance(found.value, DataUnavailableError)  # which a network trained here would stand in for
    monkeypatch.setenv("FAIRLAB_REAL_DATA", "adf_networks,adf_networks/census.ind")
    with pytest.raises(DataUnavailableError):
        stored_weights("census")
