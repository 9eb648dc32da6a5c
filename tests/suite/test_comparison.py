import pytest
from toy_project import fill

from fairlab.suite.comparison import COLOURS
from fairlab.suite.experiment import Experiment
from fairlab.suite.verdicts import VERDICTS


@pytest.fixture
def comparison(toy):
    experiment = Experiment("toy/mean")
    fill(experiment)
    experiment.record("table-1", "rows", 17)
    experiment.record("table-1", "mean", 0.7, reading="as_described")
    experiment.run.claims[0]["holds"] = False
    return experiment.compare()


def test_every_verdict_has_a_colour():
    assert {*VERDICTS, "holds", "fails"} == set(COLOURS)


def test_counts_come_first_then_what_differs_then_the_rest_folded(comparison):
    page = comparison._repr_html_()
    counts, differs, folded = (page.index(part) for part in ("1 agrees, 1 differs, 1 fails", ">rows<", "<details>"))
    assert counts < differs < folded < page.index(">lost<")
    assert page.index("fails</td>") < folded < page.index("agrees</td>")
    assert "the other 2 rows" in page
    assert str(comparison).splitlines()[1:] == ["table-1:rows differs", "table-1:positive fails"]


def test_what_was_not_run_says_why(comparison):
    lost = next(row for row in comparison.rows if row.id == "lost")
    assert (lost.verdict, lost.reason) == ("not run", "toy/mean does not record it")
    assert lost.published == "1"
    assert comparison.to_frame().set_index("id").loc["mean", "as_described"] == "0.7"
    assert comparison.to_records()[0]["id"] == "mean"
