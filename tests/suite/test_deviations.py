from toy_project import fill

from fairlab.suite.deviations import introduction, sections, unexplained
from fairlab.suite.experiment import Experiment
from fairlab.suite.scorecard import scorecard

TEXT = """# Toy: where our numbers differ

What concerns all.

## table-1: means, and `lost`

Our mean is another one,
for a reason.

`mean` differs because of the seed; `m*.high` for the same reason.

## figure-1

Nothing differs.
"""


def test_sections_have_a_summary_a_link_and_ids(toy):
    (toy / "experiments" / "toy" / "deviations.md").write_text(TEXT)
    known = sections("toy")
    assert introduction("toy") == "What concerns all."
    assert list(known) == ["table-1", "figure-1"]
    assert known["table-1"].summary == "Our mean is another one, for a reason."
    assert known["table-1"].link == "experiments/toy/deviations.md#table-1-means-and-lost"
    assert known["table-1"].explains("median.high")
    assert not known["table-1"].explains("median.low")


def test_what_no_section_names_is_unexplained(toy):
    experiment = Experiment("toy/mean")
    fill(experiment)
    experiment.run.records[0]["values"] = [3.0]
    experiment.run.claims[0]["holds"] = False
    experiment.compare()
    assert {row.id for row in unexplained(scorecard())} == {"mean", "positive"}
    (toy / "experiments" / "toy" / "deviations.md").write_text(TEXT)
    assert {row.id for row in unexplained(scorecard())} == {"positive"}
