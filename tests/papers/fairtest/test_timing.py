import numpy as np

from fairlab.data import load
from fairlab.papers.fairtest.timing import resampling_limits, seconds_of_studies


def test_each_repeat_has_its_seconds_and_each_study_its_work():
    repeats, work = seconds_of_studies({"berkeley": load("berkeley")}, 2)
    assert repeats[["study", "repeat"]].to_numpy().tolist() == [["berkeley", 0], ["berkeley", 1]]
    assert (repeats[["train", "test"]] >= 0).all(axis=None)
    assert repeats["test"].sum() > 0
    assert work.loc["berkeley", "hypotheses"] == 7  # everyone given the department, and six departments
    assert work.loc["berkeley", "of at most 1000 people"] == 6
    assert work.loc["berkeley", "metrics"] == "COND-DIFF, DIFF"


def test_samples_above_a_thousand_people_are_not_resampled():
    limits = resampling_limits(np.random.default_rng(0)).set_index(["metric", "people"])["resampled"]
    assert limits.xs(1_000, level="people").all()
    assert not limits.xs(1_001, level="people").any()
