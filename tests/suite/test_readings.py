"""What the notebooks of all papers show: both readings of their numbers."""

import toy_project

from fairlab.suite.experiment import Experiment
from fairlab.suite.readings import count_by_artefact, count_by_reading, numbers_by_reading


def test_numbers_are_judged_in_both_readings(toy):
    experiment = Experiment("toy/mean")
    toy_project.fill(experiment)  # a mean of 0.55 for 0.50, and 4,425 rows; every claim holds, as published
    experiment.record("table-1", "mean", 0.9, reading="as_specified")
    table = count_by_reading([experiment.run])
    published, described = table["as published"], table["as specified"]
    assert (published["agrees"], described["agrees"]) == (1, 0)
    assert (published.get("differs", 0), described["differs"]) == (0, 1)
    assert published["not run"] == described["not run"] > 0
    assert (table.loc["all numbers"] == 3).all()
    assert len(experiment.run.records) == 1 + sum(r["reading"] == "as_published" for r in experiment.run.records)
    numbers = numbers_by_reading([experiment.run]).set_index(["reading", "id"])
    assert numbers.loc[("as specified", "mean"), ["ours", "verdict"]].tolist() == [0.9, "differs"]
    assert count_by_artefact([experiment.run]).loc[("as specified", "table-1"), "differs"] == 1


def test_inference_applies_to_one_variant_only(toy, monkeypatch):
    experiment = Experiment("toy/mean")
    value = experiment.specification.published.artefact("table-1").values["mean"]
    monkeypatch.setitem(value.__dict__, "inferred", "the number itself")
    toy_project.fill(experiment)
    experiment.record("table-1", "mean", 0.9, reading="as_specified")
    table = count_by_reading([experiment.run])
    assert table.loc["inferred"].tolist() == [1, 0]
    assert table.loc["differs"].tolist() == [0, 1]
