import pytest

from fairlab.papers.adf import headline
from fairlab.suite.published import load_paper
from fairlab.suite.run import Run


@pytest.fixture
def run():
    """A run of table 6 that found all but one number, and one of them in the other reading."""
    values = load_paper("adf").artefact("table-6").values
    common = {"artefact": "table-6", "note": "", "data": []}
    records = [
        common | {"id": id, "reading": "as_published", "values": [value.value] * 2}
        for id, value in values.items()
        if id != "census.race.sg"
    ]
    records.append(common | {"id": "census.age.adf", "reading": "as_described", "values": [900.0]})
    claims = [{"artefact": "table-6", "id": "adf-best", "holds": True, "detail": "x", "data": []}]
    parameters = {"n_seeds": 1000, "n_local": 1000, "n_local_sg": 1000}
    return Run("adf/phases", "quick", 0, parameters, records=records, claims=claims)


def test_ratios_follow_from_averages():
    found = headline.ratios({"table-4:mean.id_ratio_adf_to_aequitas": 25.0, "table-8:mean.time_share_of_sg": 20.0})
    assert found == {"abstract.id_times": 25, "intro.id_times_more": 24, "intro.efficiency_over_sg": 5}
    assert set(headline.RATIOS) == set(load_paper("adf").artefact("section-1").values)


def test_averages_of_the_printed_rows_are_the_printed_averages():
    values = load_paper("adf").artefacts
    for source, average in headline.printed_averages().items():
        artefact, _, id = source.partition(":")
        value = values[artefact].values[id]
        assert average == pytest.approx(value.value, abs=1.01 * value.step), source


def test_averages_are_of_what_was_recorded_as_published(run):
    averages = headline.recorded_averages([run])
    assert averages["table-6:census.age.adf"] == 658
    assert "table-6:census.race.sg" not in averages
